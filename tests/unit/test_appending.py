"""What becomes of each message (SPEC section 2): given a past, when it is appended, then these events."""

import logging
from typing import Any

import pytest

from tests.spec import (
    CID,
    Given,
    assistant,
    call,
    placeholder,
    result,
    system,
    turn,
    user,
)
from turnledger import (
    ConversationStore,
    IdempotencyConflict,
    InvalidMessage,
    VersionConflict,
)

APPENDED, HEALED, REPLACED, EVICTED = "MessageAppended", "CallHealed", "PlaceholderReplaced", "EntriesEvicted"

# the table


def test_a_result_for_a_call_without_one_is_appended() -> None:
    past = Given([turn("c1")]).when(result("c1")).then(APPENDED)
    assert (past.outcome.appended, past.outcome.entries) == (1, (2,))


def test_a_result_is_appended_though_no_turn_declares_its_call() -> None:
    Given([user()]).when(result("c9")).then(APPENDED).buffer("user hello", "tool c9 found")


def test_a_second_result_is_dropped_whatever_it_says() -> None:
    past = Given([turn("c1"), result("c1")])
    past.when(result("c1")).then_nothing()
    assert (past.outcome.duplicates, past.outcome.differing, past.outcome.entries) == ((0,), (), (None,))
    past.when(result(" c1 ", "else")).then_nothing()
    assert (past.outcome.duplicates, past.outcome.differing) == ((0,), (0,))


def test_a_late_result_takes_the_place_of_its_placeholder_and_the_mark_goes() -> None:
    past = Given([turn("c1"), user("go on")]).when(result("c1", "late")).then(REPLACED)
    past.buffer("assistant[c1]", "tool c1 late", "user go on")
    report = past.outcome
    assert (report.appended, report.appended_any, report.replaced, report.entries) == (
        0,
        False,
        ("c1",),
        (2,),
    )
    past.when(result("c1", "later")).then_nothing()


def test_a_placeholder_of_the_same_append_is_replaced_and_counts_as_none() -> None:
    past = Given([turn("c1")]).when([user("wait"), result("c1", "late")]).then(HEALED, APPENDED, REPLACED)
    assert (past.outcome.appended, past.outcome.count) == (1, 3)
    past = (
        Given()
        .when([placeholder("c1"), result("c1", "real")])
        .then("ConversationStarted", APPENDED, REPLACED)
    )
    assert (past.outcome.appended, past.outcome.count) == (1, 1)


def test_what_is_marked_healed_is_appended_once_and_never_replaces() -> None:
    past = Given([turn("c1")]).when(placeholder("c1", "stand-in")).then(APPENDED)
    past.when(placeholder("c1", "other")).then_nothing()
    past.when(result("c1", "real")).then(REPLACED)
    past.when(placeholder("c1")).then_nothing().buffer("assistant[c1]", "tool c1 real")


@pytest.mark.parametrize("unusable", ["", "  ", "0", 0, None, True, 1.5, []])
def test_a_result_without_a_usable_id_is_appended_each_time(unusable: Any) -> None:
    past = Given([user()]).when(result(unusable)).then(APPENDED).when(result(unusable)).then(APPENDED)
    assert past.store.sendable(CID).dropped == 2


@pytest.mark.parametrize("spelling", [7, "7", " 7\n"])
def test_an_integer_id_is_its_decimal_text(spelling: Any) -> None:
    Given([turn(7)]).when(result(spelling)).then(APPENDED).when(result("7")).then_nothing()


def test_a_turn_whose_calls_all_repeat_is_dropped() -> None:
    past = Given([turn("c1", "c2", content="a")])
    past.when(turn("c2", "c1", content="b")).then_nothing()
    assert (past.outcome.duplicates, past.outcome.differing) == ((0,), (0,))
    past.when(turn("c1", "c2", content="a")).then_nothing()
    assert (past.outcome.duplicates, past.outcome.differing) == ((0,), ())


def test_one_new_id_keeps_the_whole_turn() -> None:
    Given([turn("c1")]).when(turn("c1", "c2")).then(APPENDED).buffer("assistant[c1]", "assistant[c1,c2]")


def test_a_turn_without_calls_is_never_a_repeat() -> None:
    Given([assistant("Done.")]).when(assistant("Done.")).then(APPENDED)
    Given([assistant("Done.")]).when({"role": "assistant", "content": "Done.", "tool_calls": []}).then(
        APPENDED
    )


def test_a_turn_with_an_unusable_id_is_never_a_repeat() -> None:
    Given([turn("c1", "")]).when(turn("c1", "")).then(APPENDED).buffer("assistant[c1,]", "assistant[c1,]")


def test_a_dropped_turn_that_says_something_else_is_named_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, logger="turnledger"):
        Given([turn("c1", content="a")]).when(turn("c1", content="a"))
        assert caplog.records == []
        Given([turn("c1", content="a")]).when(turn("c1", content="b"))
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_a_dropped_turn_differs_where_what_it_repeats_declared_more() -> None:
    past = Given([turn("c1", call("", name="lost"))]).when(turn("c1")).then_nothing()
    assert past.outcome.differing == (0,)


def test_system_and_developer_messages_are_appended_each_time_and_heal_nothing() -> None:
    past = Given([turn("c1")])
    past.when([system(), system(), {"role": "developer", "content": "d"}]).then(APPENDED, APPENDED, APPENDED)
    assert (past.outcome.appended, past.outcome.count) == (3, 4)


# healing


def test_a_user_message_heals_first_siblings_in_the_order_of_their_calls() -> None:
    past = Given([turn("c1", "c2", "c3"), result("c2"), assistant("well")]).when(user("go on"))
    past.then(HEALED, HEALED, APPENDED)
    past.buffer(
        "assistant[c1,c2,c3]",
        "tool c1 healed",
        "tool c3 healed",
        "tool c2 found",
        "assistant well",
        "user go on",
    )
    assert (past.outcome.healed, past.outcome.appended, past.outcome.count) == (("c1", "c3"), 1, 6)
    past.when(user("go on")).then(APPENDED)


def test_a_call_that_two_turns_declare_is_healed_once_after_the_first() -> None:
    past = Given([turn("c1"), turn("c1", "c2")]).when(user()).then(HEALED, HEALED, APPENDED)
    past.buffer("assistant[c1]", "tool c1 healed", "assistant[c1,c2]", "tool c2 healed", "user hello")


def test_a_result_anywhere_in_the_buffer_is_an_answer() -> None:
    Given([result("c1"), turn("c1")]).when(user()).then(APPENDED)


def test_a_call_without_a_usable_id_is_not_healed() -> None:
    Given([turn("", "0")]).when(user()).then(APPENDED)


@pytest.mark.parametrize("message", [assistant(), result("c9"), system(), turn("c2")])
def test_only_a_user_message_heals(message: Any) -> None:
    Given([turn("c1")]).when(message).then(APPENDED)


def test_in_a_batch_it_heals_calls_of_the_same_batch_but_not_later_ones() -> None:
    past = Given().when([turn("c1"), user("a"), turn("c2")])
    past.then("ConversationStarted", APPENDED, HEALED, APPENDED, APPENDED)
    past.buffer("assistant[c1]", "tool c1 healed", "user a", "assistant[c2]")


# reused ids


def ids(past: Given) -> list[tuple[Any, Any]]:
    """The calls on the record, each with its id and the one that it came with."""
    return [
        (item["tool_call_id"], item.get("original_id"))
        for message in past.store.buffer(CID)
        for item in message["metadata"].get("tool_calls", ())
    ]


ANSWERED = [turn(call("c1", {"n": 1})), result("c1", "one")]


@pytest.mark.parametrize("same", [{"n": 1.0}, '{"n": 1}', ' {"n":1.00} '])
def test_equal_arguments_are_a_repeat_though_it_is_answered(same: Any) -> None:
    Given(ANSWERED).when(turn(call("c1", same))).then_nothing()


@pytest.mark.parametrize(
    "other", [{"n": True}, {"n": 2}, {"n": "1"}, '{"n": 1', None, [1], {"n": 1, "m": None}]
)
def test_another_call_under_an_answered_id_is_a_new_one_under_a_fresh_id(other: Any) -> None:
    past = Given(ANSWERED).when(turn(call("c1", other))).then(APPENDED)
    assert ids(past) == [("c1", None), ("c1-2", "c1")]
    assert past.outcome.renamed == ((0, "c1", "c1-2"),)
    past.when(turn(call("c1", other))).then_nothing()


@pytest.mark.parametrize("none", [None, "", "{}", {}, "null"])
def test_there_are_many_ways_to_say_no_arguments(none: Any) -> None:
    others: list[Any] = [None, "", "{}", {}]
    for other in others:
        Given([turn(call("c1", none)), result("c1")]).when(turn(call("c1", other))).then_nothing()


@pytest.mark.parametrize(
    ("one", "two", "equal"),
    [
        (2**53, float(2**53), True),
        (2**53 + 1, float(2**53), False),
        ('{"x": 1e400}', '{"x": 2e400}', False),
        ("NaN", "NaN", True),
        ("[NaN]", "[Infinity]", False),
        ({"a": 0.1}, '{"a": 0.10}', True),
        ("é", "e\u0301", False),
    ],
)
def test_numbers_compare_exactly_and_text_that_is_no_json_as_text(one: Any, two: Any, equal: bool) -> None:
    past = Given([turn(call("c1", one)), result("c1")]).when(turn(call("c1", two)))
    assert past.outcome.appended == (0 if equal else 1)


def test_another_name_is_another_call() -> None:
    past = Given(ANSWERED).when(turn(call("c1", {"n": 1}, name="book"))).then(APPENDED)
    assert ids(past)[1] == ("c1-2", "c1")


def test_while_a_call_is_open_its_id_names_no_other() -> None:
    past = Given([turn(call("c1", {"n": 1}))]).when(turn(call("c1", {"n": 2}))).then_nothing()
    assert past.outcome.differing == (0,)


def test_once_healed_the_id_is_free_for_another_call() -> None:
    past = Given([turn(call("c1", {"n": 1})), user()]).when(turn(call("c1", {"n": 2}))).then(APPENDED)
    assert ids(past) == [("c1", None), ("c1-2", "c1")]


def test_of_several_known_calls_it_repeats_the_equal_one() -> None:
    past = Given([*ANSWERED, [turn(call("c1", {"n": 2})), result("c1", "two")]])
    past.when([turn(call("c1", {"n": 1}), "new"), result("c1", "again")]).then(APPENDED)
    assert ids(past)[2:] == [("c1", None), ("new", None)]
    past.when(turn(call("c1", {"n": 2}), "newer")).then(APPENDED)
    assert ids(past)[4:] == [("c1-2", "c1"), ("newer", None)]


def test_of_equal_ones_it_repeats_an_open_one_else_the_latest() -> None:
    twice = [turn("c1"), turn("c1")]
    past = Given().when(twice, reused_ids="distinct").when(result("c1-2")).when(turn("c1", "new"))
    assert ids(past)[2] == ("c1", None)
    past = (
        Given().when(twice, reused_ids="distinct").when([result("c1"), result("c1")]).when(turn("c1", "new"))
    )
    assert ids(past)[2] == ("c1-2", "c1")


def test_a_repeat_further_up_in_the_turn_is_known_under_the_original_id_that_it_came_with() -> None:
    past = Given().when([turn(call("a"), call("a", original_id="b"), "b")])
    assert [c["tool_call_id"] for c in past.store.buffer(CID)[0]["metadata"]["tool_calls"]] == ["a", "a", "a"]


def test_a_turn_that_reuses_an_id_beside_a_repeat_of_it_answers_the_repeat() -> None:
    past = Given([turn("a"), result("a", ""), turn(call("a", {"x": 1})), result("a", "one")])
    past.when([turn(call("a-2", {"x": 2}), call("a", {"x": 1})), result("a", "interrupted", healed=True)])
    assert [m["role"] for m in past.store.buffer(CID)] == [
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]


def test_one_id_for_two_calls_of_one_turn_gives_the_other_a_fresh_id() -> None:
    past = Given().when(
        [turn(call("c1", {"n": 1}), call("c1", {"n": 2}), call("c1", {"n": 2}), call("c1", {"n": 1}))]
    )
    assert ids(past) == [("c1", None), ("c1-2", "c1"), ("c1-2", "c1"), ("c1", None)]


def test_a_fresh_id_is_none_that_the_log_or_the_turn_uses() -> None:
    past = Given([turn("c1", "c1-2"), [result("c1"), result("c1-2")], result("c1-3")])
    past.when(turn(call("c1", {"n": 1}), "c1-4", call("x", original_id="c1-5")))
    assert ids(past)[2] == ("c1-6", "c1")


def test_an_original_id_that_comes_in_counts_like_ours() -> None:
    past = Given().when(turn(call("c1-2", {"n": 2}, original_id="c1")))
    past.when(turn(call("c1", {"n": 2}))).then_nothing()
    past.when(result("c1", "two")).then(APPENDED).buffer("assistant[c1-2]", "tool c1-2 two")


# results under a reused id


def test_the_result_follows_its_call_in_the_same_append_and_keeps_the_id_that_it_came_with() -> None:
    past = Given(ANSWERED).when([turn(call("c1", {"n": 2})), result("c1", "two")]).then(APPENDED, APPENDED)
    past.buffer("assistant[c1]", "tool c1 one", "assistant[c1-2]", "tool c1-2 two")
    assert past.store.buffer(CID)[3]["metadata"]["original_id"] == "c1"


def test_a_result_that_says_the_same_still_answers_the_newest_turn() -> None:
    past = Given(ANSWERED).when([turn(call("c1", {"n": 2})), result("c1", "one")]).then(APPENDED, APPENDED)
    past = Given([*ANSWERED, turn(call("c1", {"n": 2}))]).when(result("c1", "one")).then(APPENDED)
    past.buffer("assistant[c1]", "tool c1 one", "assistant[c1-2]", "tool c1-2 one")


def test_once_another_turn_came_a_result_that_says_the_same_is_a_repeat() -> None:
    past = Given([*ANSWERED, turn(call("c1", {"n": 2})), assistant("hm")])
    past.when(result("c1", "one")).then_nothing()
    past.when(result("c1", "two")).then(APPENDED)


def test_of_calls_without_a_result_the_latest_turn_gets_it_there_the_first() -> None:
    past = Given().when(
        [turn(call("c1", {"n": 1})), turn(call("c1", {"n": 2}), call("c1", {"n": 3}))], reused_ids="distinct"
    )
    for answered in ("c1-2", "c1-3", "c1"):
        past.when(result("c1", f"for {answered}")).then(APPENDED)
        assert past.store.buffer(CID)[-1]["metadata"]["tool_call_id"] == answered
    past.when(result("c1", "one too many")).then_nothing()


def test_the_turn_that_is_named_comes_before_the_latest() -> None:
    past = Given().when(turn(call("c1", {"n": 1})), turn_id="t1")
    past.when(turn(call("c1", {"n": 2})), turn_id="t2", reused_ids="distinct")
    past.when(result("c1", "one"), turn_id="t1").then(APPENDED)
    assert past.store.buffer(CID)[-1]["metadata"]["tool_call_id"] == "c1"
    past.when(result("c1", "two"), turn_id="t9").then(APPENDED)
    assert past.store.buffer(CID)[-1]["metadata"]["tool_call_id"] == "c1-2"


@pytest.mark.parametrize("turn_id", [None, "t2"])
def test_the_turn_of_the_same_append_comes_before_any_other_though_it_was_dropped(
    turn_id: str | None,
) -> None:
    past = Given().when(turn(call("c1", {"n": 1})), turn_id="t1")
    past.when(turn(call("c1", {"n": 2})), turn_id="t2", reused_ids="distinct")
    past.when([turn(call("c1", {"n": 1})), result("c1", "one")], turn_id=turn_id).then(APPENDED)
    assert past.store.buffer(CID)[-1]["metadata"]["tool_call_id"] == "c1"


def test_an_append_that_declares_the_id_anew_brings_its_own_result_though_it_says_the_same() -> None:
    batch = [turn(call("c1", {"n": 1})), turn(call("c1", {"n": 2})), turn("c2"), result("c1", "one")]
    past = Given(ANSWERED).when(batch).then(APPENDED, APPENDED, APPENDED)
    assert past.store.buffer(CID)[-1]["metadata"]["tool_call_id"] == "c1-2"


def test_a_transcript_replayed_after_a_crash_finds_its_own_answers_again() -> None:
    transcript = [
        turn(call("c1", {"n": 1})),
        result("c1", "one"),
        turn(call("c1", {"n": 2})),
        result("c1", "two"),
    ]
    past = Given().when(transcript)
    for message in transcript:
        past.when(message).then_nothing()
    past.when([turn(call("c1", {"n": 3})), user("q"), turn("c2")]).then(APPENDED, HEALED, APPENDED, APPENDED)
    for message in transcript:
        past.when(message).then_nothing()
    past = Given().when([*transcript, turn(call("c1", {"n": 3}))])
    past.when([*transcript, turn(call("c1", {"n": 3})), result("c1", "three")]).then(APPENDED)
    assert past.store.buffer(CID)[-1]["metadata"]["tool_call_id"] == "c1-3"


def test_a_placeholder_under_a_reused_id_answers_only_what_has_nothing() -> None:
    past = Given([*ANSWERED, turn(call("c1", {"n": 2})), user()]).when(placeholder("c1")).then_nothing()
    past.when(result("c1", "two")).then(REPLACED)
    past.buffer("assistant[c1]", "tool c1 one", "assistant[c1-2]", "tool c1-2 two", "user hello")


def test_an_id_that_is_no_original_id_is_exact() -> None:
    past = Given([*ANSWERED, turn(call("c1", {"n": 2}))]).when(result("c1-2", "two")).then(APPENDED)
    assert "original_id" not in past.store.buffer(CID)[-1]["metadata"]


# the modes


def test_drop_reads_the_rules_to_the_letter() -> None:
    past = (
        Given(ANSWERED, reused_ids="drop")
        .when([turn(call("c1", {"n": 2})), result("c1", "two")])
        .then_nothing()
    )
    assert (past.outcome.duplicates, past.outcome.differing) == ((0, 1), (0, 1))
    past.when(turn(call("c1", {"n": 2}), "c2")).then(APPENDED)
    assert ids(past)[1:] == [("c1", None), ("c2", None)]


def test_distinct_makes_every_declaration_a_new_call() -> None:
    batch = [turn("c1", "c1"), result("c1", "a"), result("c1", "b"), turn("c1"), result("c1", "c")]
    past = Given(reused_ids="distinct").when(batch).then("ConversationStarted", *[APPENDED] * 5)
    past.buffer("assistant[c1,c1-2]", "tool c1 a", "tool c1-2 b", "assistant[c1-3]", "tool c1-3 c")
    past.when(turn("c1"), reused_ids="compare").then_nothing()


def test_a_mode_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="reused_ids"):
        Given().when(user(), reused_ids="maybe")


# windows


def test_the_oldest_leave_and_system_messages_do_not_count() -> None:
    past = Given([[system(), user("1"), assistant("2")]], window=2).when(user("3")).then(APPENDED, EVICTED)
    past.buffer("system be kind", "assistant 2", "user 3")
    assert (past.outcome.evicted, past.outcome.count) == ((2,), 3)


def test_a_turn_leaves_with_its_results_and_with_every_turn_of_the_same_calls() -> None:
    past = Given([[turn("c1"), turn("c1", "c2"), result("c1"), user("u")], result("c2")], window=5)
    past.when(assistant("x")).then(APPENDED, EVICTED).buffer("user u", "assistant x")


def test_what_must_stay_is_passed_over() -> None:
    past = (
        Given([[user("u"), turn("c1"), assistant("a")]], window=1)
        .when(assistant("b"))
        .then(APPENDED, EVICTED)
    )
    past.buffer("user u", "assistant[c1]", "assistant b")
    past.when([assistant("c"), assistant("d")]).then(APPENDED, APPENDED, EVICTED)
    past.buffer("user u", "assistant[c1]", "assistant c", "assistant d")


def test_a_result_alone_leaves_only_if_no_turn_in_the_buffer_declares_its_call() -> None:
    Given([[result("c9"), user("u")]], window=2).when(assistant("a")).then(APPENDED, EVICTED).buffer(
        "user u", "assistant a"
    )


def test_nothing_leaves_if_a_result_that_stands_before_its_turn_would_then_lead() -> None:
    past = Given([[assistant("0"), result("c1"), turn("c1"), user("u")]], window=4)
    past.when(assistant("a")).then(APPENDED)
    assert past.outcome.count == 5
    past.when(assistant("b")).then(APPENDED, EVICTED).buffer("user u", "assistant a", "assistant b")


def test_a_repeat_does_not_close_the_window() -> None:
    past = Given([[user("u"), turn("c1"), result("c1")]], window=1).when(result("c1")).then_nothing()
    assert past.outcome.count == 3


def test_what_was_evicted_stays_known_and_time_travel_shows_it() -> None:
    past = Given([[turn("c1"), result("c1", "one")], [user("u"), turn("c2")], [user("v")]], window=2)
    past.when(assistant("a")).buffer("user v", "assistant a")
    past.when(turn("c1")).then_nothing().when(result("c1")).then_nothing()
    past.when(result("c2", "late")).then(REPLACED).buffer("user v", "assistant a")
    assert len(past.store.buffer(CID, at=3)) == 2
    past.when(result("c2", "late")).then_nothing()
    past.when(turn(call("c1", {"n": 2}))).then(APPENDED, EVICTED)
    assert ids(past) == [("c1-2", "c1")]


def test_a_conversation_keeps_the_window_that_it_was_started_with(tmp_path: Any) -> None:
    with ConversationStore(tmp_path / "s.db", window=1) as store:
        store.append(CID, [assistant("1")])
    with ConversationStore(tmp_path / "s.db") as store:
        assert store.append(CID, [assistant("2")]).evicted == (1,)
        store.append("other", [assistant("1")])
        assert store.append("other", [assistant("2")]).evicted == ()


# keys


def test_a_key_that_comes_again_with_the_same_input_records_nothing_and_says_what_the_first_did() -> None:
    past = Given([turn("c1")]).when([user("a"), turn("c1")], idempotency_key="k")
    first = past.outcome
    past.when(assistant("between")).when([user("a"), turn("c1")], idempotency_key="k").then_nothing()
    again = past.outcome
    assert (again.appended, again.repeated, again.version) == (0, True, first.version)
    assert again.entries == first.entries == (3, None)
    past.when([user("a"), turn("c1")], idempotency_key="k2").then(APPENDED)


def test_a_key_stands_for_what_is_kept_not_for_how_it_was_given() -> None:
    past = Given().when(user(("a", b"b")), idempotency_key="k", context={"trace": "1"})
    past.when(
        [{"role": "user", "content": ["a", "b"], "metadata": {}}], idempotency_key="k", reused_ids="drop"
    ).then_nothing()
    assert past.outcome.repeated


@pytest.mark.parametrize("other", [{"turn_id": "t2"}, {"execution_id": "e2"}])
def test_a_key_with_other_input_is_refused(other: Any) -> None:
    past = Given().when(user("a"), idempotency_key="k", turn_id="t1", execution_id="e1")
    with pytest.raises(IdempotencyConflict):
        past.when(user("b"), idempotency_key="k", turn_id="t1", execution_id="e1")
    with pytest.raises(IdempotencyConflict):
        past.when(user("a"), idempotency_key="k", **{"turn_id": "t1", "execution_id": "e1", **other})
    with pytest.raises(IdempotencyConflict):
        past.write_back(user("a"), idempotency_key="k", turn_id="t1")
    with pytest.raises(IdempotencyConflict):
        past.hold(idempotency_key="k")
    assert past.version == 2


def test_the_key_is_looked_at_before_the_expected_version() -> None:
    past = Given().when(user("a"), idempotency_key="k", expected_version=0).when(user("b"))
    past.when(user("a"), idempotency_key="k", expected_version=0).then_nothing()
    assert past.outcome.repeated


def test_a_call_that_records_nothing_does_not_use_its_key() -> None:
    past = Given([turn("c1")]).when(turn("c1"), idempotency_key="k").then_nothing()
    past.when(user("other"), idempotency_key="k").then(HEALED, APPENDED)


@pytest.mark.memory_only
def test_the_newest_ten_thousand_keys_are_remembered() -> None:
    past = Given(durability="normal")
    for number in range(10_001):
        past.store.append(CID, system(), idempotency_key=f"k{number}")
    past.when(system(), idempotency_key="k1").then_nothing()
    past.when(system(), idempotency_key="k0").then(APPENDED)


# expected versions


def test_only_a_change_of_the_buffer_makes_a_version_stale() -> None:
    past = Given([user()])
    past.hold({"type": "link", "payload": {}})
    past.when(assistant(), expected_version=2).then(APPENDED)
    with pytest.raises(VersionConflict):
        past.when(assistant(), expected_version=3)
    with pytest.raises(VersionConflict):
        past.when(assistant(), expected_version=99)
    past.when(assistant(), expected_version=4).then(APPENDED)


@pytest.mark.parametrize("no_version", [-1, True, 1.0, "1"])
def test_what_is_no_version_is_refused(no_version: Any) -> None:
    with pytest.raises(ValueError, match="version"):
        Given().when(user(), expected_version=no_version)


# kept as given


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ((1, (2,)), [1, [2]]),
        ({2: "a", None: "b", True: "c"}, {"2": "a", "null": "b", "true": "c"}),
        (b"ok \xff", "ok \ufffd"),
        (float("inf"), None),
        ("a\ud800", "a\ufffd"),
        ("\0\u2028", "\0\u2028"),
        (None, ""),
        ({"x": float("nan")}, {"x": None}),
        (10**4000 - 1, 10**4000 - 1),
        (-0.0, -0.0),
        ([{"type": "image"}], [{"type": "image"}]),
    ],
)
def test_content_is_kept_as_given(given: Any, kept: Any) -> None:
    assert repr(Given().when(user(given)).store.buffer(CID)[0]["content"]) == repr(kept)


def test_other_keys_go_into_metadata_and_incoming_artifacts_are_cut() -> None:
    message = {
        "role": "user",
        "content": "a",
        "name": "Ann",
        "none": None,
        "toolArtifacts": [1],
        "metadata": {"x": 1, "toolArtifacts": [2]},
    }
    assert Given().when(message).store.buffer(CID)[0]["metadata"] == {"x": 1, "name": "Ann"}


def test_an_object_that_dumps_itself_is_a_message() -> None:
    class Dumped:
        def model_dump(self) -> dict[str, Any]:
            return {"role": "user", "content": "dumped"}

    Given().when(Dumped()).buffer("user dumped").when([Dumped()]).then(APPENDED)


def test_what_was_given_may_be_changed_afterwards() -> None:
    content = ["a"]
    past = Given().when(user(content))
    content.append("b")
    assert past.store.buffer(CID)[0]["content"] == ["a"]


def test_an_empty_append_records_nothing() -> None:
    with ConversationStore(":memory:") as store:
        report = store.append(CID, [])
        assert (report.version, report.count, report.appended) == (0, 0, 0)
        with pytest.raises(LookupError):
            store.buffer(CID)


# refusals

CIRCLE: dict[str, Any] = {}
CIRCLE["x"] = CIRCLE
DEEP: Any = 1
for _ in range(101):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    "bad",
    [
        7,
        None,
        {},
        {"role": None},
        {"role": "function"},
        {"role": "assistant", "tool_calls": "[]"},
        {"role": "assistant", "tool_calls": [None]},
        {"role": "assistant", "metadata": {"tool_calls": {"id": 1}}},
        user(CIRCLE),
        user(object()),
        user(DEEP),
        user(10**4000),
        user([{"type": "tool_use", "id": "x"}]),
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x"}]},
    ],
)
def test_what_is_no_message_is_refused_by_its_index_and_nothing_is_recorded(bad: Any) -> None:
    past = Given([user()])
    with pytest.raises(InvalidMessage) as caught:
        past.when([assistant(), bad])
    assert "1" in str(caught.value)
    assert past.version == 2


@pytest.mark.parametrize("bad", ["", " ", "a" * 256, "a\nb", "\ud800", 7, None, "\x7f"])
def test_a_conversation_needs_a_proper_id(bad: Any) -> None:
    with ConversationStore(":memory:") as store, pytest.raises(ValueError, match=r"."):
        store.append(bad, user())
