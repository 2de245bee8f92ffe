"""The middle of the page: the timeline in blocks of fixed size, and the rail that shows it at a glance.

A block is drawn only near the version that is shown; the others are fetched when they come into view.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from turnledger.projections.timeline import TimelineLine

BLOCK = 100
CELLS_MAX = 400
_NOTABLE = (
    "damaged",
    "forked",
    "cleared",
    "retracted",
    "healed",
    "replaced",
    "discarded",
    "put back",
    "taken",
    "delivered",
    "held",
    "summary",
    "evicted",
    "user",
    "system",
    "developer",
    "request",
    "record",
    "assistant",
    "tool",
)


@dataclass(frozen=True, slots=True)
class Block:
    """Versions `first` to `last`; `lines` is None where the block is not drawn."""

    first: int
    last: int
    lines: Sequence[TimelineLine] | None


@dataclass(frozen=True, slots=True)
class Cell:
    """A stretch of the rail: where it begins, how wide it is, and the kind of what is most notable in it."""

    start: int
    width: int
    kind: str


def blocks(lines: Sequence[TimelineLine], version: int) -> list[Block]:
    """All blocks, of which that of the version and its neighbours are drawn."""
    near = max(version - 1, 0) // BLOCK
    return [
        block(lines, first // BLOCK, drawn=abs(first // BLOCK - near) <= 1)
        for first in range(0, len(lines), BLOCK)
    ]


def block(lines: Sequence[TimelineLine], number: int, *, drawn: bool = True) -> Block:
    """One block, counted from 0."""
    first, end = number * BLOCK, min((number + 1) * BLOCK, len(lines))
    return Block(first + 1, end, lines[first:end] if drawn else None)


def rail(lines: Sequence[TimelineLine]) -> list[Cell]:
    """The kinds of all events from left to right, on a rail as wide as there are versions."""
    count = min(len(lines), CELLS_MAX)
    kinds = [
        min((line.kind for line in lines[_at(n, count, lines) : _at(n + 1, count, lines)]), key=_rank)
        for n in range(count)
    ]
    cells, place = [], 0
    for kind, group in groupby(kinds):
        start, place = place, place + len(list(group))
        begin = _at(start, count, lines)
        cells.append(Cell(begin, _at(place, count, lines) - begin, kind))
    return cells


def _at(number: int, count: int, lines: Sequence[TimelineLine]) -> int:
    return number * len(lines) // count


def _rank(kind: str) -> int:
    return _NOTABLE.index(kind) if kind in _NOTABLE else len(_NOTABLE)


def css_class(kind: str) -> str:
    """The class of a kind of event, or of a role; only words that we know become one."""
    known = kind in _NOTABLE or kind == "started"
    return f"k-{kind.replace(' ', '-')}" if known else "k-other"
