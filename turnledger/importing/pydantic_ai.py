"""Messages of Pydantic AI: requests and responses made of parts, each told by its `part_kind`.

A part of a request is a message of its own, results first; a response is one turn. Instructions are a system
message where they change. Thinking, and what a provider's own tools did, is kept and not said.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from turnledger.importing import pydantic_ai_requests, signed
from turnledger.importing.pairing import Unanswered, given_id
from turnledger.importing.pydantic_ai_requests import NAME, kind_of
from turnledger.importing.reading import Format, Read, beyond
from turnledger.importing.steps import Step
from turnledger.projections.parts import part_of

_CALL_KEYS = ("part_kind", "tool_name", "args", "tool_call_id")


def read(messages: Sequence[Any], start: int = 0) -> Iterator[Read]:
    """The messages from `start` on, to be appended; what is none of the library's goes on as it is."""
    unanswered, instructions = Unanswered(), None
    for index, message in enumerate(messages):
        if not _is_own(message):
            found = [Read(message, index)]
        elif message["kind"] == "response":
            found = list(_response(message, index, unanswered).reads())
        else:
            told = message.get("instructions")
            changed = told if isinstance(told, str) and told != instructions else ""
            found = pydantic_ai_requests.read(message, index, unanswered, changed)
            instructions = changed or instructions
        if index >= start:
            yield from found


def _is_own(message: Any) -> bool:
    if not isinstance(message, Mapping) or message.get("kind") not in ("request", "response"):
        return False
    return isinstance(message.get("parts"), list)


def _response(message: Mapping[str, Any], index: int, unanswered: Unanswered) -> Step:
    step = Step(NAME, index, "assistant", beyond(message, ("kind", "parts")))
    for place, part in enumerate(message["parts"]):
        _take(step, place, part, unanswered)
    return step


def _take(step: Step, place: int, part: Any, unanswered: Unanswered) -> None:
    kind = kind_of(part)
    if kind == "tool-call":
        name = part.get("tool_name")
        call_id = unanswered.declare(step.index, place, name, given_id(part.get("tool_call_id")))
        step.call(place, call_id, name, part.get("args"))
        step.keep(place, part, _CALL_KEYS)
    elif kind == "text" and isinstance(part.get("content"), str):
        step.say(place, part, _text(part["content"]), ("part_kind", "content"))
    elif kind == "file" and part_of(part.get("content")):
        step.say(place, part, part["content"], ("part_kind", "content"))
    elif kind == "speech" and isinstance(part.get("transcript"), str):
        step.say(place, part, _text(part["transcript"]), ("transcript",))
    elif kind == "thinking":
        step.think(place, part, signed.of_pydantic_ai(part))
    else:
        step.keep(place, part)


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def marks(message: Mapping[str, Any]) -> bool:
    return _is_own(message) and any(kind_of(part) for part in message["parts"])


FORMAT = Format(NAME, read, marks)
