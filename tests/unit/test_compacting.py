"""Compacting: the older entries leave, a summary stands in their place, no call parts from its result."""

from typing import Any

import pytest

from tests.spec import CID, Given, assistant, call, result, system, turn, user
from turnledger import (
    ConversationNotFound,
    InvalidArgument,
    InvalidMessage,
    SummaryInserted,
    VersionConflict,
)

EVICTED, SUMMARY = "EntriesEvicted", "SummaryInserted"


def test_the_older_entries_leave_and_the_summary_stands_in_their_place() -> None:
    past = Given([user("a"), assistant("b"), user("c"), assistant("d")]).compact(1)
    past.then(EVICTED, SUMMARY).buffer("user what was said", "assistant d")
    assert (past.outcome.evicted, past.outcome.summary, past.outcome.count) == ((1, 2, 3), 5, 2)
    assert past.events[0].batch == past.events[1].batch


def test_time_travel_shows_all_that_was_there_before() -> None:
    past = Given([user("a"), assistant("b"), user("c")])
    before = past.store.buffer(CID)
    version = past.version
    past.compact(1)
    assert past.store.buffer(CID, at=version) == before


def test_system_entries_stay_and_the_summary_comes_behind_them() -> None:
    past = Given([system(), user("a"), assistant("b")]).compact(0)
    past.buffer("system be kind", "user what was said")


def test_a_system_entry_between_those_that_leave_stays() -> None:
    Given([user("a"), system(), assistant("b"), user("c")]).compact(1).buffer(
        "user what was said", "system be kind", "user c"
    )


def test_a_call_stays_with_its_result() -> None:
    past = Given([user("a"), turn("c1"), result("c1"), assistant("b")]).compact(2)
    past.buffer("user what was said", "assistant[c1]", "tool c1 found", "assistant b")


def test_a_result_among_the_last_keeps_its_turn_far_above() -> None:
    past = Given([turn("c1"), assistant("b"), assistant("c"), result("c1")]).compact(1)
    past.buffer("assistant[c1]", "user what was said", "tool c1 found")


def test_a_turn_with_an_open_call_stays_and_its_call_stays_open() -> None:
    past = Given([user("a"), turn("c1"), assistant("b"), assistant("c")]).compact(0)
    past.then(EVICTED, SUMMARY).buffer("user what was said", "assistant[c1]")
    past.when(result("c1")).then("MessageAppended")


def test_a_summary_heals_nothing_and_a_user_message_after_it_does() -> None:
    past = Given([turn("c1"), user("a"), assistant("b")]).when(turn("c2")).compact(0)
    past.buffer("user what was said", "assistant[c2]")
    past.when(user("b")).then("CallHealed", "MessageAppended")
    past.buffer("user what was said", "assistant[c2]", "tool c2 healed", "user b")


def test_a_placeholder_stands_behind_its_turn_though_a_summary_came_to_stand_there() -> None:
    past = Given([turn("c1"), assistant("a"), assistant("b")]).compact(1)
    past.buffer("assistant[c1]", "user what was said", "assistant b")
    past.when(user("c")).buffer(
        "assistant[c1]", "tool c1 healed", "user what was said", "assistant b", "user c"
    )
    assert past.store.verify().ok


def test_what_left_is_known_still() -> None:
    past = Given([turn("c1"), result("c1"), user("a")]).compact(1)
    past.when([turn("c1"), result("c1")]).then_nothing()
    assert past.outcome.duplicates == (0, 1)


def test_a_late_result_for_a_placeholder_that_left_is_recorded_and_shows_nowhere() -> None:
    past = Given([turn("c1"), user("a"), user("b")]).compact(1)
    past.when(result("c1")).then("PlaceholderReplaced").buffer("user what was said", "user b")


def test_the_summary_of_an_earlier_compaction_leaves_with_the_rest() -> None:
    past = Given([user("a"), user("b"), user("c")]).compact(1, "first").when(user("d"))
    past.compact(1, "second").buffer("user second", "user d")
    assert past.outcome.evicted == (4, 3)


def test_an_earlier_system_summary_leaves_too() -> None:
    past = Given([user("a"), user("b")]).compact(0, system("first")).when(user("c"))
    past.compact(0, system("second")).buffer("system second")


def test_a_summary_alone_is_not_summarized_again() -> None:
    past = Given([user("a"), user("b")]).compact(1, "first")
    past.compact(1, "second").then_nothing().buffer("user first", "user b")
    assert (past.outcome.evicted, past.outcome.summary) == ((), None)


@pytest.mark.parametrize("keep_last", [2, 99])
def test_where_nothing_is_older_nothing_is_recorded(keep_last: int) -> None:
    Given([user("a"), user("b")]).compact(keep_last).then_nothing().buffer("user a", "user b")


def test_a_window_counts_no_summary_and_never_takes_one() -> None:
    past = Given([user("a"), user("b"), user("c")], window=3).compact(1)
    for content in "defg":
        past.when(assistant(content))
    past.buffer("user what was said", "user c", "assistant f", "assistant g")
    past.compact(1, "more").buffer("user more", "assistant g")
    assert past.store.verify().ok


def test_a_summary_is_no_news_for_a_result_that_comes_again() -> None:
    past = Given([[user("a"), turn(call("c1", {"n": 1})), result("c1", "one")]])
    past.when([turn(call("c1", {"n": 2})), result("c1", "two")]).compact(2)
    past.when(result("c1", "two")).then_nothing()


def test_a_buffer_that_changed_since_is_left_alone() -> None:
    past = Given([user("a"), user("b")])
    version = past.version
    past.when(user("c"))
    with pytest.raises(VersionConflict):
        past.compact(1, expected_version=version)
    past.compact(1, expected_version=past.version).then(EVICTED, SUMMARY)


def test_a_summary_keeps_its_metadata_turn_and_context() -> None:
    past = Given([user("a"), user("b")])
    past.compact(1, {"role": "assistant", "content": ["x"], "by": "m-1"}, turn_id="t", context={"actor": "o"})
    event = past.events[1]
    assert isinstance(event, SummaryInserted)
    assert (event.content, event.metadata, event.turn_id) == (["x"], {"by": "m-1"}, "t")
    assert event.envelope.context == {"actor": "o"}


@pytest.mark.parametrize("summary", [turn("c1"), result("c1"), 7, {"role": "x"}, [user(), user()], []])
def test_what_is_no_summary_is_refused(summary: Any) -> None:
    with pytest.raises(InvalidMessage):
        Given([user("a")]).store.compact(CID, keep_last=0, summary=summary)


@pytest.mark.parametrize("keep_last", [-1, True, 1.5, None])
def test_what_is_no_number_of_entries_is_refused(keep_last: Any) -> None:
    with pytest.raises(InvalidArgument):
        Given([user("a")]).compact(keep_last)


def test_an_unknown_conversation_is_not_started_by_a_compaction() -> None:
    with pytest.raises(ConversationNotFound):
        Given().compact(1)
