"""`append`: messages from the command line, a file or standard input."""

import json
from pathlib import Path
from typing import Any, get_args

import click

from turnledger.cli.options import (
    expected_version_option,
    json_option,
    standard_input,
    store_option_here,
    store_to_write,
)
from turnledger.cli.screen import Screen, json_line
from turnledger.domain.appending import AppendResult
from turnledger.domain.calls import ReusedIds
from turnledger.domain.messages import ROLES
from turnledger.projections.legible import counted, legible

_HELP = """Append messages to a conversation, and say what became of each.

MESSAGES is JSON (a message or a list of them), a file that holds it, or - for standard input; JSON Lines are
read too. Or give one message by --role and --text.

\b
Examples:
  turnledger append cats --role user --text "How many cats?"
  turnledger append cats '{"role": "assistant", "tool_calls": [{"id": "c1", "name": "count"}]}'
  turnledger append cats answers.json --turn t7 --key t7-answers
"""


@click.command(help=_HELP)
@click.argument("conversation_id", metavar="ID")
@click.argument("messages", metavar="[MESSAGES]", required=False)
@click.option("--role", type=click.Choice(ROLES), help="The role of one message, with --text.")
@click.option("--text", help="What that message says.")
@click.option("--call-id", metavar="ID", help="The call that it answers, for role tool.")
@click.option("--turn", "turn_id", metavar="ID", help="The turn that the messages belong to.")
@click.option("--execution", "execution_id", metavar="ID", help="The execution that appends them.")
@click.option("--key", "idempotency_key", metavar="KEY", help="An idempotency key: a retry adds nothing.")
@click.option("--reused-ids", type=click.Choice(get_args(ReusedIds)), help="How a known call id is read.")
@expected_version_option
@json_option
@store_option_here
def append(
    conversation_id: str,
    messages: str | None,
    role: str | None,
    text: str | None,
    call_id: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    given = _messages(messages, role, text, call_id)
    with store_to_write() as store:
        result = store.append(conversation_id, given, **options)
    if as_json:
        click.echo(json_line(_as_map(result)))
    else:
        _report(result, Screen())


def _messages(messages: str | None, role: str | None, text: str | None, call_id: str | None) -> Any:
    if (messages is None) == (text is None):
        raise click.UsageError("give MESSAGES, or --role and --text: one of the two")
    if messages is not None:
        if role or call_id:
            raise click.UsageError("--role and --call-id go with --text, not with MESSAGES")
        return _read(messages)
    if role is None:
        raise click.UsageError("--text needs --role")
    if call_id and role != "tool":
        raise click.UsageError("--call-id goes with --role tool")
    return {"role": role, "content": text, **({"tool_call_id": call_id} if call_id else {})}


def _read(source: str) -> Any:
    """The value of JSON given as such, in a file, or on standard input."""
    if source == "-":
        return _parsed(standard_input().read(), "standard input")
    if source.lstrip()[:1] in ("{", "["):
        return _parsed(source, "MESSAGES")
    path = Path(source)
    try:
        return _parsed(path.read_bytes(), source)
    except OSError as error:
        raise click.ClickException(
            f"{source!r} is no JSON and no file that can be read: {error.strerror}"
        ) from error
    except ValueError as error:  # a NUL in a path
        raise click.ClickException(f"{source!r} is no JSON and no file: {error}") from error


def _parsed(data: str | bytes, name: str) -> Any:
    try:
        text = data if isinstance(data, str) else data.decode("utf-8-sig")
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            lines = [line for line in text.splitlines() if line.strip()]
            if len(lines) < 2 or not error.msg.startswith("Extra data"):
                raise
            return [json.loads(line) for line in lines]
    except (ValueError, RecursionError) as error:
        raise click.ClickException(
            f"{name} is no JSON: {error}; give a message or a list of messages"
        ) from error


def _as_map(result: AppendResult) -> dict[str, Any]:
    fields = {name: getattr(result, name) for name in result.__dataclass_fields__}
    return {**fields, "appended_any": result.appended_any}


def _report(result: AppendResult, screen: Screen) -> None:
    added = [entry for entry in result.entries if entry is not None]
    entries = f" ({', '.join(map(str, added))})" if added and result.appended else ""
    screen.line(
        (legible(result.conversation_id), "bold"),
        f"  version {result.version:,}, {counted(result.count, 'entry', 'entries')};",
        f" appended {result.appended}{entries}",
    )
    for what, items in _also(result):
        screen.line("  ", (what, "yellow"), f" {legible(items)}", indent=2)


def _also(result: AppendResult) -> list[tuple[str, str]]:
    """What else the append did, where it did."""
    differing = [
        f"{index} (differs)" if index in result.differing else f"{index}" for index in result.duplicates
    ]
    renamed = [f"{given} to {fresh}" for _, given, fresh in result.renamed]
    found = [
        ("healed", ", ".join(result.healed)),
        ("replaced the placeholder of", ", ".join(result.replaced)),
        ("dropped as known: message", ", ".join(differing)),
        ("reused id renamed:", ", ".join(renamed)),
        ("evicted entries", ", ".join(map(str, result.evicted))),
        ("repeated:", "the key was used before, nothing was recorded" if result.repeated else ""),
    ]
    return [(what, items) for what, items in found if items]
