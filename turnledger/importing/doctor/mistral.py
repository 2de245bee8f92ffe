"""The anatomy of Mistral's chat messages: OpenAI's, with ids of nine characters and an order of roles."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from turnledger.importing.doctor import findings as kinds
from turnledger.importing.doctor.anatomy import Change, Piece
from turnledger.importing.doctor.openai_chat import RULES, OpenAIAnatomy
from turnledger.projections.providers.mistral import BRIDGE_TEXT, IDS, PREFIX_KEY

_NUMBER = "Mistral: Not the same number of function calls and responses"


class MistralAnatomy(OpenAIAnatomy):
    rules = replace(
        RULES,
        id_pattern=IDS,
        id_shaped=lambda digits: digits[:9],
        words={
            kinds.UNANSWERED: _NUMBER,
            kinds.ORPHAN: _NUMBER,
            kinds.DOUBLED: _NUMBER,
            kinds.DISPLACED: "Mistral: Unexpected role 'tool' after role 'user'",
            kinds.REUSED_ID: "Mistral takes each id of a call once",
            kinds.REPEATED_CALL: "Mistral takes each id of a call once",
            kinds.UNUSABLE_ID: "Mistral: must be a-z, A-Z, 0-9, with a length of 9",
            kinds.UNUSABLE_NAME: "Mistral: must be a-z, A-Z, 0-9, or contain underscores and dashes",
            kinds.UNUSABLE_ARGUMENTS: "Mistral parses a call's arguments as JSON",
            kinds.EMPTY: "Mistral: Assistant message must have either content or tool_calls, but not none",
            kinds.SYSTEM: "Mistral: Unexpected role 'system' after role 'user'",
            kinds.ORDER: "Mistral: Unexpected role 'user' after role 'tool'",
        },
    )

    def pieces(self, message: Mapping[str, Any]) -> list[Piece]:
        found = super().pieces(message)
        if message.get("content") == "" and message.get("role") == "assistant":
            return [replace(piece, text="") if piece.kind == "text" else piece for piece in found]
        return found

    def settled(
        self, message: dict[str, Any], before: dict[str, Any] | None, after: dict[str, Any] | None
    ) -> Change | None:
        if PREFIX_KEY not in message or (after is None and self.side(message) == "assistant"):
            return None
        rest = {key: value for key, value in message.items() if key != PREFIX_KEY}
        return Change(kinds.ENDING, "a prefix is not the last message", "it is none", rest)

    def bridge(self, before: dict[str, Any], message: dict[str, Any]) -> Change | None:
        if (self.side(before), self.side(message)) != ("tool", "user"):
            return None
        said = {"role": "assistant", "content": BRIDGE_TEXT}
        remedy = "a word of the assistant's stands between"
        return Change(kinds.ORDER, "the user speaks right behind a result", remedy, said)
