"""Rows of a conversation as they stand, and as they are to be: which stay, change or are new, each numbered.

A client reads a conversation's rows by a number of theirs, so that a new one needs a number between those of
its neighbours. Rows keep their own where they can; where there is none left, those behind move up.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from turnledger.importing.doctor.patching import Origins, patched, style_of


@dataclass(slots=True, eq=False)
class Row:
    """One item of a conversation: the `id` of its row, the number that it is read by, its text and value.

    `link` is the id of the row that puts it into a branch, where there are branches.
    """

    id: int
    number: int
    link: int | None
    text: str
    value: Any


@dataclass(slots=True, eq=False)
class Wanted:
    """A row as it is to be: which one it is, None for a new one, its item, text, and whether it moves."""

    row: Row | None
    item: Any
    text: str
    moved: bool = False

    @property
    def changed(self) -> bool:
        return self.row is None or self.moved or self.text != self.row.text


def wanted(rows: Sequence[Row], items: Iterable[Any], moved: set[int], origins: Origins) -> Iterator[Wanted]:
    """The rows of these items, in order; `moved` are the places of the rows that stand elsewhere now.

    A new one is written in the style of the one before it.
    """
    place_of = {id(row.value): place for place, row in enumerate(rows)}
    before = rows[0].text if rows else ""
    for item in items:
        place = place_of.get(id(origins.of(item)))
        if place is None:
            yield Wanted(None, item, style_of(before).written(item, ""))
        else:
            row = rows[place]
            before = row.text
            yield Wanted(row, item, patched(row.text, row.value, item, origins), place in moved)


def numbered(found: Sequence[Wanted], taken: Container[int]) -> list[int]:
    """A number for each, rising, its own where it can be; none of those that others have `taken`."""
    numbers: list[int] = []
    last = min((one.row.number for one in found if one.row), default=1) - 1
    for one in found:
        own = one.row.number if one.row and not one.moved else last
        last = own if own > last else _free(last + 1, taken)
        numbers.append(last)
    return numbers


def _free(number: int, taken: Container[int]) -> int:
    while number in taken:
        number += 1
    return number
