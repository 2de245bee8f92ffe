"""The inbox: what waits, in which conversation, and for how long."""

import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from tests.spec import CID, Given, artifact, assistant, call, placeholder, result, turn, user
from turnledger import ConversationNotFound, ConversationStore, InboxItem

START = datetime(2030, 1, 1, tzinfo=UTC)


def hourly() -> Iterator[datetime]:
    return (START + timedelta(hours=hours) for hours in count())


def ticking() -> Given:
    hours = hourly()
    return Given(clock=lambda: next(hours))


def brief(items: list[InboxItem]) -> list[tuple[str, str, str]]:
    return [(item.kind, item.id, item.name) for item in items]


def test_an_open_call_waits_since_its_turn() -> None:
    past = ticking().when(user()).when(turn(call("c1", name="book")), execution_id="e", turn_id="t")
    (item,) = past.store.open_calls()
    assert (item.kind, item.id, item.name, item.entry) == ("call", "c1", "book", 2)
    assert (item.conversation_id, item.execution_id, item.turn_id) == (CID, "e", "t")
    assert (item.since, item.age) == (START + timedelta(hours=1), timedelta(hours=1))


def test_a_call_that_is_answered_waits_no_more() -> None:
    assert Given([turn("c1"), result("c1")]).store.open_calls() == []


def test_a_placeholder_waits_until_the_real_result_comes() -> None:
    past = Given([turn("c1"), user()])
    (item,) = past.store.open_calls(CID)
    assert (item.kind, item.id, item.entry) == ("placeholder", "c1", 2)
    past.when(result("c1"))
    assert past.store.open_calls(CID) == []


def test_a_stand_in_that_a_caller_marked_waits_too() -> None:
    assert brief(Given([turn("c1"), placeholder("c1", "cut off")]).store.open_calls()) == [
        ("placeholder", "c1", "search")
    ]


def test_a_placeholder_that_left_the_buffer_stands_nowhere() -> None:
    past = Given([turn("c1"), user("a")]).compact(1)
    assert past.store.open_calls() == []


def test_held_artifacts_and_open_takes_wait() -> None:
    past = ticking().when(user()).hold(artifact("link"), artifact("chart"))
    take = past.take()
    past.hold(artifact("note"))
    items = past.store.open_calls()
    assert brief(items)[0] == ("take", take.take_id, "link, chart")
    assert [(item.kind, item.name) for item in items] == [("take", "link, chart"), ("held", "note")]
    assert [item.age for item in items] == [timedelta(hours=2), timedelta(hours=1)]
    past.settle("confirm", take).write_back(assistant())
    assert past.store.open_calls() == []


def test_what_is_put_back_waits_since_it_was_first_held() -> None:
    past = ticking().hold(artifact("link"))
    past.settle("put_back", past.take())
    (item,) = past.store.open_calls()
    assert (item.kind, item.since) == ("held", START)


def test_what_waits_longest_comes_first_over_all_conversations() -> None:
    hours = hourly()
    with ConversationStore(":memory:", clock=lambda: next(hours)) as store:
        store.append("z", turn("c1"))
        store.append("a", turn("c2"))
        store.hold("m", "e", [artifact("link")])
        assert [item.conversation_id for item in store.open_calls()] == ["z", "a", "m"]
        assert [item.conversation_id for item in store.open_calls("a")] == ["a"]


def test_an_answer_that_left_the_buffer_before_the_call_came_is_one() -> None:
    past = Given([result("c1"), user("a"), user("b"), turn("c1")], window=2)
    assert past.store.open_calls() == []


def test_a_clock_that_went_back_makes_no_negative_age() -> None:
    ticks = iter([START, START - timedelta(hours=1)])
    past = Given([turn("c1")], clock=lambda: next(ticks))
    (item,) = past.store.open_calls()
    assert item.age == timedelta(0)


def test_an_unknown_conversation_has_no_inbox() -> None:
    with pytest.raises(ConversationNotFound):
        Given([user()]).store.open_calls("nobody")


def test_a_damaged_conversation_is_named_and_hides_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = Given([turn("c1")]).store
    store.append("broken", turn("c2"))
    with store._application.recorder.datastore.get_connection(commit=True) as connection:
        connection._sqlite_conn.execute(
            "UPDATE stored_events SET state = 'x' WHERE originator_id = 'broken' AND originator_version = 1"
        )
    store._application._forget("broken")
    with caplog.at_level(logging.WARNING):
        assert brief(store.open_calls()) == [("call", "c1", "search")]
    assert "'broken'" in caplog.text
