"""Requests of OpenAI Responses."""

import re
from typing import Any

from tests.judges.official import first, judge, library, list_of, why_not_json


def _items() -> Any:
    return list_of(library("openai.types.responses").ResponseInputItemParam)


_typed_items = judge(_items)
_CALLS = ("function", "custom_tool", "computer", "local_shell", "shell", "apply_patch")
CALLS = {f"{kind}_call": f"{kind}_call_output" for kind in _CALLS}
BEGINNINGS = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}


def why_not(request: dict[str, Any]) -> str | None:
    if set(request) - {"input", "instructions"}:
        return f"it has more than input and instructions: {set(request)}"
    items = request["input"]
    return first(
        why_not_json(request),
        None if request.get("instructions", "told") else "the instructions are empty",
        _typed_items(items),
        *(_why_not_item(item) for item in items),
        _why_not_ids(items),
        _why_not_led(items),
        _why_not_paired(items),
    )


def _kind(item: dict[str, Any]) -> str:
    return str(item.get("type") or ("message" if "role" in item else "item_reference"))


def _why_not_item(item: dict[str, Any]) -> str | None:
    name, call_id = item.get("name", "name"), item.get("call_id", "id")
    if not re.fullmatch("[a-zA-Z0-9_-]{1,64}", name):
        return f"the name {name!r} is not allowed"
    if not 0 < len(call_id) <= 40:
        return f"the call id {call_id!r} is too long"
    return "its content is an empty list" if item.get("content") == [] else None


def _why_not_ids(items: list[dict[str, Any]]) -> str | None:
    seen: set[str] = set()
    for item in items:
        item_id = item.get("id")
        if item_id is None or _kind(item) == "local_shell_call_output":
            continue
        if item_id in seen:
            return f"the id {item_id!r} stands twice"
        if not re.fullmatch("[a-zA-Z0-9_-]{1,64}", item_id):
            return f"the id {item_id!r} is not allowed"
        if not item_id.startswith(BEGINNINGS.get(_kind(item), "")):
            return f"the id {item_id!r} is of no {_kind(item)}"
        seen.add(item_id)
    return None


def _why_not_led(items: list[dict[str, Any]]) -> str | None:
    """Reasoning is followed by what the model did, other reasoning at most between."""
    nothing = {"role": "user"}
    for item, after in zip(items, [*items, nothing][1:], strict=False):
        is_led_to = after.get("role", "assistant") == "assistant" and _kind(after) not in CALLS.values()
        if _kind(item) == "reasoning" and not is_led_to:
            return f"reasoning {item.get('id')} leads to nothing"
    return None


def _why_not_paired(items: list[dict[str, Any]]) -> str | None:
    waiting: dict[str, str] = {}
    declared: set[str] = set()
    local = {item["id"]: item["call_id"] for item in items if _kind(item) == "local_shell_call"}
    for item in items:
        kind = _kind(item)
        if kind in CALLS:
            if item["call_id"] in declared:
                return f"the call {item['call_id']!r} is declared twice"
            declared.add(item["call_id"])
            waiting[item["call_id"]] = CALLS[kind]
        elif kind in CALLS.values():
            call_id = item.get("call_id") or local.get(item["id"], item["id"])
            if waiting.pop(call_id, None) != kind:
                return f"a {kind} for {call_id!r}, which does not wait for one"
        elif kind == "message" and item["role"] != "assistant" and waiting:
            return f"no result for {list(waiting)} before the next input"
    return f"no result for {list(waiting)}" if waiting else None
