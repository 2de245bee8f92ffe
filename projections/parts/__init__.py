"""Content in parts, whatever provider spelled it: text, media, refusals, reasoning.

Reads a part into the little that all providers have words for; `given` is the part as it stood. What is no
part that is known here gives None, and its message is then one text (MEM-5). What a provider does with a
part that it does not take is for `providers.table`.
"""

from collections.abc import Mapping
from typing import Any

from turnledger.projections.parts import clients, keyed, typed, words
from turnledger.projections.parts.model import MEDIA, Kind, Part, Reader, data_url, medium, noted

__all__ = [
    "MEDIA",
    "REASONING_TYPES",
    "Kind",
    "Part",
    "data_url",
    "medium",
    "noted",
    "part_of",
    "parts_of",
    "text_of",
]

REASONING_TYPES = ("thinking", "redacted_thinking", "reasoning")
_TEXT_TYPES = ("text", "input_text", "output_text")
_GIVEN_BACK_TYPES = ("media", "image-data", "file-data", "image-url", "file-url", "image-file-id", "file-id")

_TAGGED: Mapping[str, Reader] = {
    **dict.fromkeys(_TEXT_TYPES, words.text),
    **dict.fromkeys(REASONING_TYPES, words.reasoning),
    "refusal": words.refusal,
    "image": typed.sourced,
    "document": typed.sourced,
    "audio": typed.sourced,
    "video": typed.sourced,
    "text-plain": words.plain_text,
    "image_url": typed.image_url,
    "input_image": typed.image_url,
    "computer_screenshot": typed.image_url,
    "attachment": clients.attachment,
    "input_audio": typed.audio,
    "file": typed.file,
    "input_file": typed.file,
    "document_url": typed.document_url,
    **dict.fromkeys(_GIVEN_BACK_TYPES, clients.given_back),
    "resource": typed.resource,
    "resource_link": typed.resource_link,
}
"""Who reads a part of this type."""

_KEYED: Mapping[str, Reader] = {
    "text": words.text,
    "inlineData": keyed.inline,
    "inline_data": keyed.inline,
    "fileData": keyed.uri,
    "file_data": keyed.uri,
    "reasoningContent": words.reasoning,
    "image": keyed.converse("image"),
    "document": keyed.converse("document"),
    "video": keyed.converse("video"),
    "kind": clients.told_by_kind,
    "audio": keyed.converse("audio"),
}
"""Who reads a part without a type that has this key; the first that it has."""


def parts_of(content: Any) -> list[Part] | None:
    """The parts of a message's content; None where it is no text and no list of known parts alone.

    >>> [part.kind for part in parts_of([{"type": "text", "text": "see"}, {"inlineData": {"data": "eA=="}}])]
    ['text', 'document']
    """
    if isinstance(content, str):
        return [Part("text", content, given={"type": "text", "text": content})]
    if not isinstance(content, list) or not content:
        return None
    parts = [part_of(block) for block in content]
    return None if None in parts else [part for part in parts if part]


def part_of(block: Any) -> Part | None:
    """One block as a part, or None where nothing here knows it."""
    if not isinstance(block, Mapping):
        return None
    tag = block.get("type")
    found = (reader for key, reader in _KEYED.items() if key in block)
    read = _TAGGED.get(tag) if isinstance(tag, str) else next(found, None)
    if read and block.get("thought") is True:
        read = words.reasoning  # Gemini's thoughts are parts of any kind
    return read(block) if read else None


def text_of(block: Any) -> str | None:
    """The text of a part that is one; None for any other block."""
    part = part_of(block)
    return part.text if part and part.kind == "text" else None
