"""Logs broken on purpose: a copy of a store whose rows were edited, and chained anew to hide it."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

CONVERSATION = "c"


@dataclass
class StoredRow:
    """One row, its bytes as the JSON that they hold."""

    topic: str
    data: dict[str, Any]

    @property
    def envelope(self) -> dict[str, Any]:
        envelope: dict[str, Any] = self.data["envelope"]
        return envelope


Edit = Callable[[list[StoredRow]], None]


def rewritten(store_path: Path, edit: Edit) -> Path:
    """A copy whose rows were edited, numbered and chained anew: everything fits but what the edit broke.

    The rows stand at their version - 1. What an edit moves, or puts in, gets the version of its new place.
    """
    copy = copied(store_path)
    with closing(sqlite3.connect(copy)) as database, database:
        found = database.execute(
            "SELECT topic, CAST(state AS BLOB) FROM stored_events WHERE originator_id = ?"
            " ORDER BY originator_version",
            (CONVERSATION,),
        )
        rows = [StoredRow(topic, json.loads(state)) for topic, state in found]
        edit(rows)
        database.execute("DELETE FROM stored_events WHERE originator_id = ?", (CONVERSATION,))
        database.executemany(
            "INSERT INTO stored_events (originator_id, originator_version, topic, state) VALUES (?, ?, ?, ?)",
            [(CONVERSATION, version, row.topic, state) for version, row, state in _chained(rows)],
        )
    return copy


def _chained(rows: list[StoredRow]) -> list[tuple[int, StoredRow, bytes]]:
    _renumber(rows)
    chained, previous = [], ""
    for version, row in enumerate(rows, 1):
        row.envelope.pop("previous", None)
        if previous:
            row.envelope["previous"] = previous
        state = json.dumps(row.data).encode()
        chained.append((version, row, state))
        previous = sha256(state).hexdigest()
    return chained


def _renumber(rows: list[StoredRow]) -> None:
    """A call's first event is the first that is left of it."""
    begins: dict[int, int] = {}
    for version, row in enumerate(rows, 1):
        batch = row.envelope.get("batch", row.envelope["version"])
        row.envelope["batch"] = begins.setdefault(batch, version)
        row.envelope["version"] = version


def executed(store_path: Path, statement: str, *parameters: Any) -> Path:
    """A copy on which one statement of SQL was run, and nothing mended behind it."""
    copy = copied(store_path)
    with closing(sqlite3.connect(copy)) as database, database:
        assert database.execute(statement, parameters).rowcount
    return copy


def copied(store_path: Path) -> Path:
    copy = store_path.with_name(f"{store_path.stem}-broken.db")
    with closing(sqlite3.connect(store_path)) as whole, closing(sqlite3.connect(copy)) as database:
        whole.backup(database)
    return copy
