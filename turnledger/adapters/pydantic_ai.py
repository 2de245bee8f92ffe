"""Conversations of Pydantic AI in a store: its `ConversationStore`, durable, over the face.

    conversations = TurnledgerConversationStore("chats.db")
    conversation = await conversations.load("support-7") or Conversation(conversation_id="support-7")
    await conversations.save(await agent.run("Where is my parcel?", conversation=conversation))

A conversation of the library's is the conversation of that id. Each of its entries is a record, kept once with
its id as the key, and so is each state of its own record, in the transaction of the entries that came with it;
a fork points at the entries of the conversation that it left. Beside them stands what the history up to the
head says, as messages: `sendable("support-7", provider=…)` is the healed list, and a branch that was left is
retracted from it. A deletion clears the conversation; the log keeps it, and a fork what it shares.

Where things are found: the conversations of a scope are listed by a conversation of records (`scope_index`); an
entry is in the conversation that named it as head or branch, or in the one that this was forked from. Only
`read_entry` of an id that this process never met looks into every conversation, the store's own search.
"""

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import Any, TypeVar
from urllib.parse import quote

from anyio import to_thread
from pydantic_ai import Conversation, ConversationTypeAdapter
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
)
from pydantic_ai.conversation_store import ConversationStore as PydanticAIConversationStore
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_core import from_json, to_json

from turnledger.adapters.newest import newest_record
from turnledger.adapters.pydantic_ai_view import as_stored, entry_of, healed, last_instructions
from turnledger.domain.errors import ConversationNotFound, EntryNotFound, VersionConflict
from turnledger.domain.events import RecordKept
from turnledger.domain.records import Record
from turnledger.store import ConversationStore

ENTRY, RECORD, MEMBER = "pydantic-ai.entry", "pydantic-ai.record", "pydantic-ai.conversation"
PLACES_MAX = 10_000

_SCOPE_CHARACTERS_MAX = 150
_BESIDE = ("head_id", "scope", "forked_from", "forked_at", "branches", "format_version")

Dumped = dict[str, Any]
Line = list[tuple[str, Dumped]]
T = TypeVar("T")


def scope_index(scope: str) -> str:
    """The conversation whose records name the conversations that were saved with a scope."""
    name = quote(scope, safe=" @:", errors="surrogatepass")
    if len(name) > _SCOPE_CHARACTERS_MAX:
        name = f"{name[:_SCOPE_CHARACTERS_MAX]}~{sha256(name.encode()).hexdigest()}"
    return f"pydantic-ai/scope/{name}"


@dataclass(frozen=True, slots=True)
class _State:
    """What a conversation's newest record says at a version; `viewed` is the entry up to which it is told in
    messages, `instructions` those told last."""

    version: int = 0
    record: Dumped | None = None
    viewed: str | None = None
    instructions: str | None = None

    def of(self, key: str) -> Any:
        return self.record[key] if self.record else None


@dataclass(frozen=True, slots=True)
class _Step:
    """What leaves the buffer (numbers of entries) and what comes, for it to tell a history."""

    gone: list[int]
    messages: list[Dumped]
    instructions: str | None


class TurnledgerConversationStore(PydanticAIConversationStore):  # type: ignore[misc]
    """The library's `ConversationStore` over ours, or over the place of one.

    With `execution_id` it saves on behalf of that run: what the run holds is delivered on the answer of the save
    that ends it (RT-TOOL-7.2); one that waits for deferred tools has not ended. May be shared by tasks, threads
    and event loops; any number of processes may save, and the one that was late gets `ConversationConflict`.
    """

    def __init__(
        self, store: ConversationStore | str | os.PathLike[str], *, execution_id: str | None = None
    ) -> None:
        self.store = store if isinstance(store, ConversationStore) else ConversationStore(store)
        self.execution_id = execution_id
        self._places: OrderedDict[str, str] = OrderedDict()

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        return await _in_thread(self._read, conversation_id)

    async def read_records(
        self, *, scope: str | None = None, limit: int | None = None
    ) -> Sequence[ConversationRecord]:
        """Those of a scope at a look into each of its conversations; all at a look into every conversation."""
        return await _in_thread(self._listed, scope, limit)

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        """Record and entries in one transaction. Raises `ConversationConflict`, and what `append` raises."""
        await _in_thread(self._write, record, _dumped_entries(new_entries), expected_revision)

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """Clears the conversation. Its entries stay in the log, and readable for the forks that share them."""
        await _in_thread(self._delete, conversation_id, expected_revision)

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        """The entry. Raises `KeyError` for one that no conversation has."""
        return await _in_thread(lambda: _entries([(entry_id, self._holding(entry_id)[entry_id])])[0])

    async def read_history(
        self, head_id: str | None, *, limit: int | None = None
    ) -> list[ConversationEntry]:
        return await _in_thread(lambda: _entries(self._line(head_id, limit)))

    async def load_healed(self, conversation_id: str, *, scope: str | None = None) -> Conversation | None:
        """As `load`, but with the messages that the healed list has: each call with its one result.

        What to go on with after a crash: the library refuses a prompt behind a call without a result. Saved,
        what was put in is stored too, and a result that comes late takes its place in `sendable`.
        """
        loaded = await self.load(conversation_id, scope=scope)
        if loaded is not None:
            loaded.messages = await _in_thread(self._healed, conversation_id)
            loaded.new_message_index = None
        return loaded

    def _read(self, conversation_id: str) -> ConversationRecord | None:
        state = self._state(conversation_id)
        if state.record is None:
            return None
        for entry_id in (state.record["head_id"], *state.record["branches"]):
            if entry_id is not None:
                self._remember(entry_id, conversation_id)
        return _record(state.record)

    def _listed(self, scope: str | None, limit: int | None) -> list[ConversationRecord]:
        found = (self._read(conversation_id) for conversation_id in self._members(scope))
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
        found = newest_record(self.store, conversation_id, version, RECORD)
        return _State(version, **found.value) if found else _State(version)

    def _write(self, record: ConversationRecord, new: Line, expected_revision: str | None) -> None:
        conversation_id, state = record.conversation_id, self._state(record.conversation_id)
        if state.of("revision") != expected_revision:
            raise ConversationConflict(conversation_id)
        if record.forked_from and record.head_id:
            self._places.setdefault(record.head_id, record.forked_from)
        try:
            step = self._step(state, conversation_id, record.head_id, new)
        except KeyError:
            raise ConversationConflict(conversation_id) from None
        if record.scope is not None and state.of("scope") != record.scope:
            index = scope_index(record.scope)
            self.store.append(index, [], records=[Record(MEMBER, conversation_id, None)])
        kept = [Record(ENTRY, entry_id, value) for entry_id, value in new]
        state = _State(state.version, _dumped_record(record), state.viewed, state.instructions)
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
        if self.execution_id is not None and state.of("deferred_tool_requests") is None:
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
                at_head = _at_head(state, step)
                self._put(
                    conversation_id,
                    _State(version, at_head.record, at_head.viewed, at_head.instructions),
                    step.messages,
                )
            except (VersionConflict, EntryNotFound):
                continue

    def _step(self, state: _State, conversation_id: str, head_id: str | None, new: Line) -> _Step:
        """From what the messages tell to the history up to a head. Raises `KeyError` for an unknown one."""
        if new and new[0][1]["parent_id"] == state.viewed and new[-1][0] == head_id:
            gone, come, instructions = [], new, state.instructions
        else:
            told = self._line(state.viewed, None, conversation_id)
            line = self._line(head_id, None, conversation_id, dict(new))
            shared = next((n for n, (a, b) in enumerate(zip(told, line)) if a[0] != b[0]), len(line))
            shared = min(shared, len(told))
            gone = self._beyond(conversation_id, {entry_id for entry_id, _ in told[shared:]})
            come, before = line[shared:], line[:shared]
            instructions = last_instructions(value["message"] for _, value in before)
        messages = [(entry_id, value["message"]) for entry_id, value in come]
        now = last_instructions((message for _, message in messages), instructions)
        return _Step(gone, as_stored(messages, instructions), now)

    def _beyond(self, conversation_id: str, left: set[str]) -> list[int]:
        """The numbers of the buffer's entries that tell entries which were left, the last first."""
        if not left:
            return []
        buffer = self.store.entries(conversation_id)
        return [one.number for one in reversed(buffer) if entry_of(one.metadata) in left]

    def _delete(self, conversation_id: str, expected_revision: str) -> None:
        state = self._state(conversation_id)
        if state.of("revision") != expected_revision:
            raise ConversationConflict(conversation_id)
        try:
            self.store.clear(conversation_id, expected_records=state.version)
        except VersionConflict:
            raise ConversationConflict(conversation_id) from None

    def _healed(self, conversation_id: str) -> list[Any]:
        self._follow(conversation_id)
        line = self._line(self._state(conversation_id).viewed, None, conversation_id)
        messages = {entry.id: entry.message for entry in _entries(line)}
        return healed(self.store.buffer(conversation_id), messages)

    def _line(
        self,
        head_id: str | None,
        limit: int | None,
        near: str | None = None,
        found: Mapping[str, Dumped] | None = None,
    ) -> Line:
        """The entries up to a head, in order. Raises `KeyError` for one that is nowhere."""
        known, line, here = dict(found or {}), Line(), head_id
        if near is not None and here is not None and here not in known:
            self._places.setdefault(here, near)
        while here is not None and (limit is None or len(line) < limit):
            if here not in known:
                known |= self._holding(here)
            line.append((here, known[here]))
            here = known[here]["parent_id"]
        return line[::-1]

    def _holding(self, entry_id: str) -> dict[str, Dumped]:
        """The entries of the conversation that has this one."""
        for conversation_id in self._candidates(entry_id):
            entries = self._entries_in(conversation_id, entry_id)
            if entry_id in entries:
                self._remember(entry_id, conversation_id)
                return entries
        raise KeyError(entry_id)

    def _candidates(self, entry_id: str) -> Iterator[str]:
        """Where an entry may be: where it was named, where that was forked from; in the end anywhere."""
        named = self._places.get(entry_id)
        while named is not None:
            yield named
            named = self._state(named).of("forked_from")
        for one in self.store.conversations():
            if self.store.records(one.conversation_id, ENTRY, key=entry_id):
                yield one.conversation_id

    def _entries_in(self, conversation_id: str, entry_id: str) -> dict[str, Dumped]:
        """By id; where the conversation was cleared since, as the log has them."""
        try:
            found = {one.key: one.value for one in self.store.records(conversation_id, ENTRY) if one.key}
            if entry_id in found:
                return found
            events = self.store.events(conversation_id)
        except ConversationNotFound:
            return {}
        return {
            event.key: event.record
            for event in events
            if isinstance(event, RecordKept) and event.kind == ENTRY and event.key
        }

    def _remember(self, entry_id: str, conversation_id: str) -> None:
        self._places[entry_id] = conversation_id
        if len(self._places) > PLACES_MAX:
            self._places.popitem(last=False)


async def _in_thread(call: Callable[..., T], *args: Any) -> T:
    """In a thread, on whichever event loop; a call that has begun is ended before a cancellation goes on."""
    return await to_thread.run_sync(call, *args)


def _at_head(state: _State, step: _Step) -> _State:
    return _State(state.version, state.record, state.of("head_id"), step.instructions)


def _dumped_record(record: ConversationRecord) -> Dumped:
    """In JSON, by the library's own adapter where it has one."""
    carried = Conversation(
        conversation_id=record.conversation_id,
        usage=record.usage,
        deferred_tool_requests=record.deferred_tool_requests,
        revision=record.revision,
    )
    excluded = {"messages", "new_message_index"}
    dumped: Dumped = ConversationTypeAdapter.dump_python(carried, mode="json", exclude=excluded)
    beside = {key: getattr(record, key) for key in _BESIDE}
    return {**dumped, **beside, "updated_at": record.updated_at.isoformat()}


def _record(dumped: Dumped) -> ConversationRecord:
    carried = ConversationTypeAdapter.validate_json(
        to_json({key: value for key, value in dumped.items() if key not in (*_BESIDE, "updated_at")})
    )
    return ConversationRecord(
        conversation_id=carried.conversation_id,
        usage=carried.usage,
        deferred_tool_requests=carried.deferred_tool_requests,
        revision=carried.revision,
        updated_at=datetime.fromisoformat(dumped["updated_at"]),
        **{key: dumped[key] for key in _BESIDE},
    )


def _dumped_entries(entries: Sequence[ConversationEntry]) -> Line:
    messages = from_json(ModelMessagesTypeAdapter.dump_json([entry.message for entry in entries]))
    return [
        (entry.id, {"parent_id": entry.parent_id, "kind": entry.kind, "message": message})
        for entry, message in zip(entries, messages, strict=True)
    ]


def _entries(line: Line) -> list[ConversationEntry]:
    messages = ModelMessagesTypeAdapter.validate_json(to_json([value["message"] for _, value in line]))
    return [
        ConversationEntry(id=entry_id, parent_id=value["parent_id"], message=message, kind=value["kind"])
        for (entry_id, value), message in zip(line, messages, strict=True)
    ]
