"""The chat message history of LangChain: driven by its own runnables, beside its `FileChatMessageHistory`."""

import asyncio
import inspect
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.judges.official import library
from turnledger import ConversationStore, InvalidArgument, InvalidId

for _name in ("langchain", "langchain_community.chat_message_histories", "langgraph.checkpoint.sqlite.aio"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library(_name)

from langchain_core.chat_history import BaseChatMessageHistory  # noqa: E402
from langchain_core.messages import (  # noqa: E402
    AIMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from tests.system.adapters import langchain_scenes as scenes  # noqa: E402
from tests.system.adapters.langgraph_shop import shape, why_not  # noqa: E402
from tests.system.adapters.outcomes_langchain import OUTCOMES  # noqa: E402
from tests.system.adapters.staging import OURS  # noqa: E402
from turnledger.adapters.langchain import TurnledgerHistory  # noqa: E402

SIGNATURES = {
    "add_messages": "(self, messages: 'Sequence[BaseMessage]') -> 'None'",
    "aadd_messages": "(self, messages: 'Sequence[BaseMessage]') -> 'None'",
    "aget_messages": "(self) -> 'list[BaseMessage]'",
    "clear": "(self) -> 'None'",
    "aclear": "(self) -> 'None'",
}
"""The base class as it was read in release 1.8.3 of langchain-core."""

CALL = {"id": "c1", "name": "f", "args": {"x": 1}, "type": "tool_call"}
ALL: list[Any] = [
    SystemMessage("Be kind.", id="s1"),
    HumanMessage("hi", id="h1", name="ann", additional_kwargs={"own": [1, None]}),
    AIMessage(
        [{"type": "text", "text": "let me see", "index": 0}],
        id="a1",
        tool_calls=[CALL],
        invalid_tool_calls=[
            {"id": "c2", "name": "g", "args": "{", "error": "cut", "type": "invalid_tool_call"}
        ],
        additional_kwargs={"refusal": None},
        response_metadata={"model_name": "m"},
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    ),
    ToolMessage("found", tool_call_id="c1", id="t1", artifact={"rows": [1, 2]}, additional_kwargs={"z": 1}),
    ToolMessage("broken", tool_call_id="c2", id="t2", status="error"),
    AIMessage("yes", id="a2"),
]


def with_messages(messages: list[Any], store: Any = ":memory:") -> TurnledgerHistory:
    history = TurnledgerHistory("s", store)
    history.add_messages(messages)
    return history


@pytest.mark.parametrize("method", SIGNATURES)
def test_the_base_class_is_the_one_that_was_read(method: str) -> None:
    assert str(inspect.signature(getattr(BaseChatMessageHistory, method))) == SIGNATURES[method]


@pytest.mark.parametrize(("scene", "who"), OUTCOMES, ids=lambda value: value.replace(" ", "-"))
def test_after_each_scene_the_model_is_sent_a_list_that_it_takes(
    scene: str, who: str, tmp_path: Path
) -> None:
    path = tmp_path / ("store.db" if who == OURS else "store.json")
    history = scenes.history_of(who, path)
    scenes.SCENES[scene](history, path, who)
    sent = scenes.asked_at_last(history)
    scenes.closed(history)
    refused = why_not(sent)
    assert " ".join(shape(sent)) + (f", refused: {refused}" if refused else "") == OUTCOMES[scene, who]
    if who == OURS:
        assert refused is None
        with ConversationStore(path, create=False) as store:
            assert store.verify().ok


def test_messages_come_back_as_they_were_given() -> None:
    history = with_messages(ALL)
    assert history.messages == ALL
    assert asyncio.run(history.aget_messages()) == ALL
    history.close()


def test_they_do_one_by_one_and_awaited() -> None:
    async def told() -> Any:
        history = TurnledgerHistory("s")
        for message in ALL:
            await history.aadd_messages([message])
        found = await history.aget_messages()
        await history.aclear()
        return found, await history.aget_messages()

    assert asyncio.run(told()) == (ALL, [])


def test_they_do_after_a_heal_too() -> None:
    history = with_messages([*ALL[1:4], HumanMessage("and?", id="h2")])
    found = history.messages
    assert [message for message in found if message in ALL] == ALL[1:4]
    (placeholder,) = [message for message in found[:-1] if message not in ALL]
    assert (placeholder.type, placeholder.tool_call_id) == ("tool", "c2")
    history.close()


def test_what_was_read_and_is_given_back_is_not_kept_twice() -> None:
    history = with_messages([*ALL[1:4], HumanMessage("and?", id="h2")])
    version = history.store.version("s")
    history.add_messages(history.messages)
    assert history.store.version("s") == version
    history.close()


def test_equal_messages_without_ids_are_different_messages() -> None:
    history = with_messages([HumanMessage("hi"), HumanMessage("hi")])
    assert len(history.messages) == 2
    history.close()


def test_a_cleared_history_begins_anew_and_the_log_keeps_it() -> None:
    history = with_messages(ALL)
    version = history.store.version("s")
    history.clear()
    assert history.messages == []
    assert len(history.store.buffer("s", at=version)) == len(ALL)
    history.add_messages(ALL)
    assert history.messages == ALL
    assert history.store.verify().ok
    history.close()


def test_an_unknown_history_is_empty_and_is_not_begun_by_reading() -> None:
    with ConversationStore(":memory:") as store:
        history = TurnledgerHistory("s", store)
        history.clear()
        assert history.messages == []
        assert list(store.conversations()) == []
        history.close()
        assert store.verify().ok  # it is the caller's to close


def test_what_is_no_message_to_keep_is_refused() -> None:
    history = TurnledgerHistory("s")
    with pytest.raises(InvalidArgument):
        history.add_messages([RemoveMessage(id="h1")])
    for given in (
        ["a", None],
        [7],
        [{"a": 1}],
        [("nobody", "a")],
        "a",
        HumanMessage("a"),
        {"role": "user"},
        7,
    ):
        with pytest.raises(InvalidArgument):
            history.add_messages(given)  # type: ignore[arg-type]
    assert history.messages == []
    with pytest.raises(InvalidId):
        TurnledgerHistory("")
    history.close()


def test_what_langchain_reads_as_a_message_is_one() -> None:
    history = with_messages(["a", ("ai", "b"), {"role": "user", "content": "c"}])
    assert [(m.type, m.content) for m in history.messages] == [("human", "a"), ("ai", "b"), ("human", "c")]
    history.close()


@pytest.mark.parametrize(
    "odd",
    [
        FunctionMessage(name="f", content="x"),
        ToolMessage("x", tool_call_id=""),
        ToolMessage("x", tool_call_id=" "),
        AIMessage("", tool_calls=[{**CALL, "id": ""}]),
        AIMessage("", tool_calls=[{**CALL, "id": None}] * 2),
    ],
)
def test_no_message_keeps_a_conversation_from_being_read(odd: Any) -> None:
    history = with_messages([HumanMessage("q"), odd, odd, HumanMessage("r")])
    found = history.messages
    assert (found[0], found[-1]) == (HumanMessage("q"), HumanMessage("r"))
    declared = [call["id"] for message in found for call in getattr(message, "tool_calls", ())]
    assert all(declared)
    assert len(set(declared)) == len(declared)
    assert [message.tool_call_id for message in found if isinstance(message, ToolMessage)] == declared
    history.close()


def _circle() -> list[Any]:
    circle: list[Any] = [b"\xff"]
    circle.append(circle)
    return circle


class Mute:
    def __repr__(self) -> str:
        raise RuntimeError("mute")


@pytest.mark.parametrize(
    ("artifact", "kept"),
    [
        (b"\x89PNG\xfb\xff", "iVBOR/v/"),
        ({"image": bytearray(b"\xff"), b"\xff": [memoryview(b"\xff")]}, {"image": "/w==", "/w==": ["/w=="]}),
        (_circle(), ["/w==", "..."]),
        (Mute(), "<Unserializable Mute object>"),
    ],
)
def test_an_artifact_of_whatever_kind_is_kept_in_the_words_of_json(artifact: Any, kept: Any) -> None:
    history = with_messages([*ALL[:2], AIMessage("", tool_calls=[CALL])])
    history.add_messages([ToolMessage("x", tool_call_id="c1", artifact=artifact)])
    assert history.messages[-1].artifact == kept
    history.close()


@pytest.mark.parametrize(
    ("arguments", "read"),
    [
        ('{"n": 1}', {"n": 1}),
        ({"n": 1}, {"n": 1}),
        (None, {}),
        ("{cut", {"invalid_json": "{cut"}),
        ([1], {"value": [1]}),
    ],
    ids=repr,
)
def test_what_another_client_called_is_read_with_its_result_however_it_spelled_the_arguments(
    arguments: Any, read: Any
) -> None:
    call = {"tool_call_id": "c1", "name": "track", "arguments": arguments}
    with ConversationStore(":memory:") as store:
        store.append(
            "s",
            [
                {"role": "user", "content": ["Where?", 1]},
                {"role": "assistant", "content": "", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c1", "content": {"where": "depot"}},
            ],
        )
        user, turn, result = TurnledgerHistory("s", store).messages
    assert isinstance(turn, AIMessage)
    assert [(made["id"], made["name"], made["args"]) for made in turn.tool_calls] == [("c1", "track", read)]
    assert (user.content, result.content) == ('["Where?",1]', '{"where":"depot"}')


def test_an_equal_call_in_a_message_of_another_id_is_another_call() -> None:
    """A model that counts its ids anew lost the second call and its result."""
    history = TurnledgerHistory("s", ConversationStore(":memory:"))
    call = {"id": "call_0", "name": "status", "args": {}}
    for number in (1, 2):
        history.add_messages([HumanMessage("Ready?")])
        turn = AIMessage("", id=f"run-{number}", tool_calls=[call])
        history.add_messages([turn])
        history.add_messages([turn])  # sent again
        history.add_messages([ToolMessage(f"reading {number}", tool_call_id="call_0", id=f"tool-{number}")])
    assert [message.id for message in history.messages if message.id] == [
        "run-1",
        "tool-1",
        "run-2",
        "tool-2",
    ]
    assert [message.content for message in history.messages[2::3]] == ["reading 1", "reading 2"]
    assert history.store.verify().ok
