"""What the follower knows of a conversation between two events: its row, and how much of it is settled.

Few are kept in memory; what is not there is read from the file. Written once a batch.
"""

import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from turnledger.infrastructure.read_models.schema import KEYS, TABLES, empty_row
from turnledger.projections.placing import Settled

KEPT = 2_000
NOTHING_SETTLED = Settled()
_SETTLED = ("entries", "systems", "others", "sent_systems")


@dataclass(slots=True)
class Fold:
    """One conversation: its row in `conversations`, what is settled of its sendable list, how many system
    messages lead that, and whether its buffer has moved since."""

    row: dict[str, Any]
    settled: Settled = NOTHING_SETTLED
    sent_systems: int = 0
    moved: bool = False

    @property
    def conversation_id(self) -> str:
        found: str = self.row["conversation_id"]
        return found

    def place_plain(self) -> int | None:
        """The place in the list of a message at the end that neither calls nor answers, nor is a system's;
        None where only `placed` can tell."""
        if self.moved or self.settled.entries != self.row["entries"]:
            return None
        entries, systems, others = self.settled
        self.settled = Settled(entries + 1, systems, others + 1)
        return systems + others

    def unsettle(self) -> None:
        """What was settled may have changed: the next placing looks at all of it."""
        self.settled, self.moved = Settled(), True


class Folds:
    """The folds of a file, in the transaction that is open; `place` gives what has moved its places."""

    def __init__(self, connection: sqlite3.Connection, place: Callable[[Fold], None]) -> None:
        self._connection = connection
        self._place = place
        self._kept: OrderedDict[str, Fold] = OrderedDict()
        self._changed: dict[str, Fold] = {}

    def of(self, conversation_id: str) -> Fold:
        """The fold of a conversation, to be changed; an empty one where the file has none."""
        fold = self._kept.get(conversation_id)
        if fold is None:
            fold = self._kept[conversation_id] = self._read(conversation_id)
        self._changed[conversation_id] = fold
        return fold

    def _read(self, conversation_id: str) -> Fold:
        names = tuple(TABLES["conversations"])
        found = self._connection.execute(
            f"SELECT {', '.join(names)} FROM conversations WHERE conversation_id = ?", (conversation_id,)
        ).fetchone()
        if found is None:
            counts = dict.fromkeys(("version", "entries", "calls", "heals"), 0)
            row = {**empty_row("conversations"), **counts, "conversation_id": conversation_id}
            self._write([row])  # what refers to it comes before it is written again
            return Fold(row)
        settled = self._connection.execute(
            f"SELECT {', '.join(_SETTLED)} FROM _settled WHERE conversation_id = ?", (conversation_id,)
        ).fetchone() or (0, 0, 0, 0)
        return Fold(dict(zip(names, found, strict=True)), Settled(*settled[:3]), settled[3])

    def save(self) -> None:
        """Writes what has changed, each entry's place in the sendable list first."""
        changed = list(self._changed.values())
        for fold in changed:
            if fold.moved:
                self._place(fold)
                fold.moved = False
        self._write([fold.row for fold in changed])
        self._connection.executemany(
            "INSERT OR REPLACE INTO _settled VALUES (?, ?, ?, ?, ?)",
            [(fold.conversation_id, *fold.settled, fold.sent_systems) for fold in changed],
        )
        self._changed.clear()
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    def forget(self) -> None:
        """For when the file is not what was written: it was rolled back, or somebody else writes it."""
        self._kept.clear()
        self._changed.clear()

    def _write(self, rows: Iterable[dict[str, Any]]) -> None:
        self._connection.executemany(_UPSERT, rows)


_UPSERT = (
    f"INSERT INTO conversations ({', '.join(TABLES['conversations'])})"
    f" VALUES ({', '.join(f':{name}' for name in TABLES['conversations'])})"
    f" ON CONFLICT ({KEYS['conversations']}) DO UPDATE SET "
    + ", ".join(f'"{n}" = excluded."{n}"' for n in TABLES["conversations"] if n != KEYS["conversations"])
)
