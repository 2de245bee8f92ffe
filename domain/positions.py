"""Where an entry of a buffer stands."""

from collections.abc import Sequence

NEAR = 32


def position_of(entry: int, order: Sequence[int]) -> int:
    """The position of an entry, looked for from the end, where most of the work is, and ever further.

    Raises `ValueError` where it is not there.
    """
    end, stretch = len(order), NEAR
    while end > 0:
        start = max(end - stretch, 0)
        found = order[start:end]
        if entry in found:
            return end - 1 - found[::-1].index(entry)
        end, stretch = start, stretch * 4
    raise ValueError(f"entry {entry} is not in the buffer")
