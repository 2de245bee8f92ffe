"""The store once more, as plain lists: written from SPEC sections 2 and 4, slow, and no code of the library.

Each decision scans its lists from the start. It knows messages that JSON can hold; odd values, refusals and
what is on disk are for other tests.
"""

import copy
import json
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import takewhile
from typing import Any

from tests.normalize_reference import INTERRUPTED, read_id

SYSTEM = ("system", "developer")


def frozen(value: Any) -> str:
    """One text for all equal JSON values: `1` equals `1.0`, `true` does not equal `1`."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, int | float | Decimal):
        exact = Decimal(str(value)) if isinstance(value, float) else Decimal(value)
        return format(exact.normalize(), "f") if exact else "0"
    if isinstance(value, dict):
        return (
            "{"
            + ",".join(sorted(json.dumps(key) + ":" + frozen(inner) for key, inner in value.items()))
            + "}"
        )
    return "[" + ",".join(frozen(inner) for inner in value) + "]"


def frozen_arguments(value: Any) -> str:
    """Arguments as they compare: text is parsed first, and there are several ways to say none."""
    if isinstance(value, str):
        try:
            value = json.loads(value, parse_float=Decimal, parse_constant=lambda name: 1 / 0)
        except (ValueError, ZeroDivisionError):
            return "text " + json.dumps(value)
    return "none" if value is None or value in ("", {}) else frozen(value)


@dataclass
class Call:
    id: str | None
    original: str | None
    name: str
    arguments: Any
    turn: int = 0

    def equals(self, other: "Call") -> bool:
        mine, theirs = frozen_arguments(self.arguments), frozen_arguments(other.arguments)
        return self.name == other.name and mine == theirs


@dataclass
class Entry:
    number: int
    role: str
    content: Any
    calls: list[Call] = field(default_factory=list)
    result_of: str | None = None
    original: str | None = None
    healed: bool = False
    turn_id: str | None = None
    execution_id: str | None = None
    evicted: bool = False
    summary: bool = False


@dataclass
class Artifact:
    type: str
    payload: Any
    tool_call_id: Any
    execution_id: str
    turn_id: str | None = None
    place: str = "held"
    held_order: int | None = None

    def plain(self) -> dict[str, Any]:
        return {"type": self.type, "payload": self.payload, "tool_call_id": self.tool_call_id}

    def size(self) -> int:
        return len(json.dumps(self.plain(), separators=(",", ":"), ensure_ascii=False).encode())


def read(message: dict[str, Any]) -> Entry:
    """An incoming message of any shape, read by section 2."""
    metadata = message.get("metadata") or {}
    entry = Entry(0, message["role"], "" if message.get("content") is None else message["content"])
    if entry.role == "assistant":
        entry.calls = [
            read_call(call) for call in metadata.get("tool_calls") or message.get("tool_calls") or []
        ]
    if entry.role == "tool":
        entry.result_of = read_id(metadata.get("tool_call_id")) or read_id(message.get("tool_call_id"))
        entry.healed = (metadata["healed"] if "healed" in metadata else message.get("healed")) is True
        entry.original = read_id(metadata.get("original_id")) or read_id(message.get("original_id"))
    return entry


def read_call(call: dict[str, Any]) -> Call:
    function = call.get("function") or {}
    return Call(
        read_id(call.get("tool_call_id")) or read_id(call.get("id")),
        read_id(call.get("original_id")),
        call.get("name") or function.get("name") or "unknown",
        call["arguments"] if call.get("arguments") not in (None, "") else function.get("arguments"),
    )


@dataclass
class Report:
    appended: int = 0
    entries: list[int | None] = field(default_factory=list)
    healed: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    duplicates: list[int] = field(default_factory=list)
    differing: list[int] = field(default_factory=list)
    renamed: list[tuple[int, str, str]] = field(default_factory=list)
    evicted: list[int] = field(default_factory=list)
    delivered: list[dict[str, Any]] = field(default_factory=list)
    held: list[dict[str, Any]] = field(default_factory=list)
    refused: int = 0
    stood_for: dict[str, list[Call]] = field(default_factory=dict)
    repeats: dict[int, list[Call]] = field(default_factory=dict)


class Model:
    """One conversation. Every command changes it at once; copy it to be able to go back."""

    def __init__(self, window: int | None, artifacts_max: int, bytes_max: int) -> None:
        self.window, self.artifacts_max, self.bytes_max = window, artifacts_max, bytes_max
        self.entries: list[Entry] = []
        self.artifacts: list[Artifact] = []
        self.takes: dict[str, dict[str, Any]] = {}
        self.brought: list[tuple[set[int], list[dict[str, Any]]]] = []
        self.version = 0
        self.buffer_version = 0
        self.dropped: list[str] = []
        self.gone: list[Entry] = []
        self.floor = 0
        self.records: list[tuple[str, str | None, Any]] = []
        self.records_version = 0

    def copy(self) -> "Model":
        return copy.deepcopy(self)

    # what is known

    def buffer(self) -> list[Entry]:
        return [entry for entry in self.entries if not entry.evicted]

    def log(self) -> list[Entry]:
        return sorted(self.entries, key=lambda entry: entry.number)

    def declared(self) -> list[Call]:
        return [call for entry in self.log() for call in entry.calls if call.id is not None]

    def newest_turn(self) -> list[Entry]:
        """The newest entry that is no result, or none."""
        return [entry for entry in self.log() if entry.role != "tool" and not entry.summary][-1:]

    def result(self, call_id: str | None) -> Entry | None:
        for entry in self.entries:
            if entry.result_of is not None and entry.result_of == call_id:
                return entry
        return None

    def is_open(self, call: Call) -> bool:
        return call.id is not None and self.result(call.id) is None

    def recorded(self, events: int = 1, *, buffer: bool = False) -> None:
        self.version += events + (1 if self.version == 0 else 0)
        if buffer:
            self.buffer_version = self.version

    # appending

    def append(
        self, messages: list[dict[str, Any]], mode: str, turn_id: str | None, execution_id: str | None
    ) -> Report:
        report = Report()
        added: set[int] = set()
        before = self.version
        for index, message in enumerate(messages):
            entry = read(message)
            entry.turn_id, entry.execution_id = turn_id, execution_id
            if entry.role == "tool" and entry.result_of is not None:
                self._result(index, entry, report, turn_id, added)
            elif entry.role == "assistant" and entry.calls:
                self._turn(index, entry, report, mode, added)
            else:
                if entry.role == "user":
                    self._heal(report, added, turn_id, execution_id)
                self._add(entry, report, added)
        if self.version > before:  # a repeat is a no-op: the window does not close for it
            self._evict(report, added)
        return report

    def _number(self) -> int:
        return max([self.floor, *(entry.number for entry in self.entries + self.gone)]) + 1

    def _add(self, entry: Entry, report: Report, added: set[int]) -> None:
        entry.number = self._number()
        for call in entry.calls:
            call.turn = entry.number
        self.entries.append(entry)
        added.add(entry.number)
        report.appended += 1
        report.entries.append(entry.number)
        self.recorded(buffer=True)

    def _heal(self, report: Report, added: set[int], turn_id: str | None, execution_id: str | None) -> None:
        for turn in self.buffer():
            behind = turn
            for call in turn.calls:
                if not self.is_open(call):
                    continue
                placeholder = Entry(self._number(), "tool", INTERRUPTED, result_of=call.id, healed=True)
                placeholder.turn_id, placeholder.execution_id = turn_id, execution_id
                self.entries.insert(self.entries.index(behind) + 1, placeholder)
                behind = placeholder
                added.add(placeholder.number)
                report.healed.append(call.id or "")
                self.recorded(buffer=True)

    def _turn(self, index: int, entry: Entry, report: Report, mode: str, added: set[int]) -> None:
        before = self.declared()
        incoming = [call.id for call in entry.calls]
        found = [self._repeated(call, before, [], mode) for call in entry.calls]
        if all(call_id is not None for call_id in incoming) and all(call is not None for call in found):
            targets = [call for call in found if call is not None]
            for call_id, target in zip(incoming, targets, strict=True):
                report.stood_for.setdefault(str(call_id), []).append(target)
            report.entries.append(None)
            report.duplicates.append(index)
            report.repeats[index] = targets
            turns = {target.turn for target in targets}
            if not any(self._says_the_same(entry, number) for number in turns):
                report.differing.append(index)
            return
        used = {call_id for call_id in incoming if call_id} | {call.original for call in entry.calls}
        for call in before + [call for other in self.gone for call in other.calls]:
            used |= {call.id, call.original}
        used |= {name for other in self.entries + self.gone for name in (other.result_of, other.original)}
        done: list[Call] = []
        for call in entry.calls:
            if call.id is not None and any(call.id in (other.id, other.original) for other in before + done):
                repeated = self._repeated(call, before, done, mode)
                asked_id = call.id
                if repeated is not None:
                    call.id = repeated.id
                else:
                    number = 2
                    while f"{asked_id}-{number}" in used:
                        number += 1
                    call.id = f"{asked_id}-{number}"
                    used.add(call.id)
                if call.id != asked_id:
                    call.original = asked_id
                    report.renamed.append((index, asked_id, call.id or ""))
            if call.id is not None:
                done.append(call)
        for call_id, call in zip(incoming, entry.calls, strict=True):
            if call_id is not None:
                report.stood_for.setdefault(call_id, []).append(call)
        self._add(entry, report, added)

    def _says_the_same(self, entry: Entry, number: int) -> bool:
        known = next(other for other in self.entries if other.number == number)
        if frozen(known.content) != frozen(entry.content) or len(known.calls) != len(entry.calls):
            return False
        return all(mine.equals(theirs) for mine, theirs in zip(entry.calls, known.calls, strict=True))

    def _repeated(self, call: Call, before: list[Call], same_turn: list[Call], mode: str) -> Call | None:
        """The known call that this one repeats, None where it is a new one."""
        earlier = [other for other in before if call.id in (other.id, other.original)]
        known = earlier + [other for other in same_turn if call.id in (other.id, other.original)]
        if call.id is None or mode == "distinct":
            return None
        equal = [other for other in known if call.equals(other)]
        for candidates in (
            [other for other in equal if self.is_open(other)],
            equal,
            [other for other in earlier if self.is_open(other)],
            known if mode == "drop" else [],
        ):
            if candidates:
                return candidates[-1]
        return None

    def _result(self, index: int, entry: Entry, report: Report, turn_id: str | None, added: set[int]) -> None:
        asked = entry.result_of
        declared = self.declared()
        bearing = [call for call in declared if asked in (call.id, call.original)]
        forgotten = [call for other in self.gone for call in other.calls if asked in (call.id, call.original)]
        if forgotten and not bearing:
            report.entries.append(None)
            report.duplicates.append(index)
            return
        if any(call.original == asked != call.id for call in declared):
            call = self._call_of(entry, bearing, report, turn_id)
            if call is None:
                report.entries.append(None)
                report.duplicates.append(index)
                candidates = self._candidates(asked or "", bearing, report, turn_id)
                if not any(self._same_result(entry, self.result(other.id)) for other in candidates):
                    report.differing.append(index)
                return
            entry.result_of = call.id
            if call.id != asked:
                entry.original = asked
        known = self.result(entry.result_of)
        if known is None:
            self._add(entry, report, added)
        elif known.healed and not entry.healed:
            known.content, known.healed = entry.content, False
            known.original = entry.original
            report.entries.append(known.number)
            report.replaced.append(entry.result_of or "")
            self.recorded(buffer=not known.evicted)
        else:
            report.entries.append(None)
            report.duplicates.append(index)
            if not self._same_result(entry, known):
                report.differing.append(index)

    @staticmethod
    def _same_result(entry: Entry, known: Entry | None) -> bool:
        return known is not None and frozen(known.content) == frozen(entry.content)

    def _call_of(self, entry: Entry, bearing: list[Call], report: Report, turn_id: str | None) -> Call | None:
        """Which call a result under a reused id answers."""
        asked = str(entry.result_of)
        candidates = self._candidates(asked, bearing, report, turn_id)
        newest = self.newest_turn()[-1]
        fresh = asked in report.stood_for or any(asked in (call.id, call.original) for call in newest.calls)
        if not fresh:
            for call in candidates:
                known = self.result(call.id)
                if known is not None and not known.healed and frozen(known.content) == frozen(entry.content):
                    return None
        free = []
        for call in candidates:
            known = self.result(call.id)
            if known is None or (known.healed and not entry.healed):
                free.append(call)
        if not free:
            return None
        latest = max(call.turn for call in free)
        return next(call for call in free if call.turn == latest)

    def _candidates(self, asked: str, bearing: list[Call], report: Report, turn_id: str | None) -> list[Call]:
        of_turn = [call for call in bearing if turn_id and self._entry(call.turn).turn_id == turn_id]
        return report.stood_for.get(asked) or of_turn or bearing

    def _entry(self, number: int) -> Entry:
        return next(entry for entry in self.entries if entry.number == number)

    # the window

    def _evict(self, report: Report, added: set[int]) -> None:
        if self.window is None or self.window <= 0:
            return
        counted = self._counted()
        leaving: set[int] = set()
        newest_user = max((entry.number for entry in counted if entry.role == "user"), default=None)
        for first in counted:
            if len(counted) - len(leaving) <= self.window:
                break
            group = self._group(first, counted)
            turns = [entry for entry in group if entry.calls]
            if first.number in leaving or (turns and turns[0] is not first):
                continue
            if any(entry.number in added or entry.number == newest_user for entry in group):
                continue
            if any(self.is_open(call) for entry in group for call in entry.calls):
                continue
            leaving |= {entry.number for entry in group}
        if leaving and not self._would_lead(counted, leaving):
            for entry in counted:
                if entry.number in leaving:
                    entry.evicted = True
                    report.evicted.append(entry.number)
            self.recorded(buffer=True)

    def _counted(self) -> list[Entry]:
        return [entry for entry in self.buffer() if entry.role not in SYSTEM and not entry.summary]

    def _would_lead(self, counted: list[Entry], leaving: set[int]) -> bool:
        """Whether a result that stands before its turn would come to lead."""
        rest = [entry for entry in counted if entry.number not in leaving]
        ids = {call.id for entry in rest for call in entry.calls}
        led = counted[:1]
        return any(e.result_of in ids - {None} for e in self._leading(rest) if e not in led)

    def compact(self, keep_last: int, summary: dict[str, Any]) -> Report:
        """What is older leaves, and the summary stands where the first of it stood."""
        report = Report()
        counted = self._counted()
        staying = {entry.number for entry in counted[max(0, len(counted) - keep_last) :]}
        leaving: set[int] = set()
        for entry in counted:
            group = self._group(entry, counted)
            if any(one.number in staying or any(map(self.is_open, one.calls)) for one in group):
                continue
            leaving.add(entry.number)
        if not leaving or self._would_lead(counted, leaving):
            return report
        gone = [entry for entry in self.buffer() if entry.summary or entry.number in leaving]
        made = read(summary)
        made.number, made.summary = self._number(), True
        self.entries.insert(self.entries.index(gone[0]), made)
        for entry in gone:
            entry.evicted = True
            report.evicted.append(entry.number)
        report.entries.append(made.number)
        self.recorded(2, buffer=True)
        return report

    def retract(self, number: int | None) -> list[Entry]:
        """The last entry of the buffer, or that one, and before it the results that only it declares."""
        buffer = self.buffer()
        if not buffer:
            return []
        entry = buffer[-1] if number is None else self._entry(number)
        others = {call.id for other in buffer if other is not entry for call in other.calls}
        own = {call.id for call in entry.calls} - others - {None}
        results = [other for other in buffer if other.result_of in own]
        gone = [*sorted(results, key=lambda other: other.number), entry]
        for other in gone:
            self._forget([other])
            self.recorded(buffer=True)
            self.records_version = self.version
        return gone

    def clear(self) -> int:
        """All of it is forgotten, what had left the buffer too; how many entries stood there."""
        count = len(self.buffer())
        if self.entries or self.records:
            self._forget(list(self.entries))
            self.records = []
            self.recorded(buffer=True)
            self.records_version = self.version
        return count

    def _forget(self, entries: list[Entry]) -> None:
        self.entries = [entry for entry in self.entries if entry not in entries]
        self.gone += entries

    def keep(self, records: list[tuple[str, str | None, Any]]) -> int:
        before = len(self.records)
        for kind, key, value in records:
            if key is None or (kind, key) not in [(one[0], one[1]) for one in self.records]:
                self.records.append((kind, key, value))
                self.recorded()
                self.records_version = self.version
        return len(self.records) - before

    def fork(self) -> "Model":
        """What a fork begins with: nothing of artifacts comes along."""
        forked = self.copy()
        forked.artifacts, forked.takes, forked.brought = [], {}, []
        forked.floor, forked.records_version = self._number() - 1, 0
        forked.records, forked.gone = [], []
        forked.version = forked.buffer_version = 1
        return forked

    @staticmethod
    def _leading(entries: list[Entry]) -> list[Entry]:
        """The results that come before anything else."""
        return list(takewhile(lambda entry: entry.role == "tool", entries))

    @staticmethod
    def _group(first: Entry, counted: list[Entry]) -> list[Entry]:
        """The turns that share calls with this entry, directly or through others, and their results."""
        numbers, ids = {first.number}, {call.id for call in first.calls} | {first.result_of}
        grown = True
        while grown:
            grown = False
            for entry in counted:
                own = ({call.id for call in entry.calls} | {entry.result_of}) - {None}
                if entry.number not in numbers and own & ids:
                    numbers.add(entry.number)
                    ids |= own
                    grown = True
        return [entry for entry in counted if entry.number in numbers]

    # artifacts

    def held(self, execution_id: str) -> list[Artifact]:
        mine = [item for item in self.artifacts if item.place == "held" and item.execution_id == execution_id]
        return sorted(mine, key=lambda item: item.held_order or 0)

    def _fit(self, load: list[Artifact], item: Artifact) -> bool:
        size = sum(other.size() for other in load) + item.size()
        return len(load) + 1 <= self.artifacts_max and size <= self.bytes_max

    def _read_artifacts(self, given: list[Any], execution_id: str, turn_id: str | None) -> list[Artifact]:
        read = []
        for item in given:
            if (
                not isinstance(item, dict)
                or not isinstance(item.get("payload"), dict)
                or not item["type"].strip()
            ):
                continue
            call_id = item.get("tool_call_id")
            if isinstance(call_id, bool) or not isinstance(call_id, str | int):
                call_id = None
            read.append(Artifact(item["type"], item["payload"], call_id, execution_id, turn_id))
        return read

    def _hold(self, given: list[Artifact], execution_id: str) -> tuple[list[Artifact], int]:
        held, refused = [], 0
        for item in given:
            if self._fit(self.held(execution_id), item):
                item.held_order = len(self.artifacts)
                self.artifacts.append(item)
                held.append(item)
            else:
                refused += 1
        return held, refused

    def hold(self, given: list[Any], execution_id: str, turn_id: str | None) -> Report:
        items = self._read_artifacts(given, execution_id, turn_id)
        held, refused = self._hold(items, execution_id)
        if given:
            self.recorded()
        return Report(held=[item.plain() for item in held], refused=refused + len(given) - len(items))

    def write_back(
        self,
        messages: list[dict[str, Any]],
        given: list[Any],
        mode: str,
        turn_id: str | None,
        execution_id: str,
    ) -> Report:
        report = self.append(messages, mode, turn_id, execution_id)
        items = self._read_artifacts(given, execution_id, turn_id)
        report.refused = len(given) - len(items)
        last = [index for index, message in enumerate(messages) if message["role"] == "assistant"][-1:]
        number = report.entries[last[0]] if last else None
        if number is not None:
            taken = self.held(execution_id)
            if taken:
                self.recorded()
            if taken or given:
                self.recorded()
            for item in taken + items:
                item.place = f"entry {number}"
            self.artifacts += items
            self.brought.append(({number}, [item.plain() for item in items]))
            report.delivered = [item.plain() for item in taken + items]
            return report
        entries = {call.turn for call in report.repeats.get(last[0], ())} if last else set()
        earlier = [frozen(item) for numbers, brought in self.brought if numbers & entries for item in brought]
        new = []
        for item in items:
            if frozen(item.plain()) in earlier:
                earlier.remove(frozen(item.plain()))
            else:
                new.append(item)
        held, refused = self._hold(new, execution_id)
        report.refused += refused
        report.held = [item.plain() for item in held]
        if held or report.refused:
            self.recorded()
            self.brought.append((entries, report.held))
        return report

    def take(self, execution_id: str, take_id: str | None) -> list[dict[str, Any]]:
        taken = self.held(execution_id)
        if taken:
            self.recorded()
            self.takes[str(take_id)] = {"state": "open", "items": taken, "at": len(self.artifacts)}
            for item in taken:
                item.place = f"take {take_id}"
        return [item.plain() for item in taken]

    def settle(self, take_id: str, how: str) -> str | int:
        """`TakeSettled`, or how many artifacts a put-back made room for."""
        take = self.takes[take_id]
        if take["state"] != "open":
            return 0 if take["state"] == how else "TakeSettled"
        take["state"] = how
        self.recorded()
        for item in take["items"]:
            item.place = {"confirm": "elsewhere", "discard": "discarded", "put_back": "held"}[how]
        return self._make_room(take) if how == "put_back" else 0

    def _make_room(self, take: dict[str, Any]) -> int:
        """Of what was held since the take, oldest first, each that does not fit is dropped."""
        held = self.held(take["items"][0].execution_id)
        since = [item for item in held if (item.held_order or 0) >= take["at"]]
        load = [item for item in held if item not in since]
        dropped = 0
        for item in since:
            if self._fit(load, item):
                load.append(item)
            else:
                item.place = "dropped"
                dropped += 1
        return dropped
