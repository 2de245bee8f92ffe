"""The anatomy of Gemini contents: parts, responses as many as the calls and in their order, ids or none."""

import re
from collections.abc import Mapping
from typing import Any

from turnledger.domain.messages import PLACEHOLDER_TEXT
from turnledger.importing.doctor import findings as kinds
from turnledger.importing.doctor.anatomy import Change, Piece, Rules, Side
from turnledger.importing.doctor.blocks import BlockAnatomy
from turnledger.importing.doctor.findings import quoted, short
from turnledger.projections.providers.arguments import arguments_map
from turnledger.projections.providers.gemini_parts import CALL, RESPONSE, SIGNATURE

_SNAKE = {CALL: "function_call", RESPONSE: "function_response", SIGNATURE: "thought_signature"}
_NUMBER = (
    "Gemini: the number of function response parts is equal to the number of function call parts of the "
    "function call turn"
)
RULES = Rules(
    own_messages=False,
    id_pattern="(?s).+",
    name_others="[^a-zA-Z0-9_.:-]",
    name_longest=127,
    in_order=True,
    merges=True,
    user_first=True,
    beside=("systemInstruction", "system_instruction"),
    words={
        kinds.UNANSWERED: _NUMBER,
        kinds.ORPHAN: _NUMBER,
        kinds.DOUBLED: _NUMBER,
        kinds.DISPLACED: "Gemini: function call turn comes immediately after a user turn",
        kinds.UNUSABLE_NAME: "Gemini: Invalid function name",
        kinds.UNUSABLE_ARGUMENTS: "Gemini: Invalid value at 'function_call.args'",
        kinds.UNUSABLE_ID: "Gemini: Invalid value at 'function_call.id' (TYPE_STRING)",
        kinds.STRAY_CALL: "Gemini: function call turn comes immediately after a user turn",
        kinds.EMPTY: "Gemini: required oneof field 'data' must have one initialized field",
        kinds.LEADING: "Gemini: function call turn comes immediately after a user turn",
        kinds.SYSTEM: "Gemini: Please use a valid role: user, model",
        kinds.ORDER: "Gemini: function call turn comes immediately after a user turn",
    },
)


class GeminiAnatomy(BlockAnatomy):
    rules = RULES
    key = "parts"
    sides: Mapping[str, Side] = {
        "user": "user",
        "model": "assistant",
        "system": "system",
        "function": "user",
        "tool": "user",
    }

    def side(self, message: Mapping[str, Any]) -> Side | None:
        if message.get("role") is None and isinstance(message.get(self.key), list):
            return (
                "assistant" if any(_inner(part, CALL) is not None for part in message[self.key]) else "user"
            )
        return super().side(message)

    def piece(self, block: Any, place: int) -> Piece:
        path = (self.key, place)
        call, response = _inner(block, CALL), _inner(block, RESPONSE)
        if call is not None:
            given = call.get("id")
            args, named = call.get("args"), given is not None
            return Piece("call", block, path, given, call.get("name"), args, needs_id=named)
        if response is not None:
            return Piece("result", block, path, response.get("id"), response.get("name"), needs_id=False)
        if isinstance(block, str):
            return Piece("text", block, path, text=block or "")
        text = block.get("text") if isinstance(block, Mapping) else ""
        holds = isinstance(block, Mapping) and (set(block) - {"text", "thought"} or text)
        return Piece("other" if holds else "text", block, path, text=None if holds else "")

    def text_block(self, text: str) -> dict[str, Any]:
        return {"text": text}

    def with_id(self, piece: Piece, call_id: str) -> Any:
        return _with(piece.raw, CALL, {"id": call_id})

    def with_name(self, piece: Piece, name: str) -> Any:
        return _with(piece.raw, CALL, {"name": name})

    def placeholder(self, call: Piece, call_id: str) -> Any:
        own = _key(call.raw, CALL) == CALL
        named = {"id": call_id} if call.needs_id else {}
        answer = {**named, "name": call.name, "response": {"error": PLACEHOLDER_TEXT}}
        return {RESPONSE if own else _SNAKE[RESPONSE]: answer}

    def prompted(self, prompt: Any, systems: Any) -> Any:
        before = prompt.get(self.key, []) if isinstance(prompt, Mapping) else prompt
        parts = super().prompted(before, systems)
        return {**prompt, self.key: parts} if isinstance(prompt, Mapping) else {self.key: parts}

    def framed(self, message: dict[str, Any]) -> Change | None:
        parts = message.get(self.key)
        if isinstance(parts, str) and parts:
            new = {**message, self.key: self.blocks(parts)}
            return Change(kinds.EMPTY, "its parts are no list", "the text is a part", new)
        return None

    def mended(self, piece: Piece) -> Change | None:
        if piece.kind == "call" and not isinstance(piece.arguments, dict | None):
            new = arguments_map(piece.arguments)
            raw = _with(piece.raw, CALL, {"args": new})
            return Change(kinds.UNUSABLE_ARGUMENTS, "its args are no map", f"its args are {short(new)}", raw)
        response = _inner(piece.raw, RESPONSE) if piece.kind == "result" else None
        if response is not None and not isinstance(response.get("response"), dict):
            given = response.get("response")
            raw = _with(piece.raw, RESPONSE, {"response": {"result": "" if given is None else given}})
            return Change(kinds.EMPTY, "its response is no map", "it is one", raw)
        return None

    def named(self, name: str) -> str:
        return name if re.match("[a-zA-Z_]", name) else f"_{name}"

    def matched(self, result: Piece, call: Piece) -> Change | None:
        declared, told = _inner(call.raw, CALL) or {}, _inner(result.raw, RESPONSE) or {}
        if all(declared.get(key) == told.get(key) for key in ("id", "name")):
            return None
        rest = {key: value for key, value in told.items() if key not in ("id", "name")}
        named = {key: declared[key] for key in ("id", "name") if declared.get(key) is not None}
        raw = {**result.raw, _key(result.raw, RESPONSE): {**named, **rest}}
        kind = kinds.UNUSABLE_ID if told.get("name") == declared.get("name") else kinds.UNUSABLE_NAME
        reason = f"its id and name are not those of its call, {quoted(declared.get('name'))}"
        return Change(kind, reason, "they are", raw)

    def joined(self, before: dict[str, Any], message: dict[str, Any]) -> Change | None:
        if self.side(before) != self.side(message):
            return None
        new = {**before, self.key: [*before[self.key], *message[self.key]]}
        reason = "two contents of one side in a row, of which one calls or answers"
        remedy = "it is part of the content before it"
        calls = any(_inner(part, key) is not None for part in new[self.key] for key in (CALL, RESPONSE))
        return Change(kinds.ORDER, reason, remedy, new) if calls else None


def _key(part: Mapping[str, Any], key: str) -> str:
    """The key as the service spells it, or as its libraries dump it."""
    return _SNAKE[key] if _SNAKE[key] in part else key


def _inner(part: Any, key: str) -> Mapping[str, Any] | None:
    found = part.get(_key(part, key)) if isinstance(part, Mapping) else None
    return found if isinstance(found, Mapping) else None


def _with(part: Mapping[str, Any], key: str, new: Mapping[str, Any]) -> dict[str, Any]:
    own = _key(part, key)
    return {**part, own: {**part[own], **new}}
