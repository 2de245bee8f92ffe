"""Strands Agents on the log: the repository of a session manager (extra `strands`).

`TurnledgerRepository` keeps each agent of a session as one conversation: its messages as Strands has them, as
records, and in the same transaction the messages that they are. What an agent is restored with is whole: a
result stands right behind its call, the real one rather than one that Strands put in its place, and an id
that the model used again is one of its own. Two workers never write over each other's messages. Artifacts
that a tool holds under the execution `EXECUTION` are delivered with the next answer.

    manager = RepositorySessionManager("t1", TurnledgerRepository("chats.db"))
    agent = Agent(model=model, session_manager=manager)
"""

import os
from collections.abc import Mapping
from itertools import takewhile
from typing import Any

from turnledger.adapters.extras import extra
from turnledger.adapters.strands_messages import (
    as_entries,
    calls_in,
    repaired,
    same,
    with_own_ids,
)
from turnledger.domain.errors import ConversationNotFound, VersionConflict
from turnledger.domain.records import KeptRecord, Record
from turnledger.store import ConversationStore

with extra("strands"):
    from strands.session.session_repository import SessionRepository
    from strands.types.exceptions import SessionException
    from strands.types.session import Session, SessionAgent, SessionMessage

PREFIX = "strands"
EXECUTION = "strands"
SESSION, AGENT, MULTI_AGENT = "strands.session", "strands.agent", "strands.multi-agent"
MESSAGE, REDACTED = "strands.message", "strands.redacted"
Store = ConversationStore | str | os.PathLike[str]


def conversation_of(session_id: str, agent_id: str | None = None) -> str:
    """The id of the conversation of an agent in a session, or of the session's own records."""
    names = [name for name in (session_id, agent_id) if name is not None]
    return "/".join([PREFIX, *(name.replace("%", "%25").replace("/", "%2F") for name in names)])


class TurnledgerRepository(SessionRepository):  # type: ignore[misc]
    """Sessions of Strands in a store: a path or URL, or a `ConversationStore` that is shared."""

    def __init__(self, store: Store) -> None:
        self.store = store if isinstance(store, ConversationStore) else ConversationStore(store)

    def create_session(self, session: Session, **kwargs: Any) -> Session:
        """Raises Strands' `SessionException` where there is one of that id."""
        kept = Record(SESSION, "session", session.to_dict())
        if not self._keep(conversation_of(session.session_id), kept):
            raise SessionException(f"Session {session.session_id} already exists")
        return session

    def read_session(self, session_id: str, **kwargs: Any) -> Session | None:
        found = self._newest(conversation_of(session_id), SESSION)
        return None if found is None else Session.from_dict(found)

    def delete_session(self, session_id: str, **kwargs: Any) -> None:
        """Clears the session and its agents: the id is free; the log still tells what they were."""
        own = conversation_of(session_id)
        under = (one.conversation_id for one in self.store.conversations(after=f"{own}/"))
        agents = takewhile(lambda conversation: conversation.startswith(f"{own}/"), under)
        for conversation in [own, *agents]:
            self.store.clear(conversation)

    def create_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: Any) -> None:
        self._keep(
            conversation_of(session_id, session_agent.agent_id), Record(AGENT, None, session_agent.to_dict())
        )

    def read_agent(self, session_id: str, agent_id: str, **kwargs: Any) -> SessionAgent | None:
        found = self._newest(conversation_of(session_id, agent_id), AGENT)
        return None if found is None else SessionAgent.from_dict(found)

    def update_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: Any) -> None:
        before = self.read_agent(session_id, session_agent.agent_id)
        if before is None:
            raise SessionException(f"Agent {session_agent.agent_id} in session {session_id} does not exist")
        session_agent.created_at = before.created_at
        self.create_agent(session_id, session_agent)

    def create_message(
        self, session_id: str, agent_id: str, session_message: SessionMessage, **kwargs: Any
    ) -> None:
        """Appends the message, in one transaction; the same one again, nothing.

        Its number is the next that is free where another worker took the one that it has; a call whose id was
        used before gets one of its own. Both are changed in what is given, which Strands goes on with.
        """
        conversation = conversation_of(session_id, agent_id)
        while True:
            version = self._version(conversation)
            kept = self._records(conversation, MESSAGE)
            taken = {record.key: record for record in kept}
            if same(taken.get(str(session_message.message_id)), session_message):
                return
            while str(session_message.message_id) in taken:
                session_message.message_id += 1
            with_own_ids(session_message, (call for record in kept for call in calls_in(record.value)))
            try:
                self._append(conversation, session_message, version)
            except VersionConflict:
                continue
            return

    def read_message(
        self, session_id: str, agent_id: str, message_id: int, **kwargs: Any
    ) -> SessionMessage | None:
        """The message as it was given, or as it was last updated."""
        found = [m for m in self._messages(session_id, agent_id) if m.message_id == message_id]
        return found[0] if found else None

    def update_message(
        self, session_id: str, agent_id: str, session_message: SessionMessage, **kwargs: Any
    ) -> None:
        """Takes the message back and, if it is the newest, puts what it is now in its place.

        The log keeps what it was: to redact is not to erase.
        """
        conversation, number = conversation_of(session_id, agent_id), session_message.message_id
        before = self.read_message(session_id, agent_id, number)
        if before is None:
            raise SessionException(f"Message {number} does not exist")
        session_message.created_at = before.created_at
        self._keep(conversation, Record(REDACTED, None, session_message.to_dict()))
        entries = self.store.entries(conversation)
        own = [entry for entry in entries if entry.turn_id == str(number)]
        is_newest = bool(own) and own[-1] is entries[-1]
        for entry in reversed(own):
            self.store.retract(conversation, entry.number, turn_id=entry.turn_id)
        if is_newest:
            self.store.append(
                conversation, as_entries(session_message.to_message()), turn_id=str(number), reused_ids="drop"
            )

    def list_messages(
        self, session_id: str, agent_id: str, limit: int | None = None, offset: int = 0, **kwargs: Any
    ) -> list[SessionMessage]:
        """The messages from `offset` on, each result right behind its call, and no call without one."""
        end = None if limit is None else offset + limit
        return repaired(self._messages(session_id, agent_id)[offset:end])

    def create_multi_agent(self, session_id: str, multi_agent: Any, **kwargs: Any) -> None:
        value = {"id": multi_agent.id, "state": multi_agent.serialize_state()}
        self._keep(conversation_of(session_id), Record(MULTI_AGENT, None, value))

    def read_multi_agent(self, session_id: str, multi_agent_id: str, **kwargs: Any) -> dict[str, Any] | None:
        kept = self._records(conversation_of(session_id), MULTI_AGENT)
        found = [record.value["state"] for record in kept if record.value["id"] == multi_agent_id]
        return found[-1] if found else None

    def update_multi_agent(self, session_id: str, multi_agent: Any, **kwargs: Any) -> None:
        if self.read_multi_agent(session_id, multi_agent.id) is None:
            raise SessionException(f"MultiAgent {multi_agent.id} in session {session_id} does not exist")
        self.create_multi_agent(session_id, multi_agent)

    def _messages(self, session_id: str, agent_id: str) -> list[SessionMessage]:
        conversation = conversation_of(session_id, agent_id)
        found = {r.value["message_id"]: r.value for r in self._records(conversation, MESSAGE)}
        found |= {r.value["message_id"]: r.value for r in self._records(conversation, REDACTED)}
        return [SessionMessage.from_dict(found[number]) for number in sorted(found)]

    def _append(self, conversation: str, message: SessionMessage, version: int) -> None:
        number = str(message.message_id)
        entries = as_entries(message.to_message())
        keyed: Any = {
            "turn_id": number,
            "records": [Record(MESSAGE, number, message.to_dict())],
            "expected_records": version,
        }
        if entries and entries[-1]["role"] == "assistant" and not entries[-1].get("tool_calls"):
            self.store.write_back(conversation, EXECUTION, entries, **keyed)
        else:
            self.store.append(conversation, entries, execution_id=EXECUTION, **keyed)

    def _version(self, conversation: str) -> int:
        try:
            return self.store.version(conversation)
        except ConversationNotFound:
            return 0

    def _keep(self, conversation: str, record: Record) -> int:
        return self.store.append(conversation, [], records=[record]).records

    def _records(self, conversation: str, kind: str) -> list[KeptRecord]:
        try:
            return self.store.records(conversation, kind)
        except ConversationNotFound:
            return []

    def _newest(self, conversation: str, kind: str) -> Mapping[str, Any] | None:
        found = self._records(conversation, kind)
        return found[-1].value if found else None
