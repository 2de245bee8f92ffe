"""One step of a client's message: what was said and called in it, its results, and the rest of its parts.

Clients hold a whole turn, or several, in the parts of one message. A step becomes one message of ours and one
for each result. What a part holds beyond our shape stays in metadata, under the format's name, as
`{"at": its place, …}`; a part that says nothing (reasoning, a source, a mark) stays there whole.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from turnledger.domain.values import json_text
from turnledger.importing.reading import Read, beyond, said
from turnledger.projections.parts import REASONING_TYPES, text_of
from turnledger.projections.providers.anthropic import NAME as ANTHROPIC
from turnledger.projections.providers.keeping import BLOCKS_KEY, ERROR_KEY, Block

PARTS_KEY = "parts"
_PLACE_KEY, _WHOLE_KEY = "at", "part"


@dataclass(slots=True)
class Step:
    """A step on its way; `known` is what its message says beyond the parts."""

    format: str
    index: int
    role: str = "assistant"
    known: dict[str, Any] = field(default_factory=dict)
    places: list[int] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)
    _said: list[tuple[int, Any, Any, tuple[str, ...]]] = field(default_factory=list)
    _kept: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    _results: list[Read] = field(default_factory=list)
    _spoken: list[Block] = field(default_factory=list)

    def say(self, place: int, part: Any, block: Any, carried: Iterable[str]) -> None:
        """A part that says something: as content it is `block`, which carries these of its keys."""
        self.places.append(place)
        self._said.append((place, part, block, tuple(carried)))
        text = text_of(block)
        self._spoken += [] if text is None else [{"type": "text", "text": text}]

    def think(self, place: int, part: Any, blocks: Iterable[Block]) -> None:
        """What was thought, kept; and the signed blocks of it for the provider that takes them back."""
        self.keep(place, part)
        self._spoken += blocks

    def call(self, place: int | None, call_id: Any, name: Any, arguments: Any) -> None:
        """A call; one that stands beside the parts has no place."""
        self.places += [] if place is None else [place]
        self.calls.append({"tool_call_id": call_id, "name": name, "arguments": arguments})
        self._spoken.append({"type": "tool_use"})

    def answer(self, place: int, call_id: Any, content: Any, known: Mapping[str, Any], failed: bool) -> None:
        """The result of a call, to stand behind this step."""
        metadata = ({ERROR_KEY: True} if failed else {}) | ({self.format: dict(known)} if known else {})
        message = {"role": "tool", "content": content, "tool_call_id": call_id}
        self._results.append(
            Read(message | ({"metadata": metadata} if metadata else {}), self.index, (place,))
        )

    def keep(self, place: int, part: Any, carried: Iterable[str] = ()) -> None:
        """What a part holds beyond the keys that were carried over; a part that is no map whole."""
        rest = beyond(part, carried) if isinstance(part, Mapping) else part
        if rest or not isinstance(part, Mapping):
            self.places.append(place)
            self._kept.append((place, at_its_place(place, rest)))

    @property
    def answered(self) -> bool:
        return bool(self._results)

    @property
    def empty(self) -> bool:
        return not (self.places or self.known or self._results)

    def reads(self) -> Iterator[Read]:
        """The message, and then the results."""
        if self.role == "tool" and self._results:
            first = self._results[0].message
            first["metadata"] = _merged(first.get("metadata", {}), self._message().get("metadata", {}))
        elif self.places or self.known or not self._results:
            yield Read(self._message(), self.index, tuple(sorted(set(self.places))))
        yield from self._results

    def _message(self) -> dict[str, Any]:
        content = said([block for _, _, block, _ in self._said], self.role)
        message: dict[str, Any] = {"role": self.role, "content": content if self._said else ""}
        if self.calls:
            message["tool_calls"] = self.calls
        for place, part, block, carried in self._said:
            if isinstance(content, str) and len(self._said) > 1:
                self.keep(place, part)
            elif isinstance(content, str) or block is not part:
                self.keep(place, part, carried)
        parts = [kept for _, kept in sorted(self._kept, key=lambda kept: kept[0])]
        known = self.known | ({PARTS_KEY: parts} if parts else {})
        metadata: dict[str, Any] = {self.format: known} if known else {}
        if any(block["type"] in REASONING_TYPES for block in self._spoken):
            metadata[ANTHROPIC] = {BLOCKS_KEY: self._spoken}
        return message | ({"metadata": metadata} if metadata else {})


def at_its_place(place: int, rest: Any) -> dict[str, Any]:
    """What is kept of a part, with its place; what is no map, or holds that key itself, a level deeper."""
    plain = isinstance(rest, Mapping) and _PLACE_KEY not in rest
    return {_PLACE_KEY: place, **(rest if plain else {_WHOLE_KEY: rest})}


def _merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Both metadata of one format in one."""
    return one | {key: {**one.get(key, {}), **value} for key, value in other.items()}


def result_text(value: Any) -> str:
    """What a tool gave back, as the model gets it: a text, or JSON."""
    return value if isinstance(value, str) else "" if value is None else json_text(value)
