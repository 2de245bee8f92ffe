"""Conversations of Pydantic AI in a store: its `ConversationStore`, durable, over the face.

    conversations = TurnledgerConversationStore("chats.db")
    conversation = await conversations.load("support-7") or Conversation(conversation_id="support-7")
    await conversations.save(await agent.run("Where is my parcel?", conversation=conversation))

A conversation of the library's is the conversation of that id. Each of its entries is a record, kept once
with its id as the key, and so is each state of its own record, in the transaction of the entries that came
with it; a fork points at the entries of the conversation that it left. Beside them stands what the history
up to the head says, as messages: `sendable("support-7", provider=…)` is the healed list, and a branch that
was left is retracted from it. A deletion clears the conversation; the log keeps it, and a fork what it
shares.

Where things are found: the conversations of a scope are listed by a conversation of records (`scope_index`);
an entry is in the conversation that named it as head or branch, or in the one that this was forked from.
Only `read_entry` of an id that this process never met looks into every conversation, the store's own search.
"""

import os
from collections.abc import AsyncIterator, Sequence
from typing import Any

from turnledger.adapters.extras import extra
from turnledger.adapters.pydantic_ai_json import dumped_entries, read_entries
from turnledger.adapters.pydantic_ai_log import Conversations
from turnledger.adapters.threads import in_thread
from turnledger.store import ConversationStore

with extra("pydantic-ai"):
    from pydantic_ai import Conversation, DeferredToolRequests
    from pydantic_ai.conversation_store import ConversationEntry, ConversationRecord
    from pydantic_ai.conversation_store import ConversationStore as PydanticAIConversationStore


class TurnledgerConversationStore(PydanticAIConversationStore):  # type: ignore[misc]
    """The library's `ConversationStore` over ours, or over the place of one.

    With `execution_id` it saves on behalf of that run: what the run holds is delivered on the answer of the
    save that ends it (RT-TOOL-7.2); one that waits for deferred tools has not ended. May be shared by tasks,
    threads and event loops; any number of processes may save, and the one that was late gets
    `ConversationConflict`.
    """

    def __init__(
        self, store: ConversationStore | str | os.PathLike[str], *, execution_id: str | None = None
    ) -> None:
        self._is_own = not isinstance(store, ConversationStore)
        self.store = store if isinstance(store, ConversationStore) else ConversationStore(store)
        self._log = Conversations(self.store, execution_id)

    async def close(self) -> None:
        """Closes the store, if it was opened here."""
        if self._is_own:
            await in_thread(self.store.close)

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        return await in_thread(self._log.record, conversation_id)

    async def read_records(
        self, *, scope: str | None = None, limit: int | None = None
    ) -> Sequence[ConversationRecord]:
        """Those of a scope at a look into each of its conversations; all at one into every conversation."""
        return await in_thread(self._log.records, scope, limit)

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        """Record and entries in one transaction. Raises `ConversationConflict`, and what `append` raises."""
        await in_thread(self._log.write, record, dumped_entries(new_entries), expected_revision)

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """Clears the conversation. Its entries stay in the log, readable for the forks that share them."""
        await in_thread(self._log.delete, conversation_id, expected_revision)

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        """The entry. Raises `KeyError` for one that no conversation has."""
        return await in_thread(
            lambda: read_entries([(entry_id, self._log.holding(entry_id)[1][entry_id])])[0]
        )

    async def read_history(self, head_id: str | None, *, limit: int | None = None) -> list[ConversationEntry]:
        return await in_thread(lambda: read_entries(self._log.line(head_id, limit)))

    async def load_healed(self, conversation_id: str, *, scope: str | None = None) -> Conversation | None:
        """As `load`, but with the messages that the healed list has: each call with its one result.

        What to go on with after a crash: the library refuses a prompt behind a call without a result. Saved,
        what was put in is stored too, and a result that comes late takes its place in `sendable`. Calls that
        wait for an answer are closed as well: to answer them, `load`.

        A conversation that has messages and was never saved by the library, as the core makes one, begins
        with these; not where a scope is asked for, as it has none.
        """
        loaded = await self.load(conversation_id, scope=scope)
        if loaded is None and scope is None:
            messages = await in_thread(self._log.begun, conversation_id)
            return Conversation(conversation_id=conversation_id, messages=messages) if messages else None
        if loaded is not None:
            loaded.messages = await in_thread(self._log.healed, conversation_id)
            loaded.deferred_tool_requests = None
            loaded.new_message_index = None
        return loaded


async def saving(
    conversations: PydanticAIConversationStore, run: Any, conversation: Conversation
) -> AsyncIterator[Any]:
    """The nodes of an agent's run; after each the conversation is saved, so that a crash loses one step.

        async with agent.iter(prompt, conversation=conversation) as run:
            async for node in saving(conversations, run, conversation):
                ...

    `conversation` is the one that the run was begun with, and brought up to date by each save. Works with any
    store of the library's. Raises `ConversationConflict` where somebody else saved meanwhile.
    """
    count = 0
    async for node in run:
        new = run.new_messages()
        if len(new) > count or run.result is not None:
            output = run.result.output if run.result is not None else None
            waiting = output if isinstance(output, DeferredToolRequests) else None
            conversation.messages.extend(new[count:])
            conversation.usage, conversation.deferred_tool_requests = run.usage, waiting
            await conversations.save(conversation)
            count = len(new)
        yield node
