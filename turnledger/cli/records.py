"""`records`: what an ecosystem kept of its own beside the messages."""

from datetime import datetime

import click

from turnledger.cli.options import at_option, json_option, store_option_here, store_to_read
from turnledger.cli.screen import Screen, json_line, list_found, print_json_list, stamp
from turnledger.domain.records import KeptRecord
from turnledger.projections.legible import legible, one_line, shortened

VALUE_CHARACTERS = 200
_HELP = """List the records of a conversation: what an ecosystem kept beside the messages, as it was given.

Those of before the last 'clear' are shown with '--at' an earlier version.

\b
Examples:
  turnledger records cats
  turnledger records cats --kind google-adk.event --full
  turnledger records cats --json
"""


@click.command(help=_HELP)
@click.argument("conversation_id", metavar="ID")
@click.option("--kind", metavar="KIND", help="Records of this kind alone.")
@click.option("--key", metavar="KEY", help="Records under this key alone.")
@at_option
@click.option("--full", is_flag=True, help="Cut nothing short.")
@json_option
@store_option_here
def records(
    conversation_id: str,
    kind: str | None,
    key: str | None,
    at: int | datetime | None,
    full: bool,
    as_json: bool,
) -> None:
    with store_to_read() as store:
        found = store.records(conversation_id, kind, key=key, at=at)
    if as_json:
        print_json_list(found)
        return
    none = "no records" if kind is None and key is None else "no such record"
    list_found(found, lambda screen, one: _list(screen, one, full), none)


def _list(screen: Screen, one: KeptRecord, full: bool) -> None:
    screen.line(
        (f"{one.version:>4}", "bold"),
        f"  {legible(one.kind)}{'' if one.key is None else ' ' + legible(one.key)}",
        (f"  {stamp(one.time)}", "dim"),
    )
    value = one_line(json_line(one.value))
    screen.line("      ", value if full else shortened(value, VALUE_CHARACTERS), indent=6)
