"""What a database error means to a caller, one error class each."""

import sqlite3

from eventsourcing.persistence import (
    ConnectionPoolClosedError,
    ConnectionUnavailableError,
    PersistenceError,
)

from turnledger.domain.errors import (
    NotAStore,
    StoreBusy,
    StoreClosed,
    StoreDamaged,
    StoreFull,
    StoreUnwritable,
    TurnledgerError,
)

_FULL = (
    "SQLITE_FULL",
    "SQLITE_IOERR_WRITE",
    "SQLITE_IOERR_SHMSIZE",
    "SQLITE_IOERR_TRUNCATE",
    "SQLITE_IOERR_FSYNC",
)
_CLOSED = ("Cannot operate on a closed", "closed database")


class Locked(Exception):
    """Another writer has the database for the moment: worth another try."""


def error_of(error: sqlite3.Error, place: str) -> TurnledgerError | Locked:
    """The error to raise for one of SQLite's about the store at `place`."""
    name = getattr(error, "sqlite_errorname", None) or ""
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return Locked()
    if name in _FULL:
        return StoreFull(
            f"no room to write {place} ({error}): free some, then try again; nothing was recorded"
        )
    if name == "SQLITE_NOTADB":
        return NotAStore(
            f"{place} is no turnledger store: it is no SQLite database, or its first bytes are damaged"
        )
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_IOERR")):
        return StoreDamaged(
            f"{place} is damaged ({error}): restore a backup; 'turnledger export --salvage' saves what can "
            "still be read"
        )
    if name.startswith(("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH", "SQLITE_CANTOPEN")):
        return StoreUnwritable(
            f"{place} cannot be opened or written ({error}): check the rights on it and its folder (to be "
            "written even to read while there is a -wal file), or open it with read_only=True"
        )
    if isinstance(error, sqlite3.ProgrammingError) and any(text in str(error) for text in _CLOSED):
        return closed()
    return StoreDamaged(f"{place} cannot be used: {error}")


def closed() -> StoreClosed:
    return StoreClosed("the store is closed: open a new ConversationStore")


def busy(place: str, timeout_s: float) -> StoreBusy:
    return StoreBusy(f"{place} stayed locked for {timeout_s:g} s; nothing was recorded, try again")


def meaning_of(error: Exception, place: str, timeout_s: float) -> Exception:
    """The error to raise for whatever lending a connection raised; itself for what is not the database's."""
    cause = error.__cause__ if isinstance(error, PersistenceError) else error
    if isinstance(error, ConnectionPoolClosedError):
        return closed()
    if isinstance(cause, sqlite3.IntegrityError):
        return cause
    found = error_of(cause, place) if isinstance(cause, sqlite3.Error) else error
    if isinstance(found, Locked | ConnectionUnavailableError):
        return busy(place, timeout_s)
    return found
