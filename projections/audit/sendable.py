"""What a provider accepts (section 5), as the providers say it and not as the normalization does.

A list is judged message by message, and a list that grows only where it grew: at every version, then, at the
cost of what is new.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from turnledger.projections.audit.model import UNCOUNTED_ROLES, usable

ROLES = ("user", "assistant", "system", "developer", "tool")

Messages = Sequence[Mapping[str, Any]]
Stretches = tuple[Messages, Messages, Messages, Messages]
"""A list in four: system messages, settled and not, then others, settled and not. What is settled stays the
same list and grows at its end, or gives way to another; but a message in it may give way to another one."""


def unsendable(messages: Iterable[Mapping[str, Any]]) -> str | None:
    """Why a provider would refuse this list of flat messages, or None: it is sendable."""
    judge = Judge()
    return judge.take(messages) or judge.end()


class Judge:
    """Judges a list in order; `before` is the judge of what stands before it, and is left as it is."""

    def __init__(self, before: "Judge | None" = None) -> None:
        self._before: Collection[str] = before.declared if before else ()
        self.declared: set[str] = set()
        self.waiting: set[str] = set(before.waiting) if before else set()
        self.behind_others: bool = before.behind_others if before else False
        self.place: int = before.place if before else 0

    def take(self, messages: Iterable[Mapping[str, Any]]) -> str | None:
        """The first reason to refuse, if there is one; these messages are judged."""
        for message in messages:
            if reason := self._one(message):
                return f"message {self.place}: {reason}"
            self.place += 1
        return None

    def end(self) -> str | None:
        """Whether the list may end here."""
        return f"no result at the end for {', '.join(sorted(self.waiting))}" if self.waiting else None

    def _one(self, message: Mapping[str, Any]) -> str | None:
        if reason := malformed(message):
            return reason
        if message["role"] == "tool":
            return self._answers(message)
        if self.waiting:
            return f"no result behind its turn for {', '.join(sorted(self.waiting))}"
        if message["role"] not in UNCOUNTED_ROLES:
            self.behind_others = True
        elif self.behind_others:
            return "a system message stands behind others"
        return self._declares(message) if "tool_calls" in message else None

    def _answers(self, message: Mapping[str, Any]) -> str | None:
        call_id = message.get("tool_call_id")
        if not isinstance(call_id, str) or call_id not in self.waiting:
            return f"a result for {call_id!r} that the turn before it does not wait for"
        self.waiting.discard(call_id)
        return None

    def _declares(self, message: Mapping[str, Any]) -> str | None:
        calls = message["tool_calls"]
        if not isinstance(calls, list) or not calls or message["role"] != "assistant":
            return "its tool_calls is no list of calls of a turn"
        for call in calls:
            call_id = call.get("tool_call_id")
            if usable(call_id) != call_id or not isinstance(call.get("name"), str):
                return "a call has no usable id or no name"
            if call_id in self.declared or call_id in self._before:
                return f"call {call_id!r} is declared twice"
            self.declared.add(call_id)
            self.waiting.add(call_id)
        return None


def malformed(message: Mapping[str, Any]) -> str | None:
    if message.get("role") not in ROLES:
        return f"its role is {message.get('role')!r}"
    content = message.get("content")
    if not isinstance(content, str):
        return "its content is no text"
    try:
        if not content.isascii():
            content.encode()
    except UnicodeEncodeError:
        return "its text does not encode"
    return None


class GrowingList:
    """The judge of one list at every version: what is settled is judged once, the rest each time."""

    def __init__(self) -> None:
        self._start((), ())

    def _start(self, systems: Messages, others: Messages) -> None:
        self._systems, self._others = systems, others
        self._seen_systems = 0
        self._judge = Judge()
        self._place_of: dict[str, int] = {}
        self._sound = True

    def unsendable(self, stretches: Stretches) -> str | None:
        """The same as of the whole list."""
        systems, new_systems, others, new_others = stretches
        if systems is not self._systems or others is not self._others:
            self._start(systems, others)
        self._sound = self._sound and self._takes_what_is_settled() and all(map(_leads, new_systems))
        if self._sound:
            judge = Judge(self._judge)
            if not (judge.take(new_others) or judge.end()):
                return None
        return unsendable(message for stretch in stretches for message in stretch)

    def _takes_what_is_settled(self) -> bool:
        first, seen = self._judge.place, self._seen_systems
        systems, others = self._systems[seen:], self._others[first:]
        self._seen_systems += len(systems)
        if not all(map(_leads, systems)) or self._judge.take(others):
            return False
        for place, message in enumerate(others, first):
            if message["role"] == "tool":
                self._place_of[message["tool_call_id"]] = place
        return True

    def replaced(self, call_id: str) -> None:
        """The result of a call gave way to another: where it is settled it is looked at again."""
        place = self._place_of.get(call_id)
        if place is None:
            return
        message = self._others[place]
        if malformed(message) or message["role"] != "tool" or message.get("tool_call_id") != call_id:
            self._sound = False


def _leads(message: Mapping[str, Any]) -> bool:
    """Whether it is a system message, which stands before all others and changes nothing for them."""
    return not malformed(message) and message["role"] in UNCOUNTED_ROLES and "tool_calls" not in message
