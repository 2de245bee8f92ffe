"""Following a log: from a position on, whatever is recorded, in the order of its commits.

`Followed` is all that a follower needs of a backend; `SqliteFollowed` looks at the file, ever less often
while nothing comes. A position is the log's own number of a row: it grows, and may leave numbers out.
"""

import threading
import time
from typing import Any, NamedTuple, Protocol

from eventsourcing.persistence import StoredEvent

from turnledger.infrastructure.application import ConversationApplication

PAGE_ROWS = 2_000
PAGE_BYTES = 8 * 2**20
SHORTEST_PAUSE_S = 0.01
LONGEST_PAUSE_S = 0.5


class Position(NamedTuple):
    """A row of the log, and where in it that stands."""

    position: int
    row: StoredEvent


class Followed(Protocol):
    """A log that can be followed."""

    def last(self) -> int:
        """The position of the newest row, 0 for none."""

    def behind(self, position: int) -> list[Position]:
        """The next rows behind a position: at most `PAGE_ROWS`, and not many more bytes than `PAGE_BYTES`."""

    def at(self, position: int) -> StoredEvent | None:
        """The row at a position, None where there is none."""

    def wait(self, position: int, stop: threading.Event, timeout_s: float) -> None:
        """Returns when there is something behind the position, or `stop` is set, or the time is up."""


class SqliteFollowed:
    """A store's file, or memory, as a log to follow.

    SQLite gives rows their numbers in the order of commits, since it has one writer at a time. To look for
    the newest is one step down a tree, and says more than `PRAGMA data_version`, which does not show what
    the connection that looks has committed itself.
    """

    def __init__(self, application: ConversationApplication) -> None:
        self._application = application

    def last(self) -> int:
        return self._asked("SELECT MAX(rowid) FROM stored_events")[0][0] or 0

    def behind(self, position: int) -> list[Position]:
        sizes = self._asked(
            "SELECT rowid, LENGTH(state) FROM stored_events WHERE rowid > ? ORDER BY rowid LIMIT ?",
            (position, PAGE_ROWS),
        )
        total, to = 0, position
        for number, size in sizes:
            if total and total + (size or 0) > PAGE_BYTES:
                break
            total, to = total + (size or 0), number
        return self._rows(position, to)

    def at(self, position: int) -> StoredEvent | None:
        found = self._rows(position - 1, position)
        return found[0].row if found else None

    def _rows(self, after: int, to: int) -> list[Position]:
        found = self._asked(
            "SELECT rowid, originator_id, originator_version, topic, CAST(state AS BLOB) FROM stored_events"
            " WHERE rowid > ? AND rowid <= ? ORDER BY rowid",
            (after, to),
        )
        return [
            Position(number, StoredEvent(conversation_id, version, topic, state or b""))
            for number, conversation_id, version, topic, state in found
        ]

    def wait(self, position: int, stop: threading.Event, timeout_s: float) -> None:
        end, pause_s = time.monotonic() + timeout_s, SHORTEST_PAUSE_S
        while not stop.is_set() and self.last() <= position and time.monotonic() < end:
            stop.wait(min(pause_s, max(end - time.monotonic(), 0.0)))
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)

    def _asked(self, statement: str, parameters: tuple[int, ...] = ()) -> list[Any]:
        with self._application.read_log() as log:
            return log.execute(statement, parameters)
