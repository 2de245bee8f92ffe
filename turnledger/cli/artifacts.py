"""`held` and `takes`: what paused executions hold, and takes that nobody settled. For operators only."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import click

from turnledger.cli.following import waiting_in
from turnledger.cli.options import at_option, json_option, store_option_here, store_to_read, store_to_write
from turnledger.cli.screen import STYLES, Screen, json_line, list_found, print_json_list, stamp
from turnledger.domain.delivering import HeldArtifact, Take
from turnledger.domain.errors import TakeNotFound
from turnledger.domain.values import json_text
from turnledger.projections.legible import counted, legible, one_line, shortened
from turnledger.store import ConversationStore

PAYLOAD_MAX = 300

_HELD_HELP = """List the artifacts that paused executions hold; without ID, in all conversations.

\b
Examples:
  turnledger held
  turnledger held cats --execution run-7 --json
"""
_TAKES_HELP = """List takes that nothing settled, or settle one.

A take stays open when its process died between taking artifacts and saying what became of them. Find out, and
settle it: --confirm if they were delivered, --put-back if they were not, --discard if they never will be.

\b
Examples:
  turnledger takes
  turnledger takes --put-back 3f9c1a
  turnledger takes cats --discard 3f9c1a --reason "the run was cancelled"
"""


@click.command(help=_HELD_HELP)
@click.argument("conversation_id", metavar="[ID]", required=False)
@click.option("--execution", "execution_id", metavar="ID", help="Only what this execution holds.")
@at_option
@json_option
@store_option_here
def held(
    conversation_id: str | None, execution_id: str | None, at: int | datetime | None, as_json: bool
) -> None:
    if conversation_id is None and at is not None:
        raise click.UsageError("--at needs the ID of a conversation")
    with store_to_read() as store:
        found = _held(store, conversation_id, execution_id, at)
        if as_json:
            print_json_list({"conversation_id": owner, **artifact} for owner, artifact in found)
            return
        screen, none = Screen(), True
        for owner, artifact in found:
            none = False
            _show_held(screen, owner, artifact)
    if none:
        screen.line(("nothing is held", "dim"))


def _held(
    store: ConversationStore, conversation_id: str | None, execution_id: str | None, at: int | datetime | None
) -> Iterator[tuple[str, HeldArtifact]]:
    named = [conversation_id] if conversation_id is not None else _holding(store)
    for owner in named:
        for artifact in store.held(owner, execution_id, at=at):
            yield owner, artifact


def _holding(store: ConversationStore) -> Iterable[str]:
    found = waiting_in(store, None, "held")
    return (one.conversation_id for one in store.conversations()) if found is None else found


def _show_held(screen: Screen, owner: str, artifact: HeldArtifact) -> None:
    screen.line(
        (legible(owner), "bold"),
        f"  {legible(artifact.execution_id)}  ",
        (one_line(artifact.type), STYLES["held"]),
        f"  {_origin(artifact)}",
        (f"  {shortened(one_line(json_text(artifact.payload)), PAYLOAD_MAX)}", "dim"),
    )


def _origin(artifact: HeldArtifact) -> str:
    call = "no call" if artifact.tool_call_id is None else f"call {legible(str(artifact.tool_call_id))}"
    return f"{call}, turn {legible(artifact.turn_id)}" if artifact.turn_id else call


@click.command(help=_TAKES_HELP)
@click.argument("conversation_id", metavar="[ID]", required=False)
@click.option("--confirm", "confirmed", metavar="TAKE", help="It was delivered.")
@click.option("--put-back", "put_back", metavar="TAKE", help="It was not delivered: hold it again.")
@click.option("--discard", "discarded", metavar="TAKE", help="Give it up for good, with a --reason.")
@click.option("--reason", metavar="TEXT", help="Why it is discarded.")
@json_option
@store_option_here
def takes(
    conversation_id: str | None,
    confirmed: str | None,
    put_back: str | None,
    discarded: str | None,
    reason: str | None,
    as_json: bool,
) -> None:
    given = [(verb, take) for verb, take in _verbs(confirmed, put_back, discarded) if take is not None]
    if len(given) > 1:
        raise click.UsageError("settle a take one way: --confirm, --put-back or --discard")
    if (discarded is None) != (reason is None):
        raise click.UsageError("--discard and --reason go together")
    if given:
        _settle(conversation_id, *given[0], reason, as_json)
    else:
        _list(conversation_id, as_json)


def _verbs(
    confirmed: str | None, put_back: str | None, discarded: str | None
) -> tuple[tuple[str, str | None], ...]:
    return ("confirmed", confirmed), ("put back", put_back), ("discarded", discarded)


def _list(conversation_id: str | None, as_json: bool) -> None:
    with store_to_read() as store:
        found = _open_takes(store, conversation_id)
    if as_json:
        print_json_list(found)
        return
    list_found(found, _show_take, "no take is open")


def _open_takes(store: ConversationStore, conversation_id: str | None) -> list[Take]:
    asked = waiting_in(store, None, "take") if conversation_id is None else conversation_id
    return store.open_takes(asked)


def _show_take(screen: Screen, take: Take) -> None:
    types = ", ".join(one_line(artifact["type"]) for artifact in take.artifacts)
    context = ", ".join(f"{one_line(key)} {one_line(value)}" for key, value in (take.context or {}).items())
    screen.line(
        (legible(take.take_id or ""), "bold"),
        f"  {legible(take.conversation_id)}, execution {legible(take.execution_id)}: ",
        f"{counted(len(take.artifacts), 'artifact')} ",
        (types, STYLES["taken"]),
        (f"  since {stamp(take.taken_at)}" + (f", {context}" if context else ""), "dim"),
    )


def _settle(conversation_id: str | None, verb: str, take_id: str, reason: str | None, as_json: bool) -> None:
    with store_to_write(create=False) as store:
        owner, take_id = _found(store, conversation_id, take_id)
        told = _settled(store, owner, verb, take_id, reason)
    if as_json:
        click.echo(json_line({"conversation_id": owner, "take_id": take_id, "settled": verb, **told}))
        return
    screen = Screen()
    screen.line((legible(take_id), "bold"), f"  {verb}, of conversation {legible(owner)}")
    for artifact in told.get("refused", ()):
        screen.line(
            "  ", ("dropped", "bold red"), f" {one_line(str(artifact.type))}: {one_line(artifact.reason)}"
        )


def _settled(
    store: ConversationStore, owner: str, verb: str, take_id: str, reason: str | None
) -> dict[str, Any]:
    if verb == "put back":
        result = store.put_back(owner, take_id)
        return {"held": list(result.held), "refused": list(result.refused)}
    if verb == "confirmed":
        store.confirm(owner, take_id)
    else:
        store.discard(owner, take_id, reason=reason or "")
    return {}


def _found(store: ConversationStore, conversation_id: str | None, given: str) -> tuple[str, str]:
    """The conversation and the whole id of the open take that a whole id, or the start of one, names."""
    takes = [(take.conversation_id, take.take_id or "") for take in _open_takes(store, conversation_id)]
    meant = [take for take in takes if take[1] == given] or [t for t in takes if t[1].startswith(given)]
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise click.UsageError(f"{len(meant)} open takes begin with {given!r}: give more of the id")
    if conversation_id is not None:
        return conversation_id, given  # settled before, perhaps: the store knows
    raise TakeNotFound(
        f"no open take has the id {given!r}: 'turnledger takes' lists them; to settle one again, name its "
        "conversation too"
    )
