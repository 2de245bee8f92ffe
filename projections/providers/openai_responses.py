"""The sendable list as OpenAI Responses items: `responses.create(**request)`.

The leading system messages are `instructions`, unless they were items before. A turn is its message and then its
calls, or the items that it was imported from, one by one. What the service refuses is left out: reasoning that
leads to nothing, an id that is not its item's kind's or that stands twice.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from turnledger.domain.pairing import Call, Item
from turnledger.domain.values import copied
from turnledger.projections.parts import Part
from turnledger.projections.providers.arguments import arguments_json
from turnledger.projections.providers.naming import call_ids, fitting_name
from turnledger.projections.providers.openai_chat import ROLE_KEY, is_custom
from turnledger.projections.providers.openai_items import (
    CALLS,
    CUSTOM,
    FUNCTION,
    NAME,
    RESULTS,
    kept_items,
    type_of,
)
from turnledger.projections.providers.openai_messages import given_message, spell
from turnledger.projections.providers.openai_order import accepted, complete
from turnledger.projections.providers.table import spelled

RENDERING = 1  # another number whenever the same events come to be rendered in another way

Block = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Context:
    """What rendering an item needs of the others: ids as they are sent, the results that each call has."""

    ids: Mapping[str, str]
    answers: Mapping[str, str]

    def kind_of(self, call: Call, kind: str) -> str:
        """The kind that a call is sent as: its own where its result is of that kind, else a function's."""
        return kind if kind in (FUNCTION, CUSTOM, self.answers.get(call.call_id)) else FUNCTION


def rendered(items: list[Item]) -> tuple[list[Block], Block]:
    """The input items, and the keyword arguments of one request."""
    instructions = list(takewhile(_is_instruction, items))
    sent = accepted(items_of(items[len(instructions) :], _shortened(items)))
    told = "\n\n".join(text for item in instructions if (text := _text(item)))
    return sent, {"input": sent} | ({"instructions": told} if told else {})


def _shortened(items: list[Item]) -> dict[str, str]:
    return call_ids(items, ".{1,40}", lambda digits: f"call_{digits[:24]}")


def _is_instruction(item: Item) -> bool:
    return item.role == "system" and item.metadata.get(ROLE_KEY) is None and kept_items(item.metadata) is None


def _text(item: Item) -> str:
    return "\n".join(block["text"] for block in spelled(item, NAME, spell))


def items_of(items: Iterable[Item], ids: Mapping[str, str]) -> Iterator[Block]:
    """The input items of these, with the ids that are sent."""
    items = list(items)
    kinds = {call.call_id: kind for item in items for call, kind in _calls(item)}
    answers = {str(item.call_id): _answered(item) for item in items if item.role == "tool"}
    context = _Context(ids, answers)
    for item in items:
        if item.role == "tool":
            yield _result(item, kinds.get(str(item.call_id), FUNCTION), context)
        elif item.role == "assistant":
            yield from _turn(item, context, kinds)
        else:
            yield _message(item)


def _calls(item: Item) -> Iterator[tuple[Call, str]]:
    """The turn's calls that are left, each with the kind that it came as."""
    raw = {call.call_id: type_of(one) for one, call in _kept(item) if call and complete(one)}
    for call in item.calls:
        custom = is_custom(call, item) and isinstance(call.arguments, str)
        yield call, raw.get(call.call_id, CUSTOM if custom else FUNCTION)


def _kept(item: Item) -> Iterator[tuple[Block, Call | None]]:
    """The items that a turn was imported from, each with the call that it declares; not those of lost calls."""
    declared = [call.get("tool_call_id") for call in item.metadata.get("tool_calls", ())]
    left = {call.call_id: call for call in item.calls}
    for one in kept_items(item.metadata) or ():
        if type_of(one) not in CALLS:
            yield one, None
        elif declared and (call := left.pop(declared.pop(0), None)):
            yield one, call


def _answered(item: Item) -> str:
    """The kind of call that a result answers in its own words; a function's where it has none."""
    (kept, *_) = kept_items(item.metadata) or [{}]
    return RESULTS.get(type_of(kept), FUNCTION) if complete(kept) else FUNCTION


def _turn(item: Item, context: _Context, kinds: Mapping[str, str]) -> Iterator[Block]:
    kept = list(_kept(item))
    if item.text and not any(type_of(one) == "message" for one, _ in kept):
        yield _message(item)
    for one, call in kept:
        if call:
            yield _call(call, kinds[call.call_id], one, context)
        elif type_of(one) != "message":
            yield copied(one)
        elif given := given_message(one):
            yield given
    done = {call.call_id for _, call in kept if call}
    for call in item.calls:
        if call.call_id not in done:
            yield _call(call, kinds[call.call_id], {}, context)


def _call(call: Call, kind: str, given: Block, context: _Context) -> Block:
    sent, call_id = context.kind_of(call, kind), context.ids[call.call_id]
    if sent not in (FUNCTION, CUSTOM):
        return {**copied(given), "call_id": call_id}
    extras = copied(given) if sent == kind else {}
    name = fitting_name(call.name, "[^a-zA-Z0-9_-]", 64)
    text = call.arguments if sent == CUSTOM else arguments_json(call.arguments)
    return {**extras, "type": sent, "call_id": call_id, "name": name, CALLS[sent].arguments[0]: text or ""}


def _result(item: Item, kind: str, context: _Context) -> Block:
    (kept, *_) = kept_items(item.metadata) or [{}]
    if RESULTS.get(type_of(kept)) != kind or not complete(kept):
        kept = {}
    elif kind not in (FUNCTION, CUSTOM):
        renamed = {"call_id": context.ids[str(item.call_id)]} if "call_id" in kept else {}
        return {"output": item.text, **copied(kept), **renamed}
    sent = kind if kind in (FUNCTION, CUSTOM) else FUNCTION
    output = spelled(item, NAME, spell) if isinstance(item.content, list) else item.text
    about = {"type": f"{sent}_output", "call_id": context.ids[str(item.call_id)]}
    return {"output": output or "", **copied(kept), **about}


def _message(item: Item) -> Block:
    """A message as it was imported where that is one of OpenAI's; else in the short form."""
    (kept, *_) = kept_items(item.metadata) or [{}]
    if item.role != "assistant" and type_of(kept) == "message" and (given := given_message(kept)):
        return given
    role = "developer" if item.metadata.get(ROLE_KEY) == "developer" else item.role
    if not isinstance(item.content, list):
        return {"role": role, "content": item.text}
    if role == "assistant":
        return {"role": role, "content": _text(item)}
    return {"role": role, "content": spelled(item, NAME, spell) or ""}
