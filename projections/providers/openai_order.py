"""What the service refuses among the items of OpenAI Responses, left out or put right on their way out.

Reasoning stands directly before what it led to; an id is of its item's kind and stands once; an item is
complete. Each is decided by what stands before it and next to it alone, so that what was sent stays so.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from turnledger.projections.providers.openai_items import CALLS, REASONING, RESULTS, type_of
from turnledger.projections.providers.openai_messages import fits, said_text

Block = dict[str, Any]

_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "additional_tools": ("role", "tools"),
    "apply_patch_call": ("call_id", "operation", "status"),
    "apply_patch_call_output": ("call_id", "status"),
    "code_interpreter_call": ("id", "code", "container_id", "outputs", "status"),
    "compaction": ("encrypted_content",),
    "computer_call": ("id", "call_id", "pending_safety_checks", "status"),
    "computer_call_output": ("call_id", "output"),
    "file_search_call": ("id", "queries", "status"),
    "image_generation_call": ("id", "result", "status"),
    "item_reference": ("id",),
    "local_shell_call": ("id", "action", "call_id", "status"),
    "local_shell_call_output": ("id", "output"),
    "mcp_approval_request": ("id", "arguments", "name", "server_label"),
    "mcp_approval_response": ("approval_request_id", "approve"),
    "mcp_call": ("id", "arguments", "name", "server_label"),
    "mcp_list_tools": ("id", "server_label", "tools"),
    "program": ("id", "call_id", "code", "fingerprint"),
    "program_output": ("id", "call_id", "result", "status"),
    REASONING: ("id", "summary"),
    "shell_call": ("action", "call_id"),
    "shell_call_output": ("call_id", "output"),
    "tool_search_call": ("arguments",),
    "tool_search_output": ("tools",),
    "web_search_call": ("id", "action", "status"),
}
"""What an item of each kind has to hold; one of a kind that is not known here is sent as it was given."""


def complete(item: Mapping[str, Any]) -> bool:
    """Whether an item has all that the service asks of its kind."""
    return all(key in item for key in _REQUIRED.get(type_of(item), ()))


def accepted(items: Iterable[Block]) -> list[Block]:
    """The items that the service takes."""
    sent: list[Block] = []
    waiting: list[Block] = []
    seen: set[str] = set()
    for item in items:
        one = _identified(_without_nothing(item), seen)
        if one is None or not complete(one):
            continue
        if type_of(one) == REASONING:
            waiting.append(one)
            continue
        sent += [*waiting, one] if is_answer(one) else [one]
        waiting = []
    return sent


def _without_nothing(item: Block) -> Block:
    """The item without keys of nothing; those that must be there stay."""
    required = _REQUIRED.get(type_of(item), ())
    return {key: value for key, value in item.items() if value is not None or key in required}


def _identified(item: Block, seen: set[str]) -> Block | None:
    """The item, its id looked at; without it where it is not sent, None where it cannot be without."""
    kind, item_id = type_of(item), item.get("id")
    if item_id is None or kind == "local_shell_call_output":  # whose id is that of its call
        return item
    if fits(item_id, kind) and item_id not in seen:
        seen.add(item_id)
        return item
    if kind == "message":
        return {"role": item["role"], "content": said_text(item["content"])}
    return optional_id(item) or (item if kind in CALLS else None)


def optional_id(item: Block) -> Block | None:
    """An item without its id; None where it cannot be without."""
    if type_of(item) == "message":
        return {"role": item["role"], "content": said_text(item["content"])}
    if "id" in _REQUIRED.get(type_of(item), ()):
        return None
    return {key: value for key, value in item.items() if key != "id"}


def is_answer(item: Block) -> bool:
    """Whether the model or a tool of the service made the item, so that reasoning may lead to it."""
    kind = type_of(item)
    if kind == "message":
        return item.get("role") == "assistant"
    return kind not in RESULTS and kind != "mcp_approval_response"
