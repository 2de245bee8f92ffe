"""Scenes of LangChain's chat message histories: its own runnables, on a history of ours or on its own.

A run of `RunnableWithMessageHistory` stores when it ends; a program that stores as it goes is `step`. As a
program this is the process of a scene: `python -m ... SCENE WHO PATH`.
"""

import os
import sys
import warnings
from pathlib import Path
from typing import Any

from langchain_community.chat_message_histories import FileChatMessageHistory
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory
from langchain_core.tools import tool

from tests.system.adapters.langgraph_shop import Told, calls
from tests.system.adapters.staging import OURS, in_child, named
from turnledger.adapters.langchain import TurnledgerHistory

SESSION, RUN = "support-7", "run-1"
CONFIG = {"configurable": {"session_id": SESSION}}


def history_of(who: str, path: Path) -> Any:
    if who == OURS:
        return TurnledgerHistory(SESSION, path)
    return FileChatMessageHistory(str(path))


def closed(history: Any) -> None:
    if isinstance(history, TurnledgerHistory):
        history.close()


@tool  # type: ignore[untyped-decorator]
def track(parcel: int) -> str:
    """Where a parcel is."""
    return f"depot {parcel}"


@tool  # type: ignore[untyped-decorator]
def refund(euros: int = 9) -> str:
    """Pays back."""
    return f"{euros} EUR"


@tool  # type: ignore[untyped-decorator]
def die() -> str:
    """The process is gone before there is a result."""
    os._exit(7)


@tool  # type: ignore[untyped-decorator]
def interrupted() -> str:
    """Somebody presses Ctrl-C."""
    raise KeyboardInterrupt


TOOLS = {made.name: made for made in (track, refund, die, interrupted)}


def called(name: str, number: int, **arguments: Any) -> AIMessage:
    message = calls(name, ids=[f"call_{number}"], **arguments)
    return message.model_copy(update={"id": f"run-{name}-{number}"})


def answered(turn: AIMessage) -> list[BaseMessage]:
    """What LangChain's own tools give for the calls of a turn."""
    return [TOOLS[call["name"]].invoke(call) for call in turn.tool_calls]


def run(history: Any, question: str, *turns: Any) -> list[list[BaseMessage]]:
    """A run of the runnable with history: model and tools until there is no call. What the model was sent."""
    model = Told(turns=[AIMessage(t) if isinstance(t, str) else t for t in turns], sent=[])

    def loop(messages: list[BaseMessage]) -> list[BaseMessage]:
        made: list[BaseMessage] = []
        while True:
            turn = model.invoke([*messages, *made])
            made.append(turn)
            if not turn.tool_calls:
                return made
            made += answered(turn)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LangChain would rather have everybody on LangGraph
        chain = RunnableWithMessageHistory(RunnableLambda(loop), lambda session_id: history)
    chain.invoke([HumanMessage(question)], CONFIG)
    return list(model.sent)


def step(history: Any, *messages: BaseMessage) -> None:
    """Stores what was said as soon as it was."""
    history.add_messages(list(messages))


def asked_at_last(history: Any) -> list[BaseMessage]:
    """What the model is sent when the user goes on."""
    return run(history, "And now?", "That is all.")[-1]


def tool_loop(history: Any, path: Path, who: str) -> None:
    both = calls("track", "track", ids=["call_2", "call_3"], parcel=2)
    run(history, "Where are my parcels?", called("track", 1, parcel=1), both, "In the depot.")


def killed(history: Any, path: Path, who: str) -> None:
    assert in_child("langchain_scenes", "killed", who, path) == 7


def cancelled(history: Any, path: Path, who: str) -> None:
    turn = called("interrupted", 1)
    step(history, HumanMessage("Wait for it."))
    step(history, turn)
    try:
        step(history, *answered(turn))
    except KeyboardInterrupt:
        return


def approval(history: Any, path: Path, who: str) -> None:
    assert in_child("langchain_scenes", "pause", who, path) == 0
    assert in_child("langchain_scenes", "resume", who, path) == 0


def late_result(history: Any, path: Path, who: str) -> None:
    turn = called("refund", 1)
    step(history, HumanMessage("Refund it."), turn)
    run(history, "Are you there?", "Yes.")
    step(history, *answered(turn))


def step_sent_again(history: Any, path: Path, who: str) -> None:
    turn = called("track", 1, parcel=1)
    made = [turn, *answered(turn), AIMessage("There.", id="run-2")]
    step(history, HumanMessage("Where is it?", id="human-1"), *made)
    step(history, HumanMessage("Where is it?", id="human-1"), *made)


def two_workers(history: Any, path: Path, who: str) -> None:
    other = history_of(who, path)
    first, second = called("track", 1, parcel=1), called("track", 2, parcel=2)
    step(history, HumanMessage("Where is 1?"), first)
    step(other, HumanMessage("Where is 2?"), second)
    step(history, *answered(first), AIMessage("There."))
    step(other, *answered(second), AIMessage("There too."))
    closed(other)


def ids_used_again(history: Any, path: Path, who: str) -> None:
    run(history, "Where is 1?", calls("track", ids=["call_1"], parcel=1), "There.")
    run(history, "Where is 2?", calls("track", ids=["call_1"], parcel=2), "There too.")


SCENES = named(
    tool_loop, killed, cancelled, approval, late_result, step_sent_again, two_workers, ids_used_again
)


def _part(part: str, who: str, path: Path) -> None:
    history = history_of(who, path)
    if part == "killed":
        turn = called("die", 1)
        step(history, HumanMessage("Where is it?"), turn)
        answered(turn)
    elif part == "pause":
        step(history, HumanMessage("Refund it."), called("refund", 1))
        if who == OURS:
            history.store.hold(SESSION, RUN, [{"type": "receipt", "payload": {"euros": 9}}])
    else:
        step(history, *answered(history.messages[1]))
        run(history, "It was approved.", "Refunded.")
        if who == OURS:
            with history.store.taking(SESSION, RUN) as take:
                assert [item["type"] for item in take.artifacts] == ["receipt"]
    closed(history)


if __name__ == "__main__":
    _part(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
