"""`diff`: what differs between two versions, where a prompt cache stops matching, and by which event."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import click
from pydantic_core import to_jsonable_python

from turnledger.cli.options import json_option, moment, store_option_here, store_to_read
from turnledger.cli.screen import STYLES, Screen, json_line
from turnledger.domain.events import DomainEvent
from turnledger.domain.messages import id_of_call, name_of_call
from turnledger.domain.values import json_text
from turnledger.projections.diff import OF, Diff, Of
from turnledger.projections.legible import counted, legible, one_line, shortened, spoken
from turnledger.projections.timeline import timeline
from turnledger.store import ConversationStore

SAID_MAX = 160
_MARKS = {"added": ("+", "green"), "removed": ("-", "red"), "old": ("-", "red"), "new": ("+", "green")}

_HELP = """Tell what differs between two versions (or times) of a conversation, message by message.

Without B it is compared with the newest version. The first changed position, counted from 0, is where a
provider's prompt cache stops matching; the event that changed it is named.

\b
Examples:
  turnledger diff cats 5 9
  turnledger diff cats 2026-05-01T12:00:00Z --of buffer
  turnledger diff cats 9 4 --other cats-2 --json
"""


@click.command(help=_HELP)
@click.argument("conversation_id", metavar="ID")
@click.argument("a", callback=moment)
@click.argument("b", callback=moment, required=False)
@click.option("--of", type=click.Choice(OF), default="sendable", show_default=True, help="Which list.")
@click.option("--other", metavar="ID", help="B is a version of this conversation, which shares its past.")
@json_option
@store_option_here
def diff(
    conversation_id: str,
    a: int | datetime,
    b: int | datetime | None,
    of: Of,
    other: str | None,
    as_json: bool,
) -> None:
    with store_to_read() as store:
        newest = store.version(other or conversation_id) if b is None else b
        found = store.diff(conversation_id, a, newest, of=of, other=other)
        if as_json:
            click.echo(json_line(to_jsonable_python({**_fields(found), "appends_only": found.appends_only})))
        else:
            _show(Screen(), store, found)


def _fields(found: Diff) -> dict[str, Any]:
    return {name: getattr(found, name) for name in found.__dataclass_fields__}


def _show(screen: Screen, store: ConversationStore, found: Diff) -> None:
    noun = "artifact" if found.of == "held" else "message"
    other = f"{legible(found.other)} " if found.other else ""
    screen.line(
        (legible(found.conversation_id), "bold"),
        f"  version {found.a} against {other}{found.b}, {found.of}: ",
        f"{counted(found.length_a, noun)} against {found.length_b}",
    )
    if found.first_changed is None:
        screen.line("  ", ("equal", "bold green"))
        return
    screen.line("  ", (_first(found), "bold"), indent=2)
    if found.cause is not None:
        screen.line("  ", ("by ", "dim"), *_cause(store, found.cause), indent=5)
    for one in found.differences:
        if one.old is not None:
            _item(screen, "old", one.before, one.old)
        if one.new is not None:
            _item(screen, "new", one.after, one.new)


def _first(found: Diff) -> str:
    if found.appends_only and found.length_a:
        return f"goes on at position {found.first_changed}: all before it is the same"
    same = f": the {found.first_changed} before it are the same" if found.first_changed else ""
    return f"first changed at position {found.first_changed}{same}"


def _cause(store: ConversationStore, cause: DomainEvent) -> list[Any]:
    """The event's line of the timeline, which names calls by what came before."""
    *_, line = timeline(store.events(cause.conversation_id, to=cause.version))
    text = f" {line.text}  {line.quoted(SAID_MAX)}".rstrip()
    where = f"{legible(cause.conversation_id)} version {cause.version} "
    return [where, (line.kind, STYLES.get(line.kind, "")), text]


def _item(screen: Screen, kind: str, position: int | None, item: Mapping[str, Any]) -> None:
    mark, style = _MARKS[kind]
    head = f"  {mark} {position:>4}  "
    screen.line((head, style), *_said(item), indent=len(head))


def _said(item: Mapping[str, Any]) -> list[Any]:
    """One message or artifact on one line."""
    if "role" not in item:
        return [(one_line(str(item["type"])), STYLES["held"]), f"  {_cut(json_text(item['payload']))}"]
    pairing = item.get("metadata", item)
    parts: list[Any] = [(f"{item['role']:<9}", STYLES.get(str(item["role"]), ""))]
    if item["role"] == "tool" and pairing.get("tool_call_id") is not None:
        parts.append(f"  ← {one_line(str(pairing['tool_call_id']))}")
    parts.append(f"  {_cut(spoken(item.get('content')))}")
    calls = pairing.get("tool_calls") if item["role"] == "assistant" else None
    parts.extend(f"  → {one_line(name_of_call(c))} {legible(id_of_call(c) or '')}" for c in calls or ())
    return parts


def _cut(text: str) -> str:
    return shortened(one_line(text), SAID_MAX)
