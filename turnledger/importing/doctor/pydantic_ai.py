"""The anatomy of Pydantic AI's messages: requests and responses made of parts, results in a request."""

from collections.abc import Mapping, Sequence
from typing import Any

from turnledger.domain.messages import PLACEHOLDER_TEXT
from turnledger.importing.doctor import findings as kinds
from turnledger.importing.doctor.anatomy import Piece, Rules, Side
from turnledger.importing.doctor.blocks import BlockAnatomy

_SIDES: Mapping[str, Side] = {"request": "user", "response": "assistant"}
_UNANSWERED = "the provider that the library calls: each call must have its result behind it"
RULES = Rules(
    own_messages=False,
    id_pattern="(?s).+",
    words={
        kinds.UNANSWERED: _UNANSWERED,
        kinds.DISPLACED: _UNANSWERED,
        kinds.ORPHAN: "the provider that the library calls: each result must have its call before it",
        kinds.DOUBLED: "the provider that the library calls: each call has a single result",
    },
)


class PydanticAnatomy(BlockAnatomy):
    rules = RULES
    key = "parts"

    def side(self, message: Mapping[str, Any]) -> Side | None:
        return _SIDES.get(str(message.get("kind"))) if isinstance(message.get(self.key), list) else None

    def pieces(self, message: Mapping[str, Any]) -> list[Piece]:
        """Results first: wherever they stand in a request, the library sends them so."""
        return sorted(super().pieces(message), key=lambda piece: piece.kind != "result")

    def piece(self, block: Any, place: int) -> Piece:
        path = (self.key, place)
        kind = block.get("part_kind") if isinstance(block, Mapping) else None
        if kind == "tool-call":
            return Piece(
                "call", block, path, block.get("tool_call_id"), block.get("tool_name"), block.get("args")
            )
        if kind == "tool-return" or (kind == "retry-prompt" and block.get("tool_name")):
            return Piece("result", block, path, block.get("tool_call_id"), block.get("tool_name"))
        return Piece("other", block, path)

    def rebuilt(self, message: dict[str, Any], pieces: Sequence[Piece]) -> dict[str, Any]:
        return {**message, self.key: [piece.raw for piece in pieces]}

    def with_id(self, piece: Piece, call_id: str) -> Any:
        return {**piece.raw, "tool_call_id": call_id}

    def with_name(self, piece: Piece, name: str) -> Any:
        return {**piece.raw, "tool_name": name}

    def placeholder(self, call: Piece, call_id: str) -> Any:
        content = {"tool_name": call.name, "content": PLACEHOLDER_TEXT, "tool_call_id": call_id}
        return {**content, "part_kind": "tool-return"}

    def carrier(self, results: Sequence[Piece], after: Mapping[str, Any]) -> dict[str, Any]:
        return {self.key: [piece.raw for piece in results], "kind": "request"}
