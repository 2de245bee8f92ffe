"""Requests of Anthropic messages."""

import re
from typing import Any

from tests.judges.official import first, judge, library, list_of, why_not_json


def _contents() -> Any:
    return list_of(list_of(library("anthropic.types").ContentBlockParam))


def _system() -> Any:
    return list_of(library("anthropic.types").TextBlockParam)


_typed_contents, _typed_system = judge(_contents), judge(_system)


def why_not(request: dict[str, Any]) -> str | None:
    if set(request) - {"messages", "system"}:
        return f"it has more than messages and a system prompt: {set(request)}"
    messages, system = request["messages"], request.get("system", [])
    return first(
        why_not_json(request),
        _typed_contents([message["content"] for message in messages]),
        _typed_system(system),
        "the system prompt is empty" if "system" in request and not system else None,
        _why_not_alternating(messages),
        *(_why_not_blocks(message["content"]) for message in messages),
        *(_why_not_text(block) for block in system),
        _why_not_paired(messages),
        _why_not_ending(messages),
    )


def _why_not_alternating(messages: list[dict[str, Any]]) -> str | None:
    for place, message in enumerate(messages):
        if set(message) != {"role", "content"}:
            return f"message {place} has the keys {set(message)}"
        if message["role"] != ("user", "assistant")[place % 2]:
            return f"message {place} is of role {message['role']}: they alternate, and the user begins"
        if not message["content"]:
            return f"message {place} has no block"
    return None


def _why_not_text(block: dict[str, Any]) -> str | None:
    return "a text block is blank" if block["type"] == "text" and not block["text"].strip() else None


def _why_not_blocks(blocks: list[dict[str, Any]]) -> str | None:
    seen_other = False
    for block in blocks:
        if block["type"] == "tool_result":
            if seen_other:
                return "a result stands behind something else"
            inner = block.get("content", [])
            if isinstance(inner, list) and any(_why_not_text(one) for one in inner):
                return "a text block in a result is blank"
        else:
            seen_other = True
        if block["type"] == "tool_use" and not re.fullmatch("[a-zA-Z0-9_-]+", block["id"]):
            return f"the id {block['id']!r} has characters that are not allowed"
        if block["type"] == "tool_use" and not re.fullmatch("[a-zA-Z0-9_-]{1,128}", block["name"]):
            return f"the name {block['name']!r} is not allowed"
        if reason := _why_not_text(block):
            return reason
    return None


def _why_not_paired(messages: list[dict[str, Any]]) -> str | None:
    declared: list[str] = []
    waiting: list[str] = []
    for message in messages:
        blocks = message["content"]
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if sorted(answered) != sorted(waiting):
            return f"results for {answered}, where {waiting} wait for one"
        if answered and message["role"] != "user":
            return "a result is not the user's"
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        declared += waiting
        if waiting and message["role"] != "assistant":
            return "a call is not the assistant's"
    if waiting:
        return f"no result for {waiting}"
    return "an id is declared twice" if len(declared) != len(set(declared)) else None


def _why_not_ending(messages: list[dict[str, Any]]) -> str | None:
    if not messages or messages[-1]["role"] != "assistant":
        return None
    last = messages[-1]["content"][-1]
    if last["type"] in ("thinking", "redacted_thinking"):
        return "the last block is thinking"
    blank = last["type"] == "text" and last["text"] != last["text"].rstrip()
    return "the assistant's last text ends with white space" if blank else None
