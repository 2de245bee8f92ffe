"""What a damaged log still shows: the buffer folded from its sound events.

Unlike the buffer's own fold this one expects that anything may be missing; a gap costs what stood in it.
"""

from collections.abc import Iterable
from typing import Any

from turnledger.domain.events import (
    CallHealed,
    ConversationCleared,
    ConversationForked,
    DomainEvent,
    EntriesEvicted,
    EntryRetracted,
    MessageAppended,
    PlaceholderReplaced,
    SummaryInserted,
)


def salvaged(events: Iterable[DomainEvent]) -> list[dict[str, Any]]:
    """The entries in the stored shape, as far as these events tell."""
    entries: dict[int, dict[str, Any]] = {}
    order: list[int] = []
    for event in events:
        match event:
            case ConversationForked():
                entries = {e.entry: _stored(e.role, e.content, e.metadata) for e in event.entries}
                order = list(event.buffer)
            case SummaryInserted():
                entries[event.entry] = _stored(event.role, event.content, event.metadata)
                order.insert(order.index(event.behind) + 1 if event.behind in order else 0, event.entry)
            case MessageAppended():
                entries[event.entry] = _stored(event.role, event.content, event.metadata)
                order.append(event.entry)
            case CallHealed():
                mark = {"tool_call_id": event.call_id, "healed": True}
                entries[event.entry] = _stored("tool", event.content, mark)
                order.insert(_behind(order, event.behind, event.turn_entry), event.entry)
            case PlaceholderReplaced():
                if event.entry not in entries:
                    order.append(event.entry)
                entries[event.entry] = _stored("tool", event.content, event.metadata)
            case EntriesEvicted():
                gone = set(event.evicted)
                order = [entry for entry in order if entry not in gone]
            case EntryRetracted():
                order = [entry for entry in order if entry != event.entry]
            case ConversationCleared():
                order = []
    return [entries[entry] for entry in order]


def _stored(role: str, content: Any, metadata: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": content, "metadata": metadata}


def _behind(order: list[int], *anchors: int) -> int:
    """The position behind the first of these entries that is there, or the end."""
    return next((order.index(entry) + 1 for entry in anchors if entry in order), len(order))
