"""Mistral's own rules: who may follow whom, ids of nine letters or digits, the answer's beginning."""

from typing import Any

import pytest

from tests.judges.mistral import why_not
from tests.samples import MISTRAL
from turnledger import ConversationStore
from turnledger.importing import guessed_format, read_messages

CALL = {"role": "assistant", "content": "", "tool_calls": [{"tool_call_id": "c1", "name": "look it up"}]}
RESULT = {"role": "tool", "content": "red", "tool_call_id": "c1"}
USER = {"role": "user", "content": "well?"}


def sent(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    with ConversationStore(":memory:") as store:
        store.append("c", messages)
        request = store.sendable("c", provider="mistral").request
    assert request
    assert why_not(request) is None
    found: list[dict[str, Any]] = request["messages"]
    return found


def test_between_results_and_the_user_the_assistant_says_a_word() -> None:
    roles = [message["role"] for message in sent(USER, CALL, RESULT, USER)]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]


def test_an_assistant_that_answers_the_results_is_enough() -> None:
    reply = {"role": "assistant", "content": "It is red."}
    assert [message["role"] for message in sent(USER, CALL, RESULT, reply, USER)][3:] == ["assistant", "user"]


def test_an_assistant_that_says_nothing_is_left_out() -> None:
    assert [one["role"] for one in sent(USER, {"role": "assistant", "content": ""}, USER)] == ["user", "user"]


def test_an_empty_assistant_behind_results_is_none_that_answers_them() -> None:
    silent = {"role": "assistant", "content": ""}
    assert sent(USER, CALL, RESULT, silent, USER)[3]["content"]


def test_ids_are_nine_letters_or_digits_and_names_fit() -> None:
    _, turn, result = sent(USER, CALL, RESULT)
    (call,) = turn["tool_calls"]
    assert len(call["id"]) == 9
    assert result["tool_call_id"] == call["id"]
    assert call["function"]["name"] == "look_it_up"


def test_a_message_that_the_answer_was_to_begin_with_is_like_any_other_once_it_is_not_the_last() -> None:
    with ConversationStore(":memory:") as store:
        store.append("c", read_messages(MISTRAL, "mistral"))
        assert store.sendable("c", provider="mistral").messages[-1]["prefix"] is True
        store.append("c", USER)
        assert all("prefix" not in one for one in store.sendable("c", provider="mistral").messages)


def test_calls_that_the_library_gave_no_id_are_paired_with_their_results() -> None:
    call = {"id": "null", "function": {"name": "f", "arguments": "{}"}}
    turn, first, second = read_messages(
        [
            {"role": "assistant", "content": "", "tool_calls": [call, call]},
            {"role": "tool", "name": "f", "content": "one"},
            {"role": "tool", "name": "f", "content": "two", "tool_call_id": "null"},
        ],
        "mistral",
    )
    ids = [call["id"] for call in turn["tool_calls"]]
    assert ids == [first["tool_call_id"], second["tool_call_id"]]
    assert ids[0] != ids[1]


def test_a_reference_inside_a_sentence_does_not_break_it() -> None:
    turn = read_messages(MISTRAL, "mistral")[5]
    assert turn["content"] == "It is red."


def test_audio_and_images_of_mistral_reach_openai_in_its_own_words() -> None:
    with ConversationStore(":memory:") as store:
        store.append("c", read_messages(MISTRAL[:2], "mistral"))
        _, user = store.sendable("c", provider="openai-chat").messages
        assert [part["type"] for part in user["content"]] == [
            "text",
            "image_url",
            "image_url",
            *["text"] * 4,
        ]
        assert user["content"][1]["image_url"] == {"url": "https://a.b/c.png"}


@pytest.mark.parametrize("content", [[{"type": "thinking", "thinking": 7}], [{"type": "reference"}], [7]])
def test_chunks_that_are_none_are_not_sent(content: list[Any]) -> None:
    with ConversationStore(":memory:") as store:
        store.append("c", read_messages([USER, {"role": "assistant", "content": content}], "mistral"))
        request = store.sendable("c", provider="mistral").request
        assert request
        assert why_not(request) is None


def test_a_conversation_with_its_chunks_is_guessed_though_its_calls_look_like_openais() -> None:
    assert guessed_format(MISTRAL) == "mistral"


def test_mistral_s_thinking_is_not_taken_for_anthropic_s() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    assert guessed_format([{"role": "assistant", "content": [thinking]}]) == "mistral"
