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


def closed_up_to(items: Sequence[Item], most: int) -> int:
    """How many items, `most` at most, stand before a place that no id reaches over, answered or not."""
    last = {known: place for place, item in enumerate(items) for known in _ids(item)}
    reach, cut = -1, 0
    for place, item in enumerate(items[:most]):
        reach = max([reach, *(last[known] for known in _ids(item))])
        if reach <= place:
            cut = place + 1
    return cut


def _ids(item: Item) -> list[str]:
    answered = [] if item.call_id is None else [item.call_id]
    return answered + [call.call_id for call in item.calls]
