"""LangChain's messages as entries, and back: what is given comes back as it was, ids and kwargs and all.

Pure. A message is kept whole in the metadata of its entry, and read by the same code as an imported one.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic_core import to_jsonable_python

from turnledger.adapters.extras import extra
from turnledger.domain.messages import PLACEHOLDER_TEXT
from turnledger.importing import read_messages
from turnledger.projections.buffer import Entry
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

KEPT = "langchain.message"
HEALED, MADE = "turnledger-healed-", "turnledger-entry-"  # ids of messages that are made here
_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}


def plain(message: BaseMessage) -> dict[str, Any]:
    return dict(to_jsonable_python(message_to_dict(message), serialize_unknown=True))


def entry_of(message: BaseMessage) -> dict[str, Any]:
    """A message to append, with the given one in its metadata."""
    whole = plain(message)
    [read] = read_messages([whole], format="langchain")
    metadata = {key: value for key, value in read.get("metadata", {}).items() if key != "langchain"}
    return {**read, "metadata": {**metadata, KEPT: whole}}


def as_messages(entries: Iterable[Entry]) -> list[BaseMessage]:
    """The messages that entries are: as they were given, with the ids that their calls turned out to have."""
    return [as_message(entry) for entry in entries]


def as_message(entry: Entry) -> BaseMessage:
    kept = entry.metadata.get(KEPT)
    if kept is None:
        return _made(entry)
    message: BaseMessage
    [message] = messages_from_dict([kept])
    if entry.role == "tool":
        message.tool_call_id = entry.metadata["tool_call_id"]
    elif calls := entry.metadata.get("tool_calls"):
        renamed = {c["original_id"]: c["tool_call_id"] for c in calls if "original_id" in c}
        message = with_ids(message, renamed)
    return message


def with_ids(message: Any, renamed: Mapping[str, str]) -> Any:
    """The message with its calls under other ids, wherever a provider's package has them."""
    if not renamed:
        return message
    found = message.model_copy(deep=True)
    beside = found.additional_kwargs.get("tool_calls") or ()
    blocks = found.content if isinstance(found.content, list) else ()
    for call in (*found.tool_calls, *found.invalid_tool_calls, *beside, *blocks):
        if isinstance(call, dict):
            for key in ("id", "call_id"):
                if call.get(key) in renamed:
                    call[key] = renamed[call[key]]
    return found


def _made(entry: Entry) -> BaseMessage:
    """A message of an entry that came from elsewhere: a placeholder, a summary, another client's."""
    content = entry.content if isinstance(entry.content, str | list) else str(entry.content)
    name = f"{MADE}{entry.number}"
    if entry.role == "tool":
        return ToolMessage(content, tool_call_id=entry.metadata["tool_call_id"], id=name)
    if entry.role == "assistant":
        calls = [
            {"id": call["tool_call_id"], "name": call["name"], "args": call.get("arguments") or {}}
            for call in entry.metadata.get("tool_calls", ())
        ]
        return AIMessage(content, tool_calls=[c for c in calls if isinstance(c["args"], dict)], id=name)
    return (HumanMessage if entry.role == "user" else SystemMessage)(content, id=name)


def repaired(messages: Sequence[BaseMessage], results: Mapping[str, BaseMessage]) -> list[BaseMessage]:
    """The list as a provider accepts it (MEM-5): results behind their calls, once, and none missing.

    For a call without one its result among `results`, else a placeholder.
    """
    flat = [_flat(message, str(place)) for place, message in enumerate(messages)]
    found: list[BaseMessage] = []
    for told in normalize(flat).messages:
        if told["role"] == "tool" and told["content"] == PLACEHOLDER_TEXT:
            call_id = told["tool_call_id"]
            placeholder = ToolMessage(PLACEHOLDER_TEXT, tool_call_id=call_id, id=f"{HEALED}{call_id}")
            found.append(results.get(call_id, placeholder))
            continue
        message = messages[int(told["content"])]
        ids = [call["tool_call_id"] for call in told.get("tool_calls", ())]
        if len(ids) < len(calls_of(message)):
            left = [call for call in calls_of(message) if call["id"] in ids]
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
