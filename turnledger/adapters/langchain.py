"""A chat message history of LangChain: `BaseChatMessageHistory`, over a store (extra `langchain`).

    chain = RunnableWithMessageHistory(model, lambda session_id: TurnledgerHistory(session_id, store))

Messages come back as they were given (ids, `additional_kwargs`, metadata, artifacts) in a list that a
provider takes: a call that nothing answered has a placeholder, a late `ToolMessage` takes its place, and one
that comes a second time is not kept twice. What is cleared is an event; every earlier state can still be
read. For agents of LangGraph there is `turnledger.adapters.langgraph`, which records each step before the
next.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from turnledger.adapters.extras import extra
from turnledger.adapters.langgraph_messages import HEALED, MADE, as_messages, entry_of, ids_of, repaired
from turnledger.domain.calls import ReusedIds
from turnledger.domain.errors import ConversationNotFound, InvalidArgument
from turnledger.domain.identifiers import checked_id
from turnledger.projections.buffer import Entry
from turnledger.store import ConversationStore

with extra("langchain"):
    from langchain_core.chat_history import BaseChatMessageHistory
    from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage, convert_to_messages


class TurnledgerHistory(BaseChatMessageHistory):  # type: ignore[misc]
    """One conversation as a history: `session_id` is its id in the store.

    `store` is a `ConversationStore`, or a place to open one at, which `close` closes again. The awaited
    methods are the base's: they call these in a thread.
    """

    def __init__(
        self, session_id: str, store: ConversationStore | str | bytes | os.PathLike[str] = ":memory:"
    ) -> None:
        super().__init__()
        self.session_id = checked_id("session_id", session_id)
        self._is_own = not isinstance(store, ConversationStore)
        self.store = store if isinstance(store, ConversationStore) else ConversationStore(store)

    def close(self) -> None:
        """Closes the store, if it was opened here."""
        if self._is_own:
            self.store.close()

    @property
    def messages(self) -> list[BaseMessage]:
        """The messages, healed."""
        return repaired(as_messages(self._entries()), {})

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Appends messages, all or none; one whose id is there already, and what was only made for a reading,
        is left out. What LangChain reads as a message (a text, a pair, a map) is one. Raises
        `InvalidArgument` for what is none and for a `RemoveMessage`, and what `append` raises."""
        messages = _as_messages(messages)
        if any(isinstance(message, RemoveMessage) for message in messages):
            raise InvalidArgument("a history takes no RemoveMessage: retract the entry, or clear the history")
        known = ids_of(self._entries()) if any(message.id for message in messages) else set()
        given = [message for message in messages if message.id is None or message.id not in known]
        made = (HEALED, MADE)
        given = [one for one in given if not (one.id or "").startswith(made)]
        turns = [one for one in given if isinstance(one, AIMessage) and one.tool_calls]
        # a turn under an id that is not known was not sent before, whatever its calls are
        mode: ReusedIds = "distinct" if turns and all(turn.id for turn in turns) else "compare"
        if given:
            self.store.append(self.session_id, map(entry_of, given), reused_ids=mode)

    def clear(self) -> None:
        """Begins the history anew; what is held for its runs stays held."""
        try:
            self.store.clear(self.session_id)
        except ConversationNotFound:
            return

    def _entries(self) -> list[Entry]:
        try:
            return self.store.entries(self.session_id)
        except ConversationNotFound:
            return []


def _as_messages(given: Any) -> list[BaseMessage]:
    """What was given, as LangChain reads it."""
    if isinstance(given, str | bytes | Mapping | BaseMessage):
        raise InvalidArgument(f"a history takes a list of messages, not a {type(given).__name__}")
    try:
        return list(convert_to_messages(list(given)))
    except (TypeError, ValueError, KeyError, NotImplementedError) as error:
        raise InvalidArgument(f"a history takes messages only: {error}") from error
