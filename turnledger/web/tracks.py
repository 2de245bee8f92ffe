"""Tracks: the conversations being looked at, their events kept in memory so that a step costs little.

A track is caught up with the log at each request, and folds a version from what it keeps. What has not been
looked at for long is let go of.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from turnledger.domain.errors import CorruptEvent, VersionNotFound
from turnledger.domain.events import DomainEvent
from turnledger.infrastructure.lines import told
from turnledger.projections.moment import Moment
from turnledger.projections.timeline import Timeline, TimelineLine
from turnledger.store import ConversationStore

EVENTS_MAX = 50_000


class Track:
    """One conversation: `lines` tells each version, `events` has None for what is damaged."""

    def __init__(self, conversation_id: str) -> None:
        self.conversation_id = conversation_id
        self.lock = threading.RLock()
        self._begin()

    def _begin(self) -> None:
        self.lines: list[TimelineLine] = []
        self.events: list[DomainEvent | None] = []
        self._timeline = Timeline()
        self._moment = Moment()

    @property
    def last(self) -> int:
        """The newest version."""
        return len(self.lines)

    def catch_up(self, store: ConversationStore) -> None:
        """Reads what was recorded since. Raises `ConversationNotFound`."""
        version = store.version(self.conversation_id)
        if version < self.last:  # another file has taken the store's place
            self._begin()
        if version == self.last:
            return
        sound = (event for event in reversed(self.events) if event is not None)
        reading = store.events(self.conversation_id, after=self.last, to=version, damaged="skip")
        for line, event in told(reading, self._timeline, next(sound, None)):
            if line.version == self.last + 1:
                self.lines.append(line)
                self.events.append(event)

    def event(self, version: int) -> DomainEvent:
        """The event that made a version. Raises `CorruptEvent` where that cannot be read."""
        event = self.events[version - 1]
        if event is None:
            raise CorruptEvent(self.conversation_id, version, self.lines[version - 1].text)
        return event

    def moment(self, version: int) -> Moment:
        """The state at a version, until the next one is asked for.

        Raises `VersionNotFound`, and `CorruptEvent` where an event on the way cannot be read.
        """
        if version > self.last:
            raise VersionNotFound(
                f"conversation {self.conversation_id!r} has no version {version}: it goes up to {self.last}"
            )
        if self._moment.version > version:
            self._moment = Moment()
        while self._moment.version < version:
            self._step(self.event(self._moment.version + 1), version)
        return self._moment

    def _step(self, event: DomainEvent, to: int) -> None:
        try:
            self._moment.apply(event, last=event.version == to)
        except Exception as error:
            self._moment = Moment()
            reason = f"it does not fit the events before it ({type(error).__name__}: {error})"
            raise CorruptEvent(self.conversation_id, event.version, reason) from error


class Tracks:
    """The tracks of one store."""

    def __init__(self, store: ConversationStore) -> None:
        self._store = store
        self._tracks: OrderedDict[str, Track] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def on(self, conversation_id: str) -> Iterator[Track]:
        """The track of a conversation, as long as the log is now, held still for the block."""
        with self._lock:
            track = self._tracks.setdefault(conversation_id, Track(conversation_id))
            self._tracks.move_to_end(conversation_id)
        try:
            with track.lock:
                track.catch_up(self._store)
                yield track
        finally:
            self._let_go()

    def _let_go(self) -> None:
        """Of what was looked at longest ago, until the rest is few; and of what is no conversation."""
        with self._lock:
            for name in [name for name, track in self._tracks.items() if not track.last]:
                del self._tracks[name]
            kept = sum(track.last for track in self._tracks.values())
            while kept > EVENTS_MAX and len(self._tracks) > 1:
                kept -= self._tracks.popitem(last=False)[1].last
