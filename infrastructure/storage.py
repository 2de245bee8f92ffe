"""One SQLite file as the log: its settings, its connections, its transactions.

eventsourcing's recorder keeps the table; what is ours is the lock timeout in fractions of a second, the
durability, a decision inside the write transaction, and errors that name the store.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from eventsourcing.persistence import Notification, StoredEvent
from eventsourcing.sqlite import (
    SQLiteApplicationRecorder,
    SQLiteConnection,
    SQLiteDatastore,
    SQLiteFactory,
)

from turnledger.domain.errors import NewerLog, NotAStore
from turnledger.infrastructure.connections import Connections, Loan
from turnledger.infrastructure.faults import busy, meaning_of
from turnledger.infrastructure.location import Location
from turnledger.infrastructure.log import (
    FORMAT,
    IS_LISTED,
    VERSION_MAX,
    Deadline,
    Overtaken,
)
from turnledger.infrastructure.sqlite_log import Log
from turnledger.infrastructure.turnstile import Stay, Turnstile

APPLICATION_ID = 0x544C4752  # "TLGR", in the file's header
INSERT_BEHIND = (
    "INSERT INTO stored_events SELECT ?1, ?2, ?3, ?4 WHERE ?2 = 1 OR EXISTS"
    " (SELECT 1 FROM stored_events WHERE originator_id = ?1 AND originator_version = ?2 - 1)"
)
CREATE_SEGMENTS = (
    "CREATE TABLE IF NOT EXISTS buffer_segments (conversation_id TEXT, version INTEGER, format INTEGER,"
    " digest TEXT, row_bytes INTEGER, checksum INTEGER, changes BLOB, PRIMARY KEY (conversation_id, version))"
)
CREATE_LISTED = (
    "CREATE INDEX IF NOT EXISTS stored_events_listed ON stored_events (originator_id, topic)"
    f" WHERE {IS_LISTED}"
)
BESIDE = (CREATE_SEGMENTS, CREATE_LISTED)


class ConversationDatastore(SQLiteDatastore):
    """Transactions on one store. Writers of one process queue here, and meet the others at the file."""

    def __init__(self, location: Location) -> None:
        super().__init__("", originator_id_type="text")
        self.location = location
        self.place = location.place
        self.connections = Connections(location)
        self._writers = Turnstile()

    def reading(self, deadline: Deadline) -> "Lent":
        """A connection to read by, each statement for itself."""
        return Lent(self.connections.lent(deadline.left_s), self.place, deadline)

    def turn(self, deadline: Deadline, conversation_id: str | None = None) -> "Turn":
        """A connection for the one writer of this process whose turn it is; it opens its transaction itself.

        Whatever is raised in the block, the connection is rolled back when it is given back.
        """
        return Turn(self._writers.turn(deadline.left_s), self.reading(deadline), self.place, deadline)

    @contextmanager
    def writing(self, deadline: Deadline, conversation_id: str | None = None) -> Iterator[Log]:
        """A write transaction from its first moment: what is read in it is what is decided on."""
        with self.turn(deadline) as log, log.transaction():
            yield log

    @contextmanager
    def get_connection(self, *, commit: bool) -> Iterator[SQLiteConnection]:
        """What eventsourcing's own methods work with."""
        with self.connections.lent(self.location.timeout_s) as connection:
            yield connection

    def close(self) -> None:
        super().close()
        self.connections.close()

    def __del__(self) -> None:
        with suppress(AttributeError):  # one that was interrupted while it was made
            self.close()


class Lent:
    """The log by a connection that is lent for a block. Raises `StoreBusy` and `StoreClosed`."""

    __slots__ = ("_deadline", "_loan", "_place")

    def __init__(self, loan: Loan, place: str, deadline: Deadline) -> None:
        self._loan = loan
        self._place = place
        self._deadline = deadline

    def __enter__(self) -> Log:
        try:
            connection = self._loan.__enter__()
        except Exception as error:
            raise meaning_of(error, self._place, self._deadline.timeout_s) from error
        return Log(connection, self._place, self._deadline)

    def __exit__(self, *exc_info: object) -> None:
        self._loan.__exit__()


class Turn:
    """The log, lent to the one writer whose turn it is, for a block. Raises `StoreBusy` and `StoreClosed`."""

    __slots__ = ("_deadline", "_lent", "_place", "_stay")

    def __init__(self, stay: Stay, lent: Lent, place: str, deadline: Deadline) -> None:
        self._stay = stay
        self._lent = lent
        self._place = place
        self._deadline = deadline

    def __enter__(self) -> Log:
        try:
            if not self._stay.__enter__():
                raise busy(self._place, self._deadline.timeout_s)
            return self._lent.__enter__()
        except BaseException:
            self._stay.__exit__()
            raise

    def __exit__(self, *exc_info: object) -> None:
        try:
            self._lent.__exit__()
        finally:
            self._stay.__exit__()


class ConversationRecorder(SQLiteApplicationRecorder):
    """eventsourcing's recorder and table, in a transaction that is already open."""

    datastore: ConversationDatastore

    def insert(self, log: Log, rows: Sequence[StoredEvent]) -> None:
        """Inserts rows, each behind the one before it; a single one needs no open transaction.

        `Overtaken` says that another writer was first, or that the row before is not there.
        """
        inserted = log.execute_many(
            INSERT_BEHIND,
            [(row.originator_id, row.originator_version, row.topic, row.state) for row in rows],
        )
        if inserted < len(rows):
            raise Overtaken

    def copy(self, log: Log, rows: Sequence[StoredEvent]) -> None:
        """Inserts rows as they were elsewhere, in their order, in a transaction of its own."""
        with log.transaction():
            self.insert(log, rows)

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
        settled: bool = True,
    ) -> list[Notification]:
        """The rows from a place in the log on, in the order of their commits."""
        first = 0 if start is None else start if inclusive_of_start else start + 1
        marks = f" AND topic IN ({','.join('?' * len(topics))})" if topics else ""
        with self.datastore.reading(Deadline(self.datastore.location.timeout_s)) as log:
            found = log.execute(
                "SELECT originator_id, originator_version, topic, CAST(state AS BLOB), rowid"
                f" FROM stored_events WHERE rowid BETWEEN ? AND ?{marks} ORDER BY rowid LIMIT ?",
                (first, VERSION_MAX if stop is None else stop, *topics, limit),
            )
        return [Notification(row[0], row[1], row[2], row[3] or b"", row[4]) for row in found]

    def max_notification_id(self) -> int | None:  # type: ignore[override]
        with self.datastore.reading(Deadline(self.datastore.location.timeout_s)) as log:
            newest: int | None = log.execute("SELECT MAX(rowid) FROM stored_events")[0][0]
        return newest

    def create_table(self) -> None:
        """Makes an empty file a store, or sees that the file is one (and not a newer release's)."""
        location = self.datastore.location
        deadline = Deadline(location.timeout_s)
        location.look()
        with self.datastore.reading(deadline) as log:
            log.execute("BEGIN")  # one look: another process may be making it a store just now
            is_store, is_whole = _is_store(log, location), _is_whole(log)
        if is_store and (is_whole or location.read_only):
            return
        if not location.may_create and not is_store:
            raise NotAStore(f"{location.place} is no turnledger store: it holds nothing")
        if location.path is not None:
            with self.datastore.reading(deadline) as log:
                log.execute("PRAGMA journal_mode=WAL")
        with self.datastore.writing(deadline) as log:
            if _is_store(log, location):
                for statement in BESIDE:
                    log.execute(statement)
            else:
                for statement in (*self.create_table_statements, *BESIDE):
                    log.execute(statement)
                log.execute(f"PRAGMA application_id={APPLICATION_ID}")
                log.execute(f"PRAGMA user_version={FORMAT}")


def _is_whole(log: Log) -> bool:
    """Whether what stands beside the log is there: it may have been thrown away."""
    names = "'buffer_segments', 'stored_events_listed'"
    found = log.execute(f"SELECT COUNT(*) FROM sqlite_master WHERE name IN ({names})")
    return bool(found[0][0] == len(BESIDE))


def _is_store(log: Log, location: Location) -> bool:
    """Whether the file is one of ours already; False for an empty one. Raises for anything else."""
    application_id = log.execute("PRAGMA application_id")[0][0]
    version = log.execute("PRAGMA user_version")[0][0]
    tables = log.execute("SELECT COUNT(*) FROM sqlite_master WHERE name = 'stored_events'")[0][0]
    others = log.execute("SELECT COUNT(*) FROM sqlite_master")[0][0]
    if application_id == APPLICATION_ID and tables:
        if version > FORMAT:
            raise NewerLog(f"{location.place} was made by a newer turnledger: upgrade to open it")
        return True
    if others or application_id:
        raise NotAStore(f"{location.place} is no turnledger store: it is another program's database")
    return False


class ConversationFactory(SQLiteFactory):
    """eventsourcing's factory for a store of ours."""

    application_recorder_class = ConversationRecorder

    def __init__(self, env: object, location: Location) -> None:
        super().__init__({"SQLITE_DBNAME": location.place, "ORIGINATOR_ID_TYPE": "text"})
        self.datastore.close()
        self.datastore = ConversationDatastore(location)
