"""Artifacts, takes, executions and requests as rows."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic_core import to_json

from turnledger.domain.artifacts import Artifact, RefusedArtifact
from turnledger.domain.events import (
    ArtifactsDelivered,
    ArtifactsDiscarded,
    ArtifactsHeld,
    ArtifactsPutBack,
    ArtifactsTaken,
    DomainEvent,
    RequestRecorded,
)
from turnledger.infrastructure.read_models.entries import EntryRows
from turnledger.infrastructure.read_models.folds import Fold
from turnledger.infrastructure.read_models.schema import empty_row, insert_statement
from turnledger.infrastructure.read_models.times import utc

_INSERT_ARTIFACT, _INSERT_TAKE, _INSERT_REQUEST = map(insert_statement, ("artifacts", "takes", "requests"))
_EMPTY_ARTIFACT, _EMPTY_TAKE = empty_row("artifacts"), empty_row("takes")


class ShelfRows:
    """Writes the rows of artifacts, takes, executions and requests, in the transaction that is open."""

    def __init__(self, connection: sqlite3.Connection, entries: EntryRows) -> None:
        self._execute = connection.execute
        self._executemany = connection.executemany
        self._ran: dict[tuple[str, str], tuple[tuple[str, int], tuple[str, int], int]] = {}
        self._entries = entries

    def held(self, fold: Fold, event: ArtifactsHeld) -> None:
        first = self._execute(
            "SELECT COALESCE(MAX(place_order) + 1, 0) FROM artifacts WHERE conversation_id = ?"
            " AND execution_id = ? AND place = 'held'",
            (fold.conversation_id, event.execution_id or ""),
        ).fetchone()[0]
        for order, artifact in enumerate(event.held, start=first):
            self._insert(fold, event, artifact, "held", order)
        self._refused(fold, event, event.refused)

    def taken(self, fold: Fold, event: ArtifactsTaken) -> None:
        self._execute(
            _INSERT_TAKE,
            {
                **_EMPTY_TAKE,
                "conversation_id": fold.conversation_id,
                "take_id": event.take_id,
                "execution_id": event.execution_id or "",
                "state": "open",
                "taken_at": utc(event.time),
                "taken_version": event.version,
                "artifacts": len(event.taken),
                "context": to_json(event.envelope.context).decode() if event.envelope.context else None,
            },
        )
        self._move(fold, event, event.taken, "taken", take_id=event.take_id)

    def delivered(self, fold: Fold, event: ArtifactsDelivered) -> None:
        for artifact in event.new:
            self._insert(fold, event, artifact, "delivered", 0)
        entry_id, first = None, 0
        if event.entry is not None:
            entry_id = self._entries.id_of(fold, event.entry)
            first = self._execute(
                "SELECT COUNT(*) FROM artifacts WHERE entry_id = ?", (entry_id,)
            ).fetchone()[0]
        self._move(fold, event, event.delivered, "delivered", first, entry_id=entry_id)
        self._settle(fold, event, event.take_id, "delivered")
        self._refused(fold, event, event.refused)

    def put_back(self, fold: Fold, event: ArtifactsPutBack) -> None:
        self._move(fold, event, event.put_back, "held")
        for order, artifact_id in enumerate(event.held):
            self._execute(
                "UPDATE artifacts SET place_order = ? WHERE conversation_id = ? AND artifact_id = ?",
                (order, fold.conversation_id, artifact_id),
            )
        for refused in event.refused:
            self._move(fold, event, [refused.artifact_id or ""], "dropped", reason=refused.reason)
        self._settle(fold, event, event.take_id, "put back")

    def discarded(self, fold: Fold, event: ArtifactsDiscarded) -> None:
        self._move(fold, event, event.discarded, "discarded", reason=event.reason)
        self._settle(fold, event, event.take_id, "discarded", event.reason)

    def requested(self, fold: Fold, event: RequestRecorded) -> None:
        number = self._execute(
            "SELECT COALESCE(MAX(number), 0) + 1 FROM requests WHERE conversation_id = ?",
            (fold.conversation_id,),
        ).fetchone()[0]
        self._execute(
            _INSERT_REQUEST,
            {
                "conversation_id": fold.conversation_id,
                "number": number,
                "version": event.version,
                "time": utc(event.time),
                "of_version": event.of_version,
                "provider": event.provider,
                "model": event.model,
                "rendering": event.rendering,
                "messages": event.messages,
                "digest": event.digest,
                "execution_id": event.execution_id,
                "turn_id": event.turn_id,
            },
        )

    def ran(self, fold: Fold, event: DomainEvent) -> None:
        """Notes that an event belongs to an execution."""
        run = fold.conversation_id, event.execution_id or ""
        at = utc(event.time), event.version
        first, _, events = self._ran.get(run, (at, at, 0))
        self._ran[run] = first, at, events + 1

    def save(self) -> None:
        """Writes what belongs to which execution."""
        self._executemany(
            "INSERT INTO executions VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
            " ON CONFLICT (conversation_id, execution_id) DO UPDATE"
            " SET last_at = ?5, last_version = ?6, events = events + ?7",
            [(*run, *first, *last, events) for run, (first, last, events) in self._ran.items()],
        )
        self._ran.clear()

    def forget(self) -> None:
        """For when that is to be noted anew."""
        self._ran.clear()

    def _insert(self, fold: Fold, event: DomainEvent, artifact: Artifact, place: str, order: int) -> None:
        owner = artifact.tool_call_id
        self._add(
            fold,
            event,
            artifact_id=artifact.artifact_id,
            type=artifact.type,
            place=place,
            place_order=order,
            tool_call_id=None if owner is None else str(owner),
            bytes=artifact.size_bytes,
            payload=to_json(artifact.payload).decode(),
        )

    def _refused(self, fold: Fold, event: DomainEvent, refused: Iterable[RefusedArtifact]) -> None:
        for item in refused:
            owner = item.tool_call_id
            self._add(
                fold,
                event,
                artifact_id=item.artifact_id,
                type=item.type,
                place="dropped",
                tool_call_id=None if owner is None else str(owner),
                bytes=item.size_bytes,
                reason=item.reason,
            )

    def _add(self, fold: Fold, event: DomainEvent, **columns: Any) -> None:
        time = utc(event.time)
        row = {
            **_EMPTY_ARTIFACT,
            "conversation_id": fold.conversation_id,
            "since": time,
            "since_version": event.version,
            "made_at": time,
            "made_version": event.version,
            "execution_id": event.execution_id or "",
            "turn_id": event.turn_id,
        }
        self._execute(_INSERT_ARTIFACT, {**row, **columns})

    def _move(
        self,
        fold: Fold,
        event: DomainEvent,
        artifact_ids: Sequence[str],
        place: str,
        first: int = 0,
        *,
        entry_id: int | None = None,
        take_id: str | None = None,
        reason: str | None = None,
    ) -> None:
        """Puts artifacts in a place, in their order; the take that they came by stays noted."""
        for order, artifact_id in enumerate(artifact_ids, start=first):
            self._execute(
                "UPDATE artifacts SET place = ?, place_order = ?, since = ?, since_version = ?, entry_id = ?,"
                " take_id = COALESCE(?, take_id), reason = ? WHERE conversation_id = ? AND artifact_id = ?",
                (
                    place,
                    order,
                    utc(event.time),
                    event.version,
                    entry_id,
                    take_id,
                    reason,
                    fold.conversation_id,
                    artifact_id,
                ),
            )

    def _settle(
        self, fold: Fold, event: DomainEvent, take_id: str | None, state: str, reason: str | None = None
    ) -> None:
        if take_id is None:
            return
        self._execute(
            "UPDATE takes SET state = ?, settled_at = ?, settled_version = ?, reason = ?"
            " WHERE conversation_id = ? AND take_id = ?",
            (state, utc(event.time), event.version, reason, fold.conversation_id, take_id),
        )
