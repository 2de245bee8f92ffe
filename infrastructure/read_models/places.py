"""The place of each entry in the sendable list, as a column: worked out behind what is settled, and written.

What is settled keeps its place, but for two things: a system message moves all others by one, and a heal far
from the end places its turn and the results of that anew, where nothing else has to do with them.
"""

import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic_core import from_json

from turnledger.infrastructure.read_models.folds import Fold
from turnledger.projections.placing import Settled, placed, placed_turn

_BEHIND = "SELECT entry_id FROM entries WHERE conversation_id = ?1 AND position >= ?2"
_END = 2**62
_OWNED = "SELECT call_id FROM calls WHERE entry_id = ?1"
_ANSWERS = (
    "SELECT MIN(position), MAX(position), COUNT(position) FROM entries"
    f" WHERE conversation_id = ?2 AND call_id IN ({_OWNED})"
)
_ALSO_DECLARED = (
    "SELECT 1 FROM calls JOIN entries USING (entry_id) WHERE calls.conversation_id = ?2"
    f" AND calls.call_id IN ({_OWNED}) AND calls.entry_id != ?1 AND position IS NOT NULL LIMIT 1"
)


class _Row(NamedTuple):
    """An entry that stands in the buffer: its place in the list until now, and its message."""

    entry_id: int
    position: int
    place: int | None
    stored: dict[str, Any]


class Places:
    """Writes the places of entries, in the transaction that is open."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def place(self, fold: Fold) -> None:
        """Places what is not settled, and settles what can be."""
        rows = self._rows(fold, fold.settled.entries)
        declared, orphans = self._touched(fold, rows)
        found = placed([row.stored for row in rows], fold.settled, declared, orphans)
        if found is None:
            fold.settled = Settled()
            rows = self._rows(fold, 0)
            found = placed([row.stored for row in rows], fold.settled)
            assert found is not None
        elif fold.settled.others and found.systems != fold.sent_systems:
            self._move_others(fold, found.systems - fold.sent_systems)
        self._write(rows, found.places)
        fold.settled, fold.sent_systems = found.settled, found.systems

    def heal(self, fold: Fold, turn_entry: int) -> bool:
        """Places a turn that is settled anew, with its results, one of which is a heal just now.

        False where more than the turn and the results right behind it has to do with its calls.
        """
        turn = self._connection.execute(
            "SELECT entry_id, position, sendable_position FROM entries WHERE conversation_id = ?"
            " AND entry = ? AND position IS NOT NULL AND sendable_position IS NOT NULL",
            (fold.conversation_id, turn_entry),
        ).fetchone()
        if turn is None:
            return False
        entry_id, position, place = turn
        owned = (entry_id, fold.conversation_id)
        first, last, count = self._connection.execute(_ANSWERS, owned).fetchone()
        if not count or first <= position or last != position + count:
            return False
        if self._connection.execute(_ALSO_DECLARED, owned).fetchone():
            return False
        rows = self._rows(fold, position, last + 1)
        self._write(rows, placed_turn([row.stored for row in rows], position, place))
        return True

    def _write(self, rows: Sequence[_Row], places: Mapping[int, int]) -> None:
        self._connection.executemany(
            "UPDATE entries SET sendable_position = ? WHERE entry_id = ?",
            [
                (places.get(row.position), row.entry_id)
                for row in rows
                if places.get(row.position) != row.place
            ],
        )

    def _rows(self, fold: Fold, first: int, end: int = _END) -> list[_Row]:
        """The entries from a position on, up to another."""
        found = self._connection.execute(
            "SELECT entry_id, position, sendable_position, role, COALESCE(content, text), content IS NULL,"
            " metadata FROM entries WHERE conversation_id = ? AND position >= ? AND position < ?"
            " ORDER BY position",
            (fold.conversation_id, first, end),
        )
        return [
            _Row(
                entry_id,
                position,
                place,
                {
                    "role": role,
                    "content": content if is_text else from_json(content),
                    "metadata": from_json(metadata) if metadata else {},
                },
            )
            for entry_id, position, place, role, content, is_text, metadata in found
        ]

    def _touched(self, fold: Fold, rows: Iterable[_Row]) -> tuple[Collection[str], Collection[str]]:
        """Of the ids behind what is settled, those that settled turns declare or settled results have.

        Looked up by what is new, never by going through what is settled: hence the order of the joins.
        """
        if not fold.settled.entries or not any(row.stored["metadata"] for row in rows):
            return (), ()
        behind = (fold.conversation_id, fold.settled.entries)
        declared = self._ids(
            "SELECT settled.call_id FROM calls AS new CROSS JOIN calls AS settled"
            " ON settled.conversation_id = new.conversation_id AND settled.call_id = new.call_id"
            " CROSS JOIN entries AS turn ON turn.entry_id = settled.entry_id"
            f" WHERE new.entry_id IN ({_BEHIND}) AND turn.position < ?2"
            " UNION SELECT calls.call_id FROM entries AS new CROSS JOIN calls"
            " ON calls.conversation_id = new.conversation_id AND calls.call_id = new.call_id"
            " CROSS JOIN entries AS turn ON turn.entry_id = calls.entry_id"
            " WHERE new.conversation_id = ?1 AND new.position >= ?2 AND turn.position < ?2",
            behind,
        )
        answered = self._ids(
            "SELECT settled.call_id FROM calls AS new CROSS JOIN entries AS settled"
            " ON settled.conversation_id = new.conversation_id AND settled.call_id = new.call_id"
            f" WHERE new.entry_id IN ({_BEHIND}) AND +settled.position < ?2",
            behind,
        )
        return declared, answered - declared

    def _ids(self, statement: str, parameters: tuple[Any, ...]) -> set[str]:
        return {found[0] for found in self._connection.execute(statement, parameters)}

    def _move_others(self, fold: Fold, by: int) -> None:
        """A system message goes to the front of the list, so that all that is settled moves by one."""
        self._connection.execute(
            "UPDATE entries SET sendable_position = sendable_position + ? WHERE conversation_id = ?"
            " AND position < ? AND sendable_position >= ?",
            (by, fold.conversation_id, fold.settled.entries, fold.sent_systems),
        )
