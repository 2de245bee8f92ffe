"""A desk run by LlamaIndex's own agents and Memory, with its mock of a model; and a loop of one's own.

python -m tests.system.adapters.llama_index_desk SCENE WHOSE FOLDER
"""

import asyncio
import json
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ToolCall
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import Memory
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent
from workflows.errors import WorkflowCancelledByUser

from tests.judges import openai_chat
from tests.system.adapters import staging
from tests.system.adapters.staging import OURS, in_child, named
from turnledger.adapters.llama_index import EXECUTION, TurnledgerChatStore, conversation_of
from turnledger.adapters.llama_index_agent import StepwiseAgent

SESSION = "session-1"
LINK = {"type": "link", "payload": {"url": "https://example.com/label"}, "tool_call_id": "c-label"}


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


async def die() -> str:
    """The process dies here."""
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


async def refund(ctx: Context) -> str:
    """Pays back, if a human agrees."""
    answer = await ctx.wait_for_event(
        HumanResponseEvent, waiter_id="refund", waiter_event=InputRequiredEvent(prefix="Refund?")
    )
    return f"9 EUR: {answer.response}"


class Desk:
    """An agent and its memory, over a store of ours or LlamaIndex's SQL, as one process has them."""

    def __init__(
        self,
        whose: str,
        folder: Path,
        *turns: ChatMessage,
        kind: type[FunctionAgent] = FunctionAgent,
        several: bool = False,
    ) -> None:
        self.turns, self.sent = list(turns), list[list[ChatMessage]]()
        self.whose, self.folder = whose, folder
        path = folder / "desk.db"
        self.chats: Any = (
            TurnledgerChatStore(path)
            if whose == OURS
            else SQLAlchemyChatStore("chats", f"sqlite+aiosqlite:///{folder / 'peer.db'}")
        )
        self.memory = Memory.from_defaults(session_id=SESSION, chat_store=self.chats)
        self.agent: Any = kind(
            tools=[track, wait, die, refund, self.label],
            llm=MockFunctionCallingLLM(response_generator=self._answer),
            streaming=False,
        )
        if several:
            self.agent = AgentWorkflow(agents=[self.agent], root_agent=self.agent.name)

    async def label(self) -> str:
        """Makes a label, which the client is to have with the answer."""
        if self.whose == OURS:
            await self.chats.store.hold(conversation_of(SESSION), EXECUTION, [LINK])
        return "made"

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

    async def ask_and_leave(self, text: str) -> None:
        """A run up to where it waits for a human; its context is kept, and the run is over here."""
        handler = self.agent.run(text, memory=self.memory)
        async for event in handler.stream_events():
            if isinstance(event, InputRequiredEvent):
                break
        await self._keep(handler.ctx)
        await handler.cancel_run()
        with suppress(WorkflowCancelledByUser):
            await handler

    async def _keep(self, context: Context) -> None:
        if self.whose == OURS:
            await self.chats.keep_context(SESSION, context)
        else:
            with warnings.catch_warnings(action="ignore"):
                (self.folder / "context.json").write_text(json.dumps(context.to_dict()))

    async def approve(self) -> Any:
        """Goes on with the run that waits, as agreed to."""
        if self.whose == OURS:
            handler = await self.chats.resume(SESSION, self.agent, self.memory)
        else:
            state = json.loads((self.folder / "context.json").read_text())
            handler = self.agent.run(ctx=Context.from_dict(self.agent, state))
            await handler.ctx.store.set("memory", self.memory)
        handler.ctx.send_event(HumanResponseEvent(response="yes"))
        return await handler

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
    return await _cancelled(whose, folder, StepwiseAgent)


async def cancelled_at_once(whose: str, folder: Path) -> str:
    return await _cancelled(whose, folder, FunctionAgent)


async def _cancelled(whose: str, folder: Path, kind: type[FunctionAgent]) -> str:
    async with Desk(whose, folder, calls("wait"), kind=kind) as desk:
        handler = desk.agent.run("Where is my parcel?", memory=desk.memory)
        async for event in handler.stream_events():
            if isinstance(event, ToolCall):
                break
        await handler.cancel_run()
        with suppress(WorkflowCancelledByUser):
            await handler
        return await next_request(desk)


async def killed(whose: str, folder: Path) -> str:
    assert in_child("llama_index_desk", "killed", whose, folder) == -9
    async with Desk(whose, folder) as desk:
        return await next_request(desk)


async def approval(whose: str, folder: Path) -> str:
    assert in_child("llama_index_desk", "paused", whose, folder) == 0
    async with Desk(whose, folder, says("Refunded")) as desk:
        await desk.approve()
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


SCENES = named(
    tool_loop, killed, cancelled, approval, late_result, step_sent_again, two_workers, ids_used_again
) | {"cancelled in mid-tool, FunctionAgent's own": cancelled_at_once}


class Dying(Desk):
    """A desk that dies in mid-tool."""

    def __init__(self, whose: str, folder: Path, *turns: ChatMessage) -> None:
        super().__init__(whose, folder, *turns, kind=StepwiseAgent)


class Pausing(Desk):
    """A desk that waits for a human."""

    async def ask(self, text: str) -> Any:
        await self.ask_and_leave(text)


if __name__ == "__main__":
    staging.play(
        {"killed": Dying}.get(sys.argv[1], Pausing),
        killed=[calls("die")],
        paused=[calls("label"), calls("refund")],
    )
