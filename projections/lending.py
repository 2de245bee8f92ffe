"""The flat list, lent to a caller who treats its messages as read-only, and lent again once it is free.

To make a list of ten thousand messages counts a reference to each, all over the memory, which takes longer
than the rest of a reading. So a list that nobody holds any more, and that is as it was when it was lent,
grows by what came since. A loop holds the last list while it asks for the next: hence two of them.
"""

import sys
from typing import Any

Flat = dict[str, Any]
Stretches = tuple[list[Flat], list[Flat], list[Flat], list[Flat]]
LISTS = 2


class LentList:
    """A list that was lent, `messages`, and the same again as it was then: its holder may have changed it."""

    __slots__ = ("_others", "_systems", "_twin", "messages")

    def __init__(self, systems: list[Flat], others: list[Flat]) -> None:
        self._systems = len(systems)
        self._others = len(others)
        self.messages = [*systems, *others]
        self._twin = self.messages.copy()

    def is_free(self, systems: int) -> bool:
        """Whether nobody holds it, it is as it was, and the settled messages that lead are still as many."""
        return (
            systems == self._systems
            and sys.getrefcount(self.messages) == _HELD_BY_NOBODY
            and self.messages == self._twin
        )

    def grown(self, others: list[Flat], tail: list[Flat]) -> list[Flat]:
        """The list with what is settled by now, and `tail` behind it."""
        coming = [*others[self._others :], *tail]
        for messages in (self.messages, self._twin):
            messages[self._systems + self._others :] = coming
        self._others = len(others)
        return self.messages


class Lending:
    """The lists that were lent of settled messages which only grow at their end."""

    __slots__ = ("_lists",)

    def __init__(self) -> None:
        self._lists: list[LentList] = []

    def lent(self, stretches: Stretches) -> list[Flat]:
        """The whole list: settled system messages and others, of which there may be no fewer than last time,
        each with what is not settled behind it."""
        systems, new_systems, others, new_others = stretches
        if new_systems or _HELD_BY_NOBODY is None:
            return [*systems, *new_systems, *others, *new_others]
        free = next((lent for lent in self._lists if lent.is_free(len(systems))), None)
        if free is None:
            free = LentList(systems, others)
            self._lists = [*self._lists, free][-LISTS:]
        return free.grown(others, new_others)


def _held_by_nobody() -> int | None:
    """What `is_free` counts for a list that only its `LentList` holds; None where none are counted."""
    counts = getattr(sys, "getrefcount", None)
    if counts is None or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return None
    alone, held = LentList([], []), LentList([], [])
    holder = held.messages
    number: int = counts(alone.messages)
    return number if counts(held.messages) == number + 1 and not holder else None


_HELD_BY_NOBODY = _held_by_nobody()
