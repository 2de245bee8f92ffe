"""Projections are folds: the same at any version, fed live, from nothing, or twice."""

import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.spec import CID, Given, artifact, projected, result, turn, user
from tests.strategies import histories
from turnledger import ArtifactDropped, ConversationStore
from turnledger.projections.buffer import BufferView
from turnledger.projections.held import ArtifactsView

QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=30)


def shown(buffer: BufferView, artifacts: ArtifactsView) -> str:
    return repr((buffer.entries(), artifacts.held(None), artifacts.open_takes(CID), artifacts.of_turn("t1")))


def lived(history: list[tuple[str, dict[str, Any]]]) -> ConversationStore:
    store = ConversationStore(":memory:", window=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ArtifactDropped)
        for method, given_ in history:
            getattr(store, method)(CID, **given_)
    return store


@QUIET
@given(histories())
def test_an_event_that_comes_twice_changes_no_view(history: list[tuple[str, dict[str, Any]]]) -> None:
    with lived(history) as store:
        try:
            events = list(store.events(CID))
        except LookupError:
            return
        for to in {*range(0, len(events), 3), len(events)}:
            once = projected(BufferView, events, to=to), projected(ArtifactsView, events, to=to)
            twice = (
                projected(BufferView, events, twice=True, to=to),
                projected(ArtifactsView, events, twice=True, to=to),
            )
            assert shown(*once) == shown(*twice)
            assert once[0].buffer() == store.buffer(CID, at=to)
            assert once[1].held(None) == store.held(CID, at=to)


@QUIET
@given(histories())
def test_going_back_to_any_version_shows_what_was_sendable_then(
    history: list[tuple[str, dict[str, Any]]],
) -> None:
    with lived(history) as store:
        try:
            last = store.version(CID)
        except LookupError:
            return
        for at in range(last + 1):
            buffer = store.buffer(CID, at=at)
            assert [entry.stored for entry in store.entries(CID, at=at)] == buffer
            assert store.sendable(CID, at=at).version == at


def test_what_a_view_returns_is_the_callers_to_change() -> None:
    past = Given([[user({"deep": [1]}), turn("c1"), result("c1")]])
    past.write_back(turn("c2"), artifact("link", n=[1]))
    store = past.store
    readings: list[Callable[[], Any]] = [
        lambda: store.buffer(CID),
        lambda: store.wire(CID),
        lambda: store.sendable(CID).messages,
        lambda: store.turn_artifacts(CID, "t"),
        lambda: store.held(CID),
        lambda: [entry.metadata for entry in store.entries(CID)],
        lambda: store.sendable(CID, provider="openai-chat").messages,
    ]
    for reading in readings:
        before = repr(reading())
        spoil(reading())
        assert repr(reading()) == before


def spoil(value: Any) -> None:
    """Empties every list and map in a value."""
    if isinstance(value, dict):
        for inner in value.values():
            spoil(inner)
        value.clear()
    elif isinstance(value, list):
        for inner in value:
            spoil(inner)
        value.clear()


def test_an_earlier_version_shows_the_state_of_then() -> None:
    past = Given([turn("c1"), user("go on")])
    versions = {at: len(past.store.buffer(CID, at=at)) for at in range(past.version + 1)}
    assert versions == {0: 0, 1: 0, 2: 1, 3: 2, 4: 3}
    with pytest.raises(LookupError):
        past.store.buffer(CID, at=5)


def test_a_time_shows_the_state_after_the_last_event_that_is_not_later() -> None:
    start = datetime(2030, 1, 1, tzinfo=UTC)
    ticks = iter([0, 10, 5, 20])
    past = Given(clock=lambda: start + timedelta(seconds=next(ticks)))
    for content in "abcd":
        past.when(user(content))
    times = [event.time for event in past.store.events(CID)]
    assert [(time - start).seconds for time in times] == [0, 0, 10, 10, 20]
    for seconds, shown_then in ((-1, ""), (0, "a"), (9.9, "a"), (10, "abc"), (15, "abc"), (99, "abcd")):
        at = (start + timedelta(seconds=seconds)).astimezone(timezone(timedelta(hours=5)))
        assert "".join(entry.content for entry in past.store.entries(CID, at=at)) == shown_then


@pytest.mark.parametrize("no_time", [datetime(2030, 1, 1), True, -1, 1.5, "1"])  # noqa: DTZ001
def test_what_is_neither_a_version_nor_an_aware_time_is_refused(no_time: Any) -> None:
    past = Given([user()])
    for reading in (
        past.store.buffer,
        past.store.entries,
        past.store.wire,
        past.store.held,
        past.store.sendable,
    ):
        with pytest.raises(ValueError, match=r"."):
            reading(CID, at=no_time)
