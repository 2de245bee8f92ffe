"""Events to bytes and back: strict JSON, a hash chain, a closed table of topics, upcasts on the way in.

Stored bytes are one JSON object: the payload's fields and `envelope`, of both only what differs from its
default (`batch` from `version`). The conversation's id stands in the row, and in `ConversationStarted`.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from eventsourcing.persistence import JSONTranscoder, Mapper, StoredEvent
from pydantic import ValidationError
from pydantic_core import from_json, to_json

from turnledger.domain.errors import CorruptEvent, NewerLog
from turnledger.domain.events import (
    TOPICS,
    ConversationStarted,
    DomainEvent,
    MessageAppended,
    PlaceholderReplaced,
)
from turnledger.domain.messages import refuse_oversized


def digest_of(state: bytes) -> str:
    """A link of the chain: the SHA-256 of an event's stored bytes, hexadecimal."""
    return sha256(state).hexdigest()


class ConversationMapper(Mapper[str]):
    """Encodes with pydantic-core, validates what it decodes, imports nothing by name."""

    def __init__(self) -> None:
        super().__init__(JSONTranscoder())

    def to_stored_event(self, domain_event: Any) -> StoredEvent:
        return self.stored(domain_event)

    def to_domain_event(self, stored_event: StoredEvent) -> Any:
        return self.decoded(stored_event)

    def stored(self, event: DomainEvent) -> StoredEvent:
        """The row of an event. Raises `InvalidMessage` for a message too large for one."""
        state = to_json(_payload(event) | {"envelope": _envelope(event)})
        if isinstance(event, MessageAppended | PlaceholderReplaced):
            refuse_oversized(event.index, len(state))
        return StoredEvent(event.conversation_id, event.version, event.TOPIC, state)

    def chained(self, events: Sequence[DomainEvent], previous: str) -> list[tuple[StoredEvent, DomainEvent]]:
        """Each event's row, linked to the one before, with the event as it will be read back from it."""
        recorded = []
        for event in events:
            envelope = event.envelope.model_copy(update={"previous": previous})
            row = self.stored(event.model_copy(update={"envelope": envelope}))
            recorded.append((row, self.decoded(row)))
            previous = digest_of(row.state)
        return recorded

    def decoded(self, row: StoredEvent) -> DomainEvent:
        """The event of a row. Raises `CorruptEvent`, or `NewerLog` for what a newer release wrote."""
        conversation_id = str(row.originator_id)
        if not isinstance(row.topic, str):
            raise CorruptEvent(conversation_id, row.originator_version, "its topic is no text")
        event_class = TOPICS.get(row.topic)
        if event_class is None:
            raise NewerLog(
                f"conversation {conversation_id!r}, version {row.originator_version}: unknown topic "
                f"{row.topic!r}; a newer turnledger reads it"
            )
        try:
            data = from_json(row.state)
            data["envelope"].setdefault("batch", data["envelope"]["version"])
            schema = data["envelope"].get("schema_number", 1)
            if schema > event_class.SCHEMA:
                raise NewerLog(
                    f"conversation {conversation_id!r}, version {row.originator_version}: schema {schema} of "
                    f"{row.topic!r} is newer than {event_class.SCHEMA}; a newer turnledger reads it"
                )
            event = event_class.model_validate(
                {**_upcast(event_class, data, schema), "conversation_id": conversation_id}
            )
        except (ValidationError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise CorruptEvent(conversation_id, row.originator_version, _first_line(error)) from error
        if event.version != row.originator_version:
            raise CorruptEvent(
                conversation_id, row.originator_version, f"the row holds the event of version {event.version}"
            )
        if isinstance(event, ConversationStarted) and event.started_id != conversation_id:
            raise CorruptEvent(conversation_id, 1, f"the row holds the start of {event.started_id!r}")
        return event


def _payload(event: DomainEvent) -> dict[str, Any]:
    """The event's own fields, without those that say nothing."""
    fields = {
        name: value
        for name, field in type(event).model_fields.items()
        if (value := getattr(event, name)) != field.default
    }
    del fields["envelope"], fields["conversation_id"]
    return fields


def _envelope(event: DomainEvent) -> dict[str, Any]:
    envelope = event.envelope
    fields = {
        name: value
        for name, field in type(envelope).model_fields.items()
        if (value := getattr(envelope, name)) != field.default
    }
    if envelope.batch == envelope.version:
        del fields["batch"]
    return fields


def _upcast(event_class: type[DomainEvent], data: dict[str, Any], schema: int) -> dict[str, Any]:
    for number in range(schema, event_class.SCHEMA):
        data = getattr(event_class, f"upcast_v{number}_v{number + 1}")(data)
    return data


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error).splitlines()[0] if str(error) else type(error).__name__
