"""An artifact's way across a pause (SPEC section 4): given, when, then."""

import asyncio
import logging
import warnings
from typing import Any

import pytest

from tests.spec import CID, Given, artifact, assistant, call, result, turn, user
from turnledger import (
    ArtifactDropped,
    ArtifactsDelivered,
    ArtifactsHeld,
    ArtifactsPutBack,
    ConversationNotFound,
    ConversationStore,
    HeldLimits,
    IdempotencyConflict,
    InvalidArgument,
    InvalidMessage,
    StoreBusy,
    TakeNotFound,
    TakeSettled,
    VersionConflict,
)

STARTED, APPENDED = "ConversationStarted", "MessageAppended"
HELD, TAKEN, DELIVERED = "ArtifactsHeld", "ArtifactsTaken", "ArtifactsDelivered"
PUT_BACK, DISCARDED = "ArtifactsPutBack", "ArtifactsDiscarded"
A, B, C, D = (artifact(name) for name in "abcd")


def small(count: int = 100, payload_bytes: int = 4 * 2**20) -> Given:
    return Given(held_limits=HeldLimits(artifacts=count, payload_bytes=payload_bytes))


# holding


def test_a_hold_starts_the_conversation_and_holds_in_order() -> None:
    past = Given().hold(A, B).then(STARTED, HELD).hold(C).then(HELD).held("a", "b", "c")
    assert [item["type"] for item in past.outcome.held] == ["c"]
    assert (past.outcome.refused, past.outcome.repeated, past.outcome.version) == ((), False, 3)


def test_what_is_held_is_named_by_execution_and_turn() -> None:
    past = (
        Given()
        .hold(A, turn_id="t1")
        .hold(B, execution="e2")
        .held("a", execution="e1")
        .held("b", execution="e2")
    )
    held = past.store.held(CID, "e1")[0]
    assert (held["execution_id"], held["turn_id"], held.artifact_id) == ("e1", "t1", held["artifact_id"])
    past.held("a", "b")


def test_a_hold_of_nothing_records_nothing() -> None:
    with pytest.raises(ConversationNotFound):
        Given().hold().then_nothing().store.version(CID)


@pytest.mark.parametrize(
    "bad",
    [
        "no map",
        None,
        {},
        {"type": "", "payload": {}},
        {"type": " ", "payload": {}},
        {"type": 3, "payload": {}},
        {"type": "x"},
        {"type": "x", "payload": []},
        {"type": "x", "payload": {"y": object()}},
        {"type": "x" * 1025, "payload": {}},
        {"type": "x", "payload": {}, "tool_call_id": "c" * 1025},
    ],
)
def test_what_is_malformed_is_dropped_alone_with_a_warning(bad: Any) -> None:
    past = Given().hold(A, bad, B).then(STARTED, HELD).held("a", "b")
    assert len(past.warned) == len(past.outcome.refused) == 1
    event = past.events[-1]
    assert isinstance(event, ArtifactsHeld)
    assert [bool(item.reason) for item in event.refused] == [True]
    past.hold(bad).then(HELD)


@pytest.mark.parametrize(
    ("given", "kept"),
    [(None, None), ("", ""), (" c1 ", " c1 "), (0, 0), (7, 7), (True, None), (1.5, None), ([1], None)],
)
def test_the_call_id_is_kept_verbatim_where_it_is_text_or_a_whole_number(given: Any, kept: Any) -> None:
    past = Given().hold({"type": "link", "payload": {}, "tool_call_id": given, "extra": 1})
    assert repr(past.outcome.held) == repr(({"type": "link", "payload": {}, "tool_call_id": kept},))


def test_a_payload_is_kept_as_content_is() -> None:
    past = Given().hold(artifact("a", x=(1, b"\xff", float("nan"), "\ud800")))
    assert past.store.held(CID)[0]["payload"] == {"x": [1, "\ufffd", None, "\ufffd"]}


def test_each_that_does_not_fit_is_dropped_and_a_later_one_that_fits_stays() -> None:
    past = small(payload_bytes=150)
    past.hold(A, artifact("big", text="x" * 100), B).held("a", "b")
    assert [item["type"] for item in past.outcome.refused] == ["big"]
    assert (
        past.outcome.refused[0]["size_bytes"]
        == len('{"type":"big","payload":{"text":""},"tool_call_id":"c1"}') + 100
    )
    assert "big" in past.warned[0]


def test_the_bound_is_met_exactly_and_counts_bytes_of_text() -> None:
    size = len('{"type":"a","payload":{"text":"é"},"tool_call_id":"c1"}'.encode())
    small(payload_bytes=size).hold(artifact("a", text="é")).held("a")
    small(payload_bytes=size - 1).hold(artifact("a", text="é")).held()


def test_the_bound_is_that_of_one_execution_and_open_takes_do_not_count() -> None:
    past = small(1).hold(A).hold(B, execution="e2").held("a", "b").hold(C).held("a", "b")
    past.take()
    past.hold(C).held("c", execution="e1").held("b", execution="e2")


def test_a_drop_is_logged_and_a_filter_that_makes_errors_of_warnings_fails_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    past = small(1)
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING, logger="turnledger"):
        warnings.simplefilter("error")
        assert len(past.store.hold(CID, "e1", [A, B]).refused) == 1
    past.held("a")
    assert len(caplog.records) == 1


def test_what_is_held_is_shown_to_no_client_and_no_model() -> None:
    past = Given([user(), turn("c1"), result("c1")])
    shown = [past.store.buffer(CID), past.store.wire(CID), past.store.sendable(CID).messages]
    past.hold(artifact("secret"))
    assert [past.store.buffer(CID), past.store.wire(CID), past.store.sendable(CID).messages] == shown
    assert "secret" not in repr([past.store.sendable(CID, provider="openai-chat"), past.store.entries(CID)])
    assert past.store.turn_artifacts(CID, "t1") == []


# writing back


def test_a_write_back_puts_what_is_held_before_what_it_brings() -> None:
    past = Given().hold(A).hold(B).write_back([turn("c1"), result("c1"), assistant("done")], C)
    past.then(APPENDED, APPENDED, APPENDED, TAKEN, DELIVERED).held()
    assert past.on_the_wire() == [["a", "b", "c"]]
    assert past.store.wire(CID)[2]["toolArtifacts"][0] == A
    assert [item["type"] for item in past.outcome.delivered] == ["a", "b", "c"]
    event = past.events[-1]
    assert isinstance(event, ArtifactsDelivered)
    assert (len(event.delivered), [item.type for item in event.new]) == (3, ["c"])
    past.write_back(assistant("more")).then(APPENDED)
    assert past.outcome.delivered == ()


def test_it_delivers_what_it_brings_though_nothing_was_held() -> None:
    past = Given().write_back(assistant("done"), A).then(STARTED, APPENDED, DELIVERED)
    assert past.on_the_wire() == [["a"]]


def test_what_is_delivered_is_not_bounded_again() -> None:
    past = small(1).hold(A).write_back(assistant("done"), B, C)
    assert (past.on_the_wire(), past.warned) == ([["a", "b", "c"]], [])


def test_another_execution_is_left_alone() -> None:
    past = Given().hold(A).write_back(assistant("done"), B, execution="e2").held("a")
    assert past.on_the_wire() == [["b"]]


def test_without_an_assistant_message_what_it_brings_joins_the_held_list() -> None:
    past = Given().hold(A).write_back(user("q"), B).then(APPENDED, HELD).held("a", "b")
    assert (past.outcome.delivered, [item["type"] for item in past.outcome.held]) == ((), ["b"])


def test_where_it_fails_nothing_was_taken() -> None:
    past = Given([user()]).hold(A)
    version = past.version
    with pytest.raises(InvalidMessage):
        past.write_back([assistant(), 7], B)
    with pytest.raises(VersionConflict):
        past.write_back(assistant(), B, expected_version=1)
    assert past.version == version
    past.held("a")


def test_a_retry_with_calls_delivers_nothing_twice() -> None:
    past = Given().hold(A).write_back(turn("c1"), B, B)
    past.write_back(turn("c1"), B, B).then_nothing().held()
    assert past.outcome.delivered == ()
    past.write_back(turn("c1"), B, C, B, B).then(HELD).held("c", "b")
    event = past.events[-1]
    assert isinstance(event, ArtifactsHeld)
    assert event.repeated == [1]
    past.write_back(turn("c1"), B, C, B, B).then_nothing()
    past.write_back(assistant("end")).held()
    assert past.on_the_wire() == [["a", "b", "b"], ["c", "b"]]


def test_what_came_from_the_held_list_does_not_count_as_brought() -> None:
    past = Given().hold(A).write_back(turn("c1"))
    past.write_back(turn("c1"), A).then(HELD).held("a")


@pytest.mark.parametrize(("payload", "equal"), [(1.0, True), (True, False), ("1", False)])
def test_artifacts_are_equal_as_json_values(payload: Any, equal: bool) -> None:
    past = Given().write_back(turn("c1"), artifact("a", n=1)).write_back(turn("c1"), artifact("a", n=payload))
    past.held(*([] if equal else ["a"]))


def test_the_repeat_is_that_of_the_last_assistant_message() -> None:
    past = Given().write_back(turn("c1"), A)
    past.write_back([turn("c1"), turn(call("c2"))], B).then(APPENDED, DELIVERED)
    assert past.on_the_wire() == [["a"], ["b"]]


def test_without_calls_a_write_back_needs_a_key_to_be_retried() -> None:
    past = Given().hold(A).write_back(assistant("done"), B, idempotency_key="k")
    first = past.outcome
    past.hold(C).write_back(assistant("done"), B, idempotency_key="k").then_nothing().held("c")
    assert (past.outcome.repeated, past.outcome.appended) == (True, 0)
    assert past.outcome.delivered == first.delivered
    assert past.outcome.entries == first.entries
    past.write_back(assistant("done"), B).then(APPENDED, TAKEN, DELIVERED)
    with pytest.raises(IdempotencyConflict):
        past.write_back(assistant("done"), C, idempotency_key="k")


def test_a_hold_with_a_key_holds_once() -> None:
    past = (
        Given()
        .hold(A, "bad", idempotency_key="k")
        .hold(A, "bad", idempotency_key="k")
        .then_nothing()
        .held("a")
    )
    assert (past.outcome.repeated, past.outcome.held, past.warned) == (True, (A,), [])


def test_what_stands_on_a_turn_is_found_though_its_entry_was_evicted() -> None:
    past = (
        Given(window=1)
        .write_back(assistant("1"), A, turn_id="t1")
        .write_back(assistant("2"), B, turn_id="t1")
    )
    assert past.on_the_wire() == [["b"]]
    assert past.store.turn_artifacts(CID, "t1") == [A, B]
    assert past.store.turn_artifacts(CID, "t2") == []


# taking and settling


def test_a_take_takes_all_and_a_confirm_delivers_it_elsewhere_for_ever() -> None:
    past = Given().hold(A, B)
    take = past.take()
    past.then(TAKEN).held()
    assert [item["type"] for item in take.artifacts] == ["a", "b"]
    assert [item.take_id for item in past.store.open_takes()] == [take.take_id]
    past.settle("confirm", take).then(DELIVERED).settle("confirm", take.take_id).then_nothing()
    assert past.store.open_takes(CID) == []
    assert past.on_the_wire() == []
    assert past.take().take_id is None


def test_a_take_of_nothing_records_nothing_and_settling_it_does_nothing() -> None:
    past = Given([user()])
    take = past.take()
    past.then_nothing()
    assert (take.take_id, take.artifacts) == (None, ())
    for how in ("confirm", "put_back", "discard"):
        past.settle(how, take).then_nothing()


def test_what_is_put_back_comes_before_what_was_held_since() -> None:
    past = Given().hold(A, B)
    take = past.take()
    past.hold(C).settle("put_back", take).then(PUT_BACK).held("a", "b", "c")
    assert [item["type"] for item in past.outcome.held] == ["a", "b"]
    past.settle("put_back", take).then_nothing().held("a", "b", "c")
    assert past.outcome.held == ()
    past.write_back(assistant())
    assert past.on_the_wire() == [["a", "b", "c"]]


def test_two_takes_come_back_in_the_order_of_first_holding_whichever_is_first() -> None:
    for second_first in (True, False):
        past = Given().hold(A)
        one = past.take()
        past.hold(B)
        two = past.take()
        past.hold(C)
        for take in (two, one) if second_first else (one, two):
            past.settle("put_back", take)
        past.held("a", "b", "c")


def test_what_is_put_back_is_never_dropped_but_what_was_held_since_may_be() -> None:
    past = small(2).hold(A, B)
    take = past.take()
    past.hold(C).settle("put_back", take).held("a", "b")
    assert [item["type"] for item in past.outcome.refused] == ["c"]
    assert len(past.warned) == 1
    event = past.events[-1]
    assert isinstance(event, ArtifactsPutBack)
    assert event.refused[0].artifact_id
    past = small(payload_bytes=210).hold(artifact("a", text="y" * 20))
    take = past.take()
    past.hold(artifact("big", text="x" * 100), D).held("big", "d")
    past.settle("put_back", take).held("a", "d")


def test_a_discard_needs_a_reason_and_ends_it() -> None:
    past = Given().hold(A)
    take = past.take()
    for reason in ("", " ", None):
        with pytest.raises(InvalidArgument):
            past.store.discard(CID, take, reason=reason)  # type: ignore[arg-type]
    past.settle("discard", take).then(DISCARDED).settle("discard", take).then_nothing().held()


@pytest.mark.parametrize("first", ["confirm", "put_back", "discard"])
@pytest.mark.parametrize("then", ["confirm", "put_back", "discard"])
def test_settling_another_way_is_refused(first: str, then: str) -> None:
    past = Given().hold(A)
    take = past.take()
    past.settle(first, take)
    if first == then:
        past.settle(then, take).then_nothing()
        return
    with pytest.raises(TakeSettled):
        past.settle(then, take)


def test_an_unknown_take_and_an_unknown_conversation_are_refused() -> None:
    past = Given()
    for how in ("confirm", "put_back", "discard"):
        with pytest.raises(ConversationNotFound):
            past.settle(how, "none")
    with pytest.raises(ConversationNotFound):
        past.take()
    past.hold(A)
    for how in ("confirm", "put_back", "discard"):
        with pytest.raises(TakeNotFound):
            past.settle(how, "none")


def test_a_write_back_does_not_wait_for_an_open_take() -> None:
    past = Given().hold(A)
    take = past.take()
    past.hold(B).write_back(assistant("1")).settle("put_back", take).write_back(assistant("2"))
    assert past.on_the_wire() == [["b"], ["a"]]


# taking for a block


def test_a_block_that_ends_well_confirms() -> None:
    past = Given().hold(A)
    with past.store.taking(CID, "e1") as take:
        assert take.artifacts == (A,)
        past.held()
    assert past.store.open_takes(CID) == []
    past.held()


@pytest.mark.parametrize(
    "failure", [RuntimeError("no"), KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit()]
)
def test_a_block_that_fails_puts_back_and_raises_what_it_raised(failure: BaseException) -> None:
    past = Given().hold(A)
    with pytest.raises(type(failure)) as caught, past.store.taking(CID, "e1"):
        raise failure
    assert caught.value is failure
    past.held("a")


@pytest.mark.parametrize("how", ["confirm", "put_back", "discard"])
@pytest.mark.parametrize("fails", [False, True])
def test_what_the_block_settled_itself_is_left_alone(how: str, fails: bool) -> None:
    past = Given().hold(A)
    try:
        with past.store.taking(CID, "e1") as take:
            past.settle(how, take)
            if fails:
                raise RuntimeError("after all")
    except RuntimeError:
        assert fails
    past.held(*(["a"] if how == "put_back" else []))
    assert past.store.open_takes(CID) == []


def test_a_confirm_that_fails_is_raised_and_the_take_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    past = Given().hold(A)

    def busy(*args: Any, **kwargs: Any) -> None:
        raise StoreBusy("locked")

    with pytest.raises(StoreBusy), monkeypatch.context() as patch, past.store.taking(CID, "e1"):
        patch.setattr(past.store._application.recorder, "insert", busy)
    assert len(past.store.open_takes(CID)) == 1
    past.held()


def test_a_put_back_that_fails_is_a_note_and_the_take_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    past = Given().hold(A)

    def busy(*args: Any, **kwargs: Any) -> None:
        raise StoreBusy("locked")

    with pytest.raises(RuntimeError) as caught, monkeypatch.context() as patch, past.store.taking(CID, "e1"):
        patch.setattr(past.store._application.recorder, "insert", busy)
        raise RuntimeError("no")
    assert any("locked" in note for note in caught.value.__notes__)
    assert len(past.store.open_takes(CID)) == 1


def test_a_dropped_artifact_is_warned_of_after_the_commit() -> None:
    past = small(1)
    with pytest.warns(ArtifactDropped):
        past.store.hold(CID, "e1", [A, B])
    past.held("a")


def test_what_a_hold_reports_shares_nothing_with_what_is_held() -> None:
    """Who changed the report changed what was delivered then, in this process alone."""
    with ConversationStore(":memory:") as store:
        store.append("c", {"role": "user", "content": "x"})
        held = store.hold("c", "run", [{"type": "t", "payload": {"p": [1]}, "tool_call_id": "c1"}]).held
        held[0]["payload"]["p"].append("changed")
        more = store.write_back("c", "run", [], artifacts=[{"type": "t", "payload": {"q": [2]}}]).held
        more[0]["payload"]["q"].append("changed")
        done = store.write_back("c", "run", {"role": "assistant", "content": "y"})
        assert [artifact["payload"] for artifact in done.delivered] == [{"p": [1]}, {"q": [2]}]
        assert store.verify().ok
