"""`retract` and `clear`: what was said is taken back, or a conversation begins anew; the log keeps it."""

from dataclasses import asdict

import click

from turnledger.cli.options import (
    expected_version_option,
    json_option,
    store_option_here,
    store_to_write,
)
from turnledger.cli.screen import Screen, json_line
from turnledger.projections.legible import counted, legible
from turnledger.projections.timeline import entries_named

_RETRACT_HELP = """Take an entry of a conversation's buffer back: the last one, or the one named.

With a turn go the results of its calls, so that none is left without its call. 'show --at' an earlier version
shows what was taken back.

\b
Examples:
  turnledger retract cats
  turnledger retract cats --entry 7 --json
"""
_CLEAR_HELP = """Let a conversation begin anew: its buffer is empty, and no call of before is known any more.

What is held or taken stays, as it belongs to executions. 'show --at' an earlier version shows what was there.

\b
Examples:
  turnledger clear cats
  turnledger clear cats --json
"""


@click.command(help=_RETRACT_HELP)
@click.argument("conversation_id", metavar="ID")
@click.option("--entry", type=click.IntRange(min=1), metavar="N", help="The entry to take back.")
@expected_version_option
@json_option
@store_option_here
def retract(conversation_id: str, entry: int | None, expected_version: int | None, as_json: bool) -> None:
    with store_to_write(create=False) as store:
        done = store.retract(conversation_id, entry, expected_version=expected_version)
    if as_json:
        click.echo(json_line(asdict(done)))
        return
    numbers = [one.number for one in (*done.results, done.retracted) if one]
    Screen().line(
        (legible(done.conversation_id), "bold"),
        f"  version {done.version:,}, {counted(done.count, 'entry', 'entries')}; ",
        f"took back {entries_named(sorted(numbers))}" if numbers else "nothing to take back",
    )


@click.command(help=_CLEAR_HELP)
@click.argument("conversation_id", metavar="ID")
@expected_version_option
@json_option
@store_option_here
def clear(conversation_id: str, expected_version: int | None, as_json: bool) -> None:
    with store_to_write(create=False) as store:
        before = store.version(conversation_id)
        done = store.clear(conversation_id, expected_version=expected_version)
    if as_json:
        click.echo(json_line(asdict(done)))
        return
    Screen().line(
        (legible(done.conversation_id), "bold"),
        f"  version {done.version:,}; ",
        f"{counted(done.cleared, 'entry', 'entries')} left the buffer"
        if done.version > before
        else "nothing to clear: nothing was recorded",
    )
