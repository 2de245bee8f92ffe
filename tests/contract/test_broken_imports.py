"""Transcripts that somebody or something broke: read or refused, and what is sent of them is valid."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.judges import JUDGES
from tests.samples import SAMPLES
from tests.strategies import garbage
from turnledger import InvalidMessage
from turnledger.domain.messages import read_message
from turnledger.importing import read_messages
from turnledger.projections.providers import PROVIDERS
from turnledger.projections.sendable import normalized_items

CHECKED = ("bedrock-converse", "gemini", "openai-responses")
"""The formats whose kept blocks are compared with their shape before they are sent."""

Place = tuple[Any, ...]


def places(value: Any, place: Place = ()) -> Iterator[Place]:
    """Where every value inside a JSON value stands."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*place, key)
        yield from places(one, (*place, key))


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


@st.composite
def broken_transcripts(draw: st.DrawFn) -> tuple[str, list[Any]]:
    format = draw(st.sampled_from(CHECKED))
    samples = draw(st.lists(st.sampled_from(SAMPLES[format]), min_size=1, max_size=4))
    messages = [deepcopy(sample) for sample in samples]
    for sample, message in zip(samples, messages, strict=True):
        for place in draw(st.lists(st.sampled_from(list(places(sample))), max_size=2)):
            broken_at(message, place, draw(st.lists(garbage, max_size=1)))
    return format, messages


@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=300)
@given(broken_transcripts())
@pytest.mark.filterwarnings(
    "ignore::UserWarning"
)  # of Google's library, at a word of code that it does not know
def test_a_broken_transcript_is_read_or_refused_and_sent_only_as_its_provider_takes_it(
    broken: tuple[str, list[Any]],
) -> None:
    format, messages = broken
    stored = []
    for index, value in enumerate(read_messages(messages, format)):
        try:
            message = read_message(value, index)
        except InvalidMessage:
            continue
        stored.append({"role": message.role, "content": message.content, "metadata": message.metadata})
    for provider, rendered in PROVIDERS.items():
        items, _ = normalized_items(stored)
        assert JUDGES[provider](rendered(items)[1]) is None, provider
