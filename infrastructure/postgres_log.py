"""The rows of a log on PostgreSQL, as one connection sees them: what is asked of the server, and how."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import takewhile
from typing import Any

from eventsourcing.persistence import Notification, StoredEvent

from turnledger.infrastructure.log import (
    ALL_KNOWN,
    MORE,
    VERSION_MAX,
    Deadline,
    Parcel,
    UpToDate,
    having,
    pattern_of,
)
from turnledger.infrastructure.postgres_connections import Loan
from turnledger.infrastructure.postgres_schema import CONVERSATIONS


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
            (f"{milliseconds(self._loan.deadline)}ms", *name),
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

    def rows_of(self, conversation_id: str, topic: str, *, after: int = 0) -> list[StoredEvent]:
        found = self._loan.asked(
            f"SELECT originator_version, topic, state FROM {self._events} WHERE originator_id = %s"
            " AND topic = %s AND originator_version > %s ORDER BY originator_version",
            (conversation_id, topic, after),
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

    def counted(self, conversation_id: str, topics: Sequence[str], *, after: int = 0) -> int:
        found = self._loan.asked(
            f"SELECT COUNT(*) FROM {self._events} WHERE originator_id = %s AND topic = ANY(%s)"
            " AND originator_version > %s",
            (conversation_id, list(topics), after),
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
        found = self._loan.asked(
            f"SELECT DISTINCT originator_id FROM {self._events} WHERE originator_id > %s{having(topic)}"
            " ORDER BY originator_id LIMIT %s",
            ("" if after is None else after, limit),
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
        of_topics, parameters = (" AND topic = ANY(%s)", [list(topics)]) if topics else ("", [])
        found = self._loan.asked(
            "WITH now AS (SELECT pg_snapshot_xmin(s)::text::bigint AS low, pg_snapshot_xmax(s)::text::bigint"
            " AS high FROM pg_current_snapshot() AS s)"
            " SELECT originator_id, originator_version, topic, state, notification_id,"
            " (e.xmin::text::bigint - low %% 4294967296 + 4294967296) %% 4294967296 < high - low"
            f" FROM now, {self._events} AS e WHERE notification_id BETWEEN %s AND %s{of_topics}"
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


def milliseconds(deadline: Deadline) -> int:
    """What the server may wait for a lock; 0 would be for ever.

    Less than the time that is left, and than the silence that a connection bears, so that there is time to
    see what became of a call that was not answered.
    """
    return max(1, int(deadline.left_s * 400))
