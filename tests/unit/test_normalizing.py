"""MEM-5 on any list: what always holds, and the same as a slow reading of the text."""

import copy
import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.normalize_reference import INTERRUPTED, read_id, reference
from tests.sendable_check import exactly, why_not_flat, why_not_openai, why_not_sendable
from tests.spec import assistant, call, placeholder, result, system, turn, user
from tests.strategies import any_lists, call_ids, clashing_lists, garbage, messages, storable_messages
from turnledger import (
    ConversationStore,
    InvalidMessage,
    Normalized,
    assemble,
    message_from_text,
    normalize,
    repair_pairing,
)

QUIET = settings(
    deadline=None,
    suppress_health_check=list(HealthCheck),
    max_examples=100,
)
lists = st.one_of(any_lists, clashing_lists)


def mutable_ids(value: Any) -> set[int]:
    """The identities of every list and map inside a value."""
    found: set[int] = set()
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict | list) and id(item) not in found:
            found.add(id(item))
            waiting.extend(item.values() if isinstance(item, dict) else item)
    return found


@QUIET
@given(lists)
def test_whatever_comes_in_what_comes_out_is_sendable(given_: list[Any]) -> None:
    assert why_not_sendable(normalize(given_).messages) is None


@QUIET
@given(lists)
def test_normalizing_again_changes_and_drops_nothing(given_: list[Any]) -> None:
    done = normalize(given_)
    again = normalize(done.messages)
    assert exactly(again.messages) == exactly(done.messages)
    assert again.drops == ()


@QUIET
@given(lists)
def test_it_agrees_with_a_slow_reading_of_the_five_steps(given_: list[Any]) -> None:
    done = normalize(given_)
    expected, drops = reference(given_)
    assert exactly(done.messages) == exactly(expected)
    assert done.dropped == len(done.drops)
    assert Counter((drop.index, drop.call_id) for drop in done.drops) == Counter(drops)
    assert all(isinstance(drop.reason, str) and drop.reason for drop in done.drops)


@QUIET
@given(clashing_lists)
def test_the_count_of_drops_is_what_is_gone(given_: list[Any]) -> None:
    """Calls and messages in, less those out; a placeholder that was made is no message of the input."""
    numbered = [
        {**message, "content": f"m{index}"} if message["role"] != "assistant" else message
        for index, message in enumerate(given_)
    ]
    done = normalize(numbered)
    made = sum(message["content"] == INTERRUPTED for message in done.messages)
    calls_in = sum(len(calls_of(message)) for message in numbered if message["role"] == "assistant")
    calls_out = sum(len(message.get("tool_calls", ())) for message in done.messages)
    assert done.dropped == len(numbered) - (len(done.messages) - made) + calls_in - calls_out


def calls_of(message: dict[str, Any]) -> list[Any]:
    calls: list[Any] = message.get("metadata", {}).get("tool_calls") or message.get("tool_calls") or []
    return calls


@QUIET
@given(lists)
def test_a_sendable_list_comes_back_equal(given_: list[Any]) -> None:
    valid = normalize(given_).messages
    done = normalize(copy.deepcopy(valid))
    assert exactly(done.messages) == exactly(valid)
    assert repair_pairing(valid) == Normalized(valid, ())


@QUIET
@given(clashing_lists)
def test_no_real_result_is_lost_that_stands_behind_its_call_and_is_the_first(given_: list[Any]) -> None:
    texts = [f"r{index}" for index in range(len(given_))]
    numbered = [
        {**message, "content": text} if message["role"] == "tool" else message
        for message, text in zip(given_, texts, strict=True)
    ]
    out = [message["content"] for message in normalize(numbered).messages]
    declared: set[str] = set()
    answered: set[str] = set()
    for message in numbered:
        metadata = message.get("metadata", {})
        if message["role"] == "assistant":
            for item in calls_of(message):
                declared.add(str(read_id(item.get("tool_call_id")) or read_id(item.get("id"))))
        if message["role"] != "tool" or metadata.get("healed") is True or message.get("healed") is True:
            continue
        call_id = read_id(metadata.get("tool_call_id")) or read_id(message.get("tool_call_id"))
        if call_id in declared and call_id not in answered:
            answered.add(call_id)
            assert message["content"] in out


@QUIET
@given(lists)
def test_system_messages_come_first_in_their_order_and_none_is_dropped(given_: list[Any]) -> None:
    roles = ("system", "developer")
    told = [
        (item["role"], str(place))
        for place, item in enumerate(given_)
        if isinstance(item, dict) and item.get("role") in roles
    ]
    numbered = [
        {**item, "content": str(place)} if isinstance(item, dict) and item.get("role") in roles else item
        for place, item in enumerate(given_)
    ]
    done = normalize(numbered)
    assert [(message["role"], message["content"]) for message in done.messages[: len(told)]] == told


@QUIET
@given(lists)
def test_the_input_is_left_alone_and_shares_nothing_with_the_output(given_: list[Any]) -> None:
    before = exactly(given_)
    for done in (normalize(given_), repair_pairing(given_)):
        assert not mutable_ids(done.messages) & mutable_ids(given_)
    assert exactly(given_) == before


@QUIET
@given(lists)
def test_the_repair_alone_pairs_every_call_and_is_idempotent(given_: list[Any]) -> None:
    done = repair_pairing(given_)
    assert all(why_not_flat(message) is None for message in done.messages)
    declared = [item["tool_call_id"] for message in done.messages for item in message.get("tool_calls", ())]
    results = [message["tool_call_id"] for message in done.messages if message["role"] == "tool"]
    assert len(declared) == len(set(declared))
    assert sorted(declared) == sorted(results)
    again = repair_pairing(done.messages)
    assert exactly(again.messages) == exactly(done.messages)
    assert again.drops == ()


@QUIET
@given(lists)
def test_the_repair_alone_moves_nothing(given_: list[Any]) -> None:
    """What it keeps stands in the order of the input."""
    texts = [
        {**item, "content": f"m{place}"} if isinstance(item, dict) and item.get("role") == "tool" else item
        for place, item in enumerate(given_)
    ]
    kept = [message["content"] for message in repair_pairing(texts).messages if message["role"] == "tool"]
    places = [int(content[1:]) for content in kept if content.startswith("m")]
    assert places == sorted(places)


@QUIET
@given(st.lists(storable_messages, max_size=8))
def test_what_a_store_sends_is_what_normalize_makes_of_its_buffer(given_: list[Any]) -> None:
    with ConversationStore(":memory:", reused_ids="distinct") as store:
        if not store.append("c", given_).appended_any:
            return
        done, sent = normalize(store.buffer("c")), store.sendable("c")
        assert exactly(sent.messages) == exactly(done.messages)
        assert sent.drops == done.drops
        assert why_not_sendable(sent.messages) is None
        assert why_not_openai(store.sendable("c", provider="openai-chat").messages) is None
        assert exactly(store.sendable("c", shared=True).messages) == exactly(done.messages)


def test_one_unusable_id_costs_its_call_its_turn_and_its_result() -> None:
    done = normalize([turn("0"), result("0")])
    assert (done.messages, done.dropped) == ([], 3)
    assert sorted(drop.index for drop in done.drops) == [0, 0, 1]


def test_a_turn_that_never_had_calls_stays_though_it_is_empty() -> None:
    assert normalize([assistant(""), user("q")]).dropped == 0


def test_of_several_results_the_first_real_one_behind_its_call_stays() -> None:
    given_ = [
        user(),
        result("c1", "before"),
        turn("c1"),
        placeholder("c1"),
        result("c1", "first"),
        result("c1", "second"),
    ]
    done = normalize(given_)
    assert [message["content"] for message in done.messages] == ["hello", "", "first"]
    assert [drop.index for drop in done.drops] == [1, 3, 5] or sorted(drop.index for drop in done.drops) == [
        1,
        3,
        5,
    ]


def test_a_real_result_before_its_call_beats_a_placeholder_behind_it() -> None:
    done = normalize([user(), result("c1", "before"), turn("c1"), placeholder("c1")])
    assert [message["content"] for message in done.messages] == ["hello", "", "before"]
    assert done.dropped == 1


def test_displaced_results_go_behind_those_in_the_run_in_the_order_in_which_they_stood() -> None:
    given_ = [
        turn("c1", "c2", "c3"),
        result("c3", "3"),
        user(),
        result("c2", "2"),
        assistant(),
        result("c1", "1"),
    ]
    done = normalize(given_)
    assert [message["content"] for message in done.messages] == ["", "3", "2", "1", "hello", "well"]
    assert done.dropped == 0


def test_a_result_from_before_its_turn_goes_behind_those_that_stand_right() -> None:
    done = normalize([user(), result("c2", "2"), turn("c1", "c2"), result("c1", "1")])
    assert [message["content"] for message in done.messages] == ["hello", "", "1", "2"]
    assert done.dropped == 0


def test_an_unknown_role_becomes_user_and_a_missing_one_is_dropped() -> None:
    done = normalize(
        [{"role": "function", "content": "f"}, {"role": " ", "content": "b"}, {"role": None}, {"role": 3}]
    )
    assert done.messages == [{"role": "user", "content": "f"}]
    assert done.dropped == 3


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        (0, "0"),
        (-1.5, "-1.5"),
        (True, "true"),
        (False, "false"),
        ([], "[]"),
        ({}, "{}"),
        ({"é": [1, None]}, '{"é":[1,null]}'),
        (float("nan"), ""),
        ([float("inf")], ""),
        (b"x", ""),
        ({"x": {1}}, ""),
        ("a\ud800b", "a\ufffdb"),
        (["\udc00"], '["\ufffd"]'),
        ("\0", "\0"),
        ((1, "a"), '[1,"a"]'),
    ],
)
def test_content_becomes_text(content: Any, text: str) -> None:
    assert normalize([user(content)]).messages == [{"role": "user", "content": text}]


def test_content_that_contains_itself_is_empty() -> None:
    circle: list[Any] = []
    circle.append(circle)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert [message["content"] for message in normalize([user(circle), user(deep)]).messages] == ["", ""]


def test_an_id_of_more_digits_than_can_be_written_is_unusable() -> None:
    assert normalize([turn(10**5000), result(10**5000)]).messages == []


def test_what_is_iterated_once_is_read_once() -> None:
    assert normalize(item for item in [turn("c1"), result("c1")]).dropped == 0


def test_a_call_without_a_name_is_unknown_and_without_arguments_has_none() -> None:
    calls = [
        {"id": "a"},
        {"id": "b", "name": " ", "arguments": ""},
        call("c", {}),
        call("d", "{", original_id="x"),
    ]
    done = normalize([{"role": "assistant", "tool_calls": calls}])
    assert done.messages[0]["tool_calls"] == [
        {"tool_call_id": "a", "name": "unknown"},
        {"tool_call_id": "b", "name": "unknown"},
        {"tool_call_id": "c", "name": "search", "arguments": {}},
        {"tool_call_id": "d", "name": "search", "arguments": "{"},
    ]


def test_pairing_is_read_from_metadata_where_it_is_usable_there_else_from_the_top_level() -> None:
    first = {**turn("top"), "metadata": {"tool_calls": [call("meta")]}}
    second = {**turn("other"), "metadata": {"tool_calls": []}}
    answer = {**result("other"), "metadata": {"tool_call_id": " "}}
    done = normalize([first, second, answer])
    assert [
        [item["tool_call_id"] for item in message.get("tool_calls", ())] for message in done.messages
    ] == [
        ["meta"],
        [],
        ["other"],
        [],
    ]


@pytest.mark.parametrize("mark", [1, "true", None, False])
def test_only_exactly_true_marks_a_placeholder(mark: Any) -> None:
    given_ = [turn("c1"), result("c1", "odd", healed=mark), result("c1", "later")]
    assert normalize(given_).messages[1]["content"] == "odd"


@QUIET
@given(
    st.one_of(garbage, st.text(max_size=3)),
    st.sampled_from(["user", "tool", "robot", None, 3, "system"]),
    call_ids,
)
def test_text_becomes_a_message_or_none(text: Any, role: Any, call_id: Any) -> None:
    made = message_from_text(text, role, call_id)
    content = normalize([user(text)]).messages[0]["content"]
    if content == "":
        assert made is None
        return
    assert made is not None
    expected = {"role": role if role in ("user", "tool", "system") else "user", "content": content}
    if role == "tool" and read_id(call_id):
        expected["tool_call_id"] = read_id(call_id)
    assert made == expected


def test_sources_flatten_in_their_order_and_a_missing_one_leaves_no_gap() -> None:
    a, b, c = user("a"), user("b"), system("c")
    assert assemble([a], None, b, [], iter([c])) == [a, b, c]
    assert assemble() == []
    with pytest.raises(InvalidMessage):
        assemble([a], "text")


@QUIET
@given(st.lists(messages(), max_size=5))
def test_a_normalized_list_is_json(given_: list[Any]) -> None:
    json.dumps(normalize(given_).messages, allow_nan=False).encode()
