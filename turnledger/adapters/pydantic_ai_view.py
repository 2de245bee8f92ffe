"""Messages of Pydantic AI as the store reads them, and the healed list as messages of Pydantic AI again.

What the store appends of an entry names the entry and the parts that it was made of, so that the way back
needs no second rendering: the parts themselves, in the order and with the ids that MEM-5 gives them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart

from turnledger.domain.pairing import Item
from turnledger.importing.formats import FORMATS
from turnledger.importing.pydantic_ai_requests import NAME
from turnledger.projections.sendable import normalized_items

FROM_KEY = "pydantic-ai-entry"
SYNTHESIZED_KEY = "pydantic_ai_synthesized_tool_return"

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


def healed(buffer: Sequence[Mapping[str, Any]], messages: Mapping[str, ModelMessage]) -> list[ModelMessage]:
    """The buffer as MEM-5 sends it, in the parts of these messages (by entry), and no others."""
    found: list[ModelMessage] = []
    names: dict[str, str] = {}
    for item in normalized_items(buffer)[0]:
        names |= {call.call_id: call.name for call in item.calls}
        told = item.metadata.get(FROM_KEY)
        message = messages.get(told["id"]) if told else None
        if message is not None and told:
            _say(found, message, _parts(item, [message.parts[place] for place in told["parts"]]))
        elif item.healed and item.call_id is not None:
            _say(found, ModelRequest(parts=[]), [_placeholder(item.call_id, item.text, names)])
    return found


def _placeholder(call_id: str, text: str, names: Mapping[str, str]) -> ToolReturnPart[Any]:
    return ToolReturnPart(
        tool_name=names.get(call_id, ""),
        content=text,
        tool_call_id=call_id,
        outcome="interrupted",
        metadata={SYNTHESIZED_KEY: True},
    )


def _parts(item: Item, parts: Iterable[Any]) -> list[Any]:
    """The parts with the ids that the item has; without a call that it lost."""
    if item.role == "tool":
        return [replace(part, tool_call_id=item.call_id) for part in parts]
    left = {call.call_id for call in item.calls}
    ids = {
        call.get("original_id") or call["tool_call_id"]: call["tool_call_id"]
        for call in item.metadata.get("tool_calls", ())
        if call.get("tool_call_id") in left
    }
    return [
        replace(part, tool_call_id=ids[part.tool_call_id]) if isinstance(part, ToolCallPart) else part
        for part in parts
        if not isinstance(part, ToolCallPart) or part.tool_call_id in ids
    ]


def _say(found: list[ModelMessage], message: ModelMessage, parts: list[Any]) -> None:
    """Adds parts of a message; requests that follow one another are one, as the library joins them."""
    last = found[-1] if found else None
    if not parts:
        return
    if isinstance(message, ModelRequest) and isinstance(last, ModelRequest):
        told = message.instructions or last.instructions
        found[-1] = replace(last, parts=[*last.parts, *parts], instructions=told)
    elif isinstance(message, ModelRequest | ModelResponse):
        found.append(replace(message, parts=parts))
