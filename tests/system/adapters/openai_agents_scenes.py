"""Scenes of the OpenAI Agents SDK: its own loop and scripted model, on a session of ours or on its own.

Each scene ends with a question, and gives the input that the model is asked with then. As a program it is the
process of a scene that dies, or the one that comes after: `python -m ... SCENE WHO PATH`.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from agents import Agent, RunConfig, Runner, RunState, SQLiteSession, function_tool
from agents.testing import ModelCall, ScriptedModel, assistant_message, function_call
from openai.types.responses.response_reasoning_item import ResponseReasoningItem, Summary

from tests.system.adapters.staging import OURS, Gate, cancelled_at, in_child, named
from turnledger import ConversationStore
from turnledger.adapters.openai_agents import TurnledgerSession

SESSION, RUN = "support-7", "run-1"
QUIET = RunConfig(tracing_disabled=True)
Input = list[dict[str, Any]]


def session_of(who: str, path: Path) -> Any:
    return TurnledgerSession(SESSION, path) if who == OURS else SQLiteSession(SESSION, path)


async def closed(session: Any) -> None:
    done = session.close()
    if done is not None:
        await done


def tools_of(gate: Gate) -> list[Any]:
    @function_tool  # type: ignore[untyped-decorator]
    async def track(parcel: int) -> str:
        """Where a parcel is."""
        return f"depot {parcel}"

    @function_tool  # type: ignore[untyped-decorator]
    async def wait(parcel: int) -> str:
        """Waits for the gate."""
        await gate.passed()
        return "at last"

    @function_tool  # type: ignore[untyped-decorator]
    async def die() -> str:
        """The process is gone before there is a result."""
        os._exit(7)

    @function_tool(needs_approval=True)  # type: ignore[untyped-decorator]
    async def refund(euros: int) -> str:
        """Needs a person's approval."""
        return f"{euros} EUR"

    return [track, wait, die, refund]


def thought(number: int) -> Any:
    summary = [Summary(type="summary_text", text="let me see")]
    return ResponseReasoningItem(id=f"rs_{number}", type="reasoning", summary=summary)


def calling(name: str, number: int, **arguments: Any) -> Any:
    return function_call(name, arguments, call_id=f"call_{number}", item_id=f"fc_{number}")


def saying(text: str, number: int) -> Any:
    return assistant_message(text, item_id=f"msg_{number}")


def agent_of(steps: list[Any], gate: Gate | None = None) -> tuple[Agent[Any], ScriptedModel]:
    model = ScriptedModel(steps)
    return Agent(name="desk", model=model, tools=tools_of(gate or Gate())), model


async def ran(session: Any, question: str, *steps: Any, gate: Gate | None = None) -> tuple[Any, list[Input]]:
    """A run, and what its model was asked with at each step."""
    agent, model = agent_of(list(steps), gate)
    result = await Runner.run(agent, question, session=session, run_config=QUIET)
    return result, [_input(call) for call in model.calls]


def _input(call: ModelCall) -> Input:
    given = call.input
    return [{"role": "user", "content": given}] if isinstance(given, str) else [dict(item) for item in given]


async def asked_at_last(session: Any) -> Input:
    """What the model is asked with when the user goes on."""
    _, (sent,) = await ran(session, "And now?", [saying("That is all.", 99)])
    return sent


async def tool_loop(session: Any, path: Path, who: str) -> None:
    await ran(
        session,
        "Where are my parcels?",
        [thought(1), calling("track", 1, parcel=1)],
        [thought(2), calling("track", 2, parcel=2), calling("track", 3, parcel=3)],
        [saying("In the depot.", 1)],
    )


async def killed(session: Any, path: Path, who: str) -> None:
    """A process of its own is gone in the second step, in its tool."""
    assert in_child("openai_agents_scenes", "killed", who, path) == 7


async def cancelled(session: Any, path: Path, who: str) -> None:
    gate = Gate()
    steps = [calling("track", 1, parcel=1)], [thought(2), calling("wait", 2, parcel=1)]
    await cancelled_at(ran(session, "Wait for parcel 1.", *steps, gate=gate), gate.reached.wait())


async def approval(session: Any, path: Path, who: str) -> None:
    """One process pauses, and holds what it found; another goes on when a person has said yes."""
    assert in_child("openai_agents_scenes", "pause", who, path) == 0
    assert in_child("openai_agents_scenes", "resume", who, path) == 0


async def late_result(session: Any, path: Path, who: str) -> None:
    """The user goes on while an approval is pending; it comes after all, and with it the result."""
    agent, _ = agent_of([[thought(1), calling("refund", 1, euros=9)]])
    paused = await Runner.run(agent, "Refund it.", session=session, run_config=QUIET)
    await ran(session, "Are you there?", [saying("Yes.", 1)])
    state = paused.to_state()
    state.approve(state.get_interruptions()[0])
    agent.model = ScriptedModel([[saying("Refunded.", 2)]])
    await Runner.run(agent, state, session=session, run_config=QUIET)


async def late_output(session: Any, path: Path, who: str) -> None:
    """A call is stored, the user goes on, and then its output is: by a runtime that stores as it goes."""
    await session.add_items([{"role": "user", "content": "Track it."}])
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "track", "arguments": "{}"}
    await session.add_items([call])
    await ran(session, "Are you there?", [saying("Yes.", 1)])
    await session.add_items([{"type": "function_call_output", "call_id": "call_1", "output": "depot"}])


async def step_sent_again(session: Any, path: Path, who: str) -> None:
    """A runtime that lost the answer stores the same step once more."""
    await ran(session, "Where is it?", [thought(1), calling("track", 1, parcel=1)], [saying("There.", 1)])
    step = (await session.get_items())[1:]
    await session.add_items(step)


async def two_workers(session: Any, path: Path, who: str) -> None:
    other, gate = session_of(who, path), Gate()
    first = asyncio.ensure_future(
        ran(session, "Wait for 1.", [calling("wait", 1, parcel=1)], [saying("Done.", 1)], gate=gate)
    )
    await gate.reached.wait()
    await ran(other, "Where is 2?", [calling("track", 2, parcel=2)], [saying("There.", 2)])
    gate.opened.set()
    await first
    await closed(other)


async def ids_used_again(session: Any, path: Path, who: str) -> None:
    for number in (1, 2):
        call = function_call("track", {"parcel": number}, call_id="call_1", item_id=f"fc_{number}")
        await ran(session, f"Where is {number}?", [call], [saying("There.", number)])


SCENES = named(
    tool_loop,
    killed,
    cancelled,
    approval,
    late_result,
    late_output,
    step_sent_again,
    two_workers,
    ids_used_again,
)


async def _part(part: str, who: str, path: Path) -> None:
    session, saved = session_of(who, path), path.with_suffix(".state.json")
    if part == "killed":
        steps = [[calling("track", 1, parcel=1)], [thought(2), calling("die", 2)]]
        await ran(session, "Where is it?", *steps)
    elif part == "pause":
        agent, _ = agent_of([[thought(1), calling("refund", 1, euros=9)]])
        result = await Runner.run(agent, "Refund it.", session=session, run_config=QUIET)
        saved.write_text(json.dumps(result.to_state().to_json()))
        if who == OURS:
            with ConversationStore(path) as store:
                store.hold(SESSION, RUN, [{"type": "receipt", "payload": {"euros": 9}}])
    else:
        agent, _ = agent_of([[saying("Refunded.", 1)]])
        state = await RunState.from_json(agent, json.loads(saved.read_text()))
        state.approve(state.get_interruptions()[0])
        await Runner.run(agent, state, session=session, run_config=QUIET)
        if who == OURS:
            with ConversationStore(path) as store, store.taking(SESSION, RUN) as take:
                assert [item["type"] for item in take.artifacts] == ["receipt"]
    await closed(session)


def told(items: Input) -> str:
    """A list in one line: `u` the user, `a` the assistant, `t` a thought, `c:x` a call, `r:x` its result."""
    names: dict[str, str] = {}
    words = []
    for item in items:
        kind = item.get("type", "message")
        if kind == "function_call":
            names[item["call_id"]] = item["name"]
            words.append(f"c:{item['name']}")
        elif kind == "function_call_output":
            words.append(f"r:{names.get(item['call_id'], '?')} {item['output']}")
        else:
            words.append("t" if kind == "reasoning" else item["role"][0])
    return " ".join(words)


if __name__ == "__main__":
    asyncio.run(_part(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
