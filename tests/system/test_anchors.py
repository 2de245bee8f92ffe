"""Tamper evidence: what an anchor kept elsewhere shows, and, said plainly, what nothing shows without one."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from eventsourcing.persistence import StoredEvent

from tests.histories import record
from tests.system.histories import forking, healing, requesting, user, written
from tests.system.tampering import StoredRow, copied, executed, rewritten
from turnledger import ConversationNotFound, ConversationStore, Finding, Head, InvalidArgument
from turnledger.domain.events import TOPICS
from turnledger.infrastructure.mapper import ConversationMapper
from turnledger.projections.audit.report import ANCHORS, CHAIN, ORIGIN, VERSIONS

LAST = 10
"""The last version of the history `healing`, where its head was anchored."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return written(tmp_path / "store.db", healing)


def head(path: Path, conversation_id: str = "c") -> Head:
    with ConversationStore(path) as store:
        return store.head(conversation_id)


def findings(path: Path, *anchors: Any) -> tuple[Finding, ...]:
    with ConversationStore(path) as store:
        return store.verify(anchors=anchors).findings


def found(path: Path, *anchors: Any) -> set[tuple[str, tuple[int, ...]]]:
    return {(finding.invariant, finding.versions) for finding in findings(path, *anchors)}


def test_a_head_is_the_version_and_the_digest_that_the_next_event_holds(path: Path) -> None:
    with ConversationStore(path) as store:
        before = store.head("c")
        store.append("c", user())
        newest = list(store.events("c"))[-1]
        assert (before.conversation_id, before.version) == ("c", LAST)
        assert newest.previous == before.digest
        assert store.head("c").digest != before.digest
        with pytest.raises(ConversationNotFound):
            store.head("nobody")


def test_a_log_that_only_grew_holds_all_its_anchors(path: Path) -> None:
    anchors = [head(path)]
    with ConversationStore(path) as store:
        store.append("c", user())
        anchors.append(store.head("c"))
        store.append("c", user())
        assert store.verify(anchors=anchors).ok
        assert store.verify("c", anchors=anchors).ok


def test_an_anchor_is_read_from_its_json_form(path: Path) -> None:
    anchor = head(path)
    kept = json.loads(
        json.dumps(
            {"conversation_id": anchor.conversation_id, "version": anchor.version, "digest": anchor.digest}
        )
    )
    assert found(path, kept) == set()
    assert found(path, {**kept, "digest": "0" * 64}) == {(ANCHORS, (LAST,))}


def a_byte_of_the_last_event_flipped(path: Path) -> Path:
    return executed(
        path,
        "UPDATE stored_events SET state = CAST(replace(CAST(state AS TEXT), 'done', 'dona') AS BLOB)"
        " WHERE originator_id = 'c' AND originator_version = 10",
    )


def the_last_event_dropped(path: Path) -> Path:
    return executed(path, "DELETE FROM stored_events WHERE originator_id = 'c' AND originator_version = 10")


def the_whole_chain_rewritten(path: Path) -> Path:
    def edit(rows: list[StoredRow]) -> None:
        rows[1].data["content"] = "I never said that"

    return rewritten(path, edit)


def an_event_left_out_and_the_chain_rewritten(path: Path) -> Path:
    def edit(rows: list[StoredRow]) -> None:
        del rows[9]
        rows.append(StoredRow(rows[1].topic, json.loads(json.dumps(rows[1].data))))
        rows[9].data.update(entry=99, role="assistant")
        rows[9].envelope.update(batch=-9, time=rows[8].envelope["time"])

    return rewritten(path, edit)


def the_conversation_removed(path: Path) -> Path:
    return executed(path, "DELETE FROM stored_events WHERE originator_id = 'c'")


def two_questions_swapped_and_the_chain_rewritten(path: Path) -> Path:
    def edit(rows: list[StoredRow]) -> None:
        rows[1].data["content"], rows[5].data["content"] = "later", "sooner"

    return rewritten(path, edit)


UNSEEN = [
    a_byte_of_the_last_event_flipped,
    the_last_event_dropped,
    the_whole_chain_rewritten,
    an_event_left_out_and_the_chain_rewritten,
    two_questions_swapped_and_the_chain_rewritten,
    the_conversation_removed,
]


@pytest.mark.parametrize("tampering", UNSEEN)
def test_what_no_chain_shows_by_itself_an_anchor_shows(tampering: Callable[[Path], Path], path: Path) -> None:
    """Without an anchor each of these leaves a log that is sound in itself: nothing can tell."""
    anchor = head(path)
    broken = tampering(path)
    assert found(broken) == set()
    assert {invariant for invariant, _ in found(broken, anchor)} == {ANCHORS}


def test_what_was_cut_off_is_said_to_be(path: Path) -> None:
    anchor = head(path)
    (finding,) = findings(the_last_event_dropped(path), anchor)
    assert finding.message == "the log ends at version 9: version 10 was anchored, and is cut off"
    (finding,) = findings(the_conversation_removed(path), anchor)
    assert "is not in this store" in finding.message
    with ConversationStore(copied(path)) as store:
        store.append("other", user())
        (finding,) = store.verify("gone", anchors=[Head("gone", 3, "0" * 64)]).findings
        assert finding.conversation_id == "gone"
        assert store.verify("other", anchors=[Head("gone", 3, "0" * 64)]).ok


def test_an_earlier_anchor_vouches_for_what_came_before_it_and_for_no_more(path: Path) -> None:
    with ConversationStore(path) as store:
        rows = list(store._application.rows("c"))
        digest = list(store.events("c"))[4].previous
        early = Head("c", 4, digest)
        assert len(rows) == LAST
    assert found(path, early) == set()
    assert found(a_byte_of_the_last_event_flipped(path), early) == set()
    assert found(the_whole_chain_rewritten(path), early) == {(ANCHORS, (4,))}


def test_an_edit_that_left_the_chain_alone_is_seen_without_an_anchor(path: Path) -> None:
    edited = executed(
        path,
        "UPDATE stored_events SET state = CAST(replace(CAST(state AS TEXT), 'go on', 'go off') AS BLOB)"
        " WHERE originator_id = 'c' AND originator_version = 2",
    )
    assert found(edited) == {(CHAIN, (2, 3))}
    removed = executed(path, "DELETE FROM stored_events WHERE originator_id = 'c' AND originator_version = 5")
    assert (VERSIONS, (5,)) in found(removed)


def test_a_fork_is_an_anchor_of_its_source(tmp_path: Path) -> None:
    sound = written(tmp_path / "store.db", forking)
    assert found(sound) == set()
    cut_off = executed(
        sound,
        "DELETE FROM stored_events WHERE originator_id = 'source' AND originator_version ="
        " (SELECT MAX(originator_version) FROM stored_events WHERE originator_id = 'source')",
    )
    assert found(cut_off) == {(ORIGIN, (1,))}


def test_a_recorded_request_shows_a_chain_that_was_rewritten_before_it(tmp_path: Path) -> None:
    def edit(rows: list[StoredRow]) -> None:
        rows[1].data["content"] = "I never said that"

    rewritten_path = rewritten(written(tmp_path / "store.db", requesting), edit)
    assert {finding.invariant for finding in findings(rewritten_path)} == {"requests read as they were sent"}


def test_no_event_can_be_taken_for_one_of_another_kind(tmp_path: Path) -> None:
    """The digest is over the bytes of an event, and not over its topic: these must not fit another."""
    record.everything(tmp_path / "all.db")
    mapper = ConversationMapper()
    with closing(sqlite3.connect(tmp_path / "all.db")) as database:
        stored = database.execute("SELECT originator_id, originator_version, topic, state FROM stored_events")
        rows = list(stored)
    assert {topic for _, _, topic, _ in rows} == set(TOPICS)
    for conversation_id, version, topic, state in rows:
        for other in TOPICS.keys() - {topic}:
            with pytest.raises(ValueError, match=r"."):
                mapper.decoded(StoredEvent(conversation_id, version, other, state))


@pytest.mark.parametrize(
    "anchors",
    [
        "c",
        {"conversation_id": "c"},
        [{"conversation_id": "c", "version": 1}],
        [{"conversation_id": "c", "version": 0, "digest": "0" * 64}],
        [{"conversation_id": "c", "version": True, "digest": "0" * 64}],
        [{"conversation_id": "c", "version": 1, "digest": "0"}],
        [{"conversation_id": "", "version": 1, "digest": "0" * 64}],
        [7],
        7,
    ],
)
def test_what_is_no_anchor_is_refused(anchors: Any, path: Path) -> None:
    with ConversationStore(path) as store, pytest.raises(InvalidArgument):
        store.verify(anchors=anchors)
