"""Messages of Pydantic AI as the store reads them, and the healed list as messages of Pydantic AI again.

What the store appends of an entry names the entry and the parts that it was made of, so that the way back
needs no second rendering: the parts themselves, in the order and with the ids that MEM-5 gives them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from turnledger.adapters.extras import extra
from turnledger.domain.pairing import Item
from turnledger.importing.formats import FORMATS
from turnledger.importing.pydantic_ai_requests import NAME
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


def healed(buffer: Sequence[Mapping[str, Any]], messages: Mapping[str, ModelMessage]) -> list[ModelMessage]:
    """The buffer as MEM-5 sends it, in the parts of these messages (by entry).

    What was put in, and a summary that stands for what was compacted, are parts of their own. A message that
    stayed as it was comes back as it was, so that saving it again stores nothing.
    """
    found: list[_Said] = []
    names: dict[str, str] = {}
    for item in normalized_items(buffer)[0]:
        names |= {call.call_id: call.name for call in item.calls}
        told = item.metadata.get(FROM_KEY)
        if told is None:
            _say(found, None, _put_in(item, names), {})
        elif told["id"] in messages:
            message = messages[told["id"]]
            parts = _parts(item, {place: message.parts[place] for place in told["parts"]})
            _say(found, told["id"], message, parts)
    return [replace(one.message, parts=[one.parts[place] for place in sorted(one.parts)]) for one in found]


def _say(found: list[_Said], source: str | None, message: ModelMessage, parts: dict[int, Any]) -> None:
    if source is None:
        found.append(_Said(None, message, dict(enumerate(message.parts))))
    elif parts and found and found[-1].source == source:
        found[-1].parts |= parts
    elif parts:
        found.append(_Said(source, message, parts))


def _put_in(item: Item, names: Mapping[str, str]) -> ModelMessage:
    """What no entry holds, as a message: a placeholder, a summary."""
    if item.role == "assistant":
        return ModelResponse(parts=[TextPart(item.text)])
    if item.role != "tool" or item.call_id is None:
        part = UserPromptPart(item.text) if item.role == "user" else SystemPromptPart(item.text)
        return ModelRequest(parts=[part])
    result = ToolReturnPart(
        tool_name=names.get(item.call_id, ""),
        content=item.text,
        tool_call_id=item.call_id,
        outcome="interrupted" if item.healed else "success",
        metadata={SYNTHESIZED_KEY: True} if item.healed else None,
    )
    return ModelRequest(parts=[result])


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
