"""Anthropic messages: blocks told apart into a turn's text and calls, results, and what the user said.

A user message that holds results becomes a tool message for each, then the rest. Thinking is no part of what
was said: it is kept with its signature for the provider of the same name.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from turnledger.importing.reading import Format, Read, beyond, in_order, said, with_blocks
from turnledger.projections.providers.anthropic import NAME, blocks_of
from turnledger.projections.providers.keeping import ERROR_KEY

_MESSAGE_KEYS = ("role", "content", "metadata")
_MARKS = ("tool_use", "tool_result", "thinking", "redacted_thinking")
_WORK_MARKS = ("_tool_use", "_tool_result")  # of the service's own tools


def read(messages: Sequence[Any], start: int = 0) -> Iterator[Read]:
    """The messages from `start` on, to be appended; what is no Anthropic message goes on as it is."""
    for index, message in enumerate(messages[start:], start):
        yield from _read(message, index)


def _read(message: Any, index: int) -> Iterator[Read]:
    if not isinstance(message, Mapping) or not isinstance(message.get("content"), list):
        yield Read(message, index)
        return
    blocks = message["content"]
    results = [place for place, block in enumerate(blocks) if _is(block, "tool_result")]
    rest = tuple(place for place in range(len(blocks)) if place not in results)
    answers = [Read(_result(blocks[place]), index, (place,)) for place in results]
    left = [Read(_said(message, [blocks[place] for place in rest]), index, rest)]
    yield from in_order(message.get("role"), left if rest or not results else [], answers)


def _is(block: Any, kind: str) -> bool:
    return isinstance(block, Mapping) and block.get("type") == kind


def _result(block: Mapping[str, Any]) -> dict[str, Any]:
    content = block.get("content")
    message = {
        "role": "tool",
        "content": said(content, "tool") if isinstance(content, list) else content,
        "tool_call_id": block.get("tool_use_id"),
    }
    failed = {ERROR_KEY: True} if block.get(ERROR_KEY) is True else {}
    return with_blocks({**message, "metadata": failed}, [block], NAME, blocks_of)


def _said(message: Mapping[str, Any], blocks: list[Any]) -> dict[str, Any]:
    """A message without its results; calls are those of an assistant alone."""
    role = message.get("role")
    calls = [block for block in blocks if role == "assistant" and _is(block, "tool_use")]
    texts = [block for block in blocks if not (role == "assistant" and _is_work(block))]
    read: dict[str, Any] = {"role": role, "content": said(texts, str(role)), "metadata": _metadata(message)}
    if calls:
        read["tool_calls"] = [_call(block) for block in calls]
    return with_blocks(read, blocks, NAME, blocks_of)


def _is_work(block: Any) -> bool:
    """Whether a block of the assistant's is no part of what it said: a call, or a server tool's work."""
    kind = str(block.get("type")) if isinstance(block, Mapping) else ""
    return kind.endswith(("tool_use", "tool_result", "thinking"))


def _call(block: Mapping[str, Any]) -> dict[str, Any]:
    return {"tool_call_id": block.get("id"), "name": block.get("name"), "arguments": block.get("input")}


def _metadata(message: Mapping[str, Any]) -> dict[str, Any]:
    metadata = message.get("metadata")
    known = beyond(message, _MESSAGE_KEYS)
    return (dict(metadata) if isinstance(metadata, Mapping) else {}) | ({NAME: known} if known else {})


def marks(message: Mapping[str, Any]) -> bool:
    content = message.get("content") if "role" in message else None
    blocks = [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []
    return any(_is_own(block) for block in blocks)


def _is_own(block: Mapping[str, Any]) -> bool:
    if block.get("type") == "thinking" and isinstance(block.get("thinking"), list):
        return False  # Mistral's
    kind = str(block.get("type"))
    return kind in _MARKS or kind.endswith(_WORK_MARKS) or _is_sourced(block)


def _is_sourced(block: Mapping[str, Any]) -> bool:
    return block.get("type") in ("image", "document") and isinstance(block.get("source"), Mapping)


FORMAT = Format(NAME, read, marks)
