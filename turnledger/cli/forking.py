"""`fork` and `compact`: a new conversation from another's state, and a summary in place of what is older."""

from dataclasses import asdict
from datetime import datetime

import click

from turnledger.cli.options import (
    at_option,
    expected_version_option,
    json_option,
    store_option_here,
    store_to_write,
)
from turnledger.cli.screen import Screen, json_line
from turnledger.projections.legible import counted, legible

SUMMARY_ROLES = ("user", "assistant", "system", "developer")

_FORK_HELP = """Start conversation INTO from the state of conversation ID: as it is, or was --at a version.

What is held or taken stays with ID. The fork says where it comes from, and 'verify' follows that.

\b
Examples:
  turnledger fork cats cats-again --at 41
  turnledger fork cats cats-again --at 2026-05-01T12:00:00Z --json
"""
_COMPACT_HELP = """Let the older entries of a conversation leave its buffer; a summary stands in their place.

Calls stay with their results, turns with open calls stay, system messages stay. The log keeps all of it:
'show --at' an earlier version shows it.

\b
Examples:
  turnledger compact cats --keep-last 20 --text "So far: three cats were found."
  turnledger compact cats --keep-last 0 --role system --text "All cats were found." --json
"""


@click.command(help=_FORK_HELP)
@click.argument("conversation_id", metavar="ID")
@click.argument("into", metavar="INTO")
@at_option
@json_option
@store_option_here
def fork(conversation_id: str, into: str, at: int | datetime | None, as_json: bool) -> None:
    with store_to_write(create=False) as store:
        done = store.fork(conversation_id, at=store.version(conversation_id) if at is None else at, into=into)
    if as_json:
        click.echo(json_line(asdict(done)))
        return
    Screen().line(
        (legible(done.conversation_id), "bold"),
        f"  {counted(done.count, 'entry', 'entries')}, from version {done.source_version} of ",
        (legible(done.source_id), "bold"),
    )


@click.command(help=_COMPACT_HELP)
@click.argument("conversation_id", metavar="ID")
@click.option(
    "--keep-last",
    type=click.IntRange(min=0),
    required=True,
    metavar="N",
    help="How many of the newest entries stay.",
)
@click.option("--text", required=True, help="What the summary says.")
@click.option(
    "--role", type=click.Choice(SUMMARY_ROLES), default="user", show_default=True, help="The summary's role."
)
@expected_version_option
@json_option
@store_option_here
def compact(
    conversation_id: str,
    keep_last: int,
    text: str,
    role: str,
    expected_version: int | None,
    as_json: bool,
) -> None:
    with store_to_write(create=False) as store:
        done = store.compact(
            conversation_id,
            keep_last=keep_last,
            summary={"role": role, "content": text},
            expected_version=expected_version,
        )
    if as_json:
        click.echo(json_line(asdict(done)))
        return
    gone = counted(len(done.evicted), "entry", "entries")
    did = f"{gone} left the buffer, entry {done.summary} stands for them"
    Screen().line(
        (legible(done.conversation_id), "bold"),
        f"  version {done.version:,}, {counted(done.count, 'entry', 'entries')}; ",
        did if done.evicted else "nothing is older: nothing was recorded",
    )
