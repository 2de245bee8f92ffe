"""Where a store is, and what can be said of that place before SQLite looks at it."""

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from turnledger.domain.errors import NotAStore, StoreDamaged, StoreNotFound, StoreUnwritable

SYNCHRONOUS = {"full": "FULL", "normal": "NORMAL"}


@dataclass(frozen=True, slots=True)
class Location:
    """Where a store is, and how it may be opened."""

    path: Path | None
    create: bool = True
    read_only: bool = False
    synchronous: str = "FULL"
    timeout_s: float = 5.0

    @property
    def place(self) -> str:
        return str(self.path) if self.path else ":memory:"

    @property
    def may_create(self) -> bool:
        return self.create and not self.read_only

    @property
    def wal(self) -> Path | None:
        return self.path.with_name(self.path.name + "-wal") if self.path else None

    @property
    def is_immutable(self) -> bool:
        """Whether the store is read as a file that nobody writes.

        A cleanly closed store in a folder that cannot be written has no lock files, and can get none.
        """
        if not self.read_only or self.path is None or self.wal is None:
            return False
        return not self.wal.exists() and not _writable(self.path.parent)

    @property
    def name(self) -> str:
        """What SQLite is told to open. Only a URI has modes; a plain path may hold any character."""
        if self.path is None or not self.read_only:
            return self.place
        return f"file:{quote(os.fsencode(self.path))}" + (
            "?mode=ro&immutable=1" if self.is_immutable else "?mode=ro"
        )

    def mark(self) -> object:
        """What changes when a file that is read as immutable does; None for any other."""
        if self.path is None or not self.is_immutable:
            return None
        found = self.path.stat()
        return found.st_ino, found.st_size, found.st_mtime_ns

    def look(self) -> None:
        """Raises the error of a place that can hold no store, which SQLite would say less clearly."""
        if self.path is None:
            return
        try:
            self._refuse_lost(self.path)
            self._refuse_unfit(self.path)
        except OSError as error:
            # our own errors are also OSErrors; what the system raised is not ours
            if isinstance(error, StoreDamaged | StoreNotFound | StoreUnwritable):
                raise
            raise StoreUnwritable(
                f"{self.path} is out of reach ({error.strerror}): check its name, and its folders' rights"
            ) from error

    def _refuse_lost(self, path: Path) -> None:
        """Raises where the changes of a lost file are still there: SQLite deletes a log without a database.

        The log is looked at first: while another process makes the store, its file comes before its log.
        """
        if self.wal is None or not _size(self.wal) or _size(path):
            return
        raise StoreDamaged(
            f"{path} is gone or empty, but {self.wal.name} still holds changes of it: restore the file, "
            "or remove that one to start afresh"
        )

    def _refuse_unfit(self, path: Path) -> None:
        if path.is_dir():
            raise NotAStore(f"{path} is a folder, not a store: name a file in it")
        if path.exists():
            if not path.is_file():
                raise NotAStore(f"{path} is no ordinary file, and no store: name another")
            if _size(path) == 1:  # SQLite takes such a file for an empty one
                raise NotAStore(f"{path} is no turnledger store, or damaged: it holds a single byte")
            if not os.access(path, os.R_OK):
                raise StoreUnwritable(f"{path} may not be read: check the rights on it")
            return
        if not self.may_create:
            raise StoreNotFound(f"there is no store at {path}: check the path")
        if not path.parent.is_dir():
            raise StoreNotFound(f"there is no folder {path.parent} to make {path.name} in: make it first")
        if not _writable(path.parent):
            raise StoreUnwritable(
                f"the folder {path.parent} may not be written, so no store can be made in it: check that"
            )


def _size(path: Path) -> int:
    """0 for a file that is not there, or no longer: another process may be tidying its log away."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _writable(folder: Path) -> bool:
    return os.access(folder, os.W_OK)
