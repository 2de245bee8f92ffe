"""The scenes that break a thread, played by LangChain's agent on a store of ours and on checkpoints."""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from langchain_core.messages import AIMessage, ToolMessage

from tests.system.adapters.langgraph_shop import OURS, WITH_BOTH, Gate, Shop, calls, shape, why_not

Scene = Callable[[str, Path], Awaitable[str]]


def in_child(scene: str, whose: str, folder: Path) -> int:
    """The scene in a process of its own; how that ended."""
    module = "tests.system.adapters.langgraph_shop"
    return subprocess.run(
        [sys.executable, "-m", module, scene, whose, str(folder)],
        capture_output=True,
        timeout=120,
        check=False,
    ).returncode


def told(shop: Shop) -> str:
    """The last request, or why OpenAI refuses it."""
    refused = why_not(shop.model.sent[-1])
    return f"refused: {refused}" if refused else " ".join(shape(shop.model.sent[-1]))


async def next_request(shop: Shop) -> str:
    """What the model is sent when the user goes on."""
    shop.model.turns[:] = [AIMessage("Yes?")]
    await shop.ask("Hello?")
    return told(shop)


async def tool_loop(whose: str, folder: Path) -> str:
    async with Shop(whose, folder, calls("track"), calls("track", "label", ids=["2", "3"]), "There") as shop:
        await shop.ask("Where is my parcel?")
        return await next_request(shop)


async def ids_used_again(whose: str, folder: Path) -> str:
    async with Shop(whose, folder, calls("track"), "There", calls("track"), "Still") as shop:
        await shop.ask("Where is my parcel?")
        await shop.ask("And now?")
        return await next_request(shop)


async def killed(whose: str, folder: Path) -> str:
    assert in_child("killed", whose, folder) == -9
    async with Shop(whose, folder) as shop:
        return await next_request(shop)


async def cancelled_run(shop: Shop, gate: Gate) -> None:
    run = asyncio.create_task(shop.ask("Where is my parcel?"))
    await gate.reached.wait()
    run.cancel()
    await asyncio.wait([run])


async def cancelled(whose: str, folder: Path) -> str:
    gate = Gate("wait")
    async with Shop(whose, folder, calls("wait"), tools=[gate.tool]) as shop:
        await cancelled_run(shop, gate)
        return await next_request(shop)


async def approval(whose: str, folder: Path) -> str:
    whose = WITH_BOTH if whose == OURS else whose
    assert in_child("paused", whose, folder) == 0
    async with Shop(whose, folder, "Refunded") as shop:
        await shop.approved()
        return await next_request(shop)


async def late_result(whose: str, folder: Path) -> str:
    gate = Gate("wait")
    async with Shop(whose, folder, calls("wait"), tools=[gate.tool]) as shop:
        await cancelled_run(shop, gate)
        shop.model.turns[:] = [AIMessage("One moment"), AIMessage("There")]
        await shop.ask("Are you there?")
        await shop.ask(ToolMessage("depot", tool_call_id="c-wait"))
        return told(shop)


async def step_sent_again(whose: str, folder: Path) -> str:
    async with Shop(whose, folder, calls("track"), "There") as shop:
        done = await shop.ask("Where is my parcel?")
        result = next(message for message in done["messages"] if message.type == "tool")
        shop.model.turns[:] = [AIMessage("Still there")]
        await shop.ask(ToolMessage(result.content, tool_call_id=result.tool_call_id))
        return await next_request(shop)


async def two_workers(whose: str, folder: Path) -> str:
    gate = Gate()
    async with (
        Shop(whose, folder, calls("gate"), "Open", tools=[gate.tool]) as first,
        Shop(whose, folder, calls("track"), "There") as second,
    ):
        run = asyncio.create_task(first.ask("Open the gate"))
        await gate.reached.wait()
        await second.ask("Where is my parcel?")
        gate.opened.set()
        await run
        return await next_request(first)


SCENES: dict[str, Scene] = {
    "a tool loop of several steps": tool_loop,
    "killed between call and result": killed,
    "cancelled in mid-tool": cancelled,
    "a human approves in another process": approval,
    "a late result": late_result,
    "a step sent again": step_sent_again,
    "two workers on one session": two_workers,
    "the model uses an id again": ids_used_again,
}
