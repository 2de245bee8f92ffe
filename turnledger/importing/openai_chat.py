"""OpenAI chat messages, as they come: what the store's own append does not read already.

`developer` is OpenAI's newer name for `system`; the rules know four roles, so it is kept beside the role and
given back by the provider of the same name. A `function_call` and its result, from before there were ids, get
an id of their place.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from turnledger.importing.pairing import Unanswered
from turnledger.importing.reading import Format, Read, said
from turnledger.projections.providers.openai_chat import NAME, PARTS_KEY, ROLE_KEY

_MARKS = ("function_call", "tool_call_id")


def read(messages: Sequence[Any], start: int = 0) -> Iterator[Read]:
    """The messages from `start` on, to be appended."""
    unanswered = Unanswered()
    for index, message in enumerate(messages):
        found = _read(message, index, unanswered)
        if index >= start:
            yield Read(found, index)


def _read(message: Any, index: int, unanswered: Unanswered) -> Any:
    if not isinstance(message, Mapping):
        return message
    metadata = message.get("metadata")
    if metadata is not None and not isinstance(metadata, Mapping):
        return message
    if message.get("role") == "function":
        return _legacy_result(message, unanswered)
    if isinstance(message.get("function_call"), Mapping) and not message.get("tool_calls"):
        return _legacy_turn(message, index, unanswered)
    if message.get("role") == "developer":
        message = {**message, "role": "system", "metadata": {**(metadata or {}), ROLE_KEY: "developer"}}
    return _with_text(message)


def _legacy_turn(message: Mapping[str, Any], index: int, unanswered: Unanswered) -> dict[str, Any]:
    function = message["function_call"]
    call_id = unanswered.declare(index, 0, function.get("name"))
    call = {"id": call_id, "type": "function", "function": function}
    rest = {key: value for key, value in message.items() if key != "function_call"}
    return {**rest, "tool_calls": [call]}


def _legacy_result(message: Mapping[str, Any], unanswered: Unanswered) -> dict[str, Any]:
    rest = {key: value for key, value in message.items() if key != "name"}
    return {**rest, "role": "tool", "tool_call_id": unanswered.answer(message.get("name"))}


def _with_text(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Content of text parts alone is one text; the parts are kept for the provider of the same name."""
    content = message.get("content")
    if not isinstance(content, list) or not content or not all(_is_text(part) for part in content):
        return message
    metadata = {**(message.get("metadata") or {}), NAME: {PARTS_KEY: content}}
    return {**message, "content": said(content, str(message.get("role"))), "metadata": metadata}


def _is_text(part: Any) -> bool:
    return isinstance(part, Mapping) and part.get("type") == "text" and isinstance(part.get("text"), str)


def marks(message: Mapping[str, Any]) -> bool:
    if message.get("role") in ("function", "developer") or not message.keys().isdisjoint(_MARKS):
        return True
    calls = message.get("tool_calls")
    return isinstance(calls, list) and any(
        isinstance(call, Mapping) and ("id" in call or "tool_call_id" in call) for call in calls
    )


FORMAT = Format(NAME, read, marks)
