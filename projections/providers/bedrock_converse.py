"""The sendable list as messages of Bedrock's Converse: `client.converse(modelId=..., **request)`.

boto3 writes bytes as base64 itself, so here images, documents and redacted reasoning are `bytes`: the log and
JSON files hold them as base64 text. System messages are the `system` list; results are `toolResult` blocks,
first in the user's turn. Documents have names of their own in one request, and a text beside them.
"""

import re
from collections.abc import Mapping
from typing import Any

from turnledger.domain.messages import SYSTEM_ROLES
from turnledger.domain.pairing import Call, Item
from turnledger.domain.values import copied
from turnledger.projections.media import MIME_OF_ENDING, base64_text, bytes_of
from turnledger.projections.parts import MEDIA, Part, noted, part_of
from turnledger.projections.providers.arguments import arguments_map
from turnledger.projections.providers.bedrock_blocks import (
    CALL,
    FORMATS,
    GIVEN,
    REASONING,
    RESULT,
    SAID,
    STATUS,
    SYSTEM,
    is_call,
    sendable_blocks,
    sendable_inside,
)
from turnledger.projections.providers.keeping import Block, has_failed, kept_blocks, known_to, with_calls_left
from turnledger.projections.providers.naming import call_ids, fitting_name
from turnledger.projections.providers.table import spelled
from turnledger.projections.providers.turns import OPENING_TEXT, alternating

NAME = "bedrock-converse"
RENDERING = 1  # another number whenever the same events come to be rendered in another way
IDS = "[a-zA-Z0-9_-]{1,64}"
_NAME_MAX = 200


def rendered(items: list[Item]) -> tuple[list[Block], dict[str, Any]]:
    """The messages, and the keyword arguments of one request (beside the model and its tools)."""
    ids = call_ids(items, IDS, lambda digits: f"tooluse_{digits[:24]}")
    system = [block for item in items if item.role in SYSTEM_ROLES for block in blocks_of(item, ids)]
    spoken = ((_side(item), blocks_of(item, ids)) for item in items if item.role not in SYSTEM_ROLES)
    turns = alternating(spoken, "user", {"text": OPENING_TEXT})
    names: set[str] = set()
    messages = [
        {"role": side, "content": [_as_sent(block, names) for block in blocks]} for side, blocks in turns
    ]
    heard = {"system": [_as_sent(block, names) for block in system]} if system else {}
    return messages, {"messages": messages} | heard


def _side(item: Item) -> str:
    return "assistant" if item.role == "assistant" else "user"


def blocks_of(item: Item, ids: Mapping[str, str]) -> list[Block]:
    """An item's blocks with bytes as base64 text, with the ids that are sent; empty where it says nothing."""
    if item.role == "tool":
        return [_result(item, ids)]
    kept = kept_blocks(NAME, item.metadata)
    if kept is None:
        blocks = spelled(item, NAME, _spell) + [_call(call, ids) for call in item.calls]
    else:
        blocks = with_calls_left(copied(kept), item, is_call, lambda call, block: _call(call, ids, block))
    shape = SYSTEM if item.role in SYSTEM_ROLES else SAID if item.role == "assistant" else GIVEN
    blocks = sendable_blocks(blocks, shape)
    return _trimmed(blocks) if item.role == "assistant" else _with_text(blocks)


def _call(call: Call, ids: Mapping[str, str], block: Mapping[str, Any] | None = None) -> Block:
    name = fitting_name(call.name, "[^a-zA-Z0-9_-]", 64)
    kept = block[CALL] if block else {}
    return {
        CALL: {**kept, "toolUseId": ids[call.call_id], "name": name, "input": arguments_map(call.arguments)}
    }


def _result(item: Item, ids: Mapping[str, str]) -> Block:
    given = (kept_blocks(NAME, item.metadata) or [{}])[0].get(RESULT)
    kept = copied(given) if isinstance(given, dict) and isinstance(given.get("content"), list) else None
    content, shown = kept["content"] if kept else _content(item), (kept or {}).get(STATUS)
    if kept is None:
        shown = "error" if has_failed(item) else known_to(NAME, item.metadata).get(STATUS)
    status = {STATUS: shown} if shown in ("error", "success") else {}
    return {RESULT: {"toolUseId": ids[str(item.call_id)], "content": sendable_inside(content)} | status}


def _content(item: Item) -> list[Block]:
    return spelled(item, NAME, _spell) if isinstance(item.content, list) else [{"text": item.text}]


def _trimmed(blocks: list[Block]) -> list[Block]:
    """An assistant's blocks: no white space at the end, and no reasoning that leads to nothing."""
    while blocks and not blocks[-1].keys().isdisjoint((REASONING, "cachePoint")):
        if "cachePoint" in blocks[-1] and len(blocks) > 1 and REASONING not in blocks[-2]:
            return blocks
        blocks = blocks[:-1]
    if blocks and "text" in blocks[-1]:
        blocks = [*blocks[:-1], {"text": blocks[-1]["text"].rstrip()}]
    return blocks


def _with_text(blocks: list[Block]) -> list[Block]:
    """A document needs a text beside it: where nothing is said, its name."""
    documents = [part for block in blocks if "document" in block and (part := part_of(block))]
    said = any("text" in block for block in blocks)
    return [{"text": noted(documents[0])}, *blocks] if documents and not said else blocks


def _spell(part: Part) -> Block | None:
    """A part in Converse's words, None where it has none."""
    if part.kind == "text":
        return {"text": part.text}
    if part.kind not in MEDIA:
        return None
    if part.kind == "document" and part.text and part.kind not in part.given:
        return _document("txt", part.name, {"bytes": base64_text(part.text.encode())})
    ending = _ENDING_OF_MIME.get(part.mime or "")
    data = bytes_of(part.data)
    own = _own(part)
    if own is not None and (part.data is None or data):
        return own
    if ending not in FORMATS[part.kind] or not data:
        return None
    source = {"bytes": base64_text(data)}
    if part.kind == "document":
        return _document(ending, part.name, source)
    return {part.kind: {"format": ending, "source": source}}


_ENDING_OF_MIME = {mime: ending for ending, mime in MIME_OF_ENDING.items()} | {
    "image/jpg": "jpeg",
    "audio/mp3": "mp3",
    "audio/x-wav": "wav",
}


def _own(part: Part) -> Block | None:
    """The part as it was given, where it is one of Converse's."""
    inner = part.given.get(part.kind)
    if len(part.given) != 1 or not isinstance(inner, dict) or not isinstance(inner.get("source"), dict):
        return None
    given = inner.get("format", "txt" if part.kind == "document" else None)
    return {part.kind: copied(inner)} if given in FORMATS[part.kind] else None


def _document(ending: str, name: str | None, source: Block) -> Block:
    return {"document": {"format": ending, "name": name or "document", "source": source}}


def _as_sent(block: Block, names: set[str]) -> Block:
    """A block as boto3 takes it: bytes as such, and documents by names that no other bears before it."""
    block = dict(block)
    for kind in FORMATS:
        if isinstance(block.get(kind), dict):
            block[kind] = _with_bytes(block[kind])
    if isinstance(block.get("document"), dict):
        block["document"]["name"] = _fresh_name(block["document"].get("name"), names)
    if isinstance(block.get("guardContent"), dict) and isinstance(block["guardContent"].get("image"), dict):
        block["guardContent"] = {"image": _with_bytes(block["guardContent"]["image"])}
    if isinstance(block.get(REASONING), dict) and "redactedContent" in block[REASONING]:
        block[REASONING] = {"redactedContent": bytes_of(block[REASONING]["redactedContent"])}
    if isinstance(block.get(RESULT), dict):
        inner = [_as_sent(one, names) for one in block[RESULT]["content"]]
        block[RESULT] = {**block[RESULT], "content": inner}
    return block


def _with_bytes(medium: Block) -> Block:
    source = medium.get("source")
    if not isinstance(source, dict) or "bytes" not in source:
        return dict(medium)
    return {**medium, "source": {"bytes": bytes_of(source["bytes"]) or b""}}


def _fresh_name(given: Any, names: set[str]) -> str:
    """A name in the service's alphabet: another one's gets a number."""
    plain = re.sub(r"\s+", " ", re.sub(r"[^a-zA-Z0-9\s()\[\]-]", "-", str(given))).strip()[:_NAME_MAX]
    name, number = plain or "document", 1
    while name in names:
        number += 1
        name = f"{plain[: _NAME_MAX - 12] or 'document'} ({number})"
    names.add(name)
    return name
