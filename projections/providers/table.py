"""What each provider takes of content in parts, by role: the written table, and what becomes of the rest.

A part that its provider spelled goes back to it as it was. Of another's, a kind that stands here goes in the
provider's own spelling; a refusal becomes text, a medium a note in words, and reasoning is left out.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from turnledger.domain.pairing import Item
from turnledger.projections.parts import Kind, Part, noted, parts_of

TAKES: Mapping[str, Mapping[str, tuple[Kind, ...]]] = {
    "openai-chat": {
        "system": ("text",),
        "user": ("text", "image", "audio", "document"),
        "assistant": ("text", "refusal"),
        "tool": ("text",),
    },
    "anthropic": {
        "system": ("text",),
        "user": ("text", "image", "document"),
        "assistant": ("text",),
        "tool": ("text", "image", "document"),
    },
    "bedrock-converse": {
        "system": ("text",),
        "user": ("text", "image", "audio", "video", "document"),
        "assistant": ("text",),
        "tool": ("text", "image", "video", "document"),
    },
    "gemini": {
        "system": ("text",),
        "user": ("text", "image", "audio", "video", "document"),
        "assistant": ("text", "image"),
        "tool": ("text", "image", "document"),
    },
    "mistral": {
        "system": ("text",),
        "user": ("text", "image", "audio", "document"),
        "assistant": ("text",),
        "tool": ("text", "image", "document"),
    },
    "openai-responses": {
        "system": ("text",),
        "user": ("text", "image", "document"),
        "assistant": ("text",),
        "tool": ("text", "image", "document"),
    },
}

Block = dict[str, Any]


def spelled(item: Item, provider: str, spell: Callable[[Part], Block | None]) -> list[Block]:
    """An item's content in a provider's blocks; `spell` gives None for a part that it has no words for."""
    parts = parts_of(item.content)
    if parts is None:
        return _blocks([Part("text", item.text)], spell)
    takes = TAKES[provider]["system" if item.role == "developer" else item.role]
    return _blocks(list(_degraded(parts, takes, spell)), spell)


def _degraded(
    parts: Sequence[Part], takes: Sequence[Kind], spell: Callable[[Part], Block | None]
) -> Iterator[Part]:
    for part in parts:
        if part.kind in takes and spell(part) is not None:
            yield part
        elif part.kind in ("text", "refusal") or (part.kind == "document" and part.text):
            yield Part("text", part.text)
        elif part.kind != "reasoning":
            yield Part("text", noted(part))


def _blocks(parts: Sequence[Part], spell: Callable[[Part], Block | None]) -> list[Block]:
    return [block for part in parts if (block := spell(part)) is not None]
