"""Edges of the face that were wrong once: each says what it was."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from turnledger import (
    ConversationStore,
    InvalidArgument,
    InvalidMessage,
    StoreUnwritable,
    VersionNotFound,
    normalize,
)

CID = "c"


def user(content: Any = "x", **keys: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **keys}


def turn(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": "", "tool_calls": list(calls)}


def result(call_id: str, content: Any = "found") -> dict[str, Any]:
    return {"role": "tool", "content": content, "tool_call_id": call_id}


def call(call_id: str, **keys: Any) -> dict[str, Any]:
    return {"tool_call_id": call_id, "name": "f", **keys}


@pytest.fixture
def store() -> Any:
    with ConversationStore(":memory:") as store:
        store.append(CID, user())
        yield store


def test_a_version_that_no_database_can_hold_is_beyond_the_log(store: ConversationStore) -> None:
    for version in (3, 2**62 + 5, 2**63, 10**30):
        with pytest.raises(VersionNotFound):
            store.buffer(CID, at=version)
    assert list(store.events(CID, after=10**30)) == []
    assert len(list(store.events(CID, to=10**30))) == 2


def test_the_first_and_the_last_moment_of_any_zone_are_moments(store: ConversationStore) -> None:
    east, west = timezone(timedelta(hours=14)), timezone(timedelta(hours=-14))
    assert store.buffer(CID, at=datetime.min.replace(tzinfo=east)) == []
    assert store.buffer(CID, at=datetime.max.replace(tzinfo=west)) == store.buffer(CID)
    assert store.buffer(CID, at=datetime.min.replace(tzinfo=UTC)) == []


def test_equal_input_in_another_order_of_keys_is_the_same_input(store: ConversationStore) -> None:
    store.append(CID, user({"a": 1, "b": [{"c": 2, "d": 3}]}), idempotency_key="k")
    again = store.append(CID, user({"b": [{"d": 3, "c": 2}], "a": 1}), idempotency_key="k")
    assert again.repeated


class Part:
    def model_dump(self) -> dict[str, Any]:
        return {"type": "text", "text": "hello"}


def test_normalizing_reads_content_parts_that_are_objects() -> None:
    assert normalize([user([Part()])]).messages == [user('[{"type":"text","text":"hello"}]')]


def test_levels_are_counted_alike_in_content_arguments_and_metadata(store: ConversationStore) -> None:
    def nested(levels: int) -> Any:
        value: Any = "x"
        for _ in range(levels):
            value = [value]
        return value

    makers: tuple[Callable[[int], dict[str, Any]], ...] = (
        lambda levels: user(nested(levels)),
        lambda levels: user(extra=nested(levels)),
        lambda levels: user(metadata={"extra": nested(levels)}),
        lambda levels: turn(call("deep", arguments=nested(levels))),
    )
    for make in makers:
        store.append(CID, make(100))
        with pytest.raises(InvalidMessage, match="levels"):
            store.append(CID, make(101))


def test_a_tool_block_is_refused_though_it_stands_alone(store: ConversationStore) -> None:
    with pytest.raises(InvalidMessage, match="import"):
        store.append(CID, user({"type": "tool_result", "tool_use_id": "c1"}))
    store.append(
        CID, [turn(call("c1")), result("c1", {"type": "tool_result"})]
    )  # a tool may say what it likes


def test_each_event_of_a_call_names_the_first_in_its_envelope(store: ConversationStore) -> None:
    store.append(CID, [user(), user()])
    assert [event.envelope.batch for event in store.events(CID)] == [1, 1, 3, 3]


def test_the_last_entries_are_the_end_of_all(store: ConversationStore) -> None:
    store.append(CID, [user(1), turn(call("a")), user(2)])
    every = store.entries(CID)
    assert len(every) == 5
    for last in range(7):
        assert store.entries(CID, last=last) == every[max(5 - last, 0) :]
    for wrong in (-1, True, 1.5, "1"):
        with pytest.raises(InvalidArgument):
            store.entries(CID, last=wrong)  # type: ignore[arg-type]


def test_two_custom_calls_of_openai_are_told_apart(store: ConversationStore) -> None:
    def custom(text: str) -> dict[str, Any]:
        return turn({"id": "c1", "type": "custom", "custom": {"name": "shell", "input": text}})

    store.append(CID, [custom("ls"), result("c1"), custom("pwd")])
    assert [
        e.metadata["tool_calls"][0]["tool_call_id"] for e in store.entries(CID) if "tool_calls" in e.metadata
    ] == [
        "c1",
        "c1-2",
    ]


def test_a_full_window_keeps_a_result_that_an_orphan_before_it_would_uncover() -> None:
    with ConversationStore(":memory:", window=4) as store:
        store.append(CID, [user("q"), result("zz", "orphan"), result("c1", "real")])
        store.append(CID, [turn(call("c1"))])
        store.append(CID, user("next"))
        assert "real" in [message["content"] for message in store.sendable(CID).messages]


def test_a_take_has_its_artifacts_though_another_process_settled_it_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    with ConversationStore(path) as store, ConversationStore(path) as other:
        store.hold(CID, "e1", [{"type": "link", "payload": {"n": 1}, "tool_call_id": "c1"}])
        whole = store._payloads

        def late(conversation_id: str, artifact_ids: list[str]) -> tuple[dict[str, Any], ...]:
            for take in other.open_takes(CID):
                other.confirm(CID, take)
            return whole(conversation_id, artifact_ids)

        monkeypatch.setattr(store, "_payloads", late)
        take = store.take(CID, "e1")
        assert [artifact["payload"] for artifact in take.artifacts] == [{"n": 1}]


def test_a_store_opened_for_reading_says_so_when_it_is_written_to(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    ConversationStore(path).close()
    with (
        ConversationStore(path, read_only=True) as store,
        pytest.raises(StoreUnwritable, match="open it without"),
    ):
        store.append(CID, user())


def test_a_store_whose_cache_was_dropped_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with ConversationStore(path) as store:
        for number in range(40):
            store.append(CID, user(str(number)))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE buffer_segments")
    with ConversationStore(path) as store:
        store.append(CID, user("more"))
        assert len(store.buffer(CID)) == 41
        assert store.verify().ok


@pytest.mark.parametrize("value", ["'text'", "NULL", "7"])
@pytest.mark.parametrize("column", ["changes", "digest", "row_bytes", "checksum", "format", "version"])
def test_a_cache_of_the_wrong_types_is_passed_over(column: str, value: str, tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with ConversationStore(path, durability="normal") as store:
        for number in range(80):
            store.append(CID, user(str(number)))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE OR IGNORE buffer_segments SET {column} = {value} WHERE version = 64")
    with ConversationStore(path) as store:
        assert len(store.buffer(CID)) == 80
        assert len(store.buffer(CID, at=70)) == 69
        store.verify()


def test_segments_of_a_log_that_was_cut_off_and_grew_otherwise_are_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with ConversationStore(path, durability="normal") as store:
        for number in range(20):
            store.append(CID, [turn(call(f"c{number}")), user(str(number))])
            store.append(CID, [result(f"c{number}"), user("and")])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM stored_events WHERE originator_version > 20")
    with ConversationStore(path, durability="normal") as store:
        for number in range(60):
            store.hold(CID, "e1", [{"type": "t", "payload": {}, "tool_call_id": None}] if number < 50 else [])
        before = store.buffer(CID)
    with ConversationStore(path) as store:
        assert store.buffer(CID) == before


def test_a_log_that_is_tidied_away_while_a_store_is_opened_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    ConversationStore(path).close()
    exists = Path.exists
    monkeypatch.setattr(Path, "exists", lambda self: self.name.endswith("-wal") or exists(self))
    ConversationStore(path).close()


def test_a_call_that_came_under_a_new_id_and_took_a_known_one_is_not_found_doubled(
    store: ConversationStore,
) -> None:
    """The audit read the ids as recorded, and took a turn with a new id for one that was known whole."""
    store.append(CID, turn(call("a")))
    done = store.append(CID, turn(call("a", original_id="b"), call("b", original_id="a")))
    assert done.renamed == ((0, "b", "a"),)
    assert store.verify().ok
