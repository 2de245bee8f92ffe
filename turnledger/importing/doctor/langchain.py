"""The anatomy of LangChain's dumped messages, in each of their shapes: with data, as constructors, flat.

A call stands beside the content and, for some providers, once more inside of it or among `additional_kwargs`:
what becomes of it becomes of all of these. What a provider refuses depends on which one that is.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from turnledger.domain.messages import PLACEHOLDER_TEXT
from turnledger.importing.doctor import findings as kinds
from turnledger.importing.doctor.anatomy import Anatomy, Change, Piece, Rules, Side
from turnledger.importing.doctor.findings import short
from turnledger.importing.doctor.langchain_doubles import (
    Doubles,
    call_piece,
    call_with_id,
    call_with_name,
    older_left,
)
from turnledger.importing.doctor.openai_chat import OpenAIAnatomy
from turnledger.importing.langchain import dumped_as, removed_from, role_of
from turnledger.importing.langchain_calls import CALL_TYPES, OLDER, Path, Placed, placed_calls
from turnledger.projections.providers.arguments import arguments_map

_UNANSWERED = "the provider that LangChain calls: each call must have its result behind it"
_SIDES: Mapping[str, Side] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
_LISTS = ("tool_calls", "invalid_tool_calls")
_CLASS = ["langchain", "schema", "messages", "ToolMessage"]
RULES = Rules(
    own_messages=True,
    id_pattern="(?s).+",
    words={
        kinds.UNANSWERED: _UNANSWERED,
        kinds.DISPLACED: _UNANSWERED,
        kinds.ORPHAN: "the provider that LangChain calls: each result must have its call before it",
        kinds.DOUBLED: "the provider that LangChain calls: each call has a single result",
        kinds.SYSTEM: "many providers that LangChain calls: the system speaks first",
        kinds.EMPTY: "many providers that LangChain calls: a message must say something",
    },
)


class LangchainAnatomy(Anatomy):
    rules = RULES

    def gone(self, messages: Sequence[Any]) -> Mapping[int, str]:
        """Messages that another one removes, and that one."""
        removing = [place for place, one in enumerate(messages) if _kind(one) == "remove"]
        if not removing:
            return {}
        return dict.fromkeys(
            sorted(removed_from(messages)), "a message behind it removes it"
        ) | dict.fromkeys(removing, "it removes others, and no model is given it")

    def side(self, message: Mapping[str, Any]) -> Side | None:
        dumped = dumped_as(message)
        return None if dumped is None or dumped.kind == "remove" else _SIDES.get(role_of(dumped), "user")

    def pieces(self, message: Mapping[str, Any]) -> list[Piece]:
        data, above = _data(message), _above(message)
        content = data.get("content")
        if self.side(message) == "tool":
            given, text = data.get("tool_call_id"), content if isinstance(content, str) else None
            old = _kind(message) == "function"
            return [Piece("result", message, (), given, data.get("name"), text=text, needs_id=not old)]
        found = [call_piece(call, (*above, *path)) for path, call in self._calls(message)]
        if _says(data, content) or not found:
            text = None if _says(data, content) else ""
            found.insert(0, Piece("text", content, (*above, "content"), text=text))
        return found

    def _calls(self, message: Mapping[str, Any]) -> list[Placed]:
        return placed_calls(_data(message)) if self.side(message) == "assistant" else []

    def rebuilt(self, message: dict[str, Any], pieces: Sequence[Piece]) -> dict[str, Any]:
        if self.side(message) == "tool":
            raw: dict[str, Any] = pieces[0].raw
            return raw
        above = len(_above(message))
        kept = {piece.path[above:]: piece.raw for piece in pieces if piece.kind == "call"}
        doubles = Doubles(self._calls(message), kept)
        data = dict(_data(message))
        for key in _LISTS:
            if isinstance(data.get(key), list):
                data[key] = list(doubles.left(data[key], (key,)))
        if isinstance(data.get("content"), list):
            data["content"] = list(doubles.left(data["content"], ("content",)))
        if isinstance(data.get(OLDER), dict):
            data[OLDER] = older_left(data[OLDER], doubles)
        return _with_data(message, data)

    def with_id(self, piece: Piece, call_id: str) -> Any:
        if piece.kind == "result":
            return _with_data(piece.raw, {**_data(piece.raw), "tool_call_id": call_id})
        return call_with_id(piece.raw, call_id)

    def with_name(self, piece: Piece, name: str) -> Any:
        return call_with_name(piece.raw, name)

    def placeholder(self, call: Piece, call_id: str) -> Any:
        old = call.path[-1] == "function_call"
        kind = "function" if old else "tool"
        named = {} if old else {"tool_call_id": call_id, "status": "error"}
        data = {"content": PLACEHOLDER_TEXT, "type": kind, "name": call.name, **named}
        if call.path[0] == "kwargs":
            name = "FunctionMessage" if old else "ToolMessage"
            return {"lc": 1, "type": "constructor", "id": [*_CLASS[:-1], name], "kwargs": data}
        return {"type": kind, "data": data} if call.path[0] == "data" else data

    def mended(self, piece: Piece) -> Change | None:
        if piece.kind == "result" and _data(piece.raw).get("content") is None:
            raw = _with_data(piece.raw, {**_data(piece.raw), "content": ""})
            return Change(kinds.EMPTY, "its content is none", 'its content is ""', raw)
        if piece.kind != "call":
            return None
        if isinstance(piece.raw.get("function"), dict):
            return OpenAIAnatomy().mended(piece)
        if piece.path[-2] != "tool_calls" or isinstance(piece.raw.get("args"), dict):
            return None
        new = arguments_map(piece.arguments)
        remedy = f"its args are {short(new)}"
        return Change(kinds.UNUSABLE_ARGUMENTS, "its args are no map", remedy, {**piece.raw, "args": new})


def _kind(message: Any) -> str | None:
    dumped = dumped_as(message)
    return dumped.kind if dumped else None


def _above(message: Mapping[str, Any]) -> Path:
    """The path to a message's data."""
    dumped = dumped_as(message)
    keys = ("kwargs", "data") if dumped and dumped.data is not message else ()
    return tuple(key for key in keys if dumped and message.get(key) is dumped.data)[:1]


def _data(message: Mapping[str, Any]) -> Mapping[str, Any]:
    dumped = dumped_as(message)
    return dumped.data if dumped else message


def _with_data(message: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    above = _above(message)
    return {**message, str(above[0]): data} if above else dict(data)


def _says(data: Mapping[str, Any], content: Any) -> bool:
    """Whether it says anything beside its calls."""
    blocks = content if isinstance(content, list) else []
    beside = data.get(OLDER)
    told = isinstance(beside, Mapping) and bool(beside.get("refusal") or beside.get("audio"))
    if isinstance(content, str):
        return told or bool(content.strip())
    is_said = any(not (isinstance(block, Mapping) and block.get("type") in CALL_TYPES) for block in blocks)
    return told or is_said or not isinstance(content, str | list | None)
