"""The doctor on LangChain's dumps: each shape mended in that shape, a call wherever the message names it."""

from typing import Any

import pytest

from turnledger.domain.messages import PLACEHOLDER_TEXT
from turnledger.importing.doctor import examine

Message = dict[str, Any]


def with_data(kind: str, **data: Any) -> Message:
    return {"type": kind, "data": {"type": kind, **data}}


def constructed(kind: str, **data: Any) -> Message:
    name = {"ai": "AIMessage", "human": "HumanMessage", "tool": "ToolMessage"}[kind]
    names = ["langchain", "schema", "messages", name]
    return {"lc": 1, "type": "constructor", "id": names, "kwargs": {"type": kind, **data}}


def flat(kind: str, **data: Any) -> Message:
    return {"type": kind, "additional_kwargs": {}, **data}


def call(call_id: str, name: str = "look") -> Message:
    return {"name": name, "args": {}, "id": call_id, "type": "tool_call"}


def data_of(message: Message) -> Message:
    found: Message = message.get("kwargs") or message.get("data") or message
    return found


each_shape = pytest.mark.parametrize("shape", [with_data, constructed, flat])


@each_shape
def test_a_call_without_a_result_gets_one_in_the_shape_of_the_dump(shape: Any) -> None:
    messages = [shape("ai", content="", tool_calls=[call("c1")]), shape("human", content="and?")]
    done = examine(messages)
    assert done.formats == ("langchain",)
    (finding,) = done.findings
    assert finding.kind == "unanswered call"
    assert finding.place.startswith("[0]")
    assert finding.place.endswith("tool_calls[0]")
    (before, result, after) = done.fixed
    assert [before, after] == messages
    assert result.keys() - {"additional_kwargs"} == shape("tool").keys() - {"additional_kwargs"} | (
        {"content", "name", "tool_call_id", "status"} if shape is flat else set()
    )
    assert data_of(result) == {
        "content": PLACEHOLDER_TEXT,
        "type": "tool",
        "name": "look",
        "tool_call_id": "c1",
        "status": "error",
    }


@each_shape
def test_a_displaced_result_and_an_orphan_are_put_right(shape: Any) -> None:
    turn = shape("ai", content="", tool_calls=[call("c1")])
    asked, late = shape("human", content="a"), shape("tool", content="saw", tool_call_id="c1")
    orphan = shape("tool", content="saw", tool_call_id="c9")
    done = examine([turn, asked, late, orphan])
    assert [finding.kind for finding in done.findings] == ["displaced result", "orphan result"]
    assert done.fixed == [turn, late, asked]


def test_a_call_that_is_written_twice_goes_from_everywhere_that_names_it() -> None:
    block = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
    older = {
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
    }
    one = flat("ai", content=[{"type": "text", "text": "I look."}, block], tool_calls=[call("c1")])
    one |= {"additional_kwargs": older}
    result = flat("tool", content="saw", tool_call_id="c1")
    done = examine([one, one, result], "langchain")
    assert [finding.kind for finding in done.findings][:1] == ["repeated call"]
    kept = done.fixed[2]
    assert kept["content"] == [{"type": "text", "text": "I look."}]
    assert (kept["tool_calls"], kept["additional_kwargs"]) == ([], {"tool_calls": []})


def test_an_id_that_changes_changes_wherever_the_message_names_it() -> None:
    def turn(name: str) -> Message:
        block = {"type": "tool_use", "id": "c1", "name": name, "input": {}}
        return flat("ai", content=[block], tool_calls=[call("c1", name)])

    answer = flat("tool", content="saw", tool_call_id="c1")
    done = examine([turn("look"), answer, turn("sniff"), answer], "langchain")
    assert [finding.kind for finding in done.findings] == ["reused id"]
    renamed, result = done.fixed[2:]
    assert [renamed["content"][0]["id"], renamed["tool_calls"][0]["id"]] == ["c1-2"] * 2
    assert result["tool_call_id"] == "c1-2"


def test_a_call_with_broken_arguments_needs_its_result_too() -> None:
    broken = {"type": "invalid_tool_call", "id": "c1", "name": "look", "args": '{"a', "error": None}
    done = examine([flat("ai", content="", tool_calls=[], invalid_tool_calls=[broken])])
    assert [finding.place for finding in done.findings] == ["[0].invalid_tool_calls[0]"]
    assert done.fixed[1]["tool_call_id"] == "c1"


def test_messages_that_another_removes_are_left_out_with_it() -> None:
    asked = flat("human", content="a", id="m1")
    done = examine(
        [asked, flat("human", content="b", id="m2"), {"type": "remove", "content": "", "id": "m2"}]
    )
    assert done.fixed == [asked]
    assert [finding.place for finding in done.findings] == ["[1]", "[2]"]
