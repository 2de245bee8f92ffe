"""The records of a conversation, read from their own rows: no other event of its log is decoded for them."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from eventsourcing.persistence import StoredEvent

from turnledger.domain.errors import ConversationNotFound, VersionNotFound
from turnledger.domain.events import ConversationCleared, DomainEvent, RecordKept
from turnledger.domain.identifiers import checked_optional_id
from turnledger.domain.records import KeptRecord
from turnledger.infrastructure.application import ConversationApplication


def kept_records(
    application: ConversationApplication,
    conversation_id: str,
    kind: str | None,
    key: str | None,
    after: int,
    at: int | datetime | None,
) -> list[KeptRecord]:
    """The records since the last clearing, in order. Raises `ConversationNotFound` and `VersionNotFound`."""
    checked_optional_id("kind", kind)
    with application.read_log() as log:
        version = log.version(conversation_id)
        if not version:
            raise ConversationNotFound(f"there is no conversation {conversation_id!r}")
        if isinstance(at, int) and at > version:
            raise VersionNotFound.beyond(conversation_id, at, version)
        clearings = log.rows_of(conversation_id, ConversationCleared.TOPIC, after=after)
        begun = max((event.version for event in _up_to(application, clearings, at)), default=0)
        if checked_optional_id("key", key) is None:
            rows = log.rows_of(conversation_id, RecordKept.TOPIC, after=max(after, begun))
        else:
            rows = log.rows_saying(conversation_id, [RecordKept.TOPIC], str(key))
    return sorted(
        (
            KeptRecord(event.kind, event.key, event.record, event.version, event.time)
            for event in _up_to(application, rows, at)
            if isinstance(event, RecordKept)
            and event.version > max(after, begun)
            and kind in (None, event.kind)
            and key in (None, event.key)
        ),
        key=lambda record: record.version,
    )


def _up_to(
    application: ConversationApplication, rows: Iterable[StoredEvent], at: int | datetime | None
) -> Iterator[DomainEvent]:
    """The events of these rows that are not later than a version or time."""
    for row in rows:
        event = application.mapper.decoded(row)
        if at is None or (event.time if isinstance(at, datetime) else event.version) <= at:  # type: ignore[operator]
            yield event
