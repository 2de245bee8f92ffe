"""Messages of LlamaIndex as entries, and back: what is given comes back as it was.

Pure. A message is kept whole in the metadata of its entry. A call without an id, as some models make them, is
given one, and the results without an id are those of such calls, in their order.
"""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import uuid4

from pydantic_core import to_jsonable_python

from turnledger.adapters.arranged import ids_of
from turnledger.adapters.extras import extra
from turnledger.domain.messages import (
    PLACEHOLDER_TEXT,
    arguments_of_call,
    call_id,
    id_of_call,
    name_of_call,
)
from turnledger.projections.buffer import Entry

with extra("llama-index"):
    from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock, ToolCallBlock

KEPT = "llama-index"
_MADE = "no-id-"
_ROLES = {"chatbot": "assistant", "model": "assistant", "function": "tool"}
_RESULT_KEY, _CALLS_KEY = "tool_call_id", "tool_calls"


def plain(message: ChatMessage) -> dict[str, Any]:
    return dict(to_jsonable_python(message.model_dump(mode="json"), serialize_unknown=True))


def as_entries(messages: Iterable[ChatMessage], known: Sequence[Entry] = ()) -> list[dict[str, Any]]:
    """Messages to append, each with the given one in its metadata; `known` is what may wait for a result."""
    answered = {entry.metadata.get(_RESULT_KEY) for entry in known if entry.role == "tool"}
    declared = [name for entry in known for name in ids_of(entry)]
    waiting = [name for name in declared if name.startswith(_MADE) and name not in answered]
    found = []
    for message in messages:
        entry = _entry_of(message)
        if entry["role"] == "tool" and not entry[_RESULT_KEY] and waiting:
            entry[_RESULT_KEY] = waiting.pop(0)
        names = [str(call.get(_RESULT_KEY)) for call in entry.get(_CALLS_KEY, ())]
        waiting += [name for name in names if name.startswith(_MADE)]
        found.append(entry)
    return found


def _entry_of(message: ChatMessage) -> dict[str, Any]:
    whole, role = plain(message), _ROLES.get(message.role.value, message.role.value)
    entry: dict[str, Any] = {"role": role, "content": _said(message), "metadata": {KEPT: whole}}
    if role == "assistant" and (calls := _calls(message, whole)):
        entry[_CALLS_KEY] = calls
    if role == "tool":
        entry[_RESULT_KEY] = result_id_of(message)
        if entry["content"] == PLACEHOLDER_TEXT:  # what was only made for a reading, given back
            entry["metadata"] = {"healed": True}
    return entry


def result_id_of(message: ChatMessage) -> str | None:
    """The id of the call that a message answers, "" for one without; None where it is no result."""
    if _ROLES.get(message.role.value, message.role.value) != "tool":
        return None
    return call_id(message.additional_kwargs.get(_RESULT_KEY)) or ""


def has_calls(message: ChatMessage) -> bool:
    return bool(call_ids_of(message) or message.additional_kwargs.get(_CALLS_KEY))


def call_ids_of(message: ChatMessage) -> list[str]:
    """The ids of the calls in a message's blocks, "" for one without."""
    return [block.tool_call_id or "" for block in message.blocks if isinstance(block, ToolCallBlock)]


def _calls(message: ChatMessage, whole: dict[str, Any]) -> list[Any]:
    """The calls of the blocks, or, where those have none, of the arguments beside them."""
    found = [
        {
            _RESULT_KEY: call_id(block.tool_call_id) or f"{_MADE}{uuid4().hex}",
            "name": block.tool_name,
            "arguments": block.tool_kwargs,
        }
        for block in message.blocks
        if isinstance(block, ToolCallBlock)
    ]
    beside = whole["additional_kwargs"].get(_CALLS_KEY)
    if found or not isinstance(beside, list):
        return found
    return [call for call in beside if isinstance(call, dict)]


def _said(message: ChatMessage) -> Any:
    """The texts as one, or texts and pictures as parts; what else there is stands in the kept message."""
    parts: list[dict[str, Any]] = []
    for block in message.blocks:
        if isinstance(block, TextBlock) and block.text:
            parts.append({"type": "text", "text": block.text})
        elif isinstance(block, ImageBlock) and block.url:
            parts.append({"type": "image_url", "image_url": {"url": str(block.url)}})
    if all(part["type"] == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return parts


def as_message(entry: Entry) -> ChatMessage:
    """The message that an entry is: as it was given, with the ids that its calls turned out to have."""
    kept = entry.metadata.get(KEPT)
    if kept is None:
        return _made(entry)
    message = ChatMessage.model_validate(kept)
    if entry.role == "tool":
        message.additional_kwargs[_RESULT_KEY] = entry.metadata[_RESULT_KEY]
    calls = entry.metadata.get(_CALLS_KEY, ())
    blocks = [block for block in message.blocks if isinstance(block, ToolCallBlock)]
    for call, block in zip(calls, blocks, strict=False):
        block.tool_call_id = id_of_call(call)
    renamed = {call["original_id"]: id_of_call(call) for call in calls if "original_id" in call}
    for call in message.additional_kwargs.get(_CALLS_KEY) or ():
        if isinstance(call, dict) and call.get("id") in renamed:
            call["id"] = renamed[call["id"]]
    return message


def _made(entry: Entry) -> ChatMessage:
    """A message of an entry that came from elsewhere: a placeholder, another client's."""
    text = entry.content if isinstance(entry.content, str) else str(entry.content)
    beside = {_RESULT_KEY: entry.metadata[_RESULT_KEY]} if entry.role == "tool" else {}
    message = ChatMessage(role=entry.role, content=text, additional_kwargs=beside)
    for call in entry.metadata.get(_CALLS_KEY, ()):
        named = {"tool_call_id": id_of_call(call), "tool_name": name_of_call(call)}
        message.blocks.append(ToolCallBlock(**named, tool_kwargs=arguments_of_call(call) or {}))
    return message
