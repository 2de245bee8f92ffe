"""Calls and results in any list: what is unusable, orphan, doubled, unanswered or displaced, and the repair.

The one procedure of MEM-5 rules 3 and 4, for `normalize`, for every provider and for a reasoner in mid-loop.
It works on items, so that what was dropped can be named by its place in the input.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from turnledger.domain.messages import (
    PLACEHOLDER_TEXT,
    ROLES,
    Pairing,
    arguments_of_call,
    as_map,
    id_of_call,
    metadata_of,
    name_of_call,
    pairing_of,
)
from turnledger.domain.values import Unkeepable, json_text, kept, scrubbed

_GIVEN_LEVELS_MAX = 250

NO_MAP = "it is no map"
NO_ROLE = "it has no role"
UNUSABLE_CALL = "the call has no usable id"
REPEATED_CALL = "the call's id was declared before"
EMPTY_TURN = "the turn lost its calls and has no content"
UNUSABLE_RESULT = "the result has no usable call id"
ORPHAN_RESULT = "no turn declares the result's call"
DOUBLED_RESULT = "another result stands for the same call"
LEADING_RESULT = "the result leads the list, before its call"


@dataclass(frozen=True, slots=True)
class Drop:
    """One thing that normalization dropped: the index of its message in the input, why, and the call id."""

    index: int
    reason: str
    call_id: str | None = None


def in_order(drops: list[Drop]) -> list[Drop]:
    """Drops by the place of their message."""
    return sorted(drops, key=lambda drop: drop.index)


class Normalized(NamedTuple):
    """A list of flat messages and what was dropped to get there; `dropped` counts the drops themselves."""

    messages: list[dict[str, Any]]
    drops: tuple[Drop, ...]

    @property
    def dropped(self) -> int:
        return len(self.drops)


class Call(NamedTuple):
    """A call that survived: its usable id, its name, its arguments as given (None for none)."""

    call_id: str
    name: str
    arguments: Any


@dataclass(slots=True)
class Item:
    """A message on its way through the repair; `content` is as given, `text` is what MEM-5 makes of it."""

    index: int
    role: str
    content: Any
    text: str
    metadata: Mapping[Any, Any] = field(default_factory=dict)
    name: str | None = None
    calls: list[Call] = field(default_factory=list)
    call_id: str | None = None
    healed: bool = False
    lost_calls: bool = False

    def flat(self) -> dict[str, Any]:
        """The flat shape."""
        message: dict[str, Any] = {"role": self.role, "content": self.text}
        if self.name is not None:
            message["name"] = self.name
        if self.calls:
            message["tool_calls"] = [_flat_call(call) for call in self.calls]
        if self.call_id is not None:
            message["tool_call_id"] = self.call_id
        return message


def _flat_call(call: Call) -> dict[str, Any]:
    flat: dict[str, Any] = {"tool_call_id": call.call_id, "name": call.name}
    if call.arguments is not None:
        flat["arguments"] = call.arguments
    return flat


def coerced(messages: Iterable[Any], drops: list[Drop], *, first: int = 0) -> list[Item]:
    """MEM-5 rule 1: each entry in the flat shape; what is no message, or has no role, is dropped.

    `first` is the index of the first message.
    """
    items: list[Item] = []
    for index, value in enumerate(messages, start=first):
        message = _map_of(value)
        role = message.get("role") if message is not None else None
        if message is None:
            drops.append(Drop(index, NO_MAP))
        elif not isinstance(role, str) or not role.strip():
            drops.append(Drop(index, NO_ROLE))
        else:
            items.append(item_of(index, message, coerced_role(role), drops))
    return items


def _map_of(value: Any) -> Mapping[Any, Any] | None:
    try:
        return as_map(value)
    except Unkeepable:
        return None


def coerced_role(role: Any) -> str:
    """MEM-16: a role outside the five, or none, is `user`."""
    return str.__str__(role) if isinstance(role, str) and role in ROLES else "user"


def coerced_content(content: Any) -> str:
    """MEM-5 rule 1: content as text; null as "", a scalar as its JSON text, the rest as compact JSON."""
    if isinstance(content, str):
        return scrubbed(content)
    return "" if content is None else json_text(content)


def item_of(index: int, message: Mapping[Any, Any], role: str, drops: list[Drop]) -> Item:
    """One message as an item; its calls without a usable id are dropped here."""
    pairing = pairing_of(message, role)
    content = message.get("content")
    item = Item(index, role, content, coerced_content(content), metadata_of(message), _name_of(message))
    if role == "assistant":
        _take_calls(item, pairing, drops)
    elif role == "tool":
        item.call_id, item.healed = pairing.call_id, pairing.healed
    return item


def _name_of(message: Mapping[Any, Any]) -> str | None:
    for name in (metadata_of(message).get("name"), message.get("name")):
        if isinstance(name, str) and name.strip():
            return scrubbed(name)
    return None


def _take_calls(item: Item, pairing: Pairing, drops: list[Drop]) -> None:
    for value in pairing.calls:
        call = _map_of(value)
        usable = id_of_call(call) if call is not None else None
        if call is None or usable is None:
            item.lost_calls = True
            drops.append(Drop(item.index, UNUSABLE_CALL))
        else:
            item.calls.append(Call(usable, name_of_call(call), _given_arguments(call)))


def _given_arguments(call: Mapping[str, Any]) -> Any:
    """Arguments as given where JSON can hold them; those that it cannot are left out."""
    try:
        return kept(arguments_of_call(call), levels_max=_GIVEN_LEVELS_MAX)
    except (Unkeepable, RecursionError):
        return None


def repair_pairing(messages: Iterable[Any]) -> Normalized:
    """MEM-5 rule 3 alone, as a reasoner applies it in mid-loop: every call one result, no orphan, no double.

    Takes messages of any shape, returns flat ones. Order is left alone but for placeholders, each directly
    after its turn.
    """
    drops: list[Drop] = []
    items = repaired(coerced(messages, drops), drops)
    return Normalized([item.flat() for item in items], tuple(drops))


def repaired(items: list[Item], drops: list[Drop], before: Collection[str] = ()) -> list[Item]:
    """The procedure itself; running it again changes nothing. `before` are ids that turns before declared."""
    items = _without_repeated_calls(items, drops, before)
    declared = {call.call_id: place for place, item in enumerate(items) for call in item.calls}
    results = _one_result_a_call(items, declared, drops)
    repaired_items: list[Item] = []
    for item in items:
        if item.role != "tool" or (item.call_id is not None and results.get(item.call_id) is item):
            repaired_items.append(item)
        repaired_items.extend(
            Item(item.index, "tool", PLACEHOLDER_TEXT, PLACEHOLDER_TEXT, call_id=call.call_id, healed=True)
            for call in item.calls
            if call.call_id not in results
        )
    return repaired_items


def _without_repeated_calls(items: list[Item], drops: list[Drop], before: Collection[str]) -> list[Item]:
    """The first declaration of an id owns it; a turn left with neither calls nor content goes too."""
    declared: set[str] = set()
    left: list[Item] = []
    for item in items:
        calls = []
        for call in item.calls:
            if call.call_id in declared or call.call_id in before:
                drops.append(Drop(item.index, REPEATED_CALL, call.call_id))
                item.lost_calls = True
            else:
                declared.add(call.call_id)
                calls.append(call)
        item.calls = calls
        if item.lost_calls and not calls and not item.text:
            drops.append(Drop(item.index, EMPTY_TURN))
        else:
            left.append(item)
    return left


def _one_result_a_call(items: list[Item], declared: Mapping[str, int], drops: list[Drop]) -> dict[str, Item]:
    """Of several results for one id the first real one behind its call, else the first real one, else the
    first."""
    best: dict[str, tuple[int, Item]] = {}
    for place, item in enumerate(items):
        if item.role != "tool":
            continue
        if item.call_id is None:
            drops.append(Drop(item.index, UNUSABLE_RESULT))
        elif item.call_id not in declared:
            drops.append(Drop(item.index, ORPHAN_RESULT, item.call_id))
        else:
            rank = 2 if item.healed else int(place < declared[item.call_id])
            held = best.get(item.call_id)
            if held is None or rank < held[0]:
                best[item.call_id] = (rank, item)
            if held is not None:
                loser = held[1] if rank < held[0] else item
                drops.append(Drop(loser.index, DOUBLED_RESULT, item.call_id))
    return {call_id: item for call_id, (_, item) in best.items()}


def without_leading_results(items: list[Item], drops: list[Drop]) -> list[Item]:
    """MEM-5 rule 4: what still leads with role `tool` goes, and what it answered is repaired again."""
    leading = 0
    while leading < len(items) and items[leading].role == "tool":
        drops.append(Drop(items[leading].index, LEADING_RESULT, items[leading].call_id))
        leading += 1
    return repaired(items[leading:], drops) if leading else items


def adjacent(items: list[Item]) -> list[Item]:
    """Each result in the run of results right behind its turn; one that is not is moved behind that run."""
    owner = {call.call_id: place for place, item in enumerate(items) for call in item.calls}
    in_run: dict[int, list[Item]] = {}
    moved: dict[int, list[Item]] = {}
    last_other = -1
    for place, item in enumerate(items):
        if item.role == "tool" and item.call_id in owner:
            turn = owner[item.call_id]
            (in_run if turn == last_other else moved).setdefault(turn, []).append(item)
        else:
            last_other = place
    result: list[Item] = []
    for place, item in enumerate(items):
        if item.role != "tool":
            result += [item, *in_run.get(place, ()), *moved.get(place, ())]
    return result
