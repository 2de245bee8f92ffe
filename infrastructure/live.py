"""The folds of one conversation, kept in memory and caught up by version.

The buffer comes first, from segments where there are some; what decisions and artifact views need is folded
when it is first asked for.
"""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from eventsourcing.persistence import StoredEvent

from turnledger.domain.conversation import Conversation
from turnledger.domain.errors import CorruptEvent
from turnledger.domain.events import NO_PREVIOUS, DomainEvent
from turnledger.infrastructure import segments
from turnledger.infrastructure.faults import busy
from turnledger.infrastructure.mapper import digest_of
from turnledger.infrastructure.storage import Deadline, Log
from turnledger.projections.buffer import BufferView
from turnledger.projections.held import ArtifactsView
from turnledger.projections.sendable_view import SendableView

LIVE_WAIT_S = 0.25
LIVE_BYTES = 2048  # about what the folds of an empty conversation take


class Live:
    """The folds of one conversation at one version.

    `whole` says that `conversation` and `artifacts` are folded too, not only the buffer.
    """

    def __init__(self, conversation_id: str) -> None:
        self.conversation_id = conversation_id
        self.lock = threading.RLock()
        self.counted_bytes = 0
        self.restart()

    def restart(self) -> None:
        self.whole = True
        self.conversation = Conversation()
        self.artifacts = ArtifactsView()
        self.buffer = BufferView()
        self.sendable = SendableView()
        self.previous = NO_PREVIOUS
        self.bytes = LIVE_BYTES
        self.waiting: list[segments.Segment] = []
        self._captures = True
        self._row_bytes = 0

    @property
    def version(self) -> int:
        return self.buffer.version

    def start_from_segments(self, log: Log, to: int | None = None) -> None:
        """Takes the buffer of an empty live one from segments, if that is quicker than its events."""
        loaded = segments.load(log, self.conversation_id, to)
        if loaded:
            self.buffer, self.previous = loaded
            self.whole = False

    def absorb(self, row: StoredEvent, event: DomainEvent) -> None:
        """Folds one event; one that is known already changes nothing. Raises `CorruptEvent` for a gap."""
        if event.version <= self.version:
            return
        if event.version != self.version + 1:
            raise CorruptEvent(self.conversation_id, self.version + 1, "the event is missing")
        if event.previous != self.previous:
            raise CorruptEvent(
                self.conversation_id,
                event.version,
                "it does not follow the event before it: the chain is broken",
            )
        with self._wholly(event):
            if self.whole:
                self.conversation.evolve(event)
                self.artifacts.apply(event)
            self.sendable.apply(event)
            self.buffer.apply(event)
            self.previous = digest_of(row.state)
            self.bytes += len(row.state)
            self._row_bytes += len(row.topic) + len(row.state)
            self._capture(event)

    def complete(self, folded: Iterable[tuple[StoredEvent, DomainEvent]]) -> None:
        """Folds what only the buffer knew so far; `folded` are all events up to this version."""
        self.conversation, self.artifacts = Conversation(), ArtifactsView()
        previous = NO_PREVIOUS
        for row, event in folded:
            if event.previous != previous or event.version != self.conversation.version + 1:
                raise CorruptEvent(self.conversation_id, event.version, "the chain is broken before it")
            with self._wholly(event):
                self.conversation.evolve(event)
                self.artifacts.apply(event)
            previous = digest_of(row.state)
        if previous != self.previous:
            raise CorruptEvent(self.conversation_id, self.version, "the event is not the one that was read")
        self.whole = True

    @contextmanager
    def _wholly(self, event: DomainEvent) -> Iterator[None]:
        """Half a fold would be taken for a whole one: after a failure the next reading begins anew."""
        try:
            yield
        except BaseException as error:
            self.restart()
            if not isinstance(error, Exception):
                raise
            reason = f"it does not fit the events before it ({type(error).__name__}: {error})"
            raise CorruptEvent(self.conversation_id, event.version, reason) from error

    def _capture(self, event: DomainEvent) -> None:
        if self._captures and event.version % segments.VERSIONS == 0:
            self.waiting.append(segments.captured(self.buffer, self.previous, self._row_bytes))
            self._row_bytes = 0
            self._captures = len(self.waiting) < segments.WAITING_MAX

    @contextmanager
    def held(self, deadline: Deadline, place: str) -> Iterator[None]:
        """The lock, for as long as a writer may wait; for a moment always: no reader makes a writer fail."""
        if not self.lock.acquire(timeout=max(LIVE_WAIT_S, deadline.left_s)):
            raise busy(place, deadline.timeout_s)
        try:
            yield
        finally:
            self.lock.release()
