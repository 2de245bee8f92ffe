"""LlamaIndex on the log: the chat store of a `Memory` (extra `llama-index`).

`TurnledgerChatStore` keeps each key as one conversation. The active messages are its buffer: a call that
nothing answered has a placeholder as soon as the user goes on (MEM-3), a late result stands in its place
(MEM-10), what comes twice is kept once. Archived messages are records of the conversation. What is archived
or deleted leaves the buffer by an event, and stays in the log; a call never leaves without its results.

    store = TurnledgerChatStore("chats.db")
    memory = Memory.from_defaults(session_id="t1", chat_store=store)
"""

import os
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import PrivateAttr
from pydantic_core import to_jsonable_python

from turnledger.adapters.arranged import arranged
from turnledger.adapters.awaiting import Place, awaited
from turnledger.adapters.extras import extra
from turnledger.domain.errors import ConversationNotFound
from turnledger.domain.messages import id_of_call
from turnledger.domain.records import Record
from turnledger.projections.buffer import Entry

with extra("llama-index"):
    from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock, ToolCallBlock
    from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus

PREFIX = "llama-index/"
KEPT, ARCHIVED = "llama-index", "llama-index.archived"
_ROLES = {"chatbot": "assistant", "model": "assistant", "function": "tool"}
_RESULT_KEY, _CALLS_KEY = "tool_call_id", "tool_calls"


def conversation_of(key: str) -> str:
    """The id of a key's conversation."""
    return PREFIX + key


class TurnledgerChatStore(AsyncDBChatStore):  # type: ignore[misc]
    """A chat store in a store: a path or URL, or a store of either kind."""

    place: str | None = None
    _store: Any = PrivateAttr()
    _is_own: bool = PrivateAttr()

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
        """The messages of a status, or with None all of them, the archived ones first."""
        found: list[ChatMessage] = []
        if status in (None, MessageStatus.ARCHIVED):
            found += await self._archived(key)
        if status in (None, MessageStatus.ACTIVE):
            found += [as_message(entry) for entry in arranged(await self._entries(key))]
        begin = offset or 0
        return found[begin : None if limit is None else begin + limit]

    async def count_messages(self, key: str, status: MessageStatus | None = MessageStatus.ACTIVE) -> int:
        return len(await self.get_messages(key, status))

    async def add_message(
        self, key: str, message: ChatMessage, status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        await self.add_messages(key, [message], status)

    async def add_messages(
        self, key: str, messages: list[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """Appends them, all or none."""
        if status == MessageStatus.ARCHIVED:
            await self._archive(key, messages)
        elif messages:
            await self._store.append(conversation_of(key), [as_entry(message) for message in messages])

    async def set_messages(
        self, key: str, messages: list[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """Makes these the messages: where they go on from what is there, only the rest is appended."""
        known = await self.get_messages(key, None)
        if status != MessageStatus.ACTIVE or known != messages[: len(known)]:
            await self.delete_messages(key)
            known = []
        await self.add_messages(key, messages[len(known) :], status)

    async def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Takes back the entry of this number, with a call its results; None where none is in the buffer."""
        for entry in await self._entries(key):
            if entry.number == idx:
                await self._store.retract(conversation_of(key), idx)
                return as_message(entry)
        return None

    async def delete_messages(self, key: str, status: MessageStatus | None = None) -> None:
        """Clears the conversation, or of one status what it has; the log keeps it all."""
        if status is None:
            if await self._entries(key) or await self._archived(key):
                await self._store.clear(conversation_of(key))
        elif status == MessageStatus.ARCHIVED:
            await self._forget(key)
        else:
            await self._retract(key, await self._entries(key))

    async def delete_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Takes the oldest back, with what shares a call with them; which that were."""
        oldest = _whole(await self._entries(key), n)
        await self._retract(key, oldest)
        return [as_message(entry) for entry in oldest]

    async def archive_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Archives the oldest, with what shares a call with them; which that were."""
        oldest = _whole(await self._entries(key), n)
        messages = [as_message(entry) for entry in oldest]
        await self._archive(key, messages)
        await self._retract(key, oldest)
        return messages

    async def get_keys(self) -> list[str]:
        """The keys that have messages."""
        found = []
        async for summary in self._store.conversations(after=PREFIX):
            if not summary.conversation_id.startswith(PREFIX):
                break
            key = summary.conversation_id.removeprefix(PREFIX)
            if await self.count_messages(key, None):
                found.append(key)
        return found

    @classmethod
    def class_name(cls) -> str:
        return "TurnledgerChatStore"

    async def _entries(self, key: str) -> list[Entry]:
        try:
            found: list[Entry] = await self._store.entries(conversation_of(key))
        except ConversationNotFound:
            return []
        return found

    async def _archived(self, key: str) -> list[ChatMessage]:
        try:
            records = await self._store.records(conversation_of(key), ARCHIVED)
        except ConversationNotFound:
            return []
        begun = max((place for place, record in enumerate(records, 1) if record.value is None), default=0)
        return [ChatMessage.model_validate(record.value) for record in records[begun:]]

    async def _archive(self, key: str, messages: Sequence[ChatMessage]) -> None:
        records = [Record(ARCHIVED, None, plain(message)) for message in messages]
        if records:
            await self._store.append(conversation_of(key), [], records=records)

    async def _forget(self, key: str) -> None:
        """Nothing archived so far counts from now on."""
        if await self._archived(key):
            await self._store.append(conversation_of(key), [], records=[Record(ARCHIVED, None, None)])

    async def _retract(self, key: str, entries: Sequence[Entry]) -> None:
        for entry in reversed(entries):
            await self._store.retract(conversation_of(key), entry.number)


def plain(message: ChatMessage) -> dict[str, Any]:
    return dict(to_jsonable_python(message.model_dump(mode="json"), serialize_unknown=True))


def as_entry(message: ChatMessage) -> dict[str, Any]:
    """A message to append, with the given one in its metadata."""
    whole, role = plain(message), _ROLES.get(message.role.value, message.role.value)
    entry: dict[str, Any] = {"role": role, "content": _said(message), "metadata": {KEPT: whole}}
    if role == "assistant" and (calls := _calls(message, whole)):
        entry["tool_calls"] = calls
    if role == "tool":
        entry["tool_call_id"] = whole["additional_kwargs"].get(_RESULT_KEY)
    return entry


def _calls(message: ChatMessage, whole: dict[str, Any]) -> list[Any]:
    """The calls of the blocks, or, where those have none, of the arguments beside them."""
    found = [
        {"tool_call_id": block.tool_call_id, "name": block.tool_name, "arguments": block.tool_kwargs}
        for block in message.blocks
        if isinstance(block, ToolCallBlock)
    ]
    return found or list(whole["additional_kwargs"].get(_CALLS_KEY) or ())


def _said(message: ChatMessage) -> Any:
    """The texts as one, or texts and pictures as parts; what else there is stands in the kept message."""
    parts: list[dict[str, Any]] = []
    for block in message.blocks:
        if isinstance(block, TextBlock) and block.text:
            parts.append({"type": "text", "text": block.text})
        elif isinstance(block, ImageBlock) and block.url:
            parts.append({"type": "image_url", "image_url": {"url": str(block.url)}})
    if all(part["type"] == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return parts


def as_message(entry: Entry) -> ChatMessage:
    """The message that an entry is: as it was given, with the ids that its calls turned out to have."""
    kept = entry.metadata.get(KEPT)
    if kept is None:
        return _made(entry)
    message = ChatMessage.model_validate(kept)
    if entry.role == "tool":
        message.additional_kwargs[_RESULT_KEY] = entry.metadata["tool_call_id"]
    calls = entry.metadata.get("tool_calls", ())
    blocks = [block for block in message.blocks if isinstance(block, ToolCallBlock)]
    for call, block in zip(calls, blocks, strict=False):
        block.tool_call_id = call["tool_call_id"]
    renamed = {call["original_id"]: call["tool_call_id"] for call in calls if "original_id" in call}
    for call in message.additional_kwargs.get(_CALLS_KEY) or ():
        if isinstance(call, dict) and call.get("id") in renamed:
            call["id"] = renamed[call["id"]]
    return message


def _made(entry: Entry) -> ChatMessage:
    """A message of an entry that came from elsewhere: a placeholder, another client's."""
    text = entry.content if isinstance(entry.content, str) else str(entry.content)
    beside = {_RESULT_KEY: entry.metadata[_RESULT_KEY]} if entry.role == "tool" else {}
    message = ChatMessage(role=entry.role, content=text, additional_kwargs=beside)
    for call in entry.metadata.get("tool_calls", ()):
        given = call.get("arguments") or {}
        message.blocks.append(
            ToolCallBlock(tool_call_id=call["tool_call_id"], tool_name=call["name"], tool_kwargs=given)
        )
    return message


def _whole(entries: Sequence[Entry], n: int) -> list[Entry]:
    """The oldest entries, that many, and the results of calls among them."""
    oldest = list(entries[: max(n, 0)])
    calls = {id_of_call(call) for entry in oldest for call in _declared(entry)}
    return oldest + [e for e in entries[len(oldest) :] if e.metadata.get(_RESULT_KEY) in calls]


def _declared(entry: Entry) -> Iterable[Any]:
    return entry.metadata.get("tool_calls", ()) if entry.role == "assistant" else ()
