"""Requests of Mistral's chat completions.

The order is the one that the service names when it refuses: "Unexpected role 'user' after role 'tool'",
"Not the same number of function calls and responses", "must be a-z, A-Z, 0-9, with a length of 9". A list
that ends with the assistant asks for nothing yet: the service takes it with the user's next message.
"""

import json
import re
from itertools import pairwise
from typing import Any

from tests.judges.official import first, judge, library, list_of, why_not_json

FOLLOWS = {
    "system": ("system", "user", "assistant"),
    "user": ("user", "assistant"),
    "assistant": ("assistant", "user", "tool"),
    "tool": ("tool", "assistant"),
}


def _messages() -> Any:
    return list_of(library("mistralai.client.models").ChatCompletionRequestMessageTypedDict)


_typed_messages = judge(_messages)


def why_not(request: dict[str, Any]) -> str | None:
    if set(request) != {"messages"}:
        return f"it has more than messages: {set(request)}"
    messages = request["messages"]
    return first(
        why_not_json(request),
        _typed_messages(messages),
        *(_why_not_message(message) for message in messages),
        _why_not_in_order(messages),
        _why_not_paired(messages),
        *("a prefix is not the last message" for message in messages[:-1] if "prefix" in message),
    )


def _why_not_message(message: dict[str, Any]) -> str | None:
    if message["content"] == []:
        return "its content is an empty list"
    if message["role"] == "assistant" and not message["content"] and not message.get("tool_calls"):
        return "an assistant has neither content nor calls"
    names = [call["function"]["name"] for call in message.get("tool_calls", ())]
    for name in [*names, message.get("name", "n")]:
        if not re.fullmatch("[a-zA-Z0-9_-]{1,64}", name):
            return f"the name {name!r} is not allowed"
    for call in message.get("tool_calls", ()):
        arguments = call["function"]["arguments"]
        try:
            json.loads(arguments) if isinstance(arguments, str) else None
        except ValueError:
            return f"arguments are no JSON: {arguments!r}"
    return None


def _why_not_in_order(messages: list[dict[str, Any]]) -> str | None:
    for before, after in pairwise(messages):
        if after["role"] not in FOLLOWS[before["role"]]:
            return f"Unexpected role {after['role']!r} after role {before['role']!r}"
    return "a result leads" if messages and messages[0]["role"] == "tool" else None


def _why_not_paired(messages: list[dict[str, Any]]) -> str | None:
    declared: list[str] = []
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return f"a result for {message['tool_call_id']}, where {waiting} wait for one"
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            return f"Not the same number of function calls and responses: {waiting}"
        waiting = [call["id"] for call in message.get("tool_calls", ())]
        declared += waiting
    if waiting:
        return f"no result for {waiting}"
    if bad := [call_id for call_id in declared if not re.fullmatch("[a-zA-Z0-9]{9}", call_id)]:
        return f"Tool call id was {bad[0]} but must be a-z, A-Z, 0-9, with a length of 9"
    return "an id is declared twice" if len(declared) != len(set(declared)) else None
