"""How far a growing list can be settled, and what would change that."""

from collections.abc import Collection, Sequence

from turnledger.domain.pairing import Item


def answered_up_to(items: Sequence[Item], declared: Collection[str]) -> int:
    """How many items stand before the first call that nothing has answered yet, counted as far as the last
    place where none is open. `declared` are ids that turns before declared."""
    open_calls: set[str] = set()
    answered: set[str] = set()
    cut = 0
    for count, item in enumerate(items, start=1):
        if item.call_id is not None:
            answered.add(item.call_id)
            open_calls.discard(item.call_id)
        for call in item.calls:
            if call.call_id not in answered and call.call_id not in declared:
                open_calls.add(call.call_id)
        if not open_calls:
            cut = count
    return cut


def touches(items: Sequence[Item], declared: Collection[str], orphans: Collection[str]) -> bool:
    """Whether an item answers a call that is settled, or declares one that a settled result answers."""
    return any(
        (item.call_id is not None and item.call_id in declared)
        or any(call.call_id in orphans for call in item.calls)
        for item in items
    )
