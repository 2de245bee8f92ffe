"""The cases of kind normalize."""

import copy
import json
from typing import Any

import pytest

from tests.contract.cases import as_json, assert_messages, cases, decoded, names, only
from tests.sendable_check import exactly, why_not_openai, why_not_sendable
from turnledger import ConversationStore, normalize


@pytest.mark.parametrize("case", cases("normalize"), ids=names("normalize"))
def test_a_list_normalizes_as_the_case_says(case: dict[str, Any]) -> None:
    only(case, "messages", "expect")
    expect = case["expect"]
    only(
        expect,
        "messages",
        "dropped",
        "sendable",
        "contains_content",
        "content_json",
        "string_content",
        "no_keys",
        "sibling_results_order",
        "wire_arguments_valid_json",
    )
    given = decoded(case["messages"])
    before = copy.deepcopy(given)
    done = normalize(given)
    assert exactly(given) == exactly(before)
    assert expect.get("sendable", True) is (why_not_sendable(done.messages) is None)
    again = normalize(done.messages)
    assert (again.messages, again.dropped) == (done.messages, 0)
    if "messages" in expect:
        assert_messages(done.messages, expect["messages"], expect.get("sibling_results_order"))
    if "dropped" in expect:
        assert done.dropped == len(done.drops) == expect["dropped"]
    for text in expect.get("contains_content", ()):
        assert any(text in message["content"] for message in done.messages)
    if "content_json" in expect:
        content = done.messages[expect["content_json"]["index"]]["content"]
        assert as_json(json.loads(content)) == as_json(expect["content_json"]["equals"])
    if "string_content" in expect:
        assert (
            all(isinstance(message["content"], str) for message in done.messages) is expect["string_content"]
        )
    assert not set(expect.get("no_keys", ())) & {key for message in done.messages for key in message}
    if "wire_arguments_valid_json" in expect:
        with ConversationStore(":memory:") as store:
            store.append("c", given)
            wire = store.sendable("c", provider="openai-chat").messages
        assert (why_not_openai(wire) is None) is expect["wire_arguments_valid_json"]
