"""Microsoft's agent-framework on the log: its history and its sessions (extra `agent-framework`).

`TurnledgerHistoryProvider` keeps what an agent's runs say in one conversation a session. What it gives the
next run is whole: calls that a crash or a cancel left open have a placeholder (MEM-3), a late result stands
in its place (MEM-10), and an id that the model used again is one of its own. Messages come back as they were
given, of whatever contents. With `load_messages=False` it is a pure audit sink. Give the agent
`require_per_service_call_history_persistence=True` and each step is recorded before the next one is taken.

`TurnledgerSessionStore` keeps the sessions themselves, in which the framework has the approvals that a human
still owes. Artifacts that a tool holds under the execution `EXECUTION` are delivered with the next answer.

    history = TurnledgerHistoryProvider("chats.db")
    agent = Agent(client=client, context_providers=[history],
                  require_per_service_call_history_persistence=True)
"""

import warnings
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import uuid4

from turnledger.adapters.again import to_append
from turnledger.adapters.agent_framework_messages import (
    answers_in,
    approved_in,
    as_entries,
    as_messages,
    is_control,
    newest_messages,
    plain,
    with_placeholders,
)
from turnledger.adapters.arranged import arranged
from turnledger.adapters.awaiting import Place, awaited, seen
from turnledger.adapters.extras import extra
from turnledger.adapters.newest import newest_kept
from turnledger.domain.errors import ConversationNotFound, VersionConflict
from turnledger.domain.records import Record

with extra("agent-framework"):
    from agent_framework import AgentSession, HistoryProvider, Message, SessionContext, SessionStore

PREFIX = "agent-framework/"
EXECUTION = "agent-framework"
TURN = "turn"
SESSION, CONTROL = "agent-framework.session", "agent-framework.control"


def conversation_of(session_id: str | None) -> str:
    """The id of a session's conversation."""
    return PREFIX + (session_id or "default")


class TurnledgerHistoryProvider(HistoryProvider):  # type: ignore[misc]
    """The history of an agent's sessions in a store: a path or URL, or a store of either kind.

    The flags are those of the framework's `HistoryProvider`.
    """

    def __init__(self, store: Place, source_id: str = "turnledger", **flags: Any) -> None:
        super().__init__(source_id, **flags)
        self.store, self._is_own = awaited(store)

    async def close(self) -> None:
        """Closes the store, if it was opened here."""
        if self._is_own:
            await self.store.close()

    async def before_run(self, *, agent: Any, session: Any, context: SessionContext, state: Any) -> None:
        """Gives the run its history, whole.

        Results among its input are recorded first, and stand in the history, next to their calls. Calls that
        nothing answers have placeholders, save those that the input approves: these are made now. With a word
        of the user's a turn begins, so that the results of two workers at once are told apart.
        """
        if any(m.role == "user" and not is_control(m) for m in context.input_messages):
            state[TURN] = uuid4().hex
        results = [m for m in context.input_messages if m.role == "tool" and not is_control(m)]
        if results and self.store_inputs:
            await self.save_messages(context.session_id, results, state=state)
            context.input_messages = [m for m in context.input_messages if m not in results]
        await super().before_run(agent=agent, session=session, context=context, state=state)
        if history := context.context_messages.get(self.source_id):
            approved = approved_in(context.input_messages)
            context.context_messages[self.source_id] = with_placeholders(history, approved)

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Message]:
        """What was said; where the last calls are open, they are still."""
        try:
            entries = await self.store.entries(conversation_of(session_id))
            return as_messages(arranged(entries, open_last=True))
        except ConversationNotFound:
            return []

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Appends what is new, in one transaction; the end of an answer takes what is held along.

        What only answers a request for approval is no message: it is kept as a record.
        """
        while True:
            try:
                return await self._save(conversation_of(session_id), messages, (state or {}).get(TURN))
            except VersionConflict:  # another worker was first: look again
                continue

    async def _save(self, conversation: str, messages: Sequence[Message], turn: str | None) -> None:
        version, known = await seen(self.store, conversation)
        new = _new_of(newest_messages(known, messages), messages)
        controls = [Record(CONTROL, None, plain(message)) for message in new if is_control(message)]
        entries = as_entries(message for message in new if not is_control(message))
        entries, how = to_append(version, known, entries)
        how["turn_id"] = turn if answers_in(known, turn, entries) else None
        if entries and entries[-1]["role"] == "assistant" and not entries[-1].get("tool_calls"):
            await self.store.write_back(conversation, EXECUTION, entries, records=controls, **how)
        elif entries or controls:
            how["execution_id"] = EXECUTION
            await self.store.append(conversation, entries, records=controls, **how)


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the framework calls its session stores experimental

    class TurnledgerSessionStore(SessionStore):  # type: ignore[misc]
        """The sessions of agents in a store, each in its conversation's records: the newest counts."""

        def __init__(self, store: Place) -> None:
            super().__init__()
            self.store, self._is_own = awaited(store)

        async def close(self) -> None:
            """Closes the store, if it was opened here."""
            if self._is_own:
                await self.store.close()

        async def get(self, session_id: str) -> AgentSession | None:
            """The session as it was last set, None where it was not, or is deleted."""
            self.validate_session_id(session_id)
            try:
                found = await newest_kept(self.store, conversation_of(session_id), SESSION)
            except ConversationNotFound:
                return None
            return AgentSession.from_dict(found.value) if found and found.value else None

        async def set(self, session_id: str, session: AgentSession) -> None:
            self.validate_session_id(session_id)
            await self._keep(session_id, session.to_dict())

        async def delete(self, session_id: str) -> None:
            """Records that the session is no more; what was said stays."""
            self.validate_session_id(session_id)
            if await self.get(session_id) is not None:
                await self._keep(session_id, None)

        async def _keep(self, session_id: str, value: Any) -> None:
            records = [Record(SESSION, None, value)]
            await self.store.append(conversation_of(session_id), [], records=records)


def _new_of(known: Sequence[Message], given: Sequence[Message]) -> Sequence[Message]:
    """What of the messages does not repeat the end of what is known, as the framework's own stores read it.

    One user message without an id that is equal to the last one known is another.
    """
    have, come = _told(known), _told(given)
    for length in range(min(len(have), len(come)), 0, -1):
        repeats = have[-length:] == come[:length]
        if repeats and not (length == 1 and given[0].role == "user" and not given[0].message_id):
            return given[length:]
    return given


def _told(messages: Iterable[Message]) -> list[Any]:
    return [message.message_id or plain(message) for message in messages]
