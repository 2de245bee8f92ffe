"""OpenAI Responses items: told apart into turns and results, given back one by one, mended where refused."""

from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.judges import JUDGES
from tests.judges.official import library
from tests.samples import REASONING, RESPONSES
from turnledger import ConversationStore, InvalidMessage
from turnledger.importing import guessed_format, import_transcript, read_messages
from turnledger.projections.providers.openai_shapes import ITEMS, NULLABLE

FORMAT = "openai-responses"
ASKED = {"role": "user", "content": "go"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}
SHOT = {
    "type": "computer_call",
    "id": "cu_1",
    "call_id": "call_1",
    "action": {"type": "screenshot"},
    "pending_safety_checks": [],
    "status": "completed",
}


def call(number: int, **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": f"call_{number}", "name": "f", "arguments": "{}", **more}


def answer(text: str, **more: Any) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    known = {"id": f"msg_{text[0]}", "status": "completed"}
    return {"type": "message", "role": "assistant", **known, "content": [part], **more}


def sent(items: list[Any], provider: str = FORMAT) -> dict[str, Any]:
    with ConversationStore(":memory:") as store:
        import_transcript(store, "c", items, FORMAT)
        request = store.sendable("c", provider=provider).request
        assert request is not None
        assert JUDGES[provider](request) is None
        return request


def turns(items: list[Any]) -> list[tuple[str, Any, int]]:
    """Role, content and number of calls of each message that is read."""
    read = read_messages(items, FORMAT)
    return [(one["role"], one["content"], len(one.get("tool_calls", ()))) for one in read]


def test_a_turn_is_a_message_with_the_calls_and_the_reasoning_around_it() -> None:
    items = [ASKED, REASONING, answer("I look."), call(1), call(2), OUTPUT, {**OUTPUT, "call_id": "call_2"}]
    assert turns(items) == [
        ("user", "go", 0),
        ("assistant", "I look.", 2),
        ("tool", "ok", 0),
        ("tool", "ok", 0),
    ]
    assert sent(items)["input"] == items


def test_two_messages_in_a_row_are_two_turns_and_reasoning_goes_with_what_it_led_to() -> None:
    items = [answer("a"), REASONING, answer("b"), call(1), OUTPUT]
    first, second, _ = read_messages(items, FORMAT)
    assert (first["content"], second["content"]) == ("a", "b")
    assert second["metadata"][FORMAT]["blocks"][0] == REASONING
    assert sent(items)["input"] == items


def test_a_message_behind_a_call_stands_in_its_turn_so_that_the_result_stays_where_it_is() -> None:
    items = [call(1), answer("wait"), OUTPUT]
    assert turns(items) == [("assistant", "wait", 1), ("tool", "ok", 0)]
    assert sent(items)["input"] == items


def test_calls_answered_in_between_are_turns_of_their_own() -> None:
    items = [call(1), OUTPUT, call(2), {**OUTPUT, "call_id": "call_2"}]
    assert [number for _, _, number in turns(items)] == [1, 0, 1, 0]


def test_a_plain_message_call_or_result_is_not_kept_twice() -> None:
    read = read_messages([ASKED, {"role": "assistant", "content": "hi"}, call(1), OUTPUT], FORMAT)
    assert all("metadata" not in message for message in read)


def test_arguments_and_outputs_are_not_kept_twice() -> None:
    _, result = read = read_messages([call(1, id="fc_1"), {**OUTPUT, "status": "completed"}], FORMAT)
    assert read[0]["metadata"][FORMAT]["blocks"] == [{"type": "function_call", "id": "fc_1"}]
    assert "output" not in result["metadata"][FORMAT]["blocks"][0]


def test_instructions_are_the_system_prompt_and_come_back_as_instructions() -> None:
    request = {"instructions": "Be brief.", "input": [{"role": "system", "content": "In verse."}, ASKED]}
    messages = read_messages(request)
    assert guessed_format([{"type": "instructions", "role": "system", "content": "Be brief."}]) == FORMAT
    assert [message["content"] for message in messages] == ["Be brief.", "In verse.", "go"]
    with ConversationStore(":memory:") as store:
        store.append("c", messages)
        assert store.sendable("c", provider=FORMAT).request == request


def test_an_input_that_is_a_text_is_what_the_user_said() -> None:
    assert read_messages({"model": "m", "input": "hi"}) == [{"role": "user", "content": "hi"}]


def test_a_result_that_names_the_item_instead_of_the_call_finds_it() -> None:
    items = [call(9, id="fc_9"), {**OUTPUT, "call_id": "fc_9"}]
    assert read_messages(items, FORMAT)[1]["tool_call_id"] == "call_9"
    assert [item["call_id"] for item in sent(items)["input"]] == ["call_9", "call_9"]


def test_a_call_without_an_id_is_answered_by_place() -> None:
    nameless = {key: value for key, value in call(1).items() if key != "call_id"}
    items = [nameless, {"type": "function_call_output", "output": "ok"}]
    turn, result = read_messages(items, FORMAT)
    assert turn["tool_calls"][0]["tool_call_id"] == result["tool_call_id"]


def test_reasoning_that_leads_to_nothing_is_not_sent_but_kept() -> None:
    items = [ASKED, REASONING, ASKED, REASONING]
    assert sent(items)["input"] == [ASKED, ASKED]
    assert read_messages(items, FORMAT)[3]["metadata"][FORMAT]["blocks"] == [REASONING]


def test_reasoning_recorded_before_what_it_led_to_is_sent_with_it() -> None:
    with ConversationStore(":memory:") as store:
        import_transcript(store, "c", [ASKED, REASONING], FORMAT)
        assert store.sendable("c", provider=FORMAT).messages == [ASKED]
        import_transcript(store, "c", [ASKED, REASONING, answer("a")], FORMAT)
        assert store.sendable("c", provider=FORMAT).messages == [ASKED, REASONING, answer("a")]


def test_an_id_that_stands_twice_is_sent_once() -> None:
    again = sent([answer("a"), answer("a"), call(1, id="fc_1"), OUTPUT, call(2, id="fc_1")])["input"]
    assert again[:2] == [answer("a"), {"role": "assistant", "content": "a"}]
    assert [item.get("id") for item in again if "arguments" in item] == ["fc_1", None]


@pytest.mark.parametrize("item_id", ["__fake_id__", "resp_1", "msg_" + "x" * 64, "msg é", 7])
def test_an_id_that_is_no_message_s_is_not_sent(item_id: Any) -> None:
    (message,) = sent([answer("a", id=item_id)])["input"]
    assert message == {"type": "message", "role": "assistant", "content": "a"}


def test_a_custom_call_keeps_its_text_and_is_answered_in_kind() -> None:
    items = [
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "sh", "input": "ls"},
        ASKED,
    ]
    turn, result, _ = sent(items)["input"]
    assert turn == items[0]
    assert result["type"] == "custom_tool_call_output"
    chat = sent(items, "openai-chat")["messages"]
    assert chat[0]["tool_calls"][0]["custom"] == {"name": "sh", "input": "ls"}


def test_a_computer_call_without_its_screenshot_goes_as_a_function_s() -> None:
    shown = {"type": "computer_call_output", "call_id": "call_1"}
    screenshot = {"type": "computer_screenshot", "file_id": "file-1"}
    whole = [SHOT, {**shown, "output": screenshot}]
    assert sent(whole)["input"] == whole
    turn, result = sent([SHOT])["input"]
    assert (turn["type"], turn["name"]) == ("function_call", "computer")
    assert result["type"] == "function_call_output"


def test_what_a_shell_printed_is_the_result_s_text() -> None:
    printed = [{"stdout": "a", "stderr": "b", "outcome": {"type": "timeout"}}]
    items = [
        {"type": "shell_call", "call_id": "call_1", "action": {"commands": ["ls"]}},
        {"type": "shell_call_output", "call_id": "call_1", "output": printed},
    ]
    assert turns(items) == [("assistant", "", 1), ("tool", "a\nb", 0)]
    assert sent(items)["input"] == items


PATCHED = {
    "type": "apply_patch_call",
    "id": "ap_1",
    "call_id": "call_1",
    "operation": {"type": "delete_file", "path": "x"},
    "status": "completed",
}
RAN = {
    "type": "local_shell_call",
    "id": "ls_1",
    "call_id": "call_1",
    "action": {"type": "exec", "command": ["ls"], "env": {}},
    "status": "completed",
}


@pytest.mark.parametrize("output", [{}, {"output": "no such file"}, {"output": ""}])
def test_a_patch_s_result_is_sent_with_what_it_said(output: dict[str, Any]) -> None:
    result = {"type": "apply_patch_call_output", "call_id": "call_1", "status": "failed", **output}
    assert sent([PATCHED, result])["input"] == [PATCHED, result]


@pytest.mark.parametrize("name", ["call_1", "ls_1"])
def test_a_local_shell_s_call_and_result_are_sent_as_such(name: str) -> None:
    result = {"type": "local_shell_call_output", "id": name, "output": "a.txt"}
    assert sent([RAN, result])["input"] == [RAN, result]


def test_a_local_shell_s_result_that_names_its_call_as_others_do_is_sent_under_its_id() -> None:
    result = {"type": "local_shell_call_output", "call_id": "call_1", "output": "a.txt"}
    named = {"type": "local_shell_call_output", "id": "call_1", "output": "a.txt"}
    assert sent([RAN, result])["input"] == [RAN, named]


def test_a_local_shell_s_result_follows_its_call_under_another_id() -> None:
    result = {"type": "local_shell_call_output", "id": "call_1", "output": "a.txt"}
    items = [call(1), OUTPUT, RAN, result]
    ran, printed = sent(items)["input"][2:]
    assert ran["call_id"] == printed["id"] != "call_1"


def test_a_call_id_beyond_forty_characters_is_shortened_in_both_places() -> None:
    long = "call_" + "x" * 60
    turn, result = sent([{**call(1), "call_id": long}, {**OUTPUT, "call_id": long}])["input"]
    assert turn["call_id"] == result["call_id"] != long
    assert len(turn["call_id"]) <= 40


def test_nothing_is_no_value_of_an_item_s_key() -> None:
    dumped = call(1, id="fc_1", status=None, namespace=None)
    assert sent([dumped, OUTPUT])["input"] == [call(1, id="fc_1"), OUTPUT]


def test_other_providers_get_the_words_the_calls_and_the_results() -> None:
    for provider in ("openai-chat", "anthropic"):
        said = str(sent(RESPONSES, provider))
        for words in (
            "Be brief.",
            "in verse",
            "I look.",
            "But I will not touch.",
            "ls -l",
            "a b",
            "It is red.",
        ):
            assert words in said
        assert "encrypted_content" not in said


@pytest.mark.parametrize(
    "item", [7, None, [], {}, {"type": "banana"}, {"role": "robot", "content": "x"}, {"type": "message"}]
)
def test_what_is_no_item_is_named_by_its_place(item: Any) -> None:
    with ConversationStore(":memory:") as store, pytest.raises(InvalidMessage, match="message 2"):
        import_transcript(store, "c", [ASKED, answer("a"), item], FORMAT)


ODD: list[Any] = [None, 7, "", "x", [], {}, [None], [{}], [{"type": "output_text"}], {"type": "input_text"}]


@st.composite
def broken_items(draw: st.DrawFn) -> list[Any]:
    """The sample with items left out, doubled or moved, and keys that are gone or odd."""
    items = [dict(item) for item in draw(st.lists(st.sampled_from(RESPONSES), max_size=12))]
    for item in items:
        if draw(st.integers(0, 3)) == 0:
            key = draw(st.sampled_from(sorted(item)))
            item[key] = draw(st.sampled_from(ODD))
            if draw(st.booleans()):
                del item[key]
    return items


@settings(deadline=None, max_examples=300)
@given(broken_items())
def test_a_broken_transcript_is_read_or_named_and_what_is_read_can_be_sent(items: list[Any]) -> None:
    with ConversationStore(":memory:") as store:
        try:
            import_transcript(store, "c", items, FORMAT)
        except InvalidMessage:
            return
        if not items:
            return
        for provider in ("openai-responses", "openai-chat", "anthropic"):
            store.sendable("c", provider=provider)
        assert import_transcript(store, "c", items, FORMAT).outcome == "unchanged"


@settings(deadline=None, max_examples=200)
@given(st.lists(st.sampled_from(RESPONSES), max_size=14), st.integers(0, 14))
def test_items_in_any_order_read_at_once_or_in_two_goes_make_a_request_that_is_taken(
    items: list[Any], first: int
) -> None:
    with ConversationStore(":memory:") as store:
        import_transcript(store, "c", [ASKED, *items[:first]], FORMAT)
        import_transcript(store, "c", [ASKED, *items], FORMAT)
        for provider, judge in JUDGES.items():
            request = store.sendable("c", provider=provider).request
            assert request is not None
            assert judge(request) is None


def literals(shape: Any) -> list[str]:
    """The texts that a type allows."""
    return (
        [shape] if isinstance(shape, str) else [one for inner in get_args(shape) for one in literals(inner)]
    )


def declared_types() -> dict[str, Any]:
    """The library's type of each kind of item that is no message."""
    module = library("openai.types.responses.response_input_item_param")
    found = {}
    for shape in get_args(module.ResponseInputItemParam):
        for kind in literals(get_type_hints(shape)["type"]):
            found[kind] = shape
    return {kind: shape for kind, shape in found.items() if kind != "message"}


def test_the_shapes_of_items_are_those_of_the_library() -> None:
    types = declared_types()
    for kind, shape in ITEMS.items():
        assert set(shape.shapes) <= set(get_type_hints(types[kind])), kind
        needed = set(shape.needed) | set(NULLABLE.get(kind, ()))
        assert needed >= set(types[kind].__required_keys__), kind


def test_every_kind_of_item_in_the_library_has_a_shape() -> None:
    assert set(declared_types()) == set(ITEMS)


@pytest.mark.parametrize("item_id", [{}, ["ap_1"], 5])
@pytest.mark.parametrize(
    "given",
    [
        {"type": "shell_call", "action": {"commands": ["ls"]}},
        {"type": "apply_patch_call", "operation": {"type": "delete_file", "path": "x"}},
    ],
    ids=lambda given: str(given["type"]),
)
def test_a_call_whose_item_has_no_text_for_an_id_is_sent(given: dict[str, Any], item_id: Any) -> None:
    items = sent([ASKED, {**given, "id": item_id, "call_id": "call_1", "status": "completed"}, OUTPUT])[
        "input"
    ]
    assert [item.get("call_id") for item in items[1:]] == ["call_1", "call_1"]
    assert all(isinstance(item.get("id", ""), str) for item in items)
