"""Sessions of the OpenAI Agents SDK: rows of its table of messages, each an item of OpenAI Responses.

A session is a conversation of its id, a branch of one (`AdvancedSQLiteSession`) is `<session>/<branch>`. The
session's id and the time of each row are kept in metadata; all else is for `openai_responses`.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from turnledger.importing import openai_responses
from turnledger.importing.reading import Format, Read
from turnledger.importing.tables import Key, Row, Source, Tables, has, quoted, rows
from turnledger.importing.transcripts import BadLine

NAME = "openai-agents"
_ITEM = "message_data"
_MAIN = "main"


def read(messages: Sequence[Any], start: int = 0) -> Iterator[Read]:
    """The rows from `start` on, as messages; what is no row goes on as it is."""
    for found in openai_responses.read([_item(row) for row in messages], start):
        row = messages[found.index]
        if not marks(row) or not isinstance(found.message, Mapping):
            yield found
            continue
        metadata = found.message.get("metadata") or {}
        about = {key: value for key, value in row.items() if key != _ITEM and value is not None}
        with_row = {**found.message, "metadata": {**metadata, NAME: about}} if about else found.message
        yield Read(with_row, found.index, found.blocks)


def _item(row: Any) -> Any:
    return row[_ITEM] if marks(row) else row


def marks(message: Any) -> bool:
    return isinstance(message, Mapping) and _ITEM in message


FORMAT = Format(NAME, read, marks)


def _message_tables(tables: Tables) -> list[str]:
    """The tables of messages, whatever the program called them."""
    return [name for name in tables if has(tables, name, "id", "session_id", _ITEM)]


def _branches(tables: Tables) -> bool:
    return has(tables, "message_structure", "session_id", "message_id", "branch_id", "sequence_number")


def _conversations(tables: Tables) -> Callable[[sqlite3.Connection], list[Key]]:
    def reading(connection: sqlite3.Connection) -> list[Key]:
        return [key for table in _message_tables(tables) for key in _keys(connection, tables, table)]

    return reading


def _keys(connection: sqlite3.Connection, tables: Tables, table: str) -> Iterator[Key]:
    sessions = f"SELECT session_id FROM {quoted(table)} GROUP BY session_id ORDER BY min(id)"
    branches = (
        "SELECT branch_id FROM message_structure WHERE session_id = ? GROUP BY branch_id ORDER BY min(id)"
    )
    for session_id in (row["session_id"] for row in rows(connection, sessions)):
        found = rows(connection, branches, [session_id]) if _branches(tables) else []
        for branch in (row["branch_id"] for row in found or [{"branch_id": None}]):
            name = session_id if branch in (None, _MAIN) else f"{session_id}/{branch}"
            yield Key(name, f"session {session_id!r}", (table, session_id, branch))


def _messages(tables: Tables, key: Key) -> Callable[[sqlite3.Connection], list[Any]]:
    table, session_id, branch = key.where
    created = "m.created_at" if has(tables, table, "created_at") else "NULL AS created_at"
    statement = f"SELECT m.id, m.session_id, m.{_ITEM}, {created} FROM {quoted(table)} m"
    if branch is None:
        statement, values = f"{statement} WHERE m.session_id = ? ORDER BY m.id", [session_id]
    else:
        statement += " JOIN message_structure s ON s.message_id = m.id"
        statement += " WHERE m.session_id = ? AND s.branch_id = ? ORDER BY s.sequence_number, s.id"
        values = [session_id, branch]

    def reading(connection: sqlite3.Connection) -> list[Any]:
        return [_row(row, table) for row in rows(connection, statement, values)]

    return reading


def _row(row: dict[str, Any], table: str) -> Row | BadLine:
    place = f"row {row.pop('id')} of {table}"
    try:
        return Row(place, {**row, _ITEM: json.loads(row[_ITEM])})
    except (TypeError, ValueError, RecursionError) as error:
        return BadLine(place, f"it is no JSON: {error}")


SOURCE = Source(
    name="the sessions of the OpenAI Agents SDK",
    format=NAME,
    holds=lambda tables: bool(_message_tables(tables)),
    conversations=_conversations,
    messages=_messages,
)
