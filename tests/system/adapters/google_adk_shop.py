"""A shop run by Google ADK's own runner, with a model that says what it was told to say.

python -m tests.system.adapters.google_adk_shop SCENE STORE DATABASE
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from google.adk.agents.llm_agent import LlmAgent
from google.adk.artifacts.file_artifact_service import FileArtifactService
from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from tests.judges import gemini
from tests.system.adapters import staging
from tests.system.adapters.staging import OURS
from turnledger.adapters.google_adk import TurnledgerArtifactService, TurnledgerSessionService

APP, USER, SESSION = "shop", "user-1", "session-1"


class Told(BaseLlm):  # type: ignore[misc]
    """A model that gives one turn after another, and remembers what it was sent."""

    turns: list[Any]
    sent: list[Any] = []

    async def generate_content_async(self, request: Any, stream: bool = False) -> AsyncIterator[Any]:
        self.sent.append([content.model_copy(deep=True) for content in request.contents])
        yield LlmResponse(content=types.Content(role="model", parts=self.turns.pop(0)))


def says(text: str) -> list[types.Part]:
    return [types.Part(text=text)]


def calls(*names: str, call_id: str | None = None) -> list[types.Part]:
    """Calls by name; without an id ADK gives each one of its own, as for most of Gemini's."""
    return [types.Part(function_call=types.FunctionCall(id=call_id, name=name, args={})) for name in names]


def answers(call_id: str, name: str, **response: Any) -> types.Content:
    """What a caller posts as the result of a call."""
    given = types.FunctionResponse(id=call_id, name=name, response=response)
    return types.Content(role="user", parts=[types.Part(function_response=given)])


async def track() -> dict[str, str]:
    return {"where": "depot"}


async def label(tool_context: ToolContext) -> dict[str, str]:
    await tool_context.save_artifact("label.txt", types.Part(text="To Lisbon"))
    return {"made": "label.txt"}


async def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def wait() -> None:
    await asyncio.Event().wait()


class Gate(staging.Gate):
    async def gate(self) -> dict[str, str]:
        await self.passed()
        return {"opened": "yes"}


async def refund() -> dict[str, str]:
    return {"refunded": "9 EUR"}


def ask_human() -> dict[str, str]:
    return {"status": "pending"}


TOOLS = (
    track,
    label,
    die,
    wait,
    FunctionTool(refund, require_confirmation=True),
    LongRunningFunctionTool(ask_human),
)


class Shop:
    """A runner over a store of ours or ADK's own, as one process has it."""

    def __init__(
        self, whose: str, database: Path, *turns: Sequence[types.Part], tools: Sequence[Any] = ()
    ) -> None:
        self.sessions: Any
        if whose == OURS:
            self.sessions = TurnledgerSessionService(database)
            self.artifacts: Any = TurnledgerArtifactService(self.sessions.store)
        else:
            self.sessions = SqliteSessionService(str(database))
            self.artifacts = FileArtifactService(str(database.with_suffix(".files")))
        self.model = Told(model="told", turns=list(turns), sent=[])
        self.runner = Runner(
            app_name=APP,
            agent=LlmAgent(name="clerk", model=self.model, tools=[*TOOLS, *tools]),
            session_service=self.sessions,
            artifact_service=self.artifacts,
        )

    async def __aenter__(self) -> "Shop":
        named = {"app_name": APP, "user_id": USER, "session_id": SESSION}
        if await self.sessions.get_session(**named) is None:
            await self.sessions.create_session(**named)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.sessions.close()

    async def ask(self, message: str | types.Content, /) -> list[Event]:
        """One run, to its end or its pause."""
        content = types.Content(role="user", parts=says(message)) if isinstance(message, str) else message
        run = self.runner.run_async(user_id=USER, session_id=SESSION, new_message=content)
        return [event async for event in run]

    async def session(self) -> Any:
        return await self.sessions.get_session(app_name=APP, user_id=USER, session_id=SESSION)

    @property
    def last_sent(self) -> list[Any]:
        return list(self.model.sent[-1])


def why_not(contents: Sequence[Any]) -> str | None:
    """Why Gemini refuses the contents; it takes neighbours of one role as one content."""
    plain = [content.model_dump(mode="json", by_alias=True, exclude_none=True) for content in contents]
    joined = [
        {"role": role, "parts": [part for content in run for part in content["parts"]]}
        for role, run in groupby(plain, key=lambda content: content["role"])
    ]
    return gemini.why_not({"contents": joined})


def shape(contents: Sequence[Any]) -> list[str]:
    """The parts, as the table of outcomes writes them: `u`, `a`, `c:` call, `r:` its response."""
    told = []
    for content in contents:
        for part in content.parts:
            if part.function_call:
                told.append(f"c:{part.function_call.name}")
            elif part.function_response:
                response = part.function_response
                told.append(f"r:{response.name} {next(iter((response.response or {'': ''}).values()))}")
            else:
                told.append("u" if content.role == "user" else "a")
    return told


if __name__ == "__main__":
    staging.play(Shop, killed=[calls("die")], paused=[calls("label"), calls("refund")])
