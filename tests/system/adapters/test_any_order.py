"""Whatever comes, in whatever order, from whichever worker: the next request is one that OpenAI takes."""

import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.judges import openai_chat
from tests.judges.official import library
from tests.system.adapters.staging import run
from turnledger import AsyncConversationStore

pytestmark = pytest.mark.filterwarnings("ignore")  # of the frameworks' own

Step = tuple[str, Any]
SEEDS, STEPS = 40, 25


def steps(dice: random.Random) -> list[Step]:
    """Turns, results and words, under ids that are used again, cut off, doubled and out of their order."""
    found: list[Step] = []
    for _ in range(STEPS):
        ids = [f"c{dice.randrange(4)}" for _ in range(dice.randint(1, 3))]
        found.append(
            dice.choice(
                [
                    ("user", f"q{dice.randrange(2)}"),
                    ("assistant", f"a{dice.randrange(2)}"),
                    ("calls", [(call_id, dice.randrange(2)) for call_id in ids]),
                    ("calls", [(call_id, dice.randrange(2)) for call_id in dict.fromkeys(ids)]),
                    ("result", (ids[0], f"r{dice.randrange(2)}")),
                    ("again", dice.random()),
                ]
            )
        )
    return found


async def played(
    seed: int,
    store: AsyncConversationStore,
    write: Callable[[Step], Awaitable[None]],
    give_back: Callable[[float], Awaitable[None]],
    request: Callable[[], Awaitable[list[dict[str, Any]]]],
) -> None:
    for kind, value in steps(random.Random(seed)):
        await (give_back(value) if kind == "again" else write((kind, value)))
        chat = await request()
        assert openai_chat.why_not({"messages": chat}) is None, (seed, kind, value, chat)
    assert (await store.verify()).ok


@pytest.mark.parametrize("seed", range(SEEDS))
def test_agent_framework(seed: int) -> None:
    library("agent_framework")
    from agent_framework import Content, Message, SessionContext

    from tests.system.adapters.agent_framework_desk import as_chat
    from turnledger.adapters.agent_framework import TurnledgerHistoryProvider

    def message(kind: str, value: Any) -> Message:
        if kind == "result":
            return Message("tool", [Content.from_function_result(value[0], result=value[1])])
        if kind == "calls":
            made = [Content.from_function_call(i, "track", arguments=f'{{"n": {n}}}') for i, n in value]
            return Message("assistant", made)
        return Message(kind, [value])

    async def main() -> None:
        store = AsyncConversationStore(":memory:")
        history = TurnledgerHistoryProvider(store)

        async def give_back(place: float) -> None:
            said = await history.get_messages("s")
            begin = int(place * len(said))
            await history.save_messages("s", said[begin : begin + 3])

        async def request() -> list[dict[str, Any]]:
            context: Any = SessionContext(session_id="s", input_messages=[Message("user", ["And?"])])
            await history.before_run(agent=None, session=None, context=context, state={})
            return as_chat(context.get_messages(include_input=True))

        await played(
            seed, store, lambda step: history.save_messages("s", [message(*step)]), give_back, request
        )
        await store.close()

    run(main())


@pytest.mark.parametrize("seed", range(SEEDS))
def test_llama_index(seed: int) -> None:
    library("llama_index.core")
    from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock

    from tests.system.adapters.llama_index_desk import as_chat
    from turnledger.adapters.llama_index import TurnledgerChatStore

    def message(kind: str, value: Any) -> ChatMessage:
        if kind == "result":
            return ChatMessage(role="tool", content=value[1], additional_kwargs={"tool_call_id": value[0]})
        if kind == "calls":
            blocks = [
                ToolCallBlock(tool_call_id=i, tool_name="track", tool_kwargs={"n": n}) for i, n in value
            ]
            return ChatMessage(role="assistant", blocks=blocks)
        return ChatMessage(role=kind, content=value)

    async def main() -> None:
        store = AsyncConversationStore(":memory:")
        chats: Any = TurnledgerChatStore(store)

        async def give_back(place: float) -> None:
            said = await chats.get_messages("k")
            begin = int(place * len(said))
            await chats.add_messages("k", said[begin : begin + 3])

        async def request() -> list[dict[str, Any]]:
            return [*as_chat(await chats.get_messages("k")), {"role": "user", "content": "And?"}]

        await played(seed, store, lambda step: chats.add_message("k", message(*step)), give_back, request)
        await store.close()

    run(main())


def test_a_tool_that_is_polled_under_one_id_is_there_each_time_agent_framework() -> None:
    """The second poll was taken for the first, sent again, and the run had no end."""
    library("agent_framework")
    from agent_framework import Content, Message

    from turnledger.adapters.agent_framework import TurnledgerHistoryProvider

    async def main() -> list[str]:
        history = TurnledgerHistoryProvider(":memory:")
        await history.save_messages("s", [Message("user", ["Ready?"])])
        for said in ("not yet", "not yet", "ready"):
            call = Content.from_function_call("call_0", "status", arguments="{}")
            await history.save_messages("s", [Message("assistant", [call])])
            await history.save_messages(
                "s", [Message("tool", [Content.from_function_result("call_0", result=said)])]
            )
        found = [one for message in await history.get_messages("s") for one in message.contents]
        await history.close()
        return [str(one.result) for one in found if one.type == "function_result"]

    assert run(main()) == ["not yet", "not yet", "ready"]


def test_a_tool_that_is_polled_under_one_id_is_there_each_time_llama_index() -> None:
    library("llama_index.core")
    from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock

    from turnledger.adapters.llama_index import TurnledgerChatStore

    async def main() -> list[str]:
        chats: Any = TurnledgerChatStore(":memory:")
        await chats.add_message("k", ChatMessage(role="user", content="Ready?"))
        for said in ("not yet", "not yet", "ready"):
            call = ToolCallBlock(tool_call_id="call_0", tool_name="status", tool_kwargs={})
            await chats.add_message("k", ChatMessage(role="assistant", blocks=[call]))
            answer = ChatMessage(role="tool", content=said, additional_kwargs={"tool_call_id": "call_0"})
            await chats.add_message("k", answer)
        return [message.content for message in await chats.get_messages("k") if message.role == "tool"]

    assert run(main()) == ["not yet", "not yet", "ready"]
