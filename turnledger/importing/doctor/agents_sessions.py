"""Sessions of the OpenAI Agents SDK examined in their database: a row is an item, a branch a conversation.

The SDK reads a session's rows in the order of their ids, those of a branch by their sequence numbers, and
skips what is no JSON. What `EncryptedSession` wrote cannot be examined.
"""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from turnledger.importing.doctor import findings as kinds
from turnledger.importing.doctor.anatomies import treated_as
from turnledger.importing.doctor.findings import Finding, Path, spelled
from turnledger.importing.doctor.patching import Origins
from turnledger.importing.doctor.rows import Row, Wanted, wanted
from turnledger.importing.doctor.writable import writable
from turnledger.importing.openai_agents import SOURCE
from turnledger.importing.tables import Key, Tables, quoted, rows

ITEMS = "openai-responses"
_SEALED = "__enc__"
_NOTHING = object()  # the value of a row that holds none


@dataclass(slots=True, eq=False)
class Session:
    """A session, or a branch of one, as it stands and as it is to be; `gone` are the rows that go."""

    table: str
    session_id: Any
    branch: Any
    rows: list[Row]
    wanted: list[Wanted]
    findings: list[Finding]

    @property
    def gone(self) -> list[Row]:
        kept = {id(one.row) for one in self.wanted}
        return [row for row in self.rows if id(row) not in kept]

    @property
    def changed(self) -> bool:
        return bool(self.gone) or any(one.changed for one in self.wanted)


def sessions(connection: sqlite3.Connection, tables: Tables) -> list[Session]:
    """All that a database holds, examined."""
    return [_Examination(connection, key).session() for key in SOURCE.conversations(tables)(connection)]


class _Examination:
    def __init__(self, connection: sqlite3.Connection, key: Key) -> None:
        self._table, self._session_id, self._branch = key.where
        self._origins = Origins()
        self._findings: list[Finding] = []
        self._rows = [self._row(*row.values()) for row in rows(connection, *self._statement())]

    def session(self) -> Session:
        sound = [row for row in self._rows if row.value is not _NOTHING]
        sealed = next((row for row in sound if isinstance(row.value, dict) and _SEALED in row.value), None)
        if sealed:
            self._tell(kinds.BAD_LINE, sealed, "its items are encrypted, so nobody can tell", "left as it is")
            return self._as(sound, [row.value for row in sound], set())
        clean = [self._clean(row) for row in sound]
        places = [place for place, value in enumerate(clean) if value is not _NOTHING]
        treated = treated_as(
            ITEMS,
            [clean[place] for place in places],
            self._origins,
            lambda index, path: self._place(sound[places[index]], path),
        )
        self._findings += treated.findings
        return self._as(sound, treated.messages, {places[index] for index in treated.moved})

    def _as(self, sound: Sequence[Row], items: Sequence[Any], moved: set[int]) -> Session:
        found = list(wanted(sound, items, moved, self._origins))
        return Session(self._table, self._session_id, self._branch, self._rows, found, self._findings)

    def _statement(self) -> tuple[str, list[Any]]:
        """The rows in the order in which the SDK reads them; their text in bytes, whatever these are."""
        text, table = "CAST(m.message_data AS BLOB) AS text", quoted(self._table)
        if self._branch is None:
            statement = f"SELECT m.id, m.id AS number, NULL AS link, {text} FROM {table} m"
            return f"{statement} WHERE m.session_id = ? ORDER BY m.id", [self._session_id]
        statement = f"SELECT m.id, s.sequence_number AS number, s.id AS link, {text} FROM {table} m"
        statement += " JOIN message_structure s ON s.message_id = m.id WHERE m.session_id = ?"
        order = "ORDER BY s.sequence_number, s.id"
        return f"{statement} AND s.branch_id = ? {order}", [self._session_id, self._branch]

    def _row(self, number: int, read_by: int, link: int | None, data: bytes | None) -> Row:
        text = (data or b"").decode("utf-8", "surrogateescape")
        row = Row(number, read_by, link, text, _NOTHING)
        try:
            row.value = json.loads(text)
        except (ValueError, RecursionError) as error:
            self._tell(kinds.BAD_LINE, row, f"it is no JSON: {error}; the SDK skips it", "left out")
        return row

    def _clean(self, row: Row) -> Any:
        """What of a row can be written; `_NOTHING` where nothing can."""

        def tell(path: Path, reason: str, remedy: str) -> None:
            self._findings.append(Finding(kinds.UNWRITABLE, self._place(row, path), reason, remedy))

        try:
            return writable(row.value, tell, self._origins)
        except (ValueError, RecursionError):
            self._tell(kinds.BAD_LINE, row, "it is nested too deep", "left out")
            return _NOTHING

    def _tell(self, kind: str, row: Row, reason: str, remedy: str) -> None:
        self._findings.append(Finding(kind, self._place(row, ()), reason, remedy))

    def _place(self, row: Row, path: Path) -> str:
        branch = [f"branch {self._branch!r}"] if self._branch is not None else []
        where = [f"row {row.id} of {self._table}", f"session {self._session_id!r}", *branch, spelled(path)]
        return ", ".join(one for one in where if one)
