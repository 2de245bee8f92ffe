"""Gemini contents, as the service spells them and as its libraries dump them: parts told apart.

Keys with underscores are read as their spelling in the service's JSON, bytes as base64 text. Calls without
ids get one of their place, and a response without one is that of a call of its name. Thoughts, executed code
and signatures are no part of what was said: they are kept for the provider of the same name.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from turnledger.domain.messages import as_map, call_id
from turnledger.domain.values import LEVELS_MAX, Unkeepable, json_text
from turnledger.importing.pairing import Unanswered
from turnledger.importing.reading import Format, Read, beyond, in_order, said, with_blocks
from turnledger.projections.media import base64_text
from turnledger.projections.parts import part_of
from turnledger.projections.providers.gemini import (
    ERROR,
    NAME,
    RESPONSE_KEY,
    RESULT,
    WHOLE,
    Sent,
    blocks_of,
)
from turnledger.projections.providers.gemini_parts import CALL, DATA_KEYS, RESPONSE, SIGNATURE
from turnledger.projections.providers.keeping import ERROR_KEY

_ROLES = {"model": "assistant", "function": "user", "tool": "user"}
_MESSAGE_KEYS = ("role", "parts", "content", "metadata")
_AS_GIVEN = ("args", "response", "partMetadata")  # what a function takes and gives keeps its own keys
_OUTPUTS = (RESULT, "output", ERROR)


def read(messages: Sequence[Any], start: int = 0) -> Iterator[Read]:
    """The messages from `start` on, to be appended; what is no content of Gemini's goes on as it is."""
    reader = _Reader()
    for index, message in enumerate(messages):
        found = list(reader.read(message, index))
        if index >= start:
            yield from found


class _Reader:
    """Contents one after another, with the calls that are open."""

    def __init__(self) -> None:
        self._unanswered = Unanswered()
        self._given: set[str] = set()

    def read(self, given: Any, index: int) -> Iterator[Read]:
        message = _map_of(given)
        parts = _parts_of(message)
        if message is None or parts is None:
            yield Read(given, index)
            return
        results = [place for place, part in enumerate(parts) if _is(part, RESPONSE)]
        rest = tuple(place for place in range(len(parts)) if place not in results)
        left = [Read(self._said(message, [parts[place] for place in rest], index), index, rest)]
        answers = [Read(self._result(parts[place]), index, (place,)) for place in results]
        yield from in_order(left[0].message["role"], left if rest or not results else [], answers)

    def _said(self, message: Mapping[str, Any], parts: list[Any], index: int) -> dict[str, Any]:
        """A content without its responses; calls are those of the model alone."""
        role = _role(message, parts)
        calls = [part for part in parts if role == "assistant" and _is(part, CALL)]
        spoken = [part for part in parts if role != "assistant" or part_of(part)]
        read: dict[str, Any] = {"role": role, "content": said(spoken, str(role)), "metadata": _known(message)}
        if calls:
            read["tool_calls"] = [self._call(part[CALL], index, place) for place, part in enumerate(calls)]
        named = {one["id"]: Sent(one["id"], one["name"]) for one in read.get("tool_calls", ())}
        return with_blocks(read, parts, NAME, lambda item, _: blocks_of(item, named))

    def _call(self, function: Mapping[str, Any], index: int, place: int) -> dict[str, Any]:
        given, name = call_id(function.get("id")), function.get("name")
        if given:
            self._given.add(given)
        usable = self._unanswered.declare(index, place, name, given)
        named = name if isinstance(name, str) and name.strip() else "unknown"
        return {"id": usable, "name": named, "arguments": function.get("args")}

    def _result(self, part: Mapping[str, Any]) -> dict[str, Any]:
        response = part[RESPONSE]
        name, given = response.get("name"), call_id(response.get("id"))
        known = given if given in self._given else None
        answered = self._unanswered.answer(name, known) or given
        content, metadata = _output(response)
        message = {"role": "tool", "content": content, "tool_call_id": answered, "metadata": metadata}
        sent = Sent(given, str(name))
        return with_blocks(message, [part], NAME, lambda item, _: blocks_of(item, {str(answered): sent}))


def _output(response: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """What a function gave, and what of its spelling is to be kept."""
    given = response.get("response")
    metadata: dict[str, Any] = {}
    output = given
    if isinstance(given, Mapping) and len(given) == 1 and (key := next(iter(given))) in _OUTPUTS:
        output = given[key]
        if key == ERROR:
            metadata[ERROR_KEY] = True
        elif key != RESULT:
            metadata[NAME] = {RESPONSE_KEY: key}
    elif isinstance(given, Mapping):
        metadata[NAME] = {RESPONSE_KEY: WHOLE}
    text = output if isinstance(output, str) else "" if output is None else json_text(output)
    given_parts = response.get("parts")
    media = [part for part in given_parts if part_of(part)] if isinstance(given_parts, list) else []
    return ([{"text": text}, *media] if text else media) if media else text, metadata


def _role(message: Mapping[str, Any], parts: list[Any]) -> Any:
    """The role in our words; without one, a content with calls is the model's and another the user's."""
    role = message.get("role")
    if role is None:
        return "assistant" if any(_is(part, CALL) for part in parts) else "user"
    return _ROLES.get(role, role) if isinstance(role, str) else role


def _is(part: Any, key: str) -> bool:
    return isinstance(part, Mapping) and isinstance(part.get(key), Mapping)


def _known(message: Mapping[str, Any]) -> dict[str, Any]:
    metadata = message.get("metadata")
    known = beyond(message, _MESSAGE_KEYS)
    return (dict(metadata) if isinstance(metadata, Mapping) else {}) | ({NAME: known} if known else {})


def _map_of(value: Any) -> Mapping[str, Any] | None:
    try:
        return as_map(value)
    except Unkeepable:
        return None


def _parts_of(message: Mapping[str, Any] | None) -> list[Any] | None:
    """A content's parts as the service spells them, a text as one of them; None where it is no content.

    A system prompt may be a list of texts or parts without more. What the model was cut off before it said
    anything has no parts at all.
    """
    parts = (message or {}).get("parts")
    if parts is None and message and message.get("role") == "system":
        parts = message.get("content")
    if parts is None and message and message.get("role") == "model" and message.get("content") is None:
        parts = []
    if isinstance(parts, Mapping | str):
        parts = [parts]
    if not isinstance(parts, list | tuple):
        return None
    return [{"text": part} if isinstance(part, str) else in_service_spelling(part) for part in parts]


def in_service_spelling(value: Any, levels: int = LEVELS_MAX) -> Any:
    """A value with keys in camel case, bytes as base64 text and no keys of nothing."""
    if isinstance(value, bytes | bytearray):
        return base64_text(value)
    if isinstance(value, list | tuple) and levels:
        return [in_service_spelling(one, levels - 1) for one in value]
    if not isinstance(value, Mapping) or not levels:
        return value
    spelled = {_camel(key): one for key, one in value.items() if one is not None}
    return {
        key: one if key in _AS_GIVEN else in_service_spelling(one, levels - 1) for key, one in spelled.items()
    }


def _camel(key: Any) -> Any:
    return re.sub("_([a-z])", lambda found: found[1].upper(), key) if isinstance(key, str) else key


def marks(message: Mapping[str, Any]) -> bool:
    parts = message.get("parts")
    if message.get("role") == "model":
        return "content" not in message
    return isinstance(parts, list) and any(
        isinstance(part, Mapping)
        and part.keys().isdisjoint(("type", "part_kind"))
        and not {_camel(key) for key in part}.isdisjoint(DATA_KEYS | {SIGNATURE})
        for part in parts
    )


FORMAT = Format(NAME, read, marks)
