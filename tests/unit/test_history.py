"""The history: one row a version, each telling what its event changed and nothing else."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.spec import CID, Given, artifact, assistant, result, system, turn, user
from tests.strategies import histories
from tests.unit.test_projecting import lived
from turnledger import ConversationNotFound, ConversationStore, HistoryRow

QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=40)


def last_row(past: Given) -> HistoryRow:
    *_, row = past.store.history(CID)
    return row


def test_an_append_adds_an_entry_and_a_message_at_the_end() -> None:
    row = last_row(Given([user(), assistant()]))
    assert row.buffer.added == (2,)
    assert (row.sendable.first_changed, row.sendable.removed, row.sendable.added) == (1, 0, 1)
    assert row.sendable.appends_only
    assert not row.held


def test_a_heal_adds_an_entry_and_moves_those_behind_it() -> None:
    past = Given([turn("c1"), assistant("lost it"), user()])
    heal = list(past.store.history(CID))[3]
    assert heal.buffer.added == (3,)
    assert heal.buffer.moved == (2,)
    assert not heal.sendable, "the model was shown a placeholder before"


def test_a_late_result_changes_the_message_in_its_place() -> None:
    row = last_row(Given([turn("c1"), user(), result("c1")]))
    assert row.buffer.replaced == (2,)
    assert (row.sendable.first_changed, row.sendable.removed, row.sendable.added) == (1, 1, 1)
    assert not row.sendable.appends_only


def test_a_late_result_for_an_evicted_placeholder_changes_nothing_that_is_seen() -> None:
    row = last_row(Given([turn("c1"), user("a"), user("b"), result("c1")], window=1))
    assert not row.buffer
    assert not row.sendable


def test_a_compaction_tells_what_left_and_what_stands_for_it() -> None:
    past = Given([user("a"), assistant("b"), user("c")]).compact(1)
    evicted, summary = list(past.store.history(CID))[-2:]
    assert evicted.buffer.evicted == (1, 2)
    assert (summary.buffer.added, summary.buffer.moved) == ((4,), (3,))
    assert (summary.sendable.first_changed, summary.sendable.length) == (0, 2)


def test_a_system_message_changes_the_front_of_what_is_sent() -> None:
    row = last_row(Given([user(), system()]))
    assert row.buffer.added == (2,)
    assert (row.sendable.first_changed, row.sendable.removed, row.sendable.added) == (0, 0, 1)
    assert not row.sendable.appends_only


def test_what_is_held_and_taken_is_told_by_artifact() -> None:
    past = Given([user()]).hold(artifact("link"))
    (held,) = last_row(past).held.added
    take = past.take()
    assert last_row(past).held.removed == (held,)
    past.settle("put_back", take)
    assert last_row(past).held.added == (held,)


def test_a_recorded_request_changes_nothing() -> None:
    past = Given([user()])
    past.store.record_request(CID)
    row = last_row(past)
    assert not row.buffer
    assert not row.sendable
    assert not row.held


def test_a_part_of_the_history_is_the_same_rows() -> None:
    past = Given([turn("c1"), user(), result("c1"), assistant()])
    rows = list(past.store.history(CID))
    assert list(past.store.history(CID, after=3, to=5)) == rows[3:5]


def test_an_unknown_conversation_has_no_history() -> None:
    with pytest.raises(ConversationNotFound):
        Given().store.history(CID)


@QUIET
@given(histories())
def test_every_row_is_the_difference_of_the_states_on_its_two_sides(
    history: list[tuple[str, dict[str, Any]]],
) -> None:
    with lived(history) as store:
        if not list(store.conversations()):
            return
        rows = list(store.history(CID))
        assert [row.version for row in rows] == list(range(1, store.version(CID) + 1))
        for before, row in pairwise([0, *rows]):
            assert isinstance(row, HistoryRow)
            compare(store, row, row.version - 1 if before else 0)


def compare(store: ConversationStore, row: HistoryRow, before: int) -> None:
    old, new = numbered(store, before), numbered(store, row.version)
    assert set(row.buffer.added) == new.keys() - old.keys()
    assert set(row.buffer.evicted + row.buffer.retracted) == old.keys() - new.keys()
    assert set(row.buffer.replaced) == {n for n in old.keys() & new.keys() if old[n] != new[n]}
    pushed = [
        n for n in new if n in old and any(a in row.buffer.added for a in list(new)[: list(new).index(n)])
    ]
    assert list(row.buffer.moved) == pushed
    sent, now = (store.sendable(CID, at=v).messages for v in (before, row.version))
    change = row.sendable
    assert change.length == len(now)
    assert bool(change) is (sent != now)
    first = change.first_changed
    if first is not None:
        assert sent[:first] == now[:first]
        assert sent[first : first + 1] != now[first : first + 1]
        assert sent[first + change.removed :] == now[first + change.added :]
    assert change.appends_only is (now[: len(sent)] == sent)
    held, held_now = (ids(store.held(CID, at=v)) for v in (before, row.version))
    assert set(row.held.added) - set(row.held.removed) == held_now - held
    assert set(row.held.removed) - set(row.held.added) == held - held_now


def numbered(store: ConversationStore, at: int) -> dict[int, dict[str, Any]]:
    return {entry.number: entry.stored for entry in store.entries(CID, at=at)}


def ids(held: Iterable[Any]) -> set[str]:
    return {artifact.artifact_id for artifact in held}
