"""The aggregate: the state that decisions need, folded from events one at a time.

`evolve` is total and decides nothing; a fold of a log that was recorded never refuses. Contents are not
kept here, only what tells two of them apart: the buffer with its contents is a projection.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from turnledger.domain.artifacts import Shelf
from turnledger.domain.calls import Answer, Ledger, call_key
from turnledger.domain.events import (
    ArtifactsDelivered,
    ArtifactsDiscarded,
    ArtifactsHeld,
    ArtifactsPutBack,
    ArtifactsTaken,
    CallHealed,
    CarriedEntry,
    ConversationCleared,
    ConversationForked,
    ConversationStarted,
    DomainEvent,
    EntriesEvicted,
    EntryRetracted,
    MessageAppended,
    PlaceholderReplaced,
    RecordKept,
    RequestRecorded,
    SummaryInserted,
)
from turnledger.domain.messages import SYSTEM_ROLES, call_id, original_id_of
from turnledger.domain.overlay import Overlay, adopt, empty
from turnledger.domain.positions import position_of
from turnledger.domain.values import likeness

KEYS_REMEMBERED = 10_000


class EntryFacts(NamedTuple):
    """What decisions know of an entry: its role, the usable ids of its calls (or the one that it answers),
    for a turn that calls what it says and declares, whether it has left the buffer, or is a summary."""

    role: str
    call_ids: tuple[str, ...] = ()
    content: int = 0
    calls: Sequence[Mapping[str, Any]] = ()
    evicted: bool = False
    summary: bool = False

    def says(self, content: int, calls: list[int]) -> bool:
        """Whether a turn has this text and these calls, by their likeness."""
        return self.content == content and [call_key(call) for call in self.calls] == calls

    @property
    def counts(self) -> bool:
        """Whether a window counts it."""
        return self.role not in SYSTEM_ROLES and not self.summary


class KeyUse(NamedTuple):
    """The first use of an idempotency key: the digest of its input and the versions that it recorded."""

    digest: str
    first: int
    last: int


@dataclass(slots=True)
class Conversation:
    """One conversation's state at `version`; version 0 is the empty one."""

    version: int = 0
    time: datetime | None = None
    window: int | None = None
    buffer_version: int = 0
    buffer: list[int] = field(default_factory=list)
    entries: MutableMapping[int, EntryFacts] = field(default_factory=dict)
    newest_entry: int = 0
    newest_user: int | None = None
    open_calls: dict[str, int] = field(default_factory=dict)
    calls: Ledger = field(default_factory=Ledger)
    shelf: Shelf = field(default_factory=Shelf)
    keys: "OrderedDict[str, KeyUse]" = field(default_factory=OrderedDict)
    requests: int = 0
    record_keys: MutableMapping[tuple[str, str], int] = field(default_factory=dict)
    records: int = 0
    records_version: int = 0
    shares_shelf: bool = False

    def draft(self) -> "Conversation":
        """The same state, whose changes this one does not see until it adopts them: for a decision.

        Costs a copy of the list of entry numbers and of the open calls, nothing that grows otherwise.
        """
        return Conversation(
            self.version,
            self.time,
            self.window,
            self.buffer_version,
            list(self.buffer),
            Overlay(self.entries),
            self.newest_entry,
            self.newest_user,
            dict(self.open_calls),
            self.calls.draft(),
            self.shelf,
            requests=self.requests,
            record_keys=Overlay(self.record_keys),
            records=self.records,
            records_version=self.records_version,
            shares_shelf=True,
        )

    def adopt(self, draft: "Conversation") -> None:
        """Takes over what a draft of this state has become: the same as to evolve by the draft's events."""
        self.version, self.time, self.window = draft.version, draft.time, draft.window
        self.buffer_version, self.buffer = draft.buffer_version, draft.buffer
        self.newest_entry, self.newest_user = draft.newest_entry, draft.newest_user
        adopt(self.entries, draft.entries)
        self.open_calls = draft.open_calls
        self.requests = draft.requests
        adopt(self.record_keys, draft.record_keys)
        self.records, self.records_version = draft.records, draft.records_version
        self.calls.adopt(draft.calls)
        if not draft.shares_shelf:
            self.shelf.adopt(draft.shelf)
        for key, use in draft.keys.items():
            self._remember(key, use)

    @property
    def own_shelf(self) -> Shelf:
        """The shelf to change: a draft's is that of its original until something does."""
        if self.shares_shelf:
            self.shelf, self.shares_shelf = self.shelf.draft(), False
        return self.shelf

    def evolve(self, event: DomainEvent) -> None:
        """Applies one event; its handler is found by its class."""
        envelope = event.envelope
        self.version, self.time = envelope.version, envelope.time
        if envelope.idempotency_key is not None:
            digest = envelope.idempotency_digest or ""
            self._remember(envelope.idempotency_key, KeyUse(digest, envelope.batch, envelope.version))
        _EVOLVERS[type(event)](self, event)

    def _remember(self, key: str, use: KeyUse) -> None:
        self.keys[key] = use
        if len(self.keys) > KEYS_REMEMBERED:
            self.keys.popitem(last=False)

    def _started(self, event: ConversationStarted) -> None:
        self.window = event.window

    def _appended(self, event: MessageAppended) -> None:
        self._changed(event)
        self.newest_entry = event.entry
        self.buffer.append(event.entry)
        self._entered(event)

    def _entered(self, event: MessageAppended | CarriedEntry) -> None:
        if event.role == "tool":
            self._answered(event.entry, event.content, event.metadata)
            return
        self.calls.newest_turn = event.entry
        calls = event.metadata.get("tool_calls") if event.role == "assistant" else None
        self.entries[event.entry] = self._turn(event, calls) if calls else EntryFacts(event.role)
        if event.role == "user":
            self.newest_user = event.entry

    def _turn(self, event: MessageAppended | CarriedEntry, calls: list[dict[str, Any]]) -> EntryFacts:
        declared = self.calls.declare(event.entry, event.turn_id, calls)
        for call in declared:
            if self.calls.is_open(call.call_id):
                self.open_calls.setdefault(call.call_id, event.entry)
        ids = tuple(dict.fromkeys(call.call_id for call in declared))
        return EntryFacts("assistant", ids, likeness(event.content), calls)

    def _answered(self, entry: int, content: Any, metadata: Mapping[str, Any]) -> None:
        answered = call_id(metadata.get("tool_call_id"))
        self.entries[entry] = EntryFacts("tool", (answered,) if answered else ())
        if answered:
            healed = metadata.get("healed") is True
            self.calls.answer(answered, Answer(entry, healed, likeness(content)), original_id_of(metadata))
            self.open_calls.pop(answered, None)

    def _healed(self, event: CallHealed) -> None:
        self._changed(event)
        self.newest_entry = event.entry
        self.buffer.insert(position_of(event.behind, self.buffer) + 1, event.entry)
        self._answered(event.entry, event.content, {"tool_call_id": event.call_id, "healed": True})

    def _replaced(self, event: PlaceholderReplaced) -> None:
        evicted = self.entries[event.entry].evicted
        self._answered(event.entry, event.content, event.metadata)
        if evicted:
            self.entries[event.entry] = self.entries[event.entry]._replace(evicted=True)
        else:
            self._changed(event)

    def _evicted(self, event: EntriesEvicted) -> None:
        self._changed(event)
        gone = set(event.evicted)
        self.buffer = [entry for entry in self.buffer if entry not in gone]
        for entry in event.evicted:
            self.entries[entry] = self.entries[entry]._replace(evicted=True)

    def _summarized(self, event: SummaryInserted) -> None:
        """It says nothing new: `newest_user` and the newest turn stay who they are, open calls open."""
        self._changed(event)
        self.newest_entry = event.entry
        self.buffer.insert(position_of(event.behind, self.buffer) + 1 if event.behind else 0, event.entry)
        self.entries[event.entry] = EntryFacts(event.role, summary=True)

    def _retracted(self, event: EntryRetracted) -> None:
        """What the entry declared or answered is unknown; the newest user entry and turn are those known."""
        self._changed(event)
        self.records_version = event.version
        del self.buffer[position_of(event.entry, self.buffer)]
        facts = self.entries.pop(event.entry)
        if facts.role == "tool":
            for answered in facts.call_ids:
                self.calls.forget_answer(answered, event.entry)
        else:
            self.calls.forget_turn(event.entry, facts.call_ids)
        if facts.call_ids:
            self._reopen(facts.call_ids)
        if event.entry == self.newest_user:
            self.newest_user = self._newest_before(event.entry, lambda facts: facts.role == "user")
        if event.entry == self.calls.newest_turn:
            self.calls.newest_turn = self._newest_before(event.entry, lambda facts: facts.role != "tool")

    def _reopen(self, call_ids: Sequence[str]) -> None:
        """Finds anew which of these calls are open, and since which turn; in the order of declaration."""
        for known in call_ids:
            self.open_calls.pop(known, None)
            turns = [call.turn for call in self.calls.declared(known) if self.stands(call.turn)]
            if turns and self.calls.is_open(known):
                self.open_calls[known] = turns[0]
        self.open_calls = dict(sorted(self.open_calls.items(), key=self._place_of_call))

    def _place_of_call(self, open_call: tuple[str, int]) -> tuple[int, int]:
        declared, turn = open_call
        return turn, next(call.place for call in self.calls.declared(declared) if call.turn == turn)

    def _newest_before(self, entry: int, is_one: Callable[[EntryFacts], bool]) -> int | None:
        """The newest such entry before this one that is known, in the buffer or not; a summary is none."""
        for number in range(entry - 1, 0, -1):
            facts = self.entries.get(number)
            if facts is not None and is_one(facts) and not facts.summary:
                return number
        return None

    def stands(self, entry: int) -> bool:
        """Whether an entry is in the buffer."""
        facts = self.entries.get(entry)
        return facts is not None and not facts.evicted

    def _cleared(self, event: ConversationCleared) -> None:
        self._changed(event)
        self.records_version = event.version
        self.buffer, self.open_calls, self.newest_user, self.records = [], {}, None, 0
        self.calls.forget_all()
        empty(self.entries)
        empty(self.record_keys)

    def _kept(self, event: RecordKept) -> None:
        self.records += 1
        self.records_version = event.version
        if event.key is not None:
            self.record_keys[event.kind, event.key] = event.version

    def _forked(self, event: ConversationForked) -> None:
        self._changed(event)
        self.window = event.window
        for carried in event.entries:
            if carried.summary:
                self.entries[carried.entry] = EntryFacts(carried.role, summary=True)
            else:
                self._entered(carried)
        self.buffer = list(event.buffer)
        for entry in self.entries.keys() - set(event.buffer):
            self.entries[entry] = self.entries[entry]._replace(evicted=True)
        self.newest_entry, self.newest_user = event.newest_entry, event.newest_user
        self.calls.newest_turn = event.newest_turn

    def _requested(self, event: RequestRecorded) -> None:
        """What was sent is no part of what is decided on; it is only numbered."""
        self.requests += 1

    def _held(self, event: ArtifactsHeld) -> None:
        self.own_shelf.hold(event.execution_id or "", event.held, event.version)
        if event.repeated:
            self.own_shelf.offer(event.repeated, event.held, event.version)

    def _taken(self, event: ArtifactsTaken) -> None:
        self.own_shelf.take(event.take_id, event.execution_id or "", event.taken, event.version)

    def _delivered(self, event: ArtifactsDelivered) -> None:
        self.own_shelf.deliver(event.execution_id or "", event.delivered, event.new, event.version)
        if event.take_id is not None:
            self.own_shelf.settle(event.take_id, "delivered")
        if event.entry is not None and event.new:
            self.own_shelf.offer([event.entry], event.new, event.version)

    def _put_back(self, event: ArtifactsPutBack) -> None:
        dropped = [refused.artifact_id for refused in event.refused if refused.artifact_id]
        self.own_shelf.put_back(event.execution_id or "", event.held, dropped)
        self.own_shelf.settle(event.take_id, "put back")

    def _discarded(self, event: ArtifactsDiscarded) -> None:
        self.own_shelf.discard(event.discarded)
        self.own_shelf.settle(event.take_id, "discarded")

    def _changed(self, event: DomainEvent) -> None:
        self.buffer_version = event.version


_EVOLVERS: dict[type[DomainEvent], Any] = {
    ConversationStarted: Conversation._started,
    MessageAppended: Conversation._appended,
    CallHealed: Conversation._healed,
    PlaceholderReplaced: Conversation._replaced,
    EntriesEvicted: Conversation._evicted,
    ArtifactsHeld: Conversation._held,
    ArtifactsTaken: Conversation._taken,
    ArtifactsDelivered: Conversation._delivered,
    ArtifactsPutBack: Conversation._put_back,
    ArtifactsDiscarded: Conversation._discarded,
    SummaryInserted: Conversation._summarized,
    RequestRecorded: Conversation._requested,
    ConversationForked: Conversation._forked,
    EntryRetracted: Conversation._retracted,
    ConversationCleared: Conversation._cleared,
    RecordKept: Conversation._kept,
}
