"""One schema of a PostgreSQL database as the log: eventsourcing's module, its recorder and its pool.

What is ours: one statement records what a call decided, and takes turns by conversation, so that nobody
starves. Followers need events in an order in which none comes in behind what they have read. eventsourcing
locks the table for that until the commit is on the disk, one after the other, and waits for every vacuum;
here rows get their places in the order of their transactions' numbers, under a lock of microseconds, and a
follower reads up to the oldest transaction still at work. Conflicts are decided by the unique key, whatever
the locks are worth.
"""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from weakref import WeakValueDictionary
from zlib import crc32

from eventsourcing.persistence import Notification, StoredEvent
from eventsourcing.postgres import (
    PostgresApplicationRecorder,
    PostgresDatastore,
    PostgresFactory,
    PostgresSubscription,
)

from turnledger.infrastructure.faults import busy
from turnledger.infrastructure.log import VERSION_MAX, Deadline, Overtaken
from turnledger.infrastructure.postgres_connections import Loan, Pool
from turnledger.infrastructure.postgres_location import PostgresLocation
from turnledger.infrastructure.postgres_log import Log, milliseconds
from turnledger.infrastructure.postgres_schema import look, make
from turnledger.infrastructure.turnstile import Turnstile

LOOKS_EVERY_S = 1.0


class ConversationDatastore(PostgresDatastore):
    """Lends the log over eventsourcing's pool."""

    def __init__(self, location: PostgresLocation) -> None:
        super().__init__("", "", "", "", "", schema=location.schema, originator_id_type="text")
        self.location = location
        self.place = location.place
        self.pool: Pool = Pool(location)  # type: ignore[assignment]
        self._pid = os.getpid()
        self._turnstiles: WeakValueDictionary[str, Turnstile] = WeakValueDictionary()
        self._turnstiles_lock = threading.RLock()  # a finaliser may call in the middle of a call

    def register_type_adapters(self) -> None:
        """None is needed: the functions of the server take plain arrays."""

    @contextmanager
    def reading(self, deadline: Deadline) -> Iterator[Log]:
        loan = Loan(self.pool, self.place, deadline)
        try:
            loan.take()
            yield Log(loan, self.schema)
        finally:
            loan.give_back()

    def _turnstile(self, conversation_id: str) -> Turnstile:
        """Where the writers of this process to one conversation queue; they meet the others at the server.

        It is there while one has it.
        """
        with self._turnstiles_lock:
            found = self._turnstiles.get(conversation_id)
            if found is None:
                found = self._turnstiles[conversation_id] = Turnstile()
            return found

    @contextmanager
    def turn(self, deadline: Deadline, conversation_id: str) -> Iterator[Log]:
        with self._turnstile(conversation_id).turn(deadline.left_s) as inside:
            if not inside:
                raise busy(self.place, deadline.timeout_s)
            with self.reading(deadline) as log:
                yield log

    @contextmanager
    def writing(self, deadline: Deadline, conversation_id: str) -> Iterator[Log]:
        """Others that write this conversation wait; what they record all the same is seen by its version."""
        with self.turn(deadline, conversation_id) as log, log.alone_with(conversation_id):
            yield log

    def close(self) -> None:
        if getattr(self, "_pid", None) == os.getpid():  # a forked child would close what its parent uses
            with suppress(AttributeError):
                self.pool.close()


def order_lock(schema: str) -> int:
    """The lock that puts the events of one store in order; another store of the database has another."""
    return crc32(schema.encode()) - 2**31


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
                milliseconds(log.loan.deadline),
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
