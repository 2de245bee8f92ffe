"""Pydantic AI's own agent on a store of ours: what breaks a conversation elsewhere leaves it sound here."""

import asyncio
import inspect
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from time import sleep
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.judges import anthropic
from tests.judges.official import library
from tests.system.adapters.outcomes_pydantic_ai import OUTCOMES
from tests.system.adapters.staging import check_log, run
from turnledger import ConversationStore, InvalidArgument, Record

pytestmark = pytest.mark.filterwarnings("ignore")  # of the library's own

library("pydantic_ai")

import anyio  # noqa: E402
from pydantic_ai import BinaryContent, Conversation, DeferredToolRequests  # noqa: E402
from pydantic_ai.conversation_store import (  # noqa: E402
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
    InMemoryConversationStore,
)
from pydantic_ai.conversation_store import ConversationStore as Theirs  # noqa: E402
from pydantic_ai.messages import (  # noqa: E402
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RunUsage  # noqa: E402

from tests.system.adapters.pydantic_ai_judge import why_not  # noqa: E402
from tests.system.adapters.pydantic_ai_scenes import SCENES  # noqa: E402
from tests.system.adapters.pydantic_ai_shop import CID, Shop, calls, says, shape  # noqa: E402
from turnledger.adapters.pydantic_ai import TurnledgerConversationStore  # noqa: E402
from turnledger.adapters.threads import in_thread  # noqa: E402

SIGNATURES = {
    "read_record": "(self, conversation_id: str) -> ConversationRecord | None",
    "read_records": (
        "(self, *, scope: str | None = None, limit: int | None = None) -> Sequence[ConversationRecord]"
    ),
    "write_record": (
        "(self, record: ConversationRecord, *, new_entries: Sequence[ConversationEntry] = (), "
        "expected_revision: str | None) -> None"
    ),
    "delete_record": "(self, conversation_id: str, *, expected_revision: str) -> None",
    "read_entry": "(self, entry_id: str) -> ConversationEntry",
    "read_history": "(self, head_id: str | None, *, limit: int | None = None) -> list[ConversationEntry]",
}
RECORD_FIELDS = (
    "conversation_id head_id usage deferred_tool_requests scope forked_from forked_at branches revision "
    "updated_at format_version"
)


@pytest.fixture
def conversations() -> Iterator[TurnledgerConversationStore]:
    with ConversationStore(":memory:") as store:
        yield TurnledgerConversationStore(store)


def asked(text: str) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)])


def returned(content: Any, call_id: str = "call-1", name: str = "track") -> ModelRequest:
    return ModelRequest(parts=[ToolReturnPart(tool_name=name, content=content, tool_call_id=call_id)])


async def saved(conversations: Any, *messages: ModelMessage, cid: str = CID, **options: Any) -> Conversation:
    """A new conversation, or the one that is there with more messages; as it is loaded then."""
    found = await conversations.load(cid) or Conversation(conversation_id=cid)
    found.messages.extend(messages)
    await conversations.save(found, **options)
    loaded: Conversation = await conversations.load(cid)
    return loaded


@cache
def played(scene: str, whose: str, folder: Path) -> Any:
    return run(SCENES[scene](whose, folder / f"{whose}.db"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A folder for each scene."""
    yield cache(lambda scene: tmp_path_factory.mktemp(scene.replace(" ", "-")))


@pytest.mark.parametrize(("scene", "whose"), OUTCOMES)
def test_the_scene_ends_as_the_table_says(scene: str, whose: str, folder: Any) -> None:
    assert played(scene, whose, folder(scene)) == OUTCOMES[scene, whose]


@pytest.mark.parametrize("scene", SCENES)
def test_after_the_scene_the_log_is_sound_and_its_list_valid(scene: str, folder: Any) -> None:
    played(scene, "turnledger", folder(scene))
    check_log(folder(scene) / "turnledger.db", CID, "anthropic", anthropic.why_not)
    with ConversationStore(folder(scene) / "turnledger.db") as store:
        healed = run(TurnledgerConversationStore(store).load_healed(CID))
        assert run(why_not(healed.messages)) is None


def test_what_a_paused_run_held_is_delivered_on_its_last_word(folder: Any) -> None:
    scene = "a human approves in another process"
    played(scene, "turnledger", folder(scene))
    with ConversationStore(folder(scene) / "turnledger.db") as store:
        assert [m["content"] for m in store.wire(CID) if m.get("toolArtifacts")] == ["Refunded"]
        assert store.held(CID) == []


def test_the_protocol_is_as_it_was_read() -> None:
    found = {name: str(inspect.signature(getattr(Theirs, name))) for name in SIGNATURES}
    assert {name: text.replace("'", "") for name, text in found.items()} == SIGNATURES
    assert Theirs.__abstractmethods__ == set(SIGNATURES) - {"read_history"}
    assert list(ConversationRecord.__dataclass_fields__) == RECORD_FIELDS.split()
    assert list(ConversationEntry.__dataclass_fields__) == ["id", "parent_id", "message", "kind"]


def test_it_works_on_trio_too() -> None:
    async def main() -> None:
        conversations = TurnledgerConversationStore(":memory:")
        assert shape((await saved(conversations, asked("Hello"))).messages) == "u"
        assert len(await conversations.list_conversations()) == 1

    library("trio").run(main)


@pytest.mark.parametrize("how", ["a task", "a timeout", "a scope of anyio"])
def test_a_save_that_has_begun_is_ended_before_a_cancellation_goes_on(how: str) -> None:
    """Whichever way: asyncio's own, twice, or anyio's."""
    ended: list[str] = []

    def slow() -> None:
        sleep(0.2)
        ended.append("call")

    async def main() -> None:
        begun = asyncio.create_task(cancelled())
        await asyncio.sleep(0.05)
        for _ in range(2 if how == "a task" else 0):
            begun.cancel()
            await asyncio.sleep(0.01)
        await asyncio.wait([begun])
        assert begun.cancelled() == (how == "a task")
        assert ended == ["call", "cancellation"]

    async def cancelled() -> None:
        try:
            if how == "a scope of anyio":
                with anyio.move_on_after(0.05):
                    await in_thread(slow)
                    await anyio.sleep(9)
            else:
                async with asyncio.timeout(0.05 if how == "a timeout" else None):
                    await in_thread(slow)
        except TimeoutError:
            pass
        finally:
            ended.append("cancellation")

    asyncio.run(main())


def test_what_a_call_in_a_thread_raises_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        run(in_thread(lambda: 1 / 0))


def test_a_save_cancelled_in_mid_write_conflicts_with_nobody(tmp_path: Path) -> None:
    async def main() -> None:
        conversations = TurnledgerConversationStore(tmp_path / "s.db")
        for turn in range(12):
            found = await conversations.load(CID) or Conversation(conversation_id=CID)
            found.messages.append(asked(f"{turn}"))
            save = asyncio.create_task(conversations.save(found))
            await asyncio.sleep(0.001 * (turn % 6))
            save.cancel()
            await asyncio.wait([save])
            assert save.cancelled() or save.exception() is None
        await saved(conversations, asked("last"))
        await conversations.close()

    asyncio.run(main())


def test_a_record_comes_back_as_it_was_written(conversations: TurnledgerConversationStore) -> None:
    waiting = DeferredToolRequests(approvals=[ToolCallPart("refund", {"sum": 9}, tool_call_id="call-1")])
    record = ConversationRecord(
        conversation_id=CID,
        head_id=None,
        usage=RunUsage(requests=2, input_tokens=7, details={"cached": 3}),
        deferred_tool_requests=waiting,
        scope="ann",
        branches=[],
    )
    run(conversations.write_record(record, expected_revision=None))
    assert run(conversations.read_record(CID)) == record
    assert run(conversations.read_records(scope="ann")) == [record]


def test_messages_come_back_as_they_were_saved(conversations: TurnledgerConversationStore) -> None:
    messages = [
        ModelRequest(
            parts=[
                SystemPromptPart("Be kind"),
                UserPromptPart(["Look", BinaryContent(b"\x00\xff", media_type="image/png")]),
            ],
            instructions="Be brief",
            metadata={"a": 1},
        ),
        ModelResponse(
            parts=[
                ThinkingPart("Hm", signature="c2ln", provider_name="anthropic"),
                TextPart("I look"),
                ToolCallPart("track", '{"parcel": 7}', tool_call_id="call-1"),
            ],
            model_name="told",
        ),
        returned({"where": ["depot", None, 1.5]}),
    ]
    in_json = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(messages))
    assert run(saved(conversations, *messages)).messages == in_json


def test_saving_twice_what_did_not_change_stores_no_message_again(
    conversations: TurnledgerConversationStore,
) -> None:
    run(saved(conversations, asked("Hello")))
    run(saved(conversations))
    assert [m["content"] for m in conversations.store.buffer(CID)] == ["Hello"]
    assert len(conversations.store.records(CID, "pydantic-ai.entry")) == 1


def test_instructions_are_told_once_in_the_view(conversations: TurnledgerConversationStore) -> None:
    told = [replace(asked(text), instructions="Be kind") for text in ("Hello", "And?")]
    run(saved(conversations, told[0], says("Hi")))
    run(saved(conversations, told[1]))
    assert [m["role"] for m in conversations.store.buffer(CID)] == ["system", "user", "assistant", "user"]


def test_the_writer_that_was_late_gets_a_conflict_and_leaves_nothing(tmp_path: Path) -> None:
    one, other = (TurnledgerConversationStore(tmp_path / "s.db") for _ in range(2))
    run(saved(one, asked("Hello")))
    mine, theirs = run(one.load(CID)), run(other.load(CID))
    theirs.messages.append(says("I"))
    run(other.save(theirs))
    mine.messages.append(says("No, I"))
    with pytest.raises(ConversationConflict):
        run(one.save(mine))
    assert [m["content"] for m in one.store.buffer(CID)] == ["Hello", "I"]
    assert len(one.store.records(CID, "pydantic-ai.entry")) == 2


def test_of_many_writers_at_once_each_step_has_one_winner(tmp_path: Path) -> None:
    stores = [TurnledgerConversationStore(tmp_path / "s.db") for _ in range(4)]
    run(saved(stores[0], asked("Hello")))

    async def save(conversations: TurnledgerConversationStore, text: str) -> int:
        found = await conversations.load(CID)
        found.messages.append(says(text))
        try:
            await conversations.save(found)
        except ConversationConflict:
            return 0
        return 1

    async def all_at_once() -> int:
        tried = [save(stores[n % 4], f"{n}") for n in range(16)]
        return sum(await asyncio.gather(*tried))

    won = run(all_at_once())
    loaded = run(stores[0].load(CID))
    assert len(loaded.messages) == 1 + won == len(stores[0].store.buffer(CID))
    assert won >= 1


def test_a_new_conversation_under_a_known_id_conflicts(
    conversations: TurnledgerConversationStore,
) -> None:
    run(saved(conversations, asked("Hello")))
    with pytest.raises(ConversationConflict):
        run(conversations.save(Conversation(conversation_id=CID, messages=[asked("Me too")])))


def test_another_scope_does_not_see_it(conversations: TurnledgerConversationStore) -> None:
    run(saved(conversations, asked("Hello"), scope="ann"))
    assert run(conversations.load(CID, scope="bob")) is None
    assert run(conversations.list_conversations(scope="bob")) == []
    with pytest.raises(ConversationConflict):
        run(saved(conversations, says("Hi"), scope="bob"))


def test_a_scope_lists_the_last_saved_first_up_to_a_limit(conversations: TurnledgerConversationStore) -> None:
    for cid in ("a", "b", "c"):
        run(saved(conversations, asked("Hello"), cid=cid, scope="ann / ü"))
    run(saved(conversations, asked("Hello"), cid="other", scope="ann / o"))
    run(saved(conversations, says("Hi"), cid="a"))
    found = run(conversations.list_conversations(scope="ann / ü", limit=2))
    assert [record.conversation_id for record in found] == ["a", "c"]
    assert len(run(conversations.list_conversations())) == 4


def test_a_scope_that_could_not_be_listed_is_refused(conversations: TurnledgerConversationStore) -> None:
    with pytest.raises(InvalidArgument, match="scope"):
        run(conversations.save(Conversation(conversation_id=CID, messages=[asked("1")]), scope="\ud800"))
    assert run(conversations.list_conversations()) == []
    for scope in ("", " ", "x" * 500, "日本", "a\x00b"):
        run(saved(conversations, asked("Hello"), cid=f"c{len(scope)}{scope[:1]!a}", scope=scope))
        assert len(run(conversations.list_conversations(scope=scope))) == 1


def test_conversations_of_others_in_the_store_are_none_of_the_library_s(
    conversations: TurnledgerConversationStore,
) -> None:
    conversations.store.append("plain", {"role": "user", "content": "Hi"})
    assert run(conversations.load("plain")) is None
    assert run(conversations.list_conversations()) == []


async def branched(conversations: Any) -> Conversation:
    begun = await saved(conversations, asked("1"), says("2"), asked("3"), says("4"))
    branch: Conversation = await conversations.branch(CID, at=2, expected_revision=begun.revision)
    branch.messages.append(asked("5"))
    await conversations.save(branch)
    return branch


def test_a_branch_leaves_the_view_and_stays_in_the_log(conversations: TurnledgerConversationStore) -> None:
    run(branched(conversations))
    assert [m["content"] for m in conversations.store.buffer(CID)] == ["1", "2", "5"]
    [tip] = run(conversations.read_record(CID)).branches
    left = run(conversations.read_history(tip))
    assert [entry.message.parts[0].content for entry in left] == ["1", "2", "3", "4"]
    assert conversations.store.verify().ok


def test_branching_back_brings_the_messages_back(conversations: TurnledgerConversationStore) -> None:
    branch = run(branched(conversations))
    [tip] = run(conversations.read_record(CID)).branches
    run(conversations.branch(CID, from_entry=tip, expected_revision=branch.revision))
    assert [m["content"] for m in conversations.store.buffer(CID)] == ["1", "2", "3", "4"]


def test_a_branch_before_a_call_forgets_the_call(conversations: TurnledgerConversationStore) -> None:
    begun = run(saved(conversations, asked("1"), calls("track"), returned("depot"), says("There")))
    branch = run(conversations.branch(CID, at=1, expected_revision=begun.revision))
    branch.messages += [calls("track"), returned("shop")]
    run(conversations.save(branch))
    found = [m["metadata"].get("tool_call_id") for m in conversations.store.buffer(CID)]
    assert found == [None, None, "call-1"]
    assert conversations.store.buffer(CID)[2]["content"] == "shop"


def test_messages_that_a_branch_left_behind_are_brought_on(
    conversations: TurnledgerConversationStore,
) -> None:
    """A process died between the record of a branch and its messages."""
    run(saved(conversations, asked("1"), says("2")))
    state = conversations.store.records(CID, "pydantic-ai.record")[-1].value
    [first, _] = (record.key for record in conversations.store.records(CID, "pydantic-ai.entry"))
    behind = {**state, "record": {**state["record"], "head_id": first, "branches": []}}
    conversations.store.append(CID, [], records=[Record("pydantic-ai.record", None, behind)])
    assert [m["content"] for m in conversations.store.buffer(CID)] == ["1", "2"]
    run(saved(conversations, says("3")))
    assert [m["content"] for m in conversations.store.buffer(CID)] == ["1", "3"]


def test_a_fork_shares_the_entries(tmp_path: Path) -> None:
    one = TurnledgerConversationStore(tmp_path / "s.db")
    run(saved(one, asked("1"), says("2"), asked("3")))
    run(one.fork(CID, at=2, new_conversation_id="fork"))
    forked = run(saved(one, asked("4"), cid="fork"))
    other = TurnledgerConversationStore(tmp_path / "s.db")
    assert run(other.load("fork")).messages == forked.messages
    assert len(other.store.records("fork", "pydantic-ai.entry")) == 1, "its own alone"
    assert [m["content"] for m in other.store.buffer("fork")] == ["1", "2", "4"]
    assert [m["content"] for m in other.store.buffer(CID)] == ["1", "2", "3"]


def test_a_fork_of_a_fork_outlives_what_it_came_from(tmp_path: Path) -> None:
    one = TurnledgerConversationStore(tmp_path / "s.db")
    run(saved(one, asked("1")))
    for source, fork in ((CID, "fork"), ("fork", "fork of it")):
        run(one.fork(source, new_conversation_id=fork))
        run(saved(one, says(fork), cid=fork))
    run(one.delete(CID))
    run(one.delete("fork"))
    other = TurnledgerConversationStore(tmp_path / "s.db")
    assert shape(run(other.load("fork of it")).messages) == "u a a"


def test_a_deleted_conversation_can_begin_again(
    conversations: TurnledgerConversationStore,
) -> None:
    run(saved(conversations, asked("1"), scope="ann"))
    version = conversations.store.version(CID)
    run(conversations.delete(CID))
    assert run(conversations.load(CID)) is None
    assert run(conversations.list_conversations(scope="ann")) == []
    assert conversations.store.buffer(CID) == []
    assert [m["content"] for m in conversations.store.buffer(CID, at=version)] == ["1"]
    run(saved(conversations, asked("2"), scope="ann"))
    assert [m["content"] for m in conversations.store.buffer(CID)] == ["2"]


def test_deleting_what_was_saved_since_is_a_conflict(conversations: TurnledgerConversationStore) -> None:
    begun = run(saved(conversations, asked("1")))
    run(saved(conversations, says("2")))
    with pytest.raises(ConversationConflict):
        run(conversations.delete_record(CID, expected_revision=begun.revision))
    with pytest.raises(ConversationConflict):
        run(conversations.delete_record("unknown", expected_revision="1"))


def test_a_head_that_nothing_holds_is_a_conflict(conversations: TurnledgerConversationStore) -> None:
    record = ConversationRecord(conversation_id=CID, head_id="unknown")
    with pytest.raises(ConversationConflict):
        run(conversations.write_record(record, expected_revision=None))
    assert run(conversations.read_record(CID)) is None


def test_an_entry_is_found_by_its_id_in_another_process(tmp_path: Path) -> None:
    one = TurnledgerConversationStore(tmp_path / "s.db")
    run(saved(one, asked("Hello"), cid="other"))
    run(saved(one, asked("1"), says("2")))
    entries = run(one.load_entries(CID))
    other = TurnledgerConversationStore(tmp_path / "s.db")
    assert run(other.read_entry(entries[0].id)) == entries[0]
    for unknown in ("unknown", "", " ", "x" * 300, "\ud800", "a\x00b"):
        with pytest.raises(KeyError):
            run(other.read_entry(unknown))


def test_the_last_messages_alone_can_be_loaded_and_saved_behind(
    conversations: TurnledgerConversationStore,
) -> None:
    run(saved(conversations, asked("1"), says("2"), asked("3")))
    window = run(conversations.load(CID, limit=1))
    assert shape(window.messages) == "u"
    window.messages.append(says("4"))
    run(conversations.save(window))
    assert [m["content"] for m in conversations.store.buffer(CID)] == ["1", "2", "3", "4"]


def test_a_healed_conversation_goes_on_where_the_loaded_one_is_refused(
    conversations: TurnledgerConversationStore,
) -> None:
    run(saved(conversations, asked("1"), calls("track")))
    shop = Shop(conversations, says("Yes"))
    with pytest.raises(Exception, match="unprocessed tool calls"):
        run(shop.ask("Hello?", run(conversations.load(CID))))
    run(shop.ask("Hello?", run(conversations.load_healed(CID))))
    assert run(conversations.read_record(CID)).branches == []


def test_a_healed_conversation_waits_for_nothing(conversations: TurnledgerConversationStore) -> None:
    shop = Shop(conversations, calls("refund"))
    run(shop.ask("My money back"))
    assert run(conversations.load(CID)).deferred_tool_requests is not None
    found = run(conversations.load_healed(CID))
    assert found.deferred_tool_requests is None
    shop.turns[:] = [says("Yes")]
    run(shop.ask("Never mind", found))
    assert run(conversations.load(CID)).deferred_tool_requests is None


def test_saved_step_by_step_it_is_what_the_run_ended_with(conversations: TurnledgerConversationStore) -> None:
    shop = Shop(conversations, calls("track"), calls("label", first=2), says("There"))
    result = run(shop.ask("Where is my parcel?"))
    loaded = run(conversations.load(CID))
    assert loaded.messages == result.all_messages()
    assert loaded.usage == result.usage
    steps = [record.value["viewed"] for record in conversations.store.records(CID, "pydantic-ai.record")]
    assert len(set(steps)) == 3, "one a model's turn"
    assert run(conversations.read_record(CID)).branches == []


def test_a_sound_conversation_is_healed_to_itself(conversations: TurnledgerConversationStore) -> None:
    thought = ThinkingPart("Hm", signature="c2ln", provider_name="anthropic")
    turn = ModelResponse(parts=[thought, *calls("track", "label").parts], model_name="told")
    results = ModelRequest(parts=[*returned("depot").parts, *returned("label.txt", "call-2", "label").parts])
    begun = run(saved(conversations, asked("1"), turn, results, says("There")))
    assert run(conversations.load_healed(CID)).messages == begun.messages


@pytest.mark.parametrize(
    ("messages", "healed"),
    {
        "dangling": ([asked("1"), calls("track"), asked("2")], "u c:call-1 r:call-1 {} u"),
        "orphan": ([asked("1"), returned("zz", "zz"), asked("2")], "u u"),
        "result first": (
            [asked("1"), returned("depot"), calls("track"), asked("2")],
            "u c:call-1 r:call-1 depot u",
        ),
        "doubled": (
            [asked("1"), calls("track"), returned("one"), returned("two"), asked("2")],
            "u c:call-1 r:call-1 one u",
        ),
        "not adjacent": (
            [asked("1"), calls("track"), asked("2"), returned("depot"), asked("3")],
            "u c:call-1 r:call-1 depot u u",
        ),
        "an id used again": (
            [asked("1"), calls("track"), returned("one"), calls("track"), returned("two"), asked("2")],
            "u c:call-1 r:call-1 one c:call-1-2 r:call-1-2 two u",
        ),
    }.values(),
    ids=["dangling", "orphan", "result first", "doubled", "not adjacent", "an id used again"],
)
def test_a_broken_history_is_healed_for_the_library_too(
    conversations: TurnledgerConversationStore, messages: list[Any], healed: str
) -> None:
    run(saved(conversations, *messages))
    found = run(conversations.load_healed(CID)).messages
    assert shape(found) == healed.format("Tool call was interrupted; no result.")
    assert run(why_not(found)) is None


def test_an_id_twice_in_one_turn_is_two_calls(conversations: TurnledgerConversationStore) -> None:
    turn = ModelResponse(parts=[*calls("track").parts, *calls("label").parts])
    run(saved(conversations, asked("1"), turn, asked("2")))
    found = run(conversations.load_healed(CID)).messages
    assert shape(found).startswith("u c:call-1 c:call-1-2 r:call-1 ")
    assert run(why_not(found)) is None


def test_requests_that_follow_one_another_stay_apart(conversations: TurnledgerConversationStore) -> None:
    """Else saving what was healed would branch from where it was sound."""
    mixed = ModelRequest(parts=[UserPromptPart("meanwhile"), *returned("depot").parts])
    begun = run(saved(conversations, asked("1"), calls("track"), mixed, asked("2")))
    assert run(conversations.load_healed(CID)).messages == begun.messages


def test_what_was_compacted_stays_out_and_its_summary_is_sent(
    conversations: TurnledgerConversationStore,
) -> None:
    run(saved(conversations, asked("1"), says("2"), asked("3"), says("4")))
    conversations.store.compact(CID, keep_last=2, summary={"role": "user", "content": "Before: 1 and 2"})
    found = run(conversations.load_healed(CID))
    assert [m.parts[0].content for m in found.messages] == ["Before: 1 and 2", "3", "4"]
    run(Shop(conversations, says("6")).ask("5", found))
    assert shape(run(conversations.load(CID)).messages) == "u u a u a"
    assert [m["content"] for m in conversations.store.buffer(CID)][-2:] == ["5", "6"]


CALL = {"tool_call_id": "call-9", "name": "track", "arguments": {"parcel": 7}}
FOREIGN: dict[str, list[dict[str, Any]]] = {
    "a user's": [{"role": "user", "content": "FOREIGN"}],
    "an assistant's": [{"role": "assistant", "content": "FOREIGN"}],
    "the system's": [{"role": "system", "content": "FOREIGN"}],
    "two of one role": [{"role": "user", "content": text} for text in ("FOREIGN", "FOREIGN too")],
    "a call and its result": [
        {"role": "user", "content": "Where?"},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "content": "FOREIGN", "tool_call_id": "call-9"},
    ],
    "a call without its result": [
        {"role": "assistant", "content": "FOREIGN", "tool_calls": [CALL]},
        {"role": "user", "content": "Well?"},
    ],
}


async def saved_at_the_end(shop: Shop, prompt: str) -> None:
    """A run whose result is saved, in which the library may have merged neighbours."""
    result = await shop.agent.run(prompt, conversation=await shop.conversation())
    await shop.conversations.save(result)


def texts(messages: list[ModelMessage]) -> list[Any]:
    parts = (part for message in messages for part in message.parts)
    return [getattr(part, "content", None) for part in parts]


@pytest.mark.parametrize("ask", [Shop.ask, saved_at_the_end])
@pytest.mark.parametrize("before", [[asked("1"), says("2")], [asked("1")]], ids=["turn", "prompt"])
@pytest.mark.parametrize("foreign", FOREIGN.values(), ids=FOREIGN)
def test_what_came_from_outside_is_there_once_however_often_it_goes_on(
    conversations: TurnledgerConversationStore, foreign: list[Any], before: list[Any], ask: Any
) -> None:
    run(saved(conversations, *before))
    store = conversations.store
    store.append(CID, foreign)
    told = len(store.buffer(CID))
    for turn in range(3):
        shop = Shop(conversations, says(f"answer {turn}"))
        run(ask(shop, f"prompt {turn}"))
        assert [texts(shop.sent[-1]).count(text) for text in ("FOREIGN", "1")] == [1, 1]
        assert run(why_not(shop.sent[-1])) is None
    found = [m["content"] for m in store.buffer(CID)]
    assert len(found) == told + 6 + 1, "its instructions are told once too"
    assert store.verify().ok


@pytest.mark.parametrize("ask", [Shop.ask, saved_at_the_end])
def test_a_summary_is_there_once_however_often_it_goes_on(
    conversations: TurnledgerConversationStore, ask: Any
) -> None:
    run(saved(conversations, asked("1"), says("2"), asked("3"), says("4")))
    for first in (5, 7):
        summary = {"role": "user", "content": f"before {first}"}
        conversations.store.compact(CID, keep_last=2, summary=summary)
        for turn in range(2):
            shop = Shop(conversations, says(f"answer {turn}"))
            run(ask(shop, f"prompt {turn}"))
            sent = texts(shop.sent[-1])
            assert [text for text in sent if text.startswith("before")] == [f"before {first}"]
            assert len(sent) == 4 + 2 * turn


def test_a_branch_before_what_came_from_outside_leaves_it_and_back_brings_it(
    conversations: TurnledgerConversationStore,
) -> None:
    run(saved(conversations, asked("1"), says("2")))
    conversations.store.append(CID, {"role": "user", "content": "FOREIGN"})
    begun = run(conversations.load_healed(CID))
    run(conversations.save(begun))
    branch = run(conversations.branch(CID, at=2, expected_revision=begun.revision))
    assert [m["content"] for m in conversations.store.buffer(CID)] == ["1", "2"]
    [tip] = run(conversations.read_record(CID)).branches
    run(conversations.branch(CID, from_entry=tip, expected_revision=branch.revision))
    assert [m["content"] for m in conversations.store.buffer(CID)] == ["1", "2", "FOREIGN"]
    assert texts(run(conversations.load_healed(CID)).messages) == ["1", "2", "FOREIGN"]


@pytest.mark.parametrize("ask", [Shop.ask, saved_at_the_end])
@pytest.mark.parametrize("foreign", FOREIGN.values(), ids=FOREIGN)
def test_a_conversation_that_the_core_made_goes_on_healed(
    conversations: TurnledgerConversationStore, foreign: list[Any], ask: Any
) -> None:
    store = conversations.store
    store.append(CID, [{"role": "user", "content": "Hello"}, *foreign])
    told = len(store.buffer(CID))
    for turn in range(3):
        shop = Shop(conversations, says(f"answer {turn}"))
        run(ask(shop, f"prompt {turn}"))
        assert texts(shop.sent[-1]).count("FOREIGN") == 1
        assert run(why_not(shop.sent[-1])) is None
    assert len(store.buffer(CID)) == told + 6 + 1, "its instructions are told once too"
    assert len(run(conversations.load(CID)).messages) >= 6


def test_a_conversation_that_the_core_made_is_in_no_scope(conversations: TurnledgerConversationStore) -> None:
    conversations.store.append(CID, {"role": "user", "content": "Hi"})
    assert run(conversations.load_healed(CID, scope="ann")) is None
    conversations.store.clear(CID)
    assert run(conversations.load_healed(CID)) is None


def forked(conversations: TurnledgerConversationStore, at: int | None = None) -> Conversation:
    """A fork of the core's, as it is loaded."""
    store = conversations.store
    store.fork(CID, at=store.version(CID) if at is None else at, into="fork")
    found: Conversation = run(conversations.load("fork"))
    return found


def test_a_fork_of_the_core_s_goes_on_and_shares_the_entries(
    conversations: TurnledgerConversationStore,
) -> None:
    begun = run(saved(conversations, asked("1"), says("2"), scope="ann"))
    at = conversations.store.version(CID)
    run(saved(conversations, asked("3")))
    assert forked(conversations, at).messages == begun.messages
    assert run(conversations.load_healed("fork", scope="ann")).messages == begun.messages
    went_on = run(saved(conversations, asked("4"), cid="fork"))
    assert texts(went_on.messages) == ["1", "2", "4"]
    assert [m["content"] for m in conversations.store.buffer("fork")] == ["1", "2", "4"]
    assert len(conversations.store.records("fork", "pydantic-ai.entry")) == 1, "its own alone"
    listed = run(conversations.list_conversations(scope="ann"))
    assert [(one.conversation_id, one.forked_from) for one in listed] == [("fork", CID), (CID, None)]


def test_a_fork_of_the_core_s_has_what_came_from_outside_once(
    conversations: TurnledgerConversationStore,
) -> None:
    run(saved(conversations, asked("1"), says("2")))
    conversations.store.append(CID, {"role": "user", "content": "FOREIGN"})
    run(Shop(conversations, says("Yes")).ask("prompt"))
    forked(conversations)
    conversations.store.fork("fork", at=conversations.store.version("fork"), into="fork of it")
    healed = run(conversations.load_healed("fork of it"))
    assert healed.messages == run(conversations.load_healed(CID)).messages
    healed.messages.append(asked("3"))
    run(conversations.save(healed))
    told = [m["content"] for m in conversations.store.buffer("fork of it")]
    assert told == [m["content"] for m in conversations.store.buffer(CID)] + ["3"]


@pytest.mark.parametrize("event", range(1, 20))
def test_a_fork_of_the_core_s_at_any_event_goes_on(
    conversations: TurnledgerConversationStore, event: int
) -> None:
    run(branched(conversations))
    store = conversations.store
    if event > store.version(CID):
        return
    store.fork(CID, at=event, into="fork")
    told = [m["content"] for m in store.buffer("fork")]
    found = run(conversations.load_healed("fork")) or Conversation(conversation_id="fork")
    found.messages.append(asked("end"))
    run(conversations.save(found))
    after = [m["content"] for m in store.buffer("fork")]
    assert texts(run(conversations.load_healed("fork")).messages) == after
    assert after[-1] == "end"
    assert [text for text in told if text not in after] in ([], ["3", "4"], ["4"], ["3"]), (told, after)


def test_a_deleted_fork_of_the_core_s_stays_deleted(conversations: TurnledgerConversationStore) -> None:
    run(saved(conversations, asked("1")))
    forked(conversations)
    run(conversations.delete("fork"))
    assert run(conversations.load("fork")) is None
    assert run(conversations.load_healed("fork")) is None
    assert texts(run(saved(conversations, asked("2"), cid="fork")).messages) == ["2"]


def test_a_fork_of_the_core_s_outlives_its_source_and_a_fork_of_it_both(tmp_path: Path) -> None:
    one = TurnledgerConversationStore(tmp_path / "s.db")
    begun = run(saved(one, asked("1"), says("2")))
    forked(one)
    run(one.fork("fork", new_conversation_id="fork of it"))
    run(one.delete(CID))
    other = TurnledgerConversationStore(tmp_path / "s.db")
    assert run(other.load("fork")).messages == begun.messages
    run(other.delete("fork"))
    last = TurnledgerConversationStore(tmp_path / "s.db")
    assert run(last.load("fork of it")).messages == begun.messages


def any_message(random: Random) -> ModelMessage:
    """A message of any kind; calls and results share few ids."""
    number = random.randrange(1, 4)
    return random.choice(
        [
            asked("Hello"),
            says("There"),
            ModelResponse(parts=[ThinkingPart("Hm"), *calls("track", first=number).parts]),
            ModelResponse(parts=[*calls("track", "label", first=number).parts]),
            returned("depot", f"call-{number}"),
        ]
    )


async def any_life(conversations: TurnledgerConversationStore, random: Random) -> list[ModelMessage]:
    """Saves and branches, in any order; the healed messages at the end."""
    loaded = await saved(conversations, asked("1"))
    for _ in range(random.randrange(1, 6)):
        if random.random() < 0.3:
            at = random.randrange(1, len(loaded.messages) + 1)
            await conversations.branch(CID, at=at, expected_revision=loaded.revision)
        loaded = await saved(conversations, *(any_message(random) for _ in range(random.randrange(4))))
    state = conversations.store.records(CID, "pydantic-ai.record")[-1].value
    assert state["viewed"] == state["record"]["head_id"], "the messages are those of the history"
    healed = await conversations.load_healed(CID)
    return list(healed.messages) if healed else []


@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False))
def test_whatever_is_saved_and_branched_what_is_healed_is_valid(random: Random) -> None:
    with ConversationStore(":memory:") as store:
        healed = run(any_life(TurnledgerConversationStore(store), random))
        assert run(why_not(healed)) is None
        assert anthropic.why_not(store.sendable(CID, provider="anthropic").request or {}) is None
        assert store.verify().ok


@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False))
def test_whatever_the_core_does_saving_what_was_healed_changes_nothing_more(random: Random) -> None:
    with ConversationStore(":memory:") as store:
        conversations = TurnledgerConversationStore(store)
        run(saved(conversations, asked("1")))
        for _ in range(random.randrange(1, 5)):
            run(saved(conversations, *(any_message(random) for _ in range(random.randrange(3)))))
            store.append(CID, random.choice(list(FOREIGN.values())))
            if random.random() < 0.3:
                store.compact(CID, keep_last=2, summary={"role": "user", "content": "before"})
            healed = run(conversations.load_healed(CID))
            sent = texts(healed.messages)
            run(conversations.save(healed))
            told = len(store.buffer(CID))
            for _ in range(2):
                again = run(conversations.load_healed(CID))
                assert texts(again.messages) == sent
                run(conversations.save(again))
                assert len(store.buffer(CID)) == told
        assert store.verify().ok


async def listed(conversations: Any) -> list[Any]:
    """What a caller of the library's sees, whatever store is underneath: ids and times left out."""
    told: list[Any] = []
    await saved(conversations, asked("1"), says("2"), cid="a", scope="ann")
    await saved(conversations, asked("3"), cid="a")
    await conversations.fork("a", at=2, new_conversation_id="b")
    begun = await saved(conversations, asked("4"), cid="b")
    await conversations.branch("b", at=1, expected_revision=begun.revision)
    await saved(conversations, says("5"), cid="b")
    for record in await conversations.list_conversations(scope="ann"):
        history = await conversations.load_entries(record.conversation_id)
        parents = [entry.parent_id for entry in history]
        ids = [None, *(entry.id for entry in history)]
        told.append((record.conversation_id, record.forked_from, len(record.branches), parents == ids[:-1]))
        told.append(shape([entry.message for entry in history]))
    await conversations.delete("a")
    told.append([record.conversation_id for record in await conversations.list_conversations()])
    told.append(shape((await conversations.load("b")).messages))
    return told


def test_a_caller_sees_what_the_library_s_own_store_shows(conversations: TurnledgerConversationStore) -> None:
    assert run(listed(conversations)) == run(listed(InMemoryConversationStore()))
