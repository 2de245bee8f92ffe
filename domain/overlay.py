"""A map over another that stays as it is: what a draft keeps its changes in, until they are adopted."""

from collections.abc import Iterator, Mapping, MutableMapping
from itertools import chain
from typing import Any, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")
_GONE: Any = object()


class Overlay(MutableMapping[Key, Value]):
    """What is set or deleted here shows here alone; all else is what the map below has."""

    __slots__ = ("below", "changed", "deletes")

    def __init__(self, below: Mapping[Key, Value]) -> None:
        self.below = below
        self.changed: dict[Key, Value] = {}
        self.deletes = False

    def __getitem__(self, key: Key) -> Value:
        if key not in self.changed:
            return self.below[key]
        value = self.changed[key]
        if value is _GONE:
            raise KeyError(key)
        return value

    def __contains__(self, key: object) -> bool:
        if key in self.changed:
            return self.changed[key] is not _GONE
        return key in self.below

    def __setitem__(self, key: Key, value: Value) -> None:
        self.changed[key] = value

    def __delitem__(self, key: Key) -> None:
        if key not in self:
            raise KeyError(key)
        self.changed[key] = _GONE
        self.deletes = True

    def __iter__(self) -> Iterator[Key]:
        both = chain(self.below, (key for key in self.changed if key not in self.below))
        return (key for key in both if key in self) if self.deletes else both

    def __len__(self) -> int:
        if self.deletes:
            return sum(1 for _ in self)
        return len(self.below) + sum(key not in self.below for key in self.changed)


def adopt(original: MutableMapping[Key, Value], draft: MutableMapping[Key, Value]) -> None:
    """Takes over what was set and deleted in an overlay of this map."""
    if isinstance(draft, Overlay):
        original.update(draft.changed)
        if draft.deletes:
            for key in [key for key, value in draft.changed.items() if value is _GONE]:
                del original[key]


def empty(mapping: MutableMapping[Any, Any]) -> None:
    """Deletes everything."""
    for key in list(mapping):
        del mapping[key]
