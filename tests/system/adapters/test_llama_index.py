"""LlamaIndex's own agent and memory on a store of ours: what bricks a chat elsewhere leaves it sound here."""

import inspect
from pathlib import Path
from typing import Any

import pytest

from tests.judges import openai_chat
from tests.judges.official import library
from tests.system.adapters.outcomes_llama_index import OUTCOMES
from tests.system.adapters.staging import check_outcomes, ends_as_told, run
from turnledger import AsyncConversationStore, ConversationStore

pytestmark = pytest.mark.filterwarnings("ignore")  # of LlamaIndex's own

library("llama_index.core")

from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock, ThinkingBlock  # noqa: E402
from llama_index.core.memory import Memory  # noqa: E402
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus  # noqa: E402

from tests.system.adapters.llama_index_desk import SCENES, SESSION, calls, result, says  # noqa: E402
from turnledger.adapters.llama_index import TurnledgerChatStore, conversation_of  # noqa: E402

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
        assert await store.get_messages("k") == given
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
