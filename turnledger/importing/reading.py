"""What every format's reading gives: messages as the store takes them, each with the place it came from.

A reading keeps what its format knows beyond our shape in metadata, under the format's name, and only where
the provider of that name would not make the same again of our shape.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnledger.domain.messages import ROLES
from turnledger.domain.pairing import Item, item_of
from turnledger.domain.values import Unkeepable, canonical, kept
from turnledger.projections.parts import Part, part_of
from turnledger.projections.providers.keeping import BLOCKS_KEY


@dataclass(frozen=True, slots=True)
class Read:
    """A message to append, the index of the one that it came from, and the blocks of that which it took.

    No blocks means the whole message.
    """

    message: Any
    index: int
    blocks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Format:
    """A format by name: how a list of its messages is read, and what only its messages show.

    `read(messages, start)` reads the messages from `start` on; those before it are looked at for their ids
    alone, so that no message spans it. `marks` says whether one message can be of no other format.
    """

    name: str
    read: Callable[[Sequence[Any], int], Iterator[Read]]
    marks: Callable[[Mapping[str, Any]], bool]


def in_order(role: Any, left: list[Read], results: list[Read]) -> list[Read]:
    """A message's results and what is left of it: results first, save those of a turn that holds its own."""
    return left + results if role == "assistant" else results + left


def said(blocks: Sequence[Any], role: str) -> Any:
    """What blocks say, as content: one text where all of it is text, else the blocks that say it.

    Adjacent texts of the assistant are pieces of one text; other texts stand on lines of their own.
    """
    parts = {place: part_of(block) for place, block in enumerate(blocks)}
    spoken = {place: part for place, part in parts.items() if part is None or part.kind != "reasoning"}
    texts = {place: part for place, part in spoken.items() if part and part.kind == "text"}
    return _joined(texts, role) if len(texts) == len(spoken) else [blocks[place] for place in spoken]


def _joined(texts: Mapping[int, Part], role: str) -> str:
    whole, last = "", -1
    for place, part in texts.items():
        apart = whole and part.text and not (role == "assistant" and place == last + 1)
        whole += f"\n{part.text}" if apart else part.text
        last = place
    return whole


def as_item(message: Mapping[str, Any]) -> Item:
    """A read message as a provider's rendering gets it."""
    return item_of(0, message, message["role"], [])


def own_ids(item: Item) -> dict[str, str]:
    """Ids sent as they are."""
    ids = [call.call_id for call in item.calls] + ([item.call_id] if item.call_id else [])
    return {call_id: call_id for call_id in ids}


def with_blocks(
    message: dict[str, Any],
    blocks: list[Any],
    provider: str,
    blocks_of: Callable[[Item, dict[str, str]], list[dict[str, Any]]],
) -> dict[str, Any]:
    """A read message; with its blocks, where the provider would not make the same of it again."""
    if message["role"] in ROLES:
        item = as_item(message)
        nameless = message["role"] == "tool" and item.call_id is None
        if nameless or not equal(blocks_of(item, own_ids(item)), blocks):
            known = message["metadata"].get(provider, {})
            message["metadata"] = {**message["metadata"], provider: {**known, BLOCKS_KEY: blocks}}
    if not message["metadata"]:
        del message["metadata"]
    return message


def equal(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; what JSON cannot hold equals nothing."""
    try:
        return canonical(kept(one)) == canonical(kept(other))
    except (Unkeepable, RecursionError):
        return False


def beyond(message: Mapping[str, Any], known: Iterable[str]) -> dict[str, Any]:
    """What a message holds under other keys than these."""
    return {key: value for key, value in message.items() if key not in known and value is not None}
