"""Normalization (MEM-5): from any list to one that a provider accepts, with what was dropped on the way."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from turnledger.domain.errors import InvalidMessage
from turnledger.domain.messages import SYSTEM_ROLES, call_id
from turnledger.domain.pairing import (
    Drop,
    Item,
    Normalized,
    adjacent,
    coerced,
    coerced_content,
    coerced_role,
    in_order,
    repaired,
    without_leading_results,
)

RENDERING = 1  # of the flat list: another number whenever the same events come to give another one


@dataclass(frozen=True, slots=True)
class Sendable:
    """The list that a provider accepts at `version`, and what normalization dropped from the buffer.

    `request` holds the keyword arguments that the provider's client takes, None where no provider was named.
    """

    messages: list[dict[str, Any]]
    drops: tuple[Drop, ...]
    version: int
    request: dict[str, Any] | None = None

    @property
    def dropped(self) -> int:
        return len(self.drops)


def normalize(messages: Iterable[Any]) -> Normalized:
    """Makes any list of messages, from anywhere, one that a provider accepts (MEM-5); never raises for it.

    >>> lost = {"role": "tool", "content": "lost", "tool_call_id": "c1"}
    >>> done = normalize([lost, {"role": "user", "content": 7}])
    >>> done.messages, done.dropped, done.drops[0].reason
    ([{'role': 'user', 'content': '7'}], 1, "no turn declares the result's call")
    """
    items, drops = normalized_items(assemble(messages))
    return Normalized([item.flat() for item in items], tuple(drops))


def normalized_items(messages: Iterable[Any]) -> tuple[list[Item], list[Drop]]:
    """The five steps in order, on items that still hold content as given."""
    drops: list[Drop] = []
    items = coerced(messages, drops)
    systems = [item for item in items if item.role in SYSTEM_ROLES]
    others = repaired([item for item in items if item.role not in SYSTEM_ROLES], drops)
    return systems + adjacent(without_leading_results(others, drops)), in_order(drops)


def message_from_text(text: Any, role: Any, tool_call_id: Any = None) -> dict[str, Any] | None:
    """MEM-16: one flat message of a text, or None where the text is empty.

    A role outside the five, or none, becomes `user`; a call id is kept on role `tool` only.
    """
    content, known_role = coerced_content(text), coerced_role(role)
    if not content:
        return None
    message = {"role": known_role, "content": content}
    usable = call_id(tool_call_id)
    if known_role == "tool" and usable:
        message["tool_call_id"] = usable
    return message


def assemble(*sources: Any) -> list[Any]:
    """MEM-4: message sources in declared order as one flat list; a missing source (None) leaves no gap.

    Raises `InvalidMessage`, naming the source, for one that is neither a message nor an iterable of them.
    """
    messages: list[Any] = []
    for index, source in enumerate(sources):
        if source is None:
            continue
        if isinstance(source, Mapping) or hasattr(source, "model_dump"):
            messages.append(source)
        elif isinstance(source, Iterable) and not isinstance(source, str | bytes):
            messages.extend(source)
        else:
            raise InvalidMessage(index, f"the source is a {type(source).__name__!r}, no list of messages")
    return messages
