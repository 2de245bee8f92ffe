"""The AI SDK: one UI message is several steps, a tool part is a call and its result."""

from typing import Any

import pytest

from turnledger import ConversationStore
from turnledger.importing import import_transcript, read_messages

GO = {"role": "user", "parts": [{"type": "text", "text": "go"}]}


def tool(state: str, **others: Any) -> dict[str, Any]:
    return {"type": "tool-look", "toolCallId": "t1", "state": state, "input": {"at": 1}, **others}


def read(*parts: dict[str, Any]) -> list[Any]:
    return read_messages([{"role": "assistant", "parts": list(parts)}], "vercel-ai")


def outline(messages: list[Any]) -> list[tuple[str, Any]]:
    return [(one["role"], one["content"]) for one in messages]


TEXT = {"type": "text", "text": "It is red."}
STEP = {"type": "step-start"}


def test_what_is_said_in_the_next_step_stands_behind_the_results() -> None:
    found = read(STEP, tool("output-available", output="red"), STEP, TEXT)
    assert outline(found) == [("assistant", ""), ("tool", "red"), ("assistant", "It is red.")]


def test_what_is_said_in_the_same_step_stands_with_its_calls() -> None:
    found = read(STEP, tool("output-available", output="red"), TEXT)
    assert outline(found) == [("assistant", "It is red."), ("tool", "red")]


def test_without_marks_of_steps_what_is_said_after_a_result_stands_behind_it() -> None:
    found = read(tool("output-available", output="red"), TEXT)
    assert outline(found) == [("assistant", ""), ("tool", "red"), ("assistant", "It is red.")]


@pytest.mark.parametrize("state", ["input-available", "approval-requested", "approval-responded"])
def test_a_call_that_waits_is_open_and_is_healed_when_the_user_goes_on(state: str) -> None:
    with ConversationStore(":memory:") as store:
        asked = {"role": "assistant", "parts": [tool(state, approval={"id": "a"})]}
        import_transcript(store, "c", [GO, asked, GO])
        assert [entry["metadata"].get("healed") for entry in store.buffer("c")] == [None, None, True, None]


def test_a_call_whose_arguments_were_on_their_way_is_no_call_and_is_kept() -> None:
    (turn,) = read(TEXT, tool("input-streaming"))
    assert "tool_calls" not in turn
    assert turn["metadata"]["vercel-ai"]["parts"][0]["input"] == {"at": 1}


def test_what_the_provider_ran_is_no_call_and_is_kept() -> None:
    (turn,) = read(tool("output-available", output="red", providerExecuted=True), TEXT)
    assert "tool_calls" not in turn
    assert turn["metadata"]["vercel-ai"]["parts"][0]["output"] == "red"


def test_errors_and_denials_are_results_that_failed() -> None:
    for state, said in [("output-error", {"errorText": "oops"}), ("output-denied", {})]:
        _, result = read(tool(state, **said))
        assert result["content"] == said.get("errorText", "Tool execution denied.")
        assert result["metadata"]["is_error"] is True


def test_a_result_that_looks_like_parts_is_json_all_the_same() -> None:
    _, result = read(tool("output-available", output=[{"text": "a", "id": 7}]))
    assert result["content"] == '[{"text":"a","id":7}]'


def test_the_text_of_an_old_message_stands_behind_its_results() -> None:
    call = {"state": "result", "toolCallId": "t1", "toolName": "look", "args": {}, "result": "red"}
    old = {"role": "assistant", "content": "It is red.", "toolInvocations": [call]}
    found = read_messages([old], "vercel-ai")
    assert outline(found) == [("assistant", ""), ("tool", "red"), ("assistant", "It is red.")]


def test_an_old_call_without_its_result_stands_behind_what_was_said() -> None:
    call = {"state": "call", "toolCallId": "t1", "toolName": "look", "args": {"at": 1}}
    old = {"role": "assistant", "content": "I look.", "toolInvocations": [call]}
    (turn,) = read_messages([old], "vercel-ai")
    assert turn["content"] == "I look."
    assert turn["tool_calls"] == [{"tool_call_id": "t1", "name": "look", "arguments": {"at": 1}}]


def test_what_a_page_keeps_for_itself_is_no_message() -> None:
    assert outline(read_messages([{"role": "data", "content": "", "data": [1]}, GO], "vercel-ai")) == [
        ("user", "go")
    ]


def test_an_approval_stands_with_the_result_that_it_led_to() -> None:
    approval = {"type": "tool-approval-response", "approvalId": "a", "approved": True}
    result = {
        "type": "tool-result",
        "toolCallId": "t1",
        "toolName": "f",
        "output": {"type": "text", "value": "x"},
    }
    (message,) = read_messages([{"role": "tool", "content": [approval, result]}], "vercel-ai")
    assert message["tool_call_id"] == "t1"
    assert message["metadata"]["vercel-ai"]["parts"][0]["approvalId"] == "a"


def test_a_part_with_a_place_of_its_own_keeps_it() -> None:
    (turn,) = read({"type": "data-map", "at": "home"}, TEXT)
    assert turn["metadata"]["vercel-ai"]["parts"] == [{"at": 0, "part": {"type": "data-map", "at": "home"}}]
