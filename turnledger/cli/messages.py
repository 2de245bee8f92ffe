"""One message on the screen, in any of the three shapes."""

from collections.abc import Mapping
from typing import Any

from turnledger.cli.screen import STYLES, Screen
from turnledger.domain.messages import arguments_of_call, id_of_call, name_of_call, original_id_of
from turnledger.domain.values import json_text
from turnledger.projections.legible import legible, legible_lines, one_line, shortened, spoken

CHARACTERS_MAX = 700
ARGUMENTS_MAX = 200
ROLE_WIDTH = 9
INDENT = 4 + 2 + ROLE_WIDTH + 2


def show_message(screen: Screen, message: Mapping[str, Any], number: int, *, full: bool = False) -> None:
    """Its number and role, what it says, its calls or the call that it answers, what was delivered on it."""
    metadata = message.get("metadata") or message
    role = str(message["role"])
    head: list[Any] = [(f"{number:>4}", "bold"), "  ", (f"{role:<{ROLE_WIDTH}}", STYLES.get(role, "")), "  "]
    for line in _lines(message, metadata, full):
        screen.line(*head, *line, indent=INDENT)
        head = [" " * INDENT]


def _lines(message: Mapping[str, Any], metadata: Mapping[str, Any], full: bool) -> list[list[Any]]:
    lines: list[list[Any]] = []
    if metadata.get("tool_call_id") is not None and message["role"] == "tool":
        lines.append(_answer(metadata))
    lines.extend([line] for line in _said(message.get("content"), full))
    for call in (metadata.get("tool_calls") or []) if message["role"] == "assistant" else []:
        lines.append(_call(call, full))
    for artifact in message.get("toolArtifacts") or []:
        payload = _cut(json_text(artifact["payload"]), full)
        lines.append([("delivered ", STYLES["delivered"]), f"{one_line(artifact['type'])} {payload}"])
    return lines or [[("(empty)", "dim")]]


def _said(content: Any, full: bool) -> list[str]:
    text = spoken(content)
    if not text:
        return []
    return legible_lines(text if full else shortened(text, CHARACTERS_MAX))


def _answer(metadata: Mapping[str, Any]) -> list[Any]:
    parts: list[Any] = [("← ", "dim"), (legible(str(metadata["tool_call_id"])), "bold")]
    if original := original_id_of(metadata):
        parts.append((f" (came as {legible(original)})", "dim"))
    if metadata.get("healed") is True:
        parts.append((" placeholder", STYLES["healed"]))
    return parts


def _call(call: Mapping[str, Any], full: bool) -> list[Any]:
    call_id, arguments = id_of_call(call), arguments_of_call(call)
    text = arguments if isinstance(arguments, str) else "" if arguments is None else json_text(arguments)
    original = original_id_of(call)
    return [
        ("→ ", "dim"),
        one_line(name_of_call(call)),
        (f" {legible(call_id)}" if call_id else " (without a usable id)", "bold"),
        (f" (reuses id {legible(original)})" if original else "", "yellow"),
        (f" {_cut(text, full)}" if text else "", "dim"),
    ]


def _cut(text: str, full: bool) -> str:
    return one_line(text) if full else shortened(one_line(text), ARGUMENTS_MAX)
