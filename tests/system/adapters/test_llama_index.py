"""LlamaIndex's own agent and memory on a store of ours: what bricks a chat elsewhere leaves it sound here."""

import asyncio
import inspect
from pathlib import Path
from typing import Any

import pytest

from tests.judges import openai_chat
from tests.judges.official import library
from tests.system.adapters.outcomes_llama_index import OUTCOMES
from tests.system.adapters.staging import OURS, check_outcomes, ends_as_told, in_child, run
from turnledger import AsyncConversationStore, ConversationStore

pytestmark = pytest.mark.filterwarnings("ignore")  # of LlamaIndex's own

library("llama_index.core")

from llama_index.core.agent.workflow import FunctionAgent  # noqa: E402
from llama_index.core.base.llms.types import (  # noqa: E402
    ChatMessage,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.memory import Memory  # noqa: E402
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus  # noqa: E402
from llama_index.core.workflow import Context  # noqa: E402

from tests.system.adapters.llama_index_desk import LINK, SCENES, SESSION, Desk, calls, result, says, shape  # noqa: E402
from turnledger.adapters.llama_index import TurnledgerChatStore, conversation_of  # noqa: E402
from turnledger.adapters.llama_index_agent import StepwiseAgent  # noqa: E402
from turnledger.domain.messages import PLACEHOLDER_TEXT  # noqa: E402

CID = conversation_of(SESSION)
ARCHIVED = MessageStatus.ARCHIVED


test_the_scene_ends_as_the_table_says_and_leaves_a_sound_log = ends_as_told(
    SCENES, OUTCOMES, "desk.db", CID, "openai-chat", openai_chat.why_not
)


def test_every_scene_has_an_outcome_of_both() -> None:
    check_outcomes(OUTCOMES, SCENES)


def texts(messages: list[Any]) -> list[str]:
    return [message.content or "" for message in messages]


async def opened(*messages: ChatMessage) -> Any:
    store: Any = TurnledgerChatStore(AsyncConversationStore(":memory:"))
    await store.add_messages("k", list(messages))
    return store


def test_messages_come_back_as_they_were_given() -> None:
    given = [
        says("Be kind", "system"),
        ChatMessage(
            role="user",
            blocks=[TextBlock(text="Look"), ImageBlock(url="https://x.y/z.png")],
            additional_kwargs={"k": [1, None]},
        ),
        ChatMessage(role="assistant", blocks=[ThinkingBlock(content="hm"), *calls("track").blocks]),
        result("track", "depot"),
        ChatMessage(
            role="assistant",
            content="x",
            additional_kwargs={
                "tool_calls": [{"id": "o1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
            },
        ),
    ]

    async def main() -> None:
        store = await opened(*given)
        *found, placeholder = await store.get_messages("k")
        assert found == given
        assert placeholder.content == PLACEHOLDER_TEXT
        await store.add_message("k", placeholder)  # of a reading, and not a result
        assert (await store.store.open_calls(conversation_of("k")))[0].id == "o1"
        await store.store.close()

    run(main())


def test_the_oldest_are_archived_or_deleted_and_a_call_never_without_its_result() -> None:
    async def main() -> None:
        store = await opened(
            says("1", "user"),
            calls("track"),
            result("track", "depot"),
            says("2"),
            says("3", "user"),
            says("4"),
        )
        assert texts(await store.archive_oldest_messages("k", 2)) == ["1", "", "depot"]
        assert texts(await store.get_messages("k")) == ["2", "3", "4"]
        assert texts(await store.get_messages("k", ARCHIVED)) == ["1", "", "depot"]
        assert texts(await store.delete_oldest_messages("k", 1)) == ["2"]
        assert texts(await store.get_messages("k", None)) == ["1", "", "depot", "3", "4"]
        assert texts(await store.get_messages("k", None, limit=2, offset=2)) == ["depot", "3"]
        assert await store.count_messages("k") == 2
        assert await store.count_messages("k", None) == 5
        await store.delete_messages("k", ARCHIVED)
        assert texts(await store.get_messages("k", None)) == ["3", "4"]
        await store.add_message("k", says("old"), ARCHIVED)
        await store.delete_messages("k", MessageStatus.ACTIVE)
        assert texts(await store.get_messages("k", None)) == ["old"]
        assert (await store.store.verify()).ok
        await store.store.close()

    run(main())


def told(messages: list[Any]) -> list[str]:
    """Calls and results by their id, all else by its text."""
    words = []
    for message in messages:
        ids = [f"call {block.tool_call_id}" for block in message.blocks if block.block_type == "tool_call"]
        if message.role == "tool":
            ids = [f"result {message.additional_kwargs['tool_call_id']}"]
        words += ids or [message.content or ""]
    return words


def answered(call_id: Any, text: str = "depot") -> ChatMessage:
    return ChatMessage(role="tool", content=text, additional_kwargs={"tool_call_id": call_id})


def called(*ids: str | None, **arguments: Any) -> ChatMessage:
    blocks = [ToolCallBlock(tool_call_id=i, tool_name="track", tool_kwargs=arguments) for i in ids]
    return ChatMessage(role="assistant", blocks=blocks)


def test_what_is_archived_leaves_in_one_transaction() -> None:
    async def main() -> None:
        store = await opened(says("1", "user"), calls("track"), result("track", "depot"), says("2"))
        before = await store.store.version(conversation_of("k"))
        await store.archive_oldest_messages("k", 2)
        events = [event async for event in store.store.events(conversation_of("k"), after=before)]
        assert len({event.time for event in events}) == 1
        assert len(events) == 6  # three records, and what left the buffer
        await store.store.close()

    run(main())


def test_two_who_archive_the_same_at_once_archive_it_once() -> None:
    async def main() -> None:
        store = await opened(*[says(str(number), "user") for number in range(9)])
        await asyncio.gather(*[store.archive_oldest_messages("k", 4) for _ in range(3)])
        assert sorted(texts(await store.get_messages("k", None))) == [str(number) for number in range(9)]
        assert (await store.store.verify()).ok
        await store.store.close()

    run(main())


def test_messages_that_are_set_anew_replace_the_others_in_one_transaction() -> None:
    async def main() -> None:
        store = await opened(says("1", "user"), calls("track"), result("track", "depot"))
        await store.archive_oldest_messages("k", 1)
        before = await store.store.version(conversation_of("k"))
        await store.set_messages("k", [says("new", "user"), calls("track"), result("track", "train")])
        events = [event async for event in store.store.events(conversation_of("k"), after=before)]
        assert len({event.time for event in events}) == 1
        assert texts(await store.get_messages("k", None)) == ["new", "", "train"]
        assert (await store.store.verify()).ok
        await store.store.close()

    run(main())


def test_a_result_stands_behind_its_call_where_another_worker_answered_in_between() -> None:
    async def main() -> None:
        store = await opened(says("Where?", "user"), called("c1", "c2"), says("There"), answered("c2"))
        found = await store.get_messages("k")
        assert told(found) == ["Where?", "call c1", "call c2", "result c2", "result c1", "There"]
        assert found[3].content == PLACEHOLDER_TEXT
        await store.store.close()

    run(main())


def test_an_equal_call_is_another_one_where_the_user_has_said_something_since() -> None:
    async def main() -> None:
        turn = [called("track"), answered("track"), says("There")]
        store = await opened(says("Where?", "user"), *turn)
        await store.add_messages("k", [says("And now?", "user"), *turn])
        said = told(await store.get_messages("k"))
        assert said[4:] == ["And now?", "call track-2", "result track-2", "There"]
        await store.add_messages("k", turn[:2])  # sent again
        assert told(await store.get_messages("k")) == said
        await store.store.close()

    run(main())


@pytest.mark.parametrize("missing", [None, ""])
def test_calls_without_an_id_are_given_one_and_their_results_too(missing: str | None) -> None:
    async def main() -> None:
        store = await opened(says("Where?", "user"), called(missing, missing), answered(missing, "1"))
        await store.add_message("k", answered(missing, "2"))
        found = await store.get_messages("k")
        ids = [block.tool_call_id for block in found[1].blocks]
        assert len(set(ids)) == 2
        assert told(found[2:]) == [f"result {call_id}" for call_id in ids]
        assert texts(found[2:]) == ["1", "2"]
        await store.store.close()

    run(main())


def test_a_result_of_no_call_is_in_the_log_and_does_not_come_back() -> None:
    async def main() -> None:
        store = await opened(says("Where?", "user"), answered(None, "lost"), answered("c9", "lost"))
        assert told(await store.get_messages("k")) == ["Where?"]
        assert len(await store.store.entries(conversation_of("k"))) == 3
        await store.store.close()

    run(main())


@pytest.mark.parametrize(
    ("limit", "offset", "found"), [(0, None, ""), (-1, None, "012"), (2, -1, "01"), (None, -2, "012")]
)
def test_a_limit_or_an_offset_below_nothing_is_none(limit: int, offset: int, found: str) -> None:
    async def main() -> None:
        store = await opened(*[says(text, "user") for text in "012"])
        assert "".join(texts(await store.get_messages("k", limit=limit, offset=offset))) == found
        await store.store.close()

    run(main())


def test_an_empty_key_is_one_too() -> None:
    async def main() -> None:
        store = await opened(says("1", "user"))
        await store.add_message("", says("1", "user"))
        assert await store.get_keys() == ["", "k"]
        await store.store.close()

    run(main())


def test_what_a_paused_run_holds_is_delivered_once_on_the_answer_of_another_process(tmp_path: Path) -> None:
    async def meanwhile() -> None:
        async with Desk(OURS, tmp_path, says("I wait")) as desk:
            await desk.ask("And meanwhile?")

    async def resumed() -> None:
        async with Desk(OURS, tmp_path, says("Refunded")) as desk:
            await desk.approve()
            assert await desk.chats.resume(SESSION, desk.agent, desk.memory) is None

    assert in_child("llama_index_desk", "paused", OURS, tmp_path) == 0
    with ConversationStore(tmp_path / "desk.db") as store:
        run(meanwhile())
        assert [held.type for held in store.held(CID)] == ["link"]
        run(resumed())
        assert store.held(CID) == []
        shown = [m for m in store.wire(CID) if m.get("toolArtifacts")]
        assert [(m["content"], m["toolArtifacts"]) for m in shown] == [("Refunded", [LINK])]
        assert store.verify().ok


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("kind", [FunctionAgent, StepwiseAgent])
def test_a_run_that_waits_is_resumed_whichever_agent_it_is(
    several: bool, kind: type[FunctionAgent], tmp_path: Path
) -> None:
    async def main() -> None:
        how: Any = {"kind": kind, "several": several}
        async with Desk(OURS, tmp_path, calls("label"), calls("refund"), **how) as desk:
            await desk.ask_and_leave("Pay back")
        async with Desk(OURS, tmp_path, says("I wait"), says("Refunded"), says("Bye"), **how) as desk:
            await desk.ask("And meanwhile?")
            await desk.approve()
            await desk.ask("Thanks")
            wanted = {
                FunctionAgent: "u u a c:label r:label made c:refund r:refund 9 EUR: yes a u",
                StepwiseAgent: "u c:label r:label made c:refund r:refund 9 EUR: yes u a a u",
            }
            assert shape(desk.sent[-1]) == wanted[kind]
            assert [m["content"] for m in await desk.chats.store.wire(CID) if m.get("toolArtifacts")] == [
                "Refunded"
            ]

    run(main())


def test_a_run_that_is_given_up_waits_no_more_and_what_is_held_goes_with_the_next_answer(
    tmp_path: Path,
) -> None:
    async def main() -> None:
        async with Desk(OURS, tmp_path, calls("label"), calls("refund")) as desk:
            await desk.ask_and_leave("Pay back")
            await desk.chats.keep_context(SESSION, None)
            assert await desk.chats.resume(SESSION, desk.agent, desk.memory) is None
            desk.turns[:] = [says("Never mind")]
            await desk.ask("Well?")
            shown = [m["content"] for m in await desk.chats.store.wire(CID) if m.get("toolArtifacts")]
            assert shown == ["Never mind"]

    run(main())


def test_a_password_in_the_place_is_not_shown() -> None:
    assert "secret" not in repr(TurnledgerChatStore.model_construct(place="postgresql://a:secret@h/d"))


def test_one_message_is_deleted_by_its_number_and_stays_in_the_log() -> None:
    async def main() -> None:
        store = await opened(says("1", "user"), says("2"), says("3", "user"))
        assert (await store.delete_message("k", 2)).content == "2"
        assert await store.delete_message("k", 2) is None
        assert await store.delete_message("nobody", 1) is None
        assert texts(await store.get_messages("k")) == ["1", "3"]
        assert len(await store.store.entries(conversation_of("k"), at=4)) == 3
        await store.store.close()

    run(main())


def test_messages_that_are_set_and_go_on_from_those_that_are_there_are_appended() -> None:
    async def main() -> None:
        store = await opened(says("1", "user"), says("2"))
        await store.set_messages("k", [says("1", "user"), says("2"), says("3", "user")])
        assert [entry.number for entry in await store.store.entries(conversation_of("k"))] == [1, 2, 3]
        await store.set_messages("k", [says("new", "user")])
        assert texts(await store.get_messages("k", None)) == ["new"]
        assert await store.get_keys() == ["k"]
        await store.delete_messages("k")
        assert await store.get_keys() == []
        await store.delete_messages("nobody")
        assert (await store.store.verify()).ok
        await store.store.close()

    run(main())


def test_a_memory_that_is_full_archives_its_oldest_turns(tmp_path: Path) -> None:
    async def main() -> None:
        store: Any = TurnledgerChatStore(tmp_path / "chats.db")
        memory = Memory.from_defaults(
            session_id=SESSION,
            chat_store=store,
            token_limit=60,
            token_flush_size=10,
            chat_history_token_ratio=0.5,
        )
        for number in range(12):
            await memory.aput(says(f"question number {number}", "user"))
            await memory.aput(says(f"answer number {number}"))
        active = texts(await memory.aget())
        archived = texts(await memory.aget_all(status=ARCHIVED))
        assert active[-1] == "answer number 11"
        assert 0 < len(active) < 24
        assert archived[0] == "question number 0"
        assert archived + active == texts(await memory.aget_all(status=None))
        assert len(archived + active) == 24
        assert (await store.store.verify()).ok
        await store.store.close()

    run(main())


def test_a_store_that_is_not_asynchronous_serves_too_and_is_left_open() -> None:
    async def main(store: ConversationStore) -> None:
        chats: Any = TurnledgerChatStore(store)
        for key in ("a", "b"):
            await chats.add_message(key, says("Hi", "user"))
        assert await chats.get_keys() == ["a", "b"]
        await chats.close()

    with ConversationStore(":memory:") as store:
        run(main(store))
        assert len(store.buffer(conversation_of("a"))) == 1


def test_a_dump_of_the_chat_store_tells_where_it_is(tmp_path: Path) -> None:
    async def main() -> None:
        store: Any = TurnledgerChatStore(tmp_path / "chats.db")
        await store.add_message("k", says("1", "user"))
        again: Any = TurnledgerChatStore.model_validate(store.model_dump())
        assert texts(await again.get_messages("k")) == ["1"]
        for one in (store, again):
            await one.store.close()

    run(main())


def test_the_protocol_is_the_one_that_was_read() -> None:
    def told(name: str) -> str:
        found = str(inspect.signature(getattr(AsyncDBChatStore, name)))
        for module in (
            "typing.",
            "llama_index.core.base.llms.types.",
            "llama_index.core.storage.chat_store.base_db.",
        ):
            found = found.replace(module, "")
        return found.replace("<MessageStatus.ACTIVE: 'active'>", "ACTIVE").replace("MessageStatus", "Status")

    own = TurnledgerChatStore.__dict__.keys() & AsyncDBChatStore.__dict__.keys()
    assert {name: told(name) for name in own if "message" in name or name == "get_keys"} == {
        "add_message": "(self, key: str, message: ChatMessage, status: Status = ACTIVE) -> None",
        "add_messages": "(self, key: str, messages: List[ChatMessage], status: Status = ACTIVE) -> None",
        "archive_oldest_messages": "(self, key: str, n: int) -> List[ChatMessage]",
        "count_messages": "(self, key: str, status: Optional[Status] = ACTIVE) -> int",
        "delete_message": "(self, key: str, idx: int) -> Optional[ChatMessage]",
        "delete_messages": "(self, key: str, status: Optional[Status] = None) -> None",
        "delete_oldest_messages": "(self, key: str, n: int) -> List[ChatMessage]",
        "get_keys": "(self) -> List[str]",
        "get_messages": "(self, key: str, status: Optional[Status] = ACTIVE, limit: Optional[int] = None, "
        "offset: Optional[int] = None) -> List[ChatMessage]",
        "set_messages": "(self, key: str, messages: List[ChatMessage], status: Status = ACTIVE) -> None",
    }


def test_what_is_built_on_of_agents_and_contexts_is_what_was_read() -> None:
    def names(of: Any, name: str) -> list[str]:
        return list(inspect.signature(getattr(of, name)).parameters)

    assert names(FunctionAgent, "take_step") == ["self", "ctx", "llm_input", "tools", "memory"]
    assert names(FunctionAgent, "handle_tool_call_results") == ["self", "ctx", "results", "memory"]
    assert names(FunctionAgent, "finalize") == ["self", "ctx", "output", "memory"]
    assert FunctionAgent.model_fields["scratchpad_key"].default == "scratchpad"
    assert names(Context, "from_dict") == ["workflow", "data", "serializer"]
    assert names(Context, "to_dict")[:2] == ["self", "serializer"]
