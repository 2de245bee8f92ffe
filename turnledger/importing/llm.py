"""Messages of the `llm` command: a role and parts (text, reasoning, tool_call, tool_result, attachment).

A message of results becomes a tool message for each. Reasoning, and what the provider did on its side, are no
part of what was said: the parts are kept. `turn`, where a log has it, says of an answer which model gave it,
when, and what it took.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from turnledger.importing.pairing import Unanswered, given_id
from turnledger.importing.reading import Format, Read, beyond, said
from turnledger.projections.providers.keeping import ERROR_KEY

NAME = "llm"
_ROLES = ("system", "user", "assistant", "tool")
_CALL, _RESULT = "tool_call", "tool_result"
_WORK = (_CALL, _RESULT, "reasoning")
_KEYS = {"role", "parts", "provider_metadata", "turn"}
_TYPES = ("text", "attachment", *_WORK)
_PLAIN = {
    "text": {"type", "text"},
    "attachment": {"type", "attachment"},
    _CALL: {"type", "name", "arguments", "tool_call_id"},
}

Part = Mapping[str, Any]


def read(messages: Sequence[Any], start: int = 0) -> Iterator[Read]:
    """The messages from `start` on, to be appended; what is no message of llm goes on as it is."""
    unanswered = Unanswered()
    for index, message in enumerate(messages):
        reads = list(_read(message, index, unanswered)) if _is_message(message) else [Read(message, index)]
        if index >= start:
            yield from reads


def _is_message(message: Any) -> bool:
    if not isinstance(message, Mapping) or message.get("role") not in _ROLES:
        return False
    parts = message.get("parts")
    return isinstance(parts, list) and all(isinstance(part, Mapping) for part in parts)


def _read(message: Mapping[str, Any], index: int, unanswered: Unanswered) -> Iterator[Read]:
    parts, role = message["parts"], str(message["role"])
    results = [place for place, part in enumerate(parts) if _is_ours(part, _RESULT)]
    for place in results:
        yield Read(_result(parts[place], unanswered), index, (place,))
    rest = [part for place, part in enumerate(parts) if place not in results]
    if results and not rest:
        return
    calls = [_call(part, index, place, unanswered) for place, part in enumerate(rest) if _is_call(part, role)]
    kept = beyond(message, ("role", "parts")) | ({} if all(map(_is_plain, rest)) else {"parts": rest})
    read: dict[str, Any] = {
        "role": "user" if role == "tool" else role,
        "content": said([part for part in rest if part.get("type") not in _WORK], role),
    }
    read |= {"tool_calls": calls} if calls else {}
    read |= {"metadata": {NAME: kept}} if kept else {}
    yield Read(read, index, tuple(place for place in range(len(parts)) if place not in results))


def _is_ours(part: Part, kind: str) -> bool:
    """Whether the part is a call or a result that the program itself sees to, and not the provider."""
    return part.get("type") == kind and part.get("server_executed") is not True


def _is_call(part: Part, role: str) -> bool:
    return role == "assistant" and _is_ours(part, _CALL)


def _is_plain(part: Part) -> bool:
    """Whether our shape says all that the part does."""
    return part.keys() <= _PLAIN.get(str(part.get("type")), set())


def _call(part: Part, index: int, place: int, unanswered: Unanswered) -> dict[str, Any]:
    call_id = unanswered.declare(index, place, part.get("name"), given_id(part.get("tool_call_id")))
    return {"tool_call_id": call_id, "name": part.get("name"), "arguments": part.get("arguments")}


def _result(part: Part, unanswered: Unanswered) -> dict[str, Any]:
    attachments, output = part.get("attachments"), part.get("output")
    listed = attachments if isinstance(attachments, list) else []
    shown = [{"type": "attachment", "attachment": one} for one in listed]
    taken = ("type", "output", "tool_call_id", *(["attachments"] if shown else []))
    metadata: dict[str, Any] = {NAME: beyond(part, taken)}
    failed = {ERROR_KEY: True} if part.get("exception") else {}
    return {
        "role": "tool",
        "content": [{"type": "text", "text": output}, *shown] if shown else output,
        "tool_call_id": unanswered.answer(part.get("name"), given_id(part.get("tool_call_id"))),
        "metadata": failed | {key: value for key, value in metadata.items() if value},
    }


def marks(message: Mapping[str, Any]) -> bool:
    """Whether it is all of llm's own making; text alone might be another client's, too."""
    if not _is_message(message) or not message.keys() <= _KEYS:
        return False
    parts = message["parts"]
    return "turn" in message or (bool(parts) and all(part.get("type") in _TYPES for part in parts))


FORMAT = Format(NAME, read, marks)
