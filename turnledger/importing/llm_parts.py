"""What the schemas of `llm`'s log share: attachments by their ids, and what is told of a model's call."""

import sqlite3
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from turnledger.importing.tables import json_or_text, rows

_TOLD = (
    "id",
    "model",
    "resolved_model",
    "datetime_utc",
    "duration_ms",
    "input_tokens",
    "output_tokens",
)
_TOLD_IN_JSON = {"token_details": "token_details", "options": "options_json"}


def turn_of(connection: sqlite3.Connection, row: Mapping[str, Any]) -> dict[str, Any]:
    """Which model answered, when, with which options and schema, and what it took."""
    told = {key: row.get(key) for key in _TOLD}
    told |= {key: json_or_text(row.get(column)) for key, column in _TOLD_IN_JSON.items()}
    if row.get("schema_id"):
        found = rows(connection, "SELECT content FROM schemas WHERE id = ?", [row["schema_id"]])
        told["schema"] = json_or_text(found[0]["content"]) if found else row["schema_id"]
    return {key: value for key, value in told.items() if value not in (None, "", {})}


class Attachments:
    """The attachments of a log. A file that stayed where it was is known by its path alone."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def get(self, attachment_id: Any) -> dict[str, Any]:
        found = rows(self._connection, "SELECT * FROM attachments WHERE id = ?", [attachment_id])
        return attachment_of(found[0]) if found else {"path": f"attachment {attachment_id}"}


def attachment_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of attachments as `llm` writes one in JSON: its bytes in base64."""
    content = row.get("content")
    data = b64encode(content).decode("ascii") if isinstance(content, bytes) else content
    told = {"type": row.get("type"), "url": row.get("url"), "path": row.get("path"), "content": data}
    return {key: value for key, value in told.items() if value}
