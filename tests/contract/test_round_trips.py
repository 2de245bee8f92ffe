"""What a format carries beyond our shape comes back to it, block for block."""

from typing import Any

import pytest

from tests.samples import ANTHROPIC, CACHED, SAMPLES, THINKING, USE
from turnledger import ConversationStore
from turnledger.importing import import_transcript, read_messages
from turnledger.projections.providers import PROVIDERS


@pytest.mark.parametrize(("format", "messages"), list(SAMPLES.items()))
def test_what_a_format_carries_comes_back_to_it(format: str, messages: list[dict[str, Any]]) -> None:
    with ConversationStore(":memory:") as store:
        import_transcript(store, "c", messages, format)
        assert store.sendable("c", provider=format).messages == messages


def test_what_a_provider_makes_of_our_shape_alone_is_not_kept_beside_it() -> None:
    plain = [{"role": "assistant", "content": [{"type": "text", "text": "I look."}, USE]}]
    (message,) = read_messages(plain, "anthropic")
    assert "metadata" not in message


def test_an_answer_of_the_service_keeps_what_it_says_of_itself() -> None:
    answer = {"id": "msg_1", "model": "m", "role": "assistant", "usage": {"input_tokens": 3}}
    (message,) = read_messages([{**answer, "content": [{"type": "text", "text": "hi"}]}], "anthropic")
    assert message["metadata"]["anthropic"] == {key: answer[key] for key in ("id", "model", "usage")}


def test_a_reused_id_is_renamed_inside_kept_blocks_too() -> None:
    turn = {"role": "assistant", "content": [THINKING, USE]}
    answer = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"}]}
    with ConversationStore(":memory:") as store:
        import_transcript(store, "c", [{"role": "user", "content": "go"}, turn, answer, turn, answer])
        sent = store.sendable("c", provider="anthropic").messages
        assert [sent[3]["content"][1]["id"], sent[4]["content"][0]["tool_use_id"]] == ["toolu_1-2"] * 2


@pytest.mark.parametrize("format", list(SAMPLES))
def test_a_result_without_an_id_is_read_all_the_same(format: str) -> None:
    blocks = [{"type": "tool_result", "content": "x"}]
    for message in ({"role": "user", "content": blocks}, {"type": "function_call_output", "output": "x"}):
        assert len(read_messages([message], format)) == 1


def test_a_legacy_function_call_and_its_result_are_paired_by_their_place() -> None:
    call = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    result = {"role": "function", "name": "f", "content": "one"}
    turn, answer, again, last = read_messages([call, result, call, result])
    assert turn["tool_calls"][0]["id"] == answer["tool_call_id"]
    assert again["tool_calls"][0]["id"] == last["tool_call_id"] != answer["tool_call_id"]


def test_a_system_prompt_beside_the_messages_is_their_first() -> None:
    request = {"system": [{"type": "text", "text": "Be brief.", **CACHED}], "messages": ANTHROPIC}
    with ConversationStore(":memory:") as store:
        store.append("c", read_messages(request), reused_ids="distinct")
        assert store.buffer("c")[0]["content"] == "Be brief."
        assert store.sendable("c", provider="anthropic").request == request


def spoilt(value: Any) -> None:
    """Changes whatever in a value can be changed."""
    for inner in [*(value.values() if isinstance(value, dict) else value)]:
        if isinstance(inner, dict | list):
            spoilt(inner)
    value.clear()


MISTRAL_LINK = {"type": "resource_link", "uri": "u", "metadata": {"page": 2}}


@pytest.mark.parametrize("provider", list(PROVIDERS))
def test_what_a_caller_does_with_a_request_never_reaches_the_store(provider: str) -> None:
    with ConversationStore(":memory:") as store:
        for format, messages in SAMPLES.items():
            import_transcript(store, format, messages, format)
        store.append("link", {"role": "user", "content": [MISTRAL_LINK]})
        for conversation in [*SAMPLES, "link"]:
            before = store.sendable(conversation, provider=provider)
            kept = repr((before.messages, before.request)), repr(store.buffer(conversation))
            assert before.request
            spoilt(before.request)
            spoilt(before.messages)
            again = store.sendable(conversation, provider=provider)
            assert (repr((again.messages, again.request)), repr(store.buffer(conversation))) == kept


@pytest.mark.parametrize("provider", list(PROVIDERS))
def test_arguments_in_text_that_nest_deeper_than_a_message_may_stay_text(provider: str) -> None:
    deep = "[" * 600 + "]" * 600
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": deep}}
    with ConversationStore(":memory:") as store:
        store.append("c", [{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": [call]}])
        assert deep in repr(store.sendable("c", provider=provider).request)
