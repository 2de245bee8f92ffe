"""Events as rows, each in words: the timeline, which looks up in the tables what it mentions."""

import sqlite3
from typing import Any

from pydantic_core import to_json

from turnledger.domain.events import DomainEvent
from turnledger.infrastructure.following import Position
from turnledger.infrastructure.lines import DAMAGED
from turnledger.infrastructure.mapper import digest_of
from turnledger.infrastructure.read_models.folds import Fold
from turnledger.infrastructure.read_models.schema import index_statement, insert_statement
from turnledger.infrastructure.read_models.times import utc
from turnledger.projections.legible import one_line
from turnledger.projections.timeline import Timeline, TimelineLine, type_named

QUOTE_CHARACTERS_MAX = 200
_INDEX = index_statement("events")
_NAME = "SELECT name FROM calls WHERE conversation_id = ? AND call_id = ? ORDER BY id DESC"
_TYPE = "SELECT type FROM artifacts WHERE conversation_id = ? AND artifact_id = ?"
_LEFT = "SELECT '' FROM entries WHERE conversation_id = ? AND entry = ? AND position IS NULL"
_INDEX = index_statement("events")
_NAME = "SELECT name FROM calls WHERE conversation_id = ? AND call_id = ? ORDER BY id DESC"
_TYPE = "SELECT type FROM artifacts WHERE conversation_id = ? AND artifact_id = ?"
_LEFT = "SELECT '' FROM entries WHERE conversation_id = ? AND entry = ? AND position IS NULL"
_INSERT = insert_statement("events", named=False)


class EventRows:
    """Makes the rows of events, each after what it did to the other tables, and writes them once a batch."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._timeline = _TableTimeline(connection)
        self._rows: list[tuple[object, ...]] = []

    def told(self, fold: Fold, found: Position, event: DomainEvent, digest: str) -> None:
        line = self._timeline.of(fold.conversation_id, event)
        envelope = event.envelope
        self._add(
            fold,
            found,
            digest,
            utc(envelope.time),
            envelope.batch,
            line.kind,
            line.text,
            line.quoted(QUOTE_CHARACTERS_MAX) or None,
            line.detail or None,
            envelope.execution_id,
            envelope.turn_id,
            envelope.idempotency_key,
            to_json(envelope.context).decode() if envelope.context else None,
        )

    def damaged(self, fold: Fold, found: Position, reason: str) -> None:
        """The row of an event that cannot be read, or does not fit the events before it."""
        digest = digest_of(found.row.state)
        self._add(fold, found, digest, None, None, DAMAGED, one_line(reason), *(None,) * 6)

    def _add(self, fold: Fold, found: Position, digest: str, *told: object) -> None:
        row = found.row
        name = str(row.topic).removeprefix("turnledger.")
        self._rows.append(
            (
                found.position,
                fold.conversation_id,
                row.originator_version,
                *told[:6],
                name,
                *told[6:],
                len(row.state),
                digest,
            )
        )

    def save(self) -> None:
        """Writes what was told."""
        if self._rows:
            self._connection.executemany(_INSERT, self._rows)
            first: Any = self._rows[0][0]
            self._connection.execute(_INDEX, (first - 1,))
            self._rows.clear()

    def forget(self) -> None:
        """For when what was told is to be told anew."""
        self._rows.clear()


class _TableTimeline(Timeline):
    """A timeline that remembers nothing itself: the tables know what was before, of every conversation."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__()
        self._execute = connection.execute
        self._conversation_id = ""

    def of(self, conversation_id: str, event: DomainEvent) -> TimelineLine:
        self._conversation_id = conversation_id
        line = self.line(event)
        self._names.clear()
        self._types.clear()
        self._evicted.clear()
        return line

    def name_of(self, declared: str) -> str | None:
        name = self._one(_NAME, declared)
        return one_line(name) if name is not None else None

    def type_of(self, artifact_id: str) -> str | None:
        kind = self._one(_TYPE, artifact_id)
        return type_named(kind) if kind is not None else None

    def has_left(self, entry: int) -> bool:
        return self._one(_LEFT, entry) is not None

    def _one(self, statement: str, key: object) -> str | None:
        found = self._execute(f"{statement} LIMIT 1", (self._conversation_id, key)).fetchone()
        return found[0] if found else None
