"""The diff: what differs between two versions, from which position on, and by which event."""

import warnings
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.spec import CID, Given, artifact, assistant, result, turn, user
from tests.strategies import histories
from tests.unit.test_projecting import lived
from turnledger import (
    ConversationStore,
    Diff,
    EntriesEvicted,
    InvalidArgument,
    MessageAppended,
    PlaceholderReplaced,
    VersionNotFound,
)

QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=40)


def kinds(diff: Diff) -> list[tuple[str, int | None, int | None]]:
    return [(one.kind, one.before, one.after) for one in diff.differences]


def test_equal_lists_have_no_first_changed_position() -> None:
    past = Given([user()])
    past.store.record_request(CID)
    diff = past.store.diff(CID, 2, 3)
    assert (diff.differences, diff.first_changed, diff.cause) == ((), None, None)
    assert diff.appends_only


def test_a_list_that_only_goes_on_changes_first_where_it_ended() -> None:
    diff = Given([user(), assistant(), user()]).store.diff(CID, 2, 4)
    assert kinds(diff) == [("added", None, 1), ("added", None, 2)]
    assert (diff.first_changed, diff.length_a, diff.length_b) == (1, 1, 3)
    assert diff.appends_only
    assert isinstance(diff.cause, MessageAppended)
    assert diff.cause.version == 3


def test_a_late_result_breaks_the_cache_where_its_placeholder_stood() -> None:
    past = Given([user(), turn("c1"), user("and?"), assistant(), result("c1", "late")])
    diff = past.store.diff(CID, past.version - 1, past.version)
    assert kinds(diff) == [("replaced", 2, 2)]
    assert (diff.first_changed, diff.appends_only) == (2, False)
    assert isinstance(diff.cause, PlaceholderReplaced)
    (one,) = diff.differences
    assert one.new == {"role": "tool", "content": "late", "tool_call_id": "c1"}


def test_the_cause_is_the_first_event_that_changed_the_position() -> None:
    past = Given([user("a"), user("b"), user("c")], window=2)
    diff = past.store.diff(CID, 3, past.version)
    assert diff.first_changed == 0
    assert isinstance(diff.cause, EntriesEvicted)


def test_going_back_tells_what_is_taken_away() -> None:
    diff = Given([user(), assistant()]).store.diff(CID, 3, 2)
    assert kinds(diff) == [("removed", 1, None)]
    assert diff.first_changed == 1
    assert diff.cause is not None
    assert diff.cause.version == 3


def test_a_buffer_is_compared_by_its_entries() -> None:
    past = Given([turn("c1"), assistant("same"), user(), result("c1")])
    healed = past.store.diff(CID, 3, 5, of="buffer")
    assert kinds(healed) == [("added", None, 1), ("added", None, 3)]
    replaced = past.store.diff(CID, 5, 6, of="buffer")
    assert kinds(replaced) == [("replaced", 1, 1)]
    assert replaced.differences[0].new is not None
    assert replaced.differences[0].new["entry"] == 3


def test_held_lists_are_compared_by_their_artifacts() -> None:
    past = Given([user()]).hold(artifact("a"), artifact("b"))
    past.take()
    past.hold(artifact("c"))
    diff = past.store.diff(CID, 3, 5, of="held")
    assert [(one.kind, (one.old or one.new or {})["type"]) for one in diff.differences] == [
        ("removed", "a"),
        ("removed", "b"),
        ("added", "c"),
    ]


def test_a_fork_and_its_source_share_their_past() -> None:
    store = Given([user("a"), assistant("b"), user("c")]).store
    store.fork(CID, at=3, into="f")
    store.append("f", user("another"))
    diff = store.diff(CID, 4, 2, other="f")
    assert kinds(diff) == [("replaced", 2, 2)]
    assert diff.first_changed == 2
    assert diff.cause is not None
    assert (diff.cause.conversation_id, diff.cause.version) == ("f", 2)
    assert store.diff(CID, 3, 1, other="f").first_changed is None


def test_the_same_entry_number_on_two_sides_of_a_fork_is_not_the_same_entry() -> None:
    store = Given([user("a"), user("b")]).store
    store.fork(CID, at=2, into="f")
    store.append("f", user("b"))
    assert [one.kind for one in store.diff(CID, 3, 2, of="buffer", other="f").differences] == [
        "removed",
        "added",
    ]


def test_two_forks_of_one_conversation_are_compared_from_where_they_part() -> None:
    store = Given([user("a"), assistant("b"), user("c")]).store
    store.fork(CID, at=4, into="f")
    store.fork(CID, at=2, into="g")
    store.fork("g", at=1, into="h")
    diff = store.diff("f", 1, 1, other="h")
    assert kinds(diff) == [("removed", 1, None), ("removed", 2, None)]
    assert diff.cause is not None
    assert (diff.cause.conversation_id, diff.cause.version) == (CID, 3)


def test_strangers_have_no_common_past() -> None:
    store = Given([user()]).store
    store.append("other", user())
    with pytest.raises(InvalidArgument, match="no common past"):
        store.diff(CID, 1, 1, other="other")


def test_what_cannot_be_compared_is_refused() -> None:
    store = Given([user()]).store
    with pytest.raises(VersionNotFound):
        store.diff(CID, 1, 99)
    with pytest.raises(InvalidArgument, match="of must be"):
        store.diff(CID, 1, 2, of="wire")  # type: ignore[arg-type]


@QUIET
@given(histories(), st.integers(0, 30), st.integers(0, 30))
def test_first_changed_and_cause_are_those_of_going_through_every_version(
    history: list[tuple[str, dict[str, Any]]], one: int, two: int
) -> None:
    with lived(history) as store:
        if not list(store.conversations()):
            return
        a, b = sorted((one % (store.version(CID) + 1), two % (store.version(CID) + 1)))
        diff = store.diff(CID, a, b)
        lists = {v: store.sendable(CID, at=v).messages for v in range(a, b + 1)}
        if lists[a] == lists[b]:
            assert (diff.first_changed, diff.cause) == (None, None)
            return
        first = next(p for p in range(99) if lists[a][p : p + 1] != lists[b][p : p + 1])
        cause = next(v for v in lists if lists[v][first : first + 1] != lists[a][first : first + 1])
        assert diff.first_changed == first
        assert diff.cause is not None
        assert diff.cause.version == cause
        assert applied(lists[a], diff) == lists[b]


def applied(before: list[dict[str, Any]], diff: Diff) -> list[Any]:
    """The other list, made of the first one and what differs."""
    gone = {one.before for one in diff.differences if one.before is not None}
    kept = iter([message for place, message in enumerate(before) if place not in gone])
    new = {one.after: one.new for one in diff.differences if one.after is not None}
    return [new[place] if place in new else next(kept) for place in range(diff.length_b)]


@QUIET
@given(histories(), histories(), st.integers(1, 30))
def test_a_fork_that_goes_on_differs_from_its_source_as_the_lists_do(
    history: list[tuple[str, dict[str, Any]]], more: list[tuple[str, dict[str, Any]]], at: int
) -> None:
    with lived(history) as store:
        if not list(store.conversations()):
            return
        at = 1 + at % store.version(CID)
        store.fork(CID, at=at, into="f")
        going_on(store, more)
        diff = store.diff(CID, store.version(CID), store.version("f"), other="f")
        source, fork = store.sendable(CID).messages, store.sendable("f").messages
        assert (diff.first_changed is None) is (source == fork)
        assert (diff.cause is None) is (diff.first_changed is None)
        assert applied(source, diff) == fork


def going_on(store: ConversationStore, history: list[tuple[str, dict[str, Any]]]) -> None:
    with warnings.catch_warnings(action="ignore"):
        for method, given_ in history:
            getattr(store, method)("f", **given_)
