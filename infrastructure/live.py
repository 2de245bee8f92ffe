"""The folds of one conversation, kept in memory and caught up by version.

The buffer comes first, from segments where there are some; what decisions and artifact views need is folded
when it is first asked for.
"""

import threading
from collections.abc import Iterable, Iterator

from eventsourcing.persistence import StoredEvent

from turnledger.domain.changes import Changes
from turnledger.domain.conversation import Conversation
from turnledger.domain.errors import CorruptEvent
from turnledger.domain.events import NO_PREVIOUS, DomainEvent
from turnledger.infrastructure import segments
from turnledger.infrastructure.faults import busy
from turnledger.infrastructure.log import Deadline, Log, Mark
from turnledger.infrastructure.mapper import ConversationMapper, digest_of
from turnledger.projections.buffer import BufferView
from turnledger.projections.held import ArtifactsView
from turnledger.projections.sendable_view import SendableView

LIVE_WAIT_S = 0.25
LIVE_BYTES = 2048  # about what the folds of an empty conversation take
EVENT_BYTES = 700  # about what they take of an event beyond its text; a turn that calls takes more


class Live:
    """The folds of one conversation at one version.

    `whole` says that `conversation` and `artifacts` are folded too, not only the buffer; `seen` when the log
    held nothing more, and nothing damaged, None where that is not known; `torn` that a fold did not end,
    because of a fault or an interrupt: then it is to begin anew.
    """

    def __init__(self, conversation_id: str) -> None:
        self.conversation_id = conversation_id
        self.lock = threading.RLock()
        self.counted_bytes = 0
        self.restart()

    @property
    def is_in_use_here(self) -> bool:
        """Whether this very thread works with it already: a finaliser or a signal handler made a call in the
        middle of another one."""
        owned: bool = self.lock._is_owned()  # type: ignore[attr-defined]  # as threading.Condition asks it
        return owned

    def restart(self) -> None:
        self.torn = True
        self.whole = True
        self.seen: Mark | None = None
        self.conversation = Conversation()
        self.artifacts = ArtifactsView()
        self.buffer = BufferView()
        self.sendable = SendableView()
        self.previous = NO_PREVIOUS
        self.bytes = LIVE_BYTES
        self.waiting: list[segments.Segment] = []
        self._captures = True
        self._row_bytes = 0
        self.torn = False

    @property
    def version(self) -> int:
        return self.buffer.version

    def start_from_segments(self, log: Log, to: int | None = None) -> None:
        """Takes the buffer of an empty live one from segments, if that is quicker than its events."""
        loaded = segments.load(log, self.conversation_id, to)
        if loaded:
            self.torn = True
            self.buffer, self.previous, row_bytes = loaded
            self.bytes += row_bytes + EVENT_BYTES * self.version
            self.whole = False
            self.torn = False

    def absorb(self, row: StoredEvent, event: DomainEvent) -> None:
        """Folds one event; one that is known already changes nothing. Raises `CorruptEvent` for a gap."""
        envelope = event.envelope
        if envelope.version <= self.version:
            return
        if envelope.version != self.version + 1:
            raise CorruptEvent(self.conversation_id, self.version + 1, "the event is missing")
        if envelope.previous != self.previous:
            raise CorruptEvent(
                self.conversation_id,
                envelope.version,
                "it does not follow the event before it: the chain is broken",
            )
        self.torn = True
        try:
            if self.whole:
                self.conversation.evolve(event)
            self._view(row, event, digest_of(row.state))
        except Exception as error:
            raise self._misfit(error, event.version) from error
        self.torn = False

    def adopt(self, recording: "Recording") -> None:
        """Takes over what was decided on this very version, now that it is recorded.

        The draft is what folding its events anew would give, and is spared it.
        """
        self.waiting = [segment for segment in self.waiting if segment not in recording.segments]
        if self.version >= recording.changes.version:
            return  # a reader was first
        if self.version != recording.version or not self.whole:
            raise CorruptEvent(self.conversation_id, recording.version + 1, "the event is missing")
        self.torn = True
        try:
            recording.changes.recorded_on(self.conversation)
            for row, event, digest in recording.links:
                self._view(row, event, digest)
        except Exception as error:
            raise self._misfit(error, recording.version + 1) from error
        self.torn = False
        self.seen = recording.seen

    def _view(self, row: StoredEvent, event: DomainEvent, digest: str) -> None:
        if self.whole:
            self.artifacts.apply(event)
        self.sendable.apply(event)
        self.buffer.apply(event)
        self.previous = digest
        self.bytes += len(row.state) + EVENT_BYTES
        self._row_bytes += len(row.topic) + len(row.state)
        if self._captures and self.version % segments.VERSIONS == 0:
            self._capture()

    def complete(self, folded: Iterable[tuple[StoredEvent, DomainEvent]]) -> None:
        """Folds what only the buffer knew so far; `folded` are all events up to this version."""
        self.torn = True
        self.conversation, self.artifacts = Conversation(), ArtifactsView()
        previous = NO_PREVIOUS
        for row, event in folded:
            if event.previous != previous or event.version != self.conversation.version + 1:
                raise CorruptEvent(self.conversation_id, event.version, "the chain is broken before it")
            try:
                self.conversation.evolve(event)
                self.artifacts.apply(event)
            except Exception as error:
                raise self._misfit(error, event.version) from error
            previous = digest_of(row.state)
        if previous != self.previous:
            raise CorruptEvent(self.conversation_id, self.version, "the event is not the one that was read")
        self.whole = True
        self.torn = False

    def _misfit(self, error: Exception, version: int) -> CorruptEvent:
        """The error to raise for an event that cannot be folded."""
        reason = f"it does not fit the events before it ({type(error).__name__}: {error})"
        return CorruptEvent(self.conversation_id, version, reason)

    def _capture(self) -> None:
        self.waiting.append(segments.captured(self.buffer, self.previous, self._row_bytes))
        self._row_bytes = 0
        self._captures = len(self.waiting) < segments.WAITING_MAX

    def held(self, deadline: Deadline, place: str) -> "Hold":
        """The lock for a block, waited for as long as a writer may; for a moment always: no reader makes a
        writer fail."""
        return Hold(self.lock, deadline, place)


class Hold:
    """A lock held for a block. Raises `StoreBusy` where it does not come free in time."""

    __slots__ = ("_deadline", "_lock", "_place")

    def __init__(self, lock: "threading.RLock", deadline: Deadline, place: str) -> None:
        self._lock = lock
        self._deadline = deadline
        self._place = place

    def __enter__(self) -> None:
        if self._lock.acquire(blocking=False):
            return
        if not self._lock.acquire(timeout=max(LIVE_WAIT_S, self._deadline.left_s)):
            raise busy(self._place, self._deadline.timeout_s)

    def __exit__(self, *exc_info: object) -> None:
        self._lock.release()


class Recording:
    """What one call records on a conversation as it is known: rows behind those that are there, and the
    segments that wait for the next write.

    From here on the live one knows no longer whether it has seen all, until it adopts what is recorded: the
    commit to come does not show in the mark of the connection that makes it.
    """

    __slots__ = ("changes", "digests", "live", "rows", "seen", "segments", "version")

    def __init__(self, live: Live, changes: Changes, mapper: ConversationMapper) -> None:
        self.live = live
        self.changes = changes
        self.version = live.version
        self.rows, self.digests = mapper.chained(changes.events, live.previous)
        self.segments = list(live.waiting) if self.rows else []
        self.seen, live.seen = live.seen, live.seen if not self.rows else None

    @property
    def links(self) -> Iterator[tuple[StoredEvent, DomainEvent, str]]:
        """Each row with its event and its digest."""
        return zip(self.rows, self.changes.events, self.digests, strict=True)

    @property
    def is_one_row(self) -> bool:
        return len(self.rows) == 1 and not self.segments
