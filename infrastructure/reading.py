"""Readings that go over rows rather than over one conversation's folds: events, summaries."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from eventsourcing.persistence import StoredEvent

from turnledger.domain.errors import (
    ConversationNotFound,
    CorruptEvent,
    InvalidArgument,
    NewerLog,
    StoreDamaged,
)
from turnledger.domain.events import (
    NO_PREVIOUS,
    CallHealed,
    ConversationCleared,
    ConversationForked,
    DomainEvent,
    EntriesEvicted,
    EntryRetracted,
    MessageAppended,
    SummaryInserted,
)
from turnledger.infrastructure.application import ConversationApplication
from turnledger.infrastructure.mapper import digest_of

log = logging.getLogger("turnledger")

ADDING = (MessageAppended.TOPIC, CallHealed.TOPIC, SummaryInserted.TOPIC)


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
        """Yields sound events, each when the one after it has confirmed its bytes.

        The rows before the first and behind the last are read too, for the chain.
        """
        waiting: DomainEvent | None = None
        digest: str | None = NO_PREVIOUS if after == 0 else None
        expected = max(after, 1)
        for row in self._application.rows(self.conversation_id, max(after - 1, 0), to + 1):
            version = row.originator_version
            event, damage = self._decoded(row) if version > after else (None, None)
            if event is not None and version == expected and digest not in (None, event.previous):
                self._found(
                    version - 1, "the event after it is chained to other bytes: one of the two was changed"
                )
                waiting = None
            if waiting is not None:
                yield waiting
            self._missing(expected, min(version, to + 1))
            if damage is not None and version <= to:
                self._met(version, damage)
            waiting = event if version <= to else None
            digest = digest_of(row.state) if damage is None else None
            expected = version + 1
        if waiting is not None:
            yield waiting
        self._missing(expected, to + 1)

    def _decoded(self, row: StoredEvent) -> tuple[DomainEvent | None, CorruptEvent | NewerLog | None]:
        try:
            return self._application.mapper.decoded(row), None
        except (CorruptEvent, NewerLog) as error:
            return None, error

    def _missing(self, first: int, end: int) -> None:
        for version in range(first, end):
            self._found(version, "the event is missing")

    def _found(self, version: int, reason: str) -> None:
        self._met(version, CorruptEvent(self.conversation_id, version, reason))

    def _met(self, version: int, damage: CorruptEvent | NewerLog) -> None:
        if self._raises:
            raise damage
        if isinstance(damage, NewerLog):
            damage = CorruptEvent(self.conversation_id, version, str(damage))
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
    """Sums a conversation up without folding it; one on a damaged page of the file is named, and no more."""
    try:
        with application.read_log() as rows:
            version = rows.version(conversation_id)
            clearings = rows.rows_of(conversation_id, ConversationCleared.TOPIC)
            begun = clearings[-1].originator_version if clearings else 0
            added = rows.counted(conversation_id, ADDING, after=begun)
            added -= rows.counted(conversation_id, (EntryRetracted.TOPIC,), after=begun)
            evictions = rows.rows_of(conversation_id, EntriesEvicted.TOPIC, after=begun)
            ends = [*rows.rows(conversation_id, to=1), *rows.rows(conversation_id, after=version - 1)]
    except StoreDamaged as error:
        log.warning("conversation %r: %s", conversation_id, error)
        return ConversationSummary(conversation_id, 0, 0, None, None)
    evicted = [_event_or_none(application, row) for row in evictions]
    found = {row.originator_version: event for row in ends if (event := _event_or_none(application, row))}
    first, last = found.get(1), found.get(version)
    added += len(first.buffer) if isinstance(first, ConversationForked) and not begun else 0
    return ConversationSummary(
        conversation_id,
        version,
        added - sum(len(event.evicted) for event in evicted if isinstance(event, EntriesEvicted)),
        first.time if first else None,
        last.time if last else None,
    )


def _event_or_none(application: ConversationApplication, row: StoredEvent) -> DomainEvent | None:
    try:
        return application.mapper.decoded(row)
    except (CorruptEvent, NewerLog) as error:
        log.warning("%s", error)
        return None
