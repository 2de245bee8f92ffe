"""The scenes that break a thread, played by LangChain's agent on a store of ours and on checkpoints."""

from pathlib import Path

from langchain_core.messages import AIMessage, ToolMessage

from tests.system.adapters import staging
from tests.system.adapters.langgraph_shop import WITH_BOTH, Gate, Shop, calls, shape, why_not
from tests.system.adapters.staging import OURS, at_the_gate, cancelled_at, in_child, named


def told(shop: Shop) -> str:
    """The last request, or why OpenAI refuses it."""
    return staging.told(shape(shop.model.sent[-1]), why_not(shop.model.sent[-1]))


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
    assert in_child("langgraph_shop", "killed", whose, folder) == -9
    async with Shop(whose, folder) as shop:
        return await next_request(shop)


async def cancelled_run(shop: Shop, gate: Gate) -> None:
    await cancelled_at(shop.ask("Where is my parcel?"), gate.reached.wait())


async def cancelled(whose: str, folder: Path) -> str:
    gate = Gate("wait")
    async with Shop(whose, folder, calls("wait"), tools=[gate.tool]) as shop:
        await cancelled_run(shop, gate)
        return await next_request(shop)


async def approval(whose: str, folder: Path) -> str:
    whose = WITH_BOTH if whose == OURS else whose
    assert in_child("langgraph_shop", "paused", whose, folder) == 0
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
        await at_the_gate(gate, first, second)
        return await next_request(first)


SCENES = named(
    tool_loop, killed, cancelled, approval, late_result, step_sent_again, two_workers, ids_used_again
)
