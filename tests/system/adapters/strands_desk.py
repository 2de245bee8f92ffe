"""A desk run by an agent of Strands, with a model that says what it was told to say, and its scenes.

python -m tests.system.adapters.strands_desk SCENE WHOSE FOLDER
"""

import asyncio
import copy
import os
import signal
from collections.abc import AsyncIterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from strands import Agent, tool
from strands.hooks import BeforeToolCallEvent
from strands.models.model import Model
from strands.session.file_session_manager import FileSessionManager
from strands.session.repository_session_manager import RepositorySessionManager

from tests.judges import bedrock_converse
from tests.system.adapters import staging
from tests.system.adapters.staging import OURS, cancelled_at, in_child, named
from turnledger import ConversationStore
from turnledger.adapters.strands import EXECUTION, TurnledgerRepository, conversation_of

SESSION, AGENT = "session-1", "agent-1"
CID = conversation_of(SESSION, AGENT)
LINK = {"type": "link", "payload": {"url": "https://example.com/label"}}


class Told(Model):  # type: ignore[misc]
    """A model that gives one turn after another, and remembers what it was sent."""

    def __init__(self, turns: Sequence[list[Any]]) -> None:
        self.turns, self.sent = list(turns), list[Any]()

    def update_config(self, **config: Any) -> None: ...

    def get_config(self) -> Any:
        return {}

    def structured_output(self, *args: Any, **more: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, *args: Any, **more: Any) -> AsyncIterator[Any]:
        self.sent.append(copy.deepcopy(messages))
        turn = self.turns.pop(0)
        yield {"messageStart": {"role": "assistant"}}
        for block in turn:
            start = {"toolUse": block["toolUse"]} if "toolUse" in block else {}
            yield {"contentBlockStart": {"start": start}}
            delta = {"toolUse": {"input": "{}"}} if start else {"text": block["text"]}
            yield {"contentBlockDelta": {"delta": delta}}
            yield {"contentBlockStop": {}}
        reason = "tool_use" if any("toolUse" in block for block in turn) else "end_turn"
        yield {"messageStop": {"stopReason": reason}}


def says(text: str) -> list[Any]:
    return [{"text": text}]


def calls(*names: str, ids: Sequence[str] = ()) -> list[Any]:
    given = ids or [f"c-{name}" for name in names]
    return [{"toolUse": {"name": name, "toolUseId": i}} for i, name in zip(given, names, strict=True)]


def result(name: str, text: str) -> list[Any]:
    return [{"toolResult": {"toolUseId": f"c-{name}", "status": "success", "content": [{"text": text}]}}]


@tool  # type: ignore[untyped-decorator]
async def track() -> str:
    """Where a parcel is."""
    return "depot"


@tool  # type: ignore[untyped-decorator]
async def die() -> str:
    """The process dies here."""
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


@tool  # type: ignore[untyped-decorator]
async def wait() -> str:
    """Never returns."""
    await asyncio.Event().wait()
    return ""


@tool  # type: ignore[untyped-decorator]
async def refund() -> str:
    """Pays back."""
    return "9 EUR"


class Gate(staging.Gate):
    @property
    def tool(self) -> Any:
        @tool(name="gate")  # type: ignore[untyped-decorator]
        async def gate() -> str:
            """Waits."""
            await self.passed()
            return "open"

        return gate


class Desk:
    """An agent over a store of ours or Strands' files, as one process has it."""

    def __init__(self, whose: str, folder: Path, *turns: list[Any], tools: Sequence[Any] = ()) -> None:
        self.store = ConversationStore(folder / "desk.db") if whose == OURS else None
        manager: Any = (
            RepositorySessionManager(SESSION, TurnledgerRepository(self.store))
            if self.store is not None
            else FileSessionManager(SESSION, storage_dir=str(folder / "files"))
        )
        self.model = Told(turns)
        self.agent = Agent(
            model=self.model,
            agent_id=AGENT,
            session_manager=manager,
            tools=[track, die, wait, refund, self.label, *tools],
            callback_handler=None,
        )
        self.agent.add_hook(self._asks, BeforeToolCallEvent)

    @property
    def label(self) -> Any:
        @tool(name="label")  # type: ignore[untyped-decorator]
        async def label() -> str:
            """Makes a label, which the client is to have with the answer."""
            if self.store is not None:
                self.store.hold(CID, EXECUTION, [LINK])
            return "made"

        return label

    def _asks(self, event: BeforeToolCallEvent) -> None:
        """A human approves each refund."""
        if event.tool_use["name"] == "refund" and event.interrupt("refund", reason="9 EUR?") != "yes":
            event.cancel_tool = "refused"

    async def __aenter__(self) -> "Desk":
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        if self.store is not None:
            self.store.close()

    async def ask(self, prompt: Any, /) -> Any:
        return await self.agent.invoke_async(prompt)


def shape(messages: Sequence[Any]) -> str:
    """The messages, as the table of outcomes writes them, or why Bedrock refuses them."""
    plain = [{"role": m["role"], "content": m["content"]} for m in messages]
    joined = [
        {"role": role, "content": [block for message in run for block in message["content"]]}
        for role, run in groupby(plain, key=lambda message: message["role"])
    ]
    refused = bedrock_converse.why_not({"messages": joined})
    told: list[str] = []
    names: dict[str, str] = {}
    for message in plain:
        for block in message["content"]:
            if "toolUse" in block:
                names[block["toolUse"]["toolUseId"]] = block["toolUse"]["name"]
                told.append(f"c:{block['toolUse']['name']}")
            elif "toolResult" in block:
                given = block["toolResult"]
                told.append(f"r:{names.get(given['toolUseId'], '?')} {given['content'][0]['text']}")
            else:
                told.append(message["role"][0])
    return staging.told(told, refused)


async def next_request(whose: str, folder: Path) -> str:
    """What the model is sent when the user goes on in another process."""
    async with Desk(whose, folder, says("Yes?")) as desk:
        await desk.ask("Hello?")
        return shape(desk.model.sent[-1])


async def tool_loop(whose: str, folder: Path) -> str:
    async with Desk(
        whose, folder, calls("track"), calls("track", "label", ids=["2", "3"]), says("x")
    ) as desk:
        await desk.ask("Where is my parcel?")
    return await next_request(whose, folder)


async def killed(whose: str, folder: Path) -> str:
    assert in_child("strands_desk", "killed", whose, folder) == -9
    return await next_request(whose, folder)


async def cancelled_run(whose: str, folder: Path) -> None:
    async with Desk(whose, folder, calls("wait")) as desk:

        async def called() -> None:
            while len(desk.agent.messages) < 2:
                await asyncio.sleep(0.01)

        await cancelled_at(desk.ask("Where is my parcel?"), called())


async def cancelled(whose: str, folder: Path) -> str:
    await cancelled_run(whose, folder)
    return await next_request(whose, folder)


async def approval(whose: str, folder: Path) -> str:
    assert in_child("strands_desk", "paused", whose, folder) == 0
    await resumed(whose, folder)
    return await next_request(whose, folder)


async def resumed(whose: str, folder: Path) -> None:
    async with Desk(whose, folder, says("Refunded")) as desk:
        [waiting] = desk.agent._interrupt_state.interrupts.values()
        await desk.ask([{"interruptResponse": {"interruptId": waiting.id, "response": "yes"}}])


async def late_result(whose: str, folder: Path) -> str:
    await cancelled_run(whose, folder)
    await next_request(whose, folder)
    async with Desk(whose, folder, says("There")) as desk:
        await desk.ask(result("wait", "depot"))
    return await next_request(whose, folder)


async def step_sent_again(whose: str, folder: Path) -> str:
    async with Desk(whose, folder, calls("track"), says("There")) as desk:
        await desk.ask("Where is my parcel?")
        manager: Any = desk.agent._session_manager
        repository = manager.session_repository
        for message in repository.list_messages(SESSION, AGENT):
            repository.create_message(SESSION, AGENT, message)
    return await next_request(whose, folder)


async def two_workers(whose: str, folder: Path) -> str:
    gate = Gate()
    async with Desk(whose, folder, calls("gate"), says("Open"), tools=[gate.tool]) as first:
        run = asyncio.create_task(first.ask("Open the gate"))
        await gate.reached.wait()
        async with Desk(whose, folder, calls("track"), says("There")) as second:
            await second.ask("Where is my parcel?")
        gate.opened.set()
        await run
    return await next_request(whose, folder)


async def ids_used_again(whose: str, folder: Path) -> str:
    async with Desk(whose, folder, calls("track"), says("There"), calls("track"), says("Still")) as desk:
        await desk.ask("Where is my parcel?")
        await desk.ask("And now?")
    return await next_request(whose, folder)


SCENES = named(
    tool_loop, killed, cancelled, approval, late_result, step_sent_again, two_workers, ids_used_again
)

if __name__ == "__main__":
    staging.play(Desk, killed=[calls("die")], paused=[calls("label"), calls("refund")])
