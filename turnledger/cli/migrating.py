"""`migrate`: a store copied into another, from a file to a server or back, checked by digest."""

from collections.abc import Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from turnledger.cli.mistakes import DAMAGE, complain
from turnledger.cli.options import json_option
from turnledger.cli.screen import Screen, json_line
from turnledger.infrastructure.migrating import Progress as Tell
from turnledger.infrastructure.migrating import Step
from turnledger.projections.legible import counted, legible
from turnledger.store import ConversationStore, migrate, named

_HELP = """Copy a store into another, event by event, and check by digest that the copy is the same.

The target must be empty, or hold the beginning of the source: a migration that was stopped goes on when it is
given again, and one that is given later adds what is new. What is damaged in the source stays out, and is
named. Keep passwords out of the command line: PGPASSWORD and ~/.pgpass are read.

\b
Examples:
  turnledger migrate --from chats.db --to postgresql://ann@db.example.com/chats
  turnledger migrate --from postgresql://ann@db.example.com/chats --to backup.db
"""


@click.command("migrate", help=_HELP)
@click.option(
    "--from", "source", metavar="URL", required=True, help="The store to copy; nothing is written to it."
)
@click.option("--to", "target", metavar="URL", required=True, help="The store to copy into, made if need be.")
@json_option
@click.pass_context
def migrate_(ctx: click.Context, source: str, target: str, as_json: bool) -> None:
    with (
        ConversationStore(source, create=False, read_only=True) as old,
        ConversationStore(target) as new,
        _bar() as tell,
    ):
        done = migrate(old, new, progress=tell)
    for error in done.damaged:
        complain(f"left out, as it is damaged: {error}")
    if as_json:
        click.echo(json_line(done))
    else:
        events, conversations = counted(done.events, "event"), counted(done.conversations, "conversation")
        screen = Screen()
        screen.line(
            f"{legible(named(new))} holds {events} of {conversations}, {done.copied:,} of them copied now"
        )
        screen.line(("the same as in the source, by their bytes: SHA-256 ", "dim"), done.digest)
    if done.damaged:
        ctx.exit(DAMAGE)


@contextmanager
def _bar() -> Iterator[Tell]:
    """A bar on standard error, where somebody looks at it; one step after the other."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description:<8}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("reading", total=None)

        def tell(step: Step, done: int, total: int) -> None:
            progress.update(task, description=step, completed=done, total=total)

        yield tell
