"""Requests of OpenAI chat completions."""

import re
from typing import Any

from tests.judges.official import first, judge, library, list_of, why_not_json
from tests.sendable_check import why_not_openai


def _messages() -> Any:
    return list_of(library("openai.types.chat").ChatCompletionMessageParam)


_typed_messages = judge(_messages)


def why_not(request: dict[str, Any]) -> str | None:
    if set(request) != {"messages"}:
        return f"it has more than messages: {set(request)}"
    messages = request["messages"]
    return first(
        why_not_json(request),
        _typed_messages([_typed(message) for message in messages]),
        *(_why_not_message(message) for message in messages),
        why_not_openai([_plain(message) for message in messages]),
    )


def _why_not_message(message: dict[str, Any]) -> str | None:
    ids = [call["id"] for call in message.get("tool_calls", ())]
    if any(len(call_id) > 40 for call_id in [*ids, message.get("tool_call_id", "")]):
        return "an id is longer than 40 characters"
    for call in message.get("tool_calls", ()):
        name = call[call["type"]]["name"]
        if not re.fullmatch("[a-zA-Z0-9_-]{1,64}", name):
            return f"the name {name!r} is not allowed"
    if "name" in message and not re.fullmatch(r"[^\s<|\\/>]{1,64}", message["name"]):
        return f"the name {message['name']!r} is not allowed"
    return "its content is an empty list" if message["content"] == [] else None


def _typed(message: dict[str, Any]) -> dict[str, Any]:
    """A result may name its function: the service takes it, the types have no word for it."""
    return {key: value for key, value in message.items() if message["role"] != "tool" or key != "name"}


def _plain(message: dict[str, Any]) -> dict[str, Any]:
    """What the structural rules look at: a custom call as one of a function, no extras."""
    keys = ("role", "content", "name", "tool_call_id")
    calls = [_plain_call(call) for call in message.get("tool_calls", ())]
    plain = {key: message[key] for key in keys if key in message}
    return plain | ({"tool_calls": calls} if "tool_calls" in message else {})


def _plain_call(call: dict[str, Any]) -> dict[str, Any]:
    function = call.get("function") or {"name": call["custom"]["name"], "arguments": "{}"}
    return {"id": call["id"], "type": "function", "function": function}
