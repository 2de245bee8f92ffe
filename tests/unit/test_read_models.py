"""Read models: after each event the same as made from nothing, by one event or by many."""

import warnings
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.spec import CID
from tests.strategies import artifact_lists, batches, histories
from tests.tables import all_conversations, assert_tables_show, following
from turnledger import ArtifactDropped, ConversationStore, DomainEvent, HeldLimits, TurnledgerError

QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=40)

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
