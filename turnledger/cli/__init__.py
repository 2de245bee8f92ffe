"""The command line: each command a thin reading of the face, printed for a person or as JSON."""

import click

from turnledger.cli.artifacts import held, takes
from turnledger.cli.comparing import diff
from turnledger.cli.demo import demo
from turnledger.cli.doctor import doctor
from turnledger.cli.following import follow
from turnledger.cli.forking import compact, fork
from turnledger.cli.heads import head
from turnledger.cli.inbox import inbox
from turnledger.cli.migrating import migrate_
from turnledger.cli.mistakes import Commands
from turnledger.cli.options import store_option
from turnledger.cli.reading import log, show
from turnledger.cli.records import records
from turnledger.cli.replaying import replay
from turnledger.cli.requests import requests
from turnledger.cli.retracting import clear, retract
from turnledger.cli.searching import search, stats
from turnledger.cli.serving import serve
from turnledger.cli.transfer import export, import_
from turnledger.cli.verifying import verify
from turnledger.cli.writing import append

__all__ = ["main"]

_HELP = """An event-sourced conversation store: what a crash breaks is healed on the record.

\b
Examples:
  turnledger demo
  turnledger --store chats.db import transcripts.jsonl
  turnledger --store chats.db log airline-task2-trial1

Exit codes: 0 fine, 1 something is damaged or was found, 2 it could not be done as it was given, 130
interrupted.
"""


@click.group(
    "turnledger",
    cls=Commands,
    help=_HELP,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@store_option
@click.version_option(package_name="turnledger", message="%(package)s %(version)s")
@click.pass_context
def main(ctx: click.Context) -> None:
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


for command in (
    *(demo, append, show, log, held, takes, import_, export, doctor, verify),
    *(diff, replay, requests, records, fork, compact, retract, clear, inbox, head, serve),
    *(follow, search, stats, migrate_),
):
    main.add_command(command)
