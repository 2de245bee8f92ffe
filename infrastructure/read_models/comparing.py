"""Two read model files compared, row by row: what was followed, against what the log gives anew."""

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from turnledger.infrastructure.read_models.file import ReadModelFile
from turnledger.infrastructure.read_models.schema import KEYS, REBUILT, SEARCHED, TABLES

NAMED_MAX = 20


@dataclass(frozen=True, slots=True)
class DifferingRow:
    """A row that is not as the log gives it: its table and key, which columns differ, or that it is `missing`
    or `too much`."""

    table: str
    key: tuple[Any, ...]
    what: str


@dataclass(slots=True)
class ReadModelsReport:
    """What a comparison up to `position` found: how many rows it went through, how many differ, and the first
    of these."""

    position: int
    rows: int = 0
    differing: int = 0
    first: list[DifferingRow] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.differing

    def found(self, table: str, key: tuple[Any, ...], what: str) -> None:
        self.differing += 1
        if len(self.first) < NAMED_MAX:
            self.first.append(DifferingRow(table, key, what))


def compared(
    followed: ReadModelFile, anew: ReadModelFile, position: int, broken: Iterable[str] = ()
) -> ReadModelsReport:
    """Compares all tables, and what makes them: indexes and views. `broken` indexes were found before."""
    comparison = ReadModelsReport(position)
    for fts in broken:
        comparison.found(fts, (), "does not index what the table holds")
    schemas = [dict(file.connection.execute(_SCHEMA).fetchall()) for file in (followed, anew)]
    for name in sorted(schemas[1]):  # what somebody has added is theirs
        if schemas[0].get(name) != schemas[1][name]:
            comparison.found("sqlite_master", (name,), "differs")
    if all(row.table != "sqlite_master" for row in comparison.first):
        for table in REBUILT:
            _compare(followed.connection, anew.connection, table, comparison)
    return comparison


_SCHEMA = "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"


def broken_indexes(file: ReadModelFile) -> list[str]:
    """The search indexes that do not hold what their tables hold, as FTS5 finds when it is asked to look."""
    broken = []
    for table in SEARCHED:
        fts = f"{table}_fts"
        try:
            file.connection.execute(f"INSERT INTO {fts} ({fts}, rank) VALUES ('integrity-check', 1)")
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            broken.append(fts)
    return broken


def _compare(
    followed: sqlite3.Connection, anew: sqlite3.Connection, table: str, comparison: ReadModelsReport
) -> None:
    """Goes through both in the order of their keys, as one goes through two sorted lists."""
    ours, theirs = _rows(followed, table), _rows(anew, table)
    one, other = next(ours, None), next(theirs, None)
    while one is not None or other is not None:
        comparison.rows += 1
        if other is None or (one is not None and one[0] < other[0]):
            assert one is not None
            comparison.found(table, one[0], "too much")
            one = next(ours, None)
        elif one is None or other[0] < one[0]:
            comparison.found(table, other[0], "missing")
            other = next(theirs, None)
        else:
            if one[1] != other[1]:
                comparison.found(table, one[0], _columns(table, one[1], other[1]))
            one, other = next(ours, None), next(theirs, None)


def _rows(connection: sqlite3.Connection, table: str) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    key = KEYS[table]
    names = (key,) if isinstance(key, str) else key
    columns = tuple(TABLES[table])
    places = [columns.index(name) for name in names]
    selected = ", ".join(f'"{column}"' for column in columns)
    for row in connection.execute(f"SELECT {selected} FROM {table} ORDER BY {', '.join(names)}"):
        yield tuple(row[place] for place in places), row


def _columns(table: str, one: tuple[Any, ...], other: tuple[Any, ...]) -> str:
    return ", ".join(
        name for name, a, b in zip(TABLES[table], one, other, strict=True) if a != b or type(a) is not type(b)
    )
