"""Messages of Microsoft's agent-framework as entries, and back: what is given comes back as it was.

Pure. A message is kept whole in the metadata of its entry; one with several results is an entry each.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from pydantic_core import to_jsonable_python

from turnledger.adapters.arranged import arranged
from turnledger.adapters.extras import extra
from turnledger.domain.messages import PLACEHOLDER_TEXT
from turnledger.projections.buffer import Entry

with extra("agent-framework"):
    from agent_framework import Content, Message

KEPT, JOINS = "agent-framework", "joins"
_CONTROLS = ("function_approval_request", "function_approval_response")


def plain(message: Message) -> dict[str, Any]:
    return dict(to_jsonable_python(message.to_dict(), serialize_unknown=True))


def is_control(message: Message) -> bool:
    """Whether all that a message of a user or a tool does is to answer a request of the framework's."""
    if message.role == "tool":
        return not any(_is_result(content) for content in message.contents)
    only = all(content.type in _CONTROLS for content in message.contents)
    return message.role == "user" and bool(message.contents) and only


def as_entries(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Messages to append, each with the given one in its metadata."""
    return [entry for message in messages for entry in _entries_of(message)]


def _entries_of(message: Message) -> list[dict[str, Any]]:
    whole = plain(message)
    if message.role == "tool":
        return _results(message, whole)
    answered = {content.call_id for content in message.contents if _is_result(content)}
    calls = [content for content in message.contents if _is_call(content) and content.call_id not in answered]
    entry = {
        "role": message.role,
        "content": _said(message.contents),
        "metadata": {KEPT: whole},
        "tool_calls": [
            {"tool_call_id": call.call_id, "name": call.name, "arguments": _jsonable(call.arguments)}
            for call in calls
        ],
    }
    return [entry if calls else {key: entry[key] for key in ("role", "content", "metadata")}]


def _results(message: Message, whole: dict[str, Any]) -> list[dict[str, Any]]:
    """An entry for each result, with what stands behind it in the message, or leads the first."""
    found: list[dict[str, Any]] = []
    leading: list[Any] = []
    for content, kept in zip(message.contents, whole["contents"], strict=True):
        if _is_result(content):
            found.append(_result(content, {**whole, "contents": [*leading, kept]}, joins=bool(found)))
            leading = []
        else:
            (found[-1]["metadata"][KEPT]["contents"] if found else leading).append(kept)
    return found


def _result(content: Content, whole: dict[str, Any], joins: bool) -> dict[str, Any]:
    if content.result == PLACEHOLDER_TEXT:  # what was only made for a request, given back
        return {
            "role": "tool",
            "tool_call_id": content.call_id,
            "content": PLACEHOLDER_TEXT,
            "metadata": {"healed": True},
        }
    return {
        "role": "tool",
        "tool_call_id": content.call_id,
        "content": "" if content.result is None else _jsonable(content.result),
        "metadata": {KEPT: whole | ({JOINS: True} if joins else {})},
    }


def as_messages(entries: Iterable[Entry]) -> list[Message]:
    """The messages that entries are: as they were given, with the ids that their calls turned out to have."""
    found: list[Message] = []
    for entry in entries:
        kept = entry.metadata.get(KEPT)
        if kept is None:
            found.append(_made(entry))
        elif entry.role == "tool":
            contents = _with_id(kept["contents"], entry.metadata["tool_call_id"])
            if kept.get(JOINS) and found and found[-1].role == "tool":
                found[-1].contents.extend(map(Content.from_dict, contents))
            else:
                found.append(_message({**kept, "contents": contents}))
        else:
            ids = [call["tool_call_id"] for call in entry.metadata.get("tool_calls", ())]
            found.append(_message({**kept, "contents": _with_ids(kept["contents"], ids)}))
    return found


def newest_messages(entries: Sequence[Entry], given: Sequence[Message]) -> list[Message]:
    """The newest messages of a history: as many as others that are given, to compare them."""
    ordered = arranged(entries, open_last=True)
    begin = max(len(ordered) - sum(len(message.contents) or 1 for message in given), 0)
    while begin and ordered[begin].metadata.get(KEPT, {}).get(JOINS):
        begin -= 1
    return as_messages(ordered[begin:])


def answers_in(known: Iterable[Entry], turn: str | None, new: Sequence[Mapping[str, Any]]) -> bool:
    """Whether what new entries answer, if anything, are open calls of this turn, or calls of theirs."""
    of_turn = [entry for entry in known if entry.turn_id == turn]
    done = {e.metadata["tool_call_id"] for e in of_turn if e.role == "tool" and not e.metadata.get("healed")}
    calls = [call for entry in of_turn for call in entry.metadata.get("tool_calls", ())]
    calls = [call for call in calls if call["tool_call_id"] not in done]
    calls += [call for entry in new for call in entry.get("tool_calls", ())]
    names = {call.get("original_id") or call["tool_call_id"] for call in calls}
    return {entry["tool_call_id"] for entry in new if entry["role"] == "tool"} <= names


def approved_in(messages: Iterable[Message]) -> set[str]:
    """The ids of the calls that messages approve, or refuse."""
    contents = [content for message in messages for content in message.contents]
    decided = [content.function_call for content in contents if content.type in _CONTROLS]
    return {call.call_id for call in decided if call is not None and call.call_id}


def with_placeholders(messages: Iterable[Message], made_now: Collection[str] = ()) -> list[Message]:
    """The messages, and behind each turn a placeholder for every call of it that nothing answers (MEM-3).

    A turn of which a call is `made_now` has none: the framework answers its calls together.
    """
    given = list(messages)
    answered = {content.call_id for message in given for content in message.contents if _is_result(content)}
    for message in given:
        ids = {content.call_id for content in message.contents if _is_call(content)}
        answered |= ids if ids.intersection(made_now) else set()
    found: list[Message] = []
    missing: list[Message] = []
    for message in given:
        if message.role != "tool":
            found += missing
            missing = []
        found.append(message)
        for content in message.contents:
            if _is_call(content) and content.call_id not in answered:
                answered.add(content.call_id)
                result = Content.from_function_result(content.call_id, result=PLACEHOLDER_TEXT)
                missing.append(Message("tool", [result]))
    return found + missing


def _message(kept: Mapping[str, Any]) -> Message:
    message: Message = Message.from_dict({key: value for key, value in kept.items() if key != JOINS})
    return message


def _with_ids(contents: Sequence[Mapping[str, Any]], ids: Sequence[str]) -> list[dict[str, Any]]:
    """The contents of a turn, its calls under the ids that were recorded."""
    answered = {content.get("call_id") for content in contents if content["type"] == "function_result"}
    left = iter(ids)

    def is_named(content: Mapping[str, Any]) -> bool:
        return content["type"] == "function_call" and content.get("call_id") not in {None, "", *answered}

    return [
        {**content, "call_id": next(left, content["call_id"])} if is_named(content) else dict(content)
        for content in contents
    ]


def _with_id(contents: Sequence[Mapping[str, Any]], call_id: str) -> list[dict[str, Any]]:
    """The contents that were kept with a result, that one under the id that was recorded."""
    return [
        {**content, "call_id": call_id} if content["type"] == "function_result" else dict(content)
        for content in contents
    ]


def _made(entry: Entry) -> Message:
    """A message of an entry that came from elsewhere: a placeholder, a summary, another client's."""
    if entry.role == "tool":
        result = Content.from_function_result(entry.metadata["tool_call_id"], result=_text(entry.content))
        return Message("tool", [result])
    calls = [
        Content.from_function_call(call["tool_call_id"], call["name"], arguments=call.get("arguments"))
        for call in entry.metadata.get("tool_calls", ())
    ]
    text = _text(entry.content)
    return Message(entry.role, [*([Content.from_text(text)] if text or not calls else []), *calls])


def _said(contents: Sequence[Content]) -> Any:
    """The texts as one, or texts and pictures as parts; what else there is stands in the kept message."""
    parts = [part for content in contents if (part := _part(content))]
    if all(part["type"] == "text" for part in parts):
        return "".join(part["text"] for part in parts)
    return parts


def _part(content: Content) -> dict[str, Any] | None:
    if content.type == "text" and content.text:
        return {"type": "text", "text": content.text}
    if content.type in ("data", "uri") and (content.media_type or "").startswith("image/"):
        return {"type": "image_url", "image_url": {"url": content.uri}}
    return None


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return content if isinstance(content, str) else str(content)


def _is_call(content: Content) -> bool:
    return content.type == "function_call" and bool(content.call_id)


def _is_result(content: Content) -> bool:
    return content.type == "function_result" and bool(content.call_id)


def _jsonable(value: Any) -> Any:
    return to_jsonable_python(value, serialize_unknown=True)
