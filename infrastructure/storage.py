"""One SQLite file as the log: its settings, its connections, its transactions.

eventsourcing's recorder keeps the table; what is ours is the lock timeout in fractions of a second, the
durability, a decision inside the write transaction, and errors that name the store.
"""

import os
import random
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from eventsourcing.persistence import StoredEvent
from eventsourcing.sqlite import (
    SQLiteApplicationRecorder,
    SQLiteConnection,
    SQLiteConnectionPool,
    SQLiteDatastore,
    SQLiteFactory,
)

from turnledger.domain.errors import NewerLog, NotAStore, StoreNotFound, StoreUnwritable
from turnledger.infrastructure.faults import Locked, busy, translated

APPLICATION_ID = 0x544C4752  # "TLGR", in the file's header
FORMAT = 1
SYNCHRONOUS = {"full": "FULL", "normal": "NORMAL"}
STATEMENTS_CACHED = 64
_PAUSE_S = (0.0005, 0.004)


@dataclass(frozen=True, slots=True)
class Location:
    """Where a store is, and how it may be opened."""

    path: Path | None
    create: bool = True
    read_only: bool = False
    synchronous: str = "FULL"
    timeout_s: float = 5.0

    @property
    def place(self) -> str:
        return str(self.path) if self.path else ":memory:"


class Deadline:
    """The end of one call's patience, retries included."""

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._end = time.monotonic() + timeout_s

    @property
    def left_s(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def pause(self, place: str) -> None:
        """A short wait before another try; raises `StoreBusy` where there is no time for one.

        SQLite's own busy handler waits up to 0.1 s a try, so that busy writers starve the others.
        """
        if not self.left_s:
            raise busy(place, self.timeout_s)
        time.sleep(min(self.left_s, random.uniform(*_PAUSE_S)))


class ConversationPool(SQLiteConnectionPool):
    """Connections with our settings; a memory store lives in one shared cache, where writers exclude readers."""

    def __init__(self, location: Location) -> None:
        self.location = location
        name = f"file:{uuid4().hex}?mode=memory&cache=shared" if location.path is None else str(location.path)
        if location.path is not None and location.read_only:
            name = f"{location.path.as_uri()}?{_read_only_mode(location.path)}"
        super().__init__(db_name=name, pool_timeout=location.timeout_s)

    def _create_connection(self) -> SQLiteConnection:
        connection = sqlite3.connect(
            self.db_name,
            uri=True,
            check_same_thread=False,
            isolation_level=None,
            cached_statements=STATEMENTS_CACHED,
            timeout=0,
        )
        try:
            connection.execute(f"PRAGMA synchronous={self.location.synchronous}")
        except sqlite3.Error:
            connection.close()
            raise
        return SQLiteConnection(connection, max_age=None)


def _read_only_mode(path: Path) -> str:
    """A cleanly closed store in a folder that cannot be written has no lock files, and can get none."""
    wal = path.with_name(path.name + "-wal")
    return "mode=ro" if wal.exists() or _writable(path.parent) else "mode=ro&immutable=1"


def _writable(folder: Path) -> bool:
    return os.access(folder, os.W_OK)


class ConversationDatastore(SQLiteDatastore):
    """Transactions on one store. Writers of one process queue here, and meet the others at the file."""

    def __init__(self, location: Location) -> None:
        super().__init__("", originator_id_type="text")
        self.location = location
        self.pool = ConversationPool(location)
        self._in_memory = location.path is None
        self._writing = threading.Lock()

    @contextmanager
    def connected(self, deadline: Deadline, *, is_writer: bool) -> Iterator[SQLiteConnection]:
        with translated(self.location.place):
            connection = self.pool.get_connection(
                deadline.left_s, is_writer=is_writer if self._in_memory else None
            )
        try:
            yield connection
        finally:
            if not self.pool.closed:
                self.pool.put_connection(connection)

    @contextmanager
    def reading(self, deadline: Deadline) -> Iterator["Log"]:
        with self.connected(deadline, is_writer=False) as connection:
            yield Log(connection, self.location.place, deadline)

    @contextmanager
    def writing(self, deadline: Deadline) -> Iterator["Log"]:
        """A write transaction from its first moment: what is read in it is what is decided on."""
        if not self._writing.acquire(timeout=deadline.left_s):
            raise busy(self.location.place, deadline.timeout_s)
        try:
            with self.connected(deadline, is_writer=True) as connection:
                log = Log(connection, self.location.place, deadline)
                log.execute("BEGIN IMMEDIATE")
                try:
                    yield log
                    with translated(self.location.place):
                        connection.commit()
                except BaseException:
                    _roll_back(connection)
                    raise
        finally:
            self._writing.release()


def _roll_back(connection: SQLiteConnection) -> None:
    try:
        connection.rollback()
    except sqlite3.Error:
        connection.close()


class Log:
    """The rows of the log, as one connection sees them."""

    def __init__(self, connection: SQLiteConnection, place: str, deadline: Deadline) -> None:
        self._connection = connection._sqlite_conn
        self._place = place
        self._deadline = deadline

    def execute(self, statement: str, parameters: Sequence[object] = ()) -> sqlite3.Cursor:
        """Runs one statement, again and again while the database is locked, until the deadline."""
        while True:
            try:
                with translated(self._place):
                    return self._connection.execute(statement, parameters)
            except Locked:
                self._deadline.pause(self._place)

    def rows(
        self, conversation_id: str, *, after: int = 0, to: int | None = None, limit: int = -1
    ) -> list[StoredEvent]:
        """The rows of a conversation behind version `after`, up to `to`, in order."""
        found = self.execute(
            "SELECT originator_version, topic, CAST(state AS BLOB) FROM stored_events WHERE originator_id = ?"
            " AND originator_version > ? AND originator_version <= ? ORDER BY originator_version LIMIT ?",
            (conversation_id, after, 2**62 if to is None else to, limit),
        )
        with translated(self._place):
            return [
                StoredEvent(conversation_id, version, topic, state or b"") for version, topic, state in found
            ]

    def version(self, conversation_id: str) -> int:
        row = self.execute(
            "SELECT MAX(originator_version) FROM stored_events WHERE originator_id = ?", (conversation_id,)
        ).fetchone()
        return row[0] or 0

    def rows_of(self, conversation_id: str, topic: str) -> list[StoredEvent]:
        """The rows of a conversation that have one topic, in order."""
        found = self.execute(
            "SELECT originator_version, CAST(state AS BLOB) FROM stored_events WHERE originator_id = ?"
            " AND topic = ? ORDER BY originator_version",
            (conversation_id, topic),
        )
        with translated(self._place):
            return [StoredEvent(conversation_id, version, topic, state or b"") for version, state in found]

    def counted(self, conversation_id: str, topics: Sequence[str]) -> int:
        """How many rows of these topics a conversation has."""
        marks = ",".join("?" * len(topics))
        row = self.execute(
            f"SELECT COUNT(*) FROM stored_events WHERE originator_id = ? AND topic IN ({marks})",
            (conversation_id, *topics),
        ).fetchone()
        return int(row[0])

    def conversation_ids(self, after: str | None, limit: int, topic: str | None = None) -> list[str]:
        """The ids of conversations behind `after`, in their order; with `topic` of those that have one."""
        found = self.execute(
            "SELECT DISTINCT originator_id FROM stored_events WHERE originator_id > ?1"
            " AND (?2 IS NULL OR topic = ?2) ORDER BY originator_id LIMIT ?3",
            ("" if after is None else after, topic, limit),
        )
        with translated(self._place):
            return [row[0] for row in found]


class ConversationRecorder(SQLiteApplicationRecorder):
    """eventsourcing's recorder and table, in a transaction that is already open."""

    datastore: ConversationDatastore

    def insert(self, log: Log, rows: Sequence[StoredEvent]) -> None:
        """Inserts rows; `sqlite3.IntegrityError` says that another writer was first."""
        for row in rows:
            log.execute(
                self.insert_events_statement,
                (row.originator_id, row.originator_version, row.topic, row.state),
            )

    def create_table(self) -> None:
        """Makes an empty file a store, or sees that the file is one (and not a newer release's)."""
        location = self.datastore.location
        deadline = Deadline(location.timeout_s)
        if location.path is not None:
            _look_at(location.path, location)
        with self.datastore.reading(deadline) as log:
            if _is_store(log, location):
                return
        if location.read_only or not location.create:
            raise NotAStore(f"{location.place} is no turnledger store: it holds nothing")
        if location.path is not None:
            self._turn_to_wal(deadline)
        with self.datastore.writing(deadline) as log:
            if not _is_store(log, location):
                for statement in self.create_table_statements:
                    log.execute(statement)
                log.execute(f"PRAGMA application_id={APPLICATION_ID}")
                log.execute(f"PRAGMA user_version={FORMAT}")

    def _turn_to_wal(self, deadline: Deadline) -> None:
        with self.datastore.connected(deadline, is_writer=True) as connection:
            Log(connection, self.datastore.location.place, deadline).execute("PRAGMA journal_mode=WAL")


def _look_at(path: Path, location: Location) -> None:
    if path.is_dir():
        raise NotAStore(f"{path} is a folder, not a store: name a file in it")
    if not path.exists():
        if location.read_only or not location.create:
            raise StoreNotFound(f"there is no store at {path}")
        if not path.parent.is_dir():
            raise StoreNotFound(f"there is no folder {path.parent} to make {path.name} in")
        if not _writable(path.parent):
            raise StoreUnwritable(
                f"the folder {path.parent} may not be written, so no store can be made in it"
            )


def _is_store(log: Log, location: Location) -> bool:
    """Whether the file is one of ours already; False for an empty one. Raises for anything else."""
    application_id = log.execute("PRAGMA application_id").fetchone()[0]
    version = log.execute("PRAGMA user_version").fetchone()[0]
    tables = log.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
    if application_id == APPLICATION_ID and tables:
        if version > FORMAT:
            raise NewerLog(f"{location.place} was made by a newer turnledger: upgrade to open it")
        return True
    if tables or application_id:
        raise NotAStore(f"{location.place} is no turnledger store: it is another program's database")
    return False


class ConversationFactory(SQLiteFactory):
    """eventsourcing's factory for a store of ours."""

    application_recorder_class = ConversationRecorder

    def __init__(self, env: object, location: Location) -> None:
        super().__init__({"SQLITE_DBNAME": location.place, "ORIGINATOR_ID_TYPE": "text"})
        self.datastore.close()
        self.datastore = ConversationDatastore(location)
