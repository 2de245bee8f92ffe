"""LangChain's messages as entries, and back: what is given comes back as it was, ids and kwargs and all.

A message is kept whole in the metadata of its entry, and read by the same code as an imported one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any
from uuid import uuid4

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from turnledger.adapters.extras import extra
from turnledger.domain.messages import (
    PLACEHOLDER_TEXT,
    arguments_of_call,
    call_id,
    id_of_call,
    name_of_call,
)
from turnledger.domain.pairing import coerced_content
from turnledger.domain.values import LEVELS_MAX
from turnledger.importing import read_messages
from turnledger.projections.buffer import Entry
from turnledger.projections.media import base64_text
from turnledger.projections.providers.arguments import arguments_map
from turnledger.projections.sendable import normalize

with extra("langchain"):
    from langchain_core.messages import (
        AIMessage,
        BaseMessage,
        HumanMessage,
        SystemMessage,
        ToolMessage,
        message_to_dict,
        messages_from_dict,
    )

FORMAT, KEPT = "langchain", "langchain.message"
ARTIFACT_LEVELS_MAX = 50
HEALED, MADE = "turnledger-healed-", "turnledger-entry-"  # ids of messages that are made here
_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}


def plain(message: BaseMessage) -> dict[str, Any]:
    """The message as JSON holds it; bytes are base64 text."""
    artifact = getattr(message, "artifact", None)
    if artifact is None:
        return dict(_jsonable(message_to_dict(message)))
    found = dict(_jsonable(message_to_dict(message.model_copy(update={"artifact": None}))))
    found["data"]["artifact"] = _plain_artifact(artifact)
    return found


def _plain_artifact(artifact: Any) -> Any:
    """Whatever a tool gave, in JSON's words: the tool has run, and its result is not lost for an artifact."""
    try:
        return _jsonable(artifact, ARTIFACT_LEVELS_MAX)
    except Exception:  # of the tool's own classes
        return f"<{type(artifact).__name__}>"


def _jsonable(value: Any, levels: int = LEVELS_MAX) -> Any:
    return to_jsonable_python(_without_bytes(value, levels), serialize_unknown=True, bytes_mode="base64")


def _without_bytes(value: Any, levels: int, above: tuple[int, ...] = ()) -> Any:
    """The value with base64 text for bytes, and without what is inside itself or too deep."""
    if isinstance(value, bytes | bytearray | memoryview):
        return base64_text(value)
    if isinstance(value, BaseModel):
        value = value.model_dump()
    elif is_dataclass(value) and not isinstance(value, type):
        value = {one.name: getattr(value, one.name) for one in fields(value)}
    if not isinstance(value, Mapping | list | tuple | set | frozenset):
        return value
    if id(value) in above or len(above) >= levels:
        return "..."
    inner = (*above, id(value))
    if isinstance(value, Mapping):
        return {
            _without_bytes(key, levels) if isinstance(key, bytes) else key: _without_bytes(one, levels, inner)
            for key, one in value.items()
        }
    return [_without_bytes(one, levels, inner) for one in value]


def entry_of(message: BaseMessage) -> dict[str, Any]:
    """A message to append, with the given one in its metadata; a call without an id is given one."""
    whole = plain(with_ids(message, [usable_id(call) for call in calls_of(message)]))
    [read] = read_messages([whole], format=FORMAT)
    metadata = {key: value for key, value in read.get("metadata", {}).items() if key != FORMAT}
    return {**read, "metadata": {**metadata, KEPT: whole}}


def as_messages(entries: Iterable[Entry]) -> list[BaseMessage]:
    """The messages that entries are: as they were given, with the ids that their calls turned out to have."""
    return [as_message(entry) for entry in entries]


def ids_of(entries: Sequence[Entry]) -> set[str]:
    """The ids that the messages of entries were given with, those of imported ones too."""
    kept = [entry.metadata.get(KEPT) or {} for entry in entries]
    imported = [entry.metadata.get(FORMAT) for entry in entries]
    found = [whole.get("data", {}).get("id") for whole in kept]
    found += [known.get("id") for known in imported if isinstance(known, dict)]
    return {one for one in found if isinstance(one, str) and one}


def as_message(entry: Entry) -> BaseMessage:
    kept = entry.metadata.get(KEPT)
    if kept is None:
        return _made(entry)
    message: BaseMessage
    [message] = messages_from_dict([kept])
    if isinstance(message, ToolMessage):
        message.tool_call_id = entry.metadata.get("tool_call_id") or message.tool_call_id
        return message
    declared = entry.metadata.get("tool_calls") or []
    if len(declared) == len(calls_of(message)):
        message = with_ids(message, [call["tool_call_id"] for call in declared])
    return message


def usable_id(call: Mapping[str, Any]) -> str:
    """The id of a call, or a new one: some models give none, and nothing could answer it then."""
    return call_id(call["id"]) or f"call-{uuid4().hex}"


def with_ids(message: Any, own: Sequence[str]) -> Any:
    """The message with these ids for its calls, in their order, wherever a provider's package has them.

    One id may stand for several calls of a message: elsewhere than in its calls they are told by their order.
    """
    given = [call["id"] for call in calls_of(message)]
    if given == list(own):
        return message
    found = message.model_copy(deep=True)
    for call, name in zip(calls_of(found), own, strict=True):
        call["id"] = name
    blocks = found.content if isinstance(found.content, list) else ()
    for listed in (found.additional_kwargs.get("tool_calls") or (), blocks):
        _rename(listed, list(zip(given, own, strict=True)))
    return found


def _rename(listed: Iterable[Any], renamed: list[tuple[Any, str]]) -> None:
    for call in listed:
        if not isinstance(call, dict):
            continue
        for key in ("call_id", "id"):
            place = next(
                (n for n, (given, _) in enumerate(renamed) if key in call and given == call[key]), None
            )
            if place is not None:
                call[key] = renamed.pop(place)[1]
                break


def _made(entry: Entry) -> BaseMessage:
    """A message of an entry that came from elsewhere: a placeholder, a summary, another client's."""
    content = _made_content(entry.content)
    name = f"{MADE}{entry.number}"
    if entry.role == "tool":
        return ToolMessage(content, tool_call_id=entry.metadata.get("tool_call_id") or "", id=name)
    if entry.role == "assistant":
        calls = [_made_call(call) for call in entry.metadata.get("tool_calls") or ()]
        return AIMessage(content, tool_calls=calls, id=name)
    return (HumanMessage if entry.role == "user" else SystemMessage)(content, id=name)


def _made_call(call: Mapping[str, Any]) -> dict[str, Any]:
    """A call of another client's, which may have its arguments as text."""
    arguments = arguments_map(arguments_of_call(call))
    return {"id": id_of_call(call), "name": name_of_call(call), "args": arguments}


def _made_content(content: Any) -> Any:
    """A content as LangChain takes it: a text, or a list of texts and maps."""
    parts = content if isinstance(content, list) else [None]
    return content if all(isinstance(part, str | dict) for part in parts) else coerced_content(content)


def is_sound(messages: Sequence[BaseMessage]) -> bool:
    """Whether a list is what `repaired` makes of it: so it mostly is, and that is quickly seen."""
    declared, waiting = set[str](), set[str]()
    leads = True
    for message in messages:
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in waiting or str(message.id).startswith(HEALED):
                return False
            waiting.remove(message.tool_call_id)
            continue
        ids = [call["id"] for call in calls_of(message)]
        leads = leads and isinstance(message, SystemMessage)
        if waiting or (isinstance(message, SystemMessage) and not leads) or not _are_new(ids, declared):
            return False
        declared.update(ids)
        waiting.update(ids)
    return not waiting


def _are_new(ids: Sequence[Any], declared: set[str]) -> bool:
    return all(call_id(one) == one and one not in declared for one in ids) and len(set(ids)) == len(ids)


def repaired(messages: Sequence[BaseMessage], results: Mapping[str, BaseMessage]) -> list[BaseMessage]:
    """The list as a provider accepts it (MEM-5): results behind their calls, once, and none missing.

    For a call without one, or with a placeholder, its result among `results`, else a placeholder.
    """
    flat = [_flat(message, str(place)) for place, message in enumerate(messages)]
    found: list[BaseMessage] = []
    for told in normalize(flat).messages:
        if told["role"] == "tool" and told["content"] == PLACEHOLDER_TEXT:
            open_id = told["tool_call_id"]
            placeholder = ToolMessage(PLACEHOLDER_TEXT, tool_call_id=open_id, id=f"{HEALED}{open_id}")
            found.append(results.get(open_id, placeholder))
            continue
        message = messages[int(told["content"])]
        if str(message.id).startswith(HEALED):
            message = results.get(told["tool_call_id"], message)
        ids = [call["tool_call_id"] for call in told.get("tool_calls", ())]
        if len(ids) < len(calls_of(message)):
            by_id = {call_id(call["id"]): call for call in reversed(calls_of(message))}  # the first of an id
            left = [by_id[one] for one in ids]
            message = message.model_copy(update={"tool_calls": left, "invalid_tool_calls": []})
        found.append(message)
    return found


def _flat(message: BaseMessage, content: str) -> dict[str, Any]:
    """What the repair looks at, with the message's place for its content."""
    flat = {"role": _ROLES.get(message.type, "user"), "content": content}
    if isinstance(message, ToolMessage):
        healed = str(message.id).startswith(HEALED)
        return {**flat, "tool_call_id": message.tool_call_id, "healed": healed}
    calls = [{"id": call["id"], "name": call["name"] or "unknown"} for call in calls_of(message)]
    return {**flat, "tool_calls": calls} if calls else flat


def calls_of(message: BaseMessage) -> list[Any]:
    """A message's calls, those with broken arguments too: they need a result all the same."""
    if not isinstance(message, AIMessage):
        return []
    return [*message.tool_calls, *message.invalid_tool_calls]
