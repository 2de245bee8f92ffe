"""A desk run by LlamaIndex's own FunctionAgent and Memory, with its mock of a model; and a loop of one's own.

python -m tests.system.adapters.llama_index_desk WHOSE FOLDER    plays a loop that is killed in a tool
"""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import Memory
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore
from workflows.errors import WorkflowCancelledByUser

from tests.judges import openai_chat
from tests.system.adapters import staging
from tests.system.adapters.staging import OURS, in_child, named
from turnledger.adapters.llama_index import TurnledgerChatStore

SESSION = "session-1"


def says(text: str, role: str = "assistant") -> ChatMessage:
    return ChatMessage(role=role, content=text)


def calls(name: str, call_id: str | None = None, **arguments: Any) -> ChatMessage:
    block = ToolCallBlock(tool_call_id=call_id or f"c-{name}", tool_name=name, tool_kwargs=arguments)
    return ChatMessage(role="assistant", blocks=[block])


def result(name: str, text: str) -> ChatMessage:
    return ChatMessage(role="tool", content=text, additional_kwargs={"tool_call_id": f"c-{name}"})


async def track(parcel: int = 1) -> str:
    """Where a parcel is."""
    return "depot"


async def wait() -> str:
    """Never returns."""
    await asyncio.Event().wait()
    return ""


class Desk:
    """An agent and its memory, over a store of ours or LlamaIndex's SQL, as one process has them."""

    def __init__(self, whose: str, folder: Path, *turns: ChatMessage, tools: Sequence[Any] = ()) -> None:
        self.turns, self.sent = list(turns), list[list[ChatMessage]]()
        path = folder / "desk.db"
        self.chats: Any = (
            TurnledgerChatStore(path)
            if whose == OURS
            else SQLAlchemyChatStore("chats", f"sqlite+aiosqlite:///{folder / 'peer.db'}")
        )
        self.memory = Memory.from_defaults(session_id=SESSION, chat_store=self.chats)
        self.agent = FunctionAgent(
            tools=[track, wait, *tools],
            llm=MockFunctionCallingLLM(response_generator=self._answer),
            streaming=False,
        )

    def _answer(self, messages: Sequence[ChatMessage], **more: Any) -> ChatMessage:
        self.sent.append(list(messages))
        return self.turns.pop(0)

    async def __aenter__(self) -> "Desk":
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        if isinstance(self.chats, TurnledgerChatStore):
            await self.chats.store.close()
        elif self.chats._async_engine is not None:
            await self.chats._async_engine.dispose()

    async def ask(self, text: str) -> Any:
        return await self.agent.run(text, memory=self.memory)

    async def put(self, *messages: ChatMessage) -> None:
        """What a loop of one's own does: each message into the memory as it comes."""
        for message in messages:
            await self.memory.aput(message)


def as_chat(messages: Sequence[ChatMessage]) -> list[dict[str, Any]]:
    """The messages as a chat client of OpenAI's sends them."""
    found: list[dict[str, Any]] = []
    for message in messages:
        made: dict[str, Any] = {"role": message.role.value, "content": message.content or ""}
        if made["role"] == "tool":
            made["tool_call_id"] = message.additional_kwargs["tool_call_id"]
        declared = [block for block in message.blocks if isinstance(block, ToolCallBlock)]
        if declared:
            made["tool_calls"] = [
                {
                    "id": call.tool_call_id,
                    "type": "function",
                    "function": {"name": call.tool_name, "arguments": "{}"},
                }
                for call in declared
            ]
        found.append(made)
    return found


def shape(messages: Sequence[ChatMessage]) -> str:
    """The messages, as the table of outcomes writes them, or why OpenAI refuses them."""
    chat = as_chat(messages)
    return staging.told(staging.shape(chat), openai_chat.why_not({"messages": chat}))


async def next_request(desk: Desk) -> str:
    """What the model is sent when the user goes on."""
    desk.turns[:] = [says("Yes?")]
    await desk.ask("Hello?")
    return shape(desk.sent[-1])


async def tool_loop(whose: str, folder: Path) -> str:
    async with Desk(whose, folder, calls("track"), calls("track", "c-2"), says("There")) as desk:
        await desk.ask("Where is my parcel?")
        return await next_request(desk)


async def cancelled(whose: str, folder: Path) -> str:
    async with Desk(whose, folder, calls("wait")) as desk:
        handler = desk.agent.run("Where is my parcel?", memory=desk.memory)
        while not desk.sent:
            await asyncio.sleep(0.01)
        await handler.cancel_run()
        with suppress(WorkflowCancelledByUser):
            await handler
        return await next_request(desk)


async def killed(whose: str, folder: Path) -> str:
    assert in_child("llama_index_desk", whose, folder) == -9
    async with Desk(whose, folder) as desk:
        return await next_request(desk)


async def late_result(whose: str, folder: Path) -> str:
    async with Desk(whose, folder, says("One moment")) as desk:
        await desk.put(says("Where is my parcel?", "user"), calls("track"))
        await desk.ask("Are you there?")
        await desk.put(result("track", "depot"))
        return await next_request(desk)


async def step_sent_again(whose: str, folder: Path) -> str:
    async with Desk(whose, folder) as desk:
        await desk.put(says("Where is my parcel?", "user"))
        await desk.put(*[calls("track"), result("track", "depot")] * 2)
        await desk.put(says("There"))
        return await next_request(desk)


async def two_workers(whose: str, folder: Path) -> str:
    async with Desk(whose, folder) as first, Desk(whose, folder) as second:
        await first.put(says("Where is my parcel?", "user"), calls("track"))
        await second.put(says("And mine?", "user"))
        await first.put(result("track", "depot"), says("There"))
        return await next_request(second)


async def ids_used_again(whose: str, folder: Path) -> str:
    other = calls("track", parcel=2)
    async with Desk(whose, folder, calls("track"), says("There"), other, says("Still")) as desk:
        await desk.ask("Where is my parcel?")
        await desk.ask("And the other?")
        return await next_request(desk)


SCENES = named(tool_loop, killed, cancelled, late_result, step_sent_again, two_workers, ids_used_again)


async def die(whose: str, folder: Path) -> None:
    async with Desk(whose, folder) as desk:
        await desk.put(says("Where is my parcel?", "user"), calls("track"))
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(die(sys.argv[1], Path(sys.argv[2])))
