"""A desk run by agent-framework's own agent, with a model that says what it was told to say.

python -m tests.system.adapters.agent_framework_desk SCENE WHOSE FOLDER
"""

import asyncio
import os
import signal
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")  # of the framework's own

from agent_framework import (  # noqa: E402
    Agent,
    AgentSession,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FileHistoryProvider,
    FileSessionStore,
    FunctionInvocationLayer,
    Message,
    tool,
)

from tests.judges import openai_chat  # noqa: E402
from tests.system.adapters import staging  # noqa: E402
from tests.system.adapters.staging import OURS  # noqa: E402
from turnledger.adapters.agent_framework import (  # noqa: E402
    EXECUTION,
    TurnledgerHistoryProvider,
    TurnledgerSessionStore,
    conversation_of,
)
from turnledger.aio import AsyncConversationStore  # noqa: E402

SESSION = "session-1"
LINK = {"type": "link", "payload": {"url": "https://example.com/label"}, "tool_call_id": "c-label"}


class Told(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):  # type: ignore[misc]
    """A client that gives one turn after another, and remembers what it was sent."""

    def __init__(self, *turns: Sequence[Any]) -> None:
        super().__init__()
        self.turns = list(turns)
        self.sent: list[list[Message]] = []

    async def _given(self, messages: Sequence[Message]) -> ChatResponse:
        self.sent.append(list(messages))
        return ChatResponse(messages=[Message("assistant", list(self.turns.pop(0)))])

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **more: Any) -> Any:
        return self._given(messages)


def calls(*names: str, ids: Sequence[str] = (), arguments: str = "{}") -> list[Content]:
    given = ids or [f"c-{name}" for name in names]
    return [
        Content.from_function_call(call_id, name, arguments=arguments)
        for call_id, name in zip(given, names, strict=True)
    ]


@tool(approval_mode="never_require")  # type: ignore[untyped-decorator]
async def track(parcel: int = 1) -> str:
    """Where a parcel is."""
    return "depot"


@tool(approval_mode="never_require")  # type: ignore[untyped-decorator]
async def die() -> str:
    """The process dies here."""
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


@tool(approval_mode="never_require")  # type: ignore[untyped-decorator]
async def wait() -> str:
    """Never returns."""
    await asyncio.Event().wait()
    return ""


@tool(approval_mode="always_require")  # type: ignore[untyped-decorator]
async def refund() -> str:
    """Pays back."""
    return "9 EUR"


class Gate(staging.Gate):
    @property
    def tool(self) -> Any:
        @tool(name="gate", approval_mode="never_require")  # type: ignore[untyped-decorator]
        async def gate() -> str:
            """Waits."""
            await self.passed()
            return "open"

        return gate


class Desk:
    """An agent over a store of ours or the framework's own files, as one process has it."""

    def __init__(self, whose: str, folder: Path, *turns: Sequence[Any], tools: Sequence[Any] = ()) -> None:
        self.store: AsyncConversationStore | None = None
        if whose == OURS:
            self.store = AsyncConversationStore(folder / "desk.db")
            self.history: Any = TurnledgerHistoryProvider(self.store)
            self.sessions: Any = TurnledgerSessionStore(self.store)
        else:
            self.history = FileHistoryProvider(folder / "history")
            self.sessions = FileSessionStore(folder / "sessions")
        self.model = Told(*turns)
        self.agent = Agent(
            client=self.model,
            tools=[track, die, wait, refund, self.label, *tools],
            context_providers=[self.history],
            require_per_service_call_history_persistence=True,
        )

    @property
    def label(self) -> Any:
        @tool(approval_mode="never_require")  # type: ignore[untyped-decorator]
        async def label() -> str:
            """Makes a label, which the client is to have with the answer."""
            if self.store is not None:
                await self.store.hold(conversation_of(SESSION), EXECUTION, [LINK])
            return "made"

        return label

    async def __aenter__(self) -> "Desk":
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        if self.store is not None:
            await self.store.close()

    async def ask(self, message: Any, /) -> Any:
        """One run on the session as the store has it, which is then set anew."""
        session = await self.sessions.get(SESSION) or AgentSession(session_id=SESSION)
        done = await self.agent.run(message, session=session)
        await self.sessions.set(SESSION, session)
        return done

    async def said(self) -> list[Message]:
        return list(await self.history.get_messages(SESSION))

    async def approved(self) -> Any:
        """Goes on with the request that the session waits for, as approved."""
        session = await self.sessions.get(SESSION)
        [request] = session.state["tool_approval"]["pending_approval_requests"]
        content = request if isinstance(request, Content) else Content.from_dict(request)
        return await self.ask(Message("user", [content.to_function_approval_response(True)]))


def as_chat(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The messages as a chat client of OpenAI's sends them."""
    found: list[dict[str, Any]] = []
    for message in messages:
        results = [content for content in message.contents if content.type == "function_result"]
        declared = [content for content in message.contents if content.type == "function_call"]
        found += [{"role": "tool", "tool_call_id": r.call_id, "content": str(r.result)} for r in results]
        if results:
            continue
        made: dict[str, Any] = {"role": message.role, "content": message.text or None}
        if declared:
            made["tool_calls"] = [
                {
                    "id": call.call_id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments or "{}"},
                }
                for call in declared
            ]
        found.append(made if made["content"] or declared else {**made, "content": ""})
    return found


def why_not(messages: Sequence[Message]) -> str | None:
    return openai_chat.why_not({"messages": as_chat(messages)})


def shape(messages: Sequence[Message]) -> list[str]:
    return staging.shape(as_chat(messages))


if __name__ == "__main__":
    staging.play(Desk, killed=[calls("die")], paused=[calls("label"), calls("refund")])
