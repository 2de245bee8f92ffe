"""Entries as rows: what an event does to the buffer.

An event costs its own rows. One that inserts or takes away in the middle of a buffer costs, besides, one
update of each entry that stands behind, whose position changes: that is a column, to be seen and joined by.
"""

import sqlite3
from collections.abc import Mapping
from typing import Any

from pydantic_core import to_json

from turnledger.domain.events import (
    CallHealed,
    CarriedEntry,
    ConversationCleared,
    ConversationForked,
    EntriesEvicted,
    EntryRetracted,
    MessageAppended,
    PlaceholderReplaced,
    SummaryInserted,
)
from turnledger.domain.messages import call_id, declared_by
from turnledger.infrastructure.read_models.calls import CallRows, called
from turnledger.infrastructure.read_models.folds import Fold
from turnledger.infrastructure.read_models.places import Places
from turnledger.infrastructure.read_models.schema import index_statement, insert_statement
from turnledger.infrastructure.read_models.times import utc
from turnledger.projections.legible import one_line, shortened, spoken

OPENING_CHARACTERS_MAX = 120
_INDEX = index_statement("entries")
_UNINDEX = (
    "INSERT INTO entries_fts (entries_fts, rowid, text, called)"
    " SELECT 'delete', entry_id, text, called FROM entries"
)
_REINDEX = "INSERT INTO entries_fts (rowid, text, called) SELECT entry_id, text, called FROM entries"
_PLAIN = ("user", "assistant")
_INSERT = insert_statement("entries", named=False)
_NEITHER_REPLACED_NOR_LEFT = (None, None, None)


class EntryRows:
    """Writes the rows of entries, in the transaction that is open."""

    def __init__(self, connection: sqlite3.Connection, places: Places) -> None:
        self._execute = connection.execute
        self._places = places
        self._calls = CallRows(connection)
        self._newest = self._indexed = 0

    def begin(self) -> None:
        """At the beginning of a batch: somebody else may have written in between."""
        self._newest = self._execute("SELECT COALESCE(MAX(entry_id), 0) FROM entries").fetchone()[0]
        self._indexed = self._newest

    def save(self) -> None:
        """Lets the search find what is new."""
        self._execute(_INDEX, (self._indexed,))
        self._indexed = self._newest

    def appended(self, fold: Fold, event: MessageAppended) -> None:
        is_plain = event.role in _PLAIN and not declared_by(event.role, event.metadata)
        place = fold.place_plain() if is_plain else None
        self._enter(fold, event, event.version, fold.row["entries"], place)
        fold.row["entries"] += 1
        fold.moved = fold.moved or place is None

    def healed(self, fold: Fold, event: CallHealed) -> None:
        position = self._make_room(fold, event.behind)
        metadata = {"tool_call_id": event.call_id, "healed": True}
        self._insert(fold, event, event.version, position, "tool", event.content, metadata)
        fold.row["entries"] += 1
        if position >= fold.settled.entries:
            fold.moved = True
        elif self._places.heal(fold, event.turn_entry):
            fold.settled = fold.settled._replace(entries=fold.settled.entries + 1)
        else:
            fold.unsettle()

    def inserted(self, fold: Fold, event: SummaryInserted) -> None:
        position = self._make_room(fold, event.behind)
        said = event.role, event.content, event.metadata
        self._insert(fold, event, event.version, position, *said, summary=True)
        fold.row["entries"] += 1
        fold.unsettle()

    def replaced(self, fold: Fold, event: PlaceholderReplaced) -> None:
        entry_id, position = self._entry(fold, event.entry)
        answered = call_id(event.metadata.get("tool_call_id"))
        if answered != event.call_id:
            fold.unsettle()
        time = utc(event.time)
        if entry_id <= self._indexed:
            self._execute(f"{_UNINDEX} WHERE entry_id = ?", (entry_id,))
        self._execute(
            "UPDATE entries SET text = ?, content = ?, metadata = ?, call_id = ?, replaced_at = ?,"
            " replaced_version = ?, state = ? WHERE entry_id = ?",
            (
                *_said(event.content),
                _json(event.metadata),
                answered,
                time,
                event.version,
                "replaced" if position is not None else self._state(entry_id),
                entry_id,
            ),
        )
        if entry_id <= self._indexed:
            self._execute(f"{_REINDEX} WHERE entry_id = ?", (entry_id,))
        if position is not None:
            fold.moved = True
        if answered:
            self._calls.answer(fold, entry_id, answered, time, healed=event.metadata.get("healed") is True)

    def evicted(self, fold: Fold, event: EntriesEvicted) -> None:
        """What the event takes away leaves gaps, which those behind close, a stretch at a time."""
        state = "compacted" if event.batch == event.version else "evicted"
        gone: list[int] = []
        for entry in event.evicted:
            entry_id, position = self._entry(fold, entry)
            if position is None:
                raise ValueError(f"entry {entry} has left the buffer before")
            gone.append(position)
            self._execute(
                "UPDATE entries SET state = ?, left_version = ?, position = NULL, sendable_position = NULL"
                " WHERE entry_id = ?",
                (state, event.version, entry_id),
            )
        gone.sort()
        for count, position in enumerate(gone, start=1):
            end = gone[count] if count < len(gone) else fold.row["entries"]
            if end > position + 1:
                self._move(fold, position + 1, end, -count)
        fold.row["entries"] -= len(gone)
        fold.unsettle()

    def retracted(self, fold: Fold, event: EntryRetracted) -> None:
        entry_id, position = self._entry(fold, event.entry)
        if position is None:
            raise ValueError(f"entry {event.entry} has left the buffer before")
        self._execute(
            "UPDATE entries SET state = 'retracted', left_version = ?, position = NULL,"
            " sendable_position = NULL WHERE entry_id = ?",
            (event.version, entry_id),
        )
        if position + 1 < fold.row["entries"]:
            self._move(fold, position + 1, fold.row["entries"], -1)
        self._calls.reopen(fold, entry_id)
        self._calls.forget(fold, entry_id)
        fold.row["entries"] -= 1
        fold.unsettle()

    def cleared(self, fold: Fold, event: ConversationCleared) -> None:
        """What had left the buffer before keeps the version at which it did."""
        self._execute(
            "UPDATE entries SET state = 'cleared', left_version = COALESCE(left_version, ?), position = NULL,"
            " sendable_position = NULL WHERE conversation_id = ? AND state NOT IN ('retracted', 'cleared')",
            (event.version, fold.conversation_id),
        )
        self._calls.forget_all(fold)
        fold.row["entries"] = 0
        fold.unsettle()

    def forked(self, fold: Fold, event: ConversationForked) -> None:
        positions = {entry: position for position, entry in enumerate(event.buffer)}
        for carried in event.entries:
            self._enter(fold, carried, event.version, positions.get(carried.entry))
        fold.row["entries"] = len(event.buffer)
        fold.unsettle()

    def id_of(self, fold: Fold, entry: int) -> int:
        """The row of an entry. Raises `ValueError` where there is none."""
        return self._entry(fold, entry)[0]

    def _entry(self, fold: Fold, entry: int) -> tuple[int, int | None]:
        found = self._execute(
            "SELECT entry_id, position FROM entries WHERE conversation_id = ? AND entry = ?",
            (fold.conversation_id, entry),
        ).fetchone()
        if found is None:
            raise ValueError(f"there is no entry {entry}")
        return found[0], found[1]

    def _state(self, entry_id: int) -> str:
        found: str = self._execute("SELECT state FROM entries WHERE entry_id = ?", (entry_id,)).fetchone()[0]
        return found

    def _make_room(self, fold: Fold, behind: int) -> int:
        """The position behind an entry, or the first; what stood there moves on."""
        position = 0
        if behind:
            before = self._entry(fold, behind)[1]
            if before is None:
                raise ValueError(f"entry {behind} is not in the buffer")
            position = before + 1
        if position < fold.row["entries"]:
            self._move(fold, position, fold.row["entries"], 1)
        return position

    def _move(self, fold: Fold, first: int, end: int, by: int) -> None:
        self._execute(
            "UPDATE entries SET position = position + ? WHERE conversation_id = ? AND position >= ?"
            " AND position < ?",
            (by, fold.conversation_id, first, end),
        )

    def _enter(
        self,
        fold: Fold,
        event: MessageAppended | CarriedEntry,
        version: int,
        position: int | None,
        place: int | None = None,
    ) -> None:
        carried = isinstance(event, CarriedEntry)
        summary = isinstance(event, CarriedEntry) and event.summary
        said = event.role, event.content, event.metadata
        entry_id = self._insert(
            fold, event, version, position, *said, place, summary=summary, carried=carried
        )
        if summary:
            return
        calls = declared_by(event.role, event.metadata)
        if calls:
            self._calls.declare(fold, entry_id, event, calls)
        if event.role == "user" and not fold.row["opening"]:
            fold.row["opening"] = shortened(one_line(spoken(event.content)), OPENING_CHARACTERS_MAX) or None

    def _insert(
        self,
        fold: Fold,
        event: MessageAppended | CallHealed | SummaryInserted | CarriedEntry,
        version: int,
        position: int | None,
        role: str,
        content: Any,
        metadata: Mapping[str, Any],
        place: int | None = None,
        *,
        summary: bool = False,
        carried: bool = False,
    ) -> int:
        self._newest += 1
        time = utc(event.time)
        answered = call_id(metadata.get("tool_call_id")) if role == "tool" and not summary else None
        healed = role == "tool" and metadata.get("healed") is True
        standing = "summary" if summary else "placeholder" if healed else "standing"
        text, kept = _said(content)
        self._execute(
            _INSERT,
            (
                self._newest,
                fold.conversation_id,
                event.entry,
                position,
                place,
                "evicted" if position is None else standing,
                role,
                self._calls.name_of(fold, answered) if answered else None,
                text,
                called(declared_by(role, metadata)),
                answered,
                time,
                version,
                event.turn_id,
                event.execution_id,
                *_NEITHER_REPLACED_NOR_LEFT,
                int(carried),
                kept,
                _json(metadata),
            ),
        )
        if healed:
            fold.row["heals"] += 1
        if answered:
            self._calls.answer(fold, self._newest, answered, time, healed=healed)
        return self._newest


def _said(content: Any) -> tuple[str, str | None]:
    """A content as text, and as JSON where it is more than text."""
    return (content, None) if isinstance(content, str) else (spoken(content), to_json(content).decode())


def _json(metadata: Mapping[str, Any]) -> str | None:
    return to_json(metadata).decode() if metadata else None
