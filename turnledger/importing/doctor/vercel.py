"""The anatomy of the AI SDK's messages: those of a user interface, and those that go to a model.

In a message of a user interface a call and its result are one part, which is finished or not. A model message
holds its calls, and a tool message behind it the results.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from turnledger.domain.messages import PLACEHOLDER_TEXT
from turnledger.importing.doctor import findings as kinds
from turnledger.importing.doctor.anatomy import Change, Piece, Rules, Side
from turnledger.importing.doctor.blocks import BlockAnatomy

_SIDES: Mapping[str, Side] = {"user": "user", "assistant": "assistant", "system": "system", "tool": "tool"}
_UNFINISHED = ("input-streaming", "input-available", "partial-call", "call")
_MISSING = "AI SDK: Tool result is missing for tool call"
RULES = Rules(
    own_messages=False,
    own_lines=True,
    id_pattern="(?s).+",
    words={
        kinds.UNANSWERED: _MISSING,
        kinds.DISPLACED: _MISSING,
        kinds.SYSTEM: "many providers that the SDK calls: the system speaks first",
        kinds.EMPTY: "the provider that the SDK calls: content must be non-empty",
    },
)


class VercelAnatomy(BlockAnatomy):
    rules = RULES
    sides = _SIDES

    def pieces(self, message: Mapping[str, Any]) -> list[Piece]:
        parts = message.get("parts")
        if isinstance(parts, list):
            return [Piece("other", part, ("parts", place)) for place, part in enumerate(parts)]
        if isinstance(message.get("toolInvocations"), list):
            return [Piece("other", message.get(self.key), (self.key,))]
        found = super().pieces(message)
        own = [piece.call_id for piece in found if piece.kind == "call" and _is_own(piece.raw)]
        return [
            replace(piece, kind="other")
            if _is_own(piece.raw) or (piece.kind == "result" and piece.call_id in own)
            else piece
            for piece in found
        ]

    def piece(self, block: Any, place: int) -> Piece:
        path = (self.key, place)
        kind = block.get("type") if isinstance(block, Mapping) else None
        given = block.get("toolCallId") if isinstance(block, Mapping) else None
        if kind == "tool-call":
            arguments = block.get("input", block.get("args"))
            return Piece("call", block, path, given, block.get("toolName"), arguments)
        if kind == "tool-result":
            return Piece("result", block, path, given, block.get("toolName"))
        return Piece("other", block, path)

    def text_block(self, text: str) -> dict[str, Any]:
        return {"type": "text", "text": text}

    def rebuilt(self, message: dict[str, Any], pieces: Sequence[Piece]) -> dict[str, Any]:
        if isinstance(message.get("parts"), list):
            return {**message, "parts": [piece.raw for piece in pieces]}
        return super().rebuilt(message, pieces)

    def with_id(self, piece: Piece, call_id: str) -> Any:
        return {**piece.raw, "toolCallId": call_id}

    def with_name(self, piece: Piece, name: str) -> Any:
        return {**piece.raw, "toolName": name}

    def placeholder(self, call: Piece, call_id: str) -> Any:
        output = {"type": "error-text", "value": PLACEHOLDER_TEXT}
        return {"type": "tool-result", "toolCallId": call_id, "toolName": call.name, "output": output}

    def carrier(self, results: Sequence[Piece], after: Mapping[str, Any]) -> dict[str, Any]:
        return {"role": "tool", self.key: [piece.raw for piece in results]}

    def mended(self, piece: Piece) -> Change | None:
        kind = piece.raw.get("type") if isinstance(piece.raw, Mapping) else None
        if piece.kind != "other" or not isinstance(kind, str):
            return None
        if kind == "tool-invocation" and isinstance(piece.raw.get("toolInvocation"), dict):
            tool = piece.raw["toolInvocation"]
            raw = {**piece.raw, "toolInvocation": {**tool, "state": "result", "result": PLACEHOLDER_TEXT}}
        elif kind == "dynamic-tool" or kind.startswith("tool-"):
            tool = piece.raw
            raw = {**tool, "state": "output-error", "errorText": PLACEHOLDER_TEXT}
        else:
            return None
        if tool.get("state") not in _UNFINISHED or tool.get("providerExecuted"):
            return None
        reason = f"the call is in the state {tool['state']!r} and has no result"
        return Change(kinds.UNANSWERED, reason, "its result says that it was interrupted", raw)

    def settled(
        self, message: dict[str, Any], before: dict[str, Any] | None, after: dict[str, Any] | None
    ) -> Change | None:
        if self.side(message) != "tool" or _holds(message, "tool-result"):
            return None
        if _holds(before or {}, "tool-approval-request"):
            return None
        return Change(kinds.ORPHAN, "a tool's message without a result", "left out", None)


def _holds(message: Mapping[str, Any], kind: str) -> bool:
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return any(isinstance(part, Mapping) and part.get("type") == kind for part in parts)


def _is_own(part: Any) -> bool:
    """Whether a provider ran the call by itself."""
    return isinstance(part, Mapping) and bool(part.get("providerExecuted"))
