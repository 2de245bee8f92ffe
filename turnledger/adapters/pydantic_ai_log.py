"""Pydantic AI's conversations in the log: records of its entries and states, and the messages beside them.

A state and the entries that came with it are recorded in one transaction, on the version that they were
decided on. Where a history was left (a branch), the record is written first and the messages follow it; who
finds them behind brings them on.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from turnledger.adapters.extras import extra
from turnledger.adapters.newest import newest_record
from turnledger.adapters.pydantic_ai_json import Dumped, Line, dumped_record, read_entries, read_record
from turnledger.adapters.pydantic_ai_view import (
    FROM_KEY,
    Places,
    as_stored,
    entry_of,
    healed,
    last_instructions,
    told_by,
)
from turnledger.domain.errors import (
    ConversationNotFound,
    EntryNotFound,
    InvalidArgument,
    InvalidId,
    VersionConflict,
)
from turnledger.domain.events import ConversationCleared, ConversationForked, RecordKept
from turnledger.domain.identifiers import checked_id
from turnledger.domain.records import Record
from turnledger.domain.values import scrubbed
from turnledger.projections.buffer import Entry
from turnledger.store import ConversationStore

with extra("pydantic-ai"):
    from pydantic_ai.conversation_store import ConversationConflict, ConversationRecord

ENTRY, RECORD, MEMBER = "pydantic-ai.entry", "pydantic-ai.record", "pydantic-ai.conversation"
PLACES_MAX = 10_000

_SCOPE_CHARACTERS_MAX = 150
_EVENTS_AN_ENTRY = 4  # more or less: its record, its messages, the state saved with it


def scope_index(scope: str) -> str:
    """The conversation whose records name the conversations that were saved with a scope."""
    name = quote(scope, safe=" @:", errors="surrogatepass")
    if len(name) > _SCOPE_CHARACTERS_MAX:
        name = f"{name[:_SCOPE_CHARACTERS_MAX]}~{sha256(name.encode()).hexdigest()}"
    return f"pydantic-ai/scope/{name}"


@dataclass(frozen=True, slots=True)
class _State:
    """What a conversation's newest record says at a version; `viewed` is the entry up to which it is told in
    messages, `instructions` those told last. `is_its_own` is False for what a fork of the core's has from its
    source."""

    version: int = 0
    record: Dumped | None = None
    viewed: str | None = None
    instructions: str | None = None
    is_its_own: bool = True

    def of(self, key: str) -> Any:
        return self.record[key] if self.record else None


@dataclass(frozen=True, slots=True)
class _Step:
    """What leaves the buffer (numbers of entries) and what comes, for it to tell a history."""

    gone: list[int]
    messages: list[Dumped]
    instructions: str | None


class Conversations:
    """Reads and writes them, in whichever thread."""

    def __init__(self, store: ConversationStore, execution_id: str | None) -> None:
        self.store = store
        self.execution_id = execution_id
        self._places: OrderedDict[str, str] = OrderedDict()

    def record(self, conversation_id: str) -> ConversationRecord | None:
        state = self._state(conversation_id)
        if state.record is None:
            return None
        for entry_id in (state.record["head_id"], *state.record["branches"]):
            if entry_id is not None:
                self._remember(entry_id, conversation_id)
        return read_record(state.record)

    def records(self, scope: str | None, limit: int | None) -> list[ConversationRecord]:
        found = (self.record(conversation_id) for conversation_id in self._members(scope))
        records = [one for one in found if one is not None and scope in (None, one.scope)]
        return sorted(records, key=lambda record: record.updated_at, reverse=True)[:limit]

    def _members(self, scope: str | None) -> Iterator[str]:
        if scope is None:
            yield from (one.conversation_id for one in self.store.conversations())
            return
        try:
            found = self.store.records(scope_index(scope), MEMBER)
        except ConversationNotFound:
            return
        yield from (record.key for record in found if record.key)

    def _state(self, conversation_id: str) -> _State:
        try:
            version = self.store.version(conversation_id)
        except ConversationNotFound:
            return _State()
        return self._state_at(conversation_id, version) or _State(version)

    def _state_at(self, conversation_id: str, version: int) -> _State | None:
        """None where nothing was saved until then, or all was cleared since."""
        found = newest_record(self.store, conversation_id, version, RECORD)
        if found is not None:
            return _State(version, **found.record)
        return self._carried(conversation_id, version)

    def _carried(self, conversation_id: str, version: int) -> _State | None:
        """What a fork of the core's, in which nothing was saved yet, has from its source: it is one of the
        library's too, at the head that its source had there."""
        first = self._fork(conversation_id)
        if first is None:
            return None
        events = self.store.events(conversation_id, to=version)
        if any(isinstance(event, ConversationCleared) for event in events):
            return None
        state = self._state_at(first.source_id, first.source_version)
        if state is None or state.record is None:
            return None
        head = state.record["head_id"]
        places = {"conversation_id": conversation_id, "forked_from": first.source_id, "forked_at": head}
        record = {**state.record, **places, "branches": []}
        return replace(state, version=version, record=record, is_its_own=False)

    def _fork(self, conversation_id: str) -> ConversationForked | None:
        """What a fork of the core's began with."""
        first = next(iter(self.store.events(conversation_id, to=1)), None)
        return first if isinstance(first, ConversationForked) else None

    def write(self, record: ConversationRecord, new: Line, expected_revision: str | None) -> None:
        conversation_id, state = record.conversation_id, self._state(record.conversation_id)
        if state.of("revision") != expected_revision:
            raise ConversationConflict(conversation_id)
        if record.scope is not None and scrubbed(record.scope) != record.scope:
            raise InvalidArgument(f"the scope holds what no UTF-8 text can: {record.scope!a:.100}")
        if record.forked_from and record.head_id:
            self._places.setdefault(record.head_id, record.forked_from)
        try:
            step = self._step(state, conversation_id, record.head_id, new)
        except KeyError:
            raise ConversationConflict(conversation_id) from None
        if record.scope is not None and not (state.is_its_own and state.of("scope") == record.scope):
            index = scope_index(record.scope)
            self.store.append(index, [], records=[Record(MEMBER, conversation_id, None)])
        kept = [Record(ENTRY, entry_id, value) for entry_id, value in new]
        state = replace(state, record=dumped_record(record))
        try:
            if step.gone:  # the record is what counts: the messages follow it
                self._put(conversation_id, state, [], kept)
                self._follow(conversation_id)
            else:
                self._put(conversation_id, _at_head(state, step), step.messages, kept)
        except VersionConflict:
            raise ConversationConflict(conversation_id) from None

    def _put(
        self, conversation_id: str, state: _State, messages: list[Dumped], kept: Sequence[Record] = ()
    ) -> None:
        """Messages, records and state in one transaction. Raises `VersionConflict`."""
        write: Callable[..., Any] = partial(
            self.store.append, conversation_id, execution_id=self.execution_id
        )
        is_paused = state.of("deferred_tool_requests") is not None
        if self.execution_id is not None and not is_paused and _is_last_word(messages):
            write = partial(self.store.write_back, conversation_id, self.execution_id)
        value = {"record": state.record, "viewed": state.viewed, "instructions": state.instructions}
        records = [*kept, Record(RECORD, None, value)]
        write(messages, records=records, reused_ids="distinct", expected_records=state.version)

    def _follow(self, conversation_id: str) -> None:
        """Brings the messages to the head of the record, whoever else does so at the same time."""
        while True:
            state = self._state(conversation_id)
            if state.record is None or state.viewed == state.record["head_id"]:
                return
            step = self._step(state, conversation_id, state.record["head_id"], [])
            try:
                version = state.version
                for number in step.gone:
                    version = self.store.retract(conversation_id, number).version
                self._put(conversation_id, replace(_at_head(state, step), version=version), step.messages)
            except (VersionConflict, EntryNotFound):
                continue

    def _step(self, state: _State, conversation_id: str, head_id: str | None, new: Line) -> _Step:
        """From what the messages tell to the history up to a head. Raises `KeyError` for an unknown one."""
        extends = new and new[0][1]["parent_id"] == state.viewed and new[-1][0] == head_id
        left, come, instructions = Line(), new, state.instructions
        if not extends and (new or head_id != state.viewed):
            told = self.line(state.viewed, near=conversation_id)
            line = self.line(head_id, near=conversation_id, found=dict(new))
            shared = _shared(told, line)
            left, come = told[shared:], line[shared:]
            instructions = last_instructions(value["message"] for _, value in line[:shared])
        gone, messages = self._changed(conversation_id, left, come, instructions)
        now = last_instructions((value["message"] for _, value in come), instructions)
        return _Step(gone, messages, now)

    def _changed(
        self, conversation_id: str, left: Line, come: Line, instructions: str | None
    ) -> tuple[list[int], list[Dumped]]:
        """What leaves the buffer, the last first, and what comes; what stands there already does neither."""
        messages = as_stored([(entry_id, value["message"]) for entry_id, value in come], instructions)
        foreign = [one for one in come if not one[1]["message"].get("run_id")]  # the rest is of a run: new
        if not left and not foreign:
            return [], messages
        buffer = self._buffer(conversation_id)
        told_there = {number: entry_id for number, (entry_id, _) in told_by(buffer, _live(left)).items()}
        told_now = told_by(buffer, _live(foreign))
        first = set(_leading(messages, told_now.values()))  # behind what comes, order asks for it anew
        standing = {number: where for number, where in told_now.items() if where in first}
        ids = {entry_id for entry_id, _ in left}
        gone = [
            one.number
            for one in reversed(buffer)
            if one.number not in standing
            and (entry_of(one.metadata) in ids or one.number in told_there or one.number in told_now)
        ]
        kept = [message for message in messages if not _is_told(message, standing.values())]
        return gone, kept

    def _buffer(self, conversation_id: str) -> list[Entry]:
        try:
            return self.store.entries(conversation_id)
        except ConversationNotFound:
            return []

    def delete(self, conversation_id: str, expected_revision: str) -> None:
        state = self._state(conversation_id)
        if state.of("revision") != expected_revision:
            raise ConversationConflict(conversation_id)
        try:
            self.store.clear(conversation_id, expected_records=state.version)
        except VersionConflict:
            raise ConversationConflict(conversation_id) from None

    def begun(self, conversation_id: str) -> list[Any]:
        """The healed messages of a conversation in which the library saved nothing yet."""
        return [] if self._state(conversation_id).record else self.healed(conversation_id)

    def healed(self, conversation_id: str) -> list[Any]:
        self._follow(conversation_id)
        line = self.line(self._state(conversation_id).viewed, near=conversation_id)
        return healed(self._buffer(conversation_id), _live(line))

    def line(
        self,
        head_id: str | None,
        limit: int | None = None,
        near: str | None = None,
        found: Mapping[str, Dumped] | None = None,
    ) -> Line:
        """The entries up to a head, in order. Raises `KeyError` for one that is nowhere.

        `near` is where to look first, `found` are entries that no conversation has yet.
        """
        known, line, here = dict(found or {}), Line(), head_id
        while here is not None and (limit is None or len(line) < limit):
            if here not in known:
                near, entries = self.holding(here, near, limit)
                known |= entries
            line.append((here, known[here]))
            here = known[here]["parent_id"]
        return line[::-1]

    def holding(
        self, entry_id: str, near: str | None = None, limit: int | None = None
    ) -> tuple[str, dict[str, Dumped]]:
        """The conversation that has this entry, and its entries by id. Raises `KeyError` for none.

        With `limit` the newest are enough, if this one is among them.
        """
        try:
            checked_id("key", entry_id)
        except InvalidId:  # nothing is kept under it
            raise KeyError(entry_id) from None
        for conversation_id in self._candidates(entry_id, near):
            entries = self._entries_in(conversation_id, entry_id, limit)
            if entry_id in entries:
                self._remember(entry_id, conversation_id)
                return conversation_id, entries
        raise KeyError(entry_id)

    def _candidates(self, entry_id: str, near: str | None) -> Iterator[str]:
        """Where an entry may be: where it was named, where that was forked from; in the end anywhere."""
        met: set[str] = set()
        for first in (self._places.get(entry_id), near):
            here = first
            while here is not None and here not in met:
                met.add(here)
                yield here
                here = self._forked_from(here)
        for one in self.store.conversations():
            if self.store.records(one.conversation_id, ENTRY, key=entry_id):
                yield one.conversation_id

    def _forked_from(self, conversation_id: str) -> str | None:
        state = self._state(conversation_id)
        if state.version and state.record is None:  # cleared: the log has it
            found = [event.record for event in self._records_ever(conversation_id, RECORD)]
            fork = self._fork(conversation_id)
            if not found and fork is not None:
                return fork.source_id
            state = _State(state.version, **found[-1]) if found else state
        forked_from: str | None = state.of("forked_from")
        return forked_from

    def _entries_in(self, conversation_id: str, entry_id: str, limit: int | None) -> dict[str, Dumped]:
        """By id; where the conversation was cleared since, as the log has them."""
        try:
            version = self.store.version(conversation_id)
        except ConversationNotFound:
            return {}
        for after in (0,) if limit is None else (max(version - _EVENTS_AN_ENTRY * (limit + 1), 0), 0):
            records = self.store.records(conversation_id, ENTRY, after=after)
            found = {record.key: record.value for record in records if record.key}
            if entry_id in found:
                return found
        return {event.key: event.record for event in self._records_ever(conversation_id, ENTRY) if event.key}

    def _records_ever(self, conversation_id: str, kind: str) -> Iterator[RecordKept]:
        """Also those from before a clearing."""
        for event in self.store.events(conversation_id):
            if isinstance(event, RecordKept) and event.kind == kind:
                yield event

    def _remember(self, entry_id: str, conversation_id: str) -> None:
        self._places[entry_id] = conversation_id
        if len(self._places) > PLACES_MAX:
            self._places.popitem(last=False)


def _is_last_word(messages: Sequence[Dumped]) -> bool:
    """Whether the assistant's last turn has nothing open: an output tool is answered at once."""
    turn = next((message for message in reversed(messages) if message["role"] == "assistant"), None)
    answered = {message.get("tool_call_id") for message in messages}
    return turn is not None and all(c["tool_call_id"] in answered for c in turn.get("tool_calls", ()))


def _live(line: Line) -> dict[str, Any]:
    """The library's messages of entries, by id."""
    return {entry.id: entry.message for entry in read_entries(line)} if line else {}


def _leading(messages: Sequence[Dumped], there: Collection[Places]) -> Iterator[Places]:
    """What of these messages stands there already, up to the first that does not."""
    for message in messages:
        made_of = message["metadata"][FROM_KEY]
        if _is_told(message, there):
            yield made_of["id"], tuple(made_of["parts"])
        elif made_of["parts"]:
            return


def _is_told(message: Dumped, standing: Collection[Places]) -> bool:
    made_of = message["metadata"][FROM_KEY]
    return (made_of["id"], tuple(made_of["parts"])) in standing


def _at_head(state: _State, step: _Step) -> _State:
    return replace(state, viewed=state.of("head_id"), instructions=step.instructions)


def _shared(told: Line, line: Line) -> int:
    """How many entries two histories have in common."""
    differing = (place for place, (a, b) in enumerate(zip(told, line, strict=False)) if a[0] != b[0])
    return next(differing, min(len(told), len(line)))
