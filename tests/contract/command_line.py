"""The command line as tests give it: in this process, or in one of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from sqlite3 import connect
from typing import Any, NamedTuple

from click.testing import CliRunner

from turnledger.cli import main

DATA = Path(__file__).parents[1] / "data" / "tau-bench-airline-5.jsonl"
READINGS = (
    *("show cats", "show", "log cats", "held", "held cats", "takes", "takes cats", "verify"),
    *("diff cats 1 3", "replay cats", "requests cats", "inbox", "inbox cats", "head", "head cats"),
)


class Ran(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


def run(*arguments: object, store: Path | None = None, input: str | bytes | None = None) -> Ran:
    """Runs a command in this process."""
    before = ["--store", str(store)] if store else []
    environment = {"TURNLEDGER_STORE": None, "NO_COLOR": None, "FORCE_COLOR": None}
    result = CliRunner().invoke(main, [*before, *map(str, arguments)], input=input, env=environment)
    return Ran(result.exit_code, result.stdout, result.stderr)


def run_process(
    *arguments: object, store: Path | None = None, environment: dict[str, str] | None = None
) -> Ran:
    """Runs a command in a process of its own, its output going into pipes."""
    kept = {k: v for k, v in os.environ.items() if k not in ("TURNLEDGER_STORE", "NO_COLOR", "FORCE_COLOR")}
    if store:
        kept["TURNLEDGER_STORE"] = str(store)
    command = [sys.executable, "-m", "turnledger", *map(str, arguments)]
    done = subprocess.run(
        command, env={**kept, **(environment or {})}, capture_output=True, check=False, timeout=60
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def rows(store: Path) -> list[tuple[Any, ...]]:
    """All that the log holds, row by row."""
    with closing(connect(store)) as database:
        return list(database.execute("SELECT * FROM stored_events ORDER BY rowid"))


def damage(store: Path, conversation_id: str, version: int) -> None:
    """Makes one row unreadable."""
    with closing(connect(store)) as database, database:
        database.execute(
            "UPDATE stored_events SET state = '{' WHERE originator_id = ? AND originator_version = ?",
            (conversation_id, version),
        )


def transcripts(path: Path = DATA) -> Iterator[dict[str, Any]]:
    for line in path.read_text().splitlines():
        yield json.loads(line)
