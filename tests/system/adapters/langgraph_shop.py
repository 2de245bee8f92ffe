"""A shop run by an agent of LangChain's `create_agent`, with a model that says what it was told to say.

python -m tests.system.adapters.langgraph_shop SCENE WHOSE FOLDER
"""

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command

from tests.judges import openai_chat
from tests.system.adapters import staging
from tests.system.adapters.staging import OURS, THEIRS
from turnledger import ConversationStore
from turnledger.adapters.langgraph import TurnledgerMiddleware

WITH_BOTH = "turnledger and a checkpointer"
THREAD = "thread-1"
CONFIG = {"configurable": {"thread_id": THREAD}}
LABEL = {"url": "https://example.com/label"}


class Told(BaseChatModel):  # type: ignore[misc]
    """A model that gives one turn after another, and remembers what it was sent."""

    turns: list[Any]
    sent: list[Any] = []

    @property
    def _llm_type(self) -> str:
        return "told"

    def bind_tools(self, tools: Any, **more: Any) -> "Told":
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **more: Any) -> Any:
        self.sent.append(list(messages))
        return ChatResult(generations=[ChatGeneration(message=self.turns.pop(0))])


def calls(*names: str, ids: Sequence[str] = (), **arguments: Any) -> AIMessage:
    given = ids or [f"c-{name}" for name in names]
    named = zip(given, names, strict=True)
    return AIMessage("", tool_calls=[{"id": i, "name": name, "args": arguments} for i, name in named])


@tool  # type: ignore[untyped-decorator]
async def track(parcel: int = 1) -> str:
    """Where a parcel is."""
    return "depot"


@tool(response_format="content_and_artifact")  # type: ignore[untyped-decorator]
async def label() -> tuple[str, dict[str, str]]:
    """Makes a label."""
    return "made", LABEL


@tool  # type: ignore[untyped-decorator]
async def die() -> str:
    """The process dies here, when what was called with it has ended."""
    await asyncio.sleep(2)
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


@tool  # type: ignore[untyped-decorator]
async def refund() -> str:
    """Pays back."""
    return "9 EUR"


class Gate(staging.Gate):
    def __init__(self, name: str = "gate") -> None:
        super().__init__()
        self._name = name

    @property
    def tool(self) -> Any:
        @tool(self._name)  # type: ignore[untyped-decorator]
        async def gate() -> str:
            """Waits."""
            await self.passed()
            return "open"

        return gate


class Shop:
    """An agent over a store of ours or LangGraph's checkpoints, or both, as one process has it."""

    def __init__(self, whose: str, folder: Path, *turns: Any, tools: Sequence[Any] = ()) -> None:
        self._whose, self._folder, self._tools = whose, folder, tools
        self.model = Told(turns=[AIMessage(t) if isinstance(t, str) else t for t in turns], sent=[])
        self._open = AsyncExitStack()
        self.agent: Any = None

    async def __aenter__(self) -> "Shop":
        middleware: list[Any] = []
        saver = None
        if self._whose != OURS:
            path = str(self._folder / "checkpoints.db")
            saver = await self._open.enter_async_context(AsyncSqliteSaver.from_conn_string(path))
            middleware.append(HumanInTheLoopMiddleware(interrupt_on={"refund": True}))
        if self._whose != THEIRS:
            store = self._open.enter_context(ConversationStore(self._folder / "shop.db"))
            middleware.append(TurnledgerMiddleware(store))
        own = {made.name: made for made in (track, label, die, refund, *self._tools)}
        tools = list(own.values())
        self.agent = create_agent(self.model, tools, middleware=middleware, checkpointer=saver)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._open.aclose()

    async def ask(self, message: str | BaseMessage, /) -> Any:
        given = ("user", message) if isinstance(message, str) else message
        return await self.run({"messages": [given]})

    async def run(self, given: Any) -> Any:
        durable = {} if self._whose == OURS else {"durability": "sync"}
        return await self.agent.ainvoke(given, CONFIG, **durable)

    async def approved(self) -> Any:
        return await self.run(Command(resume={"decisions": [{"type": "approve"}]}))


def as_chat(messages: Sequence[Any]) -> list[dict[str, Any]]:
    """The messages as a chat client of OpenAI's sends them."""
    roles = {"human": "user", "ai": "assistant", "system": "system"}
    found: list[dict[str, Any]] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            one = {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.content}
        else:
            one = {"role": roles[message.type], "content": message.content}
            declared = [
                {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": "{}"}}
                for c in getattr(message, "tool_calls", ())
            ]
            one |= {"tool_calls": declared} if declared else {}
        found.append(one)
    return found


def why_not(messages: Sequence[Any]) -> str | None:
    return openai_chat.why_not({"messages": as_chat(messages)})


def shape(messages: Sequence[Any]) -> list[str]:
    return staging.shape(as_chat(messages))


if __name__ == "__main__":
    staging.play(Shop, killed=[calls("track", "die")], paused=[calls("label"), calls("refund")])
