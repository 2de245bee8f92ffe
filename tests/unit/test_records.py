"""Records: what an ecosystem has of its own, kept beside the messages and shown by themselves alone."""

from typing import Any

import pytest

from tests.spec import CID, Given, user
from turnledger import (
    ConversationNotFound,
    IdempotencyConflict,
    InvalidArgument,
    InvalidId,
    KeptRecord,
    Record,
    VersionConflict,
    VersionNotFound,
)
from turnledger.projections.timeline import timeline


def told(records: list[KeptRecord]) -> list[tuple[str, str | None, Any]]:
    return [(record.kind, record.key, record.value) for record in records]


def test_records_are_kept_behind_the_messages_in_the_same_call() -> None:
    past = Given().when(user("a"), records=[Record("sdk", "u1", {"deep": [1, None]}), Record("sdk", None, 2)])
    past.then("ConversationStarted", "MessageAppended", "RecordKept", "RecordKept")
    assert (past.outcome.records, past.outcome.version) == (2, 4)
    assert {event.batch for event in past.events} == {1}
    assert told(past.store.records(CID)) == [("sdk", "u1", {"deep": [1, None]}), ("sdk", None, 2)]


def test_records_alone_start_a_conversation() -> None:
    past = Given().when([], records=[Record("sdk", "u1", "x")]).then("ConversationStarted", "RecordKept")
    past.buffer()
    assert past.store.sendable(CID).messages == past.store.wire(CID) == []


def test_a_record_tells_its_version_and_time() -> None:
    past = Given([user("a")]).when([], records=[Record("sdk", "u1", "x")])
    (record,) = past.store.records(CID)
    assert (record.version, record.time) == (3, past.events[0].time)


def test_a_key_is_kept_once_under_its_kind() -> None:
    past = Given().when([], records=[Record("a", "1", "first"), Record("a", "1", "second")])
    past.when([], records=[Record("a", "1", "third"), Record("b", "1", "other"), Record("a", None, 0)])
    assert past.outcome.records == 2
    assert told(past.store.records(CID)) == [("a", "1", "first"), ("b", "1", "other"), ("a", None, 0)]
    past.when([], records=[Record("a", "1", "fourth")]).then_nothing()


def test_they_are_read_by_kind_by_key_and_behind_a_version() -> None:
    past = Given().when([], records=[Record("a", "1", 1), Record("b", "1", 2), Record("a", "11", 3)])
    store = past.store
    assert told(store.records(CID, "a")) == [("a", "1", 1), ("a", "11", 3)]
    assert told(store.records(CID, "a", key="1")) == [("a", "1", 1)]
    assert told(store.records(CID, key="1")) == [("a", "1", 1), ("b", "1", 2)]
    assert told(store.records(CID, after=2)) == [("b", "1", 2), ("a", "11", 3)]
    assert store.records(CID, after=2**63) == []
    assert told(store.records(CID, at=2)) == [("a", "1", 1)]
    assert store.records(CID, "none of ours") == store.records(CID, key='no "such%') == []


def test_a_key_of_odd_characters_is_found() -> None:
    keys = ['a"b', "100%", "x_y", "back\\slash", "Ünïcode ☃", "'; --"]
    past = Given().when([], records=[Record("k", key, key) for key in keys])
    for key in keys:
        assert told(past.store.records(CID, "k", key=key)) == [("k", key, key)]


def test_a_time_shows_those_kept_by_then() -> None:
    past = Given().when([], records=[Record("a", "1", 1)])
    time = past.events[-1].time
    past.when([], records=[Record("a", "2", 2)])
    assert told(past.store.records(CID, at=time))[0] == ("a", "1", 1)
    assert told(past.store.records(CID, at=past.events[-1].time)) == [("a", "1", 1), ("a", "2", 2)]


def test_a_cleared_conversation_hides_them_and_a_key_is_free_again() -> None:
    past = Given().when([], records=[Record("a", "1", "old")])
    before = past.version
    past.clear().then("ConversationCleared")
    assert past.store.records(CID) == []
    assert told(past.store.records(CID, at=before)) == [("a", "1", "old")]
    past.when([], records=[Record("a", "1", "new")])
    assert told(past.store.records(CID)) == [("a", "1", "new")]
    assert past.store.verify().ok


def test_a_retraction_leaves_them() -> None:
    past = Given().when(user("a"), records=[Record("a", "1", 1)]).retract()
    assert told(past.store.records(CID)) == [("a", "1", 1)]


def test_they_stay_with_the_source_of_a_fork() -> None:
    past = Given().when(user("a"), records=[Record("a", "1", 1)])
    past.store.fork(CID, at=past.version, into="fork")
    assert past.store.records("fork") == []


def test_values_are_kept_as_contents_are() -> None:
    past = Given().when([], records=[Record("a", None, {"t": (1, b"x"), "nan": float("nan"), "s": "\ud800"})])
    assert past.store.records(CID)[0].value == {"t": [1, "x"], "nan": None, "s": "\ufffd"}


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("value", [object(), 10**4001, deep(101)])
def test_a_value_that_cannot_be_kept_is_refused_and_nothing_is_recorded(value: Any) -> None:
    past = Given()
    with pytest.raises(InvalidArgument, match="record 1"):
        past.when(user("a"), records=[Record("a", None, 1), Record("a", None, value)])
    assert past.version == 0


@pytest.mark.parametrize("records", ["x", 7, {"kind": "a"}, ["x"], [("a", None, 1)]])
def test_what_is_no_list_of_records_is_refused(records: Any) -> None:
    with pytest.raises(InvalidArgument):
        Given().when([], records=records)


@pytest.mark.parametrize(("kind", "key"), [("", None), ("a", ""), ("a" * 256, None), (None, None), ("a", 7)])
def test_a_kind_or_key_that_is_none_is_refused(kind: Any, key: Any) -> None:
    with pytest.raises(InvalidId):
        Given().when([], records=[Record(kind, key, 1)])


def test_expected_records_refuses_what_came_in_between() -> None:
    past = Given().when(user("a"), records=[Record("a", "1", 1)])
    seen = past.version
    past.when(user("b")).when([], records=[Record("a", "2", 2)], expected_records=seen)
    for other in (past.retract, past.clear):
        with pytest.raises(VersionConflict):
            past.when([], records=[Record("a", "3", 3)], expected_records=seen)
        seen = past.version
        past.when(user("c"))
        other()
    with pytest.raises(VersionConflict):
        past.when([], expected_records=past.version + 1)


def test_a_retry_with_its_key_keeps_nothing_twice_and_another_record_is_other_input() -> None:
    past = Given().when(user("a"), records=[Record("a", None, 1)], idempotency_key="k")
    past.when(user("a"), records=[Record("a", None, 1)], idempotency_key="k").then_nothing()
    assert (past.outcome.repeated, past.outcome.records, past.outcome.entries) == (True, 1, (1,))
    with pytest.raises(IdempotencyConflict):
        past.when(user("a"), records=[Record("a", None, 2)], idempotency_key="k")


def test_reading_what_is_not_there_says_so() -> None:
    past = Given([user("a")])
    with pytest.raises(ConversationNotFound):
        past.store.records("nobody")
    with pytest.raises(VersionNotFound):
        past.store.records(CID, at=99)
    with pytest.raises(InvalidId):
        past.store.records(CID, "")


def test_the_timeline_says_whose_record_it_is_and_quotes_it() -> None:
    past = Given().when([], records=[Record("sdk", "u1", {"type": "user", "text": "hi"})])
    line = list(timeline(past.store.events(CID)))[-1]
    assert (line.kind, line.text) == ("record", "of sdk, key u1")
    assert "hi" in line.quote
