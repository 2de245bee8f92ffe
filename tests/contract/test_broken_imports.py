"""Transcripts that somebody or something broke: read or refused, and what is sent of them is valid."""

import io
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.client_samples import CLIENT_SAMPLES
from tests.judges import JUDGES
from tests.samples import ANTHROPIC, SAMPLES
from tests.strategies import garbage
from turnledger import InvalidMessage
from turnledger.domain.messages import read_message
from turnledger.importing import FORMATS, read_messages, read_transcripts
from turnledger.projections.providers import PROVIDERS
from turnledger.projections.sendable import normalized_items

SESSION: list[dict[str, Any]] = [
    {
        "type": said["role"],
        "uuid": f"u{place}",
        "parentUuid": f"u{place - 1}",
        "sessionId": "s",
        "message": said,
    }
    for place, said in enumerate(ANTHROPIC)
]
CHECKED = {**SAMPLES, **CLIENT_SAMPLES, "claude-code": SESSION}
"""Every format: what is kept of it is compared with its provider's shape before it is sent."""

Place = tuple[Any, ...]


def places(value: Any, place: Place = ()) -> Iterator[Place]:
    """Where every value inside a JSON value stands."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*place, key)
        yield from places(one, (*place, key))


def value_at(value: Any, place: Place) -> Any:
    for key in place:
        value = value[key]
    return value


def broken_at(message: Any, place: Place, put: list[Any]) -> None:
    """Removes what stands there, or puts something else there, where an earlier break left it."""
    holder = message
    try:
        for key in place[:-1]:
            holder = holder[key]
        if put:
            holder[place[-1]] = deepcopy(put[0])
        else:
            del holder[place[-1]]
    except (KeyError, IndexError, TypeError):
        return


PIECES = [
    value
    for messages in CHECKED.values()
    for message in messages
    for value in (message, *(value_at(message, place) for place in places(message)))
]
"""Every value of every sample: sound where it stands, and of another format or place elsewhere."""

put_in = st.lists(st.one_of(garbage, st.sampled_from(PIECES)), max_size=1)


@st.composite
def broken_transcripts(draw: st.DrawFn) -> tuple[str, list[Any]]:
    format = draw(st.sampled_from(list(CHECKED)))
    samples = draw(st.lists(st.sampled_from(CHECKED[format]), min_size=1, max_size=4))
    return format, [broken(draw, sample) for sample in samples]


def broken(draw: st.DrawFn, value: Any) -> Any:
    """A copy in which some values are others, or gone."""
    found = deepcopy(value)
    for place in draw(st.lists(st.sampled_from(list(places(value))), max_size=2)):
        broken_at(found, place, draw(put_in))
    return found


@st.composite
def broken_buffers(draw: st.DrawFn) -> list[Any]:
    """Messages as they are stored, with what an import kept of them broken, or in other hands."""
    format = draw(st.sampled_from(list(CHECKED)))
    found = read_messages(draw(st.lists(st.sampled_from(CHECKED[format]), min_size=1, max_size=4)), format)
    messages = [broken(draw, message) for message in found]
    for message in messages:
        role = draw(st.sampled_from([None, None, "user", "assistant", "system", "tool"]))
        if role and isinstance(message, dict):
            message["role"] = role
    return messages


def stored(values: list[Any]) -> list[dict[str, Any]]:
    """What an append would keep of these messages, those that it refuses left out."""
    found = []
    for index, value in enumerate(values):
        try:
            message = read_message(value, index)
        except InvalidMessage:
            continue
        found.append({"role": message.role, "content": message.content, "metadata": message.metadata})
    return found


def test_every_format_is_broken_here() -> None:
    assert set(CHECKED) == set(FORMATS)


def assert_taken(messages: list[Any]) -> None:
    items, _ = normalized_items(stored(messages))
    for provider, rendered in PROVIDERS.items():
        assert JUDGES[provider](rendered(items)[1]) is None, provider


QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=200)
# of Google's library, at a word of code that it does not know
no_warning = pytest.mark.filterwarnings("ignore::UserWarning")


@QUIET
@given(broken_transcripts())
@no_warning
def test_a_broken_transcript_is_read_or_refused_and_sent_only_as_its_provider_takes_it(
    broken: tuple[str, list[Any]],
) -> None:
    format, messages = broken
    assert_taken(read_messages(messages, format))


@QUIET
@given(broken_buffers())
@no_warning
def test_what_is_kept_for_a_provider_and_broken_is_sent_only_as_it_takes_it(messages: list[Any]) -> None:
    assert_taken(messages)


PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "eA=="}}
SHOWN = {"image": {"format": "png", "source": {"bytes": "eA=="}}}
ELSEWHERE: list[tuple[str, str, dict[str, Any]]] = [
    ("anthropic", "assistant", PNG),
    ("anthropic", "system", PNG),
    ("anthropic", "user", {"type": "thinking", "thinking": "hm", "signature": "c2ln"}),
    ("bedrock-converse", "assistant", SHOWN),
    ("bedrock-converse", "system", SHOWN),
    ("gemini", "assistant", {"functionResponse": {"name": "look", "response": {}}}),
    ("gemini", "user", {"executableCode": {"language": "PYTHON", "code": "1"}}),
    ("openai-responses", "assistant", {"type": "function_call_output", "call_id": "c", "output": "red"}),
    ("openai-responses", "assistant", {"type": "no_such_call", "id": "x_1"}),
]


@pytest.mark.parametrize(("provider", "role", "block"), ELSEWHERE)
def test_a_kept_block_that_a_role_may_not_say_is_not_sent(
    provider: str, role: str, block: dict[str, Any]
) -> None:
    message = {"role": role, "content": "hi", "metadata": {provider: {"blocks": [block]}}}
    items, _ = normalized_items([{"role": "user", "content": "go"}, message])
    request = PROVIDERS[provider](items)[1]
    assert JUDGES[provider](request) is None
    assert str(block) not in str(request)


def test_a_chunk_of_mistral_s_whose_type_is_no_text_is_left_out() -> None:
    chunks = [{"type": ["text"], "text": "a"}, {"type": "text", "text": "b"}]
    message = {"role": "user", "content": "b", "metadata": {"mistral": {"chunks": chunks}}}
    items, _ = normalized_items([message])
    assert PROVIDERS["mistral"](items)[0] == [{"role": "user", "content": chunks[1:]}]


def test_attachments_of_llm_that_are_no_list_are_kept_and_no_fault() -> None:
    part = {"type": "tool_result", "name": "look", "output": "red", "attachments": 1.5}
    (message,) = read_messages([{"role": "tool", "parts": [part]}], "llm")
    assert message["content"] == "red"
    assert message["metadata"]["llm"]["attachments"] == 1.5


def test_of_a_server_s_call_and_its_result_both_are_sent_or_neither() -> None:
    use = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "cat"}}
    result = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": "broken"}
    blocks = [use, result, {"type": "text", "text": "It is red."}]
    message = {"role": "assistant", "content": "It is red.", "metadata": {"anthropic": {"blocks": blocks}}}
    items, _ = normalized_items([{"role": "user", "content": "go"}, message])
    assert PROVIDERS["anthropic"](items)[0][1]["content"] == blocks[2:]


def test_kept_calls_stand_in_their_order_under_either_spelling_of_their_ids() -> None:
    blocks = [{"functionCall": {"id": "f1", "name": "paint"}}, {"functionCall": {"id": "f2", "name": "hear"}}]
    calls = [{"id": "f1", "name": "paint"}, {"tool_call_id": "f2", "name": "hear"}]
    turn = {
        "role": "assistant",
        "content": "",
        "metadata": {"tool_calls": calls, "gemini": {"blocks": blocks}},
    }
    items, _ = normalized_items([{"role": "user", "content": "go"}, turn])
    assert PROVIDERS["gemini"](items)[0][1]["parts"] == blocks


def test_where_a_line_is_no_json_is_said_once() -> None:
    (bad,) = read_transcripts(io.BytesIO(b'{"a": "\t"}'), "c")
    assert str(bad) == "the file: it is no JSON: Invalid control character at line 1, column 8"
