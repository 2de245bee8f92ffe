"""The stored buffer: its entries in order, with their contents, as the events left them."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from turnledger.domain.events import (
    CallHealed,
    DomainEvent,
    EntriesEvicted,
    MessageAppended,
    PlaceholderReplaced,
)
from turnledger.domain.values import copied


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a buffer: its stable number, its position there, and where it came from.

    `version` and `time` are those of the event that added it; a later real result (MEM-10) changes only
    `content` and `metadata`.
    """

    number: int
    position: int
    version: int
    time: datetime
    turn_id: str | None
    execution_id: str | None
    role: str
    content: Any
    metadata: dict[str, Any]

    @property
    def turn(self) -> str | None:
        return self.turn_id

    @property
    def execution(self) -> str | None:
        return self.execution_id

    @property
    def stored(self) -> dict[str, Any]:
        """The entry in the stored shape."""
        return {"role": self.role, "content": self.content, "metadata": self.metadata}


class BufferView:
    """A fold: feed it the events of one conversation in order; one fed again changes nothing."""

    def __init__(self) -> None:
        self.version = 0
        self._entries: dict[int, Entry] = {}
        self._order: list[int] = []

    def apply(self, event: DomainEvent) -> None:
        if event.version <= self.version:
            return
        self.version = event.version
        match event:
            case MessageAppended():
                self._add(event, event.entry, event.role, event.content, event.metadata)
                self._order.append(event.entry)
            case CallHealed():
                metadata = {"tool_call_id": event.call_id, "healed": True}
                self._add(event, event.entry, "tool", event.content, metadata)
                self._order.insert(self._position(event.behind) + 1, event.entry)
            case PlaceholderReplaced() if event.entry in self._entries:
                self._entries[event.entry] = replace(
                    self._entries[event.entry], content=event.content, metadata=event.metadata
                )
            case EntriesEvicted():
                for entry in event.evicted:
                    self._entries.pop(entry, None)
                self._order = [entry for entry in self._order if entry in self._entries]

    def _add(self, event: DomainEvent, entry: int, role: str, content: Any, metadata: dict[str, Any]) -> None:
        self._entries[entry] = Entry(
            entry, 0, event.version, event.time, event.turn_id, event.execution_id, role, content, metadata
        )

    def _position(self, entry: int) -> int:
        """Looked for from the end, where most of the work is."""
        return len(self._order) - 1 - self._order[::-1].index(entry)

    def __len__(self) -> int:
        return len(self._order)

    def shared(self) -> list[Entry]:
        """The entries in order, sharing their contents with this view; positions are not set."""
        return [self._entries[number] for number in self._order]

    def entries(self) -> list[Entry]:
        """The entries in order, the caller's to change."""
        return [
            replace(entry, position=position, content=copied(entry.content), metadata=copied(entry.metadata))
            for position, entry in enumerate(self.shared())
        ]

    def buffer(self) -> list[dict[str, Any]]:
        """The entries in the stored shape, the caller's to change."""
        return [copied(entry.stored) for entry in self.shared()]
