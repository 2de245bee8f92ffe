"""The anatomy of Anthropic messages: blocks, results first in the user's next turn."""

from collections.abc import Mapping, Sequence
from typing import Any

from turnledger.domain.messages import PLACEHOLDER_TEXT
from turnledger.importing.doctor import findings as kinds
from turnledger.importing.doctor.anatomy import Change, Piece, Rules
from turnledger.importing.doctor.blocks import BlockAnatomy, with_taken_id
from turnledger.importing.doctor.findings import short
from turnledger.projections.parts import REASONING_TYPES
from turnledger.projections.providers.anthropic_blocks import server_id_key
from turnledger.projections.providers.anthropic_shapes import is_server_id
from turnledger.projections.providers.arguments import arguments_map
from turnledger.projections.providers.shapes import text as is_text

_UNANSWERED = "Anthropic: `tool_use` ids were found without `tool_result` blocks immediately after"
RULES = Rules(
    own_messages=False,
    id_pattern="[a-zA-Z0-9_-]+",
    id_shaped=lambda digits: f"toolu_{digits[:24]}",
    name_longest=128,
    merges=True,
    user_first=True,
    beside=("system",),
    words={
        kinds.UNANSWERED: _UNANSWERED,
        kinds.DISPLACED: _UNANSWERED,
        kinds.ORPHAN: "Anthropic: unexpected `tool_use_id` found in `tool_result` blocks",
        kinds.DOUBLED: "Anthropic: each tool_use must have a single result",
        kinds.REUSED_ID: "Anthropic: `tool_use` ids must be unique",
        kinds.REPEATED_CALL: "Anthropic: `tool_use` ids must be unique",
        kinds.MISSING_ID: "Anthropic: Field required",
        kinds.UNUSABLE_ID: "Anthropic: String should match pattern '^[a-zA-Z0-9_-]+$'",
        kinds.UNUSABLE_NAME: "Anthropic: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
        kinds.UNUSABLE_ARGUMENTS: "Anthropic: tool_use.input: Input should be a valid dictionary",
        kinds.STRAY_CALL: "Anthropic: `tool_use` blocks can only be in `assistant` messages",
        kinds.EMPTY: "Anthropic: text content blocks must be non-empty, and must contain non-whitespace text",
        kinds.LEADING: 'Anthropic: first message must use the "user" role',
        kinds.SYSTEM: 'Anthropic: Unexpected role "system"',
        kinds.THINKING: "Anthropic: The final block in an assistant message cannot be `thinking`",
        kinds.ENDING: "Anthropic: final assistant content cannot end with trailing whitespace",
    },
)


class AnthropicAnatomy(BlockAnatomy):
    rules = RULES

    def piece(self, block: Any, place: int) -> Piece:
        return _piece(block, place)

    def text_block(self, text: str) -> dict[str, Any]:
        return {"type": "text", "text": text}

    def with_id(self, piece: Piece, call_id: str) -> Any:
        return {**piece.raw, ("id" if piece.kind == "call" else "tool_use_id"): call_id}

    def with_name(self, piece: Piece, name: str) -> Any:
        return {**piece.raw, "name": name}

    def placeholder(self, call: Piece, call_id: str) -> Any:
        return {"type": "tool_result", "tool_use_id": call_id, "content": PLACEHOLDER_TEXT, "is_error": True}

    def prompted(self, prompt: Any, systems: Sequence[dict[str, Any]]) -> Any:
        alone = not prompt and len(systems) == 1
        return systems[0]["content"] if alone else super().prompted(prompt, systems)

    def mended(self, piece: Piece) -> Change | None:
        key = server_id_key(piece.raw) if piece.kind == "other" and isinstance(piece.raw, Mapping) else None
        if key:
            takes = is_text if str(piece.raw["type"]).startswith("mcp_") else is_server_id
            return with_taken_id(piece.raw, key, takes, lambda digits: f"srvtoolu_{digits[:24]}")
        if piece.kind == "call" and not isinstance(piece.arguments, dict):
            new = arguments_map(piece.arguments)
            raw = {**piece.raw, "input": new}
            return Change(kinds.UNUSABLE_ARGUMENTS, "its input is no map", f"its input is {short(new)}", raw)
        if piece.kind == "result" and isinstance(piece.raw.get("content"), list):
            content = piece.raw["content"]
            said = [block for block in content if not _is_blank(block)]
            if len(said) < len(content):
                raw = {**piece.raw, "content": said}
                return Change(kinds.EMPTY, "the result holds a blank text", "without that text", raw)
        return None

    def settled(
        self, message: dict[str, Any], before: dict[str, Any] | None, after: dict[str, Any] | None
    ) -> Change | None:
        goes_on = after is not None and self.side(after) == "assistant"  # the two are one turn
        if self.side(message) != "assistant" or goes_on:
            return None
        content = message.get("content")
        blocks = self.blocks(content)
        last = blocks[-1] if blocks and isinstance(blocks[-1], Mapping) else {}
        if last.get("type") in REASONING_TYPES:
            shorter = {**message, "content": blocks[:-1]} if blocks[:-1] else None
            return Change(
                kinds.THINKING, "it ends with thinking that leads to nothing", "without it", shorter
            )
        text = last.get("text")
        if after is not None or not isinstance(text, str) or text == text.rstrip():
            return None
        blocks[-1] = {**last, "text": text.rstrip()}
        new = {**message, "content": text.rstrip() if isinstance(content, str) else blocks}
        return Change(kinds.ENDING, "it ends with white space", "without that white space", new)


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
