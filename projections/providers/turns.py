"""Turns that alternate between the user and the model, for the providers that insist on it.

Messages of one side in a row are one turn, and the first turn is the user's. Results stand right behind
their turn in a normalized list, so they come first in the user's turn. A turn only ever grows at its end:
its blocks, one after another, are what stays equal as a conversation grows.
"""

from collections.abc import Iterable
from typing import Any

OPENING_TEXT = "(The conversation begins with the assistant.)"

Blocks = list[dict[str, Any]]


def alternating(
    spoken: Iterable[tuple[str, Blocks]], user: str, opening: dict[str, Any]
) -> list[tuple[str, Blocks]]:
    """The turns of these sides and their blocks; one without blocks says nothing. `opening` is the block that
    stands for the user where another speaks first."""
    turns: list[tuple[str, Blocks]] = []
    for side, blocks in spoken:
        if not blocks:
            continue
        if not turns and side != user:
            turns.append((user, [opening]))
        if turns and turns[-1][0] == side:
            turns[-1][1].extend(blocks)
        else:
            turns.append((side, list(blocks)))
    return turns
