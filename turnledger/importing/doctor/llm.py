"""The anatomy of messages of the `llm` command: parts, results in a message of their own, ids or none.

What its provider refuses depends on which one that is; here is what any of them does.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from turnledger.domain.messages import PLACEHOLDER_TEXT
from turnledger.importing.doctor import findings as kinds
from turnledger.importing.doctor.anatomy import Change, Piece, Rules, Side
from turnledger.importing.doctor.blocks import BlockAnatomy
from turnledger.importing.doctor.findings import short
from turnledger.importing.pairing import given_id
from turnledger.projections.providers.arguments import arguments_map

_UNANSWERED = "the provider that llm calls: each call must have its result behind it"
RULES = Rules(
    own_messages=False,
    own_lines=True,
    id_pattern="(?s).+",
    system_anywhere=True,
    words={
        kinds.UNANSWERED: _UNANSWERED,
        kinds.DISPLACED: _UNANSWERED,
        kinds.ORPHAN: "the provider that llm calls: each result must have its call before it",
        kinds.DOUBLED: "the provider that llm calls: each call has a single result",
    },
)


class LlmAnatomy(BlockAnatomy):
    rules = RULES
    key = "parts"
    sides: Mapping[str, Side] = {
        "user": "user",
        "assistant": "assistant",
        "system": "system",
        "tool": "tool",
    }

    def piece(self, block: Any, place: int) -> Piece:
        path = (self.key, place)
        kind = block.get("type") if isinstance(block, Mapping) else None
        if kind not in ("tool_call", "tool_result") or block.get("server_executed") is True:
            return Piece("other", block, path)
        given, name = given_id(block.get("tool_call_id")), block.get("name")
        if kind == "tool_call":
            return Piece("call", block, path, given, name, block.get("arguments"), needs_id=given is not None)
        text = block.get("output") if isinstance(block.get("output"), str) else None
        return Piece("result", block, path, given, name, text=text, needs_id=given is not None)

    def text_block(self, text: str) -> dict[str, Any]:
        return {"type": "text", "text": text}

    def with_id(self, piece: Piece, call_id: str) -> Any:
        return {**piece.raw, "tool_call_id": call_id}

    def with_name(self, piece: Piece, name: str) -> Any:
        return {**piece.raw, "name": name}

    def placeholder(self, call: Piece, call_id: str) -> Any:
        named = {"tool_call_id": call_id} if call.needs_id else {}
        return {"type": "tool_result", "name": call.name, "output": PLACEHOLDER_TEXT, **named}

    def carrier(self, results: Sequence[Piece], after: Mapping[str, Any]) -> dict[str, Any]:
        return {"role": "tool", self.key: [piece.raw for piece in results]}

    def mended(self, piece: Piece) -> Change | None:
        if piece.kind != "call" or isinstance(piece.arguments, dict):
            return None
        new = arguments_map(piece.arguments)
        raw = {**piece.raw, "arguments": new}
        reason, remedy = "its arguments are no map", f"its arguments are {short(new)}"
        return Change(kinds.UNUSABLE_ARGUMENTS, reason, remedy, raw)
