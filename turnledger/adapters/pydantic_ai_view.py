"""Messages of Pydantic AI as the store reads them, and the healed list as messages of Pydantic AI again.

What the store appends of an entry names the entry and the parts that it was made of, so that the way back
needs no second rendering: the parts themselves, in the order and with the ids that MEM-5 gives them.

What came into the buffer by another way (a summary, a message of the core's, a placeholder) is a part with
the time of its entry there. By that, its kind and its text it is known again when it is saved, also in a
message that the library merged: an entry of the library's tells it then, and the buffer has it once.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from turnledger.adapters.extras import extra
from turnledger.domain.pairing import Item, coerced_content
from turnledger.domain.values import json_text
from turnledger.importing.formats import FORMATS
from turnledger.importing.pydantic_ai_requests import NAME
from turnledger.projections.buffer import Entry
from turnledger.projections.sendable import normalized_items

with extra("pydantic-ai"):
    from pydantic_ai.messages import (
        ModelMessage,
        ModelRequest,
        ModelResponse,
        SystemPromptPart,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )

FROM_KEY = "pydantic-ai-entry"
SYNTHESIZED_KEY = "pydantic_ai_synthesized_tool_return"

_ROLES: dict[Any, str] = {UserPromptPart: "user", SystemPromptPart: "system", ToolReturnPart: "tool"}

Dumped = Mapping[str, Any]


def as_stored(entries: Sequence[tuple[str, Dumped]], instructions: str | None) -> list[dict[str, Any]]:
    """The messages of entries (id, dumped message) behind a history that had these instructions last."""
    before = [{"kind": "request", "parts": [], "instructions": instructions}] if instructions else []
    given = [*before, *(message for _, message in entries)]
    stored = []
    for read in FORMATS[NAME].read(given, len(before)):
        entry_id, message = entries[read.index - len(before)]
        parts = [message["parts"][place] for place in read.blocks]
        metadata = read.message.setdefault("metadata", {})
        metadata[FROM_KEY] = {"id": entry_id, "parts": list(read.blocks)}
        if any(_is_synthesized(part) for part in parts):
            metadata["healed"] = True
        stored.append(read.message)
    return stored


def last_instructions(messages: Iterable[Dumped], before: str | None = None) -> str | None:
    """The instructions that a history has last."""
    for message in messages:
        before = message.get("instructions") or before
    return before


def entry_of(metadata: Mapping[str, Any]) -> str | None:
    """The id of the entry that a stored message was made of."""
    found = metadata.get(FROM_KEY)
    return found["id"] if isinstance(found, Mapping) else None


def _is_synthesized(part: Any) -> bool:
    metadata = part.get("metadata")
    return isinstance(metadata, Mapping) and metadata.get(SYNTHESIZED_KEY) is True


@dataclass(slots=True)
class _Said:
    """A message on its way: parts of one entry's message by their places, or parts of none's."""

    source: str | None
    message: ModelMessage
    parts: dict[int, Any]


Key = tuple[str, datetime, str]  # kind, time and text of what came by another way
Places = tuple[str, tuple[int, ...]]  # an entry of the library's and parts of its message


def told_by(buffer: Sequence[Entry], messages: Mapping[str, ModelMessage]) -> dict[int, Places]:
    """Which entries of the buffer that came by another way are told by these messages, and by which parts."""
    told: dict[Key, Places] = {}
    for entry_id, message in messages.items():
        for key, places in _keys(message):
            told.setdefault(key, (entry_id, places))
    keys = ((entry.number, _key(entry)) for entry in buffer)
    return {number: told[key] for number, key in keys if key in told}


def _key(entry: Entry) -> Key:
    return (entry.role, entry.time, coerced_content(entry.content))


def _keys(message: ModelMessage) -> Iterable[tuple[Key, tuple[int, ...]]]:
    if isinstance(message, ModelResponse):
        text = "".join(part.content for part in message.parts if isinstance(part, TextPart))
        yield ("assistant", message.timestamp, text), tuple(range(len(message.parts)))
        return
    for place, part in enumerate(message.parts):
        role = _ROLES.get(type(part))
        if role is not None and isinstance(part.content, str):
            yield (role, part.timestamp, part.content), (place,)


def healed(buffer: Sequence[Entry], messages: Mapping[str, ModelMessage]) -> list[ModelMessage]:
    """The buffer as MEM-5 sends it, in the parts of these messages (by entry).

    What was put in, and a summary that stands for what was compacted, are parts of their own. A message that
    stayed as it was comes back as it was, so that saving it again stores nothing.
    """
    found: list[_Said] = []
    names: dict[str, str] = {}
    known = told_by(buffer, messages)
    for item in normalized_items([entry.stored for entry in buffer])[0]:
        names |= {call.call_id: call.name for call in item.calls}
        told = item.metadata.get(FROM_KEY)
        is_placeholder = item.healed and not item.metadata  # of this moment: no entry of the buffer
        entry = None if is_placeholder else buffer[item.index]
        if told is not None and told["id"] in messages:
            message = messages[told["id"]]
            parts = _parts(item, {place: message.parts[place] for place in told["parts"]})
            _say(found, told["id"], message, parts)
        elif told is None or told["parts"]:  # not the instructions of an entry
            put_in = _put_in(item, names, entry)
            source, places = known.get(entry.number, (None, ())) if entry else (None, ())
            parts = {place: messages[source].parts[place] for place in places} if source else {}
            if source and _are_same(list(parts.values()), put_in.parts):
                _say(found, source, messages[source], parts)
            else:
                _say(found, None, put_in, {})
    return [replace(one.message, parts=[one.parts[place] for place in sorted(one.parts)]) for one in found]


def _are_same(kept: Sequence[Any], put_in: Sequence[Any]) -> bool:
    """Whether parts say the same calls, or answer the same one; the rest is in their key."""
    ids = [[getattr(part, "tool_call_id", None) for part in parts] for parts in (kept, put_in)]
    return ids[0] == ids[1]


def _say(found: list[_Said], source: str | None, message: ModelMessage, parts: dict[int, Any]) -> None:
    if source is None:
        found.append(_Said(None, message, dict(enumerate(message.parts))))
    elif parts and found and found[-1].source == source:
        found[-1].parts |= parts
    elif parts:
        found.append(_Said(source, message, parts))


def _put_in(item: Item, names: Mapping[str, str], entry: Entry | None) -> ModelMessage:
    """What no entry of the library's holds, as a message: a placeholder, a summary, one of the core's."""
    at = {} if entry is None else {"timestamp": entry.time}
    if item.role == "assistant":
        said = [TextPart(item.text)] if item.text or not item.calls else []
        calls = [ToolCallPart(one.name, _arguments(one.arguments), one.call_id) for one in item.calls]
        # with a provider's name it is not merged with its neighbour
        return ModelResponse(parts=[*said, *calls], provider_name="turnledger", **at)
    if item.role != "tool" or item.call_id is None:
        prompt = UserPromptPart if item.role == "user" else SystemPromptPart
        return ModelRequest(parts=[prompt(item.text, **at)])
    result = ToolReturnPart(
        tool_name=names.get(item.call_id, ""),
        content=item.text,
        tool_call_id=item.call_id,
        outcome="interrupted" if item.healed else "success",
        metadata={SYNTHESIZED_KEY: True} if item.healed else None,
        **at,
    )
    return ModelRequest(parts=[result])


def _arguments(given: Any) -> Any:
    """As the library takes them: a map or text."""
    return given if given is None or isinstance(given, str | dict) else json_text(given)


def _parts(item: Item, parts: Mapping[int, Any]) -> dict[int, Any]:
    """The parts with the ids that the item has; without a call that it lost."""
    if item.role == "tool":
        return {place: replace(part, tool_call_id=item.call_id) for place, part in parts.items()}
    left = {call.call_id for call in item.calls}
    declared = [call.get("tool_call_id") for call in item.metadata.get("tool_calls", ())]
    called = [place for place, part in sorted(parts.items()) if isinstance(part, ToolCallPart)]
    ids = dict(zip(called, declared, strict=True))
    return {
        place: replace(part, tool_call_id=ids[place]) if place in ids else part
        for place, part in parts.items()
        if place not in ids or ids[place] in left
    }
