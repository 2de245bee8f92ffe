"""Conversations in an SQLite file that a client keeps: found by its tables, read and never written.

Each conversation is read in a transaction of its own, so that whoever writes the file waits for none of ours.
A file that nobody has open is left as it was: SQLite would put a log and its index beside it.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from turnledger.importing import llm_logs, openai_agents
from turnledger.importing.tables import Key, Row, Source, Tables
from turnledger.importing.transcripts import BadLine, Transcript, transcript

MAGIC = b"SQLite format 3\0"
SOURCES: tuple[Source, ...] = (openai_agents.SOURCE, llm_logs.SOURCE)

Found = TypeVar("Found")
_LOCKED_S = 5.0
_HEADER_BYTES = 19  # the last of them is 2 where changes stand in a log beside the file


def read_database(path: Path) -> Iterator[Transcript | BadLine]:
    """The conversations of a database, one at a time; one bad line where it is of no client known here."""
    try:
        tables = read_at_once(path, tables_of)
        sources = [source for source in SOURCES if source.holds(tables)]
        found = [
            (source, key) for source in sources for key in read_at_once(path, source.conversations(tables))
        ]
    except sqlite3.Error as error:
        yield BadLine("the file", f"SQLite cannot read it: {error}")
        return
    if not sources:
        yield BadLine("the file", why_unknown(tables))
    for source, key in found:
        try:
            messages = read_at_once(path, source.messages(tables, key))
        except sqlite3.Error as error:
            yield BadLine(f"conversation {key.conversation_id!r}", f"SQLite cannot read it: {error}")
            continue
        yield from (message for message in messages if isinstance(message, BadLine))
        yield _transcript(key, source, [message for message in messages if not isinstance(message, BadLine)])


def _transcript(key: Key, source: Source, found: list[Any]) -> Transcript | BadLine:
    rows = [one for one in found if isinstance(one, Row)]
    places = tuple(row.place for row in rows)
    messages = [row.message for row in rows] if rows else found
    return transcript(key.conversation_id, messages, key.place, source.format, places=places)


def why_unknown(tables: Tables) -> str:
    """Why nothing is read of a file with these tables: of no client, or of another one than was said."""
    held = [f"{source.name} ({source.format})" for source in SOURCES if source.holds(tables)]
    if held:
        return f"it is an SQLite file with {' and '.join(held)}"
    return f"it is an SQLite file, but neither {' nor '.join(source.name for source in SOURCES)}"


class _State(NamedTuple):
    """What tells whether a file was written between two looks at it."""

    changed_ns: int
    bytes: int
    in_use: bool


def _state(path: Path) -> _State:
    status = path.stat()
    return _State(status.st_mtime_ns, status.st_size, _has_beside(path, "-wal"))


def _has_beside(path: Path, ending: str) -> bool:
    return path.with_name(f"{path.name}{ending}").exists()


def at_rest(path: Path) -> bool:
    """Whether nothing that belongs to the file stands beside it."""
    return not _has_beside(path, "-wal") and not _has_beside(path, "-journal")


def read_at_once(path: Path, reading: Callable[[sqlite3.Connection], Found]) -> Found:
    """What a reading gives at one moment of the file."""
    while True:
        before = _state(path)
        immutable = _has_log(path) and not before.in_use
        try:
            with closing(_connected(path, immutable)) as connection:
                connection.execute("BEGIN")
                found = reading(connection)
        except sqlite3.Error:
            if immutable and _state(path) != before:
                continue
            raise
        if not immutable or _state(path) == before:
            return found


def _has_log(path: Path) -> bool:
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    return len(header) == _HEADER_BYTES and header[-1] == 2


def _connected(path: Path, immutable: bool) -> sqlite3.Connection:
    uri = f"{path.resolve().as_uri()}?mode=ro{'&immutable=1' if immutable else ''}"
    return dressed(sqlite3.connect(uri, uri=True, timeout=_LOCKED_S, isolation_level=None))


def dressed(connection: sqlite3.Connection) -> sqlite3.Connection:
    """A connection that gives rows by name, and any text."""
    connection.row_factory = sqlite3.Row
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    return connection


def tables_of(connection: sqlite3.Connection) -> Tables:
    """The names of all tables, each with those of its columns."""
    rows = connection.execute(
        "SELECT m.name AS name, c.name AS column FROM sqlite_schema m, pragma_table_info(m.name) c"
        " WHERE m.type = 'table' ORDER BY m.rowid, c.cid"
    )
    tables: dict[str, set[str]] = {}
    for row in rows:
        tables.setdefault(row["name"], set()).add(row["column"])
    return tables
