"""What the service refuses among the items of OpenAI Responses, left out or put right on their way out.

Reasoning stands directly before what it led to; an id is of its item's kind and stands once; an item has its
kind's shape. Each is decided by what stands before it and next to it alone, so that what was sent stays so.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from turnledger.projections.providers.keeping import Block
from turnledger.projections.providers.openai_items import REASONING, RESULTS, type_of
from turnledger.projections.providers.openai_messages import fits, said_text
from turnledger.projections.providers.openai_shapes import ITEMS, NULLABLE
from turnledger.projections.providers.shapes import fitting

_OF_ITS_CALL = "local_shell_call_output"  # whose id is that of its call


def is_sound(item: Mapping[str, Any]) -> bool:
    """Whether an item can be sent as one of its kind."""
    fit = _fit(item)
    return fit is not None and (type_of(item) == _OF_ITS_CALL or not _needs_id(item) or _has_id(item))


def accepted(items: Iterable[Block]) -> list[Block]:
    """The items that the service takes."""
    seen: set[Any] = set()
    identified = (_identified(item, seen) for item in items)
    fit = (_fit(one) for one in identified if one is not None)
    return led(one for one in fit if one is not None)


def led(items: Iterable[Block]) -> list[Block]:
    """The items without reasoning that leads to nothing."""
    sent: list[Block] = []
    waiting: list[Block] = []
    for one in items:
        if type_of(one) == REASONING:
            waiting.append(one)
            continue
        sent += [*waiting, one] if is_answer(one) else [one]
        waiting = []
    return sent


def _fit(item: Mapping[str, Any]) -> Block | None:
    """What of an item fits its kind, None where that needs more or no kind is known; a message as it is."""
    kind = type_of(item)
    if kind == "message":
        return {key: value for key, value in item.items() if value is not None}
    if kind == _OF_ITS_CALL and "call_id" in item:  # as the Agents SDK names the call
        item = {**item, "id": item["call_id"]}
    fit: Block | None = fitting(dict(item), ITEMS[kind]) if kind in ITEMS else None
    return None if fit is None else {**dict.fromkeys(NULLABLE.get(kind, ())), **fit}


def _needs_id(item: Mapping[str, Any]) -> bool:
    kind = type_of(item)
    return kind in ITEMS and "id" in ITEMS[kind].needed


def _has_id(item: Mapping[str, Any]) -> bool:
    return fits(item.get("id"), type_of(item))


def _identified(item: Block, seen: set[Any]) -> Block | None:
    """The item, its id looked at; without it where it is not sent, None where it cannot be without."""
    if item.get("id") is None or type_of(item) == _OF_ITS_CALL:
        return item
    if _has_id(item) and item["id"] not in seen:
        seen.add(item["id"])
        return item
    return optional_id(item)


def optional_id(item: Block) -> Block | None:
    """An item without its id; None where it cannot be without."""
    if type_of(item) == "message":
        return {"role": item["role"], "content": said_text(item["content"])}
    return None if _needs_id(item) else {key: value for key, value in item.items() if key != "id"}


def is_answer(item: Block) -> bool:
    """Whether the model or a tool of the service made the item, so that reasoning may lead to it."""
    kind = type_of(item)
    if kind == "message":
        return item.get("role") == "assistant"
    return kind not in RESULTS and kind != "mcp_approval_response"
