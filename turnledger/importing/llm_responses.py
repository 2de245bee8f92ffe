"""Conversations in the older logs of `llm`: a row for each answer, with its prompt, and with tools later on.

The columns and tables grew over time: what a log does not have yet is left out.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from turnledger.importing.llm_parts import attachment_of, turn_of
from turnledger.importing.tables import Tables, json_or_text, rows

Row = dict[str, Any]


class Response(NamedTuple):
    """Where one response stands: its id, and those of its calls and results, which no index finds."""

    id: Any
    calls: tuple[int, ...]
    results: tuple[int, ...]


def response_rows(connection: sqlite3.Connection, tables: Tables) -> dict[Any, list[Response]]:
    """Each conversation's responses, in their order."""
    calls, results = (_by_response(connection, tables, table) for table in ("tool_calls", "tool_results"))
    statement = "SELECT id, coalesce(conversation_id, id) AS conversation FROM responses ORDER BY rowid"
    found: dict[Any, list[Response]] = {}
    for row in rows(connection, statement):
        one = Response(row["id"], tuple(calls.get(row["id"], ())), tuple(results.get(row["id"], ())))
        found.setdefault(row["conversation"], []).append(one)
    return found


def _by_response(connection: sqlite3.Connection, tables: Tables, table: str) -> dict[Any, list[int]]:
    found: dict[Any, list[int]] = {}
    if table in tables:
        for row in rows(connection, f"SELECT id, response_id FROM {table} ORDER BY id"):
            found.setdefault(row["response_id"], []).append(row["id"])
    return found


def response_messages(
    connection: sqlite3.Connection, tables: Tables, responses: Sequence[Response]
) -> list[Row]:
    """The messages of a conversation, from the first on."""
    statement = "SELECT * FROM responses WHERE id = ?"
    found = [(row, one) for one in responses for row in rows(connection, statement, [one.id])]
    return _messages((row, _Beside(connection, tables, one)) for row, one in found)


def chats(connection: sqlite3.Connection, table: str) -> list[int]:
    """The chats of the first schema, each by the number of its first row."""
    statement = f"SELECT DISTINCT coalesce(chat_id, rowid) AS chat FROM {table} ORDER BY 1"
    return [row["chat"] for row in rows(connection, statement)]


def first_log_messages(connection: sqlite3.Connection, table: str, chat: int) -> list[Row]:
    """The messages of a chat in the first schema: its first row, and those that name that one."""
    statement = f"SELECT rowid AS id, * FROM {table} WHERE coalesce(chat_id, rowid) = ? ORDER BY rowid"
    nothing = _Beside(connection, {}, Response(None, (), ()))
    found = rows(connection, statement, [chat])
    return _messages(({"datetime_utc": row.get("timestamp"), **row}, nothing) for row in found)


def _messages(responses: Iterable[tuple[Row, "_Beside"]]) -> list[Row]:
    messages: list[Row] = []
    system = ""
    for row, beside in responses:
        texts = (text.strip() for text in (*beside.fragments("system"), row["system"] or ""))
        told = "\n\n".join(text for text in texts if text)
        if told and told != system:
            messages.append({"role": "system", "parts": [{"type": "text", "text": told}]})
            system = told
        if results := beside.results():
            messages.append({"role": "tool", "parts": results})
        asked = "\n".join(text for text in (*beside.fragments("prompt"), row["prompt"]) if text)
        parts = ([{"type": "text", "text": asked}] if asked else []) + beside.attachments()
        if parts:
            messages.append({"role": "user", "parts": parts})
        messages.append(_answer(row, beside))
    return messages


def _answer(row: Row, beside: "_Beside") -> Row:
    texts = (("reasoning", row.get("reasoning")), ("text", row["response"]))
    parts = [{"type": kind, "text": text} for kind, text in texts if text]
    return {"role": "assistant", "parts": parts + beside.calls(), "turn": turn_of(beside.connection, row)}


class _Beside:
    """What stands for one response in tables of their own."""

    def __init__(self, connection: sqlite3.Connection, tables: Tables, response: Response) -> None:
        self.connection, self._tables, self._response = connection, tables, response

    def _rows(self, table: str, columns: str, other: str, key: str) -> list[Row]:
        """The rows of another table that a table of pairs leads to, in its order."""
        if table not in self._tables:
            return []
        statement = (
            f"SELECT {columns} FROM {table} p JOIN {other} o ON o.id = p.{key} WHERE p.response_id = ?"
        )
        return rows(self.connection, f'{statement} ORDER BY p."order"', [self._response.id])

    def fragments(self, kind: str) -> list[str]:
        found = self._rows(f"{kind}_fragments", "o.content", "fragments", "fragment_id")
        return [row["content"] for row in found if row["content"]]

    def attachments(self) -> list[Row]:
        found = self._rows("prompt_attachments", "o.*", "attachments", "attachment_id")
        return [{"type": "attachment", "attachment": attachment_of(row)} for row in found]

    def calls(self) -> list[Row]:
        found = self._each("tool_calls", self._response.calls)
        return [_tool("tool_call", row, arguments=json_or_text(row["arguments"])) for row in found]

    def results(self) -> list[Row]:
        return [
            _tool(
                "tool_result",
                row,
                output=row["output"],
                exception=row.get("exception"),
                attachments=self._made(row["id"]),
            )
            for row in self._each("tool_results", self._response.results)
        ]

    def _each(self, table: str, ids: Sequence[int]) -> Iterator[Row]:
        for one in ids:
            yield from rows(self.connection, f"SELECT * FROM {table} WHERE id = ?", [one])

    def _made(self, result: int) -> list[Row]:
        """The attachments that a tool made."""
        if "tool_results_attachments" not in self._tables:
            return []
        statement = (
            "SELECT a.* FROM tool_results_attachments t JOIN attachments a ON a.id = t.attachment_id"
            ' WHERE t.tool_result_id = ? ORDER BY t."order"'
        )
        return [attachment_of(row) for row in rows(self.connection, statement, [result])]


def _tool(kind: str, row: Row, **more: Any) -> Row:
    given = {"name": row["name"], "tool_call_id": row["tool_call_id"], **more}
    return {"type": kind} | {key: value for key, value in given.items() if value not in (None, [])}
