"""Calls and results without ids: each call gets one of its place, each result that of the call it answers."""

from typing import Any


class Unanswered:
    """The calls of a transcript that nothing has answered yet, in the order of their declaration.

    A result without an id answers the first open call of its name; without a name, the first open one.
    """

    def __init__(self) -> None:
        self._open: list[tuple[Any, str]] = []

    def declare(self, index: int, place: int, name: Any, given: str | None = None) -> str:
        """The id of the call at that place of that message: its own where it has one."""
        call_id = given or f"call_{index}_{place}"
        self._open.append((name, call_id))
        return call_id

    def answer(self, name: Any = None, given: str | None = None) -> str | None:
        """The id of the call that a result answers: its own where it has one; None where no call is open."""
        for place, (declared, call_id) in enumerate(self._open):
            if call_id == given or (given is None and name in (None, declared)):
                del self._open[place]
                return call_id
        return given

    def forget(self) -> None:
        """Nothing that comes answers a call so far."""
        self._open.clear()
