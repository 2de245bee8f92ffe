"""Pydantic AI: each part of a request is a message, a response is one turn."""

from typing import Any

from turnledger import ConversationStore
from turnledger.importing import import_transcript, read_messages


def request(*parts: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {"kind": "request", "parts": list(parts), **others}


def response(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "response", "parts": list(parts)}


ASK = {"part_kind": "user-prompt", "content": "go"}
CALL = {"part_kind": "tool-call", "tool_name": "f", "args": '{"a":1}', "tool_call_id": "p1"}
RETURN = {"part_kind": "tool-return", "tool_name": "f", "content": "x", "tool_call_id": "p1"}


def outline(messages: list[Any]) -> list[tuple[str, Any]]:
    return [(one["role"], one["content"]) for one in messages]


def test_instructions_are_a_system_message_where_they_change() -> None:
    asked = [
        request(ASK, instructions=told) for told in ("Be kind.", "Be kind.", None, "Be kind.", "Be brief.")
    ]
    said = [one["content"] for one in read_messages(asked) if one["role"] == "system"]
    assert said == ["Be kind.", "Be brief."]


def test_results_stand_before_a_prompt_of_the_same_request() -> None:
    with ConversationStore(":memory:") as store:
        import_transcript(store, "c", [request(ASK), response(CALL), request(ASK, RETURN)])
        assert outline(store.buffer("c"))[2:] == [("tool", "x"), ("user", "go")]
        assert "healed" not in store.buffer("c")[2]["metadata"]


def test_a_retry_answers_its_call_as_an_error_and_without_a_tool_is_the_user_s() -> None:
    retry = {"part_kind": "retry-prompt", "content": "again"}
    asked = request({**retry, "tool_name": "f", "tool_call_id": "p1"}, {**retry, "tool_name": None})
    _, _, result, prompt = read_messages([request(ASK), response(CALL), asked])
    assert (result["role"], result["content"], result["metadata"]["is_error"]) == ("tool", "again", True)
    assert (prompt["role"], prompt["content"]) == ("user", "again")


def test_text_in_pieces_is_one_text_and_the_pieces_are_kept() -> None:
    pieces = [{"part_kind": "text", "content": text, "id": text} for text in ("It ", "is.")]
    (turn,) = read_messages([response(*pieces)], "pydantic-ai")
    assert turn["content"] == "It is."
    assert [part["id"] for part in turn["metadata"]["pydantic-ai"]["parts"]] == ["It ", "is."]


def test_what_a_provider_s_own_tool_did_is_kept_and_is_no_call() -> None:
    own = {"part_kind": "builtin-tool-call", "tool_name": "web", "args": {"q": 1}, "tool_call_id": "s1"}
    (turn,) = read_messages([response(own)], "pydantic-ai")
    assert "tool_calls" not in turn
    assert turn["metadata"]["pydantic-ai"]["parts"][0]["args"] == {"q": 1}


def test_calls_and_results_without_ids_are_paired_by_name() -> None:
    bare = [{k: v for k, v in part.items() if k != "tool_call_id"} for part in (CALL, RETURN)]
    turn, result = read_messages([response(bare[0]), request(bare[1])])
    assert turn["tool_calls"][0]["tool_call_id"] == result["tool_call_id"]


def test_a_result_with_a_picture_is_shown_to_the_provider() -> None:
    picture = {"kind": "image-url", "url": "https://a.b/c.png"}
    with ConversationStore(":memory:") as store:
        seen = request({**RETURN, "content": ["see", picture]})
        import_transcript(store, "c", [request(ASK), response(CALL), seen])
        result = store.sendable("c", provider="anthropic").messages[-1]["content"][0]
        assert [block["type"] for block in result["content"]] == ["text", "image"]


def test_a_request_of_marks_alone_says_nothing() -> None:
    assert read_messages([request({"part_kind": "instruction-baseline"})], "pydantic-ai") == []
