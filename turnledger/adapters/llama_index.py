"""LlamaIndex on the log: the chat store of a `Memory` (extra `llama-index`).

`TurnledgerChatStore` keeps each key as one conversation. The active messages are its buffer: a call that
nothing answered has a placeholder as soon as the user goes on (MEM-3), a late result stands in its place
(MEM-10), what comes twice is kept once. Archived messages are records of the conversation. What is archived
or deleted leaves the buffer by an event, and stays in the log; a call never leaves without its results.

A run that waits for a human has its state in its `Context`: `keep_context` keeps that, and `resume` goes on
with it in whichever process. Artifacts that a tool holds under the execution `EXECUTION` are delivered with
the run's answer.

    store = TurnledgerChatStore("chats.db")
    memory = Memory.from_defaults(session_id="t1", chat_store=store)
"""

import os
import warnings
from collections.abc import Sequence
from typing import Any

from pydantic import Field, PrivateAttr

from turnledger.adapters.again import to_append
from turnledger.adapters.arranged import arranged, ids_of
from turnledger.adapters.awaiting import Place, awaited, seen
from turnledger.adapters.extras import extra
from turnledger.adapters.llama_index_messages import (
    as_entries,
    as_message,
    call_ids_of,
    has_calls,
    plain,
    result_id_of,
)
from turnledger.domain.errors import ConversationNotFound, EntryNotFound, VersionConflict
from turnledger.domain.records import KeptRecord, Record
from turnledger.projections.buffer import Entry

with extra("llama-index"):
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus
    from llama_index.core.workflow import Context, Workflow
    from workflows.handler import WorkflowHandler

PREFIX = "llama-index/"
EXECUTION = "llama-index"
ARCHIVED, CONTEXT = "llama-index.archived", "llama-index.context"


def conversation_of(key: str) -> str:
    """The id of a key's conversation."""
    return PREFIX + key


class TurnledgerChatStore(AsyncDBChatStore):  # type: ignore[misc]
    """A chat store in a store: a path or URL, or a store of either kind."""

    place: str | None = Field(default=None, repr=False)  # a URL may have a password
    _store: Any = PrivateAttr()
    _is_own: bool = PrivateAttr()
    _looked: dict[str, int] = PrivateAttr(default_factory=dict)

    def __init__(self, store: Place | None = None, *, place: str | None = None) -> None:
        """`place` is what a dump of the chat store has of it: where the store is, if it was given so."""
        given: Any = place if store is None else store
        is_place = isinstance(given, str | bytes | os.PathLike)
        super().__init__(place=os.fsdecode(given) if is_place else None)
        self._store, self._is_own = awaited(given if self.place is None else self.place)

    @property
    def store(self) -> Any:
        return self._store

    async def close(self) -> None:
        """Closes the store, if it was opened here."""
        if self._is_own:
            await self._store.close()

    async def get_messages(
        self,
        key: str,
        status: MessageStatus | None = MessageStatus.ACTIVE,
        limit: int | None = None,
        offset: int | None = None,
    ) -> list[ChatMessage]:
        """The messages of a status, or with None all of them, the archived ones first.

        A limit or offset below 0 is none.
        """
        found: list[ChatMessage] = []
        if status in (None, MessageStatus.ARCHIVED):
            found += await self._archived(key)
        if status in (None, MessageStatus.ACTIVE):
            found += [as_message(entry) for entry in await self._entries(key)]
        begin = max(offset or 0, 0)
        return found[begin : None if limit is None or limit < 0 else begin + limit]

    async def count_messages(self, key: str, status: MessageStatus | None = MessageStatus.ACTIVE) -> int:
        count = 0
        if status in (None, MessageStatus.ARCHIVED):
            count += len(await self._archived_records(key))
        if status in (None, MessageStatus.ACTIVE):
            count += len(await self._entries(key))
        return count

    async def add_message(
        self, key: str, message: ChatMessage, status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        await self.add_messages(key, [message], status)

    async def add_messages(
        self, key: str, messages: list[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """Appends them, all or none; the answer of a run takes what is held along."""
        if status == MessageStatus.ARCHIVED:
            await self._append(key, records=_archiving(messages))
        elif messages:
            await self._add(key, messages)

    async def _add(self, key: str, messages: Sequence[ChatMessage]) -> None:
        while True:
            try:
                return await self._added(key, messages)
            except VersionConflict:  # another worker was first: look again
                continue

    async def _added(self, key: str, messages: Sequence[ChatMessage]) -> None:
        looks = any(has_calls(message) or result_id_of(message) == "" for message in messages)
        version, known = await seen(self._store, conversation_of(key)) if looks else (0, [])
        entries, how = to_append(version, known, as_entries(messages, known))
        waiting = await self._waiting(key) if any(entry["role"] != "user" for entry in entries) else None
        is_its = waiting is not None and _goes_on(waiting, messages)
        if is_its:
            how["records"] = [Record(CONTEXT, None, None)]
        is_answer = bool(entries) and entries[-1]["role"] == "assistant" and not entries[-1].get("tool_calls")
        if is_answer and (is_its or not waiting):
            await self._store.write_back(conversation_of(key), EXECUTION, entries, **how)
        else:
            await self._append(key, entries, execution_id=EXECUTION, **how)

    async def set_messages(
        self, key: str, messages: list[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """Makes these the messages: where they go on from what is there, only the rest is appended."""
        known = await self.get_messages(key, None)
        if status == MessageStatus.ACTIVE and known == messages[: len(known)]:
            return await self.add_messages(key, messages[len(known) :])
        archives = status == MessageStatus.ARCHIVED
        records = await self._forgetting(key) + _archiving(messages if archives else ())
        while True:
            standing = await self._entries(key)
            try:
                return await self._leave(key, standing, [] if archives else as_entries(messages), records)
            except EntryNotFound:
                continue

    async def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Takes back the entry of this number, with a call its results; None where none is in the buffer."""
        for entry in await self._entries(key):
            if entry.number == idx:
                await self._store.retract(conversation_of(key), idx)
                return as_message(entry)
        return None

    async def delete_messages(self, key: str, status: MessageStatus | None = None) -> None:
        """Clears the conversation, or of one status what it has; the log keeps it all."""
        if not await self.count_messages(key, status):
            return
        if status is None:
            await self._store.clear(conversation_of(key))
        elif status == MessageStatus.ARCHIVED:
            await self._append(key, records=await self._forgetting(key))
        else:
            await self._oldest_left(key, await self.count_messages(key))

    async def delete_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Takes the oldest back, with what shares a call with them; which that were."""
        return await self._oldest_left(key, n)

    async def archive_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Archives the oldest, with what shares a call with them; which that were."""
        return await self._oldest_left(key, n, archives=True)

    async def get_keys(self) -> list[str]:
        """The keys that have messages."""
        found = []
        async for summary in self._store.conversations(after=PREFIX[:-1]):
            if not summary.conversation_id.startswith(PREFIX):
                if summary.conversation_id > PREFIX:
                    break
                continue
            key = summary.conversation_id.removeprefix(PREFIX)
            if summary.entries or await self._archived_records(key):
                found.append(key)
        return found

    async def keep_context(self, key: str, context: Context | None) -> None:
        """Keeps the state of a run that waits, until what it waits for is recorded; None gives such a run up.

        The newest counts. While a run waits, what is held is delivered on its answer alone.
        """
        value = None
        if context is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the memory, which is set anew
                state = context.to_dict()
            value = {"calls": await self._open_calls(key, context), "context": state}
        await self._append(key, records=[Record(CONTEXT, None, value)])

    async def _open_calls(self, key: str, context: Context) -> list[str]:
        """The calls that nothing answered yet, of an agent's scratchpad and of the memory."""
        pad: list[ChatMessage] = await context.store.get("scratchpad", default=[])
        entries = await self._entries(key)
        answered = {result_id_of(message) for message in pad}
        answered |= {e.metadata.get("tool_call_id") for e in entries if not e.metadata.get("healed")}
        calls = [call_id for message in pad for call_id in call_ids_of(message)]
        calls += [call_id for entry in entries for call_id in ids_of(entry)]
        return [call_id for call_id in calls if call_id not in answered]

    async def resume(self, key: str, workflow: Workflow, memory: Any) -> WorkflowHandler | None:
        """The run that waits, gone on with here: give its `ctx` the event that it waits for, and await it.

        Every agent in it has this memory. None where no run waits.
        """
        waiting = await self._waiting(key)
        if waiting is None:
            return None
        handler = workflow.run(ctx=Context.from_dict(workflow, waiting.value["context"]))
        await handler.ctx.store.set("memory", memory)  # which no context keeps
        return handler

    @classmethod
    def class_name(cls) -> str:
        return "TurnledgerChatStore"

    async def _entries(self, key: str) -> list[Entry]:
        """The entries of the active messages, in their order."""
        try:
            return arranged(await self._store.entries(conversation_of(key)))
        except ConversationNotFound:
            return []

    async def _archived(self, key: str) -> list[ChatMessage]:
        return [ChatMessage.model_validate(record.value) for record in await self._archived_records(key)]

    async def _archived_records(self, key: str) -> list[KeptRecord]:
        try:
            records: list[KeptRecord] = await self._store.records(conversation_of(key), ARCHIVED)
        except ConversationNotFound:
            return []
        begun = max((place for place, record in enumerate(records, 1) if record.value is None), default=0)
        return records[begun:]

    async def _forgetting(self, key: str) -> list[Record]:
        """A record with which nothing that was archived so far counts, where something was."""
        return [Record(ARCHIVED, None, None)] if await self._archived_records(key) else []

    async def _waiting(self, key: str) -> KeptRecord | None:
        """The context that was kept last, if its run has not gone on; read on from what was read before."""
        conversation = conversation_of(key)
        try:
            version = await self._store.version(conversation)
            after = self._looked.get(key, 0)
            found = await self._store.records(conversation, CONTEXT, after=after)
        except ConversationNotFound:
            return None
        waiting: KeptRecord | None = found[-1] if found and found[-1].value else None
        self._looked[key] = waiting.version - 1 if waiting else version
        return waiting

    async def _oldest_left(self, key: str, n: int, archives: bool = False) -> list[ChatMessage]:
        chosen: set[int] | None = None
        while True:
            entries = await self._entries(key)
            left = _whole(entries, n) if chosen is None else [e for e in entries if e.number in chosen]
            chosen = {entry.number for entry in left}
            messages = [as_message(entry) for entry in left]
            try:
                await self._leave(key, left, records=_archiving(messages if archives else ()))
                return messages
            except EntryNotFound:  # another worker was first with some
                continue

    async def _leave(
        self, key: str, entries: Sequence[Entry], instead: Sequence[Any] = (), records: Sequence[Record] = ()
    ) -> None:
        """Takes the entries back, and puts others and records in their place, in one transaction."""
        numbers = sorted(
            {entry.number for entry in entries}
        )  # the newest last: it is looked for anew each time
        if numbers or instead or records:
            await self._append(key, instead, records=records, retracting=numbers)

    async def _append(self, key: str, entries: Sequence[Any] = (), **how: Any) -> None:
        await self._store.append(conversation_of(key), entries, **how)


def _archiving(messages: Sequence[ChatMessage]) -> list[Record]:
    return [Record(ARCHIVED, None, plain(message)) for message in messages]


def _goes_on(waiting: KeptRecord, messages: Sequence[ChatMessage]) -> bool:
    """Whether messages are of the run that waits: one of them answers a call that it waits for, if any."""
    calls = waiting.value["calls"]
    return not calls or any(result_id_of(message) in calls for message in messages)


def _whole(entries: Sequence[Entry], n: int) -> list[Entry]:
    """The oldest entries, that many, and the results of calls among them."""
    oldest = list(entries[: max(n, 0)])
    calls = {call_id for entry in oldest for call_id in ids_of(entry)}
    return oldest + [e for e in entries[len(oldest) :] if e.metadata.get("tool_call_id") in calls]
