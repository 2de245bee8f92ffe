"""The shapes of clients that are read and not written: nothing is lost, nothing odd breaks the reading."""

import copy
import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.client_samples import CLIENT_SAMPLES
from tests.judges import JUDGES
from tests.samples import SAMPLES
from tests.session_samples import PARALLEL
from turnledger import ConversationStore, InvalidMessage
from turnledger.importing import (
    FORMATS,
    Transcript,
    guessed_format,
    import_transcript,
    read_messages,
    read_transcripts,
)
from turnledger.importing.claude_code import NAME as CLAUDE_CODE
from turnledger.projections.providers import PROVIDERS
from turnledger.projections.sendable import normalized_items

ALL_SAMPLES = {**SAMPLES, **CLIENT_SAMPLES, CLAUDE_CODE: PARALLEL}
QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=150)
WORDS_FOR_OURS = {
    *("request", "response", "system-prompt", "user-prompt", "human", "ai"),
    *("constructor", "AIMessage", "AIMessageChunk", "ToolMessage", "tool_use"),
    *("langchain", "langchain_core", "schema", "messages"),
}
"""What a shape calls roles, calls and itself."""

each_client = pytest.mark.parametrize("format", list(CLIENT_SAMPLES))


def leaves(value: Any) -> Iterator[Any]:
    """Every text, number and flag of a JSON value."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    else:
        yield value


@each_client
def test_all_that_a_client_says_is_kept(format: str) -> None:
    with ConversationStore(":memory:") as store:
        import_transcript(store, "c", CLIENT_SAMPLES[format])
        kept = json.dumps(store.buffer("c"), ensure_ascii=False)
    said = set(map(str, leaves(CLIENT_SAMPLES[format])))
    lost = {text for text in said if json.dumps(text, ensure_ascii=False)[1:-1] not in kept}
    assert lost <= {"True", "False", "None"} | WORDS_FOR_OURS


@each_client
def test_a_client_is_guessed(format: str) -> None:
    assert guessed_format(CLIENT_SAMPLES[format]) == format


@each_client
def test_no_call_of_a_client_goes_without_its_result(format: str) -> None:
    with ConversationStore(":memory:") as store:
        import_transcript(store, "c", CLIENT_SAMPLES[format])
        assert store.sendable("c").dropped == 0
        assert store.verify("c").ok


@pytest.mark.parametrize("provider", list(PROVIDERS))
@each_client
def test_a_client_s_conversation_goes_to_every_provider(format: str, provider: str) -> None:
    items, _ = normalized_items(read_messages(CLIENT_SAMPLES[format], format))
    assert JUDGES[provider](PROVIDERS[provider](items)[1]) is None


@pytest.mark.parametrize("format", list(FORMATS))
def test_messages_read_later_are_those_that_reading_all_gives(format: str) -> None:
    messages = ALL_SAMPLES[format]
    whole = list(FORMATS[format].read(messages, 0))
    for start in {*(read.index for read in whole), len(messages)}:  # no message spans it
        later = [read for read in whole if read.index >= start]
        assert list(FORMATS[format].read(messages, start)) == later


ODD: st.SearchStrategy[Any] = st.sampled_from(
    [None, 0, 1.5, True, "", "x", [], {}, [[]], [None], {"type": "text"}, {"role": "user"}, ["text"], [7, {}]]
)


OWN_KEYS = ["at", "part", "parts", "metadata", "id", "kind", "type", "original_id", "healed", "tool_calls"]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where each value inside a JSON value stands."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield (*path, key)
        yield from places(inner, (*path, key))


@st.composite
def broken(draw: st.DrawFn) -> tuple[str, list[Any]]:
    """A sample of some format in which some values are others, or gone."""
    format = draw(st.sampled_from(sorted(ALL_SAMPLES)))
    messages: Any = copy.deepcopy(ALL_SAMPLES[format])
    for _ in range(draw(st.integers(1, 3))):
        *path, key = draw(st.sampled_from(sorted(places(messages), key=repr)))
        holder = messages
        for step in path:
            holder = holder[step]
        if isinstance(holder[key], dict) and draw(st.booleans()):
            holder[key][draw(st.sampled_from(OWN_KEYS))] = copy.deepcopy(draw(ODD))
        elif draw(st.booleans()):
            holder[key] = copy.deepcopy(draw(ODD))
        else:
            del holder[key]
    return format, messages


@QUIET
@given(broken())
def test_what_is_odd_in_a_transcript_raises_nothing_but_a_named_refusal(found: tuple[str, list[Any]]) -> None:
    format, messages = found
    guessed_format(messages)
    with ConversationStore(":memory:") as store:
        try:
            import_transcript(store, "c", messages, format)
        except InvalidMessage:
            return
        assert store.verify("c").ok


@QUIET
@given(broken(), st.sampled_from(sorted(PROVIDERS)))
def test_what_is_odd_in_a_client_s_transcript_is_sent_as_the_provider_takes_it(
    found: tuple[str, list[Any]], provider: str
) -> None:
    format, messages = found
    if format in CLIENT_SAMPLES:
        items, _ = normalized_items(read_messages(messages, format))
        assert JUDGES[provider](PROVIDERS[provider](items)[1]) is None


@pytest.mark.parametrize("format", ["langchain", "pydantic-ai", "vercel-ai"])
def test_signed_thinking_goes_back_to_the_one_who_signed_it_before_the_call_that_it_led_to(
    format: str,
) -> None:
    with ConversationStore(":memory:") as store:
        import_transcript(store, "c", CLIENT_SAMPLES[format])
        turns = store.sendable("c", provider="anthropic").messages
    thoughtful = [turn["content"] for turn in turns if turn["content"][0]["type"] == "thinking"]
    assert thoughtful
    for content in thoughtful:
        assert content[0] == {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
        assert {block["type"] for block in content[1:]} == {"text", "tool_use"}


@pytest.mark.parametrize("line_by_line", [False, True], ids=["document", "lines"])
@pytest.mark.parametrize("format", list(CLIENT_SAMPLES))
def test_a_file_of_a_client_s_messages_is_one_conversation(format: str, line_by_line: bool) -> None:
    messages = CLIENT_SAMPLES[format]
    text = "\n".join(map(json.dumps, messages)) if line_by_line else json.dumps(messages, indent=1)
    (found,) = read_transcripts(io.BytesIO(text.encode()), "file")
    assert isinstance(found, Transcript)
    assert found.messages == messages
