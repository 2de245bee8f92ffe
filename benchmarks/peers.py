"""Other projects' stores of conversations, each used as its documentation says, where it is installed.

Each keeps its own defaults (all: `synchronous=FULL`); none is asked for more than it promises.
"""

import asyncio
import importlib
import sqlite3
import time
import warnings
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, ClassVar
from uuid import NAMESPACE_URL, UUID, uuid5

from eventsourcing.application import AggregateNotFoundError, Application

from benchmarks.contenders import Contender, Durability
from benchmarks.messages import Message
from benchmarks.stock import StockConversation

_loops: list[asyncio.Runner] = []


def awaited(work: Coroutine[Any, Any, Any]) -> Any:
    """Runs a coroutine in the one event loop of this process."""
    if not _loops:
        _loops.append(asyncio.Runner())
    return _loops[0].run(work)


class Peer(Contender):
    """A contender that may be missing."""

    modules: ClassVar[tuple[str, ...]]
    longest: ClassVar[int] = 1_000_000  # the longest conversation that it can be tried on

    @classmethod
    def ready(cls) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for module in cls.modules:
                importlib.import_module(module)

    @classmethod
    def missing(cls) -> str | None:
        """Why it cannot be measured; None where it can."""
        try:
            cls.ready()
        except ImportError as error:
            return str(error)
        return None


class AsyncPeer(Peer):
    """One whose calls are awaited: a round runs as one coroutine, so that no loop starts or stops in it."""

    @classmethod
    def ready(cls) -> None:
        super().ready()
        awaited(asyncio.to_thread(int))

    async def aappend(self, conversation: str, messages: Sequence[Message]) -> None:
        raise NotImplementedError

    async def aread(self, conversation: str) -> list[Any]:
        raise NotImplementedError

    def append(self, conversation: str, messages: Sequence[Message]) -> None:
        awaited(self.aappend(conversation, messages))

    def read(self, conversation: str) -> list[Any]:
        found: list[Any] = awaited(self.aread(conversation))
        return found

    def steps(self, conversation: str, messages: Sequence[Message]) -> float:
        async def round_() -> float:
            begun = time.perf_counter()
            for message in messages:
                await self.aappend(conversation, (message,))
                await self.aread(conversation)
            return time.perf_counter() - begun

        took: float = awaited(round_())
        return took


class AgentsSession(AsyncPeer):
    """OpenAI Agents SDK: `SQLiteSession`, one object a conversation."""

    name = "openai-agents"
    modules = ("agents.memory",)

    def __init__(self, path: Path, durability: Durability = "full") -> None:
        self.path = path
        self._sessions: dict[str, Any] = {}

    def _session(self, conversation: str) -> Any:
        from agents.memory import SQLiteSession

        if conversation not in self._sessions:
            self._sessions[conversation] = SQLiteSession(conversation, self.path)
        return self._sessions[conversation]

    async def aappend(self, conversation: str, messages: Sequence[Message]) -> None:
        await self._session(conversation).add_items(list(messages))

    async def aread(self, conversation: str) -> list[Any]:
        items: list[Any] = await self._session(conversation).get_items()
        return items

    def close(self) -> None:
        for session in self._sessions.values():
            session.close()


def langchain_message(message: Message) -> Any:
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

    if message["role"] == "tool":
        return ToolMessage(message["content"], tool_call_id=message["tool_call_id"])
    if message["role"] == "user":
        return HumanMessage(message["content"])
    calls = [
        {"id": call["tool_call_id"], "name": call["name"], "args": call["arguments"]}
        for call in message.get("tool_calls", ())
    ]
    return AIMessage(message["content"], tool_calls=calls)


class LangGraph(Peer):
    """LangGraph: `SqliteSaver` under a graph of one node that adds nothing; `invoke` appends and reads."""

    name = "langgraph"
    modules = ("langgraph.graph", "langgraph.checkpoint.sqlite")

    def __init__(self, path: Path, durability: Durability = "full") -> None:
        from langgraph.checkpoint.sqlite import SqliteSaver
        from langgraph.graph import START, MessagesState, StateGraph

        self.connection = sqlite3.connect(path, check_same_thread=False)
        graph = StateGraph(MessagesState)
        graph.add_node("agent", lambda state: {"messages": []})
        graph.add_edge(START, "agent")
        self.graph: Any = graph.compile(checkpointer=SqliteSaver(self.connection))

    def _invoke(self, conversation: str, messages: Sequence[Message]) -> list[Any]:
        config = {"configurable": {"thread_id": conversation}}
        given = {"messages": [langchain_message(message) for message in messages]}
        found: list[Any] = self.graph.invoke(given, config)["messages"]
        return found

    def append(self, conversation: str, messages: Sequence[Message]) -> None:
        self._invoke(conversation, messages)

    def read(self, conversation: str) -> list[Any]:
        config = {"configurable": {"thread_id": conversation}}
        found: list[Any] = self.graph.get_state(config).values["messages"]
        return found

    def steps(self, conversation: str, messages: Sequence[Message]) -> float:
        begun = time.perf_counter()
        for message in messages:
            self._invoke(conversation, (message,))
        return time.perf_counter() - begun

    def close(self) -> None:
        self.connection.close()


class LangChain(Peer):
    """LangChain: `SQLChatMessageHistory`, one object a conversation, on one engine."""

    name = "langchain"
    modules = ("langchain_community.chat_message_histories.sql",)

    def __init__(self, path: Path, durability: Durability = "full") -> None:
        from sqlalchemy import create_engine

        self.engine = create_engine(f"sqlite:///{path}")
        self._histories: dict[str, Any] = {}

    def _history(self, conversation: str) -> Any:
        from langchain_community.chat_message_histories.sql import SQLChatMessageHistory

        if conversation not in self._histories:
            self._histories[conversation] = SQLChatMessageHistory(conversation, connection=self.engine)
        return self._histories[conversation]

    def append(self, conversation: str, messages: Sequence[Message]) -> None:
        self._history(conversation).add_messages([langchain_message(message) for message in messages])

    def read(self, conversation: str) -> list[Any]:
        found: list[Any] = self._history(conversation).messages
        return found

    def close(self) -> None:
        self.engine.dispose()


class GoogleAdk(AsyncPeer):
    """Google ADK: `DatabaseSessionService`; a step appends an event to the session and gets it again."""

    name = "google-adk"
    longest = 1_000  # it takes one event a call: to fill more takes minutes
    modules = ("google.adk.sessions", "google.adk.events.event", "aiosqlite", "greenlet")

    def __init__(self, path: Path, durability: Durability = "full") -> None:
        from google.adk.sessions import DatabaseSessionService

        self.service: Any = DatabaseSessionService(db_url=f"sqlite+aiosqlite:///{path}")
        self._sessions: dict[str, Any] = {}

    @staticmethod
    def _names(conversation: str) -> dict[str, str]:
        return {"app_name": "bench", "user_id": "someone", "session_id": conversation}

    async def _session(self, conversation: str) -> Any:
        if conversation not in self._sessions:
            session = await self.service.get_session(**self._names(conversation))
            if session is None:
                session = await self.service.create_session(**self._names(conversation))
            self._sessions[conversation] = session
        return self._sessions[conversation]

    async def aappend(self, conversation: str, messages: Sequence[Message]) -> None:
        session = await self._session(conversation)
        for message in messages:
            await self.service.append_event(session, _adk_event(message))

    async def aread(self, conversation: str) -> list[Any]:
        session = await self.service.get_session(**self._names(conversation))
        self._sessions[conversation] = session
        events: list[Any] = session.events
        return events

    def close(self) -> None:
        awaited(self.service.db_engine.dispose())


def _adk_event(message: Message) -> Any:
    from google.adk.events.event import Event
    from google.genai import types

    if message["role"] == "tool":
        response = types.FunctionResponse(
            id=message["tool_call_id"], name="tool", response={"result": message["content"]}
        )
        parts = [types.Part(function_response=response)]
    else:
        parts = [types.Part(text=message["content"])] if message["content"] else []
        for call in message.get("tool_calls", ()):
            asked = types.FunctionCall(id=call["tool_call_id"], name=call["name"], args=call["arguments"])
            parts.append(types.Part(function_call=asked))
    role = "model" if message["role"] == "assistant" else "user"
    return Event(author=role, invocation_id="i", content=types.Content(role=role, parts=parts))


class Eventsourcing(Peer):
    """eventsourcing as it comes: an aggregate that lists messages, its repository, its SQLite recorder."""

    name = "eventsourcing"
    modules = ("eventsourcing.sqlite",)

    def __init__(self, path: Path, durability: Durability = "full") -> None:
        self.application: Any = Application(
            env={"PERSISTENCE_MODULE": "eventsourcing.sqlite", "SQLITE_DBNAME": str(path)}
        )

    @staticmethod
    def _id(conversation: str) -> UUID:
        return uuid5(NAMESPACE_URL, conversation)

    def append(self, conversation: str, messages: Sequence[Message]) -> None:
        try:
            aggregate = self.application.repository.get(self._id(conversation))
        except AggregateNotFoundError:
            aggregate = StockConversation(self._id(conversation))
        for message in messages:
            aggregate.append(message)
        self.application.save(aggregate)

    def read(self, conversation: str) -> list[Any]:
        found: list[Any] = self.application.repository.get(self._id(conversation)).messages
        return found

    def close(self) -> None:
        self.application.close()


ALL: tuple[type[Peer], ...] = (AgentsSession, LangGraph, LangChain, GoogleAdk, Eventsourcing)


def installed(note: Callable[[str], None]) -> list[type[Peer]]:
    """The peers that are there; the others are named to `note`."""
    found = []
    for peer in ALL:
        why = peer.missing()
        if why is None:
            found.append(peer)
        else:
            note(f"{peer.name} is not installed ({why})")
    return found
