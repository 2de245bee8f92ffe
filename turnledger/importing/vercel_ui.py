"""UI messages of the AI SDK: one message holds the steps of a turn, each tool part a call and its result.

A step ends where the next begins (`step-start`); in older messages without that mark, where something is said
after a tool was called, or a call names another step. What a provider ran by itself, and a call whose
arguments were still on their way, are no calls of ours: they are kept.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from turnledger.importing import signed
from turnledger.importing.pairing import Unanswered, given_id
from turnledger.importing.reading import Read, beyond
from turnledger.importing.steps import Step, result_text
from turnledger.importing.vercel_results import DENIED_TEXT

_CALLED = ("input-available", "approval-requested", "approval-responded", "call")
_ANSWERED = ("output-available", "output-error", "output-denied", "result")
_OLDER_KEYS = ("content", "reasoning", "toolInvocations", "experimental_attachments")
_CALL_KEYS = ("toolCallId", "input", "args", "output", "result", "errorText")


def read(message: Mapping[str, Any], index: int, unanswered: Unanswered, format: str) -> Iterator[Read]:
    """A message of a user, the system or the assistant, step by step."""
    parts = parts_of(message)
    step = Step(format, index, message["role"], _known(message))
    marked = any(_kind(part) == "step-start" for part in parts)
    for place, part in enumerate(parts):
        if _begins_anew(part, parts[place - 1] if place else None, step, marked):
            yield from step.reads()
            step = Step(format, index, message["role"])
        _take(step, place, part, unanswered)
    yield from step.reads()


def parts_of(message: Mapping[str, Any]) -> list[Any]:
    """A message's parts; in older versions of the SDK the same stands beside the text."""
    parts = _listed(message, "parts") or _older_parts(message)
    return parts + [_file(one) for one in _listed(message, "experimental_attachments")]


def _older_parts(message: Mapping[str, Any]) -> list[Any]:
    """Where all calls are answered, the text stands behind them."""
    calls = [_invocation(one) for one in _listed(message, "toolInvocations")]
    said = [{"type": "reasoning", "reasoning": message["reasoning"]}] if message.get("reasoning") else []
    said += [{"type": "text", "text": message["content"]}] if message.get("content") else []
    return calls + said if all(_state(part) in _ANSWERED for part in calls) else said + calls


def _listed(message: Mapping[str, Any], key: str) -> list[Any]:
    listed = message.get(key)
    return listed if isinstance(listed, list) else []


def _invocation(invocation: Any) -> dict[str, Any]:
    return {"type": "tool-invocation", "toolInvocation": invocation}


def _file(attachment: Any) -> Any:
    if not isinstance(attachment, Mapping):
        return attachment
    named = {"filename": attachment["name"]} if attachment.get("name") else {}
    return {"type": "file", "url": attachment.get("url"), "mediaType": attachment.get("contentType"), **named}


def _known(message: Mapping[str, Any]) -> dict[str, Any]:
    """What a message says beyond its parts."""
    return beyond(message, ("role", "parts", *_OLDER_KEYS))


def _kind(part: Any) -> str:
    kind = part.get("type") if isinstance(part, Mapping) else None
    return kind if isinstance(kind, str) else ""


def _tool(part: Any) -> Mapping[str, Any] | None:
    """What a tool part says of its call; None for another part."""
    kind = _kind(part)
    if kind == "tool-invocation":
        invocation = part.get("toolInvocation")
        return invocation if isinstance(invocation, Mapping) else None
    return part if kind == "dynamic-tool" or kind.startswith("tool-") else None


def _state(part: Any) -> Any:
    return (_tool(part) or {}).get("state")


def _begins_anew(part: Any, before: Any, step: Step, marked: bool) -> bool:
    if step.empty or step.role != "assistant":
        return False
    if marked:
        return _kind(part) == "step-start" and before is not None
    tool = _tool(part)
    if tool is not None:
        last = (_tool(before) or {}).get("step")
        return last is not None and tool.get("step") not in (None, last)
    return step.answered and _kind(part) in ("text", "reasoning", "file")


def _take(step: Step, place: int, part: Any, unanswered: Unanswered) -> None:
    tool = _tool(part)
    if tool is not None and step.role == "assistant" and _is_call(tool):
        _take_call(step, place, part, tool, unanswered)
    elif _kind(part) == "text" and isinstance(part.get("text"), str):
        step.say(place, part, part, ("type", "text"))
    elif _kind(part) == "file":
        step.say(place, part, part, part)
    elif _kind(part) == "reasoning" and step.role == "assistant":
        step.think(place, part, signed.of_vercel(part))
    else:
        step.keep(place, part)


def _is_call(tool: Mapping[str, Any]) -> bool:
    return tool.get("state") in (*_CALLED, *_ANSWERED) and not tool.get("providerExecuted")


def _take_call(step: Step, place: int, part: Any, tool: Mapping[str, Any], unanswered: Unanswered) -> None:
    name = tool.get("toolName") or _kind(part).removeprefix("tool-")
    call_id = unanswered.declare(step.index, place, name, given_id(tool.get("toolCallId")))
    given = next((tool[key] for key in ("input", "args", "rawInput") if tool.get(key) is not None), None)
    step.call(place, call_id, name, given)
    carried = (*_CALL_KEYS, "toolName") if tool is not part else _CALL_KEYS
    step.keep(place, {"type": part["type"], **tool}, carried)
    state = tool["state"]
    if state in _ANSWERED:
        unanswered.answer(name, call_id)
        content, failed = _outcome(tool, state)
        output = tool.get("output", tool.get("result"))
        spelled = state in ("output-available", "result") and not isinstance(output, str | None)
        step.answer(place, call_id, content, {"output": {"type": "json"}} if spelled else {}, failed)


def _outcome(tool: Mapping[str, Any], state: str) -> tuple[str, bool]:
    if state == "output-error":
        return result_text(tool.get("errorText")), True
    if state == "output-denied":
        approval = tool.get("approval")
        reason = approval.get("reason") if isinstance(approval, Mapping) else None
        return result_text(reason or DENIED_TEXT), True
    return result_text(tool.get("output", tool.get("result"))), False
