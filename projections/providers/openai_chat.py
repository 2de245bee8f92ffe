"""The sendable list as OpenAI chat messages: `chat.completions.create(**request)`."""

import json
from typing import Any

from turnledger.domain.pairing import Call, Item
from turnledger.domain.values import copied, json_text, parsed

NAME = "openai-chat"
RENDERING = 1  # another number whenever the same events come to be rendered in another way
ROLE_KEY = "openai_role"


def rendered(items: list[Item]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The messages, with arguments as JSON text, and the keyword arguments of one request."""
    messages = [_message(item) for item in items]
    return messages, {"messages": messages}


def _message(item: Item) -> dict[str, Any]:
    message: dict[str, Any] = {"role": _role(item), "content": _content(item)}
    if item.name is not None:
        message["name"] = item.name
    if item.calls:
        message["tool_calls"] = [_call(call) for call in item.calls]
    if item.call_id is not None:
        message["tool_call_id"] = item.call_id
    return message


def _role(item: Item) -> str:
    """A system message that was imported from role `developer` goes back as that."""
    return "developer" if item.metadata.get(ROLE_KEY) == "developer" else item.role


def _content(item: Item) -> Any:
    """Content parts go as they are; anything else that is no text, as text."""
    parts = item.content
    if isinstance(parts, list) and parts and all(isinstance(p, dict) and "type" in p for p in parts):
        return copied(parts)
    return item.text


def _call(call: Call) -> dict[str, Any]:
    return {
        "id": call.call_id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments_json(call.arguments)},
    }


def arguments_json(arguments: Any) -> str:
    """Arguments as JSON text. What a model cut off or glued together stays readable under `invalid_json`."""
    if arguments is None:
        return "{}"
    if not isinstance(arguments, str):
        return json_text(arguments)
    try:
        parsed(arguments)
    except ValueError:
        return json.dumps({"invalid_json": arguments}, ensure_ascii=False)
    return arguments
