"""What the log says so far, as the audit understands it: entries, calls, answers. It refuses nothing.

A second, simpler reading of the events, on purpose: it shares no code with the folds it is held against.
The order of the buffer follows from the rule for placeholders, not from `behind`: an appended entry stands at
its own number, a placeholder at that of the entry behind which it was put, before those that an earlier call
put there (which a retraction makes possible), a summary between that number and the next. What a fork carries
stands at numbers below zero, in the order that its first event names.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from turnledger.domain.events import (
    CallHealed,
    CarriedEntry,
    ConversationCleared,
    ConversationForked,
    ConversationStarted,
    DomainEvent,
    EntriesEvicted,
    EntryRetracted,
    MessageAppended,
    PlaceholderReplaced,
    RecordKept,
    SummaryInserted,
)

FIRST = float("-inf")
Place = tuple[float, float, int]
UNCOUNTED_ROLES = ("system", "developer")


def usable(value: Any) -> str | None:
    """The id that a value stands for, or None (section 1, *call id*)."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    text = str(value).strip()
    return None if text in ("", "0") else text


def calls_of(metadata: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    calls = metadata.get("tool_calls")
    return [call for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []


def id_of(call: Mapping[str, Any]) -> str | None:
    return usable(call.get("tool_call_id")) or usable(call.get("id"))


@dataclass(slots=True)
class SeenEntry:
    """One entry: where it came from, and the ids that it declares (a turn) or answers (a result)."""

    number: int
    version: int
    batch: int
    time: datetime
    turn_id: str | None
    execution_id: str | None
    place: Place
    stored: dict[str, Any]
    ids: tuple[str, ...] = ()
    evicted: bool = False
    summary: bool = False
    forgotten: bool = False

    @property
    def role(self) -> str:
        return str(self.stored["role"])

    @property
    def healed(self) -> bool:
        return self.role == "tool" and self.stored["metadata"].get("healed") is True

    @property
    def is_call_turn(self) -> bool:
        """Whether it declares calls, each with a usable id: what can be appended again and be known."""
        calls = calls_of(self.stored["metadata"]) if self.role == "assistant" else []
        return bool(calls) and all(id_of(call) for call in calls)

    @property
    def is_real_result(self) -> bool:
        return self.role == "tool" and bool(self.ids) and not self.healed


@dataclass(slots=True)
class Model:
    """The state of one history. `gap` says that events are missing from it: then absence proves nothing."""

    gap: bool = False
    window: int | None = None
    last: DomainEvent | None = None
    changed: int = 0
    due: tuple[int, int] | None = None
    entries: dict[int, SeenEntry] = field(default_factory=dict)
    newest: int = 0
    newest_turn: int = 0
    newest_user: int | None = None
    buffered: dict[int, None] = field(default_factory=dict)
    counted: "OrderedDict[int, None]" = field(default_factory=OrderedDict)
    touching: dict[str, set[int]] = field(default_factory=dict)
    bearing: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    known: dict[int, None] = field(default_factory=dict)
    renamed: set[str] = field(default_factory=set)
    answers: dict[str, int] = field(default_factory=dict)
    open: "OrderedDict[str, int]" = field(default_factory=OrderedDict)
    placed: dict[int, int] = field(default_factory=dict)
    placed_by: int = 0
    records: int = 0
    record_keys: dict[tuple[str, str | None], int] = field(default_factory=dict)

    def take(self, event: DomainEvent) -> None:
        match event:
            case ConversationStarted():
                self.window = event.window
            case ConversationForked():
                self._fork(event)
            case SummaryInserted():
                self._summarize(event)
            case MessageAppended():
                stored = {"role": event.role, "content": event.content, "metadata": event.metadata}
                self._add(event, event.entry, (event.entry, FIRST, event.entry), stored)
            case CallHealed():
                self._heal(event)
            case PlaceholderReplaced() if event.entry in self.entries:
                entry = self.entries[event.entry]
                entry.stored = {"role": "tool", "content": event.content, "metadata": event.metadata}
            case EntriesEvicted():
                for number in event.evicted:
                    self._evict(number)
            case EntryRetracted():
                self._retract(event.entry)
            case ConversationCleared():
                self._clear()
            case RecordKept():
                self.records += 1
                if event.key is not None:
                    self.record_keys[event.kind, event.key] = event.version
        self._note_change(event)
        self.last = event

    def _note_change(self, event: DomainEvent) -> None:
        """`changed` is the newest version of the buffer."""
        match event:
            case PlaceholderReplaced() if event.entry in self.buffered:
                self.changed = event.version
            case MessageAppended() | CallHealed() | EntriesEvicted() | SummaryInserted():
                self.changed = event.version
            case ConversationForked() | EntryRetracted() | ConversationCleared():
                self.changed = event.version

    def _fork(self, event: ConversationForked) -> None:
        self.window = event.window
        position = {number: place for place, number in enumerate(event.buffer)}
        for carried in event.entries:
            place = position.get(carried.entry, 0) - len(position)
            self._carry(event, carried, (place, FIRST, carried.entry))
            if carried.entry not in position:
                self._evict(carried.entry)
        self.newest, self.newest_user = event.newest_entry, event.newest_user
        self.newest_turn = event.newest_turn or 0

    def _carry(self, event: DomainEvent, carried: CarriedEntry, place: Place) -> None:
        stored = {"role": carried.role, "content": carried.content, "metadata": carried.metadata}
        entry = SeenEntry(
            carried.entry,
            event.version,
            event.batch,
            carried.time,
            carried.turn_id,
            carried.execution_id,
            place,
            stored,
            summary=carried.summary,
        )
        self._put(entry)

    def _summarize(self, event: SummaryInserted) -> None:
        behind = self.entries.get(event.behind)
        entry = SeenEntry(
            event.entry,
            event.version,
            event.batch,
            event.time,
            event.turn_id,
            event.execution_id,
            (behind.place[0] + 0.5 if behind else FIRST, FIRST, event.entry),
            {"role": event.role, "content": event.content, "metadata": event.metadata},
            summary=True,
        )
        self._put(entry)

    def _heal(self, event: CallHealed) -> None:
        metadata = {"tool_call_id": event.call_id, "healed": True}
        stored = {"role": "tool", "content": event.content, "metadata": metadata}
        behind = self.entries.get(event.behind)
        place = (behind.place[0] if behind else event.entry, -event.batch, event.entry)
        if self.placed_by != event.batch:
            self.placed_by, self.placed = event.batch, {}
        self.placed[event.turn_entry] = event.entry
        self._add(event, event.entry, place, stored)

    def _add(self, event: DomainEvent, number: int, place: Place, stored: dict[str, Any]) -> None:
        self._put(
            SeenEntry(
                number,
                event.version,
                event.batch,
                event.time,
                event.turn_id,
                event.execution_id,
                place,
                stored,
            )
        )

    def _put(self, entry: SeenEntry) -> None:
        number, stored = entry.number, entry.stored
        self.entries[number] = entry
        self.known[number] = None
        self.newest = max(self.newest, number)
        self.buffered[number] = None
        if entry.summary:
            return
        if entry.role not in UNCOUNTED_ROLES:
            self.counted[number] = None
        if entry.role == "tool":
            answered = usable(stored["metadata"].get("tool_call_id"))
            entry.ids = (answered,) if answered else ()
            self.answers.update(dict.fromkeys(entry.ids, number))
        else:
            self.newest_turn = number
            entry.ids = self._declare(number, stored["metadata"]) if entry.role == "assistant" else ()
            if entry.role == "user":
                self.newest_user = number
        for call_id in entry.ids:
            self.touching.setdefault(call_id, set()).add(number)
            if entry.role == "tool":
                self.open.pop(call_id, None)

    def _declare(self, number: int, metadata: Mapping[str, Any]) -> tuple[str, ...]:
        ids: dict[str, None] = {}
        for call in calls_of(metadata):
            call_id, original = id_of(call), usable(call.get("original_id"))
            if call_id is None:
                continue
            ids[call_id] = None
            self.bearing.setdefault(call_id, []).append((number, call_id))
            if original and original != call_id:
                self.bearing.setdefault(original, []).append((number, call_id))
                self.renamed.add(original)
            if call_id not in self.answers:
                self.open.setdefault(call_id, number)
        return tuple(ids)

    def _evict(self, number: int) -> None:
        self.buffered.pop(number, None)
        self.counted.pop(number, None)
        if entry := self.entries.get(number):
            entry.evicted = True
            for call_id in entry.ids:
                self.touching[call_id].discard(number)

    def _retract(self, number: int) -> None:
        """What the entry declared or answered is unknown; what it waited for, others may wait for."""
        entry = self.entries.get(number)
        if entry is None or number not in self.buffered:
            return
        ids = entry.ids
        self._evict(number)
        del self.known[number]
        entry.ids, entry.forgotten = (), True
        if entry.role == "assistant":
            self._undeclare(number, entry.stored["metadata"])
        for call_id in ids:
            self.open.pop(call_id, None)
            if self.answers.get(call_id) == number:
                del self.answers[call_id]
        waiting = [*self.open, *(call_id for call_id in ids if call_id not in self.answers)]
        self.open = self._opened(waiting)
        if number == self.newest_user:
            self.newest_user = self._newest(lambda entry: entry.role == "user")
        if number == self.newest_turn:
            self.newest_turn = self._newest(lambda entry: entry.role != "tool") or 0

    def _undeclare(self, number: int, metadata: Mapping[str, Any]) -> None:
        for call in calls_of(metadata):
            for name in {id_of(call), usable(call.get("original_id"))}:
                left = [one for one in self.bearing.pop(name or "", []) if one[0] != number]
                if left and name:
                    self.bearing[name] = left
                if all(borne == name for _, borne in left):
                    self.renamed.discard(name or "")

    def _opened(self, waiting: Iterable[str]) -> "OrderedDict[str, int]":
        """Of these calls those that a turn in the buffer declares, each with the first such, in order."""
        places: list[tuple[int, int, str]] = []
        for call_id in waiting:
            turns = [
                n for n, borne in self.bearing.get(call_id, ()) if borne == call_id and n in self.buffered
            ]
            if turns:
                first = min(turns)
                places.append((first, self.entries[first].ids.index(call_id), call_id))
        return OrderedDict((call_id, turn) for turn, _, call_id in sorted(places))

    def _newest(self, is_one: Callable[[SeenEntry], bool]) -> int | None:
        found = (self.entries[number] for number in reversed(self.known))
        return next((entry.number for entry in found if not entry.summary and is_one(entry)), None)

    def _clear(self) -> None:
        for number in self.known:
            entry = self.entries[number]
            entry.ids, entry.forgotten, entry.evicted = (), True, True
        for known in (
            self.known,
            self.buffered,
            self.counted,
            self.touching,
            self.bearing,
            self.answers,
            self.open,
        ):
            known.clear()
        self.renamed.clear()
        self.record_keys.clear()
        self.newest_user, self.newest_turn, self.records = None, 0, 0

    def has_something(self) -> bool:
        """Whether a clearing has anything to do."""
        return self.records > 0 or bool(self.known)

    def in_order(self, numbers: Iterable[int] | None = None) -> list[SeenEntry]:
        """These entries, or all of the buffer, in the order in which they stand."""
        found = [self.entries[number] for number in (self.buffered if numbers is None else numbers)]
        return sorted(found, key=lambda entry: entry.place)

    def has_open_call(self, entry: SeenEntry) -> bool:
        """Whether it is the first turn that declares a call which nothing answers yet."""
        return entry.role == "assistant" and any(self.open.get(i) == entry.number for i in entry.ids)

    def has_real_result(self, call_id: str) -> bool:
        return call_id in self.answers and not self.entries[self.answers[call_id]].healed

    def may_answer_another(self, call_id: str) -> bool:
        """Whether a result under this id, given again, is meant for another call that has no real one yet.

        The exception of section 8: the newest turn reuses the id. And what section 2 says of an id that came
        only as the `original_id` of calls: a result stored under it before is the result of none of them.
        """
        if call_id not in self.renamed:
            return False
        bearing = self.bearing[call_id]
        reused = bearing[-1][0] == self.newest_turn
        orphan = all(borne != call_id for _, borne in bearing)
        return (reused or orphan) and any(not self.has_real_result(borne) for _, borne in bearing)
