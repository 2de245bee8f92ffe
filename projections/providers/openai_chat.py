"""The sendable list as OpenAI chat messages: `chat.completions.create(**request)`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from turnledger.domain.messages import id_of_call
from turnledger.domain.pairing import Call, Item
from turnledger.projections.parts import Part, data_url, part_of, parts_of
from turnledger.projections.providers.arguments import arguments_json
from turnledger.projections.providers.naming import call_ids, fitting_name
from turnledger.projections.providers.openai_chat_parts import CHAT_PARTS
from turnledger.projections.providers.shapes import fitting
from turnledger.projections.providers.table import spelled

NAME = "openai-chat"
RENDERING = 1  # another number whenever the same events come to be rendered in another way
ROLE_KEY, PARTS_KEY = "openai_role", "parts"
IDS = ".{1,40}"
_SOUNDS = {"audio/wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


def rendered(items: list[Item]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The messages, with arguments as JSON text, and the keyword arguments of one request."""
    ids = call_ids(items, IDS, lambda digits: f"call_{digits[:24]}")
    messages = [message_of(item, ids) for item in items]
    return messages, {"messages": messages}


def message_of(item: Item, ids: Mapping[str, str]) -> dict[str, Any]:
    """One item, with the ids that are sent."""
    message: dict[str, Any] = {"role": role_of(item), "content": _content(item)}
    if item.name is not None:
        message["name"] = fitting_name(item.name, r"[\s<|\\/>]", 64)
    if item.role == "assistant":
        message |= _said_otherwise(item.metadata)
    if item.calls:
        message["tool_calls"] = [_call(call, item, ids) for call in item.calls]
    if item.call_id is not None:
        message["tool_call_id"] = ids[item.call_id]
    return message


def role_of(item: Item) -> str:
    """A system message that was imported from role `developer` goes back as that."""
    told = item.role == "system" and item.metadata.get(ROLE_KEY) == "developer"
    return "developer" if told else item.role


def _content(item: Item) -> Any:
    """Content parts as OpenAI spells them; text, and what is no list of parts, as text."""
    known = item.metadata.get(NAME)
    kept = known.get(PARTS_KEY) if isinstance(known, Mapping) else None
    content = kept if isinstance(kept, list) and isinstance(item.content, str) else item.content
    if isinstance(content, str) or parts_of(content) is None:
        return item.text
    return spelled(replace(item, content=content), NAME, _spell) or ""


def _said_otherwise(metadata: Mapping[Any, Any]) -> dict[str, Any]:
    """A refusal, and the audio that the client may refer to."""
    refusal, audio = metadata.get("refusal"), metadata.get("audio")
    said: dict[str, Any] = {"refusal": refusal} if isinstance(refusal, str) else {}
    if isinstance(audio, Mapping) and isinstance(audio.get("id"), str):
        said["audio"] = {"id": audio["id"]}
    return said


def _call(call: Call, item: Item, ids: Mapping[str, str]) -> dict[str, Any]:
    name = fitting_name(call.name, "[^a-zA-Z0-9_-]", 64)
    if is_custom(call, item) and isinstance(call.arguments, str):
        return {"id": ids[call.call_id], "type": "custom", "custom": {"name": name, "input": call.arguments}}
    function = {"name": name, "arguments": arguments_json(call.arguments)}
    return {"id": ids[call.call_id], "type": "function", "function": function}


def is_custom(call: Call, item: Item) -> bool:
    """Whether the call is one of OpenAI's that take text and no JSON."""
    given = item.metadata.get("tool_calls")
    return isinstance(given, list) and any(
        isinstance(one, Mapping) and one.get("type") == "custom" and id_of_call(one) == call.call_id
        for one in given
    )


def _spell(part: Part) -> dict[str, Any] | None:
    """A part in OpenAI's words, None where it has none."""
    own: dict[str, Any] | None = fitting(part.given, CHAT_PARTS)
    if own is not None and part_of(own):
        return own
    if part.kind == "text":
        return {"type": "text", "text": part.text}
    if part.kind == "image":
        url = data_url(part)
        return {"type": "image_url", "image_url": {"url": url}} if url else None
    if part.kind == "audio" and part.data is not None and part.mime in _SOUNDS:
        return {"type": "input_audio", "input_audio": {"data": part.data, "format": _SOUNDS[part.mime]}}
    if part.kind == "document" and part.data is not None and part.mime:
        return {"type": "file", "file": {"file_data": data_url(part), "filename": part.name or "document"}}
    return None
