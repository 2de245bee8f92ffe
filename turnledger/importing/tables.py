"""What is known of a client that keeps its conversations in an SQLite file."""

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, NamedTuple

Tables = Mapping[str, AbstractSet[str]]
"""The names of a file's tables, each with those of its columns."""


@dataclass(frozen=True, slots=True)
class Key:
    """Which conversation of a file: the id that it has here, where it stands, and what finds it there."""

    conversation_id: str
    place: str
    where: tuple[Any, ...]


class Row(NamedTuple):
    """A message that has a row of its own, and where that stands."""

    place: str
    message: Any


@dataclass(frozen=True, slots=True)
class Source:
    """A client's file: `holds` tells whether tables are its own, the others read in one transaction each.

    Messages are those of the format that the source names; one with a row of its own is a `Row`, a row
    that is none a `BadLine` among them.
    """

    name: str
    format: str
    holds: Callable[[Tables], bool]
    conversations: Callable[[Tables], Callable[[sqlite3.Connection], list[Key]]]
    messages: Callable[[Tables, Key], Callable[[sqlite3.Connection], list[Any]]]


def has(tables: Tables, table: str, *columns: str) -> bool:
    """Whether there is such a table with these columns, others aside."""
    return table in tables and tables[table] >= set(columns)


def quoted(name: str) -> str:
    """A table's name inside a statement."""
    return '"' + name.replace('"', '""') + '"'


def rows(connection: sqlite3.Connection, statement: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
    """The rows of a query, each as a map."""
    return [dict(row) for row in connection.execute(statement, values)]


def json_or_text(value: Any) -> Any:
    """A column of JSON as its value; what is none as it is."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
