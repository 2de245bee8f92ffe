"""Which entries leave a full window, or give way to a summary: never a call without its results (section 2,
*Window*)."""

from collections.abc import Collection
from itertools import takewhile

from turnledger.domain.conversation import Conversation, EntryFacts


def leaving(conversation: Conversation, added: Collection[int]) -> list[int]:
    """The entries that leave, in the order in which they stand; `added` are those of this append.

    The oldest go first, whole units at a time; what must stay is passed over.
    """
    window = conversation.window
    if window is None or len(conversation.buffer) <= window:
        return []
    kept = {*added, conversation.newest_user, *conversation.open_calls.values()}
    return _oldest(conversation, kept, window)


def older(conversation: Conversation, keep_last: int) -> list[int]:
    """The entries that a summary can stand for, in the order in which they stand: all units of which nothing
    is among the last `keep_last` entries that a window counts, and no call is open."""
    counted = [entry for entry in conversation.buffer if conversation.entries[entry].counts]
    return _oldest(
        conversation,
        {*counted[max(len(counted) - keep_last, 0) :], *conversation.open_calls.values()},
        entries_max=0,
    )


def _oldest(conversation: Conversation, kept: Collection[int | None], entries_max: int) -> list[int]:
    """Of the entries that count those that leave until `entries_max` are left, `kept` never."""
    facts = {entry: conversation.entries[entry] for entry in conversation.buffer}
    counted = [entry for entry in conversation.buffer if facts[entry].counts]
    units = [unit for unit in _units(counted, facts) if not any(entry in kept for entry in unit)]
    gone: set[int] = set()
    for unit in units:
        if len(counted) - len(gone) <= entries_max:
            break
        gone.update(unit)
    left = [entry for entry in counted if entry not in gone]
    if _bared(counted, left, facts):
        return []
    return [entry for entry in counted if entry in gone]


def _units(counted: list[int], facts: dict[int, EntryFacts]) -> list[list[int]]:
    """What leaves together, in the order of the first turn of each: turns that declare one of the same
    calls, with the results of those calls; every other entry alone."""
    turns = [entry for entry in counted if facts[entry].role != "tool"]
    leader: dict[str, str] = {}
    for turn in turns:
        for call in facts[turn].call_ids:
            leader[_leader(call, leader)] = _leader(facts[turn].call_ids[0], leader)
    units: dict[str | int, list[int]] = {}
    for entry in turns + [entry for entry in counted if facts[entry].role == "tool"]:
        calls = facts[entry].call_ids
        units.setdefault(_leader(calls[0], leader) if calls and calls[0] in leader else entry, []).append(
            entry
        )
    place = {entry: position for position, entry in enumerate(counted)}
    return sorted(units.values(), key=lambda unit: place[unit[0]])


def _leader(call: str, leader: dict[str, str]) -> str:
    """The call that stands for all that are tied to this one by turns that declare both."""
    while (above := leader.setdefault(call, call)) != call:
        call = above
    return call


def _bared(before: list[int], left: list[int], facts: dict[int, EntryFacts]) -> bool:
    """Whether a result whose turn stands behind it would come to lead, where no provider would see it; one
    that led already is no reason."""
    led = before[:1]
    declared = {call for entry in left if facts[entry].role != "tool" for call in facts[entry].call_ids}
    return any(
        entry not in led and not declared.isdisjoint(facts[entry].call_ids) for entry in _leading(left, facts)
    )


def _leading(entries: list[int], facts: dict[int, EntryFacts]) -> list[int]:
    """The results that come before anything else."""
    return list(takewhile(lambda entry: facts[entry].role == "tool", entries))
