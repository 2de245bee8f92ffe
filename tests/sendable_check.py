"""Whether a list can be sent, judged from SPEC section 5 alone: no code of the library is used here."""

import json
from collections.abc import Iterator
from typing import Any

ROLES = {"user", "assistant", "system", "developer", "tool"}
FLAT_KEYS = {"role", "content", "tool_calls", "tool_call_id", "name"}
CALL_KEYS = {"tool_call_id", "name", "arguments"}


def texts_in(value: Any) -> Iterator[str]:
    """Every text inside a JSON-like value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from texts_in(key)
            yield from texts_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts_in(inner)


def encodes(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def usable(call_id: Any) -> bool:
    return isinstance(call_id, str) and call_id == call_id.strip() and call_id not in ("", "0")


def why_not_sendable(messages: Any) -> str | None:
    """The first reason why a flat list would be refused, None where it is sendable."""
    if not isinstance(messages, list):
        return "it is no list"
    for index, message in enumerate(messages):
        reason = why_not_flat(message)
        if reason:
            return f"message {index}: {reason}"
    return _why_not_ordered(messages) or _why_not_paired(messages)


def why_not_flat(message: Any) -> str | None:
    """What is wrong with the shape of one flat message."""
    if not isinstance(message, dict):
        return "it is no map"
    role = message.get("role")
    if role not in ROLES:
        return f"its role is {role!r}"
    if set(message) - FLAT_KEYS:
        return f"it has keys of no flat message: {set(message) - FLAT_KEYS}"
    if not isinstance(message.get("content"), str):
        return "its content is no text"
    if "name" in message and not (isinstance(message["name"], str) and message["name"].strip()):
        return "its name is no name"
    if ("tool_call_id" in message) != (role == "tool"):
        return "a call id stands on tool messages, and on each of them"
    if role == "tool" and not usable(message["tool_call_id"]):
        return "its call id is not usable"
    if "tool_calls" in message:
        if role != "assistant":
            return "calls stand on assistant messages alone"
        reason = _why_not_calls(message["tool_calls"])
        if reason:
            return reason
    if not all(encodes(text) for text in texts_in(message)):
        return "some text does not encode as UTF-8"
    return None


def _why_not_calls(calls: Any) -> str | None:
    if not isinstance(calls, list) or not calls:
        return "its calls are no list, or an empty one"
    for call in calls:
        if not isinstance(call, dict) or set(call) - CALL_KEYS or not usable(call.get("tool_call_id")):
            return f"a call is not as it should be: {call!r}"
        if not isinstance(call.get("name"), str) or not call["name"].strip():
            return "a call has no name"
    return None


def _why_not_ordered(messages: list[dict[str, Any]]) -> str | None:
    system = [message["role"] in ("system", "developer") for message in messages]
    return None if system == sorted(system, reverse=True) else "a system message stands behind another one"


def _why_not_paired(messages: list[dict[str, Any]]) -> str | None:
    ids = [call["tool_call_id"] for message in messages for call in message.get("tool_calls", ())]
    if len(ids) != len(set(ids)):
        return "a call id is declared twice"
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return f"the result of {message['tool_call_id']!r} stands behind no turn that waits for it"
            waiting.remove(message["tool_call_id"])
        elif waiting:
            return f"no result right behind its turn for {waiting}"
        else:
            waiting = [call["tool_call_id"] for call in message.get("tool_calls", ())]
    return f"no result for {waiting}" if waiting else None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def why_not_openai(messages: Any) -> str | None:
    """The same for a request of OpenAI chat completions: its calls are nested, arguments are JSON text."""
    flat = []
    for message in messages:
        plain = {key: value for key, value in message.items() if key not in ("content", "tool_calls")}
        plain["content"] = "" if not isinstance(message.get("content"), str) else message["content"]
        if "tool_calls" in message:
            plain["tool_calls"] = []
            for call in message["tool_calls"]:
                if call.get("type") != "function" or set(call) != {"id", "type", "function"}:
                    return f"no call of OpenAI: {call!r}"
                function = call["function"]
                if not isinstance(function.get("arguments"), str):
                    return "arguments are no text"
                try:
                    json.loads(function["arguments"], parse_constant=_no_constant)
                except ValueError:
                    return f"arguments are no JSON: {function['arguments']!r}"
                plain["tool_calls"].append({"tool_call_id": call["id"], "name": function["name"]})
        flat.append(plain)
    try:
        json.dumps(messages, allow_nan=False, ensure_ascii=False).encode("utf-8")
    except (ValueError, TypeError) as error:
        return f"the request does not encode: {error}"
    return why_not_sendable(flat)


def exactly(value: Any) -> str:
    """A text equal for equal JSON values only: `1`, `1.0` and `True` are three; the order of keys is free."""
    if isinstance(value, dict):
        return "{" + ",".join(sorted(f"{key!r}:{exactly(inner)}" for key, inner in value.items())) + "}"
    if isinstance(value, list):
        return "[" + ",".join(exactly(inner) for inner in value) + "]"
    return repr(value)
