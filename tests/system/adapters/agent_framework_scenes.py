"""The scenes that break a session, played by agent-framework's own agent on a store of ours and its files."""

import asyncio
from pathlib import Path

from agent_framework import Content, Message

from tests.system.adapters import staging
from tests.system.adapters.agent_framework_desk import Desk, Gate, calls, shape, why_not
from tests.system.adapters.staging import at_the_gate, cancelled_at, in_child, named


def told(desk: Desk) -> str:
    """The last request, or why OpenAI refuses it."""
    return staging.told(shape(desk.model.sent[-1]), why_not(desk.model.sent[-1]))


async def next_request(desk: Desk) -> str:
    """What the model is sent when the user goes on."""
    desk.model.turns[:] = [["Yes?"]]
    await desk.ask("Hello?")
    return told(desk)


async def tool_loop(whose: str, folder: Path) -> str:
    async with Desk(
        whose, folder, calls("track"), calls("track", "label", ids=["c2", "c3"]), ["There"]
    ) as desk:
        await desk.ask("Where is my parcel?")
        return await next_request(desk)


async def ids_used_again(whose: str, folder: Path) -> str:
    other = calls("track", arguments='{"parcel": 2}')
    async with Desk(whose, folder, calls("track"), ["There"], other, ["Still"]) as desk:
        await desk.ask("Where is my parcel?")
        await desk.ask("And now?")
        return await next_request(desk)


async def killed(whose: str, folder: Path) -> str:
    assert in_child("agent_framework_desk", "killed", whose, folder) == -9
    async with Desk(whose, folder) as desk:
        return await next_request(desk)


async def cancelled_run(desk: Desk) -> None:
    async def called() -> None:
        while len(await desk.said()) < 2:
            await asyncio.sleep(0.01)

    await cancelled_at(desk.ask("Where is my parcel?"), called())


async def cancelled(whose: str, folder: Path) -> str:
    async with Desk(whose, folder, calls("wait")) as desk:
        await cancelled_run(desk)
        return await next_request(desk)


async def approval(whose: str, folder: Path) -> str:
    assert in_child("agent_framework_desk", "paused", whose, folder) == 0
    async with Desk(whose, folder, ["Refunded"]) as desk:
        await desk.approved()
        return await next_request(desk)


async def late_result(whose: str, folder: Path) -> str:
    async with Desk(whose, folder, calls("wait")) as desk:
        await cancelled_run(desk)
        desk.model.turns[:] = [["One moment"], ["There"]]
        await desk.ask("Are you there?")
        await desk.ask(Message("tool", [Content.from_function_result("c-wait", result="depot")]))
        return told(desk)


async def step_sent_again(whose: str, folder: Path) -> str:
    async with Desk(whose, folder, calls("track"), ["There"]) as desk:
        await desk.ask("Where is my parcel?")
        said = await desk.said()
        for part in (said[1:2], said[2:3]):  # the call, and its result
            await desk.history.save_messages("session-1", part)
        return await next_request(desk)


async def two_workers(whose: str, folder: Path) -> str:
    gate = Gate()
    async with (
        Desk(whose, folder, calls("gate"), ["Open"], tools=[gate.tool]) as first,
        Desk(whose, folder, calls("track"), ["There"]) as second,
    ):
        await at_the_gate(gate, first, second)
        return await next_request(first)


SCENES = named(
    tool_loop, killed, cancelled, approval, late_result, step_sent_again, two_workers, ids_used_again
)
