"""The anatomy of Ollama's chat messages: OpenAI's shape, calls and results mostly without ids.

Ollama itself takes a list whose calls and results do not match; the model is then told nonsense. What it
refuses is what its types cannot hold.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from turnledger.domain.messages import PLACEHOLDER_TEXT
from turnledger.importing.doctor import findings as kinds
from turnledger.importing.doctor.anatomy import Change, Piece, Side
from turnledger.importing.doctor.findings import short
from turnledger.importing.doctor.openai_chat import RULES, OpenAIAnatomy
from turnledger.importing.pairing import given_id
from turnledger.projections.providers.arguments import arguments_map


class OllamaAnatomy(OpenAIAnatomy):
    rules = replace(
        RULES,
        id_pattern="(?s).+",
        name_others="(?!)",
        name_longest=1_000,
        words={
            kinds.UNUSABLE_ARGUMENTS: "Ollama: cannot unmarshal string into Go struct field",
            kinds.EMPTY: "Ollama takes a text as the content",
        },
    )

    def side(self, message: Mapping[str, Any]) -> Side | None:
        return super().side(_inner(message))

    def pieces(self, message: Mapping[str, Any]) -> list[Piece]:
        inner = _inner(message)
        found = [self._without_id(piece) for piece in super().pieces(inner)]
        if found and found[0].blank and (inner.get("images") or inner.get("thinking")):
            found[0].text = None
        if self.side(message) == "tool":
            name = inner.get("tool_name") or inner.get("name")
            return [replace(found[0], raw=message, name=name)]
        return found

    def _without_id(self, piece: Piece) -> Piece:
        raw = piece.raw if isinstance(piece.raw, Mapping) else {}
        key = "id" if piece.kind == "call" else "tool_call_id"
        given = given_id(raw.get(key)) if piece.kind in ("call", "result") else None
        return replace(piece, call_id=given, needs_id=given is not None)

    def rebuilt(self, message: dict[str, Any], pieces: Sequence[Piece]) -> dict[str, Any]:
        if self.side(message) == "tool" or _inner(message) is message:
            return super().rebuilt(message, pieces)
        return {**message, "message": super().rebuilt(dict(_inner(message)), pieces)}

    def placeholder(self, call: Piece, call_id: str) -> Any:
        named = {"tool_call_id": call_id} if call.needs_id else {}
        return {"role": "tool", "tool_name": call.name, "content": PLACEHOLDER_TEXT, **named}

    def mended(self, piece: Piece) -> Change | None:
        if piece.kind == "result" and piece.raw.get("content") is None:
            raw = {**piece.raw, "content": ""}
            return Change(kinds.EMPTY, "its content is none", 'its content is ""', raw)
        function = piece.raw.get("function") if piece.kind == "call" else None
        given = function.get("arguments") if isinstance(function, dict) else None
        if not isinstance(function, dict) or isinstance(given, dict):
            return None
        new = arguments_map(given)
        raw = {**piece.raw, "function": {**function, "arguments": new}}
        remedy = f"its arguments are {short(new)}"
        return Change(kinds.UNUSABLE_ARGUMENTS, "its arguments are no map", remedy, raw)

    def framed(self, message: dict[str, Any]) -> Change | None:
        return None  # an empty list of calls is none


def _inner(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """The message that an answer of the service holds."""
    inner = message.get("message")
    return inner if "role" not in message and isinstance(inner, Mapping) else message
