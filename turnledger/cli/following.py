"""`follow`: keeps the read models of a store, a file of tables for people with SQL."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from turnledger.cli.mistakes import DAMAGE, STOPPED
from turnledger.cli.options import json_option, read_models_option, store_option_here, store_to_read
from turnledger.cli.screen import Screen, json_line, stamp
from turnledger.domain.errors import (
    InvalidArgument,
    NotReadModels,
    StoreBusy,
    StoreDamaged,
    StoreNotFound,
    StoreUnwritable,
)
from turnledger.infrastructure.read_models import ReadModels, ReadModelsReport, Standing, Waiting
from turnledger.projections.legible import counted, legible
from turnledger.store import ConversationStore

SAYS_EVERY_S = 60.0

_HELP = """Keep tables that people can query, in a file beside the store that follows it. Ctrl+C ends it.

It can be killed at any moment and goes on from where it was. Several may follow into one file: one works, the
others stand by. The file can be thrown away.

\b
Examples:
  turnledger follow
  turnledger follow --once
  turnledger follow --read-models /srv/chats-read.db
  turnledger follow --rebuild --once
  turnledger follow --verify
"""


@click.command(help=_HELP)
@read_models_option
@click.option("--once", is_flag=True, help="Catch up, and end.")
@click.option("--rebuild", is_flag=True, help="Take all rows away first, and follow from the beginning.")
@click.option("--verify", is_flag=True, help="Compare every row with what the log gives anew, and end.")
@json_option
@store_option_here
@click.pass_context
def follow(
    ctx: click.Context, read_models: str | None, once: bool, rebuild: bool, verify: bool, as_json: bool
) -> None:
    if verify and rebuild:
        raise click.UsageError("give --verify or --rebuild, not both: what is rebuilt need not be compared")
    with store_to_read() as store, store.read_models(read_models) as models, stopping() as stop:
        if verify:
            with catching_up("comparing") as progress:
                report = models.verify(progress, stop=stop)
            _tell_report(report, as_json)
            code = DAMAGE if not report.ok else 0
        else:
            _follow(models, stop, once, rebuild, as_json)
            code = 0
        if stop.is_set() and stop.interrupted:
            code = STOPPED
    ctx.exit(code)


class Stop(threading.Event):
    """Set by the signals that end a follower; `interrupted` says that it was a person at the keyboard."""

    interrupted = False


@contextmanager
def stopping() -> Iterator[Stop]:
    """Ends after the batch at work, rather than in it; who asks twice is obeyed at once."""
    stop = Stop()
    before: dict[int, Any] = {}

    def asked(number: int, frame: object) -> None:
        stop.interrupted = number == signal.SIGINT
        stop.set()
        signal.signal(number, before[number])

    for number in map(int, (signal.SIGINT, signal.SIGTERM)):
        before[number] = signal.signal(number, asked)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def catching_up(what: str) -> Iterator[Callable[[Standing], None]]:
    """A bar on standard error, where somebody looks at it."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None)

        def show(standing: Standing) -> None:
            done = standing.lag == 0
            bar.update(
                task,
                description="following" if done and what == "following" else what,
                completed=standing.position,
                total=standing.last,
            )

        yield show


def waiting_in(store: ConversationStore, read_models: str | None, *kinds: Waiting) -> list[str] | None:
    """In which conversations something waits, by read models that are there, caught up first; None where it
    takes a look at all conversations: there are none, or they are of no use just now."""
    try:
        with (
            store.read_models(read_models, create=False) as models,
            catching_up("catching up") as progress,
        ):
            return models.waiting(*kinds) if not models.catch_up(progress).lag else None
    except (InvalidArgument, NotReadModels, StoreBusy, StoreDamaged, StoreNotFound, StoreUnwritable):
        if read_models is not None:
            raise
        return None


def _follow(models: ReadModels, stop: Stop, once: bool, rebuild: bool, as_json: bool) -> None:
    tell = _Teller(models, as_json)
    with catching_up("rebuilding" if rebuild else "catching up") as progress:
        follow_up = models.rebuild if rebuild else models.catch_up
        standing = follow_up(progress, stop=stop)
    tell.now(standing)
    if once or stop.is_set():
        return
    with catching_up("following") as progress:

        def show(standing: Standing) -> None:
            progress(standing)
            tell.sometimes(standing)

        standing = models.follow(stop, show)
    tell.now(standing)


class _Teller:
    """Says how far the read models are: at once, or once a minute while something comes."""

    def __init__(self, models: ReadModels, as_json: bool) -> None:
        self._name = legible(str(models.path))
        self._as_json = as_json
        self._said_s = 0.0
        self._position = -1

    def sometimes(self, standing: Standing) -> None:
        if standing.position != self._position and time.monotonic() - self._said_s >= SAYS_EVERY_S:
            self.now(standing)

    def now(self, standing: Standing) -> None:
        if standing.position == self._position:
            return
        self._said_s, self._position = time.monotonic(), standing.position
        if self._as_json:
            click.echo(json_line(as_map(standing)))
            return
        newest = f", the newest of {stamp(standing.time)}" if standing.time else ""
        Screen().line(
            (self._name, "bold"),
            f"  {counted(standing.position, 'event')} followed{newest}; ",
            (f"{standing.lag:,} behind", "bold red" if standing.lag else "green"),
        )


def as_map(standing: Standing) -> dict[str, Any]:
    return {
        "position": standing.position,
        "last": standing.last,
        "lag": standing.lag,
        "time": standing.time,
    }


def _tell_report(report: ReadModelsReport, as_json: bool) -> None:
    if as_json:
        click.echo(json_line(report))
        return
    screen = Screen()
    for row in report.first:
        key = legible(", ".join(map(str, row.key)))
        screen.line(("FAIL", "bold red"), f"  {row.table} {key}: {row.what}")
    screen.line(
        f"{counted(report.rows, 'row')} compared up to position {report.position:,}: ",
        (
            f"{report.differing:,} not as the log gives them; 'turnledger follow --rebuild' mends that",
            "bold red",
        )
        if report.differing
        else ("all the same", "bold green"),
    )
