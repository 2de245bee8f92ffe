"""Events to bytes and back: strict JSON, a hash chain, a closed table of topics, upcasts on the way in.

Stored bytes are one JSON object: the payload's fields and `envelope`, of both only what differs from its
default (`batch` from `version`). The conversation's id stands in the row, and in its first event.
"""

from collections.abc import Sequence
from dataclasses import MISSING, fields
from hashlib import sha256
from operator import attrgetter
from typing import Any

from eventsourcing.persistence import JSONTranscoder, Mapper, StoredEvent
from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from turnledger.domain.errors import CorruptEvent, NewerLog
from turnledger.domain.events import (
    TOPICS,
    ConversationForked,
    ConversationStarted,
    DomainEvent,
    MessageAppended,
    PlaceholderReplaced,
    RecordKept,
    SummaryInserted,
)
from turnledger.domain.forking import refuse_oversized_fork
from turnledger.domain.messages import ENCODED_BYTES_MAX, refuse_oversized
from turnledger.domain.records import refuse_oversized_record

_READERS: dict[str, TypeAdapter[DomainEvent]] = {topic: TypeAdapter(cls) for topic, cls in TOPICS.items()}


def _defaults_of(dataclass: type[Any], left_out: tuple[str, ...]) -> tuple[tuple[str, Any], ...]:
    return tuple(
        (field.name, field.default_factory() if field.default_factory is not MISSING else field.default)
        for field in fields(dataclass)
        if field.name not in left_out
    )


_ORIGIN = ("execution_id", "turn_id", "idempotency_key", "idempotency_digest", "context")
_origin = attrgetter(*_ORIGIN)
_NO_ORIGIN = (None,) * len(_ORIGIN)
_PAYLOADS = {cls: _defaults_of(cls, ("conversation_id", "envelope")) for cls in TOPICS.values()}


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

    def stored(self, event: DomainEvent, previous: str | None = None) -> StoredEvent:
        """The row of an event, behind the one with the digest `previous`.

        Raises `InvalidMessage` for a message too large for a row.
        """
        given = event.envelope
        envelope: dict[str, Any] = {"version": given.version, "time": given.time}
        if given.batch != given.version:
            envelope["batch"] = given.batch
        if event.SCHEMA != 1:
            envelope["schema_number"] = event.SCHEMA
        if linked := given.previous if previous is None else previous:
            envelope["previous"] = linked
        if (origin := _origin(given)) != _NO_ORIGIN:
            envelope |= {n: value for n, value in zip(_ORIGIN, origin, strict=True) if value is not None}
        payload = {
            name: value
            for name, default in _PAYLOADS[event.__class__]
            if (value := getattr(event, name)) != default
        }
        payload["envelope"] = envelope
        state = to_json(payload)
        if len(state) > ENCODED_BYTES_MAX:
            _refuse_oversized(event, len(state))
        return StoredEvent(event.conversation_id, given.version, event.TOPIC, state)

    def chained(self, events: Sequence[DomainEvent], previous: str) -> tuple[list[StoredEvent], list[str]]:
        """Each event's row, linked to the one before, and its digest. What cannot be read back is refused."""
        rows, digests = [], []
        for event in events:
            row = self.stored(event, previous)
            self.decoded(row)
            previous = digest_of(row.state)
            rows.append(row)
            digests.append(previous)
        return rows, digests

    def decoded(self, row: StoredEvent) -> DomainEvent:
        """The event of a row. Raises `CorruptEvent`, or `NewerLog` for what a newer release wrote."""
        if not isinstance(row.topic, str):
            raise CorruptEvent(str(row.originator_id), row.originator_version, "its topic is no text")
        reader = _READERS.get(row.topic)
        if reader is None:
            raise NewerLog(
                f"{_named(row)}: unknown topic {row.topic!r}: damage, or a newer turnledger reads it"
            )
        try:
            event: DomainEvent = reader.validator.validate_json(row.state)
            if event.envelope.schema_number != event.SCHEMA:
                event = _of_another_schema(row)
        except (ValidationError, ValueError, TypeError, KeyError, AttributeError) as error:
            event = _of_another_schema(row, error)
        conversation_id = str(row.originator_id)
        object.__setattr__(event, "conversation_id", conversation_id)
        version = event.envelope.version
        if not event.envelope.batch:
            object.__setattr__(event.envelope, "batch", version)
        if version != row.originator_version:
            raise CorruptEvent(
                conversation_id, row.originator_version, f"the row holds the event of version {version}"
            )
        if (
            isinstance(event, ConversationStarted | ConversationForked)
            and event.started_id != conversation_id
        ):
            raise CorruptEvent(conversation_id, 1, f"the row holds the start of {event.started_id!r}")
        return event


def _refuse_oversized(event: DomainEvent, encoded_bytes: int) -> None:
    match event:
        case MessageAppended() | PlaceholderReplaced():
            refuse_oversized(event.index, encoded_bytes)
        case SummaryInserted():
            refuse_oversized(0, encoded_bytes)
        case ConversationForked():
            refuse_oversized_fork(event, encoded_bytes)
        case RecordKept():
            refuse_oversized_record(event, encoded_bytes)


def _of_another_schema(row: StoredEvent, failure: Exception | None = None) -> DomainEvent:
    """The event of a row that an earlier release wrote; says so where it was a later one, or damage."""
    event_class = TOPICS[row.topic]
    try:
        data = from_json(row.state)
        schema = data["envelope"].get("schema_number", 1)
        if schema > event_class.SCHEMA:
            raise NewerLog(
                f"{_named(row)}: schema {schema} of {row.topic!r} is newer than {event_class.SCHEMA}; "
                "a newer turnledger reads it"
            )
        if failure is not None and schema == event_class.SCHEMA:
            raise failure
        for number in range(schema, event_class.SCHEMA):
            data = getattr(event_class, f"upcast_v{number}_v{number + 1}")(data)
        return _READERS[row.topic].validate_python(data)
    except (ValidationError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise CorruptEvent(str(row.originator_id), row.originator_version, _first_line(error)) from error


def _named(row: StoredEvent) -> str:
    return f"conversation {row.originator_id!r}, version {row.originator_version}"


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError) and error.errors()[0]["type"] == "json_invalid":
        return "its bytes are no JSON"
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error).splitlines()[0] if str(error) else type(error).__name__
