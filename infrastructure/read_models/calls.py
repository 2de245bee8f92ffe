"""Calls as rows: declared by a turn, answered or healed, each with how long that took."""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import to_json

from turnledger.domain.events import CarriedEntry, MessageAppended
from turnledger.domain.messages import arguments_of_call, id_of_call, name_of_call, original_id_of
from turnledger.infrastructure.read_models.folds import Fold
from turnledger.infrastructure.read_models.schema import empty_row, insert_statement
from turnledger.infrastructure.read_models.times import seconds_between, utc

_INSERT = insert_statement("calls")
_EMPTY = empty_row("calls")


class CallRows:
    """Writes the rows of calls, in the transaction that is open.

    An id has one row that is answered; what declares it again is `repeated`. A call whose turn was retracted
    or cleared away is `forgotten`, and stands for nothing.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._execute = connection.execute

    def name_of(self, fold: Fold, answered: str) -> str | None:
        found = self._execute(
            "SELECT name FROM calls WHERE conversation_id = ? AND call_id = ? ORDER BY id DESC LIMIT 1",
            (fold.conversation_id, answered),
        ).fetchone()
        return found[0] if found else None

    def declare(
        self,
        fold: Fold,
        entry_id: int,
        event: MessageAppended | CarriedEntry,
        calls: Sequence[Mapping[str, Any]],
    ) -> None:
        carried = isinstance(event, CarriedEntry)
        for call in calls:
            declared = id_of_call(call)
            self._execute(
                _INSERT,
                {
                    **_EMPTY,
                    "conversation_id": fold.conversation_id,
                    "call_id": declared,
                    "name": name_of_call(call),
                    "arguments": arguments_text(call),
                    "state": self._beginning(fold, declared),
                    "declared_at": utc(event.time),
                    "entry_id": entry_id,
                    "turn_id": event.turn_id,
                    "execution_id": event.execution_id,
                    "original_id": original_id_of(call),
                    "carried": int(carried),
                },
            )
            fold.row["calls"] += 1
            if declared:
                self._answer_before(fold, declared)

    def _beginning(self, fold: Fold, declared: str | None) -> str:
        if declared is None:
            return "unusable"
        found = self._execute(
            "SELECT 1 FROM calls WHERE conversation_id = ? AND call_id = ? AND state != 'forgotten' LIMIT 1",
            (fold.conversation_id, declared),
        ).fetchone()
        return "repeated" if found else "open"

    def _answer_before(self, fold: Fold, declared: str) -> None:
        """A result may have come before its call."""
        found = self._execute(
            "SELECT entry_id, COALESCE(replaced_at, time), json_extract(metadata, '$.healed') FROM entries"
            " WHERE conversation_id = ? AND call_id = ? AND state NOT IN ('retracted', 'cleared')"
            " ORDER BY entry_id",
            (fold.conversation_id, declared),
        ).fetchall()
        for entry_id, time, healed in found:
            self.answer(fold, entry_id, declared, time, healed=bool(healed))

    def reopen(self, fold: Fold, entry_id: int) -> None:
        """The answer in this entry was retracted: the call waits again."""
        self._execute(
            "UPDATE calls SET state = 'open', answered_at = NULL, healed_at = NULL, answer_id = NULL,"
            " latency_s = NULL WHERE conversation_id = ? AND answer_id = ?",
            (fold.conversation_id, entry_id),
        )

    def forget(self, fold: Fold, entry_id: int) -> None:
        """The turn in this entry was retracted: of another that declares the same call the first stands for
        it now."""
        found = self._execute(
            "UPDATE calls SET state = 'forgotten', answer_id = NULL WHERE entry_id = ? RETURNING call_id",
            (entry_id,),
        ).fetchall()
        for call_id in dict.fromkeys(call_id for (call_id,) in found if call_id is not None):
            rows = self._execute(
                "SELECT id, state FROM calls WHERE conversation_id = ? AND call_id = ?"
                " AND state != 'forgotten' ORDER BY id",
                (fold.conversation_id, call_id),
            ).fetchall()
            if rows and all(state == "repeated" for _, state in rows):
                self._execute("UPDATE calls SET state = 'open' WHERE id = ?", (rows[0][0],))
                self._answer_before(fold, call_id)

    def forget_all(self, fold: Fold) -> None:
        """The conversation was cleared."""
        self._execute(
            "UPDATE calls SET state = 'forgotten' WHERE conversation_id = ? AND state != 'forgotten'",
            (fold.conversation_id,),
        )

    def answer(self, fold: Fold, entry_id: int, answered: str, time: str, *, healed: bool) -> None:
        """Notes an answer at the call that waits for it, if one does."""
        found = self._execute(
            "SELECT id, declared_at FROM calls WHERE conversation_id = ? AND call_id = ?"
            " AND state IN (?, 'open')",
            (fold.conversation_id, answered, "open" if healed else "healed"),
        ).fetchone()
        if found is None:
            return
        if healed:
            self._execute(
                "UPDATE calls SET state = 'healed', healed_at = ?, answer_id = ? WHERE id = ?",
                (time, entry_id, found[0]),
            )
            return
        self._execute(
            "UPDATE calls SET state = 'answered', answered_at = ?, answer_id = ?, latency_s = ? WHERE id = ?",
            (time, entry_id, seconds_between(found[1], time), found[0]),
        )


def arguments_text(call: Mapping[str, Any]) -> str | None:
    """A call's arguments as JSON, or as the text that was given."""
    arguments = arguments_of_call(call)
    return arguments if arguments is None or isinstance(arguments, str) else to_json(arguments).decode()


def called(calls: Sequence[Mapping[str, Any]]) -> str | None:
    """The calls of a turn in words: each one's name and arguments."""
    return "\n".join(f"{name_of_call(call)}({arguments_text(call) or ''})" for call in calls) or None
