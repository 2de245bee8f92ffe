"""The sendable list as OpenAI Responses items: `responses.create(**request)`.

The leading system messages are `instructions`, unless they were items before. A turn is its message and then
its calls, or the items that it was imported from, one by one. What the service refuses is left out: reasoning
that leads to nothing, an id that is not its item's kind's or that stands twice.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from turnledger.domain.pairing import Call, Item
from turnledger.domain.values import copied
from turnledger.projections.providers.arguments import arguments_json
from turnledger.projections.providers.keeping import Block, kept_blocks, with_calls_left
from turnledger.projections.providers.naming import call_ids, fitting_name
from turnledger.projections.providers.openai_chat import IDS, ROLE_KEY, is_custom, role_of
from turnledger.projections.providers.openai_items import (
    CALLS,
    CUSTOM,
    FUNCTION,
    RESULTS,
    SAID_BY_TEXT,
    type_of,
)
from turnledger.projections.providers.openai_messages import given_message, given_parts, spell
from turnledger.projections.providers.openai_order import accepted, is_sound
from turnledger.projections.providers.table import spelled

NAME = "openai-responses"
RENDERING = 1  # another number whenever the same events come to be rendered in another way


@dataclass(frozen=True, slots=True)
class _Context:
    """What rendering an item needs of others: ids as sent, the kinds of calls, and of their results."""

    ids: Mapping[str, str]
    kinds: Mapping[str, str]
    answers: Mapping[str, str]
    given: Callable[[Block], Block | None]

    def sent_as(self, call_id: str) -> str:
        """The kind that a call is sent as: its own where its result is of that kind, else a function's."""
        kind = self.kinds.get(call_id, FUNCTION)
        return kind if kind in (FUNCTION, CUSTOM, self.answers.get(call_id)) else FUNCTION


def rendered(items: list[Item]) -> tuple[list[Block], Block]:
    """The input items, and the keyword arguments of one request."""
    instructions = list(takewhile(_is_instruction, items))
    sent = accepted(items_of(items[len(instructions) :], _shortened(items)))
    told = "\n\n".join(text for item in instructions if (text := _text(item)))
    return sent, {"input": sent} | ({"instructions": told} if told else {})


def _shortened(items: list[Item]) -> dict[str, str]:
    return call_ids(items, IDS, lambda digits: f"call_{digits[:24]}")


def _is_instruction(item: Item) -> bool:
    return item.role == "system" and item.metadata.get(ROLE_KEY) is None and not _kept(item)


def _text(item: Item) -> str:
    return "\n".join(block["text"] for block in spelled(item, NAME, spell))


def items_of(
    items: Iterable[Item],
    ids: Mapping[str, str],
    given: Callable[[Block], Block | None] = given_message,
) -> Iterator[Block]:
    """The input items of these, with the ids that are sent; `given` makes of a message kept what is sent."""
    items = list(items)
    seen: set[Any] = set()
    kinds = {call_id: kind for item in items for call_id, kind in _kinds(item, seen).items()}
    answers = {str(item.call_id): _answered(item) for item in items if item.role == "tool"}
    context = _Context(ids, kinds, answers, given)
    for item in items:
        if item.role == "tool":
            yield _result(item, context)
        elif item.role == "assistant":
            yield from _turn(item, context)
        else:
            yield _message(item, given)


def _kept(item: Item) -> list[Block]:
    return kept_blocks(NAME, item.metadata) or []


def _kinds(item: Item, seen: set[Any]) -> dict[str, str]:
    """The kind of each of a turn's calls, as it came; one that cannot be sent so again is a function's.

    `seen` holds the ids of the calls' items so far: only a function's call may go without.
    """
    kinds: dict[str, str] = {}

    def note(call: Call, given: Block) -> Block:
        custom = is_custom(call, item) and isinstance(call.arguments, str)
        kind, item_id = type_of(given), given.get("id")
        doubled = isinstance(item_id, str) and item_id in seen
        if kind not in (FUNCTION, CUSTOM) and (doubled or not is_sound(given)):
            kind = ""
        kinds[call.call_id] = kind or (CUSTOM if custom else FUNCTION)
        seen.update([item_id] if isinstance(item_id, str) else [])
        return given

    with_calls_left(_kept(item), item, _is_call, note)
    return kinds


def _is_call(item: Block) -> bool:
    return type_of(item) in CALLS


def _is_done(item: Block) -> bool:
    """Whether an item can stand in the assistant's turn."""
    return item.get("role") == "assistant" if type_of(item) == "message" else type_of(item) not in RESULTS


def _kept_result(item: Item) -> Block:
    """A result's item as it came: a text that the message says is not kept twice."""
    (kept, *_) = _kept(item) or [{}]
    is_said = type_of(kept) in SAID_BY_TEXT and isinstance(item.content, str) and item.content != ""
    return {"output": item.content, **kept} if is_said else kept


def _answered(item: Item) -> str:
    """The kind of call that a result answers in its own words; a function's where it has none."""
    kept = _kept_result(item)
    kind = RESULTS.get(type_of(kept), FUNCTION)
    return kind if kind in (FUNCTION, CUSTOM) or is_sound(kept) else FUNCTION


def _turn(item: Item, context: _Context) -> Iterator[Block]:
    kept = [one for one in _kept(item) if _is_done(one)]
    if item.text and not any(type_of(one) == "message" for one in kept):
        yield _message(item, context.given)
    for one in with_calls_left(kept, item, _is_call, lambda call, given: _call(call, given, context)):
        if type_of(one) != "message":
            yield copied(one)
        elif message := context.given(one):
            yield message


def _call(call: Call, given: Block, context: _Context) -> Block:
    kind, call_id = context.sent_as(call.call_id), context.ids[call.call_id]
    if kind not in (FUNCTION, CUSTOM):
        return {**given, "call_id": call_id}
    extras = given if type_of(given) == kind else {}
    name = fitting_name(call.name, "[^a-zA-Z0-9_-]", 64)
    text = call.arguments or "" if kind == CUSTOM else arguments_json(call.arguments)
    text = text if isinstance(text, str) else arguments_json(text)
    return {**extras, "type": kind, "call_id": call_id, "name": name, CALLS[kind].arguments[0]: text}


def _result(item: Item, context: _Context) -> Block:
    kind, call_id = context.sent_as(str(item.call_id)), context.ids.get(str(item.call_id), "")
    kept = copied(_kept_result(item)) if _kept(item) and _answered(item) == kind else {}
    if kind not in (FUNCTION, CUSTOM):
        incoming = item.metadata.get("original_id", item.call_id)
        naming = [key for key in ("call_id", "id") if key in kept and kept[key] == incoming]
        return kept | dict.fromkeys(["call_id"] if "call_id" in kept else naming, call_id)
    made = spelled(item, NAME, spell) if isinstance(item.content, list) else item.text
    output = given_parts(kept.get("output")) or made or ""
    return {**kept, "output": output, "type": f"{kind}_output", "call_id": call_id}


def _message(item: Item, given: Callable[[Block], Block | None]) -> Block:
    """A message as it was imported where that is one of OpenAI's; else in the short form."""
    kept = _kept(item)
    if item.role != "assistant" and kept and (message := given(kept[0])):
        return message
    role = role_of(item)
    if not isinstance(item.content, list):
        return {"role": role, "content": item.text}
    if role == "assistant":
        return {"role": role, "content": _text(item)}
    return {"role": role, "content": spelled(item, NAME, spell) or ""}
