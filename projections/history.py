"""The history: for each version what its event changed, in the buffer, in what is held, in what is sent.

A row costs what its event changed, not what the conversation holds: nothing is normalized from nothing. How
two versions that are further apart differ is for `diff`; one line to read an event by is for `timeline`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from turnledger.domain.events import (
    ArtifactsHeld,
    ArtifactsPutBack,
    ArtifactsTaken,
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
from turnledger.projections.buffer import BufferView
from turnledger.projections.sendable_view import SendableView

Flat = dict[str, Any]


@dataclass(frozen=True, slots=True)
class BufferChange:
    """What an event changed in the buffer, by entry numbers.

    `added` are new entries, in order of position; `replaced` are placeholders that became a real result where
    they stood; `moved` are those that an insertion before them pushed back; `evicted` those that left, and
    `retracted` those that were taken back or cleared away, in the order in which they stood (that the rest
    closes up behind them is not told).
    """

    added: tuple[int, ...] = ()
    replaced: tuple[int, ...] = ()
    moved: tuple[int, ...] = ()
    evicted: tuple[int, ...] = ()
    retracted: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.replaced or self.moved or self.evicted or self.retracted)


@dataclass(frozen=True, slots=True)
class HeldChange:
    """What an event changed in the held lists, by artifact ids: what joined one, and what left one."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


@dataclass(frozen=True, slots=True)
class SendableChange:
    """What an event changed in the sendable list, by positions from 0.

    The `removed` messages from position `first_changed` on gave way to `added` others; what stands before and
    behind them is the same. `first_changed` is None where nothing changed. `length` is that of the list now.
    """

    first_changed: int | None
    removed: int
    added: int
    length: int

    def __bool__(self) -> bool:
        return self.first_changed is not None

    @property
    def appends_only(self) -> bool:
        """Whether the list before is the beginning of the list now: a prompt cache of it still matches."""
        return not self.removed and self.first_changed in (None, self.length - self.added)


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One version: the event that made it, and what it changed. A change of nothing is false."""

    event: DomainEvent
    buffer: BufferChange
    held: HeldChange
    sendable: SendableChange

    @property
    def version(self) -> int:
        return self.event.version

    @property
    def time(self) -> datetime:
        return self.event.time


def history(events: Iterable[DomainEvent]) -> Iterator[HistoryRow]:
    """A row for each event, in order. Feed it from the first event on."""
    fold = HistoryFold()
    return (fold.row(event) for event in events)


class HistoryFold:
    """A fold that tells, as each event comes, what it changes."""

    def __init__(self) -> None:
        self._buffer = BufferView()
        self._view = SendableView()
        self._sent: _Sent | None = None

    @property
    def buffer(self) -> BufferView:
        """The buffer behind the last event; it changes with the next."""
        return self._buffer

    @property
    def sendable(self) -> SendableView:
        """What is sent of that buffer; it changes with the next event."""
        return self._view

    def pass_over(self, event: DomainEvent) -> None:
        """Takes an event whose row nobody asks for, at less cost."""
        self._view.apply(event)
        self._buffer.apply(event)
        self._sent = None

    def row(self, event: DomainEvent) -> HistoryRow:
        """The row of the next event."""
        before = self._sent or _Sent.of(self._view, self._buffer)
        if isinstance(event, PlaceholderReplaced):  # the view changes it where it stands
            before = before.kept()
        stood = [row.number for row in self._buffer.rows()] if isinstance(event, ConversationCleared) else []
        self._view.apply(event)
        self._buffer.apply(event)
        self._sent = _Sent.of(self._view, self._buffer)
        change = BufferChange(retracted=tuple(stood)) if stood else self._buffer_change(event)
        return HistoryRow(event, change, _held_change(event), before.changed_to(self._sent))

    def _buffer_change(self, event: DomainEvent) -> BufferChange:
        match event:
            case ConversationForked():
                return BufferChange(added=tuple(event.buffer))
            case MessageAppended():
                return BufferChange(added=(event.entry,))
            case CallHealed() | SummaryInserted():
                return BufferChange(added=(event.entry,), moved=tuple(self._buffer.behind(event.entry)))
            case PlaceholderReplaced() if event.entry in self._buffer:
                return BufferChange(replaced=(event.entry,))
            case EntriesEvicted():
                return BufferChange(evicted=tuple(event.evicted))
            case EntryRetracted():
                return BufferChange(retracted=(event.entry,))
        return BufferChange()


def _held_change(event: DomainEvent) -> HeldChange:
    match event:
        case ArtifactsHeld():
            return HeldChange(added=tuple(artifact.artifact_id for artifact in event.held))
        case ArtifactsTaken():
            return HeldChange(removed=tuple(event.taken))
        case ArtifactsPutBack():
            dropped = (refused.artifact_id for refused in event.refused)
            return HeldChange(tuple(event.put_back), tuple(i for i in dropped if i is not None))
    return HeldChange()


@dataclass(frozen=True, slots=True)
class _Sent:
    """The sendable list at one version, as the view's own stretches: those that grow, with their length."""

    systems: list[Flat]
    systems_settled: int
    new_systems: list[Flat]
    others: list[Flat]
    others_settled: int
    new_others: list[Flat]

    @classmethod
    def of(cls, view: SendableView, buffer: BufferView) -> "_Sent":
        (systems, new_systems, others, new_others), _ = view.stretches(buffer)
        return cls(systems, len(systems), new_systems, others, len(others), new_others)

    def kept(self) -> "_Sent":
        """The same list, which nothing changes any more."""
        return replace(
            self, systems=self.systems[: self.systems_settled], others=self.others[: self.others_settled]
        )

    @property
    def system_count(self) -> int:
        return self.systems_settled + len(self.new_systems)

    @property
    def length(self) -> int:
        return self.system_count + self.others_settled + len(self.new_others)

    def all_systems(self, first: int = 0) -> list[Flat]:
        return self.systems[first : self.systems_settled] + self.new_systems

    def all_others(self, first: int = 0) -> list[Flat]:
        return self.others[first : self.others_settled] + self.new_others

    def changed_to(self, now: "_Sent") -> SendableChange:
        """What is settled in both is the same, and is not looked at."""
        settled = self.systems_settled if now.systems is self.systems else 0
        systems = self.all_systems(settled), now.all_systems(settled)
        if systems[0] != systems[1]:
            return _change(
                self.all_systems() + self.all_others(), now.all_systems() + now.all_others(), 0, now
            )
        settled = self.others_settled if now.others is self.others else 0
        return _change(self.all_others(settled), now.all_others(settled), now.system_count + settled, now)


def _change(before: list[Flat], after: list[Flat], offset: int, now: _Sent) -> SendableChange:
    first, last = changed_stretch(before, after)
    removed, added = len(before) - first - last, len(after) - first - last
    changed = offset + first if removed or added else None
    return SendableChange(changed, removed, added, now.length)


def changed_stretch(before: Sequence[Any], after: Sequence[Any]) -> tuple[int, int]:
    """How many items two lists share at their beginning, and how many of the rest at their end."""
    shorter = min(len(before), len(after))
    first = 0
    while first < shorter and before[first] == after[first]:
        first += 1
    last = 0
    while last < shorter - first and before[-1 - last] == after[-1 - last]:
        last += 1
    return first, last
