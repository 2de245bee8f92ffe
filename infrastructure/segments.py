"""Segments: what each stretch of the log did to the buffer, kept beside the log for cold readings.

A segment is a cache: it can be deleted at any time, and is made again by whoever folds its events. It covers
a fixed number of versions, so that all writers make the same ones. It is written with the next append. On
load it is trusted only if its checksum holds, the log still has the event that the last one ends with, and as
many rows and bytes before that as there were: what else could have happened to a row `verify` sees.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple
from zlib import crc32

from pydantic_core import from_json, to_json

from turnledger.infrastructure.mapper import digest_of
from turnledger.infrastructure.storage import VERSION_MAX, Log
from turnledger.projections.buffer import BufferView

VERSIONS = 32
FORMAT = 1
WAITING_MAX = 64


class Segment(NamedTuple):
    """The changes of the buffer over the `VERSIONS` versions that end with `version`; `digest` is that of
    the event there, `row_bytes` the size of their rows."""

    version: int
    digest: str
    row_bytes: int
    changes: bytes


def captured(buffer: BufferView, digest: str, row_bytes: int) -> Segment:
    """The segment that ends where the view is; the view counts anew from there."""
    segment = Segment(buffer.version, digest, row_bytes, to_json(buffer.changes()))
    buffer.keep_changes()
    return segment


def save(log: Log, conversation_id: str, segments: Sequence[Segment]) -> None:
    """Writes segments, in a transaction that is open; one that is there already is the same."""
    for segment in segments:
        log.execute(
            "INSERT OR REPLACE INTO buffer_segments VALUES (?,?,?,?,?,?,?)",
            (
                conversation_id,
                segment.version,
                FORMAT,
                segment.digest,
                segment.row_bytes,
                _checksum(conversation_id, segment),
                segment.changes,
            ),
        )


class Loaded(NamedTuple):
    """A buffer from segments, with the digest of its last event and the bytes of the rows behind it."""

    buffer: BufferView
    digest: str
    row_bytes: int


def load(log: Log, conversation_id: str, to: int | None = None) -> Loaded | None:
    """The buffer as the segments up to a version have it.

    None where there are none, or where they do not fit the log: then it is to be folded from its events.
    """
    found = log.execute(
        "SELECT version, digest, row_bytes, checksum, CAST(changes AS BLOB) FROM buffer_segments"
        " WHERE conversation_id = ? AND version <= ? AND format = ? ORDER BY version",
        (conversation_id, VERSION_MAX if to is None else min(to, VERSION_MAX), FORMAT),
    )
    buffer, digest, total = BufferView(), "", 0
    for version, own_digest, row_bytes, checksum, changes in found:
        segment = Segment(version, own_digest, row_bytes, changes or b"")
        if version != buffer.version + VERSIONS or checksum != _checksum(conversation_id, segment):
            break
        try:
            buffer.load(version, from_json(segment.changes, cache_strings="all"))
        except (ValueError, TypeError, KeyError, IndexError):
            return None  # one left over from a log that was cut off and has grown otherwise since
        digest, total = own_digest, total + row_bytes
    if not buffer.version or log.row_bytes(conversation_id, buffer.version) != (buffer.version, total):
        return None
    buffer.keep_changes()
    last = log.rows(conversation_id, after=buffer.version - 1, to=buffer.version)
    return Loaded(buffer, digest, total) if last and digest_of(last[0].state) == digest else None


def all_of(log: Log, conversation_id: str) -> list[Segment]:
    """The segments as they are kept, for the audit."""
    found: list[Any] = log.execute(
        "SELECT CAST(version AS INTEGER), digest, row_bytes, CAST(changes AS BLOB) FROM buffer_segments"
        " WHERE conversation_id = ? ORDER BY version",
        (conversation_id,),
    )
    return [Segment(version or 0, digest, size, changes or b"") for version, digest, size, changes in found]


def _checksum(conversation_id: str, segment: Segment) -> int:
    name = f"{conversation_id}:{segment.version}:{segment.digest}:{segment.row_bytes}"
    return crc32(segment.changes, crc32(name.encode()))
