"""The connections to one PostgreSQL store: eventsourcing's pool, and what a call does when one is lost.

A connection that hears nothing for longer than a call may take is given up; one that was lost while it lay
idle is seen before it is used. What is read is read again over another one, within the call's time; what was
being recorded is not: whether it was is for the writer to find out.
"""

import os
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
import psycopg_pool
from eventsourcing.postgres import ConnectionPool
from psycopg.rows import TupleRow, dict_row, tuple_row

from turnledger.infrastructure.faults import busy, closed
from turnledger.infrastructure.log import Deadline, Unsettled
from turnledger.infrastructure.postgres_faults import (
    SilentServerError,
    bare,
    error_of,
    is_passing,
    unreachable,
)
from turnledger.infrastructure.postgres_location import PostgresLocation

CONNECTIONS_MAX = 16
PATIENCE_S_MIN = 2.0  # what a connection may take to be made, or a server to answer, in any case
_PAUSE_S = 0.05
_LOOK_S = 0.2  # after which a wait for a connection looks why there is none

# as durable as the server makes commits, and never less than that the commit is on its disk
_FULL = (
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
)
_NORMAL = "SET synchronous_commit = off"


class Line(psycopg.Connection[Any]):
    """A connection that gives up on a server which has gone silent."""

    silent_s: float | None = None

    def wait(self, gen: Any, *args: Any, **kwargs: Any) -> Any:
        bound = self.silent_s
        return super().wait(gen if bound is None else _bounded(gen, bound), *args, **kwargs)


def _bounded(gen: Any, silent_s: float) -> Generator[Any, Any, Any]:
    """What libpq is waited for; each byte that comes or goes begins the wait anew."""
    heard = time.monotonic()
    try:
        state = next(gen)
        while True:
            ready = yield state
            if ready:
                heard = time.monotonic()
            elif time.monotonic() - heard > silent_s:
                raise SilentServerError(f"the server said nothing for {silent_s:.1f} s")
            state = gen.send(ready)
    except StopIteration as end:
        return end.value


class Pool(ConnectionPool[Line]):
    """eventsourcing's pool, which tries again soon when a server comes back."""

    def __init__(self, location: PostgresLocation) -> None:
        self.failure: Exception | None = None
        self._location = location
        self._patience_s = max(location.timeout_s, PATIENCE_S_MIN)
        read_only = {
            "options": f"{location.parameters.get('options') or ''} -c default_transaction_read_only=on"
        }
        super().__init__(
            connection_class=Line,
            kwargs={
                "application_name": "turnledger",
                "row_factory": dict_row,
                **location.parameters,
                **(read_only if location.read_only else {}),
            },
            min_size=1,
            max_size=CONNECTIONS_MAX,
            open=False,
            configure=_configured(location),
            timeout=self._patience_s,
            name="turnledger",
        )

    def _connect(self, timeout: float | None = None) -> Line:
        """A new connection, tried for as long as a call may take: a server that starts refuses at first."""
        end = time.monotonic() + self._patience_s
        while True:
            try:
                made = super()._connect(
                    max(PATIENCE_S_MIN, min(timeout or self._patience_s, self._patience_s))
                )
            except psycopg.Error as error:
                self.failure = bare(error)
                if self.closed or not is_passing(error) or time.monotonic() > end:
                    raise
                time.sleep(_PAUSE_S)
            else:
                self.failure = None
                return made

    def fresh(self, deadline: Deadline) -> Line:
        """A connection beside those of the pool: to look with, or in place of one that was lost."""
        while True:
            try:
                return super()._connect(max(PATIENCE_S_MIN, deadline.left_s))
            except psycopg.Error as error:
                failure = bare(error)
            if not is_passing(failure) or not deadline.left_s:
                raise unreachable(failure, self._location.place)
            time.sleep(min(_PAUSE_S, deadline.left_s))


def _configured(location: PostgresLocation) -> Any:
    def configure(connection: Line) -> None:
        connection.autocommit = True
        if not location.read_only:
            connection.execute(_FULL if location.durability == "full" else _NORMAL)

    return configure


class Loan:
    """A connection for a block, replaced when it is lost. Raises `StoreBusy`, `StoreUnreachable`."""

    def __init__(self, pool: Pool, place: str, deadline: Deadline) -> None:
        self.place = place
        self.deadline = deadline
        self._pool = pool
        self._pid = os.getpid()
        self._lent: Line | None = None
        self._line: Line | None = None
        self._in_transaction = False

    def take(self) -> None:
        patience = Deadline(max(self.deadline.left_s, PATIENCE_S_MIN))
        while self._lent is None:
            try:
                self._lent = self._line = self._pool.getconn(min(patience.left_s, _LOOK_S))
            except psycopg_pool.PoolClosed:
                raise closed() from None
            except psycopg_pool.PoolTimeout as error:
                self._refuse(patience, error)
        assert self._line is not None
        if not _stands(self._line):
            self._replace(psycopg.OperationalError("the connection was closed while it was idle"))

    def _refuse(self, patience: Deadline, error: Exception) -> None:
        """Raises what keeps the pool from lending, unless that may be over soon."""
        failure = self._pool.failure
        if isinstance(failure, psycopg.Error) and (not patience.left_s or not is_passing(failure)):
            raise unreachable(failure, self.place) from failure
        if not patience.left_s:
            raise busy(self.place, patience.timeout_s) from error

    def give_back(self) -> None:
        lent, line = self._lent, self._line
        self._lent = self._line = None
        if line is not None and line is not lent:
            line.close()
        if lent is not None and self._pid == os.getpid():
            lent.silent_s = None
            with suppress(ValueError):
                self._pool.putconn(lent)

    def asked(self, statement: str, parameters: Sequence[object] = (), *, patient: bool = False) -> list[Any]:
        """What a statement gives that can be run twice; asked again where a connection is lost."""
        while True:
            try:
                return self._run(statement, parameters, patient)
            except psycopg.Error as error:
                if self._in_transaction and self._is_lost(error):
                    raise unreachable(error, self.place) from error
                if not self._is_lost(error):
                    raise error_of(error, self.place, self.deadline.timeout_s) from error
                self._replace(error)

    def told(self, statement: str, parameters: Sequence[object]) -> list[Any]:
        """What a statement gives that must run once. Raises `Unsettled` where the answer was lost.

        It may hold a lock of the session at the moment that it fails: then the session ends with it.
        """
        try:
            return self._run(statement, parameters, patient=False)
        except psycopg.Error as error:
            if self._is_lost(error):
                raise Unsettled from error
            self._close()
            raise error_of(error, self.place, self.deadline.timeout_s) from error
        except BaseException:
            self._close()
            raise

    def try_once(self, statement: str) -> None:
        """Runs what nobody has to wait for; a connection that fails is closed."""
        try:
            self._run(statement, (), patient=False)
        except psycopg.Error:
            self._close()

    def _close(self) -> None:
        if self._line is not None:
            self._line.close()

    def script(self, statements: str) -> None:
        """Runs several statements, of which none takes parameters, in the transaction that is open."""
        line = self._line
        assert line is not None
        line.silent_s = None
        try:
            line.execute(statements)
        except psycopg.Error as error:
            raise error_of(error, self.place, self.deadline.timeout_s) from error

    def undo(self, statement: str, parameters: Sequence[object]) -> None:
        """Runs what sets the connection right for the next one; one that cannot be set right is closed."""
        line = self._line
        if line is None or line.closed:
            return
        try:
            self._run(statement, parameters, patient=False)
        except psycopg.Error:
            line.close()  # what was recorded before is recorded: this must not hide it
        except BaseException:
            line.close()
            raise

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A transaction on the connection as it is; where that is lost, so is the transaction."""
        line = self._line
        assert line is not None
        self._in_transaction = True
        try:
            with line.transaction():
                yield
        finally:
            self._in_transaction = False

    def _run(self, statement: str, parameters: Sequence[object], patient: bool) -> list[TupleRow]:
        line = self._line
        assert line is not None
        line.silent_s = None if patient else max(self.deadline.left_s / 2, PATIENCE_S_MIN)
        with line.cursor(row_factory=tuple_row, binary=True) as cursor:
            cursor.execute(statement, parameters)
            return cursor.fetchall() if cursor.description else []

    def _is_lost(self, error: psycopg.Error) -> bool:
        line = self._line
        assert line is not None
        if isinstance(error, SilentServerError):
            line.close()
        return line.closed or line.broken or is_passing(error)

    def _replace(self, reason: Exception) -> None:
        if self._line is not None:
            self._line.close()
        if not self.deadline.left_s and self.deadline.timeout_s:
            raise unreachable(reason, self.place) from reason
        self._line = self._pool.fresh(self.deadline)


def _stands(line: Line) -> bool:
    """Whether an idle connection is still one, without asking the server: its farewell would be there."""
    try:
        for _ in range(2):  # what was said, and then the end
            line.pgconn.consume_input()
    except psycopg.Error:
        return False
    return not line.closed
