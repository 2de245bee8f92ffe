"""A map over another that stays as it is: what a draft keeps its changes in, until they are adopted."""

from collections.abc import Iterator, Mapping, MutableMapping
from itertools import chain
from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Overlay(MutableMapping[Key, Value]):
    """What is set here shows here alone; all else is what the map below has. Nothing can be deleted."""

    __slots__ = ("below", "changed")

    def __init__(self, below: Mapping[Key, Value]) -> None:
        self.below = below
        self.changed: dict[Key, Value] = {}

    def __getitem__(self, key: Key) -> Value:
        return self.changed[key] if key in self.changed else self.below[key]

    def __contains__(self, key: object) -> bool:
        return key in self.changed or key in self.below

    def __setitem__(self, key: Key, value: Value) -> None:
        self.changed[key] = value

    def __delitem__(self, key: Key) -> None:
        raise TypeError("an overlay cannot delete what the map below it has")

    def __iter__(self) -> Iterator[Key]:
        return chain(self.below, (key for key in self.changed if key not in self.below))

    def __len__(self) -> int:
        return len(self.below) + sum(key not in self.below for key in self.changed)


def adopt(original: MutableMapping[Key, Value], draft: MutableMapping[Key, Value]) -> None:
    """Takes over what was set in an overlay of this map."""
    if isinstance(draft, Overlay):
        original.update(draft.changed)
