"""Every provider's rendering: valid for any buffer, equal as the conversation grows, and read back."""

import json
from itertools import chain, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contract.command_line import DATA, transcripts
from tests.judges import JUDGES
from tests.samples import SAMPLES
from tests.strategies import clashing_messages, odd_messages, storable_messages
from turnledger import ConversationStore, InvalidMessage, normalize
from turnledger.domain.messages import read_message
from turnledger.domain.pairing import Item
from turnledger.importing import FORMATS, read_messages
from turnledger.projections.media import in_json
from turnledger.projections.parts import parts_of
from turnledger.projections.providers import PROVIDERS, RENDERINGS
from turnledger.projections.providers.arguments import arguments_map
from turnledger.projections.providers.table import TAKES
from turnledger.projections.sendable import normalized_items

QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=200)

PNG, PDF = "iVBORw0KGgo=", "application/pdf"
PARTS: list[dict[str, Any]] = [
    {"type": "text", "text": "see"},
    {"type": "text", "text": " ", "cache_control": {"type": "ephemeral"}},
    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
    {"type": "image_url", "image_url": {"url": "https://example.org/cat.png", "detail": "low"}},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
    {"type": "image", "source": {"type": "url", "url": "https://example.org/cat.png"}},
    {"type": "image", "data": PNG, "mimeType": "image/tiff"},
    {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}},
    {
        "type": "document",
        "title": "d",
        "source": {"type": "base64", "media_type": "application/pdf", "data": PNG},
    },
    {"type": "input_audio", "input_audio": {"data": PNG, "format": "wav"}},
    {"type": "file", "file": {"file_id": "file-1"}},
    {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{PNG}", "filename": "d.pdf"}},
    {"type": "input_image", "image_url": f"data:image/jpeg;base64,{PNG}"},
    {"inlineData": {"mimeType": "video/mp4", "data": PNG}},
    {"text": "a thought", "thought": True},
    {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
    {"type": "refusal", "refusal": "no"},
    {"type": "weird", "text": 7},
]
contents = st.one_of(
    st.lists(st.sampled_from(PARTS), min_size=1, max_size=4), st.sampled_from(["", " \n", "a "])
)


@st.composite
def messages_in_parts(draw: st.DrawFn) -> dict[str, Any]:
    message = dict(draw(storable_messages))
    if draw(st.booleans()):
        message["content"] = draw(contents)
    return message


spoken = st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": contents})


@st.composite
def imported(draw: st.DrawFn) -> list[Any]:
    """Some blocks of a message in a provider's own shape, as they are read."""
    format = draw(st.sampled_from(list(SAMPLES)))
    message = dict(draw(st.sampled_from(SAMPLES[format])))
    for key in ("content", "parts", "summary"):
        if isinstance(message.get(key), list):
            taken = draw(st.sets(st.integers(0, len(message[key]) - 1)))
            message[key] = [message[key][place] for place in sorted(taken)]
    return read_messages([message], format)


one_each = st.one_of(messages_in_parts(), spoken, odd_messages(), clashing_messages()).map(lambda one: [one])
buffers = st.lists(st.one_of(one_each, imported()), max_size=8).map(lambda found: list(chain(*found)))


def stored(messages: list[Any]) -> list[dict[str, Any]]:
    """What an append would keep of these messages, those that it refuses left out."""
    found = []
    for index, value in enumerate(messages):
        try:
            message = read_message(value, index)
        except InvalidMessage:
            continue
        found.append({"role": message.role, "content": message.content, "metadata": message.metadata})
    return found


def request_of(provider: str, messages: list[Any]) -> dict[str, Any]:
    items, _ = normalized_items(messages)
    return PROVIDERS[provider](items)[1]


@QUIET
@given(buffers)
def test_any_buffer_renders_to_a_request_that_each_provider_takes(buffer: list[Any]) -> None:
    for provider, why_not in JUDGES.items():
        assert why_not(request_of(provider, stored(buffer))) is None, provider


def settled(buffer: list[dict[str, Any]]) -> list[Item]:
    """The normalized items before the first call that has no real result behind it."""
    items, _ = normalized_items(buffer)
    turn_of = {call.call_id: item.index for item in items for call in item.calls}
    for place, item in enumerate(items):
        if item.call_id is not None and (item.healed or item.index < turn_of[item.call_id]):
            return items[: next(i for i in range(place, -1, -1) if items[i].calls)]
    return items


@QUIET
@given(buffers)
def test_what_was_sent_stays_equal_as_the_conversation_grows(messages: list[dict[str, Any]]) -> None:
    before: dict[str, list[Any]] = {provider: [] for provider in PROVIDERS}
    with ConversationStore(":memory:") as store:
        for message in stored(messages):
            store.append("c", message)
            buffer = store.buffer("c")
            for provider in PROVIDERS:
                now = pieces(request_of(provider, buffer))
                if message["role"] not in ("system", "developer"):
                    assert now[: len(before[provider])] == before[provider], provider
                before[provider] = pieces(PROVIDERS[provider](settled(buffer))[1])


def pieces(request: dict[str, Any]) -> list[Any]:
    """A request as one list that only grows at its end: its blocks, each with the side that speaks."""
    found: list[Any] = []
    for key in ("instructions", "config", "system"):
        found.append(request.get(key))
    for listed in (request.get("messages"), request.get("contents"), request.get("input")):
        for message in listed or ():
            content = message.get("content", message.get("parts"))
            alternates = "system" in request or "contents" in request or isinstance(content, list)
            whole = {key: value for key, value in message.items() if key != "prefix"}  # of the last one alone
            found += [(message.get("role"), block) for block in content] if alternates else [whole]
    return found


def likeness(messages: list[Any]) -> list[Any]:
    """What two formats can both say of a conversation: who spoke, the words, the calls and their results.

    Ids count by their order; messages of one side in a row are one; white space is none.
    """
    ids: dict[str, int] = {}
    alike: list[Any] = []
    for message in normalize(messages).messages:
        calls = [
            [
                ids.setdefault(call["tool_call_id"], len(ids)),
                call["name"],
                arguments_map(call.get("arguments")),
            ]
            for call in message.get("tool_calls", ())
        ]
        answers = ids.get(message.get("tool_call_id", ""))
        role = "system" if message["role"] == "developer" else message["role"]
        words = "".join(message["content"].split())
        if alike and alike[-1][0] == role and answers is None and not alike[-1][2]:
            alike[-1][1] += words
            alike[-1][2] = calls
        elif words or calls or answers is not None:
            alike.append([role, words, calls, answers])
    return alike


def the_file() -> Path:
    beside = Path(__file__).parents[3] / "shared" / "data" / "tau-bench-airline-50.jsonl"
    return beside if beside.exists() else DATA


def imported_into(store: ConversationStore, conversation_id: str, source: Any, format: str) -> None:
    store.append(conversation_id, read_messages(source, format), reused_ids="distinct")


@pytest.mark.parametrize("transcript", list(transcripts(the_file())), ids=lambda found: found["id"])
def test_a_recorded_conversation_goes_from_each_shape_to_each_other_and_back(
    transcript: dict[str, Any],
) -> None:
    judged: set[tuple[str, str]] = set()
    with ConversationStore(":memory:") as store:
        imported_into(store, "c", transcript["messages"], "openai-chat")
        words = likeness(store.buffer("c"))
        for one in PROVIDERS:
            first = store.sendable("c", provider=one).request
            assert first
            assert JUDGES[one](first) is None, one
            imported_into(store, one, first, one)
            assert store.sendable(one, provider=one).request == first, one
        for one, other in product(PROVIDERS, PROVIDERS):
            second = store.sendable(one, provider=other).request
            assert second
            text = json.dumps(second, default=in_json)
            if (other, text) not in judged:  # most ways lead to the same request
                judged.add((other, text))
                assert JUDGES[other](second) is None, (one, other)
                assert likeness(read_messages(second, other)) == words, (one, other)


def test_each_rendering_has_a_number_a_judge_a_row_of_the_table_and_a_sample() -> None:
    assert set(RENDERINGS) - {None} == set(PROVIDERS) == set(JUDGES) == set(TAKES) == set(SAMPLES)


def test_each_provider_can_be_read_again() -> None:
    assert set(PROVIDERS) <= set(FORMATS)


def test_the_parts_of_these_tests_are_known_but_for_one() -> None:
    assert [part for part in PARTS if parts_of([part]) is None] == [{"type": "weird", "text": 7}]


def test_every_part_but_thoughts_reaches_every_provider() -> None:
    for provider, part in product(PROVIDERS, PARTS):
        kind = next(iter(parts_of([part]) or ()), None)
        sent = json.dumps(request_of(provider, [{"role": "user", "content": [part]}]), default=in_json)
        blank = kind is not None and (kind.kind == "reasoning" or kind.text == " ")
        assert ('"user"' in sent and len(sent) > len('{"messages": []}')) or blank


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("content", [None, "Well.", [{"type": "text", "text": "Well."}]])
def test_a_refusal_beside_the_content_reaches_every_provider(provider: str, content: Any) -> None:
    refused = {"role": "assistant", "content": content, "refusal": "I refuse."}
    with ConversationStore(":memory:") as store:
        store.append("c", read_messages([{"role": "user", "content": "Steal."}, refused], "openai-chat"))
        request = store.sendable("c", provider=provider).request
    assert request is not None
    assert JUDGES[provider](request) is None
    said = json.dumps(request)
    assert "I refuse." in said
    assert content is None or "Well." in said


@pytest.mark.parametrize("provider", PROVIDERS)
def test_nothing_is_made_up_where_nobody_but_the_system_has_spoken(provider: str) -> None:
    with ConversationStore(":memory:") as store:
        store.append("c", [{"role": "system", "content": "Be brief."}])
        sendable = store.sendable("c", provider=provider)
    beside = provider not in ("openai-chat", "mistral")
    assert sendable.messages == ([] if beside else [{"role": "system", "content": "Be brief."}])
    assert "Be brief." in json.dumps(sendable.request)
