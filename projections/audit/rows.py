"""The log as rows: versions, the chain, anchors, decoding, times, and the events of one call.

The last row has no successor, so a change of its bytes that still decodes shows in no link of the chain; nor
do last rows cut off, or a chain rewritten as a whole. An anchor, a digest kept elsewhere, shows all of these.
"""

from collections import OrderedDict
from collections.abc import Iterable
from hashlib import sha256
from typing import NamedTuple

from turnledger.domain.events import (
    BEGINNINGS,
    DomainEvent,
    MessageAppended,
    PlaceholderReplaced,
)
from turnledger.domain.heads import Head
from turnledger.projections.audit.report import (
    ANCHORS,
    BATCHES,
    CHAIN,
    DECODING,
    ONCE,
    TIMES,
    VERSIONS,
    Findings,
)

KEYS_REMEMBERED = 10_000


class Row(NamedTuple):
    """A row as it is stored, with its event, or with the reason why that cannot be read."""

    version: int
    state: bytes
    event: DomainEvent | None
    fault: str = ""


class RowChecks:
    """Fed every row in order of version. `gap` says that an event is missing or could not be read."""

    def __init__(self, conversation_id: str, findings: Findings, anchors: Iterable[Head] = ()) -> None:
        self.gap = False
        self._conversation_id = conversation_id
        self._findings = findings
        self._expected = 1
        self._previous: str | None = ""
        self._last: DomainEvent | None = None
        self._last_batch, self._last_index = 0, -1
        self._keys: OrderedDict[str, int] = OrderedDict()
        self._anchors: dict[int, set[str]] = {}
        for anchor in anchors:
            self._anchors.setdefault(anchor.version, set()).add(anchor.digest)

    def see(self, row: Row) -> None:
        if row.version < 1:
            self._findings.add(VERSIONS, f"a row has version {row.version}; the first is 1", row.version)
            return
        self._no_version_missing(row.version)
        if row.event is None:
            self.gap = True
            self._findings.add(DECODING, row.fault, row.version)
        else:
            self._event(row.event)
        self._last = row.event
        self._previous = sha256(row.state).hexdigest()
        self._anchored(row.version, self._previous)

    @property
    def digest(self) -> str | None:
        """The digest of the newest row."""
        return self._previous

    def finish(self, version: int) -> None:
        """After the last row: the conversation was said to have `version` events."""
        self._no_version_missing(version + 1)
        for anchored in self._anchors:
            text = f"the log ends at version {version}: version {anchored} was anchored, and is cut off"
            if anchored <= version:
                text = f"version {anchored} was anchored, and is gone"
            self._findings.add(ANCHORS, text, min(anchored, version))

    def _anchored(self, version: int, digest: str) -> None:
        """Whether the row is the one of which the anchor was taken: then so, by the chain, is all before."""
        for expected in self._anchors.pop(version, ()):
            if expected != digest:
                text = "the event is not the one that was anchored: it, or one before it, was changed"
                self._findings.add(ANCHORS, text, version)

    def _no_version_missing(self, version: int) -> None:
        first, last = self._expected, version - 1
        self._expected = version + 1
        if first <= last:
            self.gap = True
            self._previous = self._last = None
            text = (
                f"version {first} is missing" if first == last else f"versions {first} to {last} are missing"
            )
            self._findings.add(VERSIONS, text, first, last)

    def _event(self, event: DomainEvent) -> None:
        version = event.version
        if isinstance(event, BEGINNINGS) != (version == 1):
            text = "the first event, and no other, is the start of the conversation"
            self._findings.add(VERSIONS, text, version)
        elif isinstance(event, BEGINNINGS) and event.started_id != self._conversation_id:
            self._findings.add(VERSIONS, f"it is the start of {event.started_id!r}", version)
        if self._previous is not None and event.previous != self._previous:
            text = "the event is not chained to the bytes before it: they were changed, or it was"
            self._findings.add(CHAIN, text, max(version - 1, 1), version)
        self._batch(event)
        if event.envelope.idempotency_key is not None:
            self._key(event, event.envelope.idempotency_key)

    def _batch(self, event: DomainEvent) -> None:
        last, version = self._last, event.version
        if last is not None and event.time < last.time:
            self._findings.add(TIMES, "the event is earlier than the one before it", last.version, version)
        begins = event.batch == version
        continues = self.gap if last is None else event.batch == last.batch
        if not begins and not continues:
            self._findings.add(BATCHES, f"its call began at version {event.batch}, not here", version)
        elif last is not None and not begins:
            self._same_call(last, event)
        self._in_order(event)

    def _same_call(self, last: DomainEvent, event: DomainEvent) -> None:
        one, other = last.envelope, event.envelope
        for name in ("time", "turn_id", "idempotency_key", "idempotency_digest", "context"):
            if getattr(one, name) != getattr(other, name):
                text = f"two events of one call differ in {name}"
                self._findings.add(BATCHES, text, last.version, event.version)

    def _in_order(self, event: DomainEvent) -> None:
        if event.batch != self._last_batch:
            self._last_batch, self._last_index = event.batch, -1
        if isinstance(event, MessageAppended | PlaceholderReplaced):
            if event.index <= self._last_index:
                text = f"message {event.index} of the call comes behind message {self._last_index}"
                self._findings.add(BATCHES, text, event.version)
            self._last_index = event.index

    def _key(self, event: DomainEvent, key: str) -> None:
        """The newest 10,000 keys of a conversation are remembered; none of them has a second use."""
        batch = self._keys.setdefault(key, event.batch)
        if batch != event.batch:
            self._findings.add(ONCE, f"key {key!r} was used by two calls", batch, event.version)
        if len(self._keys) > KEYS_REMEMBERED:
            self._keys.popitem(last=False)
