"""Messages of Bedrock's Converse: blocks that are told apart by their one key.

Bytes, as boto3 gives them, are read as base64 text. A user message that holds results becomes a tool message
for each, then the rest. Reasoning, breaks in the cache and a server's own tools are no part of what was said:
they are kept for the provider of the same name.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from turnledger.domain.values import LEVELS_MAX, json_text
from turnledger.importing.reading import Format, Read, beyond, in_order, said, with_blocks
from turnledger.projections.media import base64_text
from turnledger.projections.providers.bedrock_blocks import (
    CALL,
    FORMATS,
    REASONING,
    RESULT,
    STATUS,
    is_call,
)
from turnledger.projections.providers.bedrock_converse import NAME, blocks_of
from turnledger.projections.providers.keeping import ERROR_KEY

_MESSAGE_KEYS = ("role", "content", "metadata")
_WORK = (CALL, RESULT, REASONING, "cachePoint", "toolAddition", "toolRemoval")
_MARKS = (*_WORK, "guardContent", "citationsContent", "searchResult")


def read(messages: Sequence[Any], start: int = 0) -> Iterator[Read]:
    """The messages from `start` on, to be appended; what is no message of Converse's goes on as it is."""
    for index, message in enumerate(messages[start:], start):
        yield from _read(message, index)


def _read(message: Any, index: int) -> Iterator[Read]:
    if not isinstance(message, Mapping) or not isinstance(message.get("content"), list | tuple):
        yield Read(message, index)
        return
    blocks = [without_bytes(block) for block in message["content"]]
    results = [place for place, block in enumerate(blocks) if _is_result(block)]
    rest = tuple(place for place in range(len(blocks)) if place not in results)
    answers = [Read(_result(blocks[place]), index, (place,)) for place in results]
    left = [Read(_said(message, [blocks[place] for place in rest]), index, rest)]
    yield from in_order(message.get("role"), left if rest or not results else [], answers)


def _is_result(block: Any) -> bool:
    """Whether a block is a result of a call; those of a server's tools have a type."""
    inner = block.get(RESULT) if isinstance(block, Mapping) else None
    return isinstance(inner, Mapping) and "type" not in inner


def _result(block: Mapping[str, Any]) -> dict[str, Any]:
    result = block[RESULT]
    content, status = result.get("content"), result.get(STATUS)
    metadata = {ERROR_KEY: True} if status == "error" else {NAME: {STATUS: status}} if status else {}
    message = {
        "role": "tool",
        "content": said([_plain(one) for one in content], "tool") if isinstance(content, list) else content,
        "tool_call_id": result.get("toolUseId"),
        "metadata": metadata,
    }
    return with_blocks(message, [block], NAME, blocks_of)


def _said(message: Mapping[str, Any], blocks: list[Any]) -> dict[str, Any]:
    """A message without its results; calls are those of an assistant alone."""
    role = message.get("role")
    calls = [block[CALL] for block in blocks if role == "assistant" and is_call(block)]
    spoken = [_plain(block) for block in blocks if not _is_work(block, role)]
    read: dict[str, Any] = {"role": role, "content": said(spoken, str(role)), "metadata": _metadata(message)}
    if calls:
        read["tool_calls"] = [_call(call) for call in calls]
    return with_blocks(read, blocks, NAME, blocks_of)


def _is_work(block: Any, role: Any) -> bool:
    """Whether a block is no part of what was said."""
    work = _WORK if role == "assistant" else ("cachePoint",)
    return isinstance(block, Mapping) and not block.keys().isdisjoint(work)


def _plain(block: Any) -> Any:
    """What says something in words of its own, as a text: guarded, cited, found or structured content."""
    if not isinstance(block, Mapping):
        return block
    if "json" in block:
        return {"text": json_text(block["json"])}
    for key in ("guardContent", "citationsContent", "searchResult"):
        if isinstance(block.get(key), Mapping):
            text, listed = block[key].get("text"), block[key].get("content")
            texts = [text] if isinstance(text, Mapping) else listed if isinstance(listed, list) else []
            words = [str(one["text"]) for one in texts if isinstance(one, Mapping) and "text" in one]
            return {"text": "".join(words)} if words else block.get(key)
    return block


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    return {"tool_call_id": call.get("toolUseId"), "name": call.get("name"), "arguments": call.get("input")}


def _metadata(message: Mapping[str, Any]) -> dict[str, Any]:
    metadata = message.get("metadata")
    known = beyond(message, _MESSAGE_KEYS)
    return (dict(metadata) if isinstance(metadata, Mapping) else {}) | ({NAME: known} if known else {})


def without_bytes(value: Any, levels: int = LEVELS_MAX) -> Any:
    """A value as JSON holds it: bytes are base64 text; without keys of nothing."""
    if isinstance(value, bytes | bytearray):
        return base64_text(value)
    if isinstance(value, list | tuple) and levels:
        return [without_bytes(one, levels - 1) for one in value]
    if not isinstance(value, Mapping) or not levels:
        return value
    return {
        key: one if key in ("input", "json") else without_bytes(one, levels - 1)
        for key, one in value.items()
        if one is not None
    }


def marks(message: Mapping[str, Any]) -> bool:
    content = message.get("content") if "role" in message else None
    return isinstance(content, list) and any(
        isinstance(block, Mapping) and "type" not in block and _is_converse(block) for block in content
    )


def _is_converse(block: Mapping[str, Any]) -> bool:
    if not block.keys().isdisjoint(_MARKS) or block.keys() == {"text"}:
        return True
    return any(isinstance(inner := block.get(kind), Mapping) and "source" in inner for kind in FORMATS)


FORMAT = Format(NAME, read, marks)
