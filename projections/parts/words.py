"""Parts that say something: texts, documents of text, refusals, and what was thought."""

from collections.abc import Mapping
from typing import Any

from turnledger.projections.parts.model import Part, map_in, said_text


def text(block: Mapping[str, Any]) -> Part | None:
    said = block.get("text")
    if not isinstance(said, str):
        return None
    return Part("text", said, given=block)


def reasoning(block: Mapping[str, Any]) -> Part:
    converse = map_in(map_in(block.get("reasoningContent")).get("reasoningText"))
    texts = (block.get("thinking"), block.get("text"), block.get("reasoning"), converse.get("text"))
    return Part("reasoning", next((t for t in texts if isinstance(t, str)), ""), given=block)


def plain_text(block: Mapping[str, Any]) -> Part | None:
    """LangChain's document of text."""
    said, name = block.get("text"), said_text(block.get("title"))
    return Part("document", said, "text/plain", name=name, given=block) if isinstance(said, str) else None


def refusal(block: Mapping[str, Any]) -> Part | None:
    said = block.get("refusal")
    return Part("refusal", said, given=block) if isinstance(said, str) else None
