"""Mistral's chat messages: OpenAI's shape, with chunks of its own and ids of nine letters or digits.

Thinking and references are no part of what was said: they are kept for the provider of the same name.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from turnledger.domain.messages import ROLES
from turnledger.importing.pairing import Unanswered, given_id
from turnledger.importing.reading import Format, Read, as_item, equal, said
from turnledger.projections.providers.mistral import CHUNKS_KEY, NAME, PREFIX_KEY, content_of

_MARKS = ("document_url", "reference", "resource_link")


def read(messages: Sequence[Any], start: int = 0) -> Iterator[Read]:
    """The messages from `start` on, to be appended; what is no message of Mistral's goes on as it is."""
    unanswered = Unanswered()
    for index, message in enumerate(messages):
        found = _read(message, index, unanswered) if _is_readable(message) else message
        if index >= start:
            yield Read(found, index)


def _is_readable(message: Any) -> bool:
    return isinstance(message, Mapping) and isinstance(message.get("metadata"), Mapping | None)


def _read(message: Mapping[str, Any], index: int, unanswered: Unanswered) -> dict[str, Any]:
    found = dict(message)
    if "tool_calls" in message:
        found["tool_calls"] = unanswered.declared(message["tool_calls"], index)
    if message.get("role") == "tool":
        found["tool_call_id"] = unanswered.answer(message.get("name"), given_id(message.get("tool_call_id")))
    known = {PREFIX_KEY: True} if found.pop(PREFIX_KEY, None) is True else {}
    return _with_chunks(found, known)


def _with_chunks(message: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """The message with what its chunks say; with the chunks, where the provider would not make the same."""
    content = message.get("content")
    if isinstance(content, list) and content and message.get("role") in ROLES:
        chunks = [chunk for chunk in content if not _is_reference(chunk)]
        message["content"] = said(chunks, message["role"])
        if not equal(content_of(as_item(message)), content):
            known = {**known, CHUNKS_KEY: content}
    if known:
        message["metadata"] = {**(message.get("metadata") or {}), NAME: known}
    return message


def _is_reference(chunk: Any) -> bool:
    return isinstance(chunk, Mapping) and chunk.get("type") == "reference"


def marks(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    chunks = content if isinstance(content, list) else []
    return PREFIX_KEY in message or any(_is_own(chunk) for chunk in chunks if isinstance(chunk, Mapping))


def _is_own(chunk: Mapping[str, Any]) -> bool:
    kind = chunk.get("type")
    if kind == "thinking":
        return isinstance(chunk.get("thinking"), list)
    return kind in _MARKS or (kind == "input_audio" and isinstance(chunk.get("input_audio"), str))


FORMAT = Format(NAME, read, marks)
