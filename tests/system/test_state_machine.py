"""The whole face against a plain-list model: after every step the store shows what the model says.

`TURNLEDGER_SOAK=1 pytest -m soak tests/system/test_state_machine.py` runs it for long.
"""

import asyncio
import logging
import os
import shutil
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.model import Call, Model, Report, frozen, frozen_arguments, read, read_call
from tests.normalize_reference import read_id, reference
from tests.postgres import need_server, new_url
from tests.sendable_check import exactly, why_not_openai, why_not_sendable
from tests.strategies import artifact_lists, batches, clashing_messages
from turnledger import (
    ArtifactDropped,
    ArtifactsDelivered,
    ArtifactsDiscarded,
    ArtifactsHeld,
    ArtifactsPutBack,
    ArtifactsTaken,
    ConversationExists,
    ConversationNotFound,
    ConversationStore,
    EntryNotFound,
    HeldLimits,
    IdempotencyConflict,
    InvalidMessage,
    Record,
    TakeNotFound,
    TakeSettled,
    VersionConflict,
)

LIMITS = HeldLimits(artifacts=3, payload_bytes=180)
MODES = st.sampled_from(["compare", "compare", "compare", "drop", "distinct"])
TURNS = st.sampled_from([None, None, "t1", "t2"])
EXECUTIONS = st.sampled_from(["e1", "e1", "e2"])
KEYS = st.sampled_from([None, None, None, "k1", "k2"])
VERSIONS = st.one_of(st.none(), st.none(), st.none(), st.integers(0, 25))
HOW = st.sampled_from(["confirm", "put_back", "discard"])


def told(calls: Iterable[Call]) -> list[Any]:
    return [(call.id, call.original, call.name, frozen_arguments(call.arguments)) for call in calls]


def shown(stored: dict[str, Any]) -> tuple[Any, ...]:
    """An entry of a buffer, as the model tells it."""
    metadata = stored["metadata"]
    calls = told(read_call(call) for call in metadata.get("tool_calls", ()))
    tool = stored["role"] == "tool"
    return (
        stored["role"],
        frozen(stored["content"]),
        calls,
        read_id(metadata.get("tool_call_id")) if tool else None,
        read_id(metadata.get("original_id")) if tool else None,
        metadata.get("healed") is True,
    )


class Places:
    """Where each artifact is, from the events alone; every move must start where the artifact is."""

    def __init__(self) -> None:
        self.place: dict[str, str] = {}
        self.plain: dict[str, str] = {}
        self.takes: dict[str, list[str]] = {}

    def move(self, artifact_ids: Iterable[str], before: Callable[[str | None], bool], after: str) -> None:
        for artifact_id in artifact_ids:
            assert before(self.place.get(artifact_id)), (artifact_id, self.place.get(artifact_id), after)
            self.place[artifact_id] = after

    def new(self, artifacts: Iterable[Any], place: str) -> None:
        for artifact in artifacts:
            plain = {key: getattr(artifact, key) for key in ("type", "payload", "tool_call_id")}
            self.plain[artifact.artifact_id] = frozen(plain)
            self.move([artifact.artifact_id], lambda place: place is None, place)

    def apply(self, event: Any) -> None:
        if isinstance(event, ArtifactsHeld):
            self.new(event.held, "held")
        elif isinstance(event, ArtifactsTaken):
            self.takes[event.take_id] = event.taken
            self.move(event.taken, lambda place: place == "held", f"take {event.take_id}")
        elif isinstance(event, ArtifactsDelivered):
            new = [artifact.artifact_id for artifact in event.new]
            place = "elsewhere" if event.entry is None else f"entry {event.entry}"
            old = [artifact_id for artifact_id in event.delivered if artifact_id not in new]
            assert event.delivered == old + new
            assert old == self.takes.get(event.take_id or "", [])
            self.move(old, lambda place: place == f"take {event.take_id}", place)
            self.new(event.new, place)
        elif isinstance(event, ArtifactsPutBack):
            assert event.put_back == self.takes[event.take_id]
            self.move(event.put_back, lambda place: place == f"take {event.take_id}", "held")
            dropped = [item.artifact_id for item in event.refused if item.artifact_id]
            self.move(dropped, lambda place: place == "held", "dropped")
        elif isinstance(event, ArtifactsDiscarded):
            self.move(event.discarded, lambda place: place == f"take {event.take_id}", "discarded")


class Clock:
    """A clock that sometimes stands and sometimes goes back."""

    def __init__(self) -> None:
        self.ticks = 0

    def __call__(self) -> datetime:
        self.ticks += 1
        jump = -5 if self.ticks % 7 == 0 else self.ticks % 3
        return datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=self.ticks + jump)


class Face(RuleBasedStateMachine):
    """Two stores on one file, and the model."""

    @initialize(window=st.sampled_from([None, None, 1, 2, 3, 5]))
    def begin(self, window: int | None) -> None:
        self.folder = tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
        self.path = self.new_place()
        self.window, self.clock, self.made = window, Clock(), 0
        self.cid, self.forks = "c", 0
        self.stores = [self.opened(), self.opened()]
        self.turn = 0
        self.model = Model(window, LIMITS.artifacts, LIMITS.payload_bytes)
        self.left: list[str] = []
        self.begin_anew()

    def new_place(self) -> Path | str:
        return Path(self.folder) / "store.db"

    def begin_anew(self) -> None:
        """Forgets what is known of one conversation."""
        self.models: dict[int, Model] = {}
        self.sent: list[tuple[str | None, str]] = []
        self.keys: dict[str, tuple[str, int, list[int | None], Report]] = {}
        self.last: tuple[list[dict[str, Any]], Report, str] | None = None
        self.last_write_back: tuple[Any, ...] | None = None
        self.take_ids: list[str] = []
        self.seen: dict[int, str] = {}
        self.warned = 0

    def new_id(self) -> str:
        self.made += 1
        return f"id{self.made}"

    def opened(self) -> ConversationStore:
        return ConversationStore(
            self.path,
            window=self.window,
            held_limits=LIMITS,
            durability="normal",
            clock=self.clock,
            new_id=self.new_id,
        )

    @property
    def store(self) -> ConversationStore:
        """Each command goes through the other of the two stores."""
        self.turn += 1
        return self.stores[self.turn % 2]

    def doing(self, command: Callable[[], Any]) -> Any:
        """Runs a command and counts the artifacts that it warned of."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            done = command()
        assert all(issubclass(warning.category, ArtifactDropped) for warning in caught), caught
        self.warned = len(caught)
        return done

    # writing

    def write(
        self,
        messages: list[Any] | None,
        given: list[Any] | None,
        *,
        mode: str = "compare",
        turn_id: str | None = None,
        execution_id: str | None = None,
        key: str | None = None,
        expected_version: int | None = None,
    ) -> Report | None:
        """One append, hold or write-back, on both store and model; None where it is refused or repeated."""
        operation = "append" if given is None else "hold" if messages is None else "write_back"
        model = self.model.copy()
        if operation == "append":
            assert messages is not None
            report = model.append(messages, mode, turn_id, execution_id)
        elif operation == "hold":
            report = model.hold(given or [], str(execution_id), turn_id)
        else:
            report = model.write_back(messages or [], given or [], mode, turn_id, str(execution_id))
        command = self.command(operation, messages, given, mode, turn_id, execution_id, key, expected_version)
        as_kept = [(shown_incoming(message)) for message in messages or ()]
        digest = repr((operation, execution_id, turn_id, as_kept, exactly_artifacts(given or [])))
        if key is not None and key in self.keys:
            known, version, entries, first = self.keys[key]
            if known != digest:
                with pytest.raises(IdempotencyConflict):
                    command()
                return None
            again = self.doing(command)
            assert again.repeated
            assert again.version == version
            assert self.warned == 0
            if operation != "hold":
                assert (again.appended, list(again.entries)) == (0, entries)
            if operation != "append":
                assert frozen(list(again.held)) == frozen(first.held)
            if operation == "write_back":
                assert frozen(list(again.delivered)) == frozen(first.delivered)
            return None
        current = self.model.version
        if expected_version is not None and not self.model.buffer_version <= expected_version <= current:
            with pytest.raises(VersionConflict):
                command()
            return None
        result = self.doing(command)
        self.model = model
        assert result.version == model.version, (result, report)
        assert not result.repeated
        assert self.warned == report.refused
        if operation != "hold":
            self.compare_append(result, report)
        if operation != "append":
            assert frozen(list(result.held)) == frozen(report.held)
            assert len(result.refused) == report.refused
        if operation == "write_back":
            assert frozen(list(result.delivered)) == frozen(report.delivered)
        if key is not None and model.version > current:
            shown_entries = report.entries
            self.keys[key] = (digest, model.version, shown_entries, report)
        if operation != "hold":
            self.last = (messages or [], report, mode)
        return report

    def command(
        self,
        operation: str,
        messages: Any,
        given: Any,
        mode: Any,
        turn_id: str | None,
        execution_id: Any,
        key: str | None,
        expected_version: int | None,
    ) -> Callable[[], Any]:
        store = self.store
        if operation == "append":
            return lambda: store.append(
                self.cid,
                messages,
                reused_ids=mode,
                turn_id=turn_id,
                execution_id=execution_id,
                idempotency_key=key,
                expected_version=expected_version,
            )
        if operation == "hold":
            return lambda: store.hold(self.cid, execution_id, given, turn_id=turn_id, idempotency_key=key)
        return lambda: store.write_back(
            self.cid,
            execution_id,
            messages,
            artifacts=given,
            reused_ids=mode,
            turn_id=turn_id,
            idempotency_key=key,
            expected_version=expected_version,
        )

    def compare_append(self, result: Any, report: Report) -> None:
        assert result.count == len(self.model.buffer())
        assert result.appended == report.appended
        assert result.appended_any is (report.appended > 0)
        assert list(result.entries) == report.entries
        assert list(result.healed) == report.healed
        assert list(result.replaced) == report.replaced
        assert list(result.duplicates) == report.duplicates
        assert list(result.differing) == report.differing
        assert list(result.renamed) == report.renamed
        assert list(result.evicted) == report.evicted

    @rule(messages=batches, mode=MODES, turn_id=TURNS, key=KEYS, expected_version=VERSIONS)
    def append(self, messages: Any, mode: str, turn_id: Any, key: Any, expected_version: Any) -> None:
        self.write(messages, None, mode=mode, turn_id=turn_id, key=key, expected_version=expected_version)

    @rule(
        message=clashing_messages(), mode=MODES, turn_id=TURNS, execution_id=st.one_of(st.none(), EXECUTIONS)
    )
    def append_one(self, message: Any, mode: str, turn_id: Any, execution_id: Any) -> None:
        self.write([message], None, mode=mode, turn_id=turn_id, execution_id=execution_id)

    @rule(content=st.sampled_from(["and?", "go on"]))
    def user_speaks(self, content: str) -> None:
        self.write([{"role": "user", "content": content}], None)

    @rule(given=artifact_lists, execution_id=EXECUTIONS, turn_id=TURNS, key=KEYS)
    def hold(self, given: Any, execution_id: str, turn_id: Any, key: Any) -> None:
        self.write(None, given, execution_id=execution_id, turn_id=turn_id, key=key)

    @rule(
        messages=st.one_of(batches, st.just([{"role": "assistant", "content": "done"}])),
        given=artifact_lists,
        execution_id=EXECUTIONS,
        turn_id=TURNS,
        mode=MODES,
        key=KEYS,
        expected_version=VERSIONS,
    )
    def write_back(
        self,
        messages: Any,
        given: Any,
        execution_id: str,
        turn_id: Any,
        mode: str,
        key: Any,
        expected_version: Any,
    ) -> None:
        self.last_write_back = (messages, given, execution_id, turn_id, mode)
        self.write(
            messages,
            given,
            mode=mode,
            turn_id=turn_id,
            execution_id=execution_id,
            key=key,
            expected_version=expected_version,
        )

    @precondition(lambda self: getattr(self, "last_write_back", None) is not None)
    @rule()
    def retry_the_write_back(self) -> None:
        """The runtime lost the answer, and sends it again; where it repeats calls, nothing comes twice."""
        assert self.last_write_back is not None
        messages, given, execution_id, turn_id, _ = self.last_write_back
        report = self.write(messages, given, turn_id=turn_id, execution_id=execution_id)
        again = self.write(messages, given, turn_id=turn_id, execution_id=execution_id)
        last = [index for index, message in enumerate(messages) if message["role"] == "assistant"][-1:]
        if report is not None and again is not None and last and again.entries[last[0]] is None:
            assert again.delivered == []

    @rule(
        messages=batches,
        given=artifact_lists,
        execution_id=EXECUTIONS,
        bad=st.sampled_from([7, {"role": "robot"}, {}]),
    )
    def fail_to_write_back(self, messages: Any, given: Any, execution_id: str, bad: Any) -> None:
        store = self.store
        with pytest.raises(InvalidMessage):
            store.write_back(self.cid, execution_id, [*messages, bad], artifacts=given, idempotency_key="k1")

    @precondition(lambda self: getattr(self, "last", None) is not None)
    @rule()
    def repeat_the_last_append(self) -> None:
        """MEM-1 and MEM-2: what stands on the record is a repeat, whoever sends it again."""
        assert self.last is not None
        messages, report, mode = self.last
        for message, number in zip(messages, report.entries, strict=True):
            entry = read(message)
            calls_usable = bool(entry.calls) and all(call.id for call in entry.calls)
            if number is None or not (entry.result_of or calls_usable):
                continue
            if number not in [known.number for known in self.model.entries]:
                continue  # it was retracted since
            newest = self.model.newest_turn()
            borne = [name for other in newest for call in other.calls for name in (call.id, call.original)]
            originals = [call.original for call in self.model.declared() if call.original != call.id]
            if entry.result_of in originals and (entry.healed or entry.result_of in borne):
                continue  # a stand-in, or a result whose id the newest turn bears, may be for another call
            before = self.model.version
            self.write([message], None, mode="drop" if mode == "drop" else "compare")
            assert self.model.version == before, "a repeat was recorded"

    @precondition(lambda self: getattr(self, "model", None) is not None)
    @rule(messages=batches, mode=MODES)
    def repeat_with_a_key(self, messages: Any, mode: str) -> None:
        key = f"own {self.turn}"
        self.write(messages, None, mode=mode, key=key)
        recorded, before = key in self.keys, self.model.version
        self.write(messages, None, mode=mode, key=key)
        assert not recorded or self.model.version == before

    # compacting, recording what is sent, forking

    @rule(
        keep_last=st.integers(0, 4),
        summary=st.sampled_from(["user", "assistant", "system"]),
        expected_version=VERSIONS,
    )
    def compact(self, keep_last: int, summary: str, expected_version: Any) -> None:
        store, message = self.store, {"role": summary, "content": "what was said"}
        known, current = self.model.buffer_version, self.model.version
        error: type[Exception] | None = None
        if not current:
            error = ConversationNotFound
        elif expected_version is not None and not known <= expected_version <= current:
            error = VersionConflict
        if error is not None:
            with pytest.raises(error):
                store.compact(
                    self.cid, keep_last=keep_last, summary=message, expected_version=expected_version
                )
            return
        result = store.compact(
            self.cid, keep_last=keep_last, summary=message, expected_version=expected_version
        )
        report = self.model.compact(keep_last, message)
        assert list(result.evicted) == report.evicted
        assert [result.summary] == (report.entries or [None])
        assert (result.version, result.count) == (self.model.version, len(self.model.buffer()))

    @precondition(lambda self: hasattr(self, "model") and self.model.version)
    @rule(provider=st.sampled_from([None, "openai-chat"]), execution_id=st.one_of(st.none(), EXECUTIONS))
    def record_request(self, provider: str | None, execution_id: Any) -> None:
        store = self.store
        sent = store.sendable(self.cid, provider=provider)
        recorded = store.record_request(
            self.cid, provider=provider, execution_id=execution_id, expected_version=sent.version
        )
        self.model.recorded()
        self.sent.append((provider, exactly(sent.messages)))
        assert (recorded.number, recorded.version) == (len(self.sent), self.model.version)
        assert recorded.of_version == sent.version

    @precondition(lambda self: bool(getattr(self, "models", None)))
    @rule(data=st.data())
    def go_on_in_a_fork(self, data: st.DataObject) -> None:
        """From here on all that happens, happens in the fork; the source is looked at again at the end."""
        version = data.draw(st.sampled_from(sorted(self.models)))
        self.forks += 1
        into, store = f"fork {self.forks}", self.store
        result = store.fork(self.cid, at=version, into=into)
        assert (result.version, result.source_id, result.source_version) == (1, self.cid, version)
        with pytest.raises(ConversationExists):
            self.store.fork(self.cid, at=version, into=into)
        sendable = [store.sendable(self.cid, at=version).messages, store.sendable(into).messages]
        assert sendable[0] == sendable[1]
        self.left.append(self.cid)
        model = self.models[version].fork()
        self.begin_anew()
        self.cid, self.model = into, model

    # taking back, clearing, keeping records

    @precondition(lambda self: hasattr(self, "model"))
    @rule(data=st.data(), last=st.booleans())
    def retract(self, data: st.DataObject, last: bool) -> None:
        numbers = [entry.number for entry in self.model.buffer()]
        number = None if last or not numbers else data.draw(st.sampled_from(numbers))
        store = self.store
        if not self.model.version:
            with pytest.raises(ConversationNotFound):
                store.retract(self.cid, number)
            return
        stood = {entry.number: entry for entry in store.entries(self.cid)}
        result = store.retract(self.cid, number)
        gone = [entry.number for entry in self.model.retract(number)]
        assert (result.version, result.count) == (self.model.version, len(self.model.buffer()))
        assert result.entry == (gone[-1] if gone else None)
        assert [*result.results, *([result.retracted] if gone else [])] == [stood[one] for one in gone]
        for one in gone:
            with pytest.raises(EntryNotFound):
                self.store.retract(self.cid, one)

    @precondition(lambda self: bool(getattr(self, "model", None)) and len(self.model.buffer()) > 3)
    @rule()
    def clear(self) -> None:
        result = self.store.clear(self.cid)
        assert result.cleared == self.model.clear()
        assert result.version == self.model.version

    @precondition(lambda self: hasattr(self, "model"))
    @rule(
        messages=st.one_of(st.just([]), batches),
        given=st.lists(st.tuples(st.sampled_from("kl"), st.sampled_from([None, "1", "2"]), artifact_lists)),
        expected=VERSIONS,
    )
    def keep_records(self, messages: Any, given: Any, expected: Any) -> None:
        store, model = self.store, self.model.copy()
        records = [Record(*one) for one in given]
        if expected is not None and not model.records_version <= expected <= model.version:
            with pytest.raises(VersionConflict):
                store.append(self.cid, messages, records=records, expected_records=expected)
            return
        result = store.append(self.cid, messages, records=records, expected_records=expected)
        report = model.append(messages, "compare", None, None)
        kept = model.keep(given)
        self.model = model
        self.compare_append(result, report)
        assert (result.version, result.records) == (model.version, kept)

    # taking

    @rule(execution_id=EXECUTIONS)
    def take(self, execution_id: str) -> None:
        self.taken(execution_id)

    def taken(self, execution_id: str) -> Any:
        store = self.store
        if not self.model.version:
            with pytest.raises(ConversationNotFound):
                store.take(self.cid, execution_id)
            return None
        take = store.take(self.cid, execution_id)
        self.expect_taken(take, execution_id)
        return take

    def expect_taken(self, take: Any, execution_id: str) -> None:
        expected = self.model.take(execution_id, take.take_id)
        assert frozen(list(take.artifacts)) == frozen(expected)
        assert (take.take_id is None) is (not expected)
        if take.take_id is not None:
            self.take_ids.append(take.take_id)

    @precondition(lambda self: bool(getattr(self, "take_ids", None)))
    @rule(data=st.data(), how=HOW)
    def settle(self, data: st.DataObject, how: str) -> None:
        self.settled(data.draw(st.sampled_from(self.take_ids)), how)

    def settled(self, take_id: str, how: str) -> None:
        store = self.store
        before = self.model.version
        outcome = self.model.settle(take_id, how)
        commands: dict[str, Callable[[], Any]] = {
            "confirm": lambda: store.confirm(self.cid, take_id),
            "put_back": lambda: store.put_back(self.cid, take_id),
            "discard": lambda: store.discard(self.cid, take_id, reason="no more"),
        }
        command = commands[how]
        if outcome == "TakeSettled":
            with pytest.raises(TakeSettled):
                command()
            return
        done = self.doing(command)
        assert self.warned == outcome
        if how == "put_back":
            assert len(done.refused) == outcome
            assert done.version == self.model.version
            again = [item.plain() for item in self.model.takes[take_id]["items"]]
            assert frozen(list(done.held)) == frozen(again if self.model.version > before else [])

    @rule(
        execution_id=EXECUTIONS,
        ends=st.sampled_from(["well", "error", "cancelled", "confirm", "put_back", "discard"]),
    )
    def take_for_a_block(self, execution_id: str, ends: str) -> None:
        if not self.model.version:
            return
        failures = {"error": RuntimeError("no"), "cancelled": asyncio.CancelledError()}
        failure = failures.get(ends)
        store, raised, take = self.store, None, None

        def block() -> None:
            nonlocal raised, take
            try:
                with store.taking(self.cid, execution_id) as take:
                    self.expect_taken(take, execution_id)
                    if failure is not None:
                        raise failure
                    if ends != "well" and take.take_id is not None:
                        self.settled(take.take_id, ends)
            except (RuntimeError, asyncio.CancelledError) as error:
                raised = error

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ArtifactDropped)
            block()
        assert raised is failure
        assert take is not None
        if take.take_id is not None and ends in ("well", "error", "cancelled"):
            self.model.settle(take.take_id, "confirm" if ends == "well" else "put_back")

    @rule()
    def settle_what_is_unknown(self) -> None:
        error = TakeNotFound if self.model.version else ConversationNotFound
        with pytest.raises(error):
            self.store.confirm(self.cid, "nothing of ours")

    @rule()
    def reopen(self) -> None:
        for store in self.stores:
            store.close()
        self.stores = [self.opened(), self.opened()]

    # what must hold

    @invariant()
    def the_store_shows_what_the_model_says(self) -> None:
        if not hasattr(self, "model") or not self.model.version:
            return
        first, second = self.stores
        with self.opened() as fresh:
            told_now = [self.view(store, None) for store in (first, second, fresh)]
            for version, seen in list(self.seen.items())[-2:]:
                assert self.view(fresh, version) == seen
            if self.seen:
                version = sorted(self.seen)[self.turn % len(self.seen)]
                assert self.view(first, version) == self.seen[version]
        assert told_now[0] == told_now[1] == told_now[2]
        known = self.seen.setdefault(self.model.version, told_now[0])
        assert known == told_now[0]
        self.models[self.model.version] = self.model.copy()
        self.compare_inbox(first)
        self.compare_requests(first)
        self.compare_buffer(first)
        self.compare_records(first)
        self.compare_artifacts(first)
        self.compare_sendable(first)

    def view(self, store: ConversationStore, at: int | None) -> str:
        """All that the store shows, as one text."""
        sendable = store.sendable(self.cid, at=at)
        parts: list[Any] = [
            store.buffer(self.cid, at=at),
            store.wire(self.cid, at=at),
            store.held(self.cid, at=at),
        ]
        parts += [sendable.messages, list(sendable.drops), sendable.version, store.entries(self.cid, at=at)]
        parts += [store.records(self.cid, at=at)]
        if at is None:
            parts += [store.open_takes(self.cid), store.version(self.cid)]
            self.open_now = parts[-2:]
            parts = parts[:-2]
        return "\n".join(map(repr, parts))

    def compare_buffer(self, store: ConversationStore) -> None:
        model = self.model.buffer()
        entries = store.entries(self.cid)
        assert store.version(self.cid) == self.model.version
        assert [entry.number for entry in entries] == [entry.number for entry in model]
        assert [entry.position for entry in entries] == list(range(len(model)))
        assert [shown(entry) for entry in store.buffer(self.cid)] == [
            (
                entry.role,
                frozen(entry.content),
                told(entry.calls),
                entry.result_of,
                entry.original,
                entry.healed,
            )
            for entry in model
        ]
        assert [entry.turn_id for entry in entries if entry.role != "tool"] == [
            entry.turn_id for entry in model if entry.role != "tool"
        ]

    def compare_records(self, store: ConversationStore) -> None:
        kept = [(one.kind, one.key, exactly(one.value)) for one in store.records(self.cid)]
        assert kept == [(kind, key, exactly(value)) for kind, key, value in self.model.records]
        by_key = [exactly(one.value) for one in store.records(self.cid, "k", key="1")]
        assert by_key == [exactly(v) for kind, key, v in self.model.records if (kind, key) == ("k", "1")]
        (summary,) = (one for one in store.conversations() if one.conversation_id == self.cid)
        assert summary.entries == len(self.model.buffer())

    def compare_requests(self, store: ConversationStore) -> None:
        assert [request.provider for request in store.requests(self.cid)] == [p for p, _ in self.sent]
        for number, (_, sent) in list(enumerate(self.sent, start=1))[-3:]:
            rebuilt = store.request_messages(self.cid, number)
            assert exactly(rebuilt.messages) == sent
            assert not rebuilt.rendered_differently

    def compare_inbox(self, store: ConversationStore) -> None:
        """A call that is open, a placeholder that stands, what is held, a take that is open: no more."""
        items = store.open_calls(self.cid)
        found = Counter((item.kind, item.id if item.kind != "held" else item.name) for item in items)
        expected = Counter[tuple[str, str]]()
        buffer = self.model.buffer()
        for call_id in {call.id for entry in buffer for call in entry.calls if self.model.is_open(call)}:
            expected["call", str(call_id)] += 1
        declared = {call.id for entry in buffer for call in entry.calls} - {None}
        for entry in buffer:
            if entry.healed and entry.result_of in declared:
                expected["placeholder", str(entry.result_of)] += 1
        for item in self.model.artifacts:
            if item.place == "held":
                expected["held", item.type] += 1
        for take_id, take in self.model.takes.items():
            if take["state"] == "open":
                expected["take", take_id] += 1
        assert found == expected

    def compare_artifacts(self, store: ConversationStore) -> None:
        for execution_id in ("e1", "e2"):
            held = [
                {key: item[key] for key in ("type", "payload", "tool_call_id")}
                for item in store.held(self.cid, execution_id)
            ]
            assert frozen(held) == frozen([item.plain() for item in self.model.held(execution_id)])
        delivered = Counter[tuple[str, str]]()
        for item in self.model.artifacts:
            delivered[(item.place, frozen(item.plain()))] += 1
        places = Places()
        for event in store.events(self.cid):
            places.apply(event)
        found = Counter((place, places.plain[artifact_id]) for artifact_id, place in places.place.items())
        assert found == delivered
        open_takes = store.open_takes(self.cid)
        expected = [take_id for take_id, take in self.model.takes.items() if take["state"] == "open"]
        assert [take.take_id for take in open_takes] == expected
        for entry in store.wire(self.cid):
            assert "toolArtifacts" not in (entry.get("metadata") or {})
            on_it = [item.plain() for item in self.model.artifacts if item.place == f"entry {entry['entry']}"]
            shown_on_it = entry.get("toolArtifacts", [])
            assert Counter(map(frozen, shown_on_it)) == Counter(map(frozen, on_it))
            assert ("toolArtifacts" in entry) is bool(on_it)
        for turn_id in ("t1", "t2"):
            known = self.model.entries + self.model.gone
            numbers = [entry.number for entry in known if entry.turn_id == turn_id]
            of_turn = [
                frozen(item.plain())
                for item in self.model.artifacts
                if item.place in [f"entry {number}" for number in numbers]
            ]
            assert Counter(map(frozen, store.turn_artifacts(self.cid, turn_id))) == Counter(of_turn)

    def compare_sendable(self, store: ConversationStore) -> None:
        sendable = store.sendable(self.cid)
        assert why_not_sendable(sendable.messages) is None
        expected, drops = reference(store.buffer(self.cid))
        assert exactly(sendable.messages) == exactly(expected)
        assert sendable.dropped == len(drops)
        assert why_not_openai(store.sendable(self.cid, provider="openai-chat").messages) is None

    def teardown(self) -> None:
        if not hasattr(self, "folder"):
            return
        try:
            if self.model.version:
                with self.opened() as fresh:
                    for version, seen in self.seen.items():
                        assert self.view(fresh, version) == seen
                    times = [event.time for event in fresh.events(self.cid)]
                    assert times == sorted(times)
                    report = fresh.verify(anchors=[fresh.head(name) for name in [*self.left, self.cid]])
                    assert report.ok, report.findings
        finally:
            for store in self.stores:
                store.close()
            shutil.rmtree(self.folder)


def shown_incoming(message: dict[str, Any]) -> Any:
    entry = read(message)
    return (entry.role, exactly(entry.content), exactly(message))


def exactly_artifacts(given: list[Any]) -> str:
    return exactly(given)


PROFILE = settings(
    max_examples=40,
    stateful_step_count=18,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    """A counterexample is told by its steps, not by thousands of log records."""
    caplog.set_level(logging.CRITICAL, logger="turnledger")


def test_the_whole_face_does_what_the_plain_list_model_says() -> None:
    run_state_machine_as_test(Face, settings=PROFILE)


class FaceOnPostgres(Face):
    """Two stores on one schema of a server, and the model."""

    def new_place(self) -> str:
        return new_url()


def test_the_whole_face_does_the_same_on_postgres() -> None:
    need_server()
    run_state_machine_as_test(FaceOnPostgres, settings=settings(PROFILE, max_examples=8))


@pytest.mark.soak
@pytest.mark.skipif(os.environ.get("TURNLEDGER_SOAK") != "1", reason="a long run: TURNLEDGER_SOAK=1")
def test_the_whole_face_does_what_the_model_says_for_long() -> None:
    examples = int(os.environ.get("TURNLEDGER_SOAK_EXAMPLES", "3000"))
    run_state_machine_as_test(Face, settings=settings(PROFILE, max_examples=examples, stateful_step_count=40))
