"""`requests`: what was sent to models, and what exactly a model saw."""

from typing import Any

import click

from turnledger.cli.messages import show_message
from turnledger.cli.options import json_option, store_option_here, store_to_read
from turnledger.cli.screen import Screen, json_line, list_found, print_json_list, stamp
from turnledger.infrastructure.requests import RebuiltRequest, RecordedRequest
from turnledger.projections.legible import counted, legible, one_line

_HELP = """List the recorded requests of a conversation; with --show N, rebuild what the model saw in one.

What is rebuilt is checked by the digest that was recorded when it was sent.

\b
Examples:
  turnledger requests cats
  turnledger requests cats --show 3
  turnledger requests cats --show 3 --json
"""


@click.command(help=_HELP)
@click.argument("conversation_id", metavar="ID")
@click.option("--show", "number", type=int, metavar="N", help="Rebuild request N.")
@click.option("--full", is_flag=True, help="Cut nothing short.")
@json_option
@store_option_here
def requests(conversation_id: str, number: int | None, full: bool, as_json: bool) -> None:
    with store_to_read() as store:
        if number is not None:
            rebuilt = store.request_messages(conversation_id, number)
            _print_json(rebuilt) if as_json else _show(Screen(), rebuilt, full)
            return
        found = store.requests(conversation_id)
    if as_json:
        print_json_list(found)
        return
    list_found(found, _list, "no request was recorded")


def _print_json(rebuilt: RebuiltRequest) -> None:
    click.echo(json_line(rebuilt))


def _list(screen: Screen, one: RecordedRequest) -> None:
    screen.line(
        (f"{one.number:>4}", "bold"),
        f"  {counted(one.messages, 'message')} of version {one.of_version}, ",
        f"{one.provider or 'flat'}{_to(one)}",
        (f"  {stamp(one.time)}, digest {one.digest[:12]}", "dim"),
    )


def _to(one: RecordedRequest) -> str:
    execution = f", execution {legible(one.execution_id)}" if one.execution_id else ""
    return f"{' to ' + one_line(one.model) if one.model else ''}{execution}"


def _show(screen: Screen, rebuilt: RebuiltRequest, full: bool) -> None:
    _list(screen, rebuilt.recorded)
    if rebuilt.rendered_differently:
        text = "rendered differently: this release does not render it to the letter as it was sent"
        screen.line("      ", (text, "bold yellow"), indent=6)
    else:
        screen.line("      ", ("to the letter what was sent", "bold green"), indent=6)
    for place, message in enumerate(rebuilt.messages):
        show_message(screen, _as_message(message), place, full=full)


def _as_message(sent: dict[str, Any]) -> dict[str, Any]:
    """What was sent, as it is shown: its parts are its content, an item without a role speaks by its type."""
    if "role" in sent:
        return {**sent, "content": sent.get("content", sent.get("parts"))}
    rest = {key: value for key, value in sent.items() if key != "type"}
    return {"role": sent.get("type", "item"), "content": rest}
