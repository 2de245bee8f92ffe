"""OpenAI chat messages, as they come: what the store's own append does not read already.

`developer` is OpenAI's newer name for `system`; the rules know four roles, so it is kept beside the role and
given back by the provider of the same name. A `function_call` and its result, from before there were ids, get
an id of their place, as do calls that a service of the same shape named but gave none. "0" stays (MEM-5).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from turnledger.domain.messages import UNNAMED, call_id, id_of_call, name_of_call
from turnledger.importing.pairing import Unanswered
from turnledger.importing.reading import Format, Read, said
from turnledger.projections.providers.mistral import IDS
from turnledger.projections.providers.openai_chat import NAME, PARTS_KEY, ROLE_KEY


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
    message = _with_ids(message, index, unanswered)
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


def _with_ids(message: Mapping[str, Any], index: int, unanswered: Unanswered) -> Mapping[str, Any]:
    """The message with an id for each call without one; a result without one has that of such a call."""
    if message.get("role") == "tool" and _is_blank(message.get("tool_call_id")):
        answered = unanswered.answer(message.get("name") or None)
        return {**message, "tool_call_id": answered} if answered else message
    calls = message.get("tool_calls") if message.get("role") == "assistant" else None
    if not isinstance(calls, list) or not any(map(_is_idless, calls)):
        return message
    with_ids = [
        {**call, "id": unanswered.declare(index, place, name_of_call(call))} if _is_idless(call) else call
        for place, call in enumerate(calls)
    ]
    return {**message, "tool_calls": with_ids}


def _is_idless(call: Any) -> bool:
    """Whether a call has a name and no id at all; one without a name is none."""
    if not isinstance(call, Mapping):
        return False
    return name_of_call(call) != UNNAMED and all(_is_blank(call.get(key)) for key in ("tool_call_id", "id"))


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


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
    if "role" not in message:
        return False
    if message["role"] in ("function", "developer") or "function_call" in message:
        return True
    calls = message.get("tool_calls")
    ids = [id_of_call(call) for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []
    return any(_is_own_id(one) for one in [*ids, call_id(message.get("tool_call_id"))])


def _is_own_id(name: str | None) -> bool:
    """Whether an id is none that Mistral would make too."""
    return name is not None and not re.fullmatch(IDS, name, re.ASCII)


FORMAT = Format(NAME, read, marks)
