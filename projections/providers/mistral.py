"""The sendable list as Mistral's chat messages: `chat.complete(**request)`.

After results only the assistant may speak: where the user does, a word of the assistant's stands between. An
assistant that says nothing is left out. Chunks that another shape has no words for (thinking with its
signature, references) were kept by the importing under the provider's name, and go back as they were.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from turnledger.domain.messages import SYSTEM_ROLES
from turnledger.domain.pairing import Call, Item
from turnledger.domain.values import copied
from turnledger.projections.parts import Part, data_url, parts_of
from turnledger.projections.providers.arguments import arguments_json
from turnledger.projections.providers.mistral_chunks import CHUNKS, SYSTEM_CHUNKS, sendable_chunks
from turnledger.projections.providers.naming import call_ids, fitting_name
from turnledger.projections.providers.shapes import fitting
from turnledger.projections.providers.table import spelled

NAME = "mistral"
RENDERING = 1  # another number whenever the same events come to be rendered in another way
CHUNKS_KEY, PREFIX_KEY = "chunks", "prefix"
BRIDGE_TEXT = "(The user goes on.)"
IDS = "[a-zA-Z0-9]{9}"

Chunk = dict[str, Any]


def rendered(items: list[Item]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The messages, and the keyword arguments of one request (beside the model)."""
    ids = call_ids(items, IDS, lambda digits: digits[:9])
    messages = list(_bridged(message_of(item, ids) for item in items))
    if items and messages and _asks_for_the_rest(items[-1], messages[-1]):
        messages[-1] = {**messages[-1], PREFIX_KEY: True}
    return messages, {"messages": messages}


def _bridged(messages: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    before = None
    for message in messages:
        if message["role"] == "assistant" and not message["content"] and "tool_calls" not in message:
            continue
        if (before, message["role"]) == ("tool", "user"):
            yield {"role": "assistant", "content": BRIDGE_TEXT}
        yield message
        before = message["role"]


def _asks_for_the_rest(item: Item, message: Mapping[str, Any]) -> bool:
    """Whether the answer is to begin with this message: true of the last one alone."""
    wanted = item.role == "assistant" and not item.calls and bool(content_of(item))
    return wanted and message["role"] == "assistant" and _kept(item.metadata).get(PREFIX_KEY) is True


def message_of(item: Item, ids: Mapping[str, str]) -> dict[str, Any]:
    """One item, with the ids that are sent."""
    role = "system" if item.role in SYSTEM_ROLES else item.role
    message: dict[str, Any] = {"role": role, "content": content_of(item)}
    if item.calls:
        message["tool_calls"] = [_call(call, ids) for call in item.calls]
    if item.call_id is not None:
        named = {"name": fitting_name(item.name, "[^a-zA-Z0-9_-]", 64)} if item.name else {}
        message |= {**named, "tool_call_id": ids[item.call_id]}
    return message


def content_of(item: Item) -> Any:
    """A text, or chunks where the content is in parts."""
    role = "system" if item.role in SYSTEM_ROLES else item.role
    kept = _kept(item.metadata).get(CHUNKS_KEY)
    own = SYSTEM_CHUNKS if role == "system" else CHUNKS
    if isinstance(kept, list) and (chunks := sendable_chunks(copied(kept), own)):
        return chunks
    if isinstance(item.content, str) or parts_of(item.content) is None:
        return item.text
    return spelled(replace(item, role=role), NAME, _spell) or ""


def _kept(metadata: Mapping[Any, Any]) -> Mapping[str, Any]:
    known = metadata.get(NAME)
    return known if isinstance(known, Mapping) else {}


def _call(call: Call, ids: Mapping[str, str]) -> dict[str, Any]:
    name = fitting_name(call.name, "[^a-zA-Z0-9_-]", 64)
    function = {"name": name, "arguments": arguments_json(call.arguments)}
    return {"id": ids[call.call_id], "type": "function", "function": function}


def _spell(part: Part) -> Chunk | None:
    """A part in Mistral's words, None where it has none."""
    own: Chunk | None = fitting(part.given, CHUNKS)
    if own is not None:
        return own
    if part.kind == "text":
        return {"type": "text", "text": part.text}
    url = data_url(part)
    if part.kind == "image" and url:
        return {"type": "image_url", "image_url": url}
    if part.kind == "audio" and (part.data or url):
        return {"type": "input_audio", "input_audio": part.data or url}
    if part.kind == "document" and url:
        named = {"document_name": part.name} if part.name else {}
        return {"type": "document_url", "document_url": url, **named}
    return None
