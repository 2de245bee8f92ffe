"""A shop run by Pydantic AI's own agent, with its `FunctionModel` that says what it was told to say.

python -m tests.system.adapters.pydantic_ai_shop SCENE DATABASE
"""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from pydantic_ai import Agent, Conversation, DeferredToolRequests
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
    repair_messages,
)
from pydantic_ai.models.function import FunctionModel

from turnledger.adapters.pydantic_ai import TurnledgerConversationStore, saving

CID = "shop-7"
LINK = {"type": "link", "payload": {"url": "https://example.com/label"}, "tool_call_id": "call-1"}


def says(text: str) -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)])


def calls(*names: str, first: int = 1) -> ModelResponse:
    """Calls of the shop's tools, with ids that count on."""
    numbered = enumerate(names, first)
    return ModelResponse(parts=[ToolCallPart(name, {}, tool_call_id=f"call-{n}") for n, name in numbered])


def track() -> str:
    return "depot"


def label() -> str:
    return "label.txt"


def refund() -> str:
    return "9 EUR"


async def wait() -> None:
    await asyncio.Event().wait()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Shop:
    """An agent over a store of ours or the library's own, as one process has it."""

    def __init__(self, conversations: Any, *turns: ModelResponse) -> None:
        self.conversations = conversations
        self.turns = list(turns)
        self.sent: list[list[ModelMessage]] = []
        self.agent = Agent(
            FunctionModel(self._turn),
            instructions="Be kind.",
            output_type=[str, DeferredToolRequests],
            tools=[track, label, wait, die],
        )
        self.agent.tool_plain(requires_approval=True)(refund)

    def _turn(self, messages: list[ModelMessage], info: Any) -> ModelResponse:
        self.sent.append(deepcopy(messages))
        return self.turns.pop(0)

    async def conversation(self) -> Conversation:
        """What to go on with: healed by the store, or as the library's own repair has it."""
        if isinstance(self.conversations, TurnledgerConversationStore):
            found = await self.conversations.load_healed(CID)
        else:
            found = await self.conversations.load(CID)
            if found is not None:
                found.messages = repair_messages(found.messages)
        return found or Conversation(conversation_id=CID)

    async def ask(self, prompt: str | None, conversation: Conversation | None = None, **options: Any) -> Any:
        """One run to its end or its pause, saved after every step."""
        begun = conversation or await self.conversation()
        async with self.agent.iter(prompt, conversation=begun, **options) as run:
            async for _ in saving(self.conversations, run, begun):
                pass
        return run.result

    async def kept(self, count: int) -> None:
        """Waits until the store has that many messages."""
        while len((await self.conversations.load_entries(CID)) or ()) < count:
            await asyncio.sleep(0.01)


def shape(messages: Sequence[ModelMessage]) -> str:
    """Messages in the words of the table: `u`, `a`, `c:` call, `r:` its result."""
    told = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                told.append(f"c:{part.tool_call_id}")
            elif isinstance(part, ToolReturnPart):
                told.append(f"r:{part.tool_call_id} {part.content}")
            elif isinstance(part, UserPromptPart | TextPart):
                told.append("u" if isinstance(part, UserPromptPart) else "a")
    return " ".join(told)


async def killed(conversations: Any) -> None:
    await Shop(conversations, calls("die")).ask("Where is my parcel?")


async def paused(conversations: TurnledgerConversationStore) -> None:
    """A human must approve first; what was made until then is held."""
    shop = Shop(conversations, calls("label"), calls("refund", first=2))
    conversations.store.hold(CID, "run-1", [LINK])
    result = await shop.ask("A label, and my money back")
    if not isinstance(result.output, DeferredToolRequests):
        raise RuntimeError("the run did not pause")


SCENES = {"killed": killed, "paused": paused}

if __name__ == "__main__":
    store = TurnledgerConversationStore(Path(sys.argv[2]), execution_id="run-1")
    asyncio.run(SCENES[sys.argv[1]](store))
