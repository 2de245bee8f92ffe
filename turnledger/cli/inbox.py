"""`inbox`: what waits for somebody: open calls, placeholders, held artifacts, open takes."""

from dataclasses import asdict
from datetime import timedelta
from typing import Any

import click

from turnledger.cli.following import waiting_in
from turnledger.cli.options import json_option, read_models_option, store_option_here, store_to_read
from turnledger.cli.screen import STYLES, Screen, list_found, print_json_list, stamp
from turnledger.projections.inbox import InboxItem
from turnledger.projections.legible import legible, one_line

_HELP = """List what waits in a conversation, or in all, oldest first.

Calls that nothing has answered, placeholders that stand for a lost result, artifacts held for a run that
paused, takes that nothing has settled. Over all conversations the read models say where to look, if
'turnledger follow' has made some; without them each conversation is read.

\b
Examples:
  turnledger inbox
  turnledger inbox cats --json
"""
_SAYS = {
    "call": ("open call", "bold red"),
    "placeholder": ("placeholder", STYLES["healed"]),
    "held": ("held", STYLES["held"]),
    "take": ("open take", "yellow"),
}
_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


@click.command(help=_HELP)
@click.argument("conversation_id", metavar="[ID]", required=False)
@read_models_option
@json_option
@store_option_here
def inbox(conversation_id: str | None, read_models: str | None, as_json: bool) -> None:
    with store_to_read() as store:
        asked = waiting_in(store, read_models) if conversation_id is None else conversation_id
        found = store.open_calls(asked)
    if as_json:
        print_json_list(map(_as_map, found))
        return
    list_found(found, _show, "nothing waits")


def _as_map(item: InboxItem) -> dict[str, Any]:
    fields = asdict(item)
    age: timedelta = fields.pop("age")
    return {**fields, "age_s": age.total_seconds()}


def _show(screen: Screen, item: InboxItem) -> None:
    place = f", entry {item.entry}" if item.entry is not None else ""
    run = f", execution {legible(item.execution_id)}" if item.execution_id else ""
    kind, style = _SAYS[item.kind]
    screen.line(
        (f"{aged(item.age):>7}", "bold"),
        "  ",
        (f"{kind:<11}", style),
        f"  {legible(item.conversation_id)}: {one_line(item.name)} {legible(item.id)}{place}{run}",
        (f"  since {stamp(item.since)}", "dim"),
        indent=22,
    )


def aged(age: timedelta) -> str:
    """An age in its largest unit.

    >>> aged(timedelta(minutes=150)), aged(timedelta(0))
    ('2 h', '0 s')
    """
    seconds = int(age.total_seconds())
    unit, size = next(((unit, size) for unit, size in _UNITS if seconds >= size), _UNITS[-1])
    return f"{seconds // size:,} {unit}"
