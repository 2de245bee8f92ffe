"""Conversations in the newer log of `llm`: chains of messages that threads point at, and their turns.

A message is named by its content and all before it, so that threads share what they have in common; what one
call of a model took stands on its turn, which points at the last message of its answer.
"""

import sqlite3
from typing import Any

from turnledger.importing.llm_parts import Attachments, turn_of
from turnledger.importing.tables import json_or_text, rows
from turnledger.importing.transcripts import BadLine

Row = dict[str, Any]


def thread_messages(connection: sqlite3.Connection, thread_id: str) -> list[Any]:
    """A thread's messages, from the first on."""
    turns = _turns(connection, thread_id)
    attachments = Attachments(connection)
    found: list[Any] = []
    for row in _chain(connection, thread_id):
        if isinstance(row, BadLine):
            found.append(row)
            continue
        message = {"role": row["role"], "parts": _parts(connection, row["hash"], attachments)}
        about = {"provider_metadata": json_or_text(row["provider_metadata"]), "turn": turns.get(row["hash"])}
        found.append(message | {key: value for key, value in about.items() if value})
    return found


def chain_hashes(connection: sqlite3.Connection, thread_id: str) -> list[str]:
    """The names of the messages that a thread has, from the first on."""
    return [row["hash"] for row in _chain(connection, thread_id) if not isinstance(row, BadLine)]


def _chain(connection: sqlite3.Connection, thread_id: str) -> list[Row | BadLine]:
    (thread,) = rows(connection, "SELECT tip_message_hash AS tip FROM threads WHERE id = ?", [thread_id])
    chain: list[Row | BadLine] = []
    seen: set[str] = set()
    sought = thread["tip"]
    while sought is not None and sought not in seen:
        seen.add(sought)
        found = rows(connection, "SELECT * FROM messages WHERE hash = ?", [sought])
        if not found:
            chain.append(BadLine(f"message {sought}", "it is missing, and what stands before it with it"))
            break
        chain.append(found[0])
        sought = found[0]["parent_hash"]
    return chain[::-1]


def _turns(connection: sqlite3.Connection, thread_id: str) -> dict[str, Row]:
    """The turns of a thread and of those it was forked from, its own first, by the last message of each."""
    found: dict[str, Row] = {}
    threads: list[Any] = [thread_id]
    for one in threads:
        for row in rows(connection, "SELECT * FROM turns WHERE thread_id = ? ORDER BY rowid", [one]):
            found.setdefault(row["tip_message_hash"], turn_of(connection, row))
        forked = rows(connection, "SELECT forked_from FROM threads WHERE id = ?", [one])
        threads += [row["forked_from"] for row in forked if row["forked_from"] not in (None, *threads)]
    return found


def _parts(connection: sqlite3.Connection, message: str, attachments: Attachments) -> list[Row]:
    found = rows(connection, "SELECT * FROM parts WHERE message_hash = ? ORDER BY position", [message])
    return [_part(connection, row, attachments) for row in found]


def _part(connection: sqlite3.Connection, row: Row, attachments: Attachments) -> Row:
    payload = json_or_text(row["payload"]) if row["payload"] else {}
    part: Row = {"type": row["type"], **(payload if isinstance(payload, dict) else {"payload": payload})}
    if row["text"] is not None:
        part["text"] = row["text"]
    if isinstance(part.get("text_ref"), list):
        part["text"] = "".join(_piece(connection, piece) for piece in part.pop("text_ref"))
    if isinstance(part.get("attachment"), dict):
        part["attachment"] = attachments.get(part["attachment"].get("id"))
    if isinstance(part.get("attachments"), list):
        part["attachments"] = [attachments.get(one.get("id")) for one in part["attachments"]]
    return part


def _piece(connection: sqlite3.Connection, piece: Row) -> str:
    """A piece of a text: its own, or that of a fragment."""
    if "literal" in piece:
        return str(piece["literal"])
    found = rows(connection, "SELECT content FROM fragments WHERE id = ?", [piece.get("fragment")])
    return str(found[0]["content"]) if found else ""
