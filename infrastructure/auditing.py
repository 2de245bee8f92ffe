"""Feeds the audit: the rows of a conversation page by page, the folds that it checks, and what is cached."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from eventsourcing.persistence import StoredEvent

from turnledger.domain.appending import Appending
from turnledger.domain.calls import Identity
from turnledger.domain.changes import Changes, Origin
from turnledger.domain.conversation import Conversation
from turnledger.domain.errors import ConversationNotFound, CorruptEvent, NewerLog, StoreDamaged
from turnledger.domain.events import ConversationForked, DomainEvent
from turnledger.domain.heads import Head
from turnledger.domain.messages import Message, read_message
from turnledger.domain.pairing import Item
from turnledger.infrastructure import segments
from turnledger.infrastructure.application import ConversationApplication
from turnledger.infrastructure.live import Live
from turnledger.infrastructure.mapper import digest_of
from turnledger.infrastructure.requests import digest_of_sent
from turnledger.projections.audit import (
    AuditedConversation,
    AuditReport,
    Finding,
    HistoryAudit,
    OriginAudit,
    Row,
)
from turnledger.projections.audit.report import ANCHORS, DECODING
from turnledger.projections.audit.sendable import Stretches
from turnledger.projections.providers import PROVIDERS, RENDERINGS
from turnledger.projections.sendable import normalize, normalized_items
from turnledger.projections.sendable_view import SendableView
from turnledger.projections.wire import wire

BEFORE_ALL = -(2**63)
COMPARISONS_TRIED = 5

Progress = Callable[[AuditedConversation], None]


class _WouldRecordError(Exception):
    """A rehearsed decision came to its first event."""


class _Rehearsal(Changes):
    """Changes to the state itself, of which none is ever made: the first event ends the decision."""

    def __init__(self, conversation: Conversation, origin: Origin) -> None:
        super().__init__(conversation, origin)
        self._draft = conversation

    def record(self, event_class: type[DomainEvent], **_: Any) -> None:
        raise _WouldRecordError(event_class.__name__)


class _Again(Appending):
    """Appends what may be known already; what would only be reported of a repeated turn is left out."""

    def _repeated_turn(self, index: int, message: Message, identities: Sequence[Identity | None]) -> None:
        self.entries.append(None)


class Rebuilt:
    """All folds of one conversation, rebuilt from nothing; what the audit asks of them (`Views`)."""

    def __init__(self, conversation_id: str) -> None:
        self.live = Live(conversation_id)
        self.segments: dict[int, str] = {}
        self._read: dict[int, tuple[Mapping[str, Any], Message]] = {}

    def take(self, event: DomainEvent) -> None:
        self.live.conversation.evolve(event)
        self.live.sendable.apply(event)
        self.live.buffer.apply(event)
        self.live.artifacts.apply(event)
        if event.version % segments.VERSIONS == 0:
            self.segments[event.version] = digest_of(segments.captured(self.live.buffer, "", 0).changes)

    def buffer(self) -> list[tuple[int, dict[str, Any]]]:
        return [(row.number, row.stored) for row in self.live.buffer.rows()]

    def sendable(self) -> list[dict[str, Any]]:
        return [item.flat() for item in self._items()]

    def growing(self) -> Stretches:
        return self.live.sendable.stretches(self.live.buffer)[0]

    def unsettled(self) -> int:
        return self.live.sendable.unsettled(self.live.buffer)

    def _items(self) -> list[Item]:
        items, _ = normalized_items([row.stored for row in self.live.buffer.rows()])
        return items

    def sent_digest(self, provider: str | None, rendering: int) -> str | None:
        if RENDERINGS.get(provider) != rendering:
            return None
        return digest_of_sent(self.sendable() if provider is None else PROVIDERS[provider](self._items())[1])

    def normalized(self, messages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return normalize(messages).messages

    def held(self) -> dict[str, list[str]]:
        held: dict[str, list[str]] = {}
        for artifact in self.live.artifacts.held():
            held.setdefault(artifact.execution_id, []).append(artifact.artifact_id)
        return held

    def open_takes(self) -> list[str]:
        return [str(take.take_id) for take in self.live.artifacts.open_takes(self.live.conversation_id)]

    def wire(self) -> list[dict[str, Any]]:
        return wire(self.live.buffer, self.live.artifacts)

    def recorded_again(self, number: int, message: Mapping[str, Any]) -> str | None:
        state = self.live.conversation
        if state.time is None:
            return None
        rehearsal = _Rehearsal(state, Origin(self.live.conversation_id, state.time))
        try:
            _Again(rehearsal, "compare").all([self._as_read(number, message)])
        except _WouldRecordError as event:
            return str(event)
        return None

    def _as_read(self, number: int, stored: Mapping[str, Any]) -> Message:
        """The message as an append reads it; read once, as the next time it would read the same.

        One that reads as it is stored is kept as just that, not a second time.
        """
        before = self._read.get(number)
        if before is not None and before[0] is stored:
            return before[1]
        message = read_message(stored, 0)
        same = message.content == stored["content"] and message.metadata == stored["metadata"]
        kept = Message(message.role, stored["content"], stored["metadata"]) if same else message
        self._read[number] = (stored, kept)
        return message


def audit(
    application: ConversationApplication,
    conversation_id: str | None,
    anchors: Sequence[Head],
    progress: Progress | None,
) -> AuditReport:
    """Audits one conversation, or all; calls `progress` with each as it is done.

    Raises `ConversationNotFound`; a damaged event, or page of the file, is a finding of its conversation, and
    so is an anchor of a conversation that is not there.
    """
    due: dict[str, list[Head]] = {}
    for anchor in anchors:
        due.setdefault(anchor.conversation_id, []).append(anchor)
    if conversation_id is not None and not application.version(conversation_id):
        if conversation_id not in due:
            raise ConversationNotFound(f"there is no conversation {conversation_id!r}")
        return AuditReport((_gone(conversation_id, due[conversation_id], progress),))
    audited = []
    for found in application.conversation_ids() if conversation_id is None else (conversation_id,):
        try:
            audited.append(
                _audited(application, found, due.pop(found, ()), to_the_root=found == conversation_id)
            )
        except StoreDamaged as error:
            finding = Finding(found, DECODING, str(error))
            audited.append(AuditedConversation(found, 0, 0, (finding,)))
        if progress is not None:
            progress(audited[-1])
    if conversation_id is None:
        audited += [_gone(missing, heads, progress) for missing, heads in due.items()]
    return AuditReport(tuple(audited))


def _gone(conversation_id: str, heads: Sequence[Head], progress: Progress | None) -> AuditedConversation:
    """An anchored conversation of which the log has no event."""
    newest = max(head.version for head in heads)
    finding = Finding(
        conversation_id, ANCHORS, f"version {newest} was anchored, and the conversation is not in this store"
    )
    audited = AuditedConversation(conversation_id, 0, 0, (finding,))
    if progress is not None:
        progress(audited)
    return audited


def _audited(
    application: ConversationApplication,
    conversation_id: str,
    anchors: Sequence[Head],
    *,
    to_the_root: bool,
) -> AuditedConversation:
    version = application.version(conversation_id)
    rebuilt = Rebuilt(conversation_id)
    history = HistoryAudit(conversation_id, rebuilt, anchors)
    for row in application.rows(conversation_id, BEFORE_ALL, version):
        history.see(_read(application, row))
    history.finish(version)
    _follow(application, history, to_the_root=to_the_root)
    if history.is_rebuilt:
        _compare_segments(application, history, rebuilt)
    _compare_cached(application, history, rebuilt.live if history.is_rebuilt else None)
    return history.result(version)


def _follow(application: ConversationApplication, history: HistoryAudit, *, to_the_root: bool) -> None:
    """Holds a fork against its source, and, where it alone is audited, that against its own, and so on."""
    forked, seen = history.forked, {history.conversation_id}
    while forked is not None and forked.source_id not in seen:
        seen.add(forked.source_id)
        origin = OriginAudit(forked)
        for row in application.rows(forked.source_id, BEFORE_ALL, forked.source_version):
            origin.see(_read(application, row))
        origin.finish(history.findings)
        beginning = origin.beginning if to_the_root else None
        forked = beginning if isinstance(beginning, ConversationForked) else None


def _read(application: ConversationApplication, row: StoredEvent) -> Row:
    try:
        return Row(row.originator_version, row.state, application.mapper.decoded(row))
    except CorruptEvent as error:
        return Row(row.originator_version, row.state, None, error.reason)
    except NewerLog as error:
        return Row(row.originator_version, row.state, None, str(error))


def _compare_segments(application: ConversationApplication, history: HistoryAudit, rebuilt: Rebuilt) -> None:
    """Compares what the store keeps of the buffer beside the log with what the log says."""
    with application.read_log() as log:
        stored = segments.all_of(log, history.conversation_id)
    for segment in stored:
        is_due = segment.version <= rebuilt.live.version
        if is_due and rebuilt.segments.get(segment.version) != digest_of(segment.changes):
            history.differing(segment.version, ["buffer segment"])


def _compare_cached(
    application: ConversationApplication, history: HistoryAudit, rebuilt: Live | None
) -> None:
    """Compares what this process keeps in memory of the conversation, at the version that it is kept at.

    Rows are never read under the lock of the folds, which writers take while they hold the database; a
    conversation that is written to all the while is compared at the next audit.
    """
    cached = application.cached(history.conversation_id)
    if cached is None or cached.is_in_use_here:
        return
    for _ in range(COMPARISONS_TRIED):
        with cached.lock:
            version = cached.version
            if rebuilt is not None and version == rebuilt.version:
                history.differing(version, _differing(cached, rebuilt))
                return
        rebuilt = _replayed(application, history.conversation_id, version)
        if rebuilt is None:
            return
        if rebuilt.version != version:
            history.differing(version, [f"conversation (whose log ends at version {rebuilt.version})"])
            return


def _replayed(application: ConversationApplication, conversation_id: str, to: int) -> Live | None:
    """The folds at a version, or None where the log does not give them, which is a finding already."""
    rebuilt = Rebuilt(conversation_id)
    try:
        for row in application.rows(conversation_id, 0, to):
            rebuilt.live.absorb(row, application.mapper.decoded(row))
    except (CorruptEvent, NewerLog):
        return None
    return rebuilt.live


def _differing(cached: Live, rebuilt: Live) -> list[str]:
    """The projections whose state is not the same, to the last field."""
    same = {
        "decision state": not cached.whole or cached.conversation == rebuilt.conversation,
        "buffer": cached.buffer.rows() == rebuilt.buffer.rows(),
        "sendable list": cached.sendable.read(cached.buffer) == SendableView().read(rebuilt.buffer),
        "list of artifacts": not cached.whole or vars(cached.artifacts) == vars(rebuilt.artifacts),
    }
    return [name for name, equal in same.items() if not equal]
