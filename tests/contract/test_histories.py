"""Old logs stay readable for ever: rows as each format version wrote them, and what views make of them."""

import json
import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from tests.histories import record
from turnledger import ConversationStore
from turnledger.domain.events import TOPICS

FOLDERS = sorted(
    folder for folder in record.HERE.iterdir() if folder.is_dir() and folder.name.startswith("v")
)


def recorded(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "everything.rows.jsonl").read_text().split("\n") if line]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_recorded_log_shows_the_same_at_every_version(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    ConversationStore(path).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany(
            "INSERT INTO stored_events VALUES (:conversation_id, :version, :topic, CAST(:state AS BLOB))",
            recorded(folder),
        )
    assert json.loads(json.dumps(record.shown(path))) == json.loads(
        (folder / "everything.shown.json").read_text()
    )
    with ConversationStore(path) as store:
        assert store.verify().ok


def test_the_newest_recording_holds_every_kind_of_event() -> None:
    assert {row["topic"] for row in recorded(FOLDERS[-1])} >= set(TOPICS)


def test_each_recording_goes_on_where_the_one_before_ended() -> None:
    """So the events of one format are those of the next, to the byte."""
    for earlier, later in pairwise(FOLDERS):
        assert all(row in recorded(later) for row in recorded(earlier))


def test_the_same_story_is_recorded_in_the_same_bytes_today(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    record.everything(path)
    assert record.rows(path) == recorded(FOLDERS[-1])
