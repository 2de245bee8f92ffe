"""What stands in a session's conversation under the ids of calls and items, read on from the last look.

To store a step then costs what the step costs, however long the conversation is. One look is kept for all
sessions of a conversation that share a store. What moves many entries (a compaction, a clearing, a window)
has it begin anew.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from turnledger.adapters.awaiting import Threads
from turnledger.domain.calls import Answer
from turnledger.domain.errors import ConversationNotFound
from turnledger.domain.events import (
    CallHealed,
    ConversationCleared,
    ConversationForked,
    DomainEvent,
    EntriesEvicted,
    EntryRetracted,
    MessageAppended,
    PlaceholderReplaced,
    SummaryInserted,
)
from turnledger.domain.messages import call_id, declared_by, id_of_call, original_id_of
from turnledger.domain.values import likeness
from turnledger.projections.providers.keeping import kept_blocks
from turnledger.projections.providers.openai_responses import NAME

SESSIONS_MAX = 64

_MOVING = (EntriesEvicted, SummaryInserted, ConversationCleared, ConversationForked)
_NOTHING = Answer(0, False, 0)


class Turn(NamedTuple):
    """An assistant's entry; `place` is its place among all."""

    number: int
    place: int
    content: Any
    metadata: dict[str, Any]

    @property
    def stored(self) -> dict[str, Any]:
        return {"role": "assistant", "content": self.content, "metadata": self.metadata}


@dataclass(slots=True)
class Seen:
    """The entries up to a version, by the ids that they bear."""

    version: int = 0
    count: int = 0
    entries: dict[int, Turn | str | int] = field(default_factory=dict)
    """By number, in order: a turn, the id of the call that a result answers, or a user's place."""
    placeholders: dict[int, str] = field(default_factory=dict)
    """By number, the ids of the calls that were healed: what stands behind their turns, and at no end."""
    turns: dict[str, list[Turn]] = field(default_factory=dict)
    results: dict[str, set[int]] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[int] = field(default_factory=lambda: [0])
    """The places where the user spoke."""

    @property
    def last(self) -> Turn | None:
        """The last turn, if nothing stands behind it."""
        found = next(reversed(self.entries.values()), None)
        if not isinstance(found, Turn):
            return None
        ids = {id_of_call(call) for call in declared_by("assistant", found.metadata)}
        return None if ids.intersection(self.placeholders.values()) else found

    def named(self, names: Iterable[str]) -> list[Turn]:
        """The turns that bear one of these ids, in their order."""
        found = {turn.number: turn for name in names for turn in self.turns.get(name, ())}
        return sorted(found.values(), key=lambda turn: turn.place)

    def add(self, number: int, role: str, content: Any, metadata: dict[str, Any]) -> None:
        if number in self.entries or number in self.placeholders:
            return
        self.count += 1
        if role == "assistant":
            self.entries[number] = turn = Turn(number, self.count, content, metadata)
            self._declare(turn)
        elif role == "tool":
            results: dict[int, Any] = self.placeholders if metadata.get("healed") is True else self.entries
            results[number] = call_id(metadata.get("tool_call_id")) or ""
            self.answer(number, content, metadata)
        elif role == "user":
            self.entries[number] = self.count
            self.asked.append(self.count)

    def answer(self, number: int, content: Any, metadata: Mapping[str, Any]) -> None:
        usable = self.entries.get(number) or self.placeholders.get(number)
        if usable and isinstance(usable, str):
            self.results.setdefault(usable, set()).add(number)
            self.answers[usable] = Answer(number, metadata.get("healed") is True, likeness(content))

    def _declare(self, turn: Turn) -> None:
        for name in dict.fromkeys(_names(turn)):
            self.turns.setdefault(name, []).append(turn)
        for call in declared_by("assistant", turn.metadata):
            self.answers.pop(id_of_call(call) or "", None)

    def _retract(self, number: int) -> None:
        gone = self.entries.pop(number, None) or self.placeholders.pop(number, None)
        if isinstance(gone, Turn):
            for name in dict.fromkeys(_names(gone)):
                self.turns[name].remove(gone)
        elif isinstance(gone, int):
            self.asked.remove(gone)
        elif gone:
            self.results[gone].discard(number)
            if self.answers.get(gone, _NOTHING).entry == number:
                del self.answers[gone]

    def take(self, event: DomainEvent) -> bool:
        """Adds what an event brought, or takes it away; False where it moved more than that."""
        if event.version > self.version:
            self.version = event.version
            if isinstance(event, MessageAppended):
                self.add(event.entry, event.role, event.content, event.metadata)
            elif isinstance(event, CallHealed):
                self.add(event.entry, "tool", event.content, {"tool_call_id": event.call_id, "healed": True})
            elif isinstance(event, PlaceholderReplaced):
                self.answer(event.entry, event.content, event.metadata)
            elif isinstance(event, EntryRetracted):
                self._retract(event.entry)
            return not isinstance(event, _MOVING)
        return True


def _names(turn: Turn) -> Iterator[str]:
    """The ids of a turn's calls, those that they came under too, and of the service's items in it."""
    for call in declared_by("assistant", turn.metadata):
        yield from (name for name in (id_of_call(call), original_id_of(call)) if name)
    blocks = kept_blocks(NAME, turn.metadata) or ()
    yield from (block["id"] for block in blocks if isinstance(block.get("id"), str))


_looks: WeakKeyDictionary[Any, OrderedDict[str, Seen]] = WeakKeyDictionary()
_lock = Lock()


async def caught_up(store: Any, conversation_id: str) -> Seen:
    """What is seen of a conversation now."""
    try:
        return await _read_on(store, conversation_id) or await _begun(store, conversation_id)
    except ConversationNotFound:
        return Seen()


async def _read_on(store: Any, conversation_id: str) -> Seen | None:
    """What was seen before, with what came since; None where there is no such, or more than the end moved."""
    with _lock:
        seen = _looks_of(store).get(conversation_id)
    if seen is None:
        return None
    events = [event async for event in store.events(conversation_id, after=seen.version)]
    with _lock:
        if all(seen.take(event) for event in events):
            return seen
        _looks_of(store).pop(conversation_id, None)
    return None


async def _begun(store: Any, conversation_id: str) -> Seen:
    seen = Seen(await store.version(conversation_id))
    for entry in await store.entries(conversation_id):
        seen.add(entry.number, entry.role, entry.content, entry.metadata)
    with _lock:
        looks = _looks_of(store)
        looks[conversation_id] = seen
        if len(looks) > SESSIONS_MAX:
            looks.popitem(last=False)
    return seen


def _looks_of(store: Any) -> OrderedDict[str, Seen]:
    return _looks.setdefault(store.blocking if isinstance(store, Threads) else store, OrderedDict())
