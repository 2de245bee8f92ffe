"""A refusal that OpenAI's chat says beside the content: a part of what the message says, for all others."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from turnledger.domain.pairing import Item
from turnledger.projections.parts import parts_of

Rendered = tuple[list[dict[str, Any]], dict[str, Any]]


def spoken_out(render: Callable[[list[Item]], Rendered]) -> Callable[[list[Item]], Rendered]:
    """A rendering for a provider that has no such key: the refusal is text behind the content."""

    def rendered(items: list[Item]) -> Rendered:
        return render([_spoken_out(item) for item in items])

    return rendered


def _spoken_out(item: Item) -> Item:
    refusal = item.metadata.get("refusal") if item.role == "assistant" else None
    if not isinstance(refusal, str) or not refusal.strip():
        return item
    parts = parts_of(item.content)
    if parts is None or isinstance(item.content, str):
        said = f"{item.text}\n{refusal}" if item.text.strip() else refusal
        return replace(item, content=said, text=said)
    if any(part.kind == "refusal" and part.text == refusal for part in parts):
        return item
    content = [*item.content, {"type": "refusal", "refusal": refusal}]
    return replace(item, content=content, text=f"{item.text}\n{refusal}")
