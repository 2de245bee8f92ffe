"""The scenes that break a conversation, played by Pydantic AI's own agent on a store of ours and on its own.

The library ships `InMemoryConversationStore`: what another process did is not in it, so that
those scenes begin there with nothing. Either
way each step of a run is saved when it is over, and a conversation goes on healed: ours by the store, the
other by the library's `repair_messages`.
"""

from pathlib import Path
from typing import Any

from pydantic_ai import Conversation
from pydantic_ai.conversation_store import ConversationConflict, InMemoryConversationStore
from pydantic_ai.messages import ModelRequest, ToolReturnPart

from tests.system.adapters.pydantic_ai_judge import why_not
from tests.system.adapters.pydantic_ai_shop import CID, Shop, calls, says, shape
from tests.system.adapters.staging import OURS, cancelled_at, in_child, named
from turnledger.adapters.pydantic_ai import TurnledgerConversationStore


def store_of(whose: str, database: Path) -> Any:
    if whose == OURS:
        return TurnledgerConversationStore(database, execution_id="run-1")
    return InMemoryConversationStore()


async def next_request(shop: Shop) -> str:
    """What the model is sent when the user goes on, or why it is refused."""
    shop.turns[:] = [says("Yes?")]
    await shop.ask("Hello?")
    refused = await why_not(shop.sent[-1])
    return f"refused: {refused}" if refused else shape(shop.sent[-1])


async def tool_loop(whose: str, database: Path) -> str:
    turns = calls("track"), calls("track", "label", first=2), says("There")
    shop = Shop(store_of(whose, database), *turns)
    await shop.ask("Where is my parcel?")
    return await next_request(shop)


async def killed(whose: str, database: Path) -> str:
    if whose == OURS:
        assert in_child("pydantic_ai_shop", "killed", database) == -9
    return await next_request(Shop(store_of(whose, database)))


async def cancelled_run(shop: Shop) -> None:
    shop.turns[:] = [calls("wait")]
    await cancelled_at(shop.ask("Where is my parcel?"), shop.kept(2))


async def cancelled(whose: str, database: Path) -> str:
    shop = Shop(store_of(whose, database))
    await cancelled_run(shop)
    return await next_request(shop)


async def approval(whose: str, database: Path) -> str:
    if whose == OURS:
        assert in_child("pydantic_ai_shop", "paused", database) == 0
    shop = Shop(store_of(whose, database), says("Refunded"))
    paused = await shop.conversations.load(CID)
    if paused is None:
        return f"what waited is not there; {await next_request(shop)}"
    approved = paused.deferred_tool_requests.build_results(approve_all=True)
    await shop.ask(None, paused, deferred_tool_results=approved)
    return await next_request(shop)


async def late_result(whose: str, database: Path) -> str:
    """The user went on; then the tool of the run that was given up ends, and its result is saved."""
    shop = Shop(store_of(whose, database))
    await cancelled_run(shop)
    shop.turns[:] = [says("One moment")]
    await shop.ask("Are you there?")
    found = await shop.conversations.load(CID)
    late = ToolReturnPart(tool_name="wait", content="depot", tool_call_id="call-1")
    found.messages.append(ModelRequest(parts=[late]))
    await shop.conversations.save(found)
    return await next_request(shop)


async def step_sent_again(whose: str, database: Path) -> str:
    """The answer to a save was lost: it is made again with what was known before."""
    shop = Shop(store_of(whose, database), calls("track"), says("There"))
    result = await shop.ask("Where is my parcel?")
    again = Conversation(messages=result.all_messages(), conversation_id=CID)
    try:
        await shop.conversations.save(again)
    except ConversationConflict:
        return f"a conflict; {await next_request(shop)}"
    return await next_request(shop)


async def two_workers(whose: str, database: Path) -> str:
    """Both go on from the same state, each with a store of its own, as a process has it."""
    first = Shop(store_of(whose, database), says("Hello"))
    await first.ask("Hello")
    second = Shop(store_of(whose, database), calls("track"), says("There"))
    begun = await second.conversation()
    first.turns[:] = [says("Open")]
    await first.ask("Open the gate")
    try:
        await second.ask("Where is my parcel?", begun)
    except ConversationConflict:
        second.turns[:] = [calls("track"), says("There")]
        await second.ask("Where is my parcel?")
        return f"a conflict, made again; {await next_request(first)}"
    return await next_request(first)


SCENES = named(tool_loop, killed, cancelled, approval, late_result, step_sent_again, two_workers)
