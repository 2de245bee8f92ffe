"""What one call does to a conversation: the events it records so far, and the state after them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from turnledger.domain.conversation import Conversation
from turnledger.domain.events import BEGINNINGS, ConversationStarted, DomainEvent, Envelope


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
    """A draft of the conversation that each recorded event moves on, so that what follows sees it.

    The conversation that it was made from stays as it is: it evolves when the events have been recorded.
    """

    def __init__(self, conversation: Conversation, origin: Origin) -> None:
        self.state = conversation.draft()
        self.origin = origin
        self.events: list[DomainEvent] = []
        self._batch = conversation.version + 1
        self._time = max(origin.time, conversation.time or origin.time)

    def not_before(self, time: datetime) -> None:
        """What is recorded comes no earlier than that, whatever the clock says."""
        self._time = max(self._time, time)

    def record(
        self, event_class: type[DomainEvent], *, execution_id: str | None = None, **payload: Any
    ) -> None:
        """Adds an event; the first of a conversation brings `ConversationStarted` before it."""
        if not self.state.version and event_class not in BEGINNINGS:
            self._add(ConversationStarted, started_id=self.origin.conversation_id, window=self.origin.window)
        self._add(event_class, execution_id, **payload)

    def _add(self, event_class: type[DomainEvent], execution_id: str | None = None, **payload: Any) -> None:
        origin = self.origin
        envelope = Envelope(
            version=self.state.version + 1,
            time=self._time,
            batch=self._batch,
            schema_number=event_class.SCHEMA,
            execution_id=execution_id or origin.execution_id,
            turn_id=origin.turn_id,
            idempotency_key=origin.idempotency_key,
            idempotency_digest=origin.idempotency_digest,
            context=origin.context,
        )
        event = event_class(conversation_id=origin.conversation_id, envelope=envelope, **payload)
        self.events.append(event)
        self.state.evolve(event)
