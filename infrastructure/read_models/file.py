"""A read model file: opened, made, known again, and what its errors mean."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from turnledger.domain.errors import (
    InvalidArgument,
    NotAStore,
    NotReadModels,
    StoreBusy,
    StoreClosed,
    StoreDamaged,
    StoreFull,
    StoreUnwritable,
)
from turnledger.infrastructure.faults import Locked, error_of
from turnledger.infrastructure.location import Location
from turnledger.infrastructure.read_models import schema

CACHE_KIB = 64 * 1024
SUFFIXES = (".db", ".sqlite", ".sqlite3")
MARK = "SELECT position, conversation_id, version, digest, format, made FROM following"
_SOMETHING_ELSE = "{} holds no read models but something else: give another file for them"
_UNWRITABLE = (
    "{} cannot be opened or written ({}): check the rights on it and its folder, or keep read models "
    "elsewhere: --read-models /a/folder/to/write/chats-read.db, in a program store.read_models(path)"
)
_UNUSABLE = "{} cannot be used ({}): delete it, and it is made again from the log"


def beside(location: object) -> Path:
    """Where the read models of a store stand if nobody says otherwise: `chats-read.db` for `chats.db`.

    Raises `InvalidArgument` for a store that is no file.
    """
    path = location.path if isinstance(location, Location) else None
    if path is None:
        raise InvalidArgument(
            "the store is no file to put read models beside: name one for them, as read_models(path), "
            "--read-models FILE or TURNLEDGER_READ_MODELS"
        )
    return path.with_name((path.stem if path.suffix in SUFFIXES else path.name) + "-read.db")


class Mark(NamedTuple):
    """How far a file has followed: the position, the row of the log there, and which making this is of."""

    position: int
    conversation_id: str | None
    version: int | None
    digest: str | None
    format: int
    made: str


class ReadModelFile:
    """One file, by one connection, for one thread at a time.

    With `path` None it is a file that SQLite keeps for itself, and takes away when it is closed.
    """

    def __init__(self, path: Path | None, timeout_s: float = 5.0) -> None:
        from sqlite_utils import Database  # noqa: PLC0415 - it brings numpy, where that is

        self.path = path
        self.place = str(path) if path else "the read models"
        self.is_read_only = path is not None and _may_only_be_read(path)
        with self.errors():
            self._refuse_unfit()
            self.connection = sqlite3.connect(
                self._name(),
                isolation_level=None,
                check_same_thread=False,
                timeout=timeout_s,
                uri=self.is_read_only,
            )
            self.database = Database(self.connection, recursive_triggers=False)
        try:
            with self.errors():
                self._open()
            self._opened = self._seen()
        except BaseException:
            self.connection.close()
            raise

    def _name(self) -> str:
        """What SQLite is told to open: as `Location` has it, a file that nobody writes where it stands in a
        folder in which it has no lock files, and can get none."""
        if self.path is None or not self.is_read_only:
            return str(self.path or "")
        return Location(self.path.absolute(), read_only=True).name

    def _seen(self) -> object:
        """What changes when another file is put in this one's place; or, where SQLite was told that nobody
        writes it, when somebody did."""
        if self.path is None:
            return None
        mark = Location(self.path, read_only=True).mark() if self.is_read_only else None
        return _identity(self.path), mark

    def _refuse_unfit(self) -> None:
        if self.path is not None and not self.path.parent.is_dir():
            raise StoreUnwritable(f"there is no folder {self.path.parent} to make {self.path.name} in")
        if self.path is not None and self.path.is_dir():
            raise NotReadModels(f"{self.path} is a folder: name a file")

    def _open(self) -> None:
        if self.is_empty() and not self.is_read_only:
            if self.path is not None:
                self.database.enable_wal()
            with self.transaction():
                if self.is_empty():
                    schema.create(self.database, uuid4().hex)
        application_id = self.connection.execute("PRAGMA application_id").fetchone()[0]
        if application_id != schema.APPLICATION_ID:
            raise NotReadModels(_SOMETHING_ELSE.format(self.place))
        # what a power cut takes away is followed again: the position goes with it
        self.connection.execute("PRAGMA synchronous=NORMAL")
        self.connection.execute(f"PRAGMA cache_size=-{CACHE_KIB}")

    def is_empty(self) -> bool:
        return not self.connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]

    def mark(self) -> Mark:
        found = self.connection.execute(MARK).fetchall()
        if len(found) != 1 or not isinstance(found[0][0], int):
            raise StoreDamaged(_UNUSABLE.format(self.place, "how far it has followed is not there"))
        return Mark(*found[0])

    def is_there(self) -> bool:
        """Whether the path still leads here: the file may have been deleted, or another put in its place."""
        try:
            return self.path is None or self._seen() == self._opened
        except FileNotFoundError:
            return False

    def copy(self) -> "ReadModelFile":
        """All of it as of one moment, in a file that SQLite keeps for itself."""
        copy = ReadModelFile(None)
        with self.errors():
            self.connection.backup(copy.connection)
        return copy

    def renew(self) -> None:
        """Takes all rows away, and makes all tables anew."""
        with self.errors(), self.transaction():
            schema.drop(self.database)
            schema.create(self.database, uuid4().hex)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A write transaction, rolled back by whatever is raised in it."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.connection.execute("COMMIT")
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Raises what SQLite's errors mean here: nothing in this file is beyond making anew."""
        try:
            yield
        except sqlite3.Error as error:
            meaning = error_of(error, self.place)
            if isinstance(meaning, Locked):
                raise StoreBusy(
                    f"{self.place} stayed locked: another follower writes it, try again"
                ) from error
            if isinstance(meaning, StoreClosed):
                raise StoreClosed(
                    f"{self.place} is closed: ask the store for its read models again"
                ) from error
            if isinstance(meaning, NotAStore):
                raise NotReadModels(_SOMETHING_ELSE.format(self.place)) from error
            if isinstance(meaning, StoreUnwritable):
                raise StoreUnwritable(_UNWRITABLE.format(self.place, error)) from error
            if isinstance(meaning, StoreFull):
                raise meaning from error
            raise StoreDamaged(_UNUSABLE.format(self.place, error)) from error

    def close(self) -> None:
        self.connection.close()


def _may_only_be_read(path: Path) -> bool:
    """Whether a file is there and cannot be written: itself, or the folder in which SQLite keeps its log, if
    that is not there already."""
    if not path.is_file():
        return False
    logs = [path.with_name(path.name + end) for end in ("-wal", "-shm")]
    return not os.access(path, os.W_OK) or not (
        os.access(path.parent, os.W_OK) or all(os.access(log, os.W_OK) for log in logs)
    )


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
