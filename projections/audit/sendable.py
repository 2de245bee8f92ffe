"""What a provider accepts (section 5), as the providers say it and not as the normalization does."""

from collections.abc import Mapping, Sequence
from typing import Any

from turnledger.projections.audit.model import UNCOUNTED_ROLES, usable

ROLES = ("user", "assistant", "system", "developer", "tool")


def unsendable(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """Why a provider would refuse this list of flat messages, or None: it is sendable."""
    declared: set[str] = set()
    waiting: set[str] = set()
    behind_others = False
    for place, message in enumerate(messages):
        reason = _malformed(message)
        if message.get("role") == "tool" and not reason:
            reason = _answers(message, waiting)
        elif not reason:
            system = message["role"] in UNCOUNTED_ROLES
            if waiting:
                reason = f"no result behind its turn for {', '.join(sorted(waiting))}"
            elif system and behind_others:
                reason = "a system message stands behind others"
            behind_others = behind_others or not system
            reason = reason or _declares(message, declared, waiting)
        if reason:
            return f"message {place}: {reason}"
    return f"no result at the end for {', '.join(sorted(waiting))}" if waiting else None


def _malformed(message: Mapping[str, Any]) -> str | None:
    if message.get("role") not in ROLES:
        return f"its role is {message.get('role')!r}"
    if not isinstance(message.get("content"), str):
        return "its content is no text"
    try:
        message["content"].encode()
    except UnicodeEncodeError:
        return "its text does not encode"
    return None


def _answers(message: Mapping[str, Any], waiting: set[str]) -> str | None:
    call_id = message.get("tool_call_id")
    if not isinstance(call_id, str) or call_id not in waiting:
        return f"a result for {call_id!r} that the turn before it does not wait for"
    waiting.discard(call_id)
    return None


def _declares(message: Mapping[str, Any], declared: set[str], waiting: set[str]) -> str | None:
    if "tool_calls" not in message:
        return None
    calls = message["tool_calls"]
    if not isinstance(calls, list) or not calls or message["role"] != "assistant":
        return "its tool_calls is no list of calls of a turn"
    for call in calls:
        call_id = call.get("tool_call_id")
        if usable(call_id) != call_id or not isinstance(call.get("name"), str):
            return "a call has no usable id or no name"
        if call_id in declared:
            return f"call {call_id!r} is declared twice"
        declared.add(call_id)
        waiting.add(call_id)
    return None
