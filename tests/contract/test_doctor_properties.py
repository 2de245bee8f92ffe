"""The doctor on anything: what it fixes is accepted, sound, and read back without loss; what is sound is left."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contract.test_renderings import buffers, stored
from tests.doctoring import REQUESTS, broken, why_refused
from turnledger import normalize
from turnledger.importing import read_messages
from turnledger.importing.doctor import examine, examine_text
from turnledger.importing.doctor.anatomies import ANATOMIES
from turnledger.projections.media import in_json
from turnledger.projections.providers import PROVIDERS
from turnledger.projections.sendable import normalized_items

QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=100)
each_format = pytest.mark.parametrize("format", list(REQUESTS))


def rendered(format: str, buffer: list[Any]) -> Any:
    """A buffer in a format's own shape, as JSON."""
    items, _ = normalized_items(stored(buffer))
    messages = PROVIDERS[format](items)[0]
    return json.loads(json.dumps(messages, default=in_json))


@each_format
@QUIET
@given(st.data())
def test_what_is_fixed_is_accepted_sound_and_read_back_without_loss(format: str, data: st.DataObject) -> None:
    messages = data.draw(broken(buffers.map(lambda buffer: rendered(format, buffer))))
    done = examine(messages, format)
    assert why_refused(format, done.fixed) is None
    again = examine(done.fixed, format)
    assert again.sound
    assert again.fixed == done.fixed
    assert normalize(read_messages(done.fixed, format)).dropped == 0
    if done.sound:
        assert done.fixed == messages


@each_format
@QUIET
@given(st.data(), st.sampled_from([None, 0, 2]))
def test_a_file_is_fixed_as_its_messages_are_whatever_its_layout(
    format: str, data: st.DataObject, indent: int | None
) -> None:
    messages = data.draw(broken(buffers.map(lambda buffer: rendered(format, buffer)))) or [{"role": "user"}]
    fixed = examine(messages, format).fixed
    text = json.dumps({"model": "m", "messages": messages, "n": 1.0}, indent=indent)
    held = json.loads(examine_text(text, format).fixed)
    if "system" not in held:
        assert held == {"model": "m", "messages": fixed, "n": 1.0}
    lines = "".join(f"{json.dumps(message)}\n" for message in messages)
    assert [json.loads(line) for line in examine_text(lines, format).fixed.splitlines()] == fixed


def test_every_format_of_the_doctor_is_tested() -> None:
    assert set(REQUESTS) == set(ANATOMIES)
