"""The audit finds what it claims to find, and nothing in a sound log (section 8)."""

import json
import warnings
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import strategies
from tests.system.histories import (
    History,
    compacting,
    counting,
    forking,
    healing,
    link,
    pausing,
    requesting,
    result,
    retracting,
    said,
    sliding,
    turn,
    user,
    written,
)
from tests.system.tampering import CONVERSATION, Edit, StoredRow, executed, rewritten
from turnledger import (
    AuditedConversation,
    AuditReport,
    ConversationNotFound,
    ConversationStore,
    HeldLimits,
    InvalidId,
)
from turnledger.infrastructure import auditing
from turnledger.projections.audit.report import (
    ANCHORS,
    ARTIFACTS,
    BATCHES,
    CHAIN,
    COMPACTIONS,
    DECODING,
    ENTRIES,
    EVICTIONS,
    HEALING,
    HELD_ORDER,
    INVARIANTS,
    ONCE,
    ORIGIN,
    PLACEHOLDERS,
    PROJECTIONS,
    REQUESTS,
    RETRACTIONS,
    SENDABLE,
    TIMES,
    VERSIONS,
)
from turnledger.projections.audit.sendable import unsendable

DATA = Path(__file__).parent.parent / "data" / "tau-bench-airline-5.jsonl"
SHARED = Path(__file__).parents[3] / "shared" / "data" / "tau-bench-airline-50.jsonl"
SLIDING_WINDOW = 4

Found = set[tuple[str, tuple[int, ...]]]


def audited(path: Path) -> AuditReport:
    with ConversationStore(path) as store:
        return store.verify()


def found(path: Path) -> Found:
    return {(finding.invariant, finding.versions) for finding in audited(path).findings}


def at(version: int, **changes: Any) -> Edit:
    """Changes fields of the event at a version."""

    def edit(rows: list[StoredRow]) -> None:
        rows[version - 1].data.update(changes)

    return edit


def envelope_at(version: int, **changes: Any) -> Edit:
    def edit(rows: list[StoredRow]) -> None:
        rows[version - 1].envelope.update(changes)

    return edit


def without(version: int) -> Edit:
    def edit(rows: list[StoredRow]) -> None:
        del rows[version - 1]

    return edit


def moved(version: int, to: int) -> Edit:
    def edit(rows: list[StoredRow]) -> None:
        rows.insert(to - 1, rows.pop(version - 1))

    return edit


def repeated(version: int, to: int, **changes: Any) -> Edit:
    """The event of a version a second time, as a call of its own, at version `to`."""

    def edit(rows: list[StoredRow]) -> None:
        row = StoredRow(rows[version - 1].topic, {**deepcopy(rows[version - 1].data), **changes})
        row.envelope["batch"] = -to
        row.envelope["time"] = rows[to - 2].envelope["time"]
        rows.insert(to - 1, row)

    return edit


def call_at(version: int, call_id: str) -> Edit:
    def edit(rows: list[StoredRow]) -> None:
        rows[version - 1].data["metadata"]["tool_calls"][0]["tool_call_id"] = call_id

    return edit


def carried(place: int, **changes: Any) -> Edit:
    """Changes fields of an entry that a fork carries."""

    def edit(rows: list[StoredRow]) -> None:
        rows[0].data["entries"][place].update(changes)

    return edit


def both(*edits: Edit) -> Edit:
    def edit(rows: list[StoredRow]) -> None:
        for one in edits:
            one(rows)

    return edit


BROKEN: list[tuple[str, History, Edit, Found]] = [
    ("the start is missing", healing, without(1), {(VERSIONS, (1,))}),
    ("a second start", healing, repeated(1, 5), {(VERSIONS, (5,)), (HEALING, (4, 5)), (BATCHES, (6,))}),
    ("time goes back", healing, envelope_at(10, time="2025-12-31T00:00:00Z"), {(TIMES, (9, 10))}),
    (
        "two times in one call",
        healing,
        envelope_at(6, time="2026-01-01T00:00:03Z"),
        {(BATCHES, (5, 6))},
    ),
    (
        "an event between those of another call",
        healing,
        moved(9, 5),
        {(BATCHES, (6,)), (HEALING, (4, 5)), (TIMES, (5, 6)), (ENTRIES, (6,))},
    ),
    (
        "two turn ids in one call",
        healing,
        envelope_at(5, turn_id="t"),
        {(BATCHES, (4, 5)), (BATCHES, (5, 6))},
    ),
    ("messages of a call out of order", sliding, at(2, index=-1), {(BATCHES, (2,))}),
    ("an entry number used again", healing, at(10, entry=6), {(ENTRIES, (8, 10))}),
    ("a role that is none", healing, at(10, role="narrator"), {(ENTRIES, (10,))}),
    (
        "a placeholder behind no entry",
        healing,
        at(4, behind=77),
        {(ENTRIES, (4,)), (PLACEHOLDERS, (3, 4)), (PROJECTIONS, (4,))},
    ),
    ("a placeholder moved away from its turn", healing, at(4, behind=1), {(PLACEHOLDERS, (2, 3, 4))}),
    ("a placeholder moved among its siblings", healing, at(5, behind=2), {(PLACEHOLDERS, (3, 5))}),
    (
        "siblings healed out of order",
        healing,
        both(at(4, call_id="b"), at(5, call_id="a"), at(7, entry=4)),
        {(PLACEHOLDERS, (3, 4))},
    ),
    ("a placeholder that is none", healing, at(4, content="42"), {(PLACEHOLDERS, (4,))}),
    (
        "a call healed that its turn does not declare",
        healing,
        at(5, call_id="z"),
        {(PLACEHOLDERS, (3, 5)), (HEALING, (3, 6))},
    ),
    (
        "a call healed of a turn that is not there",
        healing,
        at(4, turn_entry=9),
        {(ENTRIES, (4,)), (PLACEHOLDERS, (3, 4, 5))},
    ),
    ("an open call not healed", healing, both(without(5)), {(HEALING, (3, 5))}),
    ("a call healed for no user message", healing, at(6, role="assistant"), {(HEALING, (5, 6))}),
    (
        "a placeholder of a call that was answered",
        healing,
        repeated(4, 10, entry=8, turn_entry=6, behind=6, call_id="d"),
        {(ONCE, (9, 10)), (HEALING, (10, 11)), (ENTRIES, (10, 11))},
    ),
    ("a replacement of what is no placeholder", healing, at(7, entry=2), {(PLACEHOLDERS, (3, 7))}),
    ("a replacement of another call's placeholder", healing, at(7, entry=4), {(PLACEHOLDERS, (5, 7))}),
    (
        "a replacement twice",
        healing,
        repeated(7, 8),
        {(PLACEHOLDERS, (4, 8))},
    ),
    ("a replacement that was never added", healing, at(7, entry=70), {(ENTRIES, (7,))}),
    (
        "a replacement that is marked healed",
        healing,
        at(7, metadata={"tool_call_id": "a", "healed": True}),
        {(PLACEHOLDERS, (7,))},
    ),
    (
        "a replacement that answers another call",
        healing,
        at(7, metadata={"tool_call_id": "b"}),
        {(PLACEHOLDERS, (7,))},
    ),
    ("two results for an id", healing, repeated(9, 11, entry=9), {(ONCE, (9, 11))}),
    (
        "a result for a call with a placeholder",
        healing,
        at(9, metadata={"tool_call_id": "b"}),
        {(ONCE, (5, 9))},
    ),
    ("a turn recorded twice", healing, repeated(3, 10, entry=8), {(ONCE, (3, 10)), (ENTRIES, (10, 11))}),
    ("a turn under another's id", healing, call_at(8, "a"), {(ONCE, (3, 8))}),
    ("an entry evicted that is not there", sliding, at(10, evicted=[3, 4, 70]), {(ENTRIES, (10,))}),
    ("an entry evicted again", sliding, at(10, evicted=[2, 3, 4]), {(ENTRIES, (3, 10))}),
    ("entries evicted out of order", sliding, at(10, evicted=[4, 3]), {(ENTRIES, (10,))}),
    ("a turn evicted without its result", sliding, at(10, evicted=[3]), {(EVICTIONS, (4, 5, 10))}),
    ("a result evicted without its turn", sliding, at(10, evicted=[4]), {(EVICTIONS, (4, 5, 10))}),
    ("a system message evicted", sliding, at(8, evicted=[1, 2]), {(EVICTIONS, (2, 8))}),
    ("the newest user message evicted", sliding, at(10, evicted=[3, 4, 6]), {(EVICTIONS, (7, 10))}),
    ("an eviction of what the call added", sliding, at(10, evicted=[3, 4, 7]), {(EVICTIONS, (9, 10))}),
    ("an eviction without a window", sliding, at(1, window=None), {(EVICTIONS, (8,)), (EVICTIONS, (10,))}),
    (
        "an artifact delivered twice",
        pausing,
        at(11, delivered=["id-7", "id-1"]),
        {(ARTIFACTS, (8, 11))},
    ),
    (
        "an artifact lost in a take",
        pausing,
        at(7, taken=["id-1", "id-4"]),
        {(ARTIFACTS, (5, 7)), (ARTIFACTS, (5, 8))},
    ),
    (
        "an artifact lost when put back",
        pausing,
        at(5, held=["id-1", "id-4"]),
        {(ARTIFACTS, (5,)), (ARTIFACTS, (5, 7))},
    ),
    (
        "an artifact lost in a delivery",
        pausing,
        at(8, delivered=["id-1", "id-2", "id-6"]),
        {(ARTIFACTS, (7, 8))},
    ),
    ("an artifact lost when discarded", pausing, at(14, discarded=[]), {(ARTIFACTS, (13, 14))}),
    ("an artifact from nowhere", pausing, at(11, delivered=["id-7", "none"]), {(ARTIFACTS, (11,))}),
    (
        "a payload stored twice",
        pausing,
        at(9, held=[{"artifact_id": "id-1", **link(1)}]),
        {(ARTIFACTS, (2, 9)), (ARTIFACTS, (8, 10))},
    ),
    (
        "a held list out of order",
        pausing,
        at(5, held=["id-4", "id-1", "id-2"]),
        {(HELD_ORDER, (5,)), (HELD_ORDER, (7,))},
    ),
    (
        "a take out of order",
        pausing,
        at(7, taken=["id-2", "id-1", "id-4"]),
        {(HELD_ORDER, (7,)), (HELD_ORDER, (8,))},
    ),
    (
        "a delivery out of order",
        pausing,
        at(8, delivered=["id-6", "id-1", "id-2", "id-4"]),
        {(HELD_ORDER, (8,))},
    ),
    ("a take settled twice", pausing, repeated(14, 15), {(ARTIFACTS, (13, 14, 15)), (ARTIFACTS, (14, 15))}),
    (
        "a take taken twice",
        pausing,
        at(10, take_id="id-3"),
        {(ARTIFACTS, (3, 10)), (ARTIFACTS, (10, 11)), (ARTIFACTS, (11,))},
    ),
    (
        "a take that was never taken",
        pausing,
        at(14, take_id="x"),
        {(ARTIFACTS, (13, 14)), (ARTIFACTS, (14,))},
    ),
    (
        "a take settled for another run",
        pausing,
        envelope_at(11, execution_id="other"),
        {(ARTIFACTS, (10, 11))},
    ),
    (
        "a delivery elsewhere of no take",
        pausing,
        at(11, take_id=None),
        {(ARTIFACTS, (10, 11)), (ARTIFACTS, (11,))},
    ),
    ("a delivery on no entry", pausing, at(8, entry=5), {(ARTIFACTS, (8,))}),
    (
        "a put-back that drops what was taken",
        pausing,
        at(5, held=["id-1", "id-4"], refused=[{"artifact_id": "id-2", "reason": "no room"}]),
        {(ARTIFACTS, (2, 3, 5)), (ARTIFACTS, (5, 7))},
    ),
    ("entries left and no summary follows", compacting, without(12), {(COMPACTIONS, (11,))}),
    ("a summary for nothing", compacting, repeated(12, 13, entry=10), {(COMPACTIONS, (13,))}),
    ("a summary elsewhere", compacting, at(12, behind=6), {(COMPACTIONS, (11, 12))}),
    (
        "a summary behind no entry",
        compacting,
        at(12, behind=7),
        {(ENTRIES, (12,)), (COMPACTIONS, (11, 12))},
    ),
    ("a summary in an entry that is not new", compacting, at(12, entry=8), {(ENTRIES, (10, 12))}),
    ("a summary that answers a call", compacting, at(12, role="tool"), {(ENTRIES, (12,))}),
    (
        "a summary that declares a call",
        compacting,
        at(12, role="assistant", metadata={"tool_calls": [{"tool_call_id": "z", "name": "f"}]}),
        {(COMPACTIONS, (12,)), (ONCE, (12,))},
    ),
    ("an earlier summary stays", compacting, at(11, evicted=[4, 7]), {(COMPACTIONS, (7, 11))}),
    ("a turn with an open call left", compacting, at(11, evicted=[5, 4, 6, 7]), {(EVICTIONS, (8, 11))}),
    ("a call left without its result", compacting, at(6, evicted=[1, 2]), {(EVICTIONS, (3, 4, 6))}),
    ("a result left without its turn", retracting, without(6), {(RETRACTIONS, (4, 6))}),
    (
        "a retraction of what is not there",
        retracting,
        at(6, entry=9),
        {(ENTRIES, (6,)), (RETRACTIONS, (4, 7))},
    ),
    ("a retraction of what was taken back", retracting, repeated(7, 8), {(ENTRIES, (3, 8))}),
    ("a record kept twice", retracting, repeated(5, 6), {(ONCE, (5, 6))}),
    ("a clearing of nothing", retracting, repeated(10, 11), {(RETRACTIONS, (11,))}),
    ("a clearing that is gone", retracting, without(10), {(ONCE, (5, 10))}),
    ("a request of another version", requesting, at(5, of_version=2), {(REQUESTS, (5,))}),
    ("a request of a version to come", requesting, at(5, of_version=5), {(REQUESTS, (5,))}),
    ("a request of another list", requesting, at(5, digest="0" * 64), {(REQUESTS, (4, 5))}),
    ("what was sent is edited", requesting, at(2, content="no"), {(REQUESTS, (2, 3)), (REQUESTS, (4, 5))}),
    ("a fork of another event", forking, at(1, source_digest="0" * 64), {(ORIGIN, (1,))}),
    ("a fork of another version", forking, at(1, source_version=4), {(ORIGIN, (1,))}),
    ("a fork of a version to come", forking, at(1, source_version=40), {(ORIGIN, (1,))}),
    ("a fork of nobody", forking, at(1, source_id="nobody"), {(ORIGIN, (1,))}),
    ("a fork of itself", forking, at(1, source_id="c"), set()),
    ("a fork with other contents", forking, carried(0, content="no"), {(ORIGIN, (1,))}),
    ("a fork with other turns", forking, carried(0, turn_id="t9"), {(ORIGIN, (1,))}),
    ("a fork with other positions", forking, at(1, buffer=[1, 4, 2, 3]), {(ORIGIN, (1,))}),
    ("a fork without an entry", forking, at(1, buffer=[1, 2, 3]), {(ORIGIN, (1,))}),
    ("a fork with another window", forking, at(1, window=9), {(ORIGIN, (1,))}),
    ("a fork with another newest entry", forking, at(1, newest_user=4), {(ORIGIN, (1,))}),
    ("a fork with another delivery", forking, at(1, delivered=[]), {(ORIGIN, (1,))}),
    ("a second beginning", forking, repeated(1, 3), {(VERSIONS, (3,))}),
]


@pytest.mark.parametrize(
    ("history", "edit", "expected"),
    [pytest.param(*broken[1:], id=broken[0].replace(" ", "-")) for broken in BROKEN],
)
def test_what_is_broken_is_found_by_name_with_its_witnesses(
    tmp_path: Path, history: History, edit: Edit, expected: Found
) -> None:
    window = SLIDING_WINDOW if history is sliding else None
    sound = written(tmp_path / "store.db", history, window)
    assert found(sound) == set()
    broken = found(rewritten(sound, edit))
    assert expected <= broken
    # a log that fits its events no more may be one that no projection can be rebuilt from
    assert {invariant for invariant, _ in broken} <= {invariant for invariant, _ in expected} | {PROJECTIONS}


def test_an_event_of_an_unknown_topic_is_found_and_what_follows_is_still_checked(tmp_path: Path) -> None:
    def newer(rows: list[StoredRow]) -> None:
        rows[3].topic = "turnledger.CallForgotten"

    sound = written(tmp_path / "store.db", healing)
    broken = rewritten(sound, both(newer, envelope_at(10, time="2025-12-31T00:00:00Z")))
    assert found(broken) == {(DECODING, (4,)), (TIMES, (9, 10))}


def test_an_event_of_a_newer_schema_is_found(tmp_path: Path) -> None:
    sound = written(tmp_path / "store.db", healing)
    assert found(rewritten(sound, envelope_at(10, schema_number=99))) == {(DECODING, (10,))}


def test_garbage_in_a_row_is_found_there_and_in_the_chain(tmp_path: Path) -> None:
    sound = written(tmp_path / "store.db", healing)
    broken = executed(sound, "UPDATE stored_events SET state = ? WHERE originator_version = 7", b"{")
    assert found(broken) == {(DECODING, (7,)), (CHAIN, (7, 8))}


def test_an_edited_row_is_found_by_the_chain(tmp_path: Path) -> None:
    sound = written(tmp_path / "store.db", healing)
    edit = "UPDATE stored_events SET state = replace(CAST(state AS TEXT), 'found', 'faked')"
    assert found(executed(sound, f"{edit} WHERE originator_version = 7")) == {(CHAIN, (7, 8))}


def test_a_deleted_row_is_found(tmp_path: Path) -> None:
    sound = written(tmp_path / "store.db", healing)
    assert found(executed(sound, "DELETE FROM stored_events WHERE originator_version = 7")) == {
        (VERSIONS, (7,))
    }


def test_a_row_renumbered_far_away_is_found_without_counting_up_to_it(tmp_path: Path) -> None:
    sound = written(tmp_path / "store.db", healing)
    far = 2**61
    broken = executed(
        sound, f"UPDATE stored_events SET originator_version = {far} WHERE originator_version = 10"
    )
    assert found(broken) == {(VERSIONS, (10, far - 1)), (DECODING, (far,))}


def test_a_row_before_the_first_version_is_found(tmp_path: Path) -> None:
    sound = written(tmp_path / "store.db", healing)
    copied_row = "INSERT INTO stored_events SELECT originator_id, 0, topic, state FROM stored_events"
    assert found(executed(sound, f"{copied_row} WHERE originator_version = 2")) == {(VERSIONS, (0,))}


def test_a_row_copied_to_the_end_is_found(tmp_path: Path) -> None:
    sound = written(tmp_path / "store.db", healing)
    copied_row = "INSERT INTO stored_events SELECT originator_id, 11, topic, state FROM stored_events"
    assert found(executed(sound, f"{copied_row} WHERE originator_version = 9")) == {(DECODING, (11,))}


def test_two_rows_swapped_are_found(tmp_path: Path) -> None:
    sound = written(tmp_path / "store.db", healing)
    parked = executed(sound, "UPDATE stored_events SET originator_version = 80 WHERE originator_version = 8")
    half = executed(parked, "UPDATE stored_events SET originator_version = 8 WHERE originator_version = 9")
    broken = executed(half, "UPDATE stored_events SET originator_version = 9 WHERE originator_version = 80")
    assert found(broken) >= {(DECODING, (8,)), (DECODING, (9,))}


def test_the_row_of_another_conversation_is_found(tmp_path: Path) -> None:
    sound = written(tmp_path / "store.db", healing)
    broken = executed(sound, "UPDATE stored_events SET originator_id = 'other'")
    assert (DECODING, (1,)) in found(broken)


def test_a_damaged_conversation_keeps_no_other_from_being_audited(tmp_path: Path) -> None:
    path = written(tmp_path / "store.db", healing)
    with ConversationStore(path) as store:
        store.append("a", user())
        store.append("z", user())
    report = audited(executed(path, "UPDATE stored_events SET state = NULL WHERE originator_id = 'c'"))
    assert [(each.conversation_id, each.ok) for each in report.conversations] == [
        ("a", True),
        ("c", False),
        ("z", True),
    ]
    assert not report.ok


def test_a_key_used_by_two_calls_is_found(tmp_path: Path) -> None:
    def keyed(store: ConversationStore) -> None:
        store.append("c", user(), idempotency_key="k")
        store.append("c", user(), idempotency_key="l")

    sound = written(tmp_path / "store.db", keyed)
    assert found(rewritten(sound, envelope_at(3, idempotency_key="k"))) == {(ONCE, (1, 3))}


def test_an_eviction_that_lets_a_result_lead_before_its_turn_is_found(tmp_path: Path) -> None:
    def history(store: ConversationStore) -> None:
        for message in (said("first"), result("a"), turn("a"), user(), said()):
            store.append("c", message)

    def evict_the_first(rows: list[StoredRow]) -> None:
        envelope = {"version": 7, "time": rows[-1].envelope["time"], "batch": 6}
        rows.append(StoredRow("turnledger.EntriesEvicted", {"evicted": [1], "envelope": envelope}))

    sound = written(tmp_path / "store.db", history, window=5)
    broken = rewritten(sound, both(at(1, window=4), evict_the_first))
    assert found(broken) == {(EVICTIONS, (3, 7))}


def test_an_open_take_is_in_doubt_and_no_finding(tmp_path: Path) -> None:
    def history(store: ConversationStore) -> None:
        store.hold("c", "run", [link(1)])
        store.take("c", "run")

    report = audited(written(tmp_path / "store.db", history))
    assert report.ok
    assert report.conversations[0].in_doubt == ("id-2",)


def lying_buffer(store: ConversationStore) -> str:
    live = store._application.cached(CONVERSATION)
    assert live is not None
    live.buffer._order.reverse()
    return "buffer"


def lying_decisions(store: ConversationStore) -> str:
    live = store._application.cached(CONVERSATION)
    assert live is not None
    live.conversation.calls.answers.clear()
    return "decision state"


def lying_shelf(store: ConversationStore) -> str:
    live = store._application.cached(CONVERSATION)
    assert live is not None
    live.artifacts._delivered[1] = []
    return "list of artifacts"


@pytest.mark.parametrize("lie", [lying_buffer, lying_decisions, lying_shelf])
def test_a_cached_projection_that_differs_from_the_log_is_found(
    tmp_path: Path, lie: Callable[[ConversationStore], str]
) -> None:
    with ConversationStore(written(tmp_path / "store.db", healing)) as store:
        store.buffer("c")
        assert store.verify().ok
        what = lie(store)
        (finding,) = store.verify("c").findings
    assert (finding.invariant, finding.versions) == (PROJECTIONS, (10,))
    assert what in finding.message


def test_a_cache_that_has_not_caught_up_is_compared_at_its_own_version(tmp_path: Path) -> None:
    path = written(tmp_path / "store.db", healing)
    with ConversationStore(path) as store, ConversationStore(path) as other:
        store.buffer("c")
        other.append("c", user())
        assert store.verify().ok
        lying_buffer(store)
        assert [(f.invariant, f.versions) for f in store.verify().findings] == [(PROJECTIONS, (10,))]


def test_events_that_vanish_from_under_a_cache_are_found(tmp_path: Path) -> None:
    path = written(tmp_path / "store.db", healing)
    with ConversationStore(path) as store:
        store.buffer("c")
        with store._application.recorder.datastore.writing(store._application.deadline()) as log:
            log.execute("DELETE FROM stored_events WHERE originator_version = 10")
        assert [(f.invariant, f.versions) for f in store.verify().findings] == [(PROJECTIONS, (10,))]


def test_a_list_that_is_not_sendable_is_found_at_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auditing.Rebuilt, "sendable", lambda self: [m for _, m in self.buffer()][::-1])
    monkeypatch.setattr(auditing.Rebuilt, "growing", lambda self: ([], [], [], self.sendable()))
    broken = found(written(tmp_path / "store.db", sliding, SLIDING_WINDOW))
    assert {invariant for invariant, _ in broken} == {SENDABLE}
    assert (SENDABLE, (3,)) in broken


def test_in_a_long_history_the_turn_that_an_event_touched_is_judged_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnledger.projections.audit.lists.ListChecks.AT_FIRST", 0)
    monkeypatch.setattr(auditing.Rebuilt, "unsettled", lambda self: 1_000)
    monkeypatch.setattr(auditing.Rebuilt, "normalized", lambda self, messages: list(messages)[1:])

    def history(store: ConversationStore) -> None:
        store.append("c", [*([said()] * 50), turn("a"), result("a")])

    broken = found(written(tmp_path / "store.db", history))
    assert {invariant for invariant, _ in broken} == {SENDABLE}
    assert (SENDABLE, (52, 53)) in broken


def test_a_buffer_in_another_order_than_the_events_say_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auditing.Rebuilt, "buffer", lambda self: [])
    assert found(written(tmp_path / "store.db", healing)) == {(PROJECTIONS, (2,))}


@pytest.mark.parametrize("view", ["held", "open_takes", "wire"])
def test_a_view_of_artifacts_that_shows_another_place_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, view: str
) -> None:
    monkeypatch.setattr(auditing.Rebuilt, view, lambda self: {"run": ["id-1"]})
    assert found(written(tmp_path / "store.db", pausing)) == {(PROJECTIONS, (14,))}


def test_a_decision_that_records_what_is_known_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = written(tmp_path / "store.db", healing)
    monkeypatch.setattr("turnledger.domain.appending.is_repeat", lambda identities: False)
    assert found(sound) == {(ONCE, (3,)), (ONCE, (8,))}


def test_an_unknown_conversation_is_refused(tmp_path: Path) -> None:
    with ConversationStore(written(tmp_path / "store.db", healing)) as store:
        with pytest.raises(ConversationNotFound):
            store.verify("nobody")
        with pytest.raises(InvalidId):
            store.verify("")


def test_progress_is_told_of_each_conversation_as_it_is_done(tmp_path: Path) -> None:
    told: list[AuditedConversation] = []
    with ConversationStore(tmp_path / "store.db") as store:
        store.append("a", user())
        store.append("b", [user(), said()])
        report = store.verify(progress=told.append)
    assert tuple(told) == report.conversations
    assert [(each.conversation_id, each.version, each.entries) for each in told] == [("a", 2, 1), ("b", 3, 2)]


def test_an_audit_writes_nothing(tmp_path: Path) -> None:
    path = written(tmp_path / "store.db", pausing)
    before = path.read_bytes()
    audited(path)
    assert path.read_bytes() == before


def test_every_invariant_is_broken_by_some_test() -> None:
    broken = {invariant for *_, expected in BROKEN for invariant, _ in expected}
    assert set(INVARIANTS) - broken == {CHAIN, DECODING, SENDABLE, PROJECTIONS, ANCHORS} - broken


@pytest.mark.parametrize(
    ("source", "mode"), [(DATA, "compare"), (DATA, "distinct"), (DATA, "drop"), (SHARED, "compare")]
)
def test_recorded_conversations_appended_message_by_message_give_no_finding(
    tmp_path: Path, source: Path, mode: Any
) -> None:
    if not source.exists():
        pytest.skip(f"the recorded conversations are not here: {source.name}")
    with ConversationStore(tmp_path / "store.db", durability="normal", reused_ids=mode) as store:
        for number, line in enumerate(source.read_text().splitlines()):
            for message in json.loads(line)["messages"]:
                store.append(f"airline-{number}", message)
        assert store.verify().findings == ()


MADE = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@MADE
@given(strategies.histories(), st.sampled_from([None, 2, 4]), st.sampled_from([2, 100]))
def test_whatever_is_done_through_the_face_gives_no_finding(
    calls: list[tuple[str, dict[str, Any]]], window: int | None, held_most: int
) -> None:
    with (
        warnings.catch_warnings(action="ignore"),
        ConversationStore(
            ":memory:", window=window, held_limits=HeldLimits(held_most), new_id=counting()
        ) as store,
    ):
        for number, (method, given_) in enumerate(calls):
            getattr(store, method)("c", **given_)
            if number % 3 == 1:
                settle_a_take(store, number)
        assert store.verify().findings == ()


def settle_a_take(store: ConversationStore, number: int) -> None:
    if not any(each.conversation_id == "c" for each in store.conversations()):
        return
    take = store.take("c", "e1")
    store.hold("c", "e1", [link(number)])
    if number % 2:
        store.put_back("c", take)
    elif number % 3:
        store.confirm("c", take)


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([{"role": "tool", "content": "", "tool_call_id": "a"}], "does not wait for"),
        ([{"role": "assistant", "content": "", "tool_calls": []}], "no list of calls"),
        (
            [{"role": "assistant", "content": "", "tool_calls": [{"tool_call_id": "a", "name": "f"}]}],
            "no result",
        ),
        ([{"role": "user", "content": ""}, {"role": "system", "content": ""}], "behind others"),
        ([{"role": "user", "content": "\ud800"}], "does not encode"),
        ([{"role": "user", "content": None}], "no text"),
        ([{"role": "narrator", "content": ""}], "its role"),
    ],
)
def test_the_judge_refuses_what_providers_refuse(messages: list[dict[str, Any]], reason: str) -> None:
    assert reason in (unsendable(messages) or "")
