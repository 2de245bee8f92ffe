"""What one call does to a conversation: the events it records so far, and the state after them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from turnledger.domain.conversation import Conversation
from turnledger.domain.events import (
    BEGINNINGS,
    CallHealed,
    ConversationCleared,
    ConversationForked,
    ConversationStarted,
    DomainEvent,
    EntriesEvicted,
    EntryRetracted,
    Envelope,
    MessageAppended,
    SummaryInserted,
)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the events of one call come from: what their envelopes carry."""

    conversation_id: str
    time: datetime
    window: int | None = None
    execution_id: str | None = None
    turn_id: str | None = None
    idempotency_key: str | None = None
    idempotency_digest: str | None = None
    context: dict[str, str] | None = None


class Changes:
    """The events of a call, and a draft of the conversation that they move on, so that what follows sees it.

    The conversation that it was made from stays as it is: it evolves when the events have been recorded. The
    draft is made when it is first asked for: most calls record one event, and nothing follows it.
    """

    def __init__(self, conversation: Conversation, origin: Origin) -> None:
        self.before = conversation
        self.origin = origin
        self._version, self._count = conversation.version, len(conversation.buffer)
        self.events: list[DomainEvent] = []
        self._draft: Conversation | None = None
        self._drafted = 0
        self._time = max(origin.time, conversation.time or origin.time)

    @property
    def version(self) -> int:
        """The version behind the events so far."""
        return self._version + len(self.events)

    @property
    def count(self) -> int:
        """The number of entries that the buffer has behind the events so far."""
        if self.events and self.events[-1].__class__ is ConversationCleared:
            return 0
        return self._count + sum(map(_added_by, self.events))

    @property
    def window(self) -> int | None:
        return self.before.window if self._version else self.origin.window

    @property
    def state(self) -> Conversation:
        """The draft, which goes along with what is recorded."""
        if self._draft is None:
            if self.before.version != self._version:
                raise RuntimeError("what was decided is recorded by now: there is no draft of it any more")
            self._draft = self.before.draft()
        while self._drafted < len(self.events):
            self._draft.evolve(self.events[self._drafted])
            self._drafted += 1
        return self._draft

    @property
    def now(self) -> Conversation:
        """The state at this moment, to be looked at and not kept: later events may not show in it."""
        return self.state if self.events else self.before

    def recorded_on(self, conversation: Conversation) -> None:
        """The conversation that it was made from evolves: the events are recorded."""
        if self._draft is not None:
            conversation.adopt(self.state)
        else:
            for event in self.events:
                conversation.evolve(event)

    def not_before(self, time: datetime) -> None:
        """What is recorded comes no earlier than that, whatever the clock says."""
        self._time = max(self._time, time)

    def record(
        self, event_class: type[DomainEvent], *, execution_id: str | None = None, **payload: Any
    ) -> None:
        """Adds an event; the first of a conversation brings `ConversationStarted` before it."""
        if not self.version and event_class not in BEGINNINGS:
            self._add(ConversationStarted, started_id=self.origin.conversation_id, window=self.origin.window)
        self._add(event_class, execution_id, **payload)

    def _add(self, event_class: type[DomainEvent], execution_id: str | None = None, **payload: Any) -> None:
        origin = self.origin
        envelope = Envelope(
            version=self.version + 1,
            time=self._time,
            batch=self._version + 1,
            schema_number=event_class.SCHEMA,
            execution_id=execution_id or origin.execution_id,
            turn_id=origin.turn_id,
            idempotency_key=origin.idempotency_key,
            idempotency_digest=origin.idempotency_digest,
            context=origin.context,
        )
        self.events.append(event_class(conversation_id=origin.conversation_id, envelope=envelope, **payload))
        if self._draft is not None:
            self.state  # noqa: B018 - whoever holds the draft sees this in it


def _added_by(event: DomainEvent) -> int:
    """How many more entries the buffer has behind an event."""
    match event:
        case MessageAppended() | CallHealed() | SummaryInserted():
            return 1
        case EntriesEvicted():
            return -len(event.evicted)
        case EntryRetracted():
            return -1
        case ConversationForked():
            return len(event.buffer)
    return 0
