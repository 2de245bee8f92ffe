"""Compacting: the older entries leave the buffer, and a summary stands in their place.

What a token limit asks for. A call never parts from its results, a turn with open calls stays, system
entries stay; the summary of an earlier compaction leaves with what is older. The log keeps all of it, and
the calls that left stay known.
"""

from dataclasses import dataclass
from typing import Any

from turnledger.domain.changes import Changes
from turnledger.domain.errors import InvalidArgument, InvalidMessage
from turnledger.domain.events import EntriesEvicted, SummaryInserted
from turnledger.domain.messages import Message, as_messages, read_message
from turnledger.domain.window import older


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactResult:
    """What a compaction did: `evicted` are the numbers of the entries that left, in the order in which they
    stood, `summary` that of the entry which stands for them, `count` how many entries the buffer has now.

    Where there was nothing to summarize nothing was recorded: `evicted` is empty, `summary` None.
    """

    conversation_id: str
    version: int
    count: int
    evicted: tuple[int, ...] = ()
    summary: int | None = None


def read_summary(value: Any) -> Message:
    """The message that stands for others. Raises `InvalidMessage` for what is none, or is part of a call."""
    given = as_messages(value)
    if len(given) != 1:
        raise InvalidMessage(0, f"a summary is one message, not {len(given)}")
    summary = read_message(given[0], 0)
    if summary.role == "tool" or summary.calls:
        raise InvalidMessage(0, "a summary declares no calls and answers none: give it as text")
    return summary


def checked_keep_last(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InvalidArgument(f"keep_last must be a number of entries from 0 up, not {value!r}")
    return value


def compact(changes: Changes, keep_last: int, summary: Message) -> None:
    """Records what leaves, and the summary in the place of the first; nothing where nothing is older."""
    state = changes.state
    gone = set(older(state, keep_last))
    if not gone:
        return
    gone.update(entry for entry in state.buffer if state.entries[entry].summary)
    evicted = [entry for entry in state.buffer if entry in gone]
    first = state.buffer.index(evicted[0])
    behind = state.buffer[first - 1] if first else 0
    changes.record(EntriesEvicted, evicted=evicted)
    changes.record(
        SummaryInserted,
        entry=state.newest_entry + 1,
        behind=behind,
        role=summary.role,
        content=summary.content,
        metadata=summary.metadata,
    )


def compacted(changes: Changes) -> CompactResult:
    """What the events of a compaction did."""
    evicted = [entry for e in changes.events if isinstance(e, EntriesEvicted) for entry in e.evicted]
    return CompactResult(
        conversation_id=changes.origin.conversation_id,
        version=changes.version,
        count=changes.count,
        evicted=tuple(evicted),
        summary=next((e.entry for e in changes.events if isinstance(e, SummaryInserted)), None),
    )
