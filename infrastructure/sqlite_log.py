"""The log in an SQLite file, as one connection sees it: its rows, its segments, and the moment of a look."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from eventsourcing.persistence import StoredEvent
from eventsourcing.sqlite import SQLiteConnection

from turnledger.infrastructure.faults import Locked, error_of
from turnledger.infrastructure.log import (
    VERSION_MAX,
    Deadline,
    Overtaken,
    Parcel,
    having,
    pattern_of,
)


class Mark(NamedTuple):
    """A moment of the log, as one connection sees it."""

    connection: sqlite3.Connection
    data_version: int

    @property
    def caught_up(self) -> "Mark":
        return self


class Log:
    """The rows of the log, as one connection sees them."""

    def __init__(self, connection: SQLiteConnection, place: str, deadline: Deadline) -> None:
        self._connection = connection._sqlite_conn
        self._place = place
        self._deadline = deadline

    def execute(self, statement: str, parameters: Sequence[object] = ()) -> list[Any]:
        """Runs one statement and fetches all, again and again while it is locked, until the deadline."""
        while True:
            try:
                return self._connection.execute(statement, parameters).fetchall()
            except sqlite3.Error as error:
                self._wait_if_locked(error)

    def execute_many(self, statement: str, parameters: Sequence[Sequence[object]]) -> int:
        """Runs one statement for each set of parameters; for several a transaction is to be open.

        Gives the number of rows that it changed.
        """
        while True:
            try:
                return self._connection.executemany(statement, parameters).rowcount
            except sqlite3.Error as error:
                self._wait_if_locked(error)

    def _wait_if_locked(self, error: sqlite3.Error) -> None:
        """Raises what the error means, unless it is worth another try."""
        if isinstance(error, sqlite3.IntegrityError):
            raise Overtaken from error
        meaning = error_of(error, self._place)
        if not isinstance(meaning, Locked):
            raise meaning from error
        self._deadline.pause(self._place)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A write transaction; what raises in it is rolled back when the connection is given back."""
        self.execute("BEGIN IMMEDIATE")
        yield
        self.execute("COMMIT")

    def rows(
        self, conversation_id: str, *, after: int = 0, to: int | None = None, limit: int = -1
    ) -> list[StoredEvent]:
        """The rows of a conversation behind version `after`, up to `to`, in order."""
        return self.stored(
            conversation_id,
            "SELECT originator_version, topic, CAST(state AS BLOB) FROM stored_events WHERE originator_id = ?"
            " AND originator_version > ? AND originator_version <= ? ORDER BY originator_version LIMIT ?",
            (
                conversation_id,
                min(after, VERSION_MAX),
                VERSION_MAX if to is None else min(to, VERSION_MAX),
                limit,
            ),
        )

    def stored(self, conversation_id: str, statement: str, parameters: Sequence[object]) -> list[StoredEvent]:
        """The rows of a conversation that a statement selects: version, topic, state."""
        found = self.execute(statement, parameters)
        return [StoredEvent(conversation_id, version, topic, state or b"") for version, topic, state in found]

    def mark(self, conversation_id: str, version: int) -> "Mark":
        """What stays equal for as long as nobody else has written: not even to look is needed then.

        What this very connection commits does not change it.
        """
        return Mark(self._connection, self.execute("PRAGMA data_version")[0][0])

    def has(self, conversation_id: str, version: int) -> bool:
        """Whether a conversation has an event of that version."""
        return bool(
            self.execute(
                "SELECT 1 FROM stored_events WHERE originator_id = ? AND originator_version = ?",
                (conversation_id, version),
            )
        )

    def version(self, conversation_id: str) -> int:
        """The version of a conversation, 0 for none; a row whose version is no number counts for nothing."""
        found = self.execute(
            "SELECT MAX(originator_version) FROM stored_events WHERE originator_id = ?"
            " AND originator_version <= ?",
            (conversation_id, VERSION_MAX),
        )
        return found[0][0] or 0

    def rows_of(self, conversation_id: str, topic: str, *, after: int = 0) -> list[StoredEvent]:
        """The rows of a conversation behind version `after` that have one topic, in order."""
        found = self.execute(
            "SELECT originator_version, CAST(state AS BLOB) FROM stored_events WHERE originator_id = ?"
            " AND topic = ? AND originator_version > ? ORDER BY originator_version",
            (conversation_id, topic, min(after, VERSION_MAX)),
        )
        return [StoredEvent(conversation_id, version, topic, state or b"") for version, state in found]

    def rows_saying(self, conversation_id: str, topics: Sequence[str], text: str) -> list[StoredEvent]:
        """The rows of these topics that may hold a text: SQLite passes over those that cannot."""
        marks = ",".join("?" * len(topics))
        return self.stored(
            conversation_id,
            "SELECT originator_version, topic, CAST(state AS BLOB) FROM stored_events WHERE originator_id = ?"
            f" AND topic IN ({marks}) AND CAST(state AS TEXT) LIKE ? ESCAPE '\\'",
            (conversation_id, *topics, pattern_of(text)),
        )

    def counted(self, conversation_id: str, topics: Sequence[str], *, after: int = 0) -> int:
        """How many rows of these topics a conversation has behind version `after`."""
        marks = ",".join("?" * len(topics))
        found = self.execute(
            f"SELECT COUNT(*) FROM stored_events WHERE originator_id = ? AND topic IN ({marks})"
            " AND originator_version > ?",
            (conversation_id, *topics, min(after, VERSION_MAX)),
        )
        return int(found[0][0])

    def row_bytes(self, conversation_id: str, to: int) -> tuple[int, int]:
        """How many rows there are up to a version, and their bytes; the payloads are not read for it."""
        found = self.execute(
            "SELECT COUNT(*), SUM(LENGTH(topic) + LENGTH(state)) FROM stored_events WHERE originator_id = ?"
            " AND originator_version <= ?",
            (conversation_id, to),
        )
        return found[0][0], found[0][1] or 0

    def conversation_ids(self, after: str | None, limit: int, topic: str | None = None) -> list[str]:
        """The ids of conversations behind `after`, in their order; with `topic` of those that have one."""
        found = self.execute(
            f"SELECT DISTINCT originator_id FROM stored_events WHERE originator_id > ?{having(topic)}"
            " ORDER BY originator_id LIMIT ?",
            ("" if after is None else after, limit),
        )
        return [row[0] for row in found]

    def keep(self, conversation_id: str, parcels: Sequence[Parcel]) -> None:
        """Writes segments, in a transaction that is open; one that is there already is the same."""
        for parcel in parcels:
            self.execute(
                "INSERT OR REPLACE INTO buffer_segments VALUES (?,?,?,?,?,?,?)", (conversation_id, *parcel)
            )

    def kept(self, conversation_id: str, to: int | None = None) -> list[Parcel]:
        """The segments up to a version, as they are kept; damaged ones too."""
        found = self.execute(
            "SELECT CAST(version AS INTEGER), format, digest, row_bytes, checksum, CAST(changes AS BLOB)"
            " FROM buffer_segments WHERE conversation_id = ? AND version <= ? ORDER BY version",
            (conversation_id, VERSION_MAX if to is None else min(to, VERSION_MAX)),
        )
        return [Parcel(row[0] or 0, row[1], row[2], row[3], row[4], row[5] or b"") for row in found]
