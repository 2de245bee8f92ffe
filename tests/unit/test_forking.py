"""Forking: a new conversation from another's state, which then lives by itself."""

import warnings
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.spec import CID, Given, artifact, assistant, result, turn, user
from tests.strategies import histories
from tests.unit.test_projecting import lived
from turnledger import (
    ConversationCleared,
    ConversationExists,
    ConversationForked,
    ConversationNotFound,
    ConversationStore,
    EntryRetracted,
    InvalidArgument,
    InvalidId,
    VersionConflict,
    VersionNotFound,
)
from turnledger.domain import messages
from turnledger.domain.conversation import Conversation

QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=40)


def contents(store: ConversationStore, name: str) -> list[Any]:
    return [message["content"] for message in store.buffer(name)]


def test_a_fork_begins_with_the_state_of_its_source_at_that_version() -> None:
    store = Given([user("a"), assistant("b"), user("c")]).store
    done = store.fork(CID, at=3, into="f")
    assert contents(store, "f") == ["a", "b"]
    assert (done.conversation_id, done.version, done.count) == ("f", 1, 2)
    (event,) = store.events("f")
    assert isinstance(event, ConversationForked)
    assert (event.source_id, event.source_version, event.source_digest) == (CID, 3, done.source_digest)


def test_each_goes_its_own_way() -> None:
    store = Given([user("a")]).store
    store.fork(CID, at=2, into="f")
    store.append(CID, user("b"))
    store.append("f", user("c"))
    assert contents(store, CID) == ["a", "b"]
    assert contents(store, "f") == ["a", "c"]
    assert store.verify().ok


def test_an_entry_keeps_its_number_its_time_and_its_turn() -> None:
    past = Given().when(user("a"), turn_id="t").when(assistant("b"), execution_id="e")
    past.store.fork(CID, at=3, into="f")
    source, fork = past.store.entries(CID), past.store.entries("f")
    assert [(e.number, e.time, e.turn_id, e.execution_id) for e in fork] == [
        (e.number, e.time, e.turn_id, e.execution_id) for e in source
    ]
    assert {e.version for e in fork} == {1}
    assert past.store.append("f", user("c")).entries == (3,)


def test_a_time_forks_the_state_of_then() -> None:
    ticks = iter(range(9))
    start = datetime(2030, 1, 1, tzinfo=UTC)
    past = Given([user("a"), user("b")], clock=lambda: start + timedelta(hours=next(ticks)))
    past.store.fork(CID, at=start + timedelta(minutes=30), into="f")
    assert contents(past.store, "f") == ["a"]


def test_calls_known_to_the_source_are_known_to_the_fork_though_they_left_its_buffer() -> None:
    past = Given([turn("c1"), result("c1", "one"), user("a"), user("b")], window=1)
    store = past.store
    store.fork(CID, at=past.version, into="f")
    assert contents(store, "f") == ["b"]
    assert store.append("f", [turn("c1"), result("c1", "one")]).duplicates == (0, 1)
    assert store.append("f", turn({"tool_call_id": "c1", "name": "other"})).renamed == ((0, "c1", "c1-2"),)


def test_an_open_call_is_open_in_the_fork_and_each_is_answered_by_itself() -> None:
    past = Given([turn("c1")])
    past.store.fork(CID, at=2, into="f")
    assert past.store.append("f", user("a")).healed == ("c1",)
    assert past.store.append("f", result("c1", "here")).replaced == ("c1",)
    past.when(result("c1", "there")).buffer("assistant[c1]", "tool c1 there")


def test_a_fork_in_the_midst_of_a_healing_heals_the_rest() -> None:
    past = Given([turn("c1", "c2"), user("a")])
    past.store.fork(CID, at=3, into="f")
    assert past.store.append("f", user("b")).healed == ("c2",)
    assert past.store.verify().ok


def test_the_window_goes_with_it() -> None:
    past = Given([user("a"), user("b")], window=2)
    past.store.fork(CID, at=3, into="f")
    past.store.append("f", user("c"))
    assert contents(past.store, "f") == ["b", "c"]


def test_what_is_held_or_taken_stays_with_the_source() -> None:
    past = Given([user()]).hold(artifact("a"))
    past.take()
    past.hold(artifact("b"))
    past.store.fork(CID, at=past.version, into="f")
    assert past.store.held("f") == []
    assert past.store.open_takes("f") == []
    past.held("b")
    assert past.store.write_back("f", "e1", assistant("done")).delivered == ()


def test_a_delivery_counts_at_its_source_and_is_referred_to_without_its_payload() -> None:
    past = Given([user()]).write_back(assistant("here"), artifact("link", secret="payload"))
    past.store.fork(CID, at=past.version, into="f")
    past.store.fork("f", at=1, into="g")
    assert all("toolArtifacts" not in entry for entry in past.store.wire("g"))
    (event,) = past.store.events("g")
    assert isinstance(event, ConversationForked)
    (delivery,) = event.delivered
    assert (delivery.entry, delivery.conversation_id, len(delivery.artifact_ids)) == (2, CID, 1)
    assert "payload" not in repr(event)


def test_an_idempotency_key_used_in_the_source_is_free_in_the_fork() -> None:
    past = Given().when(user("a"), idempotency_key="k")
    past.store.fork(CID, at=2, into="f")
    done = past.store.append("f", user("another"), idempotency_key="k")
    assert (done.repeated, done.appended) == (False, 1)


def test_a_fork_of_a_fork_reads_right_and_verifies() -> None:
    past = Given([user("a"), turn("c1"), user("b")])
    store = past.store
    store.fork(CID, at=past.version, into="f")
    store.append("f", result("c1", "late"))
    store.compact("f", keep_last=1, summary=user("sum"))
    store.fork("f", at=store.version("f"), into="g")
    store.append("g", user("c"))
    store.compact("g", keep_last=1, summary=user("sum of sums"))
    assert contents(store, "g") == ["sum of sums", "c"]
    assert store.append("g", result("c1", "late")).duplicates == (0,)
    assert store.verify().ok
    assert store.verify("g").ok


def test_a_fork_has_a_turn_and_a_context_of_its_own() -> None:
    past = Given([user("a")])
    past.store.fork(CID, at=2, into="f", context={"actor": "o"}, turn_id="t")
    (event,) = past.store.events("f")
    assert (event.envelope.context, event.turn_id) == ({"actor": "o"}, "t")


def test_a_fork_is_no_earlier_than_what_it_forks() -> None:
    ticks = iter([timedelta(hours=5), timedelta(hours=1)])
    start = datetime(2030, 1, 1, tzinfo=UTC)
    past = Given([user("a")], clock=lambda: start + next(ticks))
    past.store.fork(CID, at=2, into="f")
    (event,) = past.store.events("f")
    assert event.time == start + timedelta(hours=5)


def test_what_was_decided_on_before_a_fork_is_stale_in_it() -> None:
    past = Given([user("a")])
    past.store.fork(CID, at=2, into="f")
    with pytest.raises(VersionConflict):
        past.store.append("f", user("b"), expected_version=0)
    assert past.store.append("f", user("b"), expected_version=1).version == 2


def test_an_id_that_is_taken_is_refused_and_nothing_recorded() -> None:
    store = Given([user("a")]).store
    for into in (CID, "f"):
        if into == "f":
            store.fork(CID, at=2, into="f")
        before = store.version(into)
        with pytest.raises(ConversationExists, match="free"):
            store.fork(CID, at=2, into=into)
        assert store.version(into) == before
    assert issubclass(ConversationExists, ValueError)


def test_what_cannot_be_forked_is_refused() -> None:
    store = Given([user("a")]).store
    with pytest.raises(VersionNotFound):
        store.fork(CID, at=3, into="f")
    with pytest.raises(InvalidArgument, match="nothing to fork"):
        store.fork(CID, at=0, into="f")
    with pytest.raises(ConversationNotFound):
        store.fork("nobody", at=1, into="f")
    with pytest.raises(InvalidId):
        store.fork(CID, at=1, into=" ")
    assert [found.conversation_id for found in store.conversations()] == [CID]


def test_a_state_larger_than_a_row_may_be_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Given([user("x" * 600), user("y" * 600)]).store
    for module in ("domain.forking", "infrastructure.mapper"):
        monkeypatch.setattr(f"turnledger.{module}.ENCODED_BYTES_MAX", 1_000)
    with pytest.raises(InvalidArgument, match="fork an earlier one, or compact it"):
        store.fork(CID, at=3, into="f")
    store.compact(CID, keep_last=0, summary=user("short"))
    assert store.fork(CID, at=store.version(CID), into="f").count == 1
    assert messages.ENCODED_BYTES_MAX == 256 * 2**20


@QUIET
@given(histories())
def test_a_fork_at_any_version_decides_as_its_source_did_then(
    history: list[tuple[str, dict[str, Any]]],
) -> None:
    with lived(history) as store:
        if not list(store.conversations()):
            return
        state, forgets = Conversation(), False
        for event in store.events(CID):
            state.evolve(event)
            into = f"fork {event.version}"
            store.fork(CID, at=event.version, into=into)
            (forked,) = store.events(into)
            forgets = forgets or isinstance(event, EntryRetracted | ConversationCleared)
            assert decided_on(state, fresh=not forgets) == decided_on(evolved(forked), fresh=not forgets)
            assert store.sendable(into).messages == store.sendable(CID, at=event.version).messages
        assert store.verify().findings == ()


def evolved(event: Any) -> Conversation:
    state = Conversation()
    state.evolve(event)
    return state


def decided_on(state: Conversation, *, fresh: bool) -> dict[str, Any]:
    """What an append looks at; of what left the buffer without calls only the number counts, and is gone.

    A fresh id is one that its own log never used: what was retracted in the source is free in the fork.
    """
    calls = state.calls
    return {
        "window": state.window,
        "buffer": state.buffer,
        "entries": {n: f for n, f in state.entries.items() if not f.evicted or f.call_ids},
        "newest": (state.newest_entry, state.newest_user, calls.newest_turn),
        "open": list(state.open_calls.items()),
        "bearing": dict(calls.bearing),
        "answers": dict(calls.answers),
        "originals": {name for name, is_renamed in calls.originals.items() if is_renamed},
        "fresh": {call_id: calls.fresh_id(call_id, set()) for call_id in calls.bearing if fresh},
    }


@QUIET
@given(histories(), histories())
def test_whatever_is_done_in_a_fork_gives_no_finding(
    history: list[tuple[str, dict[str, Any]]], more: list[tuple[str, dict[str, Any]]]
) -> None:
    with lived(history) as store, warnings.catch_warnings(action="ignore"):
        if not list(store.conversations()):
            return
        store.fork(CID, at=(store.version(CID) + 2) // 2, into="f")
        for method, given_ in more:
            getattr(store, method)("f", **given_)
        store.fork("f", at=store.version("f"), into="g")
        for method, given_ in more:
            getattr(store, method)("g", **given_)
        assert store.verify().findings == ()
        assert store.verify("g").findings == ()
