"""Retracting and clearing: what was said is taken back, nothing of it is known any more, the log keeps it."""

from typing import Any

import pytest

from tests.spec import (
    CID,
    Given,
    artifact,
    assistant,
    call,
    placeholder,
    projected,
    result,
    system,
    turn,
    user,
)
from turnledger import (
    ConversationNotFound,
    EntryNotFound,
    EntryRetracted,
    IdempotencyConflict,
    InvalidArgument,
    Record,
    VersionConflict,
)
from turnledger.projections.buffer import BufferView
from turnledger.projections.salvage import salvaged
from turnledger.projections.sendable import normalize
from turnledger.projections.sendable_view import SendableView
from turnledger.projections.timeline import timeline

RETRACTED, CLEARED = "EntryRetracted", "ConversationCleared"


def test_the_last_entry_is_taken_back_and_given_to_the_caller() -> None:
    past = Given([user("a"), assistant("b", by="m-1")]).retract()
    past.then(RETRACTED).buffer("user a")
    done = past.outcome
    assert (done.entry, done.count, done.version, done.results) == (2, 1, past.version, ())
    assert done.retracted.stored == {"role": "assistant", "content": "b", "metadata": {"by": "m-1"}}
    assert (done.retracted.number, done.retracted.position) == (2, 1)


def test_a_named_entry_in_the_middle_is_taken_back() -> None:
    past = Given([user("a"), assistant("b"), user("c")]).retract(2)
    past.then(RETRACTED).buffer("user a", "user c")
    assert [entry.position for entry in past.store.entries(CID)] == [0, 1]


def test_its_number_is_never_used_again() -> None:
    past = Given([user("a"), assistant("b")]).retract().when(assistant("c"))
    assert past.outcome.entries == (3,)
    past.buffer("user a", "assistant c")


def test_the_log_and_every_earlier_version_show_it_still() -> None:
    past = Given([user("a"), turn("c1"), result("c1")])
    before = past.store.buffer(CID)
    version = past.version
    past.retract(2)
    assert past.store.buffer(CID, at=version) == before
    assert [event.entry for event in past.events if isinstance(event, EntryRetracted)] == [3, 2]


def test_an_empty_buffer_has_nothing_to_take_back() -> None:
    past = Given([user("a")]).retract().retract()
    past.then_nothing()
    assert (past.outcome.entry, past.outcome.retracted, past.outcome.version) == (None, None, past.version)


def test_a_turn_taken_back_is_unknown_and_is_appended_again() -> None:
    past = Given([user("a"), turn("c1")]).retract()
    past.when(turn("c1")).then("MessageAppended").buffer("user a", "assistant[c1]")


def test_with_a_turn_go_its_results_in_the_same_call_the_results_first() -> None:
    past = Given([[user("a"), turn("c1", "c2"), result("c1"), result("c2"), assistant("b")]]).retract(2)
    past.then(RETRACTED, RETRACTED, RETRACTED).buffer("user a", "assistant b")
    assert len({event.batch for event in past.events}) == 1
    assert [entry.number for entry in past.outcome.results] == [3, 4]
    assert past.outcome.entry == 2


def test_with_a_turn_goes_a_placeholder_that_stands_for_its_result() -> None:
    Given([turn("c1"), user("a")]).retract(1).then(RETRACTED, RETRACTED).buffer("user a")


def test_a_result_stays_where_another_turn_declares_its_call() -> None:
    past = Given([turn("c1"), [turn("c1", "c2"), result("c1")]]).retract(1)
    past.then(RETRACTED).buffer("assistant[c1,c2]", "tool c1 found")
    assert past.store.verify().ok


def test_a_late_result_for_a_call_that_was_taken_back_is_dropped() -> None:
    past = Given([user("a"), turn("c1")]).retract().when(result("c1")).then_nothing()
    assert past.outcome.duplicates == (0,)


def test_of_a_turn_that_was_taken_back_no_name_of_its_calls_is_left() -> None:
    """One call's original id was another one's own: the other's original id stayed known, and then a turn
    under it was compared with an entry that is gone."""
    x = {"tool_call_id": "a", "name": "f", "arguments": {"x": 1}}
    first = {"role": "assistant", "content": "", "tool_calls": [{"tool_call_id": "a", "name": "f"}, x]}
    second = {"role": "assistant", "content": "", "tool_calls": [{"tool_call_id": "a-2", "name": "f"}, x]}
    past = Given([[first, user("u"), second]]).retract()
    past.when([user("v"), {"role": "assistant", "content": "", "tool_calls": [x]}])
    assert past.store.verify().ok


def test_a_late_result_of_before_answers_no_later_call_under_its_id() -> None:
    """It took the place of the real one, which was dropped."""
    past = Given([user("a"), turn("c1")]).retract().when(result("c1", "stale"))
    past.when(turn("c1")).then("MessageAppended").when(result("c1", "right")).then("MessageAppended")
    past.buffer("user a", "assistant[c1]", "tool c1 right")


def test_a_call_whose_result_was_taken_back_is_open_again_and_takes_a_new_one() -> None:
    past = Given([[user("a"), turn("c1"), result("c1", "wrong")]]).retract()
    past.buffer("user a", "assistant[c1]").when(result("c1", "right")).then("MessageAppended")
    past.buffer("user a", "assistant[c1]", "tool c1 right")


def test_a_call_whose_result_was_taken_back_is_healed_by_the_next_user_message() -> None:
    past = Given([[user("a"), turn("c1"), result("c1")]]).retract().when(user("b"))
    past.then("CallHealed", "MessageAppended").buffer("user a", "assistant[c1]", "tool c1 healed", "user b")


def test_calls_that_opened_again_are_healed_in_the_order_in_which_they_were_declared() -> None:
    past = Given([[turn("c1", "c2"), turn("c3"), result("c3"), result("c2"), result("c1")]])
    for _ in range(3):
        past.retract()
    past.when(user("a"))
    past.buffer(
        "assistant[c1,c2]", "tool c1 healed", "tool c2 healed", "assistant[c3]", "tool c3 healed", "user a"
    )
    assert past.store.verify().ok


def test_a_call_healed_a_second_time_stands_right_behind_its_turn() -> None:
    past = Given([turn("c1", "c2"), user("a")]).retract(2).when(user("b"))
    past.buffer("assistant[c1,c2]", "tool c1 healed", "tool c2 healed", "user a", "user b")
    past.retract(3).when(user("c"))
    past.buffer("assistant[c1,c2]", "tool c2 healed", "tool c1 healed", "user a", "user b", "user c")
    assert past.store.verify().ok


def test_a_placeholder_taken_back_leaves_its_call_open() -> None:
    past = Given([turn("c1"), user("a")]).retract(2)
    past.buffer("assistant[c1]", "user a").when(result("c1")).then("MessageAppended")


def test_a_late_result_that_replaced_a_placeholder_is_taken_back_like_any_other() -> None:
    past = Given([turn("c1"), user("a"), result("c1")]).retract(2)
    past.buffer("assistant[c1]", "user a").when(result("c1", "again")).then("MessageAppended")


def test_an_open_call_that_another_turn_declares_too_stays_open_there() -> None:
    past = Given([turn("c1"), turn("c1", "c2")]).retract(1).when(user("a"))
    past.buffer("assistant[c1,c2]", "tool c1 healed", "tool c2 healed", "user a")
    assert past.store.verify().ok


def test_an_id_that_the_log_used_is_never_given_to_another_call() -> None:
    again = turn(call("c1", {"n": 2}))
    past = Given([turn(call("c1", {"n": 1})), result("c1"), again]).retract().when(again)
    assert past.outcome.renamed == ((0, "c1", "c1-3"),)


def test_a_result_under_a_reused_id_finds_no_call_that_was_taken_back() -> None:
    past = Given([turn(call("c1", {"n": 1})), result("c1", "one"), turn(call("c1", {"n": 2}))]).retract()
    past.when(result("c1", "two")).then_nothing()


def test_a_window_protects_the_newest_user_message_that_is_left() -> None:
    past = Given([user("a"), assistant("b"), user("c")], window=3).retract()
    past.when([assistant("d"), assistant("e"), assistant("f")])
    past.buffer("user a", "assistant d", "assistant e", "assistant f")
    assert past.store.verify().ok


def test_a_system_message_and_a_summary_are_taken_back_too() -> None:
    past = Given([system(), user("a"), assistant("b")]).compact(0).retract().then(RETRACTED)
    past.retract().then(RETRACTED).buffer()


def test_what_left_the_buffer_cannot_be_taken_back() -> None:
    past = Given([user("a"), user("b")], window=1)
    with pytest.raises(EntryNotFound, match="evicted"):
        past.retract(1)
    with pytest.raises(EntryNotFound, match="newest is 2"):
        past.retract(3)
    past.retract(2)
    with pytest.raises(EntryNotFound, match="before"):
        past.retract(2)
    with pytest.raises(LookupError):
        past.retract(2)


@pytest.mark.parametrize("entry", [0, -1, True, "1", 1.0])
def test_what_is_no_entry_number_is_refused(entry: Any) -> None:
    with pytest.raises(InvalidArgument):
        Given([user("a")]).retract(entry)


@pytest.mark.parametrize("command", ["retract", "clear"])
def test_an_unknown_conversation_is_not_started(command: str) -> None:
    with pytest.raises(ConversationNotFound):
        getattr(Given().store, command)(CID)


def test_what_was_delivered_on_an_entry_stays_delivered() -> None:
    past = Given([user("a")]).write_back(assistant("b"), artifact("link"), turn_id="t1").retract()
    assert past.on_the_wire() == []
    assert [item["type"] for item in past.store.turn_artifacts(CID, "t1")] == ["link"]
    assert past.store.verify().ok
    past.write_back(assistant("b"), artifact("link"), turn_id="t1")
    assert past.on_the_wire() == [["link"]]


def test_a_retry_with_its_key_takes_nothing_more_back_and_tells_the_same() -> None:
    past = Given([user("a"), turn("c1"), result("c1")]).retract(2, idempotency_key="k")
    first = past.outcome
    past.retract(2, idempotency_key="k").then_nothing()
    again = past.outcome
    assert again.repeated
    assert (again.entry, again.retracted, again.results) == (2, first.retracted, first.results)
    with pytest.raises(IdempotencyConflict):
        past.retract(1, idempotency_key="k")


def test_it_is_told_with_turn_and_context() -> None:
    past = Given([user("a")]).retract(turn_id="t", context={"actor": "operator"})
    (event,) = past.events
    assert (event.turn_id, event.envelope.context) == ("t", {"actor": "operator"})


def test_a_cleared_conversation_begins_anew_with_its_numbers_going_on() -> None:
    past = Given([[user("a"), turn("c1"), result("c1"), assistant("b")]]).clear()
    past.then(CLEARED).buffer()
    assert (past.outcome.cleared, past.outcome.version) == (4, past.version)
    past.when([turn("c1"), result("c1")])
    assert past.outcome.entries == (5, 6)
    past.buffer("assistant[c1]", "tool c1 found")
    assert past.store.verify().ok


def test_a_clearing_forgets_what_had_left_the_buffer_too() -> None:
    past = Given([turn("c1"), result("c1"), user("a")]).compact(0).retract()
    past.buffer().clear().then(CLEARED)
    past.when([turn("c1"), result("c1")]).then("MessageAppended", "MessageAppended")


def test_a_late_result_for_what_was_cleared_away_is_dropped_until_its_id_is_declared_again() -> None:
    past = Given([turn("c1"), user("a")]).clear().when(result("c1", "stale")).then_nothing()
    past.when([turn("c1"), result("c1", "right")]).then("MessageAppended", "MessageAppended")
    past.buffer("assistant[c1]", "tool c1 right")


def test_clearing_an_empty_conversation_records_nothing() -> None:
    past = Given([user("a")]).clear().clear().then_nothing()
    assert past.outcome.cleared == 0
    Given([user("a")]).retract().clear().then_nothing()


def test_what_is_held_and_taken_survives_a_clearing() -> None:
    past = Given([user("a")]).hold(artifact("a"))
    past.take()
    past.hold(artifact("b")).clear().held("b")
    assert len(past.store.open_takes(CID)) == 1
    past.write_back(assistant("done"))
    assert past.on_the_wire() == [["b"]]
    assert past.store.verify().ok


def test_a_clearing_decided_on_a_buffer_that_has_moved_on_is_refused() -> None:
    past = Given([user("a")])
    before = past.version
    past.when(user("b"))
    with pytest.raises(VersionConflict):
        past.clear(expected_version=before)
    past.buffer("user a", "user b")
    past.clear(expected_version=past.version).buffer()


def test_a_clearing_repeated_with_its_key_clears_nothing_new() -> None:
    past = Given([user("a")]).clear(idempotency_key="k").when(user("b"))
    past.clear(idempotency_key="k").then_nothing().buffer("user b")
    assert (past.outcome.repeated, past.outcome.cleared) == (True, 1)


def test_nothing_is_healed_for_calls_that_were_cleared_away() -> None:
    Given([turn("c1")]).clear().when(user("a")).then("MessageAppended").buffer("user a")


def test_a_fork_begins_without_what_was_taken_back() -> None:
    past = Given([user("a"), turn("c1"), result("c1"), user("b")]).retract(2)
    past.store.fork(CID, at=past.version, into="fork")
    assert [message["content"] for message in past.store.buffer("fork")] == ["a", "b"]
    past.clear()
    past.store.fork(CID, at=past.version, into="empty")
    assert past.store.buffer("empty") == []
    assert past.store.verify().ok


def test_a_diff_names_the_retraction_as_the_cause() -> None:
    past = Given([user("a"), assistant("b"), user("c")])
    before = past.version
    past.retract(2)
    found = past.store.diff(CID, before, past.version)
    assert (found.first_changed, type(found.cause).__name__) == (1, RETRACTED)


def test_views_fed_twice_and_a_list_that_grows_show_the_same() -> None:
    past = Given([[user("a"), turn("c1"), result("c1")], placeholder("c9")]).retract(2).when(user("b"))
    past.retract(1).when(turn("c1")).clear().when(user("c")).when(assistant("d")).retract()
    events = list(past.store.events(CID))
    for to in range(len(events) + 1):
        twice = projected(BufferView, events, twice=True, to=to)
        assert twice.buffer() == past.store.buffer(CID, at=to) == salvaged(events[:to])
    buffer, sendable = BufferView(), SendableView()
    for event in events:
        sendable.apply(event)
        buffer.apply(event)
        assert sendable.read(buffer)[0] == normalize(buffer.buffer()).messages


def test_the_timeline_says_what_was_taken_back() -> None:
    past = Given([user("a"), assistant("b")]).retract().clear()
    told = [(line.kind, line.text) for line in timeline(past.store.events(CID))][-2:]
    assert told == [
        ("retracted", "entry 2 was taken back"),
        ("cleared", "the conversation: it begins anew, with an empty buffer"),
    ]


def test_the_summary_of_a_conversation_counts_what_stands() -> None:
    past = Given([user("a"), user("b"), user("c")], window=2).retract()
    (one,) = past.store.conversations()
    assert one.entries == 1
    past.clear().when([user("d"), user("e"), user("f")]).retract(5)
    (one,) = past.store.conversations()
    assert one.entries == len(past.store.buffer(CID)) == 2


def test_an_append_takes_entries_back_and_puts_others_in_their_place_in_one_transaction() -> None:
    past = Given([user("a"), turn("c1"), result("c1"), user("b")])
    version = past.version
    past.store.append(CID, [user("d")], records=[Record("kind", None, 1)], retracting=[1, 2, 3])
    past.buffer("user b", "user d")
    told = [type(event).__name__ for event in past.store.events(CID, after=version)]
    assert told == [RETRACTED, RETRACTED, RETRACTED, "MessageAppended", "RecordKept"]
    assert past.store.verify().ok


@pytest.mark.parametrize(
    ("numbers", "error"), [([1, 9], EntryNotFound), (["1"], InvalidArgument), ("", InvalidArgument)]
)
def test_an_append_that_cannot_take_one_of_its_entries_back_records_nothing(
    numbers: Any, error: type[Exception]
) -> None:
    past = Given([user("a"), assistant("b")])
    with pytest.raises(error):
        past.store.append(CID, [user("d")], retracting=numbers)
    past.buffer("user a", "assistant b")


def test_an_append_that_is_sent_again_under_its_key_takes_nothing_back_again() -> None:
    past = Given([user("a"), assistant("b")])
    for _ in range(2):
        past.store.append(CID, [user("d")], retracting=[2], idempotency_key="k")
    past.buffer("user a", "user d")
    with pytest.raises(IdempotencyConflict):
        past.store.append(CID, [user("d")], retracting=[1], idempotency_key="k")
