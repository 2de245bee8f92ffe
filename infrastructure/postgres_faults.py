"""What an error of PostgreSQL or of the way to it means to a caller."""

import psycopg
from psycopg import errors

from turnledger.domain.errors import (
    NotAStore,
    StoreDamaged,
    StoreFull,
    StoreNotFound,
    StoreUnreachable,
    StoreUnwritable,
    TurnledgerError,
)
from turnledger.infrastructure.faults import busy
from turnledger.infrastructure.log import Overtaken

# while a server starts, stops, fails over or is full, and whatever says nothing: worth another try
_PASSING = (
    *("57P01", "57P02", "57P03", "57P05", "53300", "25P03"),
    *("08000", "08001", "08003", "08004", "08006", "08007", "08P01"),
)
_REFUSED = (
    errors.InvalidPassword,
    errors.InvalidAuthorizationSpecification,
    errors.InvalidCatalogName,
)


class SilentServerError(psycopg.OperationalError):
    """Nothing came from the server for longer than a call may take."""


def bare(error: psycopg.Error) -> psycopg.Error:
    """The same error of a connection that failed, without that connection, which knows the password."""
    return type(error)(*error.args)


def is_passing(error: psycopg.Error) -> bool:
    """Whether the way to the server failed in a manner that may be over soon."""
    if isinstance(error, _REFUSED) or not isinstance(
        error, psycopg.OperationalError | psycopg.InterfaceError
    ):
        return False
    text = str(error)
    if error.sqlstate is None:  # libpq's own words, or those of a server that let nobody in
        return not any(
            word in text for word in ("authentication", "password", "does not exist", "pg_hba.conf")
        )
    return error.sqlstate in _PASSING


def unreachable(error: Exception, place: str) -> TurnledgerError:
    """The error for a connection that could not be made, or was lost and not made again in time."""
    text = _first_line(error)
    if isinstance(error, errors.InvalidCatalogName) or ("database" in text and "does not exist" in text):
        return StoreNotFound(f"there is no such database: {place} ({text}): make it first, with createdb")
    if isinstance(error, psycopg.Error) and not is_passing(error):
        return StoreUnreachable(f"{place} lets nobody in ({text}): check user, password and pg_hba.conf")
    return StoreUnreachable(f"{place} cannot be reached ({text}); nothing was recorded, try again")


def error_of(error: psycopg.Error, place: str, timeout_s: float) -> Exception:
    """The error to raise for what the server said about a statement; the connection itself still stands."""
    text = _first_line(error)
    match error:
        case errors.UniqueViolation() | errors.SerializationFailure():
            return Overtaken()
        case errors.DeadlockDetected() | errors.LockNotAvailable():
            return Overtaken()
        case errors.QueryCanceled():
            return busy(place, timeout_s)
        case errors.DiskFull() | errors.InsufficientResources() | errors.OutOfMemory():
            return StoreFull(
                f"no room to write {place} ({text}): free some, then try again; nothing was recorded"
            )
        case errors.ReadOnlySqlTransaction() | errors.InsufficientPrivilege():
            return StoreUnwritable(
                f"{place} may not be read or written by this user ({text}): check its grants, or open it "
                "with read_only=True"
            )
        case errors.UndefinedTable() | errors.UndefinedFunction() | errors.UndefinedColumn():
            return NotAStore(f"{place} is no turnledger store, or not whole ({text})")
    return StoreDamaged(f"{place} cannot be used: {text}")


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
