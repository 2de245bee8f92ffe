"""The log of the `llm` command, in any of its schemas: threads of messages, responses, and the first log.

Each conversation becomes messages of the format `llm`: fragments resolved, attachments put in, each answer
with its model, time and usage. The service's raw requests and replies, which repeat all of it, are left.
"""

import sqlite3
from collections.abc import Callable
from typing import Any

from turnledger.importing.llm import NAME
from turnledger.importing.llm_responses import chats, first_log_messages, response_messages, response_rows
from turnledger.importing.llm_threads import thread_messages
from turnledger.importing.tables import Key, Source, Tables, has, rows

_RESPONSE = ("id", "model", "prompt", "system", "response", "conversation_id")
_FIRST = ("model", "prompt", "system", "response", "chat_id")


def _has_threads(tables: Tables) -> bool:
    return (
        has(tables, "threads", "id", "tip_message_hash") and {"messages", "parts", "turns"} <= tables.keys()
    )


def _first_logs(tables: Tables) -> list[str]:
    """The tables of the first schema; its rows stayed when the second one came."""
    return [table for table in ("log", "logs") if has(tables, table, *_FIRST)]


def _holds(tables: Tables) -> bool:
    return _has_threads(tables) or has(tables, "responses", *_RESPONSE) or bool(_first_logs(tables))


def _conversations(tables: Tables) -> Callable[[sqlite3.Connection], list[Key]]:
    def reading(connection: sqlite3.Connection) -> list[Key]:
        """The older ones first. A conversation that was gone on with in threads stands there as a whole."""
        threads = rows(connection, _THREADS) if _has_threads(tables) else []
        continued = {row["id"] for row in threads}
        older = response_rows(connection, tables) if has(tables, "responses", *_RESPONSE) else {}
        found = [
            _key(table, chat, chat) for table in _first_logs(tables) for chat in chats(connection, table)
        ]
        found += [_key("responses", name, where) for name, where in older.items() if name not in continued]
        return found + [_key("threads", row["id"], row["id"]) for row in threads]

    return reading


_THREADS = "SELECT id FROM threads WHERE tip_message_hash IS NOT NULL ORDER BY rowid"


def _key(table: str, name: Any, where: Any) -> Key:
    conversation_id = f"log-{name}" if table in ("log", "logs") else name
    return Key(conversation_id, f"conversation {name!r}", (table, where))


def _messages(tables: Tables, key: Key) -> Callable[[sqlite3.Connection], list[Any]]:
    table, where = key.where
    if table == "threads":
        return lambda connection: thread_messages(connection, where)
    if table == "responses":
        return lambda connection: response_messages(connection, tables, where)
    return lambda connection: first_log_messages(connection, table, where)


SOURCE = Source(
    name="the log of llm", format=NAME, holds=_holds, conversations=_conversations, messages=_messages
)
