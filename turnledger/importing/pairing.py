"""Calls and results without ids: each call gets one of its place, each result that of the call it answers."""

from collections.abc import Mapping
from typing import Any

from turnledger.domain.messages import call_id, id_of_call, name_of_call

_NO_ID = "null"  # what Mistral's library writes for none


def given_id(value: Any) -> str | None:
    """An id as it was given, None for what is none."""
    usable = call_id(value)
    return None if usable == _NO_ID else usable


class Unanswered:
    """The calls of a transcript that nothing has answered yet, in the order of their declaration.

    A result without an id answers an open call of its name; without a name, any open one: of the latest turn,
    there one that came without an id before one with (which its own result will name), and the first.
    """

    def __init__(self) -> None:
        self._open: list[tuple[int, bool, Any, str]] = []

    def declare(self, index: int, place: int, name: Any, given: str | None = None) -> str:
        """The id of the call at that place of that message: its own where it has one."""
        call_id = given or f"call_{index}_{place}"
        self._open.append((index, given is None, name, call_id))
        return call_id

    def declared(self, calls: Any, index: int) -> Any:
        """A message's calls in OpenAI's shape, each with an id; what is no list of calls as it is."""
        if not isinstance(calls, list) or not all(isinstance(call, Mapping) for call in calls):
            return calls
        return [
            {**call, "id": self.declare(index, place, name_of_call(call), given_id(id_of_call(call)))}
            for place, call in enumerate(calls)
        ]

    def answer(self, name: Any = None, given: str | None = None) -> str | None:
        """The id of the call that a result answers: its own where it has one; None where no call is open."""
        found = [
            one
            for one in self._open
            if one[3] == given or (given is None and (name is None or name == one[2]))
        ]
        if not found:
            return given
        answered = max(found, key=lambda one: one[:2])  # the first of equals
        self._open.remove(answered)
        return answered[3]
