"""Statements that somebody else wrote, run where they can do nothing but read."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

_ACTIONS = frozenset(
    (
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_RECURSIVE,
        sqlite3.SQLITE_SAVEPOINT,  # sqlite-utils puts one around a query
    )
)
_TELLING = frozenset(
    (
        *("table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo"),
        *("foreign_key_list", "foreign_key_check", "integrity_check", "quick_check"),
    )
)
"""Pragmas that change nothing, whatever they are given."""
_SETTINGS = frozenset(
    (
        *("application_id", "user_version", "schema_version", "data_version", "encoding", "journal_mode"),
        *("page_count", "page_size", "freelist_count", "database_list", "compile_options"),
        *("collation_list", "function_list", "module_list", "pragma_list"),
    )
)
"""Pragmas that change nothing when they are given no value."""


@contextmanager
def only_reading(connection: sqlite3.Connection) -> Iterator[None]:
    """Refuses every statement that is prepared meanwhile and does more than read, before it does anything.

    `PRAGMA query_only` would let through what sets something without a write: a journal mode, or itself.
    """
    connection.set_authorizer(_allowed)
    try:
        yield
    finally:
        connection.set_authorizer(None)


def _allowed(action: int, one: str | None, other: str | None, *_: str | None) -> int:
    if action == sqlite3.SQLITE_PRAGMA:
        name = (one or "").lower()
        reads = name in _TELLING or (name in _SETTINGS and other is None)
    elif action == sqlite3.SQLITE_UPDATE:
        # a search index is declared so when it is first used; to a statement SQLite refuses this itself
        reads = one == "sqlite_master"
    else:
        reads = action in _ACTIONS
    return sqlite3.SQLITE_OK if reads else sqlite3.SQLITE_DENY
