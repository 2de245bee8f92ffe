"""The connections to one store: few, lent one to a thread, let go of before a fork.

eventsourcing's pool closes connections under the threads that work with them, loses count of its readers
where a wait times out, and closes in a forked child what the parent still uses; so this one is ours.
"""

import ctypes
import os
import sqlite3
import threading
import time
from contextlib import ExitStack
from weakref import WeakSet

from eventsourcing.persistence import ConnectionPoolClosedError, ConnectionUnavailableError
from eventsourcing.sqlite import SQLiteConnection

from turnledger.infrastructure.location import Location
from turnledger.infrastructure.turnstile import Stay, Turnstile

CONNECTIONS_MAX = 16
STATEMENTS_CACHED = 64
FORK_WAIT_S = 2.0


class Connections:
    """Lends connections, and keeps them open in between. A store in memory has one, which all share."""

    def __init__(self, location: Location) -> None:
        self.location = location
        self.closed = False
        self._pid = os.getpid()
        self._places = Turnstile(1 if location.path is None else CONNECTIONS_MAX)
        self._idle: list[SQLiteConnection] = []
        self._lent: set[SQLiteConnection] = set()
        self._alone = threading.Lock()
        self._fork: ExitStack | None = None
        self._mark: object = None
        _open.add(self)

    def lent(self, timeout_s: float) -> "Loan":
        """A connection for a block. Raises `ConnectionUnavailableError`, `ConnectionPoolClosedError`."""
        return Loan(self, self._places.turn(timeout_s), timeout_s)

    def take(self, timeout_s: float) -> SQLiteConnection:
        """One that is idle, or a new one; for whoever has a place."""
        self.refuse_closed()
        connection = self._idle_one() or self._new(timeout_s)
        self._lent.add(connection)
        return connection

    def _idle_one(self) -> SQLiteConnection | None:
        if self.location.read_only and self._mark != (mark := self.location.mark()):
            # one that was opened as immutable never looks at the file again, so it must be opened anew
            self._mark = mark
            self._close_idle()
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def give_back(self, connection: SQLiteConnection) -> None:
        self._lent.discard(connection)
        if connection.closed or self._pid != os.getpid():
            return
        try:
            # an interrupt can leave a transaction open, which would lock everybody out
            if connection._sqlite_conn.in_transaction:
                connection.rollback()
        except sqlite3.Error:
            connection.close()
            return
        self._idle.append(connection)
        if self.closed:
            self._close_idle()

    def _new(self, timeout_s: float) -> SQLiteConnection:
        """Opens one. Only this waits by SQLite's own means: a first look may meet a log being recovered."""
        connection = sqlite3.connect(
            self.location.name,
            uri=self.location.read_only,
            check_same_thread=False,
            isolation_level=None,
            cached_statements=STATEMENTS_CACHED,
            timeout=timeout_s,
        )
        try:
            connection.text_factory = _text
            connection.execute(f"PRAGMA synchronous={self.location.synchronous}")
            connection.execute("PRAGMA busy_timeout=0")
        except BaseException:
            connection.close()
            raise
        return SQLiteConnection(connection, max_age=None)

    def close(self) -> None:
        """Waits for the calls at work, as long as a call may take, then lets go of the file.

        What is still lent by then is closed by the thread that has it.
        """
        if self.closed:
            return
        self.closed = True
        if self._pid != os.getpid():
            self.abandon()
            return
        with ExitStack() as stack:
            self._gather(stack, self.location.timeout_s)
            self._close_idle()

    def _gather(self, stack: ExitStack, timeout_s: float) -> None:
        """Takes every place, so that no connection is at work; as many as there are in time."""
        end = time.monotonic() + timeout_s
        if not self._alone.acquire(timeout=timeout_s):
            return
        stack.callback(self._alone.release)
        for _ in range(self._places.places):
            if not stack.enter_context(self._places.turn(max(0.0, end - time.monotonic()))):
                return

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def refuse_closed(self) -> None:
        if self.closed or self._pid != os.getpid():
            raise ConnectionPoolClosedError

    def before_fork(self, timeout_s: float) -> None:
        """Closes what a child would inherit.

        SQLite notes per process which files it has locked. A child that inherited the notes but not the locks
        would write, through a store of its own, to a log that the parent deletes when it closes.
        """
        self._fork = ExitStack()
        self._gather(self._fork, timeout_s)
        if self.location.path is not None:
            self._close_idle()

    def after_fork_in_parent(self) -> None:
        if self._fork is not None:
            self._fork.close()
            self._fork = None

    def abandon(self) -> None:
        """Leaves alone, for ever, what was inherited from the parent after all.

        To close a connection here would roll back, or tidy away, what the parent is writing; so that not even
        the end of the process closes it, each is given a reference that nobody drops.
        """
        self.closed = True
        self._places.abandon()
        for connection in [*self._idle, *self._lent]:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection._sqlite_conn))


class Loan:
    """A connection for a block, which goes back whatever happens: what no block gives back goes with this."""

    __slots__ = ("_connection", "_connections", "_stay", "_timeout_s")

    def __init__(self, connections: Connections, stay: Stay, timeout_s: float) -> None:
        self._connection: SQLiteConnection | None = None
        self._connections = connections
        self._stay = stay
        self._timeout_s = timeout_s

    def __enter__(self) -> SQLiteConnection:
        try:
            if not self._stay.__enter__():
                self._connections.refuse_closed()
                raise ConnectionUnavailableError
            connection = self._connection = self._connections.take(self._timeout_s)
        except BaseException:
            self.__exit__()
            raise
        return connection

    def __exit__(self, *exc_info: object) -> None:
        try:
            connection, self._connection = self._connection, None
            if connection is not None:
                self._connections.give_back(connection)
        finally:
            self._stay.__exit__()

    def __del__(self) -> None:
        if getattr(self, "_connection", None) is not None:  # or it was interrupted while it was made
            self.__exit__()


def _text(raw: bytes) -> str:
    """Text as it can be shown: what is damaged is for the reader of the row to name, not for SQLite."""
    return raw.decode("utf-8", "replace")


_open: "WeakSet[Connections]" = WeakSet()
_forking = threading.Lock()


def _before_fork() -> None:
    _forking.acquire()
    end = time.monotonic() + FORK_WAIT_S
    for connections in list(_open):
        if not connections.closed:
            connections.before_fork(max(0.0, end - time.monotonic()))


def _after_fork_in_parent() -> None:
    for connections in list(_open):
        connections.after_fork_in_parent()
    _forking.release()


def _after_fork_in_child() -> None:
    global _forking  # noqa: PLW0603
    _forking = threading.Lock()
    for connections in list(_open):
        connections.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
