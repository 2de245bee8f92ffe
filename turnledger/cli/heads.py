"""`head`: what to keep elsewhere, so that `verify --anchors` can prove that nothing before it was changed."""

import json
from collections.abc import Iterator
from pathlib import Path

import click

from turnledger.cli.options import json_option, standard_input, store_option_here, store_to_read
from turnledger.cli.screen import Screen, print_json_list
from turnledger.domain.errors import InvalidArgument
from turnledger.domain.heads import Head, as_anchors
from turnledger.projections.legible import legible
from turnledger.store import ConversationStore

_HELP = """Print version and digest of each conversation's newest event, or of those named.

Keep them where who can write the store cannot: 'verify --anchors FILE' then proves that nothing up to them
was edited, removed, reordered or cut off.

\b
Examples:
  turnledger head cats
  turnledger head --json > anchors.json
  turnledger verify --anchors anchors.json
"""


@click.command(help=_HELP)
@click.argument("conversation_ids", metavar="[ID]...", nargs=-1)
@json_option
@store_option_here
def head(conversation_ids: tuple[str, ...], as_json: bool) -> None:
    with store_to_read() as store:
        found = _heads(store, conversation_ids)
        if as_json:
            print_json_list(found)
            return
        screen = Screen()
        for one in found:
            screen.line((legible(one.conversation_id), "bold"), f"  version {one.version:,}  {one.digest}")


def _heads(store: ConversationStore, named: tuple[str, ...]) -> Iterator[Head]:
    ids = named or [one.conversation_id for one in store.conversations()]
    return (store.head(conversation_id) for conversation_id in ids)


def read_anchors(source: str) -> tuple[Head, ...]:
    """The anchors of a file, or of standard input: what `head --json` printed, or one of them a line."""
    data = standard_input().read() if source == "-" else Path(source).read_bytes()
    name = "standard input" if source == "-" else repr(source)
    try:
        text = data.decode("utf-8-sig")
        try:
            value = json.loads(text)
        except json.JSONDecodeError:
            value = [json.loads(line) for line in text.splitlines() if line.strip()]
        return as_anchors([value] if isinstance(value, dict) else value)
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, InvalidArgument) else f"it is no JSON: {error}"
        raise click.ClickException(
            f"{name} holds no anchors: {reason}; keep what 'turnledger head --json' prints"
        ) from error
