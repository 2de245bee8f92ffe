"""Read models: after each event the same as made from nothing, by one event or by many."""

import warnings
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.spec import CID, assistant, result, turn, user
from tests.strategies import artifact_lists, batches, histories
from tests.tables import all_conversations, assert_tables_show, following
from turnledger import (
    ArtifactDropped,
    ConversationStore,
    DomainEvent,
    HeldLimits,
    InboxItem,
    ReadModels,
    TurnledgerError,
)
from turnledger.infrastructure.read_models import Waiting
from turnledger.projections import placing

QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=40)

SHELVES: tuple[Waiting, ...] = ("held", "take")
STEPS = st.one_of(
    st.tuples(st.just("take"), st.sampled_from(["e1", "e2"])),
    st.tuples(st.just("settle"), st.sampled_from(["confirm", "put_back", "discard"])),
    st.tuples(st.just("fork"), st.integers(1, 12)),
    st.tuples(st.just("hold"), st.tuples(st.sampled_from(["e1", "e2"]), artifact_lists)),
    st.tuples(st.just("append"), batches),
)
"""What `histories` does not do, or seldom."""


def live(store: ConversationStore, history: list[tuple[str, dict[str, Any]]], steps: list[Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ArtifactDropped)
        for number in range(max(len(history), len(steps))):
            if number < len(history):
                method, given_ = history[number]
                getattr(store, method)(CID, **given_)
            if number < len(steps):
                step(store, number, *steps[number])


def step(store: ConversationStore, number: int, kind: str, given_: Any) -> None:
    try:
        if kind == "append":
            store.append(CID, given_)
        elif kind == "hold":
            store.hold(CID, given_[0], given_[1])
        elif kind == "take":
            store.take(CID, given_)
        elif kind == "settle":
            for take in store.open_takes(CID)[:1]:
                reason = {"reason": "no more"} if given_ == "discard" else {}
                getattr(store, given_)(CID, take, **reason)
        else:
            store.fork(CID, at=min(given_, store.version(CID)), into=f"fork {number}")
    except TurnledgerError:
        return  # there is nothing to take, or nothing to fork yet


def in_order_of_commits(store: ConversationStore) -> list[DomainEvent]:
    events = [event for found in all_conversations(store) for event in store.events(found)]
    places = {
        (row[0], row[1]): place
        for place, row in enumerate(
            store._application.recorder.datastore.reading(store._application.deadline())
            .__enter__()
            .execute("SELECT originator_id, originator_version FROM stored_events ORDER BY rowid")
        )
    }
    return sorted(events, key=lambda event: places[event.conversation_id, event.version])


@QUIET
@given(histories(), st.lists(STEPS, max_size=7), st.sampled_from([None, 2, 4]))
def test_after_each_event_the_tables_show_what_the_projections_show(
    history: list[tuple[str, dict[str, Any]]], steps: list[Any], window: int | None
) -> None:
    assert_shown_after_each_event(history, steps, window)


@QUIET
@given(histories(), st.lists(STEPS, max_size=7))
def test_open_calls_far_from_the_end_are_settled_and_show_the_same(
    history: list[tuple[str, dict[str, Any]]], steps: list[Any]
) -> None:
    with patch.object(placing, "UNSETTLED_MAX", 2):
        assert_shown_after_each_event(history, steps, None)


def assert_shown_after_each_event(
    history: list[tuple[str, dict[str, Any]]], steps: list[Any], window: int | None
) -> None:
    limits = HeldLimits(artifacts=3)
    with ConversationStore(":memory:", window=window, held_limits=limits) as store:
        live(store, history, steps)
        events = in_order_of_commits(store)
        models, log = following(store, 0)
        with models:
            for number, event in enumerate(events, start=1):
                log.to = number
                models.catch_up()
                assert_tables_show(models, store, event.conversation_id, event.version)
            assert models.verify().ok  # made at once it is the same as made event by event
            assert_waiting(models, store)


def assert_waiting(models: ReadModels, store: ConversationStore) -> None:
    """What waits is found where the tables say, and they name no other conversation for a shelf."""
    everything = ageless(store.open_calls())
    assert ageless(store.open_calls(models.waiting())) == everything
    assert store.open_takes(models.waiting("take")) == store.open_takes()
    for kind in SHELVES:
        found = {item.conversation_id for item in everything if item.kind == kind}
        assert models.waiting(kind) == sorted(found)


def ageless(items: list[InboxItem]) -> list[InboxItem]:
    return [replace(item, age=timedelta(0)) for item in items]


MOVES = st.one_of(
    st.tuples(st.just("turn"), st.integers(1, 3)),
    st.tuples(st.just("result"), st.integers(0, 9)),
    st.tuples(st.sampled_from(["assistant", "assistant", "assistant", "system", "user"]), st.just(0)),
)


@QUIET
@given(st.lists(MOVES, min_size=8, max_size=30), st.integers(1, 4))
def test_heals_and_late_results_far_from_the_end_show_the_same(moves: list[Any], unsettled: int) -> None:
    with patch.object(placing, "UNSETTLED_MAX", unsettled), ConversationStore(":memory:") as store:
        models, log = following(store, 0)
        asked: list[str] = []
        for kind, number in moves:
            if kind == "turn":
                new = [f"c{len(asked) + at}" for at in range(number)]
                asked += new
                store.append(CID, turn(*new))
            elif kind == "result":
                store.append(CID, result(asked[number % len(asked)] if asked else "nobody's"))
            else:
                store.append(CID, {"role": kind, "content": "so"})
            log.to = 10_000
            models.catch_up()
            assert_tables_show(models, store, CID, store.version(CID))
        with models:
            assert models.verify().ok


def steps_of(models: ReadModels, store: ConversationStore, messages: Any) -> int:
    """How much SQLite does, in thousands of its steps, to follow an append."""
    store.append(CID, messages)
    steps = 0

    def counted() -> int:
        nonlocal steps
        steps += 1
        return 0

    connection = models._file.connection
    connection.set_progress_handler(counted, 100)
    models.catch_up()
    connection.set_progress_handler(None, 0)
    return steps


@pytest.mark.parametrize("first", [[turn("far")], []], ids=["behind an open call", "where none is open"])
def test_what_an_event_costs_does_not_grow_with_its_conversation(first: list[Any]) -> None:
    with ConversationStore(":memory:") as store, store.read_models(":memory:") as models:
        store.append(CID, [user(), *first])
        costs = []
        for count in (300, 1_500):
            done = [
                m for n in range(count) for m in (turn(f"{count}-{n}"), result(f"{count}-{n}"), assistant())
            ]
            store.append(CID, done)
            models.catch_up()
            costs.append(
                [
                    steps_of(models, store, messages)
                    for messages in (assistant(), turn(f"{count}"), result(f"{count}"), assistant("more"))
                ]
            )
        for before, after in zip(*costs, strict=True):
            assert after <= 2 * before + 20
