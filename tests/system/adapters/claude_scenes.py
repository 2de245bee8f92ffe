"""The scenes that break a session, played by the Claude Agent SDK's own loop on a store of ours and on its
own.

The SDK ships `InMemorySessionStore`: what another process did is not in it, so that
those scenes begin there with nothing.
"""

import asyncio
from pathlib import Path
from typing import Any

from claude_agent_sdk import InMemorySessionStore, tool

from tests.system.adapters.claude_shop import (
    SESSION,
    Shop,
    calls,
    line_of,
    result,
    says,
    shape,
)
from tests.system.adapters.staging import OURS, cancelled_at, in_child, named
from turnledger.adapters.claude_agent_sdk import TurnledgerSessionStore


def store_of(whose: str, database: Path) -> Any:
    return TurnledgerSessionStore(database, execution_id="run-1") if whose == OURS else InMemorySessionStore()


async def told(shop: Shop) -> str:
    """The next request, and whether an entry is there twice."""
    entries = await shop.store.load(shop.key) or []
    twice = len(entries) != len({entry["uuid"] for entry in entries})
    return shape(await shop.next_request()) + (", and entries are kept twice" if twice else "")


async def tool_loop(whose: str, database: Path) -> str:
    shop = Shop(store_of(whose, database), database.parent)
    await shop.ask("Where is it?", calls("track"), calls("track", "label", first=2), says("There"))
    return await told(shop)


async def killed(whose: str, database: Path) -> str:
    if whose == OURS:
        assert in_child("claude_shop", "killed", database) == -9
    return await told(Shop(store_of(whose, database), database.parent))


async def cancelled_run(shop: Shop) -> None:
    await cancelled_at(shop.ask("Where is my parcel?", calls("wait")), shop.kept("tool_use"))


def waiting(store: Any, folder: Path) -> Shop:
    @tool("wait", "Never ends", {})  # type: ignore[untyped-decorator]
    async def wait(arguments: Any) -> Any:
        await asyncio.Event().wait()

    return Shop(store, folder, wait)


async def cancelled(whose: str, database: Path) -> str:
    shop = waiting(store_of(whose, database), database.parent)
    await cancelled_run(shop)
    return await told(shop)


async def approval(whose: str, database: Path) -> str:
    if whose == OURS:
        assert in_child("claude_shop", "paused", database) == 0
    shop = Shop(store_of(whose, database), database.parent)
    await shop.ask("Yes, do it", says("Your label"))
    return await told(shop)


async def late_result(whose: str, database: Path) -> str:
    """The tool of a run that was given up ends after all, and its program writes the line."""
    shop = waiting(store_of(whose, database), database.parent)
    await cancelled_run(shop)
    declared = (await shop.store.load(shop.key))[-1]
    await shop.ask("Are you there?", says("One moment"))
    [call] = calls("wait")
    line = line_of(SESSION, "user", {"role": "user", "content": [result(call, "depot")]}, declared["uuid"])
    latest = (await shop.store.load(shop.key))[-1]
    await shop.store.append(shop.key, [line])
    more = line_of(SESSION, "user", {"role": "user", "content": "And?"}, latest["uuid"])
    await shop.store.append(shop.key, [more])
    return await told(shop)


class Deaf:
    """A store whose first answer is lost on the way: the SDK sends the batch again."""

    def __init__(self, store: Any) -> None:
        self.store, self.heard = store, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    async def append(self, key: Any, entries: Any) -> None:
        await self.store.append(key, entries)
        if not self.heard:
            self.heard = True
            raise ConnectionError("the answer was lost")


async def step_sent_again(whose: str, database: Path) -> str:
    shop = Shop(Deaf(store_of(whose, database)), database.parent, eager=False)
    await shop.ask("Where is my parcel?", calls("track"), says("There"))
    return await told(shop)


async def two_workers(whose: str, database: Path) -> str:
    """Both resume one session, and write at the same time; each has a store of its own, as a process has."""
    first = Shop(store_of(whose, database), database.parent)
    await first.ask("Hello", says("Hello"))
    second = Shop(store_of(whose, database), database.parent)
    history = await first.store.load(first.key)

    async def work(shop: Shop, number: int) -> None:
        parent = history[-1]["uuid"]
        [call] = calls("track", first=number)
        said = [
            ("user", {"role": "user", "content": f"Worker {number}"}),
            ("assistant", {"id": f"msg_{number}", "role": "assistant", "content": [call]}),
            ("user", {"role": "user", "content": [result(call, "depot")]}),
            ("assistant", {"id": f"msg_{number}b", "role": "assistant", "content": says("There")}),
        ]
        for kind, message in said:
            line = line_of(SESSION, kind, message, parent)
            await shop.store.append(shop.key, [line])
            parent = line["uuid"]

    await asyncio.gather(work(first, 1), work(second, 2))
    kept = len(await first.store.load(first.key))
    await second.next_request()
    return f"{kept} of 10 entries are kept"


SCENES = named(tool_loop, killed, cancelled, approval, late_result, step_sent_again, two_workers)
