"""The anatomy of Bedrock's Converse messages: blocks told apart by their one key, sides that alternate."""

import re
from collections.abc import Mapping
from itertools import chain, count
from typing import Any

from turnledger.domain.messages import PLACEHOLDER_TEXT
from turnledger.importing.doctor import findings as kinds
from turnledger.importing.doctor.anatomy import Change, Piece, Rules
from turnledger.importing.doctor.blocks import BlockAnatomy, with_taken_id
from turnledger.importing.doctor.findings import short
from turnledger.projections.providers.arguments import arguments_map
from turnledger.projections.providers.bedrock_blocks import CALL, REASONING, RESULT

_UNANSWERED = "Bedrock: Expected toolResult blocks for the following Ids"
DOCUMENT_TEXT = "See the document."
RULES = Rules(
    own_messages=False,
    id_pattern="[a-zA-Z0-9_-]{1,64}",
    id_shaped=lambda digits: f"tooluse_{digits[:24]}",
    merges=True,
    user_first=True,
    beside=("system",),
    words={
        kinds.UNANSWERED: _UNANSWERED,
        kinds.DISPLACED: _UNANSWERED,
        kinds.ORPHAN: "Bedrock: The number of toolResult blocks exceeds the number of toolUse blocks of "
        "previous turn",
        kinds.DOUBLED: "Bedrock: The toolResult blocks contain duplicate Ids",
        kinds.REUSED_ID: "Bedrock: The toolUse blocks contain duplicate Ids",
        kinds.REPEATED_CALL: "Bedrock: The toolUse blocks contain duplicate Ids",
        kinds.UNUSABLE_ID: "Bedrock: must satisfy regular expression pattern: [a-zA-Z0-9_-]+",
        kinds.UNUSABLE_NAME: "Bedrock: must satisfy regular expression pattern: [a-zA-Z0-9_-]+",
        kinds.UNUSABLE_ARGUMENTS: "Bedrock: The value is invalid. Provide a json object for the field",
        kinds.STRAY_CALL: "Bedrock takes calls of the assistant alone",
        kinds.REUSED_NAME: "Bedrock takes each name of a document once",
        kinds.EMPTY: "Bedrock: The text field in the ContentBlock object is blank",
        kinds.LEADING: "Bedrock: A conversation must start with a user message",
        kinds.SYSTEM: "Bedrock: Member must satisfy enum value set: [user, assistant]",
        kinds.THINKING: "Anthropic's models: The final block in an assistant message cannot be `thinking`",
        kinds.ENDING: "Anthropic's models: final assistant content cannot end with trailing whitespace",
        kinds.ORDER: "Bedrock: A conversation must alternate between user and assistant roles",
    },
)


class ConverseAnatomy(BlockAnatomy):
    rules = RULES

    def piece(self, block: Any, place: int) -> Piece:
        path = (self.key, place)
        call, result = _of_ours(block, CALL), _of_ours(block, RESULT)
        if call is not None:
            return Piece("call", block, path, call.get("toolUseId"), call.get("name"), call.get("input"))
        if result is not None:
            return Piece("result", block, path, result.get("toolUseId"))
        text = block.get("text") if isinstance(block, Mapping) else ""
        return Piece("text" if isinstance(text, str) else "other", block, path, text=text)

    def text_block(self, text: str) -> dict[str, Any]:
        return {"text": text}

    def with_id(self, piece: Piece, call_id: str) -> Any:
        return self._with(piece, "toolUseId", call_id)

    def with_name(self, piece: Piece, name: str) -> Any:
        return self._with(piece, "name", name)

    def _with(self, piece: Piece, key: str, value: Any) -> Any:
        inner = CALL if piece.kind == "call" else RESULT
        return {**piece.raw, inner: {**piece.raw[inner], key: value}}

    def placeholder(self, call: Piece, call_id: str) -> Any:
        content = [{"text": PLACEHOLDER_TEXT}]
        return {RESULT: {"toolUseId": call_id, "content": content, "status": "error"}}

    def framed(self, message: dict[str, Any]) -> Change | None:
        content = message.get(self.key)
        if not isinstance(content, str) or not content.strip():
            return None
        new = {**message, self.key: self.blocks(content)}
        return Change(kinds.EMPTY, "its content is no list of blocks", "the text is a block", new)

    def mended(self, piece: Piece) -> Change | None:
        if piece.kind == "other":
            return self._of_server(piece.raw)
        if piece.kind == "call" and not isinstance(piece.arguments, dict):
            new = arguments_map(piece.arguments)
            raw = self._with(piece, "input", new)
            return Change(kinds.UNUSABLE_ARGUMENTS, "its input is no map", f"its input is {short(new)}", raw)
        content = piece.raw[RESULT].get("content") if piece.kind == "result" else None
        if piece.kind == "result" and not isinstance(content, list):
            is_said = isinstance(content, str) and content.strip()
            raw = self._with(piece, "content", self.blocks(content) if is_said else [])
            return Change(kinds.EMPTY, "its content is no list of blocks", "it is one", raw)
        said = [block for block in content or () if not self.piece(block, 0).blank]
        if len(said) == len(content or ()):
            return None
        return Change(
            kinds.EMPTY,
            "the result holds a blank text",
            "without that text",
            self._with(piece, "content", said),
        )

    def _of_server(self, block: Mapping[str, Any]) -> Change | None:
        """A call or a result of a server's tool: an id not taken becomes the same new one for both."""
        key = next((key for key in (CALL, RESULT) if isinstance(block.get(key), Mapping)), None)
        inner = dict(block[key]) if key else {}
        content = inner.get("content")
        if isinstance(content, list) and any(self.piece(one, 0).blank for one in content):
            inner["content"] = [one for one in content if not self.piece(one, 0).blank]
        change = with_taken_id(inner, "toolUseId", _is_taken, RULES.id_shaped) if key else None
        if key and change:
            return change._replace(raw={**block, key: change.raw})
        if key and inner.get("content") is not content:
            raw = {**block, key: inner}
            return Change(kinds.EMPTY, "the result holds a blank text", "without that text", raw)
        return None

    def once(self, message: dict[str, Any], seen: set[str]) -> Change | None:
        new = _named_once(message[self.key], seen)
        if new is message[self.key]:
            return None
        reason, remedy = "a document's name stands twice in a request", "the later one has a name of its own"
        return Change(kinds.REUSED_NAME, reason, remedy, {**message, self.key: new})

    def joined(self, before: dict[str, Any], message: dict[str, Any]) -> Change | None:
        if self.side(before) != self.side(message):
            return None
        new = {**before, self.key: [*before[self.key], *message[self.key]]}
        remedy = "it is part of the message before it"
        return Change(kinds.ORDER, f"two messages of the {message['role']} in a row", remedy, new)

    def settled(
        self, message: dict[str, Any], before: dict[str, Any] | None, after: dict[str, Any] | None
    ) -> Change | None:
        blocks = message[self.key]
        if all(isinstance(block, Mapping) and "cachePoint" in block for block in blocks):
            return Change(kinds.EMPTY, "the message says nothing", "left out", None)
        shown = {key for block in blocks for key in block}
        if "document" in shown and "text" not in shown:
            new = {**message, self.key: [*blocks, self.text_block(DOCUMENT_TEXT)]}
            return Change(kinds.EMPTY, "a document has no text beside it", "with a text", new)
        return self._ended(message, after) if self.side(message) == "assistant" else None

    def _ended(self, message: dict[str, Any], after: dict[str, Any] | None) -> Change | None:
        blocks = list(message[self.key])
        text = blocks[-1].get("text")
        if REASONING in blocks[-1]:
            shorter = {**message, self.key: blocks[:-1]} if blocks[:-1] else None
            return Change(
                kinds.THINKING, "it ends with reasoning that leads to nothing", "without it", shorter
            )
        if after is not None or not isinstance(text, str) or text == text.rstrip():
            return None
        new = {**message, self.key: [*blocks[:-1], {**blocks[-1], "text": text.rstrip()}]}
        return Change(kinds.ENDING, "it ends with white space", "without that white space", new)


def _is_taken(call_id: Any) -> bool:
    return isinstance(call_id, str) and re.fullmatch(RULES.id_pattern, call_id) is not None


def _of_ours(block: Any, key: str) -> Mapping[str, Any] | None:
    """A call or a result of a client's tool; those of a server's have a type."""
    inner = block.get(key) if isinstance(block, Mapping) else None
    return inner if isinstance(inner, Mapping) and "type" not in inner else None


def _named_once(value: Any, seen: set[str]) -> Any:
    """Blocks, those of results too, with documents of which each has a name that is not yet `seen`."""
    if isinstance(value, list):
        new = [_named_once(one, seen) for one in value]
        return new if any(one is not old for one, old in zip(new, value, strict=True)) else value
    document, result = (value.get(key) if isinstance(value, dict) else None for key in ("document", RESULT))
    if isinstance(document, dict) and isinstance(document.get("name"), str):
        name = _free(document["name"], seen)
        seen.add(name)
        return value if name == document["name"] else {**value, "document": {**document, "name": name}}
    if isinstance(result, dict) and isinstance(result.get("content"), list):
        content = _named_once(result["content"], seen)
        return value if content is result["content"] else {**value, RESULT: {**result, "content": content}}
    return value


def _free(name: str, seen: set[str]) -> str:
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    return next(one for one in names if one not in seen)
