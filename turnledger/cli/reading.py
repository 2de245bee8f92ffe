"""`show` and `log`: a conversation as it is or was, and what happened in it."""

from collections.abc import Iterable
from datetime import datetime
from itertools import islice, takewhile
from typing import Any

import click
from pydantic_core import to_jsonable_python

from turnledger.cli.messages import show_message
from turnledger.cli.mistakes import DAMAGE
from turnledger.cli.options import at_option, json_option, store_option_here, store_to_read
from turnledger.cli.pen import LogPen
from turnledger.cli.screen import Screen, print_json_list, stamp
from turnledger.domain.errors import VersionNotFound
from turnledger.domain.events import DomainEvent
from turnledger.infrastructure.lines import told
from turnledger.infrastructure.reading import ConversationSummary
from turnledger.projections.legible import counted, legible
from turnledger.projections.timeline import Timeline, TimelineLine
from turnledger.store import ConversationStore

SHAPES = ("stored", "flat", "wire")

_SHOW_HELP = """Show a conversation's messages; without ID, list the conversations.

The shape is the stored buffer, the flat list that a model is sent, or what a client sees on the wire.

\b
Examples:
  turnledger show
  turnledger show --after cats --limit 50
  turnledger show cats --at 41 --as flat
  turnledger show cats --at 2026-05-01T12:00:00Z --json
"""
_LOG_HELP = """Tell what happened in a conversation: one line an event.

\b
Examples:
  turnledger log cats
  turnledger log cats --after 40 --to 60
  turnledger log cats --at 2026-05-01T12:00:00Z
  turnledger log cats --json
"""


@click.command(help=_SHOW_HELP)
@click.argument("conversation_id", metavar="[ID]", required=False)
@at_option
@click.option(
    "--as", "shape", type=click.Choice(SHAPES), default="stored", show_default=True, help="The shape."
)
@click.option("--full", is_flag=True, help="Cut nothing short.")
@click.option("--after", metavar="ID", help="List only conversations behind this one.")
@click.option("--limit", type=click.IntRange(min=1), help="List so many conversations at most.")
@json_option
@store_option_here
def show(
    conversation_id: str | None,
    at: int | datetime | None,
    shape: str,
    full: bool,
    after: str | None,
    limit: int | None,
    as_json: bool,
) -> None:
    with store_to_read() as store:
        if conversation_id is None:
            if at is not None:
                raise click.UsageError("--at needs the ID of a conversation")
            _list(islice(store.conversations(after=after), limit), as_json)
        elif after is not None or limit is not None:
            raise click.UsageError("--after and --limit are for the list of conversations: leave the ID out")
        elif as_json:
            print_json_list(_messages(store, conversation_id, at, shape))
        else:
            _show(store, conversation_id, at, shape, full)


def _messages(
    store: ConversationStore, conversation_id: str, at: int | datetime | None, shape: str
) -> list[dict[str, Any]]:
    if shape == "flat":
        return store.sendable(conversation_id, at=at).messages
    return store.wire(conversation_id, at=at) if shape == "wire" else store.buffer(conversation_id, at=at)


def _list(conversations: Iterable[ConversationSummary], as_json: bool) -> None:
    if as_json:
        print_json_list(conversations)
        return
    screen = Screen()
    for found in conversations:
        screen.line(
            (legible(found.conversation_id), "bold"),
            f"  version {found.version:,}, {counted(found.entries, 'entry', 'entries')}",
            (f"  last {stamp(found.updated_at)}", "dim"),
        )


def _show(
    store: ConversationStore, conversation_id: str, at: int | datetime | None, shape: str, full: bool
) -> None:
    screen = Screen()
    sendable = store.sendable(conversation_id, at=at) if shape == "flat" else None
    messages = sendable.messages if sendable else _messages(store, conversation_id, at, shape)
    numbers = [entry.number for entry in store.entries(conversation_id, at=at)]
    when = "" if at is None else f" at version {at}" if isinstance(at, int) else f" at {stamp(at)}"
    noun = ("message", "messages") if sendable else ("entry", "entries")
    screen.line((legible(conversation_id), "bold"), (f"  {counted(len(messages), *noun)}{when}", "dim"))
    for place, message in enumerate(messages):
        show_message(screen, message, place + 1 if sendable else numbers[place], full=full)
    for drop in sendable.drops if sendable else ():
        call = f" ({drop.call_id})" if drop.call_id else ""
        screen.line(("dropped", "bold red"), f" entry {numbers[drop.index]}{legible(call)}: {drop.reason}")


@click.command(help=_LOG_HELP)
@click.argument("conversation_id", metavar="ID")
@click.option(
    "--after", type=click.IntRange(min=0), default=0, metavar="VERSION", help="Only what is behind it."
)
@click.option("--to", type=click.IntRange(min=0), metavar="VERSION", help="Only what is up to it.")
@at_option
@json_option
@store_option_here
@click.pass_context
def log(
    ctx: click.Context,
    conversation_id: str,
    after: int,
    to: int | None,
    at: int | datetime | None,
    as_json: bool,
) -> None:
    if at is not None and to is not None:
        raise click.UsageError("give --to or --at, not both: each says where to end")
    with store_to_read() as store:
        if isinstance(at, int) and at > (last := store.version(conversation_id)):
            raise VersionNotFound.beyond(conversation_id, at, last)
        events = store.events(conversation_id, to=at if isinstance(at, int) else to, damaged="skip")
        lines = told(events, Timeline())
        if isinstance(at, datetime):
            lines = takewhile(lambda item: item[0].time <= at, lines)
        asked = (item for item in lines if item[0].version > after)
        if as_json:
            print_json_list(_as_map(line, event) for line, event in asked)
        else:
            pen = LogPen(Screen())
            for line, _ in asked:
                pen.write(line)
    if events.damaged:
        ctx.exit(DAMAGE)


def _as_map(line: TimelineLine, event: DomainEvent | None) -> dict[str, Any]:
    described: dict[str, Any] = {
        "version": line.version,
        "kind": line.kind,
        "text": line.text,
        "detail": line.detail,
    }
    if event is None:
        return described
    payload = to_jsonable_python(event)
    return {
        **described,
        "event": event.TOPIC,
        "time": event.time,
        **payload.pop("envelope"),
        "payload": payload,
    }
