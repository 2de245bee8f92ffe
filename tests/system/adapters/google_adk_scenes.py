"""The scenes that break a session, played by Google ADK's own runner on a store of ours and on ADK's own."""

import asyncio
from pathlib import Path

from google.adk.errors._stale_session_error import StaleSessionError

from tests.system.adapters.google_adk_shop import Gate, Shop, answers, calls, says, shape, why_not
from tests.system.adapters.staging import at_the_gate, cancelled_at, in_child, named, told


async def next_request(shop: Shop) -> str:
    """What the model is sent when the user goes on, or why Gemini refuses it."""
    shop.model.turns[:] = [says("Yes?")]
    await shop.ask("Hello?")
    return told(shape(shop.last_sent), why_not(shop.last_sent))


async def tool_loop(whose: str, database: Path) -> str:
    async with Shop(whose, database, calls("track"), calls("track", "label"), says("There")) as shop:
        await shop.ask("Where is my parcel?")
        return await next_request(shop)


async def ids_used_again(whose: str, database: Path) -> str:
    turns = calls("track", call_id="call_1"), says("There"), calls("track", call_id="call_1"), says("Still")
    async with Shop(whose, database, *turns) as shop:
        await shop.ask("Where is my parcel?")
        await shop.ask("And now?")
        return await next_request(shop)


async def killed(whose: str, database: Path) -> str:
    assert in_child("google_adk_shop", "killed", whose, database) == -9
    async with Shop(whose, database) as shop:
        return await next_request(shop)


async def cancelled_run(shop: Shop) -> None:
    async def called() -> None:
        while not any(event.get_function_calls() for event in (await shop.session()).events):
            await asyncio.sleep(0.01)

    await cancelled_at(shop.ask("Where is my parcel?"), called())


async def cancelled(whose: str, database: Path) -> str:
    async with Shop(whose, database, calls("wait")) as shop:
        await cancelled_run(shop)
        return await next_request(shop)


async def approval(whose: str, database: Path) -> str:
    assert in_child("google_adk_shop", "paused", whose, database) == 0
    async with Shop(whose, database, says("Refunded")) as shop:
        asked = [c for e in (await shop.session()).events for c in e.get_function_calls()][-1]
        await shop.ask(answers(asked.id, asked.name, confirmed=True))
        return await next_request(shop)


async def late_result(whose: str, database: Path) -> str:
    async with Shop(whose, database, calls("wait")) as shop:
        await cancelled_run(shop)
        shop.model.turns[:] = [says("One moment"), says("There")]
        await shop.ask("Are you there?")
        [call] = [c for e in (await shop.session()).events for c in e.get_function_calls()]
        await shop.ask(answers(call.id, call.name, where="depot"))
        return await next_request(shop)


async def step_sent_again(whose: str, database: Path) -> str:
    async with Shop(whose, database, calls("track"), says("There")) as shop:
        await shop.ask("Where is my parcel?")
        session = await shop.session()
        for event in session.events[1:]:
            try:
                await shop.sessions.append_event(session, event.model_copy(deep=True))
            except Exception as error:
                return f"raises {type(error).__name__}"
        return await next_request(shop)


async def two_workers(whose: str, database: Path) -> str:
    gate = Gate()
    async with (
        Shop(whose, database, calls("gate"), says("Open"), tools=[gate.gate]) as first,
        Shop(whose, database, calls("track"), says("There")) as second,
    ):
        try:
            await at_the_gate(gate, first, second)
        except StaleSessionError:
            return "raises StaleSessionError: what the first worker did is lost"
        return await next_request(first)


SCENES = named(
    tool_loop, killed, cancelled, approval, late_result, step_sent_again, two_workers, ids_used_again
)
