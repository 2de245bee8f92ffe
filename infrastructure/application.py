"""eventsourcing wired for conversations: load, decide, record, and decide again where another was first.

Reading and writing go through a `Live` a conversation: its folds, kept in memory and caught up by version.
What a write recorded is folded only after the commit, so that a failed one leaves no trace.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import datetime
from typing import Any

from eventsourcing.application import Application
from eventsourcing.persistence import InfrastructureFactory, StoredEvent
from eventsourcing.utils import Environment

from turnledger.domain.changes import Changes
from turnledger.domain.conversation import Conversation
from turnledger.domain.errors import (
    ConversationNotFound,
    CorruptEvent,
    OutcomeUnknown,
    StoreBusy,
    StoreUnwritable,
    TurnledgerError,
    VersionNotFound,
)
from turnledger.infrastructure import segments
from turnledger.infrastructure.faults import closed
from turnledger.infrastructure.live import Live, Recording
from turnledger.infrastructure.log import Deadline, Log, Overtaken, Recorder, Unsettled
from turnledger.infrastructure.mapper import ConversationMapper
from turnledger.infrastructure.places import Place

PAGE_ROWS = 500


class ConversationApplication(Application[str]):
    """The log of all conversations of one store."""

    name = "turnledger"
    recorder: Recorder  # type: ignore[assignment]
    mapper: ConversationMapper

    def __init__(self, location: Place, factory: Callable[[], Any], cache_bytes: int) -> None:
        self.location = location
        self._factory_of = factory
        self.cache_bytes = cache_bytes
        self._pid = os.getpid()
        self._cache: OrderedDict[str, Live] = OrderedDict()
        self._cache_lock = threading.RLock()  # a finaliser may call in the middle of a call
        self._cached_bytes = 0
        try:
            super().__init__()
        except BaseException:
            if hasattr(self, "factory"):
                self.factory.close()
            raise

    def construct_env(self, name: str, env: Any = None) -> Environment:
        """Nothing from the process's environment: a store is what its caller says it is."""
        return Environment(name, {})

    def construct_factory(self, env: Environment) -> InfrastructureFactory[Any]:
        factory: InfrastructureFactory[Any] = self._factory_of()
        return factory

    def construct_mapper(self) -> ConversationMapper:
        return ConversationMapper()

    def close(self) -> None:
        if self._pid == os.getpid():
            super().close()

    def write(self, conversation_id: str, decide: Callable[[Conversation], Changes]) -> Changes:
        """Decides and records in one transaction, and again whenever another writer was first.

        Raises what `decide` raises, `StoreBusy` when the time is up; nothing is recorded then.
        """
        if self.location.read_only:
            raise StoreUnwritable(
                f"{self.location.place} was opened with read_only=True: open it without, to write"
            )
        deadline = self.deadline()
        lost: list[Recording] = []
        try:
            with suppress(Overtaken):  # then another was first, and what is known is not all
                known = self._attempt_as_known(conversation_id, decide, deadline, lost)
                if known is not None:
                    return known.changes
            while True:
                try:
                    return self._attempt(conversation_id, decide, deadline, lost).changes
                except Overtaken:
                    deadline.pause(self.location.place)
                except BaseException:
                    self._forget_empty(conversation_id)
                    raise
        except TurnledgerError as error:
            if lost:
                raise OutcomeUnknown(
                    f"whether this call on conversation {conversation_id!r} was recorded is not known: the "
                    f"connection to {self.location.place} was lost, and it could not be asked again in time; "
                    "read the conversation to see, or make the call again with the same idempotency_key"
                ) from error
            raise

    def _attempt_as_known(
        self,
        conversation_id: str,
        decide: Callable[[Conversation], Changes],
        deadline: Deadline,
        lost: list[Recording],
    ) -> Recording | None:
        """Decides on what is known, with no look at the log: if another was first, the insert says so.

        None where only a look can tell: nothing is known, nothing would be recorded, or all is refused.
        """
        live = self._live(conversation_id)
        if not (live.version and live.whole and live.seen) or live.torn:
            return None
        with self.recorder.datastore.turn(deadline, conversation_id) as log:
            with live.held(deadline, self.location.place):
                try:
                    recording = Recording(live, decide(live.conversation), self.mapper)
                except Exception:
                    return None
            if not recording.rows:
                return None
            try:
                if recording.is_one_row:
                    self.recorder.insert(log, recording.rows)
                else:
                    with log.transaction():
                        self._insert(log, recording)
            except Unsettled:
                lost.append(recording)
                raise
        self._absorb(recording, deadline)
        return recording

    def _attempt(
        self,
        conversation_id: str,
        decide: Callable[[Conversation], Changes],
        deadline: Deadline,
        lost: list[Recording],
    ) -> Recording:
        live = self._live(conversation_id)
        place = self.location.place
        # a long log is read before the others are made to wait; then only what came in between
        if not (live.version and live.whole):
            with self.recorder.datastore.reading(deadline) as log, live.held(deadline, place):
                self._catch_up(live, log, whole=True)
        with self.recorder.datastore.writing(deadline, conversation_id) as log:
            with live.held(deadline, place):
                self._catch_up(live, log, whole=True)
                if recorded := self._found_again(live, log, lost):
                    return recorded
                recording = Recording(live, decide(live.conversation), self.mapper)
            try:
                self._insert(log, recording)
            except Unsettled:
                lost.append(recording)
                raise
        self._absorb(recording, deadline)
        return recording

    def _found_again(self, live: Live, log: Log, lost: list[Recording]) -> Recording | None:
        """The one of the attempts whose answers were lost that was recorded after all.

        Where other rows, or ours, are there, nothing is in doubt any more; where none are, a lost attempt may
        still come, and meet the rows of the next one or be met by them: one of the two is refused.
        """
        for recording in [one for one in lost if one.version < live.version]:
            lost.remove(recording)
            to = recording.version + len(recording.rows)
            if log.rows(live.conversation_id, after=recording.version, to=to) == recording.rows:
                return recording
        return None

    def _insert(self, log: Log, recording: Recording) -> None:
        segments.save(log, recording.live.conversation_id, recording.segments)
        self.recorder.insert(log, recording.rows)

    def _absorb(self, recording: Recording, deadline: Deadline) -> None:
        """Folds what was recorded. It is recorded: what hinders this is for the next reading to meet."""
        live = recording.live
        with suppress(CorruptEvent, StoreBusy), live.held(deadline, self.location.place):
            live.adopt(recording)
        self._make_room(live)

    @contextmanager
    def reading(
        self, conversation_id: str, at: int | datetime | None = None, *, whole: bool = False
    ) -> Iterator[Live]:
        """The conversation as of now, or at a version or time; held still while the block runs.

        Its buffer, that is; with `whole` also its artifacts, and what decisions are made on.

        Raises `ConversationNotFound` and `VersionNotFound`.
        """
        lent = self.read_log()  # refuses before any lock is asked for: in a child nobody may release one
        live = self._live(conversation_id) if at is None else Live(conversation_id)
        with lent as log, live.lock:
            if at is None:
                self._catch_up(live, log, whole=whole)
            else:
                self._replay(live, log, at, whole=whole)
            if not live.version and not log.version(conversation_id):
                self._forget(conversation_id)
                raise ConversationNotFound(f"there is no conversation {conversation_id!r}")
            yield live
        if at is None:
            self._make_room(live)

    def _replay(self, live: Live, log: Log, at: int | datetime, *, whole: bool) -> None:
        to = at if isinstance(at, int) else None
        if to is not None and not whole:
            live.start_from_segments(log, to)
        for row in self.rows(live.conversation_id, live.version, to, log):
            event = self.mapper.decoded(row)
            if isinstance(at, datetime) and event.time > at:
                break
            live.absorb(row, event)
        if to is None or live.version == to:
            return
        last = log.version(live.conversation_id)
        if last >= to:
            raise CorruptEvent(live.conversation_id, live.version + 1, "the event is missing")
        if last:
            raise VersionNotFound.beyond(live.conversation_id, to, last)

    def _catch_up(self, live: Live, log: Log, *, whole: bool) -> None:
        seen = log.mark(live.conversation_id, live.version)
        if live.seen == seen and not live.torn and (live.whole or not whole):
            return
        live.seen = None
        if live.torn or (live.version and not log.has(live.conversation_id, live.version)):
            live.restart()  # an interrupt fell into a fold, or an older copy of the log was put in its place
        if not live.version and not whole:
            live.start_from_segments(log)
        if whole and not live.whole:
            rows = self.rows(live.conversation_id, 0, live.version, log)
            live.complete((row, self.mapper.decoded(row)) for row in rows)
        for row in self.rows(live.conversation_id, live.version, None, log):
            live.absorb(row, self.mapper.decoded(row))
        live.seen = seen.caught_up

    def rows(
        self, conversation_id: str, after: int = 0, to: int | None = None, log: Log | None = None
    ) -> Iterator[StoredEvent]:
        """The raw rows, page by page; without a `log` no connection is held between pages."""
        while True:
            with nullcontext(log) if log else self.read_log() as lent:
                rows = lent.rows(conversation_id, after=after, to=to, limit=PAGE_ROWS)
            yield from rows
            if len(rows) < PAGE_ROWS:
                return
            after = rows[-1].originator_version

    def version(self, conversation_id: str) -> int:
        """The version of a conversation, 0 for none, without reading its events."""
        with self.read_log() as log:
            return log.version(conversation_id)

    def conversation_ids(self, topic: str | None = None, *, after: str | None = None) -> Iterator[str]:
        """The ids of all behind `after` (with `topic` of those that have such an event), page by page."""
        while True:
            with self.read_log() as log:
                ids = log.conversation_ids(after, PAGE_ROWS, topic)
            yield from ids
            if len(ids) < PAGE_ROWS:
                return
            after = ids[-1]

    def read_log(self) -> AbstractContextManager[Log]:
        """The log, lent for a block of reading."""
        lent: AbstractContextManager[Log] = self.recorder.datastore.reading(self.deadline())
        return lent

    def refuse_closed(self) -> None:
        """Raises `StoreClosed` for a store that was closed, and in a forked child."""
        if self._pid != os.getpid() or self.closing.is_set():
            raise closed()

    def deadline(self) -> Deadline:
        """The end of a call that begins now. Raises `StoreClosed`."""
        self.refuse_closed()
        return Deadline(self.location.timeout_s)

    def _live(self, conversation_id: str) -> Live:
        """The folds that are kept; for a call in the middle of another one of its thread folds of its own."""
        with self._cache_lock:
            live = self._cache.get(conversation_id)
            if live is None:
                live = self._cache[conversation_id] = Live(conversation_id)
            self._cache.move_to_end(conversation_id)
        return Live(conversation_id) if live.is_in_use_here else live

    def cached(self, conversation_id: str) -> Live | None:
        """The folds that are kept in memory of a conversation, as they are, or None."""
        with self._cache_lock:
            return self._cache.get(conversation_id)

    def _forget_empty(self, conversation_id: str) -> None:
        """What was refused to begin is not kept in mind: nothing bounds how many ids are tried."""
        with self._cache_lock:
            live = self._cache.get(conversation_id)
            empty = live is not None and not live.version
        if empty:
            self._forget(conversation_id)

    def _forget(self, conversation_id: str) -> None:
        with self._cache_lock:
            live = self._cache.pop(conversation_id, None)
            self._cached_bytes -= live.counted_bytes if live else 0

    def _make_room(self, newest: Live) -> None:
        """Bounds the cache by the bytes of the events that it folds; the conversation in use stays."""
        with self._cache_lock:
            if self._cache.get(newest.conversation_id) is newest:
                self._cached_bytes += newest.bytes - newest.counted_bytes
                newest.counted_bytes = newest.bytes
            while self._cached_bytes > self.cache_bytes and len(self._cache) > 1:
                _, oldest = self._cache.popitem(last=False)
                self._cached_bytes -= oldest.counted_bytes
