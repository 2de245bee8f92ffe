"""Scenes of Google ADK in any order: after each the next request is sound, and so is the log.

`SCENES=500 pytest tests/system/adapters/test_google_adk_random.py` plays more of them.
"""

import asyncio
import os
import random
import re
from collections.abc import Iterable, Iterator
from contextlib import AsyncExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.judges import gemini
from tests.judges.official import library
from tests.system.adapters.staging import OURS, cancelled_at, check_log, run
from turnledger import ConversationStore

pytestmark = pytest.mark.filterwarnings("ignore")  # of ADK's own

library("google.adk")

from tests.system.adapters.google_adk_shop import (  # noqa: E402
    APP,
    SESSION,
    USER,
    Shop,
    answers,
    calls,
    says,
    why_not,
)
from turnledger.adapters.google_adk import TurnledgerSessionService, conversation_of  # noqa: E402

CID = conversation_of(APP, USER, SESSION)
ANSWERED = ("track", "label")
PATIENCE_S = 3


class Scene:
    """Two workers on a session, who do what a seed tells them."""

    def __init__(self, seed: int, workers: list[Shop]) -> None:
        self.random, self.workers, self.told = random.Random(seed), workers, list[str]()

    async def play(self) -> None:
        for _ in range(self.random.randint(2, 6)):
            shop = self.random.choice(self.workers)
            step = self.random.choice(
                [
                    self.asked,
                    self.asked,
                    self.cancelled,
                    self.late,
                    self.given,
                    self.given,
                    self.again,
                    self.rewound,
                    self.at_once,
                    self.died,
                ]
            )
            self.told.append(step.__name__)
            await step(shop)

    def turns(self) -> list[Any]:
        """A loop of tools, with ids of ADK's own or of a model that uses them again."""
        ids = self.random.choice([None, "call_1"])
        names = [self.random.choice(ANSWERED) for _ in range(1 if ids else self.random.randint(1, 3))]
        return [*([calls(*names, call_id=ids)] * self.random.randint(0, 2)), says("There")]

    async def asked(self, shop: Shop) -> None:
        shop.model.turns[:] = self.turns()
        await shop.ask("Where is my parcel?")

    async def at_once(self, shop: Shop) -> None:
        await asyncio.gather(*(self.asked(one) for one in self.workers))

    async def cancelled(self, shop: Shop) -> None:
        """In a tool, of which another may have answered; or, sometimes, anywhere."""
        shop.model.turns[:] = [*self.turns()[:-1], calls("track", "wait"), says("There")]
        delay = self.random.choice([0.0, 0.01, 0.05, 0.2])
        await cancelled_at(shop.ask("Cancel"), asyncio.sleep(delay))

    async def died(self, shop: Shop) -> None:
        """Another process goes on: what this one knows of the store is gone."""
        place = self.workers.index(shop)
        shop.runner.session_service = shop.sessions = TurnledgerSessionService(shop.sessions.store)
        self.workers[place] = shop

    async def late(self, shop: Shop) -> None:
        """A result comes, of a call that may be open, healed, answered or rewound."""
        made = [call for e in (await shop.session()).events for call in e.get_function_calls()]
        if made:
            shop.model.turns[:] = [says("Thanks")]
            call = self.random.choice(made)
            where = f"of {call.id}" if call.id in await healed(shop) else "depot"
            try:
                await asyncio.wait_for(shop.ask(answers(call.id, call.name, where=where)), PATIENCE_S)
            except TimeoutError:  # ADK makes the calls again that are still open in that run
                assert "wait" in [one.name for one in made], self.told
            except ValueError as error:  # ADK's own, of a call that was rewound
                assert "Function call not found" in str(error), error

    async def given(self, shop: Shop) -> None:
        """A result comes to the core, as by a webhook."""
        made = [call.id for e in (await shop.session()).events for call in e.get_function_calls()]
        if made:
            name = self.random.choice(made)
            result = {"role": "tool", "tool_call_id": name, "content": f"of {name}"}
            await shop.sessions.store.append(CID, result)

    async def again(self, shop: Shop) -> None:
        events = (await shop.session()).events
        kept = [event for event in events if not event.id.endswith("/healed")]
        other = await self.random.choice(self.workers).session()
        for event in self.random.sample(kept, min(3, len(kept))):
            await shop.sessions.append_event(other, event.model_copy(deep=True))

    async def rewound(self, shop: Shop) -> None:
        runs = [event.invocation_id for event in (await shop.session()).events if event.author == "user"]
        if runs:
            named = {"user_id": USER, "session_id": SESSION}
            before = self.random.choice(runs)
            await shop.runner.rewind_async(**named, rewind_before_invocation_id=before)


async def healed(shop: Shop) -> list[str]:
    """The calls that have a placeholder."""
    metadata = [entry.metadata for entry in await shop.sessions.store.entries(CID)]
    return [one["tool_call_id"] for one in metadata if one.get("healed")]


def told(results: Iterable[str]) -> list[str | None]:
    """Of each result the call that it says it is of, None where it does not say."""
    return [found and found[1] for found in (re.search(r"\bof ([\w-]+)", one) for one in results)]


async def sendable(shop: Shop) -> list[str | None]:
    """What the results that Gemini is to have say, in the order of their calls."""
    messages = (await shop.sessions.store.sendable(CID, provider="gemini")).messages
    parts = [part["functionResponse"] for m in messages for part in m["parts"] if "functionResponse" in part]
    return told(str(part["response"]) for part in parts)


def _of(name: str, parts: list[Any]) -> Iterator[int]:
    """The places of results of this name."""
    return (n for n, p in enumerate(parts) if p.function_response and p.function_response.name == name)


def in_the_order_of_calls(contents: list[Any]) -> list[Any]:
    """ADK itself puts the results of one turn in the order in which they came, on every store: those that no
    one but ADK brought, in several events."""
    for turn, answer in pairwise(contents):
        names = [part.function_call.name for part in turn.parts if part.function_call]
        left = list(answer.parts)
        if sorted(names) == sorted(part.function_response.name for part in left if part.function_response):
            answer.parts = [left.pop(next(_of(name, left))) for name in names] + left
    return contents


@pytest.mark.parametrize("seed", range(int(os.environ.get("SCENES", "12"))))
def test_whatever_happens_the_next_request_is_sound(seed: int, tmp_path: Path) -> None:
    database = tmp_path / "shop.db"

    async def main() -> None:
        async with AsyncExitStack() as stack:
            workers = [await stack.enter_async_context(Shop(OURS, database)) for _ in range(2)]
            scene = Scene(seed, workers)
            await scene.play()
            for shop in workers:
                shop.model.turns[:] = [says("Yes?")]
                await shop.ask("Hello?")
                parts = [part for content in shop.last_sent for part in content.parts]
                results = [str(part.function_response.response) for part in parts if part.function_response]
                if scene.told.count("rewound") < 2:  # ADK undoes a rewind that is itself rewound
                    assert told(results) == await sendable(shop), scene.told
                refused = why_not(in_the_order_of_calls(shop.last_sent))
                assert refused is None, (refused, scene.told)
            events = (await workers[0].session()).events
            assert len({event.id for event in events}) == len(events)
            assert len({call.id for e in events for call in e.get_function_calls()}) == len(
                [call for e in events for call in e.get_function_calls()]
            )

    run(main())
    check_log(database, CID, "gemini", gemini.why_not)
    with ConversationStore(database) as store:
        held = store.held(CID)
        assert all(one.payload["filename"] == "label.txt" for one in held)
