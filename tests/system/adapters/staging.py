"""What the scenes that break a session have in common, whichever framework plays them.

A scene is played on a store of ours or on the framework's own, and may have a part of it played in a process
of its own; the table of outcomes tells what came of it.
"""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest

from turnledger import ConversationStore

OURS, THEIRS = "turnledger", "peer"
WAIT_S = 120
NAMES = {
    "tool_loop": "a tool loop of several steps",
    "killed": "killed between call and result",
    "cancelled": "cancelled in mid-tool",
    "approval": "a human approves in another process",
    "late_result": "a late result",
    "late_output": "a late output",
    "step_sent_again": "a step sent again",
    "two_workers": "two workers on one session",
    "ids_used_again": "the model uses an id again",
}
"""The scenes by the function that plays them, and by their name in the tables of outcomes."""

S = TypeVar("S", bound=Callable[..., Any])


class Asked(Protocol):
    """A framework over a store, as one process has it."""

    def ask(self, message: Any, /) -> Awaitable[Any]: ...


class Gate:
    """What a tool waits for until it is opened: what happens meanwhile is another's."""

    def __init__(self) -> None:
        self.reached, self.opened = asyncio.Event(), asyncio.Event()

    async def passed(self) -> None:
        """Tells that somebody is here, and waits."""
        self.reached.set()
        await self.opened.wait()


def named(*scenes: S) -> dict[str, S]:
    """The scenes, each under the name that the tables have for it."""
    return {NAMES[scene.__name__]: scene for scene in scenes}


def run(awaited: Awaitable[Any]) -> Any:
    """What it gives, in a loop of its own."""

    async def main() -> Any:
        return await awaited

    return asyncio.run(main())


def in_child(program: str, *arguments: object) -> int:
    """A module of this folder in a process of its own; how that ended."""
    command = [sys.executable, "-W", "ignore", "-m", f"{__package__}.{program}", *map(str, arguments)]
    return subprocess.run(command, timeout=WAIT_S, check=False).returncode


def play(framework: Callable[..., AbstractAsyncContextManager[Asked]], **turns: Sequence[Any]) -> None:
    """The process that `in_child` starts with SCENE WHOSE PLACE: one run, with the turns of that scene."""
    _, scene, whose, place = sys.argv

    async def main() -> None:
        async with framework(whose, Path(place), *turns[scene]) as opened:
            await opened.ask("Where is my parcel?")

    asyncio.run(main())


async def cancelled_at(asking: Awaitable[Any], reached: Awaitable[Any]) -> None:
    """A run that is cancelled as soon as it has reached a point."""
    asked = asyncio.ensure_future(asking)
    await reached
    asked.cancel()
    await asyncio.wait([asked])


async def at_the_gate(gate: Gate, first: Asked, second: Asked) -> None:
    """Two workers at once: while a tool of the first waits, the second is asked and answers."""
    asked = asyncio.create_task(_of(first.ask("Open the gate")))
    await gate.reached.wait()
    await second.ask("Where is my parcel?")
    gate.opened.set()
    await asked


async def _of(awaited: Awaitable[Any]) -> Any:
    return await awaited


def shape(chat: Iterable[Mapping[str, Any]]) -> list[str]:
    """Messages of a chat, as the tables of outcomes write them: `u`, `a`, `c:` call, `r:` its result."""
    words: list[str] = []
    names: dict[str, str] = {}
    for message in chat:
        if message["role"] == "tool":
            words.append(f"r:{names.get(message['tool_call_id'], '?')} {message['content']}")
        elif message.get("tool_calls"):
            names |= {call["id"]: call["function"]["name"] for call in message["tool_calls"]}
            words += [f"c:{call['function']['name']}" for call in message["tool_calls"]]
        else:
            words.append(message["role"][0])
    return words


def told(words: list[str], refused: str | None) -> str:
    """A request in one line, or why its provider refuses it."""
    return f"refused: {refused}" if refused else " ".join(words)


def check_outcomes(
    outcomes: Iterable[tuple[str, str]], scenes: Iterable[str], whose: Iterable[str] = (OURS, THEIRS)
) -> None:
    """Every scene has an outcome of each, and no other has one."""
    due = {(scene, one) for scene in scenes for one in whose}
    assert set(outcomes) == due, sorted(due.symmetric_difference(outcomes))


def check_log(
    database: Path, conversation_id: str, provider: str, why_not: Callable[[Any], str | None]
) -> None:
    """The log that a scene left is sound, and gives a request that the provider takes."""
    with ConversationStore(database, create=False) as store:
        report = store.verify()
        assert report.ok, report
        refused = why_not(store.sendable(conversation_id, provider=provider).request or {})
        assert refused is None, refused


def ends_as_told(
    scenes: Mapping[str, Callable[[str, Path], Awaitable[str]]],
    outcomes: Mapping[tuple[str, str], str],
    database: str,
    *log: Any,
) -> Callable[[str, str, Path], None]:
    """The test that each scene ends as the table says, and of ours leaves a log that passes `check_log`."""

    @pytest.mark.parametrize(("scene", "whose"), outcomes)
    def test(scene: str, whose: str, tmp_path: Path) -> None:
        assert run(scenes[scene](whose, tmp_path)) == outcomes[scene, whose]
        if whose != THEIRS:
            check_log(tmp_path / database, *log)

    return test


class Died(Exception):
    """The process of a store is gone."""


class Mortal(ConversationStore):
    """A store whose process dies at the call that `dies` tells, and that counts what is read of it."""

    read = 0
    dies: Callable[[str, str], bool] = staticmethod(lambda call, conversation: False)

    def append(self, conversation_id: str, *args: Any, **options: Any) -> Any:
        self._lives("append", conversation_id)
        return super().append(conversation_id, *args, **options)

    def retract(self, conversation_id: str, *args: Any, **options: Any) -> Any:
        self._lives("retract", conversation_id)
        return super().retract(conversation_id, *args, **options)

    def clear(self, conversation_id: str, *args: Any, **options: Any) -> Any:
        self._lives("clear", conversation_id)
        return super().clear(conversation_id, *args, **options)

    def _lives(self, call: str, conversation_id: str) -> None:
        if self.dies(call, conversation_id):
            raise Died

    def events(self, *args: Any, **options: Any) -> Any:
        for event in super().events(*args, **options):
            self.read += 1
            yield event

    def records(self, *args: Any, **options: Any) -> Any:
        found = super().records(*args, **options)
        self.read += len(found)
        return found

    def entries(self, *args: Any, **options: Any) -> Any:
        found = super().entries(*args, **options)
        self.read += len(found)
        return found
