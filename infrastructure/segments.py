"""Segments: what each stretch of the log did to the buffer, kept beside the log for cold readings.

A segment is a cache: it can be deleted at any time, and is made again by whoever folds its events. It covers
a fixed number of versions, so that all writers make the same ones. It is written with the next append. On
load it is trusted only if its checksum holds, the log still has the event that the last one ends with, and as
many rows and bytes before that as there were: what else could have happened to a row `verify` sees.
"""

from collections.abc import Sequence
from typing import NamedTuple
from zlib import crc32

from pydantic_core import from_json, to_json

from turnledger.infrastructure.log import Log, Parcel
from turnledger.infrastructure.mapper import digest_of
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
    """Keeps segments, in the transaction that is open, if the log needs one."""
    if segments:
        log.keep(conversation_id, [_parcel(conversation_id, segment) for segment in segments])


def _parcel(conversation_id: str, segment: Segment) -> Parcel:
    version, digest, row_bytes, changes = segment
    return Parcel(version, FORMAT, digest, row_bytes, _checksum(conversation_id, segment), changes)


class Loaded(NamedTuple):
    """A buffer from segments, with the digest of its last event and the bytes of the rows behind it."""

    buffer: BufferView
    digest: str
    row_bytes: int


def load(log: Log, conversation_id: str, to: int | None = None) -> Loaded | None:
    """The buffer as the segments up to a version have it.

    None where there are none, or where they do not fit the log: then it is to be folded from its events.
    """
    buffer, digest, total = BufferView(), "", 0
    for parcel in log.kept(conversation_id, to):
        if parcel.format != FORMAT:
            continue
        segment = _segment(parcel)
        if segment.version != buffer.version + VERSIONS or parcel != _parcel(conversation_id, segment):
            break
        try:
            buffer.load(segment.version, from_json(segment.changes, cache_strings="all"))
        except (ValueError, TypeError, KeyError, IndexError):
            return None  # one left over from a log that was cut off and has grown otherwise since
        digest, total = segment.digest, total + segment.row_bytes
    if not buffer.version or log.row_bytes(conversation_id, buffer.version) != (buffer.version, total):
        return None
    buffer.keep_changes()
    last = log.rows(conversation_id, after=buffer.version - 1, to=buffer.version)
    return Loaded(buffer, digest, total) if last and digest_of(last[0].state) == digest else None


def all_of(log: Log, conversation_id: str) -> list[Segment]:
    """The segments as they are kept, for the audit."""
    return [_segment(parcel) for parcel in log.kept(conversation_id)]


def _segment(parcel: Parcel) -> Segment:
    return Segment(parcel.version, parcel.digest, parcel.row_bytes, parcel.changes)


def _checksum(conversation_id: str, segment: Segment) -> int:
    name = f"{conversation_id}:{segment.version}:{segment.digest}:{segment.row_bytes}"
    return crc32(segment.changes, crc32(name.encode()))
