"""Readings that go over rows rather than over one conversation's folds: events, summaries."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from eventsourcing.persistence import StoredEvent

from turnledger.domain.errors import ConversationNotFound, CorruptEvent, InvalidArgument, NewerLog
from turnledger.domain.events import CallHealed, DomainEvent, EntriesEvicted, MessageAppended
from turnledger.infrastructure.application import ConversationApplication
from turnledger.infrastructure.mapper import digest_of

log = logging.getLogger("turnledger")

ADDING = (MessageAppended.TOPIC, CallHealed.TOPIC)


class EventReading(Iterator[DomainEvent]):
    """The events of a conversation, in order, page by page.

    With `damaged="skip"` what cannot be read is left out, and listed in `damaged` as it is met.
    """

    def __init__(
        self,
        application: ConversationApplication,
        conversation_id: str,
        *,
        after: int = 0,
        to: int | None = None,
        damaged: Literal["raise", "skip"] = "raise",
    ) -> None:
        if damaged not in ("raise", "skip"):
            raise InvalidArgument(f"damaged must be 'raise' or 'skip', not {damaged!r}")
        self.conversation_id = conversation_id
        self.damaged: list[CorruptEvent] = []
        self._raises = damaged == "raise"
        self._application = application
        self._last = application.version(conversation_id)
        if not self._last:
            raise ConversationNotFound(f"there is no conversation {conversation_id!r}")
        self._events = self._read(after, self._last if to is None else min(to, self._last))

    def __next__(self) -> DomainEvent:
        return next(self._events)

    def _read(self, after: int, to: int) -> Iterator[DomainEvent]:
        """Yields sound events. The row before the first is read too, for the chain."""
        previous: str | None = "" if after == 0 else None
        expected = max(after, 1)
        for row in self._application.rows(self.conversation_id, max(after - 1, 0), to):
            for version in range(expected, row.originator_version):
                self._found(version, "the event is missing")
                previous = None
            expected = row.originator_version + 1
            event = self._decoded(row) if row.originator_version > after else None
            if event is not None:
                if previous not in (None, event.previous):
                    reason = "the event after it was chained to other bytes: it was changed, or that one"
                    self._found(event.version - 1, reason)
                yield event
            previous = digest_of(row.state) if event is not None or row.originator_version <= after else None
        for version in range(expected, to + 1):
            self._found(version, "the event is missing")

    def _decoded(self, row: StoredEvent) -> DomainEvent | None:
        try:
            return self._application.mapper.decoded(row)
        except (CorruptEvent, NewerLog) as error:
            if self._raises:
                raise
            self.damaged.append(
                error
                if isinstance(error, CorruptEvent)
                else CorruptEvent(self.conversation_id, row.originator_version, str(error))
            )
            return None

    def _found(self, version: int, reason: str) -> None:
        damage = CorruptEvent(self.conversation_id, version, reason)
        if self._raises:
            raise damage
        self.damaged.append(damage)


@dataclass(frozen=True, slots=True)
class ConversationSummary:
    """One line about a conversation; the times are None where the event that holds them is damaged."""

    conversation_id: str
    version: int
    entries: int
    started_at: datetime | None
    updated_at: datetime | None


def summary(application: ConversationApplication, conversation_id: str) -> ConversationSummary:
    """Sums a conversation up without folding it."""
    with application.read_log() as log:
        version = log.version(conversation_id)
        added = log.counted(conversation_id, ADDING)
        evictions = log.rows_of(conversation_id, EntriesEvicted.TOPIC)
        ends = [*log.rows(conversation_id, to=1), *log.rows(conversation_id, after=version - 1)]
    evicted = [_event_or_none(application, row) for row in evictions]
    times = {
        row.originator_version: event.time for row in ends if (event := _event_or_none(application, row))
    }
    return ConversationSummary(
        conversation_id,
        version,
        added - sum(len(event.evicted) for event in evicted if isinstance(event, EntriesEvicted)),
        times.get(1),
        times.get(version),
    )


def _event_or_none(application: ConversationApplication, row: StoredEvent) -> DomainEvent | None:
    try:
        return application.mapper.decoded(row)
    except (CorruptEvent, NewerLog) as error:
        log.warning("%s", error)
        return None
