"""Messages one after another, as the provider takes them: who begins, who follows whom, what stands last."""

from collections.abc import Callable, Sequence
from typing import Any

from turnledger.importing.doctor import findings as kinds
from turnledger.importing.doctor.anatomy import Anatomy, Change
from turnledger.importing.doctor.findings import Path
from turnledger.importing.doctor.patching import Origins

Find = Callable[[str, tuple[int, Path], str, str], None]
Message = dict[str, Any]


class Sequel:
    """The last step of a treatment: messages whose pieces are sound, put right between each other."""

    def __init__(self, anatomy: Anatomy, origins: Origins, given: Sequence[Any], find: Find) -> None:
        self._anatomy = anatomy
        self._origins = origins
        self._index = {id(origins.of(message)): index for index, message in enumerate(given)}
        self._find = find

    def of(self, messages: Sequence[Message]) -> list[Message]:
        sound = self._settled(self._joined(self._each_once(messages)))
        return self._bridged(self._opened(sound))

    def _changed(self, message: Message, change: Change) -> Message | None:
        index = self._index.get(id(self._origins.of(message)), 0)
        self._find(change.kind, (index, ()), change.reason, change.remedy)
        return None if change.raw is None else self._origins.note(change.raw, message)

    def _each_once(self, messages: Sequence[Message]) -> list[Message]:
        """What may stand but once in a request: once."""
        seen: set[str] = set()
        sound: list[Message] = []
        for message in messages:
            change = self._anatomy.once(message, seen)
            left = self._changed(message, change) if change else message
            sound += [left] if left is not None else []
        return sound

    def _joined(self, messages: Sequence[Message]) -> list[Message]:
        sound: list[Message] = []
        for message in messages:
            change = self._anatomy.joined(sound[-1], message) if sound else None
            if not change:
                sound.append(message)
                continue
            index = self._index.get(id(self._origins.of(message)), 0)
            self._find(change.kind, (index, ()), change.reason, change.remedy)
            sound[-1] = self._origins.note(change.raw, sound[-1])
        return sound

    def _settled(self, messages: Sequence[Message]) -> list[Message]:
        """Each message between its neighbours; one that goes gives the one before it another neighbour."""
        sound = list(messages)
        place = 0
        while place < len(sound):
            before = sound[place - 1] if place else None
            after = sound[place + 1] if place + 1 < len(sound) else None
            change = self._anatomy.settled(sound[place], before, after)
            if not change:
                place += 1
                continue
            new = self._changed(sound[place], change)
            sound[place : place + 1] = [] if new is None else [new]
            place = max(place - (new is None), 0)
        return sound

    def _opened(self, messages: list[Message]) -> list[Message]:
        """A user's message before an assistant that speaks first, where that is refused."""
        if not messages or not self._anatomy.rules.user_first:
            return messages
        if self._anatomy.side(messages[0]) != "assistant":
            return messages
        index = self._index.get(id(self._origins.of(messages[0])), 0)
        remedy = "a user's message stands before it"
        self._find(kinds.LEADING, (index, ()), "the assistant speaks first", remedy)
        return [self._anatomy.opening(messages[0]), *messages]

    def _bridged(self, messages: Sequence[Message]) -> list[Message]:
        sound: list[Message] = []
        for message in messages:
            change = self._anatomy.bridge(sound[-1], message) if sound else None
            if change:
                index = self._index.get(id(self._origins.of(message)), 0)
                self._find(change.kind, (index, ()), change.reason, change.remedy)
                sound.append(change.raw)
            sound.append(message)
        return sound
