"""A database's rows written as they are to be: only those concerned are changed, deleted or inserted.

A new row is like the row before it in all but its item and its number. A session without branches is read by
the ids of its rows, so a row that is put between two others needs an id between theirs: where no id is free
there, the rows of the session behind it get higher ids. A row that branches share is changed for all of them
where all want the same of it; else a branch gets a row of its own.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from turnledger.importing.doctor.agents_sessions import Session
from turnledger.importing.doctor.rows import Row, Wanted, numbered
from turnledger.importing.tables import Tables, quoted, rows

_LINKS = "message_structure"


def rewrite(connection: sqlite3.Connection, tables: Tables, found: Iterable[Session]) -> None:
    """Writes all sessions that change; the caller holds the transaction."""
    branches: dict[tuple[str, Any], list[Session]] = defaultdict(list)
    for session in found:
        if session.branch is not None:
            branches[session.table, session.session_id].append(session)
        elif session.changed:
            _Rows(connection, tables, session.table).write(session)
    for (table, _), group in branches.items():
        if any(session.changed for session in group):
            _Branches(connection, tables, table).write(group)


class _Table:
    def __init__(self, connection: sqlite3.Connection, tables: Tables, table: str) -> None:
        self._connection = connection
        self._tables = tables
        self._table = table

    def _set(self, table: str, row_id: int, **values: Any) -> None:
        names = ", ".join(f"{quoted(name)} = ?" for name in values)
        statement = f"UPDATE {quoted(table)} SET {names} WHERE id = ?"
        self._connection.execute(statement, [*values.values(), row_id])

    def _delete(self, table: str, row_id: int) -> None:
        self._connection.execute(f"DELETE FROM {quoted(table)} WHERE id = ?", [row_id])

    def _insert_like(self, table: str, row_id: int, **values: Any) -> int:
        """A row like another in all but these values; gives its id."""
        known = {name: value for name, value in values.items() if name in self._tables[table]}
        others = sorted(self._tables[table] - {"id", *known})
        names = ", ".join(map(quoted, [*others, *known]))
        sought = ", ".join([*map(quoted, others), *("?" for _ in known)])
        statement = f"INSERT INTO {quoted(table)} ({names}) SELECT {sought} FROM {quoted(table)} WHERE id = ?"
        return int(self._connection.execute(statement, [*known.values(), row_id]).lastrowid or 0)

    def _numbers(self, statement: str, *values: Any) -> set[int]:
        return {int(row["number"]) for row in rows(self._connection, statement, values)}


class _Rows(_Table):
    """A session that is read by the ids of its rows."""

    def write(self, session: Session) -> None:
        for row in session.gone:
            self._delete(self._table, row.id)
        for one in session.wanted:
            if one.row and one.text != one.row.text:
                self._set(self._table, one.row.id, message_data=one.text)
        taken = f"SELECT id AS number FROM {quoted(self._table)} WHERE session_id <> ?"
        ids = numbered(session.wanted, self._numbers(taken, session.session_id))
        self._place(list(zip(session.wanted, ids, strict=True)))

    def _place(self, placed: Sequence[tuple[Wanted, int]]) -> None:
        """Gives each row its id: first those that move up, the last first, then those between them."""
        (top,) = self._numbers(f"SELECT coalesce(max(id), 0) AS number FROM {quoted(self._table)}")
        aside = max([top, *(number for _, number in placed)]) + 1
        moved = [one.row.id for one, _ in placed if one.row and one.moved]
        for offset, row_id in enumerate(moved):
            self._set(self._table, row_id, id=aside + offset)
        for one, number in reversed(placed):
            if one.row and not one.moved and one.row.id != number:
                self._set(self._table, one.row.id, id=number)
        self._fill(placed, {row_id: aside + offset for offset, row_id in enumerate(moved)})

    def _fill(self, placed: Sequence[tuple[Wanted, int]], aside: dict[int, int]) -> None:
        before = next((number for one, number in placed if one.row and not one.moved), None)
        for one, number in placed:
            if one.row is None and before is not None:
                self._insert_like(self._table, before, id=number, message_data=one.text)
            elif one.row and one.moved:
                self._set(self._table, aside[one.row.id], id=number, **self._time_of(before))
            before = number

    def _time_of(self, row_id: int | None) -> dict[str, Any]:
        """The time of a row, for one that is moved behind it: some clients read by the time first."""
        if row_id is None or "created_at" not in self._tables[self._table]:
            return {}
        statement = f"SELECT created_at FROM {quoted(self._table)} WHERE id = ?"
        return rows(self._connection, statement, [row_id])[0]


class _Branches(_Table):
    """The branches of a session, each read by the sequence numbers of its links to rows."""

    def write(self, group: Sequence[Session]) -> None:
        texts: dict[int, set[str]] = defaultdict(set)
        for session in group:
            for row, one in ((one.row, one) for one in session.wanted):
                if row:
                    texts[row.id].add(one.text)
        for session in group:
            if session.changed:
                self._write(session, {row_id for row_id, wanted in texts.items() if len(wanted) == 1})
        self._sweep({row.id for session in group for row in session.rows})

    def _write(self, session: Session, of_all: set[int]) -> None:
        for row in session.gone:
            self._delete(_LINKS, int(row.link or 0))
        taken = f"SELECT sequence_number AS number FROM {_LINKS} WHERE session_id = ? AND branch_id <> ?"
        numbers = numbered(session.wanted, self._numbers(taken, session.session_id, session.branch))
        before = next((one.row for one in session.wanted if one.row), None)
        for one, number in zip(session.wanted, numbers, strict=True):
            if one.row is None and before is not None:
                self._add(one, number, before)
            elif one.row:
                self._keep(one, one.row, number, shared=one.row.id in of_all)
                before = one.row

    def _add(self, one: Wanted, number: int, before: Row) -> None:
        message_id = self._insert_like(self._table, before.id, message_data=one.text)
        kind = str(one.item.get("type"))
        told = {"message_id": message_id, "sequence_number": number, "message_type": kind, "tool_name": None}
        self._insert_like(_LINKS, int(before.link or 0), **told)

    def _keep(self, one: Wanted, row: Row, number: int, *, shared: bool) -> None:
        if one.text != row.text and shared:
            self._set(self._table, row.id, message_data=one.text)
        elif one.text != row.text:
            message_id = self._insert_like(self._table, row.id, message_data=one.text)
            self._set(_LINKS, int(row.link or 0), message_id=message_id)
        if number != row.number:
            self._set(_LINKS, int(row.link or 0), sequence_number=number)

    def _sweep(self, row_ids: set[int]) -> None:
        """Deletes the rows that no branch has any more."""
        linked = self._numbers(f"SELECT message_id AS number FROM {_LINKS}")
        for row_id in row_ids - linked:
            self._delete(self._table, row_id)
