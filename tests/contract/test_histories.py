"""Old logs stay readable for ever: rows as each format version wrote them, and what views make of them."""

import json
import sqlite3
from contextlib import closing
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any, cast

import pytest

from tests.histories import record
from turnledger import ConversationStore
from turnledger.domain.events import TOPICS, RequestRecorded
from turnledger.projections.providers import RENDERINGS

FOLDERS = sorted(
    folder for folder in record.HERE.iterdir() if folder.is_dir() and folder.name.startswith("v")
)


def recorded(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "everything.rows.jsonl").read_text().split("\n") if line]


def as_rendered_today(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows before the first request under a rendering of another number than today's.

    Its digest is another, and with it everything that is chained to it; so a raised number asks for another
    recording.
    """
    return list(takewhile(lambda row: not is_rendered_otherwise(row), rows))


def is_rendered_otherwise(row: dict[str, Any]) -> bool:
    event = json.loads(row["state"])
    known = RENDERINGS[event.get("provider")] if row["topic"] == RequestRecorded.TOPIC else None
    return known is not None and event["rendering"] != known


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
        assert all(row in recorded(later) for row in as_rendered_today(recorded(earlier)))


def test_the_same_story_is_recorded_in_the_same_bytes_today(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    record.everything(path)
    same = as_rendered_today(recorded(FOLDERS[-1]))
    assert record.rows(path)[: len(same)] == same


@pytest.mark.parametrize("provider", [None, "openai-chat"])
def test_a_rendering_of_another_number_is_no_damage_to_an_old_log(
    provider: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(cast("dict[str | None, int]", RENDERINGS), provider, 1_000)
    newest = recorded(FOLDERS[-1])
    rest = newest[len(as_rendered_today(newest)) :]
    assert json.loads(rest[0]["state"]).get("provider") == provider
    test_a_recorded_log_shows_the_same_at_every_version(FOLDERS[-1], tmp_path)
    test_the_same_story_is_recorded_in_the_same_bytes_today(tmp_path)
