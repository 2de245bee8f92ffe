"""Messages of Vercel's AI SDK: those of a user interface, made of parts, and those that go to a model.

A model message holds its calls, and a tool message its results, as parts of its content. What a provider ran
by itself stands in the assistant's message with its result: it is no call of ours, and kept.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from turnledger.domain.messages import ROLES
from turnledger.importing import signed, vercel_ui
from turnledger.importing.pairing import Unanswered, given_id
from turnledger.importing.reading import Format, Read, beyond
from turnledger.importing.steps import Step
from turnledger.importing.vercel_results import output_of

NAME = "vercel-ai"
_UI_KEYS = ("toolInvocations", "experimental_attachments")
_PAIRED = ("tool-call", "tool-result", "tool-approval-request", "tool-approval-response")
_SAID = ("text", "file", "image")
_LLM_KINDS = ("tool_call", "tool_result", "attachment")  # of another client's parts


def read(messages: Sequence[Any], start: int = 0) -> Iterator[Read]:
    """The messages from `start` on, to be appended; what is no message of the SDK's goes on as it is."""
    unanswered = Unanswered()
    for index, message in enumerate(messages):
        found = list(_read(message, index, unanswered))
        if index >= start:
            yield from found


def _read(message: Any, index: int, unanswered: Unanswered) -> Iterator[Read]:
    role = message.get("role") if isinstance(message, Mapping) else None
    if role not in ROLES:
        if role != "data":  # which the SDK itself never sends to a model
            yield Read(message, index)
    elif _is_ui(message):
        yield from vercel_ui.read(message, index, unanswered, NAME)
    else:
        yield from _read_model(message, index, unanswered)


def _is_ui(message: Mapping[str, Any]) -> bool:
    return isinstance(message.get("parts"), list) or any(message.get(key) for key in _UI_KEYS)


def _read_model(message: Mapping[str, Any], index: int, unanswered: Unanswered) -> Iterator[Read]:
    content = message.get("content")
    step = Step(NAME, index, message["role"], beyond(message, ("role", "content")))
    if not isinstance(content, list):
        known = {"metadata": {NAME: step.known}} if step.known else {}
        yield Read({"role": step.role, "content": content, **known}, index)
        return
    by_provider = {
        _id(part) for part in content if _kind(part) == "tool-call" and part.get("providerExecuted")
    }
    for place, part in enumerate(content):
        if step.answered and _kind(part) in (*_SAID, "reasoning", "tool-call"):
            yield from step.reads()
            step = Step(NAME, index, message["role"])
        _take(step, place, part, unanswered, by_provider)
    yield from step.reads()


def _kind(part: Any) -> str:
    kind = part.get("type") if isinstance(part, Mapping) else None
    return kind if isinstance(kind, str) else ""


def _id(part: Mapping[str, Any]) -> str | None:
    return given_id(part.get("toolCallId"))


def _take(step: Step, place: int, part: Any, unanswered: Unanswered, by_provider: set[str | None]) -> None:
    kind = _kind(part)
    if kind == "tool-call" and step.role == "assistant" and not part.get("providerExecuted"):
        name = part.get("toolName")
        call_id = unanswered.declare(step.index, place, name, _id(part))
        given = part.get("args") if part.get("input") is None else part.get("input")
        step.call(place, call_id, name, given)
        step.keep(place, part, ("type", "toolCallId", "toolName", "input", "args"))
    elif kind == "tool-result" and step.role in ("assistant", "tool") and _id(part) not in by_provider:
        output = output_of(part)
        rest = beyond(
            part, ("type", "toolCallId", "toolName", "output", "result", "isError", "experimental_content")
        )
        answered = unanswered.answer(part.get("toolName"), _id(part))
        step.answer(place, answered, output.content, output.known | rest, output.failed)
    elif kind == "text" and isinstance(part.get("text"), str):
        step.say(place, part, part, ("type", "text"))
    elif kind in _SAID:
        step.say(place, part, part, part)
    elif kind == "reasoning" and step.role == "assistant":
        step.think(place, part, signed.of_vercel(part))
    else:
        step.keep(place, part)


def marks(message: Mapping[str, Any]) -> bool:
    if any(isinstance(message.get(key), list) for key in _UI_KEYS):
        return True
    parts, content = message.get("parts"), message.get("content")
    kinds = {_kind(part) for part in parts} - {""} if isinstance(parts, list) else set()
    if kinds and "role" in message and kinds.isdisjoint(_LLM_KINDS):
        return True
    return isinstance(content, list) and any(_kind(part) in _PAIRED for part in content)


FORMAT = Format(NAME, read, marks)
