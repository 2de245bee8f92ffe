"""The anatomy of OpenAI Responses items: a call or a result is one, what the model did in a row a turn."""

from collections.abc import Mapping, Sequence
from typing import Any

from turnledger.domain.messages import PLACEHOLDER_TEXT
from turnledger.importing.doctor import findings as kinds
from turnledger.importing.doctor.anatomy import Anatomy, Change, Piece, Rules, Side
from turnledger.importing.doctor.findings import short
from turnledger.importing.doctor.patching import same
from turnledger.projections.providers.arguments import arguments_json
from turnledger.projections.providers.openai_items import CALLS, CUSTOM, FUNCTION, REASONING, RESULTS, type_of
from turnledger.projections.providers.openai_messages import fits
from turnledger.projections.providers.openai_order import is_answer, is_sound, optional_id

_SIDES: Mapping[str, Side] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
}
_UNANSWERED = "OpenAI: No tool output found for function call"
RULES = Rules(
    own_messages=True,
    id_pattern=".{1,64}",
    merges=True,
    system_anywhere=True,
    words={
        kinds.UNANSWERED: _UNANSWERED,
        kinds.DISPLACED: _UNANSWERED,
        kinds.ORPHAN: "OpenAI: No tool call found for function call output with call_id",
        kinds.DOUBLED: "OpenAI takes one output a call",
        kinds.REUSED_ID: "OpenAI takes each id once: Duplicate item found with id",
        kinds.REPEATED_CALL: "OpenAI takes each id once: Duplicate item found with id",
        kinds.UNUSABLE_ID: "OpenAI: Expected an ID that begins with that of its kind, with maximum length 64",
        kinds.UNUSABLE_NAME: "OpenAI: expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'",
        kinds.UNUSABLE_ARGUMENTS: "OpenAI: Invalid type for 'arguments': expected a string",
        kinds.EMPTY: "OpenAI: Missing required parameter",
        kinds.ORDER: "OpenAI: Item of type 'reasoning' was provided without its required following item",
    },
)


def _is_silent(message: Mapping[str, Any]) -> bool:
    """Whether a message has no content at all; an empty text is one, and is taken."""
    return message.get("content") in (None, [])


class ResponsesAnatomy(Anatomy):
    rules = RULES

    def side(self, message: Mapping[str, Any]) -> Side | None:
        kind = type_of(message)
        if kind == "message":
            return _SIDES.get(str(message.get("role")))
        return None if not kind else "tool" if kind in RESULTS else "assistant"

    def pieces(self, message: Mapping[str, Any]) -> list[Piece]:
        kind = type_of(message)
        if kind == "message":
            return [Piece("text", message, (), text="" if _is_silent(message) else None)]
        if kind in CALLS:
            given = next((message.get(key) for key in CALLS[kind].arguments if message.get(key)), None)
            name = CALLS[kind].tool or message.get("name")
            return [self._paired(Piece("call", message, (), message.get("call_id"), name, given), kind)]
        if kind in RESULTS:
            return [self._paired(Piece("result", message, (), message.get("call_id")), RESULTS[kind])]
        return [Piece("other", message)]

    def _paired(self, piece: Piece, kind: str) -> Piece:
        """A call or a result; a local shell's is named by the id of its item."""
        piece.family = kind
        if kind == "local_shell_call":
            piece.call_id, piece.needs_id = piece.raw.get("id"), False
        elif piece.kind == "result" and isinstance(piece.raw.get("output"), str):
            piece.text = piece.raw["output"]
        return piece

    def rebuilt(self, message: dict[str, Any], pieces: Sequence[Piece]) -> dict[str, Any]:
        raw: dict[str, Any] = pieces[0].raw
        return raw

    def with_id(self, piece: Piece, call_id: str) -> Any:
        return {**piece.raw, "call_id": call_id}

    def with_name(self, piece: Piece, name: str) -> Any:
        return {**piece.raw, "name": name}

    def placeholder(self, call: Piece, call_id: str) -> Any:
        kind = call.family
        key = "id" if kind == "local_shell_call" else "call_id"
        output: Any = PLACEHOLDER_TEXT
        if kind == "shell_call":
            outcome = {"type": "exit", "exit_code": 1}
            output = [{"stdout": "", "stderr": PLACEHOLDER_TEXT, "outcome": outcome}]
        if kind == "computer_call":
            output = {"type": "computer_screenshot"}
        status = {"status": "failed"} if kind == "apply_patch_call" else {}
        return {"type": f"{kind}_output", key: call_id, "output": output, **status}

    def framed(self, message: dict[str, Any]) -> Change | None:
        kind = type_of(message)
        if kind in (FUNCTION, CUSTOM) or kind == "message" or is_sound(message):
            return self._identified(message)
        return Change(kinds.EMPTY, f"an item of type {kind} lacks what it must have", "left out", None)

    def _identified(self, message: dict[str, Any]) -> Change | None:
        """An item whose id is not one of its kind."""
        kind, item_id = type_of(message), message.get("id")
        if item_id is None or kind == "local_shell_call_output" or fits(item_id, kind):
            return None
        if kind == "message" and _is_silent(message):  # it goes
            return None
        new = optional_id(message)
        remedy = "without it" if new else "left out"
        return Change(kinds.UNUSABLE_ID, f"{short(item_id)} is no id of an item of type {kind}", remedy, new)

    def mended(self, piece: Piece) -> Change | None:
        key = {FUNCTION: "arguments", CUSTOM: "input"}.get(type_of(piece.raw))
        if piece.kind == "call" and key:
            given = piece.raw.get(key)
            text = arguments_json(given) if key == "arguments" else given if isinstance(given, str) else ""
            if not same(given, text):
                what = "cut off, or no JSON" if isinstance(given, str) else "no text"
                raw = {**piece.raw, key: text}
                reason, remedy = f"its {key} are {what}", f"its {key} are {short(text)}"
                return Change(kinds.UNUSABLE_ARGUMENTS, reason, remedy, raw)
        if piece.kind == "result" and piece.raw.get("output") is None and piece.family in (FUNCTION, CUSTOM):
            return Change(kinds.EMPTY, "its output is none", 'its output is ""', {**piece.raw, "output": ""})
        return None

    def settled(
        self, message: dict[str, Any], before: dict[str, Any] | None, after: dict[str, Any] | None
    ) -> Change | None:
        if type_of(message) != REASONING or (after is not None and is_answer(after)):
            return None
        return Change(kinds.ORDER, "reasoning that leads to nothing", "left out", None)

    def once(self, message: dict[str, Any], seen: set[str]) -> Change | None:
        item_id = message.get("id") if type_of(message) != "local_shell_call_output" else None
        if not isinstance(item_id, str):  # no id, or that of a message which says nothing, and goes
            return None
        if item_id not in seen:
            seen.add(item_id)
            return None
        new = optional_id(message)
        reason = f"the item's id {short(item_id)} stands twice"
        return Change(kinds.REUSED_ID, reason, "without it" if new else "left out", new)
