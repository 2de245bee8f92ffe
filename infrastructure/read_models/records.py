"""Records as rows: what an ecosystem kept beside the messages, and whether a clearing hides it."""

import sqlite3

from pydantic_core import to_json

from turnledger.domain.events import ConversationCleared, RecordKept
from turnledger.infrastructure.read_models.folds import Fold
from turnledger.infrastructure.read_models.schema import insert_statement
from turnledger.infrastructure.read_models.times import utc

_INSERT = insert_statement("records")


class RecordRows:
    """Writes the rows of records, in the transaction that is open."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._execute = connection.execute

    def kept(self, fold: Fold, event: RecordKept) -> None:
        self._execute(
            _INSERT,
            {
                "conversation_id": fold.conversation_id,
                "version": event.version,
                "time": utc(event.time),
                "kind": event.kind,
                "key": event.key,
                "cleared_version": None,
                "value": to_json(event.record).decode(),
            },
        )

    def cleared(self, fold: Fold, event: ConversationCleared) -> None:
        self._execute(
            "UPDATE records SET cleared_version = ? WHERE conversation_id = ? AND cleared_version IS NULL",
            (event.version, fold.conversation_id),
        )
