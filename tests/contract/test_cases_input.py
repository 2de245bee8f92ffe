"""The cases of kind input."""

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.contract.cases import as_json, assert_messages, cases, names, only, run_append
from tests.postgres import executed
from tests.sendable_check import encodes, why_not_openai, why_not_sendable
from turnledger import ConversationStore

LATER_APPEND_S = 2.0


def strict(text: bytes) -> Any:
    def no_constant(name: str) -> Any:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text.decode("utf-8"), parse_constant=no_constant)


def stored_states(place: Path | str) -> list[bytes]:
    if isinstance(place, str):
        return [row[0] for row in executed(place, "SELECT state FROM {schema}.stored_events")]
    with closing(sqlite3.connect(place)) as connection:
        return [bytes(row[0]) for row in connection.execute("SELECT state FROM stored_events")]


@pytest.mark.parametrize("case", cases("input"), ids=names("input"))
def test_odd_input_comes_out_as_the_case_says(case: dict[str, Any], place: Path | str) -> None:
    only(case, "steps", "expect")
    expect = case["expect"]
    only(
        expect,
        "raises",
        "after_reopen_count",
        "after_reopen_buffer",
        "normalized_utf8_encodable",
        "normalized_contains",
        "normalized_string_content",
        "normalized_sendable",
        "normalized_content_json",
        "log_is_strict_json",
        "stored_content_length",
    )
    assert expect["raises"] is False
    with ConversationStore(place) as store:
        for number, step in enumerate(case["steps"]):
            only(step, "append", "expect")
            started = time.perf_counter()
            run_append(store, "c", step)
            assert number == 0 or time.perf_counter() - started < LATER_APPEND_S
    with ConversationStore(place) as store:
        buffer = store.buffer("c")
        sendable = store.sendable("c")
        assert why_not_openai(store.sendable("c", provider="openai-chat").messages) is None
    assert why_not_sendable(sendable.messages) is None
    assert sendable.dropped == 0
    texts = [message["content"] for message in sendable.messages]
    if "after_reopen_count" in expect:
        assert len(buffer) == expect["after_reopen_count"]
    if "after_reopen_buffer" in expect:
        assert_messages(buffer, expect["after_reopen_buffer"])
    if "normalized_utf8_encodable" in expect:
        assert all(map(encodes, texts)) is expect["normalized_utf8_encodable"]
    for text in expect.get("normalized_contains", ()):
        assert any(text in found for found in texts)
    if "normalized_string_content" in expect:
        assert all(isinstance(text, str) for text in texts) is expect["normalized_string_content"]
    if "normalized_sendable" in expect:
        assert (why_not_sendable(sendable.messages) is None) is expect["normalized_sendable"]
    if "normalized_content_json" in expect:
        wanted = expect["normalized_content_json"]
        assert as_json(json.loads(texts[wanted["index"]])) == as_json(wanted["equals"])
    if "stored_content_length" in expect:
        wanted = expect["stored_content_length"]
        assert len(buffer[wanted["index"]]["content"]) == wanted["length"]
    if "log_is_strict_json" in expect:
        states = stored_states(place)
        assert states
        assert all(map(strict, states)) is expect["log_is_strict_json"]
