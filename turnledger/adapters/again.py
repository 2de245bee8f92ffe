"""Which turns of new messages are sent again, and which are made anew under ids that were used before.

To the store an equal call under a known id is the known one, sent again. Whole messages tell more: a turn
that is sent again has the calls of one known turn, all of them, and comes before the user has said something
since: while that one waits for results, with the same results behind it, or when the run has had its answer.
An equal turn that comes alone before that is another: a tool is polled by a model that counts its ids anew.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from turnledger.domain.calls import call_key
from turnledger.domain.messages import Message, id_of_call, original_id_of, read_message
from turnledger.domain.values import likeness
from turnledger.projections.buffer import Entry


@dataclass(slots=True)
class _Turn:
    """A turn that is known: its calls, under the ids they have and came with, and what answers them."""

    ids: list[str]
    given: list[str]
    keys: list[int]
    answers: dict[str, int | None] = field(default_factory=dict)  # None is a placeholder
    is_past: bool = False  # the user has said something since
    has_ended: bool = False  # the assistant has answered since

    def bears(self, ids: Iterable[str]) -> bool:
        return not {*self.ids, *self.given}.isdisjoint(ids)


def to_append(
    version: int, entries: Sequence[Entry], messages: Sequence[Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The messages, and how they are appended to a conversation that had these entries at this version.

    Where turns among them are made anew, those that are sent again are left out.
    """
    read = [read_message(message, index) for index, message in enumerate(messages)]
    ids = [call_id for message in read for call_id in _ids(message)]
    if not ids:
        return list(messages), {}
    seen = {"expected_version": version}
    if len(set(ids)) == len(ids) and _bearing(entries).isdisjoint(ids):
        return list(messages), seen
    known: list[_Turn] = []
    for entry in entries:
        _take(known, _message_of(entry))
    left = _without_known(known, read)
    if left is None:
        return list(messages), seen
    return [messages[index] for index in left], {**seen, "reused_ids": "distinct"}


def _without_known(known: list[_Turn], messages: Sequence[Message]) -> list[int] | None:
    """The places of those messages that are no known turn; None where no turn is made anew."""
    left, anew = [], False
    for index, message in enumerate(messages):
        if any(_is_same(turn, message, messages[index + 1 :]) for turn in known):
            continue
        ids = _ids(message)
        anew = anew or len(set(ids)) < len(ids) or any(turn.bears(ids) for turn in known)
        _take(known, message)
        left.append(index)
    return left if anew else None


def _message_of(entry: Entry) -> Message:
    return Message(entry.role, entry.content, entry.metadata)


def _bearing(entries: Iterable[Entry]) -> set[str | None]:
    """The ids of all calls, as they are and as they came."""
    calls = [call for entry in entries for call in _message_of(entry).calls]
    return {id_of_call(call) for call in calls} | {original_id_of(call) for call in calls}


def _ids(message: Message) -> list[str]:
    return [id_of_call(call) or "" for call in message.calls]


def _take(known: list[_Turn], message: Message) -> None:
    """Goes on by a message: a turn, a result, or a word of the user's."""
    if message.role == "user":
        for turn in known:
            turn.is_past = True
    elif message.role == "assistant" and not message.calls:
        for turn in known:
            turn.has_ended = True
    elif message.call_id:
        answer = None if message.healed else likeness(message.content)
        for turn in (turn for turn in reversed(known) if message.call_id in turn.ids):
            turn.answers[message.call_id] = answer
            break
    elif message.calls:
        given = [original_id_of(call) or id_of_call(call) or "" for call in message.calls]
        known.append(_Turn(_ids(message), given, _keys(message)))


def _keys(message: Message) -> list[int]:
    return [call_key(call) for call in message.calls]


def _is_same(turn: _Turn, message: Message, behind: Sequence[Message]) -> bool:
    """Whether a message is that turn, sent again."""
    ids = _ids(message)
    if not ids or turn.is_past or ids not in (turn.ids, turn.given) or turn.keys != _keys(message):
        return False
    answers = [turn.answers.get(call_id) for call_id in turn.ids]
    come = {one.call_id: likeness(one.content) for one in reversed(behind) if one.call_id}
    same = [come[own] == answer for own, answer in zip(ids, answers, strict=True) if own in come]
    return None in answers or (all(same) and (bool(same) or turn.has_ended))
