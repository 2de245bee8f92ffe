"""A client's database examined, and a copy of it written as its provider accepts it.

It is examined at one moment of it, and no one who writes it waits for that. Mended is a copy; the file itself
only where it is asked for, in one transaction, which a client that has it open sees as a whole.
"""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from turnledger.domain.errors import InvalidArgument
from turnledger.importing import llm_logs, openai_agents
from turnledger.importing.doctor.agents_sessions import Session, sessions
from turnledger.importing.doctor.examining import Examined
from turnledger.importing.doctor.findings import Finding
from turnledger.importing.doctor.llm_log import UNMENDED, log_findings
from turnledger.importing.doctor.rewriting import rewrite
from turnledger.importing.sqlite_files import SOURCES, at_rest, dressed, read_at_once, tables_of, why_unknown
from turnledger.importing.tables import Tables

_LOCKED_S = 5.0
_Done = TypeVar("_Done")


def examine_database(path: Path, format: str | None = None) -> Examined:
    """Examines all conversations of an SQLite file that a client keeps; nothing of it is changed.

    `format` may say which client. Raises `InvalidArgument` where it is none that is known here, or where
    SQLite cannot read it.
    """
    return _told(lambda: read_at_once(path, lambda file: _examined(file, format)[0]))


def fix_database(path: Path, output: Path, format: str | None = None) -> Examined:
    """Examines it, and writes it to `output` as its providers accept it, the same rows but those concerned.

    Nothing is written where `unmended` says why. `output` may be `path` itself. Raises `InvalidArgument` as
    `examine_database` does, and where `output` is a database that is in use.
    """
    if output.exists() and output.samefile(path):
        examined = examine_database(path, format)
        return examined if examined.sound or examined.unmended else _told(lambda: _mend(path, format))
    if not at_rest(output):
        raise InvalidArgument(f"{output} is in use: give another name")
    with TemporaryDirectory(dir=output.resolve().parent, prefix=f".{output.name}.") as folder:
        copy = Path(folder) / "copy.db"
        _told(lambda: _copy(path, copy))
        examined = _told(lambda: _mend(copy, format))
        if not examined.unmended:
            copy.replace(output.resolve())
    return examined


def _told(doing: Callable[[], _Done]) -> _Done:
    try:
        return doing()
    except sqlite3.Error as error:
        raise InvalidArgument(f"SQLite cannot do it: {error}") from error


def _copy(path: Path, copy: Path) -> None:
    """A file that nobody has open to the letter, else what stands in it and in the log beside it."""
    if at_rest(path):
        before = path.stat()
        shutil.copyfile(path, copy)
        after = path.stat()
        if at_rest(path) and (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size):
            shutil.copymode(path, copy)
            return
        copy.unlink()
    uri = f"{path.resolve().as_uri()}?mode=ro"
    with (
        closing(sqlite3.connect(uri, uri=True, timeout=_LOCKED_S)) as source,
        closing(sqlite3.connect(copy)) as target,
    ):
        source.backup(target)
    shutil.copymode(path, copy)


def _mend(path: Path, format: str | None) -> Examined:
    """Examines and rewrites in one transaction."""
    with closing(sqlite3.connect(path, timeout=_LOCKED_S, isolation_level=None)) as file:
        dressed(file).execute("BEGIN IMMEDIATE")
        examined, tables, found = _examined(file, format)
        if examined.unmended or not any(session.changed for session in found):
            file.execute("ROLLBACK")
        else:
            rewrite(file, tables, found)
            file.execute("COMMIT")
    return examined


def _examined(file: sqlite3.Connection, format: str | None) -> tuple[Examined, Tables, list[Session]]:
    tables = tables_of(file)
    held = [source for source in SOURCES if source.holds(tables) and format in (None, source.format)]
    if not held:
        raise InvalidArgument(why_unknown(tables))
    found = sessions(file, tables) if openai_agents.SOURCE in held else []
    log = log_findings(file, tables) if llm_logs.SOURCE in held else []
    in_log = [finding for _, findings in log for finding in findings]
    findings: list[Finding] = [finding for session in found for finding in session.findings] + in_log
    return (
        Examined(
            tuple(findings),
            None,
            tuple(source.format for source in held),
            len(found) + len(log),
            sum(len(session.rows) for session in found) + sum(count for count, _ in log),
            unmended=UNMENDED if in_log else None,
        ),
        tables,
        found,
    )
