"""Events as rows, each in words: the timeline, which looks up in the tables what it mentions."""

import sqlite3

from eventsourcing.persistence import StoredEvent
from pydantic_core import to_json

from turnledger.domain.events import DomainEvent
from turnledger.infrastructure.following import Position
from turnledger.infrastructure.lines import DAMAGED
from turnledger.infrastructure.mapper import digest_of
from turnledger.infrastructure.read_models.folds import Fold
from turnledger.infrastructure.read_models.schema import empty_row, insert_statement
from turnledger.infrastructure.read_models.times import utc
from turnledger.projections.legible import one_line
from turnledger.projections.timeline import Timeline, TimelineLine, type_named

QUOTE_CHARACTERS_MAX = 200
_NAME = "SELECT name FROM calls WHERE conversation_id = ? AND call_id = ? ORDER BY id DESC"
_TYPE = "SELECT type FROM artifacts WHERE conversation_id = ? AND artifact_id = ?"
_LEFT = "SELECT '' FROM entries WHERE conversation_id = ? AND entry = ? AND position IS NULL"
_NAME = "SELECT name FROM calls WHERE conversation_id = ? AND call_id = ? ORDER BY id DESC"
_TYPE = "SELECT type FROM artifacts WHERE conversation_id = ? AND artifact_id = ?"
_LEFT = "SELECT '' FROM entries WHERE conversation_id = ? AND entry = ? AND position IS NULL"
_INSERT = insert_statement("events")
_EMPTY = empty_row("events")


class EventRows:
    """Writes the rows of events, in the transaction that is open, each behind what it did to the others."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._execute = connection.execute
        self._timeline = _TableTimeline(connection)

    def told(self, fold: Fold, found: Position, event: DomainEvent) -> None:
        line = self._timeline.of(fold.conversation_id, event)
        envelope = event.envelope
        self._execute(
            _INSERT,
            {
                **self._row(fold, found),
                "time": utc(envelope.time),
                "batch": envelope.batch,
                "kind": line.kind,
                "text": line.text,
                "quote": line.quoted(QUOTE_CHARACTERS_MAX) or None,
                "detail": line.detail or None,
                "execution_id": envelope.execution_id,
                "turn_id": envelope.turn_id,
                "idempotency_key": envelope.idempotency_key,
                "context": to_json(envelope.context).decode() if envelope.context else None,
            },
        )

    def damaged(self, fold: Fold, found: Position, reason: str) -> None:
        """The row of an event that cannot be read, or does not fit the events before it."""
        self._execute(_INSERT, {**self._row(fold, found), "kind": DAMAGED, "text": one_line(reason)})

    def _row(self, fold: Fold, found: Position) -> dict[str, object]:
        row: StoredEvent = found.row
        return {
            **_EMPTY,
            "position": found.position,
            "conversation_id": fold.conversation_id,
            "version": row.originator_version,
            "event": str(row.topic).removeprefix("turnledger."),
            "bytes": len(row.state),
            "digest": digest_of(row.state),
        }


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
