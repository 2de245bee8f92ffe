"""Which place each entry of a buffer has in the sendable list, at the cost of the buffer's end.

The same as `normalize` gives, without the messages: what is settled keeps its place, as in `SendableView`. An
open call far from the end is settled too, with what stands in for its result: what settles it later is seen.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from turnledger.domain.pairing import Item, coerced
from turnledger.projections.settled_items import repaired_behind
from turnledger.projections.settling import answered_up_to, closed_up_to, touches

UNSETTLED_MAX = 128


class Settled(NamedTuple):
    """How much of the buffer's beginning is settled: entries, and of the list system messages and others."""

    entries: int = 0
    systems: int = 0
    others: int = 0


class Placed(NamedTuple):
    """Places in the list by position in the buffer, of those entries behind what was settled that have one;
    `systems` is how many system messages lead the list, `settled` what is settled now."""

    places: dict[int, int]
    systems: int
    settled: Settled


def placed(
    stored: Sequence[Mapping[str, Any]],
    settled: Settled,
    declared: Collection[str] = (),
    orphans: Collection[str] = (),
) -> Placed | None:
    """Places the entries behind what is settled; None where they change what is: give all of them then.

    `declared` are the ids that settled turns declared, `orphans` those that only settled results have.
    """
    items = coerced(stored, [], first=settled.entries)
    if touches(items, declared, orphans):
        return None
    cut = answered_up_to(items, declared)
    if len(items) - cut > UNSETTLED_MAX:
        cut = max(cut, closed_up_to(items, len(items) - UNSETTLED_MAX // 2))
    head, rest = items[:cut], items[cut:]
    head_declared = {*declared, *(call.call_id for item in head for call in item.calls)}
    head_answered = {*orphans, *(item.call_id for item in head if item.call_id is not None)}
    if touches(rest, head_declared, head_answered - head_declared):
        if settled.entries:
            return None
        head, rest, head_declared = [], items, set()
    lists = repaired_behind(head, [], declared, leads=not settled.others)
    now = Settled(
        settled.entries + len(head), settled.systems + len(lists[0]), settled.others + len(lists[1])
    )
    behind = repaired_behind(rest, [], head_declared, leads=not now.others)
    systems = [*lists[0], *behind[0]]
    others = [*lists[1], *behind[1]]
    leading = settled.systems + len(systems)
    roles = {item.index: item.role for item in items}
    places = _places(systems, settled.systems, roles) | _places(others, leading + settled.others, roles)
    return Placed(places, leading, now)


def placed_turn(stored: Sequence[Mapping[str, Any]], first: int, place: int) -> dict[int, int]:
    """Places in the list by position, of a turn and the results behind it: the turn stands at `place`, and at
    position `first` of the buffer, where nothing else has to do with its calls."""
    items = coerced(stored, [], first=first)
    roles = {item.index: item.role for item in items}
    return _places(repaired_behind(items, [], (), leads=False)[1], place, roles)


def _places(items: Sequence[Item], first: int, roles: Mapping[int, str]) -> dict[int, int]:
    """Each entry's place; what stands in for a missing result is no entry: its index is that of its turn."""
    return {
        item.index: place for place, item in enumerate(items, start=first) if item.role == roles[item.index]
    }
