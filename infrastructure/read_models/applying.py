"""One row of the log after the other, applied to the tables: in order, each once, in an open transaction.

What is damaged is told and counts for nothing; from there on the events of its conversation are only told.
"""

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

from turnledger.domain.errors import CorruptEvent, NewerLog
from turnledger.domain.events import (
    NO_PREVIOUS,
    ArtifactsDelivered,
    ArtifactsDiscarded,
    ArtifactsHeld,
    ArtifactsPutBack,
    ArtifactsTaken,
    CallHealed,
    ConversationCleared,
    ConversationForked,
    ConversationStarted,
    DomainEvent,
    EntriesEvicted,
    EntryRetracted,
    MessageAppended,
    PlaceholderReplaced,
    RecordKept,
    RequestRecorded,
    SummaryInserted,
)
from turnledger.infrastructure.following import Position
from turnledger.infrastructure.mapper import ConversationMapper, digest_of
from turnledger.infrastructure.read_models.entries import EntryRows
from turnledger.infrastructure.read_models.events import EventRows
from turnledger.infrastructure.read_models.folds import Fold, Folds
from turnledger.infrastructure.read_models.places import Places
from turnledger.infrastructure.read_models.records import RecordRows
from turnledger.infrastructure.read_models.shelves import ShelfRows
from turnledger.infrastructure.read_models.times import utc

Handler = Callable[[Fold, Any], None]


class Applying:
    """Applies batches to the tables of a file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._mapper = ConversationMapper()
        places = Places(connection)
        self._folds = Folds(connection, places.place)
        self._entries = EntryRows(connection, places)
        self._events = EventRows(connection)
        self._shelves = ShelfRows(connection, self._entries)
        self._records = RecordRows(connection)
        self._handlers = self._handlers_by_class()

    def forget(self) -> None:
        """For when the file is not as this left it."""
        self._folds.forget()
        self._events.forget()
        self._shelves.forget()

    def batch(self, found: Sequence[Position]) -> None:
        """Applies a batch. An error means that an event does not fit those before it, or a fault of the file;
        the transaction is to be rolled back."""
        self._entries.begin()
        for one in found:
            self._apply(one)
        self._folds.save()
        self._entries.save()
        self._shelves.save()
        self._events.save()

    def one_by_one(self, found: Sequence[Position]) -> None:
        """Applies a batch in which something does not fit: that is told as damage, and undone alone."""
        self.forget()
        for one in found:
            self._connection.execute("SAVEPOINT one")
            try:
                self.batch([one])
            except Exception as error:
                if isinstance(error, sqlite3.Error) and not isinstance(error, sqlite3.IntegrityError):
                    raise  # a fault of the file, not of the log
                self._connection.execute("ROLLBACK TO one")
                self.forget()
                self._damage(one, f"it does not fit the events before it ({type(error).__name__}: {error})")
                self._folds.save()
                self._events.save()
            self._connection.execute("RELEASE one")

    def _apply(self, found: Position) -> None:
        fold = self._folds.of(str(found.row.originator_id))
        try:
            event = self._mapper.decoded(found.row)
        except CorruptEvent as error:
            self._damage(found, error.reason)
            return
        except NewerLog as error:
            self._damage(found, str(error))
            return
        digest = digest_of(found.row.state)
        if not fold.row["damaged"]:
            if reason := _misfit(fold, event):
                self._damage(found, reason)
                return
            self._fold(fold, event, digest)
        self._events.told(fold, found, event, digest)

    def _fold(self, fold: Fold, event: DomainEvent, digest: str) -> None:
        self._handlers[type(event)](fold, event)
        if event.execution_id is not None:
            self._shelves.ran(fold, event)
        time = utc(event.time)
        fold.row["version"] = event.version
        fold.row["updated_at"] = time
        fold.row["started_at"] = fold.row["started_at"] or time
        fold.row["head_digest"] = digest

    def _damage(self, found: Position, reason: str) -> None:
        fold = self._folds.of(str(found.row.originator_id))
        self._events.damaged(fold, found, reason)
        fold.row["damaged"] = fold.row["damaged"] or f"version {found.row.originator_version}: {reason}"

    def _started(self, fold: Fold, event: ConversationStarted) -> None:
        fold.row["window"] = event.window

    def _forked(self, fold: Fold, event: ConversationForked) -> None:
        fold.row["window"] = event.window
        fold.row["forked_from"] = event.source_id
        fold.row["forked_at_version"] = event.source_version
        self._entries.forked(fold, event)

    def _cleared(self, fold: Fold, event: ConversationCleared) -> None:
        self._entries.cleared(fold, event)
        self._records.cleared(fold, event)

    def _handlers_by_class(self) -> dict[type[DomainEvent], Handler]:
        return {
            ConversationStarted: self._started,
            ConversationForked: self._forked,
            MessageAppended: self._entries.appended,
            CallHealed: self._entries.healed,
            PlaceholderReplaced: self._entries.replaced,
            EntriesEvicted: self._entries.evicted,
            SummaryInserted: self._entries.inserted,
            ArtifactsHeld: self._shelves.held,
            ArtifactsTaken: self._shelves.taken,
            ArtifactsDelivered: self._shelves.delivered,
            ArtifactsPutBack: self._shelves.put_back,
            ArtifactsDiscarded: self._shelves.discarded,
            RequestRecorded: self._shelves.requested,
            EntryRetracted: self._entries.retracted,
            ConversationCleared: self._cleared,
            RecordKept: self._records.kept,
        }


def _misfit(fold: Fold, event: DomainEvent) -> str | None:
    """Why an event does not follow what is known of its conversation, or None."""
    if event.version != fold.row["version"] + 1:
        return "the event before it is missing"
    if event.previous != (fold.row["head_digest"] or NO_PREVIOUS):
        return "it does not follow the event before it: the chain is broken"
    return None
