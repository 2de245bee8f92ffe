"""The sendable list as Anthropic messages: `messages.create(**request)`.

System messages are the `system` parameter; results are `tool_result` blocks, first in the user's turn. Blocks
that another shape has no words for (thinking with its signature, citations, server tools) were kept by the
importing under the provider's name, and go back as they were.
"""

from collections.abc import Mapping
from typing import Any

from turnledger.domain.messages import SYSTEM_ROLES
from turnledger.domain.pairing import Call, Item
from turnledger.domain.values import copied
from turnledger.projections.parts import REASONING_TYPES, Part
from turnledger.projections.providers.anthropic_blocks import sendable_blocks, sendable_result
from turnledger.projections.providers.anthropic_shapes import GIVEN, IMAGE_TYPES, PARTS, SAID, SYSTEM
from turnledger.projections.providers.arguments import arguments_map
from turnledger.projections.providers.keeping import (
    ERROR_KEY,
    Block,
    has_failed,
    kept_blocks,
    with_calls_left,
)
from turnledger.projections.providers.naming import call_ids, fitting_name
from turnledger.projections.providers.shapes import fitting
from turnledger.projections.providers.table import spelled
from turnledger.projections.providers.turns import OPENING_TEXT, alternating

NAME = "anthropic"
RENDERING = 1  # another number whenever the same events come to be rendered in another way
IDS = "[a-zA-Z0-9_-]+"


def rendered(items: list[Item]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The messages, and the keyword arguments of one request (beside the model and its limits)."""
    ids = call_ids(items, IDS, lambda digits: f"toolu_{digits[:24]}")
    system = [block for item in items if item.role in SYSTEM_ROLES for block in blocks_of(item, ids)]
    spoken = ((_side(item), blocks_of(item, ids)) for item in items if item.role not in SYSTEM_ROLES)
    turns = alternating(spoken, "user", {"type": "text", "text": OPENING_TEXT})
    messages = [{"role": side, "content": blocks} for side, blocks in turns]
    return messages, {"messages": messages} | ({"system": system} if system else {})


def _side(item: Item) -> str:
    return "assistant" if item.role == "assistant" else "user"


def blocks_of(item: Item, ids: Mapping[str, str]) -> list[Block]:
    """An item's blocks, with the ids that are sent; empty where it says nothing."""
    if item.role == "tool":
        return [_result(item, ids)]
    blocks = _own_blocks(item, ids)
    if blocks is None:
        blocks = spelled(item, NAME, _spell) + [_call(call, ids) for call in item.calls]
    return _trimmed(blocks) if item.role == "assistant" else _without_blanks(blocks)


def _own_blocks(item: Item, ids: Mapping[str, str]) -> list[Block] | None:
    """The blocks as they were imported, with the calls that are left; None where there are none."""
    kept = kept_blocks(NAME, item.metadata)
    if kept is None:
        return None
    blocks = with_calls_left(
        copied(kept),
        item,
        lambda block: block.get("type") == "tool_use",
        lambda call, block: {**block, **_call(call, ids)},
    )
    return sendable_blocks(
        blocks, SYSTEM if item.role in SYSTEM_ROLES else SAID if item.role == "assistant" else GIVEN
    )


def _result(item: Item, ids: Mapping[str, str]) -> Block:
    sent = {"type": "tool_result", "tool_use_id": ids[str(item.call_id)]}
    (kept, *_) = kept_blocks(NAME, item.metadata) or [{}]
    if kept.get("type") == "tool_result" and (own := sendable_result({**copied(kept), **sent})):
        return own
    if isinstance(item.content, list):
        content: Any = _without_blanks(spelled(item, NAME, _spell))
    else:
        content = item.text
    failed = {ERROR_KEY: True} if has_failed(item) else {}
    return sent | ({"content": content} if content else {}) | failed


def _call(call: Call, ids: Mapping[str, str]) -> Block:
    name = fitting_name(call.name, "[^a-zA-Z0-9_-]", 128)
    return {"type": "tool_use", "id": ids[call.call_id], "name": name, "input": arguments_map(call.arguments)}


def _trimmed(blocks: list[Block]) -> list[Block]:
    """An assistant's blocks: no blank text, no white space at the end, no thinking that leads to nothing."""
    blocks = _without_blanks(blocks)
    while blocks and blocks[-1]["type"] in REASONING_TYPES:
        blocks.pop()
    if blocks and blocks[-1]["type"] == "text":
        blocks[-1] = {**blocks[-1], "text": blocks[-1]["text"].rstrip()}
    return blocks


def _without_blanks(blocks: list[Block]) -> list[Block]:
    return [block for block in blocks if block["type"] != "text" or block["text"].strip()]


def _spell(part: Part) -> Block | None:
    """A part in Anthropic's words, None where it has none."""
    own: Block | None = fitting(part.given, PARTS)
    if own is not None:
        return own
    if part.kind == "text":
        return {"type": "text", "text": part.text}
    if part.kind == "document" and part.text:
        source: Block = {"type": "text", "media_type": "text/plain", "data": part.text}
    elif part.data is not None and part.mime in (*IMAGE_TYPES, "application/pdf"):
        source = {"type": "base64", "media_type": part.mime, "data": part.data}
    elif part.url is not None and part.url.startswith(("http:", "https:")):
        source = {"type": "url", "url": part.url}
    else:
        return None
    titled = {"title": part.name} if part.kind == "document" and part.name else {}
    return {"type": part.kind, "source": source, **titled}
