"""Scenes of Strands in any order: after each the next request is sound, and so is the log.

`SCENES=500 pytest tests/system/adapters/test_strands_random.py` plays more of them.
"""

import asyncio
import os
import random
from pathlib import Path
from typing import Any

import pytest

from tests.judges import bedrock_converse
from tests.judges.official import library
from tests.system.adapters.staging import OURS, cancelled_at, check_log, run

pytestmark = pytest.mark.filterwarnings("ignore")  # of Strands' own

library("strands")

from tests.system.adapters.strands_desk import (  # noqa: E402
    AGENT,
    CID,
    SESSION,
    Desk,
    Gate,
    calls,
    next_request,
    says,
)


class Scene:
    """What a seed tells the workers of a session to do; each begins with what the session has."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.random, self.folder, self.told = random.Random(seed), folder, list[str]()

    async def play(self) -> None:
        for _ in range(self.random.randint(2, 6)):
            steps = self.asked, self.cancelled, self.late, self.given, self.again, self.at_once, self.redacted
            step = self.random.choice([self.asked, *steps])
            self.told.append(step.__name__)
            await step()

    def turns(self) -> list[Any]:
        """A loop of tools, with ids that the model uses again."""
        names = self.random.choice([["track"], ["track", "label"]])
        loop = [calls(*names, ids=[self.random.choice("123") + name for name in names]) for _ in range(2)]
        return [*loop[: self.random.randint(0, 2)], says("There")]

    async def asked(self) -> None:
        async with Desk(OURS, self.folder, *self.turns()) as desk:
            await desk.ask("Where is my parcel?")

    async def cancelled(self) -> None:
        turns = [*self.turns()[:-1], calls("track", "wait"), says("There")]
        async with Desk(OURS, self.folder, *turns) as desk:
            delay = self.random.choice([0.0, 0.01, 0.05, 0.2])
            await cancelled_at(desk.ask("Cancel"), asyncio.sleep(delay))

    async def at_once(self) -> None:
        gate = Gate()
        async with Desk(OURS, self.folder, calls("gate"), says("Open"), tools=[gate.tool]) as first:
            asked = asyncio.ensure_future(first.ask("Open the gate"))
            await gate.reached.wait()
            await self.random.choice([self.asked, self.cancelled, self.late, self.given])()
            gate.opened.set()
            await asked

    async def late(self) -> None:
        """A result comes, of a call that may be open, healed or answered."""
        async with Desk(OURS, self.folder, says("Thanks")) as desk:
            made = [b["toolUse"] for m in desk.agent.messages for b in m["content"] if "toolUse" in b]
            if made:
                name = self.random.choice(made)["toolUseId"]
                block = {"toolUseId": name, "status": "success", "content": [{"text": "depot"}]}
                await desk.ask([{"toolResult": block}])

    async def given(self) -> None:
        """A result comes to the core, as by a webhook."""
        async with Desk(OURS, self.folder) as desk:
            made = [b["toolUse"] for m in desk.agent.messages for b in m["content"] if "toolUse" in b]
            if made and desk.store is not None:
                name = self.random.choice(made)["toolUseId"]
                desk.store.append(CID, {"role": "tool", "tool_call_id": name, "content": f"of {name}"})

    async def again(self) -> None:
        async with Desk(OURS, self.folder) as desk:
            manager: Any = desk.agent._session_manager
            repository = manager.session_repository
            kept = [repository.read_message(SESSION, AGENT, number) for number in range(40)]
            before = len([one for one in kept if one])
            for one in self.random.sample([one for one in kept if one], min(3, before)):
                if one.redact_message is None:
                    repository.create_message(SESSION, AGENT, one)
            assert repository.read_message(SESSION, AGENT, before) is None

    async def redacted(self) -> None:
        async with Desk(OURS, self.folder, says("There")) as desk:
            await desk.ask("secret")
            manager: Any = desk.agent._session_manager
            latest = manager._latest_agent_message[AGENT]
            message: Any = {"role": latest.message["role"], "content": says("[redacted]")}
            manager.redact_latest_message(message, desk.agent)


async def results(folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Of each call its result, in what an agent is restored with and in what is sendable; no stand-ins."""
    async with Desk(OURS, folder) as desk:
        assert desk.store is not None
        blocks = [b["toolResult"] for m in desk.agent.messages for b in m["content"] if "toolResult" in b]
        sendable = [m for m in desk.store.sendable(CID).messages if m["role"] == "tool"]
        restored = {r["toolUseId"]: r["content"][0]["text"] for r in blocks}
        assert len(restored) == len(blocks)
        sent = {m["tool_call_id"]: m["content"] for m in sendable}
        return _real(restored), _real(sent)


def _real(given: dict[str, str]) -> dict[str, str]:
    return {call_id: text for call_id, text in given.items() if "interrupted" not in text}


@pytest.mark.parametrize("seed", range(int(os.environ.get("SCENES", "12"))))
def test_whatever_happens_the_next_request_is_sound(seed: int, tmp_path: Path) -> None:
    async def main() -> None:
        scene = Scene(seed, tmp_path)
        await scene.play()
        request = await next_request(OURS, tmp_path)
        assert not request.startswith("refused"), (request, scene.told)
        restored, sendable = await results(tmp_path)
        assert restored == sendable, scene.told

    run(main())
    check_log(tmp_path / "desk.db", CID, "bedrock-converse", bedrock_converse.why_not)
