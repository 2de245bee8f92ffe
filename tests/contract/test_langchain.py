"""LangChain: three shapes of a dump, calls in four places, messages that remove others."""

from typing import Any

import pytest

from turnledger import ConversationStore
from turnledger.importing import import_transcript, read_messages

CALL = {"name": "f", "args": {"a": 1}, "id": "t1", "type": "tool_call"}
OPENAI_CALL = {"id": "t1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}


def human(text: str, **others: Any) -> dict[str, Any]:
    return {"type": "human", "content": text, **others}


def ai(content: Any = "", **others: Any) -> dict[str, Any]:
    return {"type": "ai", "content": content, **others}


def constructed(name: str, **held: Any) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": held}


def calls(message: dict[str, Any]) -> list[Any]:
    (read,) = read_messages([message], "langchain")
    return [(call["tool_call_id"], call["name"], call["arguments"]) for call in read.get("tool_calls", ())]


@pytest.mark.parametrize(
    "dumped",
    [
        human("hi", additional_kwargs={}, name=None),
        {"type": "human", "data": human("hi")},
        constructed("HumanMessage", content="hi", type="human"),
        constructed("HumanMessageChunk", content=["hi"]),
    ],
)
def test_the_shapes_of_a_dump_say_the_same(dumped: dict[str, Any]) -> None:
    assert read_messages([dumped]) == [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    "held",
    [
        {"tool_calls": [CALL]},
        {"tool_calls": [CALL], "additional_kwargs": {"tool_calls": [OPENAI_CALL]}},
        {"content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}}], "tool_calls": [CALL]},
        {"content": [{"type": "tool_call", "id": "t1", "name": "f", "args": {"a": 1}}]},
    ],
)
def test_a_call_is_read_once_wherever_it_stands(held: dict[str, Any]) -> None:
    assert calls({"type": "ai", "content": "", **held}) == [("t1", "f", {"a": 1})]


def test_a_call_of_an_old_dump_is_read_where_there_is_no_newer() -> None:
    assert calls(ai(additional_kwargs={"tool_calls": [OPENAI_CALL]})) == [("t1", "f", '{"a": 1}')]


def test_a_call_with_broken_arguments_is_a_call_and_its_error_is_kept() -> None:
    broken = {"type": "invalid_tool_call", "id": "t2", "name": "g", "args": '{"a', "error": "cut off"}
    (turn,) = read_messages([ai(tool_calls=[CALL], invalid_tool_calls=[broken])], "langchain")
    assert [call["tool_call_id"] for call in turn["tool_calls"]] == ["t1", "t2"]
    assert turn["metadata"]["langchain"]["invalid_tool_calls"] == [broken]


def test_a_function_call_and_its_result_are_paired_by_their_place() -> None:
    function = {"function_call": {"name": "f", "arguments": "{}"}}
    turn, result = read_messages(
        [ai(additional_kwargs=function), {"type": "function", "name": "f", "content": "x"}], "langchain"
    )
    assert turn["tool_calls"][0]["tool_call_id"] == result["tool_call_id"]


def test_a_result_that_failed_is_one_and_its_artifact_is_kept_from_the_model() -> None:
    failed = {"type": "tool", "content": "no", "tool_call_id": "t1", "status": "error", "artifact": [1]}
    with ConversationStore(":memory:") as store:
        import_transcript(store, "c", [human("go"), ai(tool_calls=[CALL]), failed])
        result = store.sendable("c", provider="anthropic").messages[-1]["content"][0]
        assert result == {"type": "tool_result", "tool_use_id": "t1", "content": "no", "is_error": True}
        assert store.buffer("c")[-1]["metadata"]["langchain"]["artifact"] == [1]


def test_a_message_that_another_removes_is_left_out() -> None:
    removal = {"type": "remove", "content": "", "id": "m1"}
    found = read_messages([human("secret", id="m1"), human("stay", id="m2"), removal])
    assert [one["content"] for one in found] == ["stay"]


def test_all_that_was_said_before_may_be_removed_at_once() -> None:
    removal = {"type": "remove", "content": "", "id": "__remove_all__"}
    assert [one["content"] for one in read_messages([human("a"), removal, human("b")])] == ["b"]


def test_another_s_role_is_the_user_s_and_is_kept() -> None:
    (read,) = read_messages([{"type": "chat", "role": "critic", "content": "no", "additional_kwargs": {}}])
    assert (read["role"], read["metadata"]["langchain"]["role"]) == ("user", "critic")


def test_a_developer_s_message_goes_back_to_openai_as_one() -> None:
    told = {"type": "system", "content": "x", "additional_kwargs": {"__openai_role__": "developer"}}
    with ConversationStore(":memory:") as store:
        import_transcript(store, "c", [told])
        assert store.sendable("c", provider="openai-chat").messages[0]["role"] == "developer"
