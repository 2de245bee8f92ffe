"""Retracting and clearing: what was said is taken back, and the log keeps that it was.

A runtime that tries a step again takes the last entries back; one that starts over clears the conversation.
Both are events, never deletions: every earlier version shows what stood there. No orphan is left: with a
turn go the results in the buffer that no other turn there declares.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from turnledger.domain.changes import Changes
from turnledger.domain.conversation import Conversation
from turnledger.domain.errors import EntryNotFound, InvalidArgument
from turnledger.domain.events import ConversationCleared, EntryRetracted


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearResult:
    """What a clearing did: `cleared` entries left the buffer. With nothing to forget nothing was recorded.

    `repeated` says that the idempotency key had been used before.
    """

    conversation_id: str
    version: int
    cleared: int
    repeated: bool = False


def checked_entry(value: Any) -> int | None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise InvalidArgument(f"entry must be the number of an entry, from 1 up, not {value!r}")
    return value


def retract(changes: Changes, entry: int | None) -> list[int]:
    """Records that an entry, or the last of the buffer, is taken back, and what goes with it before it.

    The numbers in this order; none where there is no entry to take. Raises `EntryNotFound`.
    """
    state = changes.now
    if entry is None:
        if not state.buffer:
            return []
        entry = state.buffer[-1]
    if not state.stands(entry):
        raise EntryNotFound(
            f"entry {entry} is not in the buffer of conversation {changes.origin.conversation_id!r}: "
            f"{_why(state, entry)}; only what stands in the buffer can be retracted"
        )
    gone = [*_orphaned(state, entry), entry]
    for number in gone:
        changes.record(EntryRetracted, entry=number)
    return gone


def checked_entries(values: Any) -> list[int]:
    """The numbers of entries. Raises `InvalidArgument`."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InvalidArgument("retracting must be a list of the numbers of entries")
    numbers = [checked_entry(value) for value in values]
    if None in numbers:
        raise InvalidArgument("retracting must be a list of the numbers of entries, without None")
    return [number for number in numbers if number is not None]


def retract_all(changes: Changes, entries: Iterable[int]) -> None:
    """Records that each of these entries is taken back, with what goes with it. Raises `EntryNotFound`."""
    gone: set[int] = set()
    for entry in entries:
        if entry not in gone:
            gone.update(retract(changes, entry))


def _why(state: Conversation, entry: int) -> str:
    if entry > state.newest_entry:
        return f"its newest is {state.newest_entry}" if state.newest_entry else "it has none"
    return "it was evicted" if entry in state.entries else "it was retracted or cleared before"


def _orphaned(state: Conversation, turn: int) -> list[int]:
    """The results in the buffer of calls that only this turn in it declares."""
    facts = state.entries[turn]
    if facts.role != "assistant":
        return []
    answers = {
        state.calls.answers[call_id].entry
        for call_id in facts.call_ids
        if call_id in state.calls.answers
        and not any(c.turn != turn and state.stands(c.turn) for c in state.calls.declared(call_id))
    }
    return sorted(entry for entry in answers if state.stands(entry))


def clear(changes: Changes) -> int:
    """Records that the conversation begins anew, if it has anything to forget; how many entries that were."""
    state = changes.now
    if state.entries or state.records:
        changes.record(ConversationCleared)
    return len(state.buffer)
