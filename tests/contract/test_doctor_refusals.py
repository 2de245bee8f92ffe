"""What the doctor cites is why the thing in question is refused, and what it says is mended is mended."""

from typing import Any

import pytest

from tests.doctoring import why_refused
from tests.session_samples import PARALLEL, line, use
from turnledger.importing.doctor import Examined, examine

HI: dict[str, Any] = {"role": "user", "content": "hi"}
THINKING: dict[str, Any] = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
TEXT: dict[str, Any] = {"type": "text", "text": "ok"}


def said(content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content}


def called(**call: Any) -> list[dict[str, Any]]:
    given = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}, **call}
    call_id = given.get("id")
    result = {"role": "tool", "tool_call_id": call_id, "content": "ok"}
    return [HI, {"role": "assistant", "content": None, "tool_calls": [given]}, result]


def only(examined: Examined) -> Any:
    (finding,) = examined.findings
    assert examine(examined.fixed, examined.formats[0]).sound
    return finding


@pytest.mark.parametrize("more", [[], [TEXT]])
def test_thinking_at_the_end_of_a_turn_is_refused_wherever_the_turn_stands(more: list[Any]) -> None:
    for rest in ([], [HI]):
        done = examine([HI, said([*more, THINKING]), *rest], "anthropic")
        finding = only(done)
        assert finding.kind == "thinking at the end"
        assert "cannot be `thinking`" in finding.reason
        assert done.fixed == [HI, *([said(more)] if more else []), *rest]
        assert not why_refused("anthropic", done.fixed)


def test_thinking_goes_on_in_the_next_message_of_the_assistants() -> None:
    assert examine([HI, said([THINKING]), said([TEXT])], "anthropic").sound


def test_reasoning_in_the_middle_is_refused_by_converse_too() -> None:
    reasoning = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}}
    hi = {"role": "user", "content": [{"text": "hi"}]}
    done = examine([hi, said([{"text": "ok"}, reasoning]), hi], "bedrock-converse")
    assert "cannot be `thinking`" in only(done).reason
    assert done.fixed[1] == said([{"text": "ok"}])


def test_a_late_system_message_of_a_bare_list_cites_no_refusal_that_it_does_not_mend() -> None:
    prompt = {"role": "system", "content": "Be brief."}
    done = examine([HI, prompt], "anthropic")
    finding = only(done)
    assert done.fixed == [prompt, HI]
    assert "request's 'system'" in finding.reason
    assert "Unexpected role" not in finding.reason


@pytest.mark.parametrize("arguments", ["", " "])
def test_empty_arguments_become_an_empty_map(arguments: str) -> None:
    done = examine(called(function={"name": "f", "arguments": arguments}), "openai-chat")
    assert only(done).kind == "unusable arguments"
    assert done.fixed[1]["tool_calls"][0]["function"]["arguments"] == "{}"


@pytest.mark.parametrize("function", [{"name": "", "arguments": "{}"}, {"arguments": "{}"}])
def test_a_call_that_names_no_function_is_found(function: dict[str, Any]) -> None:
    done = examine(called(function=function), "openai-chat")
    assert only(done).kind == "unusable name"
    assert done.fixed[1]["tool_calls"][0]["function"]["name"] == "unknown"


def test_a_call_without_an_id_is_not_too_long() -> None:
    done = examine(called(id=None), "openai-chat")
    finding = only(done)
    assert finding.kind == "missing id"
    assert "length" not in finding.reason


def test_an_empty_list_of_calls_is_not_content_of_none() -> None:
    finding = only(examine([HI, {**said("ok"), "tool_calls": []}], "openai-chat"))
    assert "content" not in finding.reason
    assert "empty array" in finding.reason


def test_a_late_system_message_stands_behind_messages_of_others() -> None:
    finding = only(examine([HI, {"role": "system", "content": "Be brief."}], "openai-chat"))
    assert "another one" not in finding.reason


def test_a_sidechain_of_a_session_is_examined_as_a_conversation() -> None:
    agent = {"isSidechain": True, "agentId": "x"}
    side = [
        line("s1", None, "user", "look", **agent),
        line("s2", "s1", "assistant", use("c9"), **agent),
        line("s3", "s2", "user", "go on", **agent),
    ]
    lone = line("o1", None, "user", "look", isSidechain=True)
    for session in ([*PARALLEL, *side], side, [*side, *PARALLEL, lone]):
        done = examine(session, "claude-code")
        assert [finding.kind for finding in done.findings] == ["unanswered call"]
        assert done.findings[0].place == f"[{session.index(side[1])}].message.content[0]"
        (new,) = [one for one in done.fixed if one not in session and one["uuid"] != "s3"]
        assert (new["parentUuid"], new["isSidechain"], new["agentId"]) == ("s2", True, "x")
        (after,) = [one for one in done.fixed if one["uuid"] == "s3"]
        assert after["parentUuid"] == new["uuid"]
        assert examine(done.fixed, "claude-code").sound


def test_a_result_without_an_id_leaves_a_call_with_one_to_its_own_result() -> None:
    asked = {"role": "user", "content": "look twice"}
    calls = [{"id": given, "function": {"name": "look", "arguments": {"at": given}}} for given in ("c1", "")]
    turn = {"role": "assistant", "content": "", "tool_calls": calls}
    results = [
        {"role": "tool", "tool_name": "look", "content": "two"},
        {"role": "tool", "tool_name": "look", "content": "one", "tool_call_id": "c1"},
    ]
    assert examine([asked, turn, *results], "ollama").sound
