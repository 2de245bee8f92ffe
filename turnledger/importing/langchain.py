"""LangChain's messages as they are dumped: with their type and data, as constructors, or flat.

Calls stand beside the content, once more inside it for some providers, and in `additional_kwargs` in older
dumps. A call with broken arguments is a call all the same. A message that a `RemoveMessage` behind it names
is left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from turnledger.domain.messages import ROLES
from turnledger.importing import signed
from turnledger.importing.langchain_calls import CALL_TYPES, calls_of
from turnledger.importing.pairing import Unanswered, given_id
from turnledger.importing.reading import Format, Read
from turnledger.importing.steps import Step
from turnledger.projections.parts import part_of
from turnledger.projections.providers.keeping import ERROR_KEY
from turnledger.projections.providers.openai_chat import ROLE_KEY

NAME = "langchain"
_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}
_KINDS = (*_ROLES, "chat", "remove")
_ALONE = ("human", "ai", "remove")  # kinds that no other format has
_DUMPED = ("additional_kwargs", "response_metadata", "tool_call_id")
_CARRIED = ("type", "role", "content", "tool_calls", "tool_call_id", "name", "additional_kwargs")
_ALL = "__remove_all__"
_DEVELOPER = "__openai_role__"


class Dumped(NamedTuple):
    """A dumped message: which kind of message it is, and what it holds."""

    kind: str
    data: Mapping[str, Any]


def read(messages: Sequence[Any], start: int = 0) -> Iterator[Read]:
    """The messages from `start` on, to be appended; what is none of LangChain's goes on as it is."""
    unanswered = Unanswered()
    removed = removed_from(messages)
    for index, message in enumerate(messages):
        dumped = dumped_as(message)
        found = [Read(message, index)] if dumped is None else []
        if dumped and dumped.kind != "remove" and index not in removed:
            found = list(_read(dumped, index, unanswered))
        if index >= start:
            yield from found


def dumped_as(message: Any) -> Dumped | None:
    """The message in one of the three shapes; None where it is in none of them."""
    if not isinstance(message, Mapping):
        return None
    kind, name, data = message.get("type"), message.get("id"), message.get("data")
    if kind == "constructor" and isinstance(name, list) and name:
        kind, data = _kind(str(name[-1])), message.get("kwargs")
    elif not isinstance(data, Mapping):
        data = message if "content" in message else None
    kind = _kind(kind) if isinstance(kind, str) else ""
    return Dumped(kind, data) if kind in _KINDS and isinstance(data, Mapping) else None


def _kind(name: str) -> str:
    """The kind of a class by its name, and of a piece of a message that was streamed."""
    return name.removesuffix("Chunk").removesuffix("Message").lower()


def removed_from(messages: Sequence[Any]) -> set[int]:
    """The places of the messages that another behind them removes."""
    removed: set[int] = set()
    places: dict[str, int] = {}
    for index, message in enumerate(messages):
        dumped = dumped_as(message)
        name = dumped.data.get("id") if dumped else None
        if dumped is None or not isinstance(name, str):
            continue
        if dumped.kind == "remove":
            removed |= set(range(index)) if name == _ALL else {places.get(name, index)}
        places[name] = index
    return removed


def _read(dumped: Dumped, index: int, unanswered: Unanswered) -> Iterator[Read]:
    data, role = dumped.data, role_of(dumped)
    step = Step(NAME, index, role, _known(dumped))
    for place, block in enumerate(_blocks(data.get("content"))):
        _take(step, place, block)
    if role == "assistant":
        for place, call in enumerate(calls_of(data)):
            call_id = unanswered.declare(index, place, call.name, call.call_id)
            step.call(None, call_id, call.name, call.arguments)
    for read in step.reads():
        yield Read(_told(read.message, dumped, role, unanswered), index)


def role_of(dumped: Dumped) -> str:
    given = dumped.data.get("role") if dumped.kind == "chat" else None
    role = _ROLES.get(given, given) if isinstance(given, str) else None
    return role if role in ROLES else _ROLES.get(dumped.kind, "user")


def _known(dumped: Dumped) -> dict[str, Any]:
    """What a message holds beyond our shape, and what is not empty."""
    kept = {key: value for key, value in dumped.data.items() if key not in _CARRIED}
    beside = dumped.data.get("additional_kwargs")
    if isinstance(beside, Mapping):
        doubled = ("tool_calls", "function_call")
        kept["additional_kwargs"] = {key: value for key, value in beside.items() if key not in doubled}
    if dumped.kind not in ("ai", "human", "system", "tool"):
        kept |= {"type": dumped.kind, "role": dumped.data.get("role")}
    return {key: value for key, value in kept.items() if value not in (None, "", {}, [])}


def _blocks(content: Any) -> list[Any]:
    blocks = content if isinstance(content, list) else [] if content in (None, "") else [content]
    return [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]


def _take(step: Step, place: int, block: Any) -> None:
    kind = block.get("type") if isinstance(block, Mapping) else None
    part = part_of(block)
    if kind in CALL_TYPES and step.role == "assistant":
        return
    if part is not None and part.kind == "reasoning" and step.role == "assistant":
        step.think(place, block, signed.of_langchain(block))
    elif part is None or part.kind == "reasoning":
        step.keep(place, block)
    else:
        step.say(place, block, block, ("type", "text") if part.kind == "text" else block)


def _told(message: dict[str, Any], dumped: Dumped, role: str, unanswered: Unanswered) -> dict[str, Any]:
    """The message with its name, and a result with the id of the call that it answers."""
    data, metadata = dumped.data, message.pop("metadata", {})
    name, beside = data.get("name"), data.get("additional_kwargs")
    if isinstance(name, str) and name:
        message["name"] = name
    if role == "tool":
        message["tool_call_id"] = unanswered.answer(name, given_id(data.get("tool_call_id")))
        metadata |= {ERROR_KEY: True} if data.get("status") == "error" else {}
    if role == "system" and isinstance(beside, Mapping) and beside.get(_DEVELOPER) == "developer":
        metadata[ROLE_KEY] = "developer"
    return message | ({"metadata": metadata} if metadata else {})


def marks(message: Mapping[str, Any]) -> bool:
    dumped = dumped_as(message)
    if dumped is None or dumped.data is not message:
        return dumped is not None
    return dumped.kind in _ALONE or not message.keys().isdisjoint(_DUMPED)


FORMAT = Format(NAME, read, marks)
