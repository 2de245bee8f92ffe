"""The stored buffer: its entries in order, with their contents, as the events left them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from turnledger.domain.events import (
    CallHealed,
    CarriedEntry,
    ConversationCleared,
    ConversationForked,
    DomainEvent,
    EntriesEvicted,
    EntryRetracted,
    Envelope,
    MessageAppended,
    PlaceholderReplaced,
    SummaryInserted,
)
from turnledger.domain.positions import position_of
from turnledger.domain.values import copied_json


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a buffer: its stable number, its position there, and where it came from.

    `version` and `time` are those of the event that added it; a later real result (MEM-10) changes only
    `content` and `metadata`. What a fork has from its source keeps its number and time; its version is 1.
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


class Row(NamedTuple):
    """An entry as the view keeps it; its contents are shared, and its time is ISO 8601 text."""

    number: int
    version: int
    time: str
    turn_id: str | None
    execution_id: str | None
    role: str
    content: Any
    metadata: dict[str, Any]

    @property
    def stored(self) -> dict[str, Any]:
        """The entry in the stored shape, sharing its contents."""
        return {"role": self.role, "content": self.content, "metadata": self.metadata}


class BufferView:
    """A fold: feed it the events of one conversation in order; one fed again changes nothing."""

    def __init__(self) -> None:
        self.version = 0
        self._rows: dict[int, Row] = {}
        self._order: list[int] = []
        self._newest = 0
        self._new: list[int] = []
        self.keep_changes()

    def apply(self, event: DomainEvent) -> None:
        version = event.envelope.version
        if version <= self.version:
            return
        self.version = version
        applied = _APPLIED.get(event.__class__)
        if applied is not None:
            applied(self, event)

    def _appended(self, event: MessageAppended) -> None:
        self._add(event.envelope, event.entry, event.role, event.content, event.metadata)
        self._order.append(event.entry)

    def _healed(self, event: CallHealed) -> None:
        metadata = {"tool_call_id": event.call_id, "healed": True}
        self._add(event.envelope, event.entry, "tool", event.content, metadata)
        self._order.insert(position_of(event.behind, self._order) + 1, event.entry)

    def _replaced(self, event: PlaceholderReplaced) -> None:
        if event.entry in self._rows:
            self._changed.add(event.entry)
            self._replace(event.entry, event.content, event.metadata)

    def _evicted(self, event: EntriesEvicted) -> None:
        for entry in event.evicted:
            self._rows.pop(entry, None)
        self._left.extend(event.evicted)
        self._order = [entry for entry in self._order if entry in self._rows]

    def _retracted(self, event: EntryRetracted) -> None:
        if self._rows.pop(event.entry, None) is not None:
            self._left.append(event.entry)
            del self._order[position_of(event.entry, self._order)]

    def _cleared(self, event: ConversationCleared) -> None:
        self._left.extend(self._order)
        self._rows, self._order = {}, []

    def _inserted(self, event: SummaryInserted) -> None:
        self._add(event.envelope, event.entry, event.role, event.content, event.metadata)
        self._order.insert(position_of(event.behind, self._order) + 1 if event.behind else 0, event.entry)

    def _forked(self, event: ConversationForked) -> None:
        standing = set(event.buffer)
        self._carry(event.version, [entry for entry in event.entries if entry.entry in standing])
        self._order = list(event.buffer)

    def _carry(self, version: int, entries: Iterable[CarriedEntry]) -> None:
        for entry in entries:
            self._new.append(entry.entry)
            self._rows[entry.entry] = Row(
                entry.entry,
                version,
                entry.time.isoformat(),
                entry.turn_id,
                entry.execution_id,
                entry.role,
                entry.content,
                entry.metadata,
            )

    def _add(self, envelope: Envelope, entry: int, role: str, content: Any, metadata: dict[str, Any]) -> None:
        self._new.append(entry)
        self._rows[entry] = Row(
            entry,
            envelope.version,
            envelope.time.isoformat(),
            envelope.turn_id,
            envelope.execution_id,
            role,
            content,
            metadata,
        )

    def _replace(self, entry: int, content: Any, metadata: dict[str, Any]) -> None:
        self._rows[entry] = Row._make(self._rows[entry])._replace(content=content, metadata=metadata)

    def __len__(self) -> int:
        return len(self._order)

    def __contains__(self, entry: int) -> bool:
        return entry in self._rows

    def behind(self, entry: int) -> list[int]:
        """The numbers of the entries that stand behind this one, in order."""
        return self._order[position_of(entry, self._order) + 1 :]

    def row_at(self, position: int) -> Row | None:
        """The entry at a position, None behind the end; its contents are shared with this view."""
        return Row._make(self._rows[self._order[position]]) if position < len(self._order) else None

    def plain_rows(self, first: int = 0) -> list[Row]:
        """The same as `rows`; those that come from a segment are lists, without names."""
        rows = self._rows
        return [rows[number] for number in (self._order[first:] if first else self._order)]

    def rows(self, first: int = 0) -> list[Row]:
        """The entries from a position on, in order, sharing their contents with this view."""
        rows, make = self._rows, Row._make
        return [make(rows[number]) for number in self._order[first:]]

    def entries(self, first: int = 0) -> list[Entry]:
        """The entries from a position on, in order, the caller's to change."""
        return [_entry(row, position) for position, row in enumerate(self.rows(first), start=first)]

    def entry(self, number: int) -> Entry:
        """One entry, the caller's to change."""
        return _entry(Row._make(self._rows[number]), position_of(number, self._order))

    def buffer(self) -> list[dict[str, Any]]:
        """The entries in the stored shape, the caller's to change."""
        return [copied_json(row.stored) for row in self.rows()]

    def keep_changes(self) -> None:
        """From here on `changes` counts."""
        self._newest = max(self._new, default=self._newest)
        self._new = []
        self._changed: set[int] = set()
        self._left: list[int] = []

    def changes(self) -> dict[str, Any]:
        """The net effect of what was applied since `keep_changes`, for `load` to repeat."""
        new = [number for number in self._new if number in self._rows]
        tail = self._order[len(self._order) - len(new) :]
        in_order = not new or min(tail) > self._newest
        changed = [
            Row._make(self._rows[n]) for n in sorted(self._changed) if n <= self._newest and n in self._rows
        ]
        return {
            "rows": [self._rows[number] for number in (tail if in_order else new)],
            "changed": [(row.number, row.content, row.metadata) for row in changed],
            "left": [number for number in self._left if number <= self._newest],
            "order": None if in_order else self._order,
        }

    def load(self, version: int, changes: dict[str, Any]) -> None:
        """Repeats what `changes` said of another view of the same conversation, up to a version."""
        self.version = version
        for number in changes["left"]:
            self._rows.pop(number, None)
        if changes["left"]:
            self._order = [number for number in self._order if number in self._rows]
        for number, content, metadata in changes["changed"]:
            self._replace(number, content, metadata)
        numbers = [row[0] for row in changes["rows"]]
        self._new += numbers
        self._rows.update(zip(numbers, changes["rows"], strict=True))
        if changes["order"] is None:
            self._order += numbers
        else:
            self._order = list(changes["order"])


def _entry(row: Row, position: int) -> Entry:
    return Entry(
        row.number,
        position,
        row.version,
        datetime.fromisoformat(row.time),
        row.turn_id,
        row.execution_id,
        row.role,
        copied_json(row.content),
        copied_json(row.metadata),
    )


_APPLIED: dict[type[DomainEvent], Callable[[BufferView, Any], None]] = {
    MessageAppended: BufferView._appended,
    CallHealed: BufferView._healed,
    PlaceholderReplaced: BufferView._replaced,
    EntriesEvicted: BufferView._evicted,
    SummaryInserted: BufferView._inserted,
    ConversationForked: BufferView._forked,
    EntryRetracted: BufferView._retracted,
    ConversationCleared: BufferView._cleared,
}
