"""One schema of a PostgreSQL database as the log: eventsourcing's module, its recorder and its pool.

What is ours: one statement records what a call decided, and takes turns by conversation, so that nobody
starves. Followers need events in an order in which none comes in behind what they have read. eventsourcing
locks the table for that until the commit is on the disk, one after the other, and waits for every vacuum;
here rows get their places in the order of their transactions' numbers, under a lock of microseconds, and a
follower reads up to the oldest transaction still at work. Conflicts are decided by the unique key, whatever
the locks are worth.
"""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from itertools import takewhile
from typing import Any
from zlib import crc32

from eventsourcing.persistence import Notification, StoredEvent
from eventsourcing.postgres import (
    PostgresApplicationRecorder,
    PostgresDatastore,
    PostgresFactory,
    PostgresSubscription,
)

from turnledger.infrastructure.faults import busy
from turnledger.infrastructure.log import (
    ALL_KNOWN,
    MORE,
    VERSION_MAX,
    Deadline,
    Overtaken,
    Parcel,
    UpToDate,
    pattern_of,
)
from turnledger.infrastructure.postgres_connections import Loan, Pool
from turnledger.infrastructure.postgres_location import PostgresLocation
from turnledger.infrastructure.postgres_schema import CONVERSATIONS, look, make
from turnledger.infrastructure.turnstile import Turnstile

LOOKS_EVERY_S = 1.0
TURNSTILES = 64  # writers of one process to one conversation queue here, and meet the others at the server


class ConversationDatastore(PostgresDatastore):
    """Lends the log over eventsourcing's pool."""

    def __init__(self, location: PostgresLocation) -> None:
        super().__init__("", "", "", "", "", schema=location.schema, originator_id_type="text")
        self.location = location
        self.place = location.place
        self.pool: Pool = Pool(location)  # type: ignore[assignment]
        self._pid = os.getpid()
        self._turnstiles = [Turnstile() for _ in range(TURNSTILES)]

    def register_type_adapters(self) -> None:
        """None is needed: the functions of the server take plain arrays."""

    @contextmanager
    def reading(self, deadline: Deadline) -> "Iterator[Log]":
        loan = Loan(self.pool, self.place, deadline)
        try:
            loan.take()
            yield Log(loan, self.schema)
        finally:
            loan.give_back()

    @contextmanager
    def turn(self, deadline: Deadline, conversation_id: str) -> "Iterator[Log]":
        turnstile = self._turnstiles[hash(conversation_id) % TURNSTILES]
        with turnstile.turn(deadline.left_s) as inside:
            if not inside:
                raise busy(self.place, deadline.timeout_s)
            with self.reading(deadline) as log:
                yield log

    @contextmanager
    def writing(self, deadline: Deadline, conversation_id: str) -> "Iterator[Log]":
        """Others that write this conversation wait; what they record all the same is seen by its version."""
        with self.turn(deadline, conversation_id) as log, log.alone_with(conversation_id):
            yield log

    def close(self) -> None:
        if getattr(self, "_pid", None) == os.getpid():  # a forked child would close what its parent uses
            with suppress(AttributeError):
                self.pool.close()


class Log:
    """The rows of the log, as the server has them at each statement."""

    def __init__(self, loan: Loan, schema: str) -> None:
        self._loan = loan
        self._events = f'"{schema}".stored_events'
        self._segments = f'"{schema}".buffer_segments'

    @property
    def loan(self) -> Loan:
        return self._loan

    def transaction(self) -> AbstractContextManager[None]:
        """Nothing to open: each statement of a recorder is a transaction of its own."""
        return nullcontext()

    @contextmanager
    def alone_with(self, conversation_id: str) -> Iterator[None]:
        """Holds the lock on a conversation that everybody takes who records in it."""
        lock = "(hashtextextended(%s, %s))"
        name = (conversation_id, CONVERSATIONS)
        self._loan.asked(
            f"SELECT set_config('lock_timeout', %s, false), pg_advisory_lock{lock}",
            (f"{_milliseconds(self._loan.deadline)}ms", *name),
        )
        try:
            yield
        finally:
            self._loan.undo(f"SELECT pg_advisory_unlock{lock}", name)

    def rows(
        self, conversation_id: str, *, after: int = 0, to: int | None = None, limit: int = -1
    ) -> list[StoredEvent]:
        found = self._loan.asked(
            f"SELECT originator_version, topic, state FROM {self._events} WHERE originator_id = %s"
            " AND originator_version > %s AND originator_version <= %s ORDER BY originator_version LIMIT %s",
            (
                conversation_id,
                min(after, VERSION_MAX),
                VERSION_MAX if to is None else min(to, VERSION_MAX),
                None if limit < 0 else limit,
            ),
        )
        return _stored(conversation_id, found)

    def mark(self, conversation_id: str, version: int) -> UpToDate:
        """Looks whether there is more of the conversation: what others write elsewhere matters not."""
        return ALL_KNOWN if version and self.version(conversation_id) == version else MORE

    def has(self, conversation_id: str, version: int) -> bool:
        return bool(
            self._loan.asked(
                f"SELECT 1 FROM {self._events} WHERE originator_id = %s AND originator_version = %s",
                (conversation_id, version),
            )
        )

    def version(self, conversation_id: str) -> int:
        found = self._loan.asked(
            f"SELECT MAX(originator_version) FROM {self._events} WHERE originator_id = %s", (conversation_id,)
        )
        return found[0][0] or 0

    def rows_of(self, conversation_id: str, topic: str) -> list[StoredEvent]:
        found = self._loan.asked(
            f"SELECT originator_version, topic, state FROM {self._events} WHERE originator_id = %s"
            " AND topic = %s ORDER BY originator_version",
            (conversation_id, topic),
        )
        return _stored(conversation_id, found)

    def rows_saying(self, conversation_id: str, topics: Sequence[str], text: str) -> list[StoredEvent]:
        found = self._loan.asked(
            f"SELECT originator_version, topic, state FROM {self._events} WHERE originator_id = %s"
            # bytes that are no text any more must not fail the search, so they are looked at escaped
            " AND topic = ANY(%s) AND encode(state, 'escape') ILIKE %s",
            (conversation_id, list(topics), pattern_of(text, doubled=True)),
        )
        return _stored(conversation_id, found)

    def counted(self, conversation_id: str, topics: Sequence[str]) -> int:
        found = self._loan.asked(
            f"SELECT COUNT(*) FROM {self._events} WHERE originator_id = %s AND topic = ANY(%s)",
            (conversation_id, list(topics)),
        )
        return int(found[0][0])

    def row_bytes(self, conversation_id: str, to: int) -> tuple[int, int]:
        found = self._loan.asked(
            f"SELECT COUNT(*), SUM(OCTET_LENGTH(topic) + OCTET_LENGTH(state))::bigint FROM {self._events}"
            " WHERE originator_id = %s AND originator_version <= %s",
            (conversation_id, to),
        )
        return found[0][0], found[0][1] or 0

    def conversation_ids(self, after: str | None, limit: int, topic: str | None = None) -> list[str]:
        having, parameters = ("", []) if topic is None else (" AND topic = %s", [topic])
        found = self._loan.asked(
            f"SELECT DISTINCT originator_id FROM {self._events} WHERE originator_id > %s{having}"
            " ORDER BY originator_id LIMIT %s",
            ("" if after is None else after, *parameters, limit),
            patient=True,
        )
        return [row[0] for row in found]

    def notifications(
        self, first: int, last: int, limit: int, topics: Sequence[str], *, settled: bool
    ) -> list[Notification]:
        """The rows of all conversations between two places of the log, in their order.

        With `settled` up to the first behind which another may still be committed: rows have the order of
        their transactions' numbers, so that nothing comes in before a row whose number is below that of every
        transaction at work. Numbers wrap; what is compared is the distance to those.
        """
        having, parameters = (" AND topic = ANY(%s)", [list(topics)]) if topics else ("", [])
        found = self._loan.asked(
            "WITH now AS (SELECT pg_snapshot_xmin(s)::text::bigint AS low, pg_snapshot_xmax(s)::text::bigint"
            " AS high FROM pg_current_snapshot() AS s)"
            " SELECT originator_id, originator_version, topic, state, notification_id,"
            " (e.xmin::text::bigint - low %% 4294967296 + 4294967296) %% 4294967296 < high - low"
            f" FROM now, {self._events} AS e WHERE notification_id BETWEEN %s AND %s{having}"
            " ORDER BY notification_id LIMIT %s",
            (first, last, *parameters, limit),
            patient=bool(topics),
        )
        known = takewhile(lambda row: not (settled and row[5]), found)
        return [Notification(row[0], row[1], row[2], row[3] or b"", row[4]) for row in known]

    def newest(self) -> int | None:
        found = self._loan.asked(f"SELECT MAX(notification_id) FROM {self._events}")
        newest: int | None = found[0][0]
        return newest

    def keep(self, conversation_id: str, parcels: Sequence[Parcel]) -> None:
        for parcel in parcels:
            self._loan.asked(
                f"INSERT INTO {self._segments} VALUES (%s, %s, %s, %s, %s, %s, %s)"
                " ON CONFLICT (conversation_id, version) DO UPDATE SET (format, digest, row_bytes, checksum,"
                " changes) = (EXCLUDED.format, EXCLUDED.digest, EXCLUDED.row_bytes, EXCLUDED.checksum,"
                " EXCLUDED.changes)",
                (conversation_id, *parcel),
            )

    def kept(self, conversation_id: str, to: int | None = None) -> list[Parcel]:
        found = self._loan.asked(
            f"SELECT version, format, digest, row_bytes, checksum, changes FROM {self._segments}"
            " WHERE conversation_id = %s AND version <= %s ORDER BY version",
            (conversation_id, VERSION_MAX if to is None else min(to, VERSION_MAX)),
        )
        return [Parcel(*row) for row in found]


def _stored(conversation_id: str, found: Sequence[Any]) -> list[StoredEvent]:
    return [StoredEvent(conversation_id, version, topic, state or b"") for version, topic, state in found]


def order_lock(schema: str) -> int:
    """The lock that puts the events of one store in order; another store of the database has another."""
    return crc32(schema.encode()) - 2**31


def _milliseconds(deadline: Deadline) -> int:
    """What the server may wait for a lock; 0 would be for ever.

    Less than the time that is left, and than the silence that a connection bears, so that there is time to
    see what became of a call that was not answered.
    """
    return max(1, int(deadline.left_s * 400))


class ConversationRecorder(PostgresApplicationRecorder):
    """eventsourcing's recorder and table; what a call decided goes through one function of the server."""

    datastore: ConversationDatastore

    def __init__(self, datastore: ConversationDatastore, *, events_table_name: str = "stored_events") -> None:
        super().__init__(datastore, events_table_name=events_table_name)
        self.channel_name = f"{datastore.schema}_{events_table_name}"[: self.MAX_IDENTIFIER_LEN]

    @property
    def _called(self) -> str:
        return f'SELECT "{self.datastore.schema}".turnledger_append(%s, %s, %s, %s, %s)'

    def insert(self, log: Log, rows: Sequence[StoredEvent]) -> None:
        """Records rows of one conversation, each behind the one before, in one transaction."""
        if not rows:
            return
        first = rows[0]
        inserted = log.loan.told(
            self._called,
            (
                first.originator_id,
                first.originator_version,
                [row.topic for row in rows],
                [row.state for row in rows],
                _milliseconds(log.loan.deadline),
            ),
        )
        if inserted[0][0] != len(rows):
            raise Overtaken
        self._ring(log)

    def _ring(self, log: Log) -> None:
        """Tells followers, after the commit: a transaction that notifies makes all others that do wait."""
        log.loan.try_once(f'NOTIFY "{self.channel_name}"')

    def subscribe(self, gt: int | None = None, topics: Sequence[str] = ()) -> PostgresSubscription:
        """eventsourcing's subscription, which is told, and looks by itself every second."""
        return LookingSubscription(recorder=self, gt=gt, topics=topics)

    def copy(self, log: Log, rows: Sequence[StoredEvent]) -> None:
        """Records rows of any conversations in their order, as they were elsewhere."""
        columns: tuple[list[Any], ...] = ([], [], [], [])
        for row in rows:
            for column, value in zip(
                columns, (row.originator_id, row.originator_version, row.topic, row.state), strict=True
            ):
                column.append(value)
        log.loan.told(f'SELECT "{self.datastore.schema}".turnledger_copy(%s, %s, %s, %s)', columns)
        self._ring(log)

    def insert_events(self, stored_events: Sequence[StoredEvent], **kwargs: Any) -> None:
        """eventsourcing's own name for the same, for whoever works with its recorder."""
        with self.datastore.reading(Deadline(self.datastore.location.timeout_s)) as log:
            self.copy(log, stored_events)

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
        """The rows from a place in the log on; asked again over another connection where one is lost.

        With `settled` only those before which no other can come any more, which is what a follower needs.
        """
        first = 0 if start is None else start if inclusive_of_start else start + 1
        last = VERSION_MAX if stop is None else stop
        with self.datastore.reading(Deadline(self.datastore.location.timeout_s)) as log:
            return log.notifications(first, last, limit, topics, settled=settled)

    def max_notification_id(self) -> int | None:
        with self.datastore.reading(Deadline(self.datastore.location.timeout_s)) as log:
            return log.newest()

    def create_table(self) -> None:
        """Makes the tables where there are none, or sees that they are a store's (of no newer release)."""
        location = self.datastore.location
        with self.datastore.reading(Deadline(max(location.timeout_s, 1.0))) as log:
            if not look(log.loan, location):
                make(log.loan, location, order_lock(location.schema))


class LookingSubscription(PostgresSubscription):
    """A subscription that no lost word leaves behind, nor a transaction of another program that ends."""

    def _listen(self) -> None:
        recorder = self._recorder
        try:
            with recorder.datastore.get_connection() as connection:
                connection.execute(f'LISTEN "{recorder.channel_name}"'.encode())
                looked = time.monotonic()
                while not self._has_been_stopped and not self._thread_error:
                    told = list(connection.notifies(timeout=0.1, stop_after=1))
                    if told or time.monotonic() - looked > LOOKS_EVERY_S:
                        looked = time.monotonic()
                        self._has_been_notified.set()
        except BaseException as error:
            self._thread_error = self._thread_error or error
            self.stop()


class PostgresConversationFactory(PostgresFactory):
    """eventsourcing's factory for a store of ours."""

    application_recorder_class = ConversationRecorder  # type: ignore[assignment]

    def __init__(self, location: PostgresLocation) -> None:
        env = {"POSTGRES_DBNAME": "", "POSTGRES_HOST": "", "POSTGRES_USER": "", "POSTGRES_PASSWORD": ""}
        super().__init__(env)
        self.datastore = ConversationDatastore(location)
        self.datastore.pool.open()
