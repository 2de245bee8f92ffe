"""Which calls among new items are made anew, under an id and with arguments that were used before.

To the store an equal call under a known id is the known one, sent again. A session knows more: the id that
the service gave the item, the output that comes with it, and whether the user has said something since.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from turnledger.adapters.openai_agents_seen import Seen
from turnledger.domain.calls import Answer, Declaration, Ledger, call_key
from turnledger.domain.messages import Message, id_of_call, read_message
from turnledger.domain.values import likeness
from turnledger.projections.providers.keeping import kept_blocks
from turnledger.projections.providers.openai_items import CALLS, type_of
from turnledger.projections.providers.openai_messages import fits
from turnledger.projections.providers.openai_responses import NAME


def without_repeats(seen: Seen, messages: Sequence[Any]) -> tuple[list[Any], bool]:
    """The messages, and whether calls among them are made anew: then without turns that are sent again."""
    read = [read_message(message, index) for index, message in enumerate(messages)]
    names = {usable for message in read for call in message.calls if (usable := id_of_call(call))}
    if not names:
        return list(messages), False
    known = _Known.of(seen, names)
    left, anew = [], False
    for index, message in enumerate(read):
        made = known.made(message, read[index + 1 :])
        anew = anew or made is True
        if made is not False:
            known.add(message)
            left.append(messages[index])
    return (left, True) if anew else (list(messages), False)


@dataclass(slots=True)
class _Known:
    """The calls of a session under some ids, their answers, and where the user spoke last."""

    asked: int
    count: int
    ledger: Ledger = field(default_factory=Ledger)
    item_ids: dict[tuple[int, int], str] = field(default_factory=dict)

    @classmethod
    def of(cls, seen: Seen, names: Iterable[str]) -> Self:
        known = cls(seen.asked[-1], seen.count)
        for turn in seen.named(names):
            message = Message("assistant", turn.content, turn.metadata)
            known._declare(turn.place, message)
            for call in message.calls:
                usable = id_of_call(call)
                if usable and (answer := seen.answers.get(usable)):
                    known.ledger.answer(usable, answer, None)
        return known

    def add(self, message: Message) -> None:
        self.count += 1
        if message.role == "user":
            self.asked = self.count
        elif message.role == "tool":
            self._answer(message)
        self._declare(self.count, message)

    def _declare(self, place: int, message: Message) -> None:
        for declared in self.ledger.declare(place, None, message.calls):
            self.ledger.answers.pop(declared.call_id, None)
        self.item_ids |= {(place, at): own for at, own in _item_ids(message).items()}

    def _answer(self, message: Message) -> None:
        if message.call_id:
            answer = Answer(self.count, message.healed, likeness(message.content))
            self.ledger.answer(message.call_id, answer, None)

    def made(self, message: Message, behind: Sequence[Message]) -> bool | None:
        """Whether a turn's calls are made anew (True) or sent again (False); None where no known one is like
        each of them."""
        own = _item_ids(message)
        found: list[bool] = []
        for place, call in enumerate(message.calls):
            call_id = id_of_call(call) or ""
            equal = [one for one in self.ledger.bearing.get(call_id, ()) if one.key == call_key(call)]
            if not equal:
                return None
            output = _output(call_id, behind)
            found.append(not any(self._is_same(one, own.get(place), output) for one in equal))
        return any(found) if found else None

    def _is_same(self, known: Declaration, item_id: str | None, output: int | None) -> bool:
        answer = self.ledger.answers.get(known.call_id)
        if answer is None or answer.healed:
            return True
        known_id = self.item_ids.get((known.turn, known.place))
        if item_id and known_id:
            return item_id == known_id
        return known.turn > self.asked and output in (None, answer.content)


def _item_ids(message: Message) -> dict[int, str]:
    """The ids of the service's own that the items of a turn's calls have, each at the place of its call."""
    items = [one for one in kept_blocks(NAME, message.metadata) or () if type_of(one) in CALLS]
    return {place: one["id"] for place, one in enumerate(items) if fits(one.get("id"), type_of(one))}


def _output(call_id: str, messages: Iterable[Message]) -> int | None:
    """What the first of the messages that answers a call says."""
    return next((likeness(one.content) for one in messages if one.call_id == call_id), None)
