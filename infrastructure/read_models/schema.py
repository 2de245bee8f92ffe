"""The tables, indexes, search indexes and views of a read model file, made with sqlite-utils.

Made for people: times are ISO 8601 in UTC, ids as the log has them, foreign keys of one column each, which
Datasette makes links of. What a row holds is said in `docs/read-models.md`. Tables that begin with an
underscore are the follower's own.
"""

from collections.abc import Mapping
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from turnledger.infrastructure.read_models.views import VIEWS

if TYPE_CHECKING:
    from sqlite_utils import Database
    from sqlite_utils.db import Table

APPLICATION_ID = 0x544C524D  # "TLRM", in the file's header
FORMAT = 4
ENTRY_STATES = (
    *("standing", "placeholder", "replaced", "summary"),
    *("evicted", "compacted", "retracted", "cleared"),
)

TABLES: Mapping[str, Mapping[str, type]] = {
    "conversations": {
        "conversation_id": str,
        "version": int,
        "entries": int,
        "calls": int,
        "heals": int,
        "opening": str,
        "started_at": str,
        "updated_at": str,
        "window": int,
        "forked_from": str,
        "forked_at_version": int,
        "head_digest": str,
        "damaged": str,
    },
    "events": {
        "position": int,
        "conversation_id": str,
        "version": int,
        "time": str,
        "batch": int,
        "kind": str,
        "text": str,
        "quote": str,
        "detail": str,
        "event": str,
        "execution_id": str,
        "turn_id": str,
        "idempotency_key": str,
        "context": str,
        "bytes": int,
        "digest": str,
    },
    "entries": {
        "entry_id": int,
        "conversation_id": str,
        "entry": int,
        "position": int,
        "sendable_position": int,
        "state": str,
        "role": str,
        "name": str,
        "text": str,
        "called": str,
        "call_id": str,
        "time": str,
        "version": int,
        "turn_id": str,
        "execution_id": str,
        "replaced_at": str,
        "replaced_version": int,
        "left_version": int,
        "carried": int,
        "content": str,
        "metadata": str,
    },
    "calls": {
        "id": int,
        "conversation_id": str,
        "call_id": str,
        "name": str,
        "arguments": str,
        "state": str,
        "declared_at": str,
        "answered_at": str,
        "latency_s": float,
        "healed_at": str,
        "entry_id": int,
        "answer_id": int,
        "turn_id": str,
        "execution_id": str,
        "original_id": str,
        "carried": int,
    },
    "artifacts": {
        "id": int,
        "conversation_id": str,
        "artifact_id": str,
        "type": str,
        "place": str,
        "place_order": int,
        "since": str,
        "since_version": int,
        "entry_id": int,
        "execution_id": str,
        "turn_id": str,
        "tool_call_id": str,
        "take_id": str,
        "made_at": str,
        "made_version": int,
        "reason": str,
        "bytes": int,
        "payload": str,
    },
    "takes": {
        "conversation_id": str,
        "take_id": str,
        "execution_id": str,
        "state": str,
        "taken_at": str,
        "taken_version": int,
        "settled_at": str,
        "settled_version": int,
        "artifacts": int,
        "reason": str,
        "context": str,
    },
    "executions": {
        "conversation_id": str,
        "execution_id": str,
        "first_at": str,
        "first_version": int,
        "last_at": str,
        "last_version": int,
        "events": int,
    },
    "requests": {
        "conversation_id": str,
        "number": int,
        "version": int,
        "time": str,
        "of_version": int,
        "provider": str,
        "model": str,
        "rendering": int,
        "messages": int,
        "digest": str,
        "execution_id": str,
        "turn_id": str,
    },
    "records": {
        "conversation_id": str,
        "version": int,
        "time": str,
        "kind": str,
        "key": str,
        "cleared_version": int,
        "value": str,
    },
    "following": {
        "id": int,
        "position": int,
        "conversation_id": str,
        "version": int,
        "digest": str,
        "time": str,
        "log_position": int,
        "format": int,
        "made": str,
    },
    "_settled": {"conversation_id": str, "entries": int, "systems": int, "others": int, "sent_systems": int},
}
KEYS: Mapping[str, str | tuple[str, ...]] = {
    "conversations": "conversation_id",
    "events": "position",
    "entries": "entry_id",
    "calls": "id",
    "artifacts": "id",
    "takes": ("conversation_id", "take_id"),
    "executions": ("conversation_id", "execution_id"),
    "requests": ("conversation_id", "number"),
    "records": ("conversation_id", "version"),
    "following": "id",
    "_settled": "conversation_id",
}
REBUILT = tuple(name for name in TABLES if name not in ("following", "_settled"))
"""The tables whose rows follow from the log alone."""

_FOREIGN_KEYS: Mapping[str, list[tuple[str, str, str]]] = {
    "conversations": [("forked_from", "conversations", "conversation_id")],
    "calls": [("entry_id", "entries", "entry_id"), ("answer_id", "entries", "entry_id")],
    "artifacts": [("entry_id", "entries", "entry_id")],
}
_OF_A_CONVERSATION = ("conversation_id", "conversations", "conversation_id")
_INDEXES: Mapping[str, list[tuple[list[str], bool]]] = {
    "conversations": [(["updated_at"], False), (["forked_from"], False)],
    "events": [(["conversation_id", "version"], True)],
    "entries": [(["conversation_id", "entry"], True), (["conversation_id", "position"], False)],
    "calls": [
        (["conversation_id", "call_id"], False),
        (["entry_id"], False),
        (["name", "state"], False),
        (["state", "declared_at"], False),
    ],
    "artifacts": [
        (["conversation_id", "artifact_id"], False),
        (["conversation_id", "execution_id"], False),
        (["entry_id"], False),
        (["place", "since"], False),
    ],
    "takes": [(["state", "taken_at"], False)],
    "records": [(["kind", "key"], False)],
}
_PARTIAL_INDEXES = (
    # few entries answer a call, and only those are looked for by it
    "CREATE INDEX idx_entries_call_id ON entries (conversation_id, call_id) WHERE call_id IS NOT NULL",
    "CREATE INDEX idx_entries_placeholder ON entries (conversation_id) WHERE state = 'placeholder'",
    "CREATE INDEX idx_conversations_damaged ON conversations (conversation_id) WHERE damaged IS NOT NULL",
)
SEARCHED: Mapping[str, list[str]] = {"entries": ["text", "called"], "events": ["text", "quote", "detail"]}


def create(database: "Database", made: str) -> None:
    """Makes everything in an empty file, in the transaction that is open; it follows nothing yet."""
    for name, columns in TABLES.items():
        database.create_table(name, dict(columns), pk=KEYS[name], foreign_keys=_foreign_keys(name))
        for indexed, unique in _INDEXES.get(name, ()):
            _table(database, name).create_index(indexed, unique=unique)
    for statement in _PARTIAL_INDEXES:
        database.execute(statement)
    for name, searched in SEARCHED.items():
        _table(database, name).enable_fts(searched, tokenize="unicode61 remove_diacritics 2")
    for name, statement in VIEWS.items():
        database.create_view(name, dedent(statement).strip())
    database.execute(
        "INSERT INTO following (id, position, log_position, format, made) VALUES (1, 0, 0, ?, ?)",
        (FORMAT, made),
    )
    database.execute(f"PRAGMA application_id={APPLICATION_ID}")


def drop(database: "Database") -> None:
    """Takes all that is ours away again, in the transaction that is open; views that somebody added stay."""
    for view in VIEWS:
        database.execute(f"DROP VIEW IF EXISTS {view}")
    for name in SEARCHED:
        if name in database.table_names():
            _table(database, name).disable_fts()
    for name in reversed(tuple(TABLES)):
        database.execute(f"DROP TABLE IF EXISTS {name}")


def _foreign_keys(name: str) -> list[tuple[str, str, str]]:
    if name in ("conversations", "following", "_settled"):
        return _FOREIGN_KEYS.get(name, [])
    return [_OF_A_CONVERSATION, *_FOREIGN_KEYS.get(name, [])]


def _table(database: "Database", name: str) -> "Table":
    return database.table(name)


def index_statement(name: str) -> str:
    """Adds the rows behind a key to the search index, all at once.

    With a trigger FTS5 would write to the file at every row.
    """
    columns, key = ", ".join(SEARCHED[name]), KEYS[name]
    return f"INSERT INTO {name}_fts (rowid, {columns}) SELECT {key}, {columns} FROM {name} WHERE {key} > ?"


def insert_statement(name: str, *, named: bool = True) -> str:
    """An insert of a whole row, its values by the names of their columns, or in their order."""
    columns = TABLES[name]
    values = ", ".join(f":{column}" if named else "?" for column in columns)
    return f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({values})"


def empty_row(name: str) -> dict[str, Any]:
    """A row with nothing in it."""
    return dict.fromkeys(TABLES[name])
