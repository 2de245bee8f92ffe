"""The log of `llm` examined in its database: each message by the row that it is read from; never written.

In its newer schema a message is named by a hash of itself and of all before it, and conversations share what
they have in common; in the older ones an answer is a row together with what was asked. A result that never
came has no row that it could stand in without another call of the model.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from turnledger.importing.doctor.anatomies import treated_as
from turnledger.importing.doctor.findings import BAD_LINE, Finding, Path, spelled
from turnledger.importing.doctor.patching import Origins
from turnledger.importing.llm import NAME
from turnledger.importing.llm_logs import SOURCE
from turnledger.importing.llm_threads import chain_hashes
from turnledger.importing.tables import Key, Tables
from turnledger.importing.transcripts import BadLine

UNMENDED = (
    "llm names a message by a hash of all before it, and a call of a model by one row: import the log, and "
    "export what a provider takes"
)
_LEFT = "left as it is"


def log_findings(connection: sqlite3.Connection, tables: Tables) -> list[tuple[int, list[Finding]]]:
    """How many messages each conversation of a log has, and what was found in it."""
    keys = SOURCE.conversations(tables)(connection)
    return [_examined(connection, tables, key) for key in keys]


def _examined(connection: sqlite3.Connection, tables: Tables, key: Key) -> tuple[int, list[Finding]]:
    read = SOURCE.messages(tables, key)(connection)
    bad = [
        Finding(BAD_LINE, f"{one.place}, {key.place}", one.reason, _LEFT)
        for one in read
        if isinstance(one, BadLine)
    ]
    messages = [one for one in read if not isinstance(one, BadLine)]
    places = _places(connection, key, messages)
    treated = treated_as(NAME, messages, Origins(), lambda index, path: _place(places[index], path, key))
    left = [Finding(one.kind, one.place, one.reason, _LEFT, one.call_id) for one in treated.findings]
    return len(messages), [*bad, *left]


def _place(row: str, path: Path, key: Key) -> str:
    return ", ".join(one for one in (row, key.place, spelled(path)) if one)


def _places(connection: sqlite3.Connection, key: Key, messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """The row that each message comes from: its own, or that of the answer that it belongs to."""
    table, where = key.where
    if table == "threads":
        return [f"message {found} of messages" for found in chain_hashes(connection, where)]
    places: list[str] = []
    answer = ""
    for message in reversed(messages):
        turn = message.get("turn")
        answer = f"row {turn.get('id')} of {table}" if isinstance(turn, Mapping) else answer
        places.append(answer)
    return places[::-1]
