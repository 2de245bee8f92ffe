"""The anatomy of Anthropic messages: blocks, results first in the user's next turn."""

from collections.abc import Mapping, Sequence
from typing import Any

from turnledger.domain.messages import PLACEHOLDER_TEXT
from turnledger.importing.doctor import findings as kinds
from turnledger.importing.doctor.anatomy import Anatomy, Change, Piece, Rules, Side
from turnledger.projections.parts import REASONING_TYPES
from turnledger.projections.providers.arguments import arguments_map
from turnledger.projections.providers.turns import OPENING_TEXT

_SIDES: Mapping[str, Side] = {"user": "user", "assistant": "assistant", "system": "system"}
_UNANSWERED = "Anthropic: `tool_use` ids were found without `tool_result` blocks immediately after"
RULES = Rules(
    own_messages=False,
    id_pattern="[a-zA-Z0-9_-]+",
    id_shaped=lambda digits: f"toolu_{digits[:24]}",
    name_longest=128,
    merges=True,
    user_first=True,
    beside="system",
    words={
        kinds.UNANSWERED: _UNANSWERED,
        kinds.DISPLACED: _UNANSWERED,
        kinds.ORPHAN: "Anthropic: unexpected `tool_use_id` found in `tool_result` blocks",
        kinds.DOUBLED: "Anthropic: each tool_use must have a single result",
        kinds.REUSED_ID: "Anthropic: `tool_use` ids must be unique",
        kinds.REPEATED_CALL: "Anthropic: `tool_use` ids must be unique",
        kinds.UNUSABLE_ID: "Anthropic: String should match pattern '^[a-zA-Z0-9_-]+$'",
        kinds.UNUSABLE_NAME: "Anthropic: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
        kinds.UNUSABLE_ARGUMENTS: "Anthropic: tool_use.input: Input should be a valid dictionary",
        kinds.STRAY_CALL: "Anthropic: `tool_use` blocks can only be in `assistant` messages",
        kinds.EMPTY: "Anthropic: text content blocks must be non-empty, and contain non-whitespace text",
        kinds.LEADING: 'Anthropic: first message must use the "user" role',
        kinds.SYSTEM: 'Anthropic: Unexpected role "system"',
        kinds.ENDING: "Anthropic: final assistant content cannot end with trailing whitespace",
    },
)


class AnthropicAnatomy(Anatomy):
    rules = RULES

    def side(self, message: Mapping[str, Any]) -> Side | None:
        return _SIDES.get(str(message.get("role")))

    def pieces(self, message: Mapping[str, Any]) -> list[Piece]:
        content = message.get("content")
        if isinstance(content, list):
            return [_piece(block, place) for place, block in enumerate(content)]
        text = content if isinstance(content, str) else "" if content is None else None
        return [Piece("text", content, ("content",), text=text)]

    def rebuilt(self, message: dict[str, Any], pieces: Sequence[Piece]) -> dict[str, Any]:
        return {**message, "content": [_block(piece) for piece in pieces]}

    def with_id(self, piece: Piece, call_id: str) -> Any:
        return {**piece.raw, ("id" if piece.kind == "call" else "tool_use_id"): call_id}

    def with_name(self, piece: Piece, name: str) -> Any:
        return {**piece.raw, "name": name}

    def placeholder(self, call: Piece, call_id: str) -> Any:
        return {"type": "tool_result", "tool_use_id": call_id, "content": PLACEHOLDER_TEXT, "is_error": True}

    def carrier(self, results: Sequence[Piece], after: Mapping[str, Any]) -> dict[str, Any]:
        return {"role": "user", "content": [piece.raw for piece in results]}

    def opening(self, first: Mapping[str, Any]) -> dict[str, Any]:
        return {"role": "user", "content": OPENING_TEXT}

    def mended(self, piece: Piece) -> Change | None:
        if piece.kind == "call" and not isinstance(piece.arguments, dict):
            remedy = "its input is a map" if piece.arguments is not None else "its input is an empty map"
            return "its input is no map", remedy, {**piece.raw, "input": arguments_map(piece.arguments)}
        if piece.kind == "result" and isinstance(piece.raw.get("content"), list):
            content = piece.raw["content"]
            said = [block for block in content if not _is_blank(block)]
            if len(said) < len(content):
                rest = {key: value for key, value in piece.raw.items() if key != "content"}
                return "its result holds a blank text", "without that text", {**rest, "content": said}
        return None

    def ended(self, message: dict[str, Any]) -> Change | None:
        content = message.get("content")
        if isinstance(content, str):
            if content == content.rstrip():
                return None
            return _SPACE, _TRIMMED, {**message, "content": content.rstrip()}
        blocks = list(content) if isinstance(content, list) else []
        while blocks and isinstance(blocks[-1], dict) and blocks[-1].get("type") in REASONING_TYPES:
            blocks.pop()
        if isinstance(content, list) and len(blocks) < len(content):
            shorter = {**message, "content": blocks} if blocks else None
            return "the last message ends with thinking that leads to nothing", "without it", shorter
        text = blocks[-1].get("text") if blocks and isinstance(blocks[-1], dict) else None
        if isinstance(text, str) and text != text.rstrip():
            blocks[-1] = {**blocks[-1], "text": text.rstrip()}
            return _SPACE, _TRIMMED, {**message, "content": blocks}
        return None


_SPACE, _TRIMMED = "the last message ends with white space", "without that white space"


def _piece(block: Any, place: int) -> Piece:
    path = ("content", place)
    kind = block.get("type") if isinstance(block, Mapping) else None
    if kind == "tool_use":
        return Piece("call", block, path, block.get("id"), block.get("name"), block.get("input"))
    if kind == "tool_result":
        content = block.get("content")
        return Piece(
            "result",
            block,
            path,
            block.get("tool_use_id"),
            text=content if isinstance(content, str) else None,
        )
    if kind == "text" and isinstance(block.get("text"), str):
        return Piece("text", block, path, text=block["text"])
    return Piece("other", block, path)


def _is_blank(block: Any) -> bool:
    return _piece(block, 0).blank


def _block(piece: Piece) -> Any:
    """A piece as a block; content that was one text becomes one."""
    return piece.raw if not isinstance(piece.raw, str) else {"type": "text", "text": piece.raw}
