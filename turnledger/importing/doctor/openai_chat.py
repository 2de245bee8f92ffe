"""The anatomy of OpenAI chat messages: calls beside the content, each result a message behind the turn."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from turnledger.domain.messages import PLACEHOLDER_TEXT, arguments_of_call, call_id
from turnledger.importing.doctor import findings as kinds
from turnledger.importing.doctor.anatomy import Anatomy, Change, Piece, Rules, Side
from turnledger.importing.doctor.findings import short
from turnledger.projections.providers.arguments import arguments_json

_SIDES: Mapping[str, Side] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_UNANSWERED = (
    "OpenAI: An assistant message with 'tool_calls' must be followed by tool messages responding to each "
    "'tool_call_id'"
)
RULES = Rules(
    own_messages=True,
    id_pattern=".{1,40}",
    words={
        kinds.UNANSWERED: _UNANSWERED,
        kinds.DISPLACED: _UNANSWERED,
        kinds.ORPHAN: "OpenAI: messages with role 'tool' must be a response to a preceeding message with "
        "'tool_calls'",
        kinds.DOUBLED: "OpenAI: Duplicate value for 'tool_call_id'",
        # OpenAI itself takes these two as long as each result stands right behind its turn
        kinds.REUSED_ID: "others that are given these messages: tool call ids must be unique",
        kinds.SYSTEM: "many servers of this shape: System message must be at the beginning",
        kinds.REPEATED_CALL: "OpenAI: Duplicate value for 'tool_call_id'",
        kinds.MISSING_ID: "OpenAI: Missing required parameter",
        kinds.NO_CALLS: "OpenAI: Invalid 'tool_calls': empty array. Expected an array with minimum length 1",
        kinds.UNUSABLE_ID: "OpenAI: expected a string with maximum length 40",
        kinds.UNUSABLE_NAME: "OpenAI: expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'",
        kinds.UNUSABLE_ARGUMENTS: "OpenAI: expected a string; many servers of this shape parse it as JSON",
        kinds.EMPTY: "OpenAI: Invalid value for 'content': expected a string, got null",
    },
)


class OpenAIAnatomy(Anatomy):
    rules = RULES

    def side(self, message: Mapping[str, Any]) -> Side | None:
        return _SIDES.get(str(message.get("role")))

    def pieces(self, message: Mapping[str, Any]) -> list[Piece]:
        content, text = message.get("content"), _text(message)
        if self.side(message) == "tool":
            named = message.get("role") == "function"  # from before there were ids
            given = message.get("tool_call_id")
            return [Piece("result", message, (), given, message.get("name"), text=text, needs_id=not named)]
        calls = message.get("tool_calls") if message.get("role") == "assistant" else None
        found = [
            _call(call, ("tool_calls", place))
            for place, call in enumerate(calls if isinstance(calls, list) else [])
        ]
        legacy = message.get("function_call")
        if isinstance(legacy, Mapping) and not found:
            found = [replace(_call(legacy, ("function_call",)), needs_id=False)]
        if content not in (None, "", []) or not found:
            found.insert(0, Piece("text", content, ("content",), text=text))
        return found

    def rebuilt(self, message: dict[str, Any], pieces: Sequence[Piece]) -> dict[str, Any]:
        if self.side(message) == "tool":
            raw: dict[str, Any] = pieces[0].raw
            return raw
        calls = [piece.raw for piece in pieces if piece.path[0] == "tool_calls"]
        legacy = [piece.raw for piece in pieces if piece.path[0] == "function_call"]
        left = {key: value for key, value in message.items() if key not in ("tool_calls", "function_call")}
        return (
            {**message, "tool_calls": calls}
            if calls
            else {**left, "function_call": legacy[0]}
            if legacy
            else left
        )

    def with_id(self, piece: Piece, call_id: str) -> Any:
        key = _id_key(piece.raw) if piece.kind == "call" else "tool_call_id"
        return {**piece.raw, key: call_id}

    def with_name(self, piece: Piece, name: str) -> Any:
        inner = next((key for key in ("function", "custom") if isinstance(piece.raw.get(key), dict)), None)
        return (
            {**piece.raw, inner: {**piece.raw[inner], "name": name}} if inner else {**piece.raw, "name": name}
        )

    def placeholder(self, call: Piece, call_id: str) -> Any:
        if call.path[0] == "function_call":
            return {"role": "function", "name": call.name, "content": PLACEHOLDER_TEXT}
        return {"role": "tool", "tool_call_id": call_id, "content": PLACEHOLDER_TEXT}

    def mended(self, piece: Piece) -> Change | None:
        if piece.kind == "result" and piece.raw.get("content") in (None, []):
            return Change(
                kinds.EMPTY, "its content is none", 'its content is ""', {**piece.raw, "content": ""}
            )
        function = piece.raw.get("function") if piece.kind == "call" else None
        if not isinstance(function, dict):
            return None
        written = function.get("arguments")
        text = arguments_json(written)
        if text == written:
            return None
        what = (
            "an empty text"
            if written == ""
            else "cut off, or no JSON"
            if isinstance(written, str)
            else "no text of JSON"
        )
        mended = {**piece.raw, "function": {**function, "arguments": text}}
        remedy = f"its arguments are {short(text)}"
        return Change(kinds.UNUSABLE_ARGUMENTS, f"its arguments are {what}", remedy, mended)

    def matched(self, result: Piece, call: Piece) -> Change | None:
        """A function's message answers `function_call`, a tool's message one of `tool_calls`."""
        answers = "function" if call.path[0] == "function_call" else "tool"
        if result.raw.get("role") == answers:
            return None
        rest = {key: value for key, value in result.raw.items() if key != "tool_call_id"}
        raw = {**rest, "role": answers}
        if answers == "function":
            raw["name"] = call.name
        elif call.needs_id:
            raw["tool_call_id"] = call.now
        reason = f"a message of role {result.raw.get('role')!r} cannot answer {call.path[0]!r}"
        return Change(kinds.ORPHAN, reason, f"its role is {answers!r}", raw)

    def framed(self, message: dict[str, Any]) -> Change | None:
        calls = message.get("tool_calls")
        if calls is None or (calls and message["role"] == "assistant"):
            if message.get("content") == [] and (calls or message.get("function_call")):
                said = {**message, "content": ""}
                return Change(kinds.EMPTY, "its content is an empty list", 'its content is ""', said)
            return None
        rest = {key: value for key, value in message.items() if key != "tool_calls"}
        kind = kinds.STRAY_CALL if calls else kinds.NO_CALLS
        reason = "its list of calls is not the assistant's" if calls else "its list of calls is empty"
        return Change(kind, reason, "without the list", rest)


def _text(message: Mapping[str, Any]) -> str | None:
    """What it says as text; "" only where the service refuses it as nothing."""
    content = message.get("content")
    if content is None and (message.get("refusal") or message.get("audio")):
        return None
    return "" if content in (None, []) else None


def _call(call: Any, path: tuple[str | int, ...]) -> Piece:
    if not isinstance(call, Mapping):
        return Piece("other", call, path)
    return Piece("call", call, path, call.get(_id_key(call)), _name(call), arguments_of_call(call))


def _name(call: Mapping[str, Any]) -> Any:
    """Its name as it stands there; None where it has none."""
    inner = next((call[key] for key in ("function", "custom") if isinstance(call.get(key), Mapping)), call)
    return call.get("name") or inner.get("name")


def _id_key(call: Mapping[str, Any]) -> str:
    """The key of a call's id: OpenAI's, or that of the flat shape."""
    return "tool_call_id" if call_id(call.get("tool_call_id")) else "id"
