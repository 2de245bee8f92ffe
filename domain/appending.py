"""Appending: for each message what becomes of it (section 2; MEM-1, 2, 3, 10, 14).

Decides message by message, in order, each seeing what the earlier ones did; records nothing itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from turnledger.domain.calls import (
    Answer,
    Declaration,
    Identity,
    Ledger,
    ReusedIds,
    call_key,
    identify,
    is_repeat,
)
from turnledger.domain.changes import Changes
from turnledger.domain.events import CallHealed, EntriesEvicted, MessageAppended, PlaceholderReplaced
from turnledger.domain.messages import PLACEHOLDER_TEXT, Message, id_of_call
from turnledger.domain.values import likeness
from turnledger.domain.window import leaving


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendResult:
    """What an append did (MEM-14).

    `count` entries are in the buffer now; `appended` of the messages became new entries (a duplicate and a
    replacement are 0 each). `entries` has for each message its entry's number, or None where it was dropped.
    `healed` and `replaced` are call ids; `duplicates` the indexes of dropped messages, `differing` those of
    them that were not equal to what they repeat; `renamed` holds (index, original id, id recorded);
    `evicted` are entry numbers; `records` is how many records were kept, those left out whose key was known.
    `repeated` says that the idempotency key had been used before.
    """

    conversation_id: str
    version: int
    count: int
    appended: int
    entries: tuple[int | None, ...] = ()
    healed: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    duplicates: tuple[int, ...] = ()
    differing: tuple[int, ...] = ()
    renamed: tuple[tuple[int, str, str], ...] = ()
    evicted: tuple[int, ...] = ()
    repeated: bool = False
    records: int = 0

    @property
    def appended_any(self) -> bool:
        return self.appended > 0


@dataclass(slots=True)
class Appending:
    """One append in progress: what its messages did so far, and what of each stands in the report."""

    changes: Changes
    reused_ids: ReusedIds
    added: set[int] = field(default_factory=set)
    last: int = 0
    count: int = 0
    appended: int = 0
    entries: list[int | None] = field(default_factory=list)
    healed: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    differing: list[int] = field(default_factory=list)
    renamed: list[tuple[int, str, str]] = field(default_factory=list)
    evicted: list[int] = field(default_factory=list)
    stood_for: dict[str, list[Declaration]] = field(default_factory=dict)
    repeats: dict[int, list[int]] = field(default_factory=dict)

    @property
    def ledger(self) -> Ledger:
        return self.changes.now.calls

    def all(self, messages: Sequence[Message]) -> None:
        """Takes every message in order, then lets the window close."""
        self.last = len(messages) - 1
        for message in messages:
            self._one(len(self.entries), message)
        if self.changes.events and self.changes.window is not None:
            self.evicted = leaving(self.changes.state, self.added)
            if self.evicted:
                self.changes.record(EntriesEvicted, evicted=self.evicted)
        self.count = self.changes.count

    def report(self) -> dict[str, Any]:
        """The fields of an `AppendResult`."""
        return {
            "conversation_id": self.changes.origin.conversation_id,
            "version": self.changes.version,
            "count": self.count,
            "appended": self.appended,
            "entries": tuple(self.entries),
            "healed": tuple(self.healed),
            "replaced": tuple(self.replaced),
            "duplicates": tuple(i for i, entry in enumerate(self.entries) if entry is None),
            "differing": tuple(self.differing),
            "renamed": tuple(self.renamed),
            "evicted": tuple(self.evicted),
        }

    def _one(self, index: int, message: Message) -> None:
        if message.role == "user":
            self._heal()
        if message.calls:
            self._turn(index, message)
        elif message.call_id is not None:
            self._result(index, message, message.call_id)
        else:
            self._entry(index, message.role, message.content, message.metadata)

    def _entry(self, index: int, role: str, content: Any, metadata: Mapping[str, Any]) -> int:
        entry = self.changes.now.newest_entry + 1
        self.changes.record(
            MessageAppended, index=index, entry=entry, role=role, content=content, metadata=metadata
        )
        self.added.add(entry)
        self.appended += 1
        self.entries.append(entry)
        return entry

    def _heal(self) -> None:
        """MEM-3: each open call gets a placeholder directly after its turn, siblings in declaration order."""
        behind: dict[int, int] = {}
        for call_id, turn in list(self.changes.now.open_calls.items()):
            entry = self.changes.now.newest_entry + 1
            self.changes.record(
                CallHealed,
                entry=entry,
                call_id=call_id,
                turn_entry=turn,
                behind=behind.get(turn, turn),
                content=PLACEHOLDER_TEXT,
            )
            behind[turn] = entry
            self.added.add(entry)
            self.healed.append(call_id)

    def _turn(self, index: int, message: Message) -> None:
        identities = identify(self.ledger, message.calls, self.reused_ids)
        if is_repeat(identities):
            self._repeated_turn(index, message, identities)
            return
        calls = [
            _as_recorded(call, identity) for call, identity in zip(message.calls, identities, strict=True)
        ]
        entry = self._entry(index, message.role, message.content, {**message.metadata, "tool_calls": calls})
        for identity in identities:
            if identity:
                if index < self.last:  # or nothing asks any more
                    stood_for = self.stood_for.setdefault(identity.incoming_id, [])
                    stood_for.append(self._declared(entry, identity))
                if identity.call_id != identity.incoming_id:
                    self.renamed.append((index, identity.incoming_id, identity.call_id))

    def _declared(self, entry: int, identity: Identity) -> Declaration:
        declared = self.ledger.bearing[identity.call_id]
        return next(c for c in declared if c.turn == entry and c.call_id == identity.call_id)

    def _repeated_turn(self, index: int, message: Message, identities: Sequence[Identity | None]) -> None:
        """MEM-2: every call of the turn is known, so the turn is; what it says anew is only reported."""
        self.entries.append(None)
        turns: list[int] = []
        for identity in identities:
            if identity and identity.repeats:
                self.stood_for.setdefault(identity.incoming_id, []).append(identity.repeats)
                turns.append(identity.repeats.turn)
        self.repeats[index] = turns
        content, calls = likeness(message.content), [call_key(call) for call in message.calls]
        if not any(self.changes.now.entries[turn].says(content, calls) for turn in turns):
            self.differing.append(index)

    def _result(self, index: int, message: Message, incoming: str) -> None:
        if self.ledger.is_forgotten(incoming):  # or it would answer the next call that comes under the id
            self.entries.append(None)
            return
        candidates = self._candidates(incoming)
        content = likeness(message.content)
        answered = self._answered(candidates, incoming, message.healed, content)
        if answered is None:
            self.entries.append(None)
            given = [self.ledger.answers[i].content for i in candidates if i in self.ledger.answers]
            if content not in given:
                self.differing.append(index)
            return
        metadata = message.metadata
        if answered != incoming:
            metadata = {**metadata, "tool_call_id": answered, "original_id": incoming}
        placeholder = self.ledger.answers.get(answered)
        if placeholder is None:
            self._entry(index, message.role, message.content, metadata)
        else:
            self._replace(index, message.content, metadata, answered, placeholder)

    def _replace(
        self, index: int, content: Any, metadata: Mapping[str, Any], call_id: str, placeholder: Answer
    ) -> None:
        """MEM-10: the real result takes the placeholder's place, and the mark goes."""
        self.changes.record(
            PlaceholderReplaced,
            index=index,
            entry=placeholder.entry,
            call_id=call_id,
            content=content,
            metadata=metadata,
        )
        self.entries.append(placeholder.entry)
        self.replaced.append(call_id)

    def _candidates(self, incoming: str) -> list[str]:
        """The calls that a result under this id may belong to, the likeliest first."""
        if not self.ledger.renamed(incoming):
            return [incoming]
        bearing = self.ledger.bearing[incoming]
        turn_id = self.changes.origin.turn_id
        of_turn = [call for call in bearing if turn_id is not None and call.turn_id == turn_id]
        found = self.stood_for.get(incoming) or of_turn or bearing
        ordered = sorted(found, key=lambda call: (-call.turn, call.place))
        return list(dict.fromkeys(call.call_id for call in ordered))

    def _answered(self, candidates: list[str], incoming: str, healed: bool, content: int) -> str | None:
        """Of the candidates the call that this result answers, or None: then it is a duplicate (MEM-1)."""
        answers = {call_id: self.ledger.answers.get(call_id) for call_id in candidates}
        equals = any(a and not a.healed and a.content == content for a in answers.values())
        if equals and not self._is_declared_anew(incoming):
            return None
        return next((i for i, a in answers.items() if a is None or (a.healed and not healed)), None)

    def _is_declared_anew(self, incoming: str) -> bool:
        """Whether this append, or the newest entry that is no result, declares the id."""
        newest = self.ledger.newest_turn
        return incoming in self.stood_for or any(
            call.turn == newest for call in self.ledger.bearing.get(incoming, ())
        )


def _as_recorded(call: dict[str, Any], identity: Identity | None) -> dict[str, Any]:
    """The call under the id that it turned out to have, the one that it came with kept beside it."""
    if identity is None or identity.call_id == id_of_call(call):
        return call
    return {**call, "tool_call_id": identity.call_id, "original_id": identity.incoming_id}
