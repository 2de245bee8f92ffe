"""Following a log: from a position on, whatever is recorded, in the order of its commits.

`Followed` is all that a follower needs of a backend. `SqliteFollowed` looks at the file, ever less often
while nothing comes; `RecorderFollowed` is for any other recorder of eventsourcing's, and is pushed where that
has subscriptions. A position is the log's own number of a row: it grows, and may leave numbers out.
"""

import logging
import threading
import time
from typing import Any, NamedTuple, Protocol, cast

from eventsourcing.persistence import ApplicationRecorder, Notification, StoredEvent

from turnledger.infrastructure.application import ConversationApplication
from turnledger.infrastructure.storage import ConversationDatastore

log = logging.getLogger("turnledger")

PAGE_ROWS = 2_000
FIRST_PAGE_ROWS = 64
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

    def close(self) -> None:
        """Ends what waiting began."""


def followed(application: ConversationApplication) -> Followed:
    """The log of a store, to be followed."""
    if isinstance(application.recorder.datastore, ConversationDatastore):
        return SqliteFollowed(application)
    return RecorderFollowed(cast(ApplicationRecorder, application.recorder))


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
        _look_again_and_again(self, position, stop, timeout_s)

    def close(self) -> None:
        """Nothing was begun."""

    def _asked(self, statement: str, parameters: tuple[int, ...] = ()) -> list[Any]:
        datastore: ConversationDatastore = self._application.recorder.datastore
        with datastore.reading(self._application.deadline()) as log:
            return log.execute(statement, parameters)


class RecorderFollowed:
    """A log behind eventsourcing's own interface: its recorder's notifications, and its subscription."""

    def __init__(self, recorder: ApplicationRecorder) -> None:
        self._recorder = recorder
        self._limit = FIRST_PAGE_ROWS
        self._pushed: _Pushed | None = None

    def last(self) -> int:
        return self._recorder.max_notification_id() or 0

    def behind(self, position: int) -> list[Position]:
        """The interface bounds a page by rows alone: the next is to have as many as fit by the last one."""
        found = self._recorder.select_notifications(position, self._limit, inclusive_of_start=False)
        total = sum(len(one.state) for one in found)
        self._limit = max(1, min(PAGE_ROWS, 2 * self._limit, self._limit * PAGE_BYTES // max(total, 1)))
        return [Position(one.id, _row_of(one)) for one in found]

    def at(self, position: int) -> StoredEvent | None:
        found = self._recorder.select_notifications(position, 1, position)
        return _row_of(found[0]) if found else None

    def wait(self, position: int, stop: threading.Event, timeout_s: float) -> None:
        if self._pushed is not None and not self._pushed.is_alive():
            self.close()  # its connection was lost, perhaps
        if self._pushed is None:
            try:
                self._pushed = _Pushed(self._recorder, position)
            except NotImplementedError:
                _look_again_and_again(self, position, stop, timeout_s)
                return
        self._pushed.wait(position, stop, timeout_s)

    def close(self) -> None:
        if self._pushed is not None:
            self._pushed.close()
            self._pushed = None


class _Pushed(threading.Thread):
    """Hears of new rows from a subscription."""

    def __init__(self, recorder: ApplicationRecorder, position: int) -> None:
        super().__init__(daemon=True)
        self._subscription = recorder.subscribe(gt=position).__enter__()
        self._news = threading.Condition()
        self._newest = position
        self.start()

    def run(self) -> None:
        try:
            for notification in self._subscription:
                self._hear(notification.id)
        except Exception as error:
            log.warning("the subscription to the log ended, and is begun anew: %s", error)
        finally:
            self._hear(self._newest)

    def _hear(self, position: int) -> None:
        with self._news:
            self._newest = max(self._newest, position)
            self._news.notify_all()

    def wait(self, position: int, stop: threading.Event, timeout_s: float) -> None:
        end = time.monotonic() + timeout_s
        with self._news:
            while self._newest <= position and not stop.is_set() and time.monotonic() < end:
                self._news.wait(LONGEST_PAUSE_S)
                if not self.is_alive():
                    return

    def close(self) -> None:
        self._subscription.__exit__(None, None, None)
        self.join(LONGEST_PAUSE_S)


def _row_of(notification: Notification) -> StoredEvent:
    return StoredEvent(
        notification.originator_id,
        notification.originator_version,
        notification.topic,
        bytes(notification.state),
    )


def _look_again_and_again(followed: Followed, position: int, stop: threading.Event, timeout_s: float) -> None:
    """Waits by looking, ever less often while nothing comes."""
    end, pause_s = time.monotonic() + timeout_s, SHORTEST_PAUSE_S
    while not stop.is_set() and followed.last() <= position and time.monotonic() < end:
        stop.wait(min(pause_s, max(end - time.monotonic(), 0.0)))
        pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
