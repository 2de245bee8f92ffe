"""Strands Agents on the log: the repository of a session manager (extra `strands`).

`TurnledgerRepository` keeps each agent of a session as one conversation: its messages as Strands has them, as
records, and in the same transaction the messages that they are. What an agent is restored with is whole: a
result stands right behind its call, the real one rather than one that Strands put in its place, also one that
the core is given, and an id that the model used again is one of its own. Two workers never write over each
other's messages. Artifacts that a tool holds under the execution `EXECUTION` are delivered with the next
answer.

    manager = RepositorySessionManager("t1", TurnledgerRepository("chats.db"))
    agent = Agent(model=model, session_manager=manager)
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from itertools import takewhile
from typing import Any

from turnledger.adapters.extras import extra
from turnledger.adapters.folds import Folds
from turnledger.adapters.naming import path_of
from turnledger.adapters.strands_messages import (
    answers_of,
    as_entries,
    made,
    result_of,
    results_in,
    session_message,
    with_answers,
    with_own_ids,
    with_results,
)
from turnledger.adapters.strands_story import (
    AGENT,
    MESSAGE,
    MULTI_AGENT,
    REDACTED,
    SESSION,
    Place,
    Shape,
    Story,
)
from turnledger.domain.errors import (
    ConversationNotFound,
    EntryNotFound,
    StoreUnwritable,
    VersionConflict,
)
from turnledger.domain.records import Record
from turnledger.store import ConversationStore

with extra("strands"):
    from strands.session.session_repository import SessionRepository
    from strands.types.exceptions import SessionException
    from strands.types.session import Session, SessionAgent, SessionMessage, encode_bytes_values

PREFIX = "strands"
EXECUTION = "strands"
Store = ConversationStore | str | os.PathLike[str]


def conversation_of(session_id: str, agent_id: str | None = None) -> str:
    """The id of the conversation of an agent in a session, or of the session's own records."""
    return path_of(PREFIX, *(name for name in (session_id, agent_id) if name is not None))


class TurnledgerRepository(SessionRepository):  # type: ignore[misc]
    """Sessions of Strands in a store: a path or URL, or a `ConversationStore` that is shared."""

    def __init__(self, store: Store) -> None:
        self.store = store if isinstance(store, ConversationStore) else ConversationStore(store)
        self._stories = Folds(Story)

    def create_session(self, session: Session, **kwargs: Any) -> Session:
        """Raises Strands' `SessionException` where there is one of that id."""
        kept = Record(SESSION, "session", session.to_dict())
        if not self._keep(conversation_of(session.session_id), kept):
            raise SessionException(f"Session {session.session_id} already exists")
        return session

    def read_session(self, session_id: str, **kwargs: Any) -> Session | None:
        found = self._story(conversation_of(session_id)).session
        return None if found is None else Session.from_dict(found)

    def delete_session(self, session_id: str, **kwargs: Any) -> None:
        """Clears the agents and then the session: its id is free; the log still tells what they were.

        Raises Strands' `SessionException` where there is none.
        """
        own = conversation_of(session_id)
        if self._story(own).session is None:
            raise SessionException(f"Session {session_id} does not exist")
        unnamed = f"{own}/"
        under = (one.conversation_id for one in self.store.conversations(after=unnamed))
        agents = takewhile(lambda conversation: conversation.startswith(unnamed), under)
        for conversation in [unnamed, *agents, own]:
            with suppress(ConversationNotFound):
                self.store.clear(conversation)

    def create_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: Any) -> None:
        self._keep(
            conversation_of(session_id, session_agent.agent_id), Record(AGENT, None, session_agent.to_dict())
        )

    def read_agent(self, session_id: str, agent_id: str, **kwargs: Any) -> SessionAgent | None:
        found = self._story(conversation_of(session_id, agent_id)).agent
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
        used before gets one of its own; a stand-in says what the core was given meanwhile. All are changed in
        what is given, which Strands goes on with.
        """
        conversation = conversation_of(session_id, agent_id)
        while True:
            story = self._story(conversation)
            answered = {result["toolUseId"] for result in results_in(session_message.message)}
            results = self._answered(conversation, story, answered)
            with_results(session_message.message, results)
            if self._is_there(conversation, story, session_message, results):
                return
            while session_message.message_id in story.shapes:
                session_message.message_id += 1
            with_own_ids(session_message, story.declared)
            with suppress(VersionConflict):
                self._append(conversation, session_message, story.version)
                return

    def read_message(
        self, session_id: str, agent_id: str, message_id: int, **kwargs: Any
    ) -> SessionMessage | None:
        """The message as it was given, or as it was last updated."""
        conversation = conversation_of(session_id, agent_id)
        shape = self._story(conversation).shapes.get(message_id)
        return None if shape is None else self._given(conversation, [shape])[message_id]

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
        self._story(conversation)

    def list_messages(
        self, session_id: str, agent_id: str, limit: int | None = None, offset: int = 0, **kwargs: Any
    ) -> list[SessionMessage]:
        """The messages from `offset` on, each result right behind its call, and no call without one."""
        conversation = conversation_of(session_id, agent_id)
        story = self._story(conversation)
        places = story.repaired()[offset : None if limit is None else offset + limit]
        answering = story.answering(places)
        given = self._given(conversation, [*(story.shapes[p.number] for p in places), *answering.values()])
        results = {
            call_id: next(r for r in results_in(given[s.number].to_message()) if r["toolUseId"] == call_id)
            for call_id, s in answering.items()
        }
        asked = {call_id for place in places for call_id in place.answers}
        results |= self._answered(conversation, story, asked)
        return [_restored(place, given, results) for place in places]

    def create_multi_agent(self, session_id: str, multi_agent: Any, **kwargs: Any) -> None:
        value = {"id": multi_agent.id, "state": multi_agent.serialize_state()}
        self._keep(conversation_of(session_id), Record(MULTI_AGENT, None, value))

    def read_multi_agent(self, session_id: str, multi_agent_id: str, **kwargs: Any) -> dict[str, Any] | None:
        return deepcopy(self._story(conversation_of(session_id)).agents.get(multi_agent_id))

    def update_multi_agent(self, session_id: str, multi_agent: Any, **kwargs: Any) -> None:
        if self.read_multi_agent(session_id, multi_agent.id) is None:
            raise SessionException(f"MultiAgent {multi_agent.id} in session {session_id} does not exist")
        self.create_multi_agent(session_id, multi_agent)

    def _story(self, conversation: str) -> Story:
        """The conversation as the log has it now, with all done that follows a redaction."""
        story = self._stories.of(conversation)
        try:
            found = list(self.store.events(conversation, after=story.version))
        except ConversationNotFound:
            return story
        story = self._stories.read_on(conversation, story, found)
        with suppress(StoreUnwritable):
            while story.redacted:
                number, version = story.redacted[0]
                self._redact(conversation, story.shapes[number], version)
                story.redacted[:] = [one for one in story.redacted if one != (number, version)]
        return story

    def _redact(self, conversation: str, shape: Shape, version: int) -> None:
        """What the message said before that version leaves the buffer, the newest first; not what was healed
        for its sake."""
        entries = self.store.entries(conversation)
        turn_id = str(shape.number)
        said_before = (e for e in entries if e.turn_id == turn_id and e.version < version)
        own = [entry for entry in said_before if not entry.metadata.get("healed")]
        is_newest = bool(own) and own[-1] is entries[-1]
        instead: list[dict[str, Any]] = []
        if is_newest:
            instead = as_entries(self._given(conversation, [shape])[shape.number].to_message())
        for entry in reversed(own):
            said = instead if entry is own[0] else []
            with suppress(EntryNotFound):
                self.store.retract(conversation, entry.number, instead=said, turn_id=turn_id)

    def _given(self, conversation: str, shapes: Iterable[Shape]) -> dict[int, SessionMessage]:
        """Messages by their number, whole."""
        asked = {shape.version: shape.number for shape in shapes}
        found = self._at(conversation, asked)
        return {asked[event.version]: session_message(event.record) for event in found}

    def _answered(self, conversation: str, story: Story, calls: Collection[str]) -> dict[str, Any]:
        """Of those calls that the core was given a result of it."""
        asked = [story.answers.versions[call_id] for call_id in story.answers.given.intersection(calls)]
        found = map(result_of, self._at(conversation, asked))
        return {result["toolUseId"]: result for result in found}

    def _at(self, conversation: str, versions: Collection[int]) -> Iterator[Any]:
        """The events of these versions."""
        if versions:
            found = self.store.events(conversation, after=min(versions) - 1, to=max(versions))
            yield from (event for event in found if event.version in versions)

    def _is_there(
        self, conversation: str, story: Story, message: SessionMessage, results: Mapping[str, Any]
    ) -> bool:
        """Whether this very message is kept under its number, but for stand-ins that have results now."""
        shape = story.shapes.get(message.message_id)
        if shape is None:
            return False
        there = self._given(conversation, [shape])[message.message_id]
        with_results(there.message, results)
        return bool(encode_bytes_values(there.message) == encode_bytes_values(message.message))

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

    def _keep(self, conversation: str, record: Record) -> int:
        return self.store.append(conversation, [], records=[record]).records


def _restored(
    place: Place, given: Mapping[int, SessionMessage], results: Mapping[str, Any]
) -> SessionMessage:
    answers = answers_of(place.answers, results)
    return made(answers, place.number) if place.is_made else with_answers(given[place.number], answers)
