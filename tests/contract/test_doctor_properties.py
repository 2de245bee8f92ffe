"""The doctor on anything: what it fixes is accepted, sound, and read without loss; what is sound is left."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.client_samples import CLIENT_SAMPLES, VERCEL_MODEL
from tests.contract.test_renderings import buffers, stored
from tests.doctoring import REQUESTS, broken, why_refused
from tests.sendable_check import why_not_sendable
from turnledger import normalize
from turnledger.domain.pairing import coerced
from turnledger.importing import read_messages
from turnledger.importing.claude_code import NAME as SESSION
from turnledger.importing.doctor import examine, examine_text
from turnledger.importing.doctor.anatomies import ANATOMIES, EXAMINED
from turnledger.importing.sessions import Tree
from turnledger.projections.media import in_json
from turnledger.projections.providers import PROVIDERS
from turnledger.projections.sendable import normalized_items

CLIENTS = {
    "langchain": CLIENT_SAMPLES["langchain"],
    "llm": CLIENT_SAMPLES["llm"],
    "ollama": CLIENT_SAMPLES["ollama"],
    "pydantic-ai": CLIENT_SAMPLES["pydantic-ai"],
    "vercel-ai": VERCEL_MODEL,  # in a message of a user interface a call and its result are one
}
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


def session(messages: list[Any]) -> list[Any]:
    """Anthropic messages as the lines of a session."""
    uuids: list[str | None] = [None, *(f"u{place}" for place in range(len(messages)))]
    return [
        {"parentUuid": before, "type": message["role"], "message": message, "uuid": uuid, "sessionId": "s"}
        for message, before, uuid in zip(messages, uuids, uuids[1:], strict=False)
        if message["role"] != "system"
    ]


def spoken_in(events: list[Any]) -> list[Any]:
    """The messages of the conversation that is loaded, as they are sent."""
    found = [events[place]["message"] for place in Tree(events, whole=False).main()]
    return [*found, {"role": "user", "content": "go on"}]


@QUIET
@given(broken(buffers.map(lambda buffer: session(rendered("anthropic", buffer)))))
def test_a_session_is_fixed_so_that_what_is_loaded_is_accepted(events: list[Any]) -> None:
    done = examine(events, SESSION)
    assert why_refused("anthropic", spoken_in(done.fixed)) is None
    assert normalize(read_messages(done.fixed, SESSION)).dropped == 0
    again = examine(done.fixed, SESSION)
    assert again.sound
    assert again.fixed == done.fixed
    if done.sound:
        assert done.fixed == events


def read_flat(format: str, messages: list[Any]) -> list[dict[str, Any]]:
    """Messages of a client as they are read, system messages first, nothing repaired."""
    read = coerced(read_messages(messages, format), [])
    items = [item for item in read if item.role != "tool" or item.call_id or item.content]  # a mere approval
    items.sort(key=lambda item: item.role not in ("system", "developer"))
    return [item.flat() for item in items]


@pytest.mark.parametrize("format", list(CLIENTS))
@QUIET
@given(st.data())
def test_what_a_client_kept_is_fixed_so_that_all_of_it_can_be_sent(format: str, data: st.DataObject) -> None:
    messages = data.draw(broken(st.just(CLIENTS[format])))
    done = examine(messages, format)
    assert why_not_sendable(read_flat(format, done.fixed)) is None
    again = examine(done.fixed, format)
    assert again.sound
    assert again.fixed == done.fixed
    if done.sound:
        assert done.fixed == messages


def test_every_format_of_the_doctor_is_tested() -> None:
    assert {*REQUESTS, *CLIENTS} == set(ANATOMIES)


SCALARS: list[Any] = [None, True, 0, 1.5, float("nan"), "", " ", "a", "0", "\ud800", "{", "[1]"]
scalars = st.sampled_from(SCALARS)
anything = st.one_of(scalars, st.lists(scalars, max_size=2), st.dictionaries(st.sampled_from("ab"), scalars))
BLOCKS = ["text", "tool_use", "tool_result", "thinking", "image"]
ITEMS = [
    "message",
    "function_call",
    "function_call_output",
    "reasoning",
    "local_shell_call",
    "item_reference",
]
ITEMS += [
    "local_shell_call_output",
    "custom_tool_call",
    "computer_call",
    "web_search_call",
    "user",
    "assistant",
]


def odd(**kinds: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A map of some of these keys, mostly with what belongs there; or something else."""
    whole = st.fixed_dictionaries(
        {}, optional={key: st.one_of(kind, kind, anything) for key, kind in kinds.items()}
    )
    return st.one_of(whole, whole, whole, anything)


inner = odd(
    id=scalars,
    toolUseId=scalars,
    name=scalars,
    args=anything,
    input=anything,
    response=anything,
    content=st.lists(odd(text=scalars), max_size=2),
)
blocks = odd(
    type=st.sampled_from(BLOCKS),
    text=scalars,
    id=scalars,
    tool_use_id=scalars,
    name=scalars,
    input=anything,
    content=st.lists(odd(type=st.just("text"), text=scalars), max_size=2),
    functionCall=inner,
    functionResponse=inner,
    toolUse=inner,
    toolResult=inner,
    document=odd(name=scalars),
    cachePoint=scalars,
)
listed = st.lists(blocks, max_size=3)
calls = st.lists(
    odd(id=scalars, type=st.just("function"), function=odd(name=scalars, arguments=scalars)), max_size=2
)
ROLES = ["user", "assistant", "model", "tool", "system", "function", "developer"]
said: dict[str, Any] = {
    "role": st.sampled_from(ROLES),
    "content": listed,
    "parts": listed,
    "tool_calls": calls,
}
said |= {"tool_call_id": scalars, "function_call": odd(name=scalars), "prefix": scalars}
items: dict[str, Any] = {
    "type": st.sampled_from(ITEMS),
    "call_id": scalars,
    "name": scalars,
    "output": anything,
}
items |= {"arguments": scalars, "summary": listed, "id": st.sampled_from(["fc_1", "msg_1", "rs_1", "x", 1])}
lines = {
    "message": odd(**said),
    "uuid": scalars,
    "parentUuid": scalars,
    "isSidechain": scalars,
    "sessionId": scalars,
}
oddities = st.lists(st.one_of(odd(**said), odd(**said, **items), odd(**items, **lines)), max_size=5)


@pytest.mark.parametrize("format", EXAMINED)
@QUIET
@given(oddities)
def test_nothing_that_json_can_hold_is_too_odd(format: str, messages: list[Any]) -> None:
    done = examine(messages, format)
    assert examine(done.fixed, format).sound
    json.dumps(done.fixed, allow_nan=False, ensure_ascii=False).encode()
