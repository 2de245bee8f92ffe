"""Any persistence module of eventsourcing keeps the log: by nothing but its recorder's own interface."""

import warnings
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from eventsourcing.persistence import OperationalError

from tests.contract.cases import assert_messages, cases, names, run_append
from tests.spec import artifact, assistant, call, result, turn, user
from tests.system.processes import contents, in_threads
from turnledger import ConversationStore, InvalidArgument, OutcomeUnknown, StoreUnreachable

Module = tuple[str, Mapping[str, str]]


@pytest.fixture(name="module", params=["eventsourcing.popo", "eventsourcing.sqlite"])
def each(request: pytest.FixtureRequest, tmp_path: Path) -> Module:
    settings = {"SQLITE_DBNAME": str(tmp_path / "m.db")} if request.param.endswith("sqlite") else {}
    return request.param, settings


def opened(module: Module, **options: Any) -> ConversationStore:
    return ConversationStore(persistence_module=module[0], persistence_settings=module[1], **options)


@pytest.mark.parametrize("case", cases("append"), ids=names("append"))
def test_an_append_ends_as_the_case_says(case: dict[str, Any], module: Module) -> None:
    settings = {key: case[key] for key in ("window", "reused_ids") if key in case}
    with opened(module, **settings) as store:
        for step in case["steps"]:
            run_append(store, "c", step)
        order = case["expect"].get("sibling_results_order")
        assert_messages(store.buffer("c"), case["expect"]["buffer"], order)
        assert store.verify().ok


def test_every_reading_has_what_the_other_databases_have(module: Module) -> None:
    noon = datetime(2030, 1, 1, 12, tzinfo=UTC)
    with (
        opened(module, clock=lambda: noon) as store,
        ConversationStore(":memory:", clock=lambda: noon) as other,
    ):
        for one in (store, other):
            one.append("b", [user("q"), turn(call("c1")), user("again"), result("c1", "Late")])
            one.hold("b", "e1", [artifact("link")])
            one.write_back("b", "e1", assistant("done"))
            one.append("a", [user(str(n)) for n in range(70)])
            one.append("a", user("more"))
            one.fork("b", at=4, into="b2")
            one.record_request("b")
            one.hold("b", "e2", [artifact("table")])
            one.take("b", "e2")
        for reading in ("buffer", "wire", "sendable", "version"):
            for conversation_id in ("a", "b", "b2"):
                assert getattr(store, reading)(conversation_id) == getattr(other, reading)(conversation_id)
        summaries = [(one.conversation_id, one.version, one.entries) for one in store.conversations()]
        assert summaries == [(one.conversation_id, one.version, one.entries) for one in other.conversations()]
        assert [one.conversation_id for one in store.conversations(after="a")] == ["b", "b2"]
        assert [one.conversation_id for one in store.conversations(saying="late")] == ["b"]
        assert len(store.open_takes()) == len(other.open_takes()) == 1
        assert len(store.requests("b")) == 1
        assert len(store.buffer("a", at=40)) == 39
        assert store.verify().ok


def test_threads_that_write_one_conversation_lose_and_double_nothing(module: Module) -> None:
    with opened(module, timeout_s=60) as store:

        def write(n: int) -> None:
            for i in range(10):
                store.append("c", user(f"{n}-{i}"))

        assert in_threads(*[lambda n=n: write(n) for n in range(4)]) == []
        assert sorted(contents(store, "c")) == sorted(f"{n}-{i}" for n in range(4) for i in range(10))
        assert store.verify().ok


@pytest.mark.parametrize("recorded", [True, False])
def test_an_insert_that_fails_may_have_happened_and_is_looked_for(module: Module, recorded: bool) -> None:
    with opened(module) as store:
        store.append("c", user("before"))
        recorder: Any = store._application.recorder._recorder  # type: ignore[attr-defined]
        insert = recorder.insert_events

        def failing(rows: Any, **keys: Any) -> None:
            recorder.insert_events = insert
            if recorded:
                insert(rows, **keys)
            raise OperationalError("connection lost")

        recorder.insert_events = failing
        assert store.append("c", user("x")).count == 2
        assert contents(store, "c") == ["before", "x"]


def test_a_module_that_does_not_answer_is_told_from_one_that_refuses(module: Module) -> None:
    def gone(*_: Any, **__: Any) -> None:
        raise OperationalError("password=secret")

    with opened(module, timeout_s=0.1) as store:
        store.append("c", user("before"))
        recorder: Any = store._application.recorder._recorder  # type: ignore[attr-defined]
        kept = recorder.insert_events, recorder.select_events
        recorder.insert_events = gone
        with pytest.raises(OutcomeUnknown):
            store.append("c", user("x"))
        recorder.select_events = gone
        with pytest.raises(StoreUnreachable) as caught:
            store.buffer("c")
        assert "secret" not in str(caught.value)
        recorder.insert_events, recorder.select_events = kept
        assert store.append("c", user("y")).count == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"persistence_module": "no.such.module"}, "cannot be imported"),
        ({"persistence_module": "json"}, "no persistence module"),
        ({"persistence_module": "eventsourcing.sqlite"}, "misses something in persistence_settings"),
        ({"persistence_module": "eventsourcing.popo", "create": False}, "create=False"),
        ({"persistence_module": "eventsourcing.popo", "durability": "normal"}, "durability"),
        ({"persistence_module": "eventsourcing.popo", "url": "x.db"}, "not both"),
        ({"persistence_settings": {}, "url": ":memory:"}, "name that too"),
        (
            {"persistence_module": "eventsourcing.popo", "persistence_settings": {"A": 1}},
            "names to texts",
        ),
        ({}, "name the store"),
    ],
)
def test_options_without_a_meaning_are_refused(options: dict[str, Any], said: str) -> None:
    with warnings.catch_warnings(), pytest.raises(InvalidArgument, match=said):
        ConversationStore(**options)


def test_a_module_opened_for_reading_is_not_written_to(module: Module) -> None:
    with opened(module, read_only=True) as store, pytest.raises(PermissionError):
        store.append("c", user("x"))
