"""Records: what an ecosystem has of its own beside the messages, kept verbatim in the same transaction.

A record is in no buffer and in no list that is sent, and nothing here looks into it. One with a key is kept
once in a conversation; a cleared conversation begins without any.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from turnledger.domain.changes import Changes
from turnledger.domain.errors import InvalidArgument
from turnledger.domain.events import RecordKept
from turnledger.domain.identifiers import checked_id, checked_optional_id
from turnledger.domain.messages import ENCODED_BYTES_MAX
from turnledger.domain.values import Unkeepable, kept


@dataclass(frozen=True, slots=True)
class Record:
    """A record to keep: `kind` names the ecosystem (`claude-agent-sdk`), `key` the record in it, if it has
    one, `value` is any JSON value. Kind and key are 1 to 255 characters, as ids are."""

    kind: str
    key: str | None
    value: Any


@dataclass(frozen=True, slots=True)
class KeptRecord:
    """A record as it was kept, with the version and time of its event."""

    kind: str
    key: str | None
    value: Any
    version: int
    time: datetime


def read_records(given: Any) -> list[Record]:
    """Records as they will be kept. Raises `InvalidArgument`, and `InvalidId` for a kind or key."""
    if isinstance(given, Record):
        given = [given]
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InvalidArgument("records must be a list of Record(kind, key, value)")
    return [_read(record, index) for index, record in enumerate(given)]


def _read(record: Any, index: int) -> Record:
    if not isinstance(record, Record):
        raise InvalidArgument(f"record {index} must be a Record(kind, key, value), not {record!r:.100}")
    try:
        value = kept(record.value)
    except Unkeepable as reason:
        raise InvalidArgument(f"record {index} cannot be kept: {reason}") from None
    kind, key = checked_id("kind", record.kind), checked_optional_id("key", record.key)
    return Record(kind, key, value)


def keep(changes: Changes, records: Iterable[Record]) -> int:
    """Keeps each record whose key is not known under its kind; how many that were."""
    before = len(changes.events)
    for record in records:
        if record.key is None or (record.kind, record.key) not in changes.now.record_keys:
            changes.record(RecordKept, kind=record.kind, key=record.key, record=record.value)
    return sum(isinstance(event, RecordKept) for event in changes.events[before:])


def refuse_oversized_record(event: RecordKept, encoded_bytes: int) -> None:
    """Raises `InvalidArgument` for a record that no row should hold."""
    if encoded_bytes > ENCODED_BYTES_MAX:
        raise InvalidArgument(
            f"a record of kind {event.kind!r} takes {encoded_bytes:,} bytes, and at most "
            f"{ENCODED_BYTES_MAX:,} are kept"
        )
