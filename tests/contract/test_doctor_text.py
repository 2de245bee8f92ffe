"""The text that the doctor writes: JSON that holds what it should, and all else as it stood."""

import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contract.command_line import run
from turnledger import InvalidArgument, InvalidMessage
from turnledger.importing.doctor import examine, examine_text
from turnledger.importing.doctor.anatomies import EXAMINED
from turnledger.importing.doctor.patching import Origins, checked, patched
from turnledger.importing.files import read_transcripts
from turnledger.importing.transcripts import BadLine

QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=100)
UNSENDABLE_CALLS = '{"role": "assistant", "content": "x", "tool_calls": []}'
BLANKS = st.text(" \t\r\n", max_size=2)
LITERALS = ["0", "-0", "1E2", "1.50", "null", "true", '""', '"\\u00e9 \\""', '"\u2028"', "{}", "[]"]


@st.composite
def json_texts(draw: st.DrawFn, levels: int = 3) -> str:
    """JSON with any spacing, and with keys that stand more than once in a map."""
    kind = draw(st.sampled_from(["literal", "list", "map"])) if levels else "literal"
    if kind == "literal":
        return draw(st.sampled_from(LITERALS))

    def spaced(text: str) -> str:
        return draw(BLANKS) + text + draw(BLANKS)

    items = [spaced(draw(json_texts(levels - 1))) for _ in range(draw(st.integers(0, 4)))]
    if kind == "list":
        return "[" + ",".join(items or [draw(BLANKS)]) + "]"
    keys = st.sampled_from(['"a"', '"\\u0061"', '"b"', '"c"'])
    return "{" + ",".join([f"{spaced(draw(keys))}:{item}" for item in items] or [draw(BLANKS)]) + "}"


def changed(draw: Callable[[st.SearchStrategy[Any]], Any], value: Any, origins: Origins) -> Any:
    """A value with some of it taken away, moved, added or made another."""
    what = draw(st.sampled_from(["kept", "kept", "inside", "inside", "new"]))
    if what == "kept":
        return value
    if what == "new" or not isinstance(value, dict | list):
        return draw(st.sampled_from([None, 7, "é", {"k": [1, {}]}, [[], "x"]]))
    if isinstance(value, dict):
        left = {key: changed(draw, one, origins) for key, one in value.items() if draw(st.booleans())}
        return origins.note(left | draw(st.sampled_from([{}, {"new": [1]}])), value)
    items = [changed(draw, one, origins) for one in value if draw(st.booleans())]
    items += draw(st.sampled_from([[], [{"k": 0}]]))
    return origins.note(draw(st.permutations(items)), value)


@QUIET
@given(st.data(), json_texts(), BLANKS, BLANKS)
def test_a_text_is_made_to_hold_any_other_value(
    data: st.DataObject, text: str, before: str, after: str
) -> None:
    old, origins = json.loads(text), Origins()
    new = changed(data.draw, old, origins)
    assert json.loads(patched(before + text + after, old, new, origins)) == new


def test_keys_that_stand_there_twice_stay_as_they_stand() -> None:
    text = '{"a":1,"b":2, "a":3,"messages":[{"role":"user","content":"q"},' + UNSENDABLE_CALLS + "]}"
    fixed = examine_text(text).fixed
    assert fixed.startswith('{"a":1,"b":2, "a":3,"messages":[{"role":"user","content":"q"},')
    assert json.loads(fixed)["messages"][1] == {"role": "assistant", "content": "x"}


def test_of_a_key_that_stands_there_twice_the_one_that_is_read_is_mended() -> None:
    text = '{"messages": 0, "b": 2, "messages": [{"role": "user", "content": "q"}, ' + UNSENDABLE_CALLS + "]}"
    fixed = '{"messages": 0, "b": 2, "messages": [{"role": "user", "content": "q"}, '
    assert examine_text(text).fixed == fixed + '{"role": "assistant", "content": "x"}]}'


@pytest.mark.parametrize("text", ['{"a": 1', '{"a": 2}', "[" * 10**5])
def test_what_does_not_hold_what_it_should_is_not_written(text: str) -> None:
    with pytest.raises(InvalidArgument, match="please report"):
        checked(text, {"a": 1})


CONVERSATION = '{"id": "a", "messages": [{"role": "user", "content": "q"}]}'
VALUES = [CONVERSATION, '{"id": "b"}', "5", "[]", '{"messages": []}', '{"role": "user", "content": "q"}']
VALUES += ['{"model": "m", "input": "q"}', '{"model": "m", "input": " "}', '"\\ud800"', "NaN", "{", "", "[5]"]
VALUES += [f'[{CONVERSATION}, {{"id": "b"}}]', f"[[], {CONVERSATION}, 7]", '[{"id": "b"}]']


@pytest.mark.parametrize(
    ("text", "fixed", "place"),
    [
        (f'{CONVERSATION}\n{{"id": "b"}}\n', f"{CONVERSATION}\n", "line 2"),
        (f'{{"b": 1}}\n{CONVERSATION}', CONVERSATION, "line 1"),
        (f'[{CONVERSATION}, {{"id": "b"}}, {CONVERSATION}]', f"[{CONVERSATION}, {CONVERSATION}]", "[1]"),
    ],
)
def test_what_is_no_conversation_among_conversations_is_left_out(text: str, fixed: str, place: str) -> None:
    done = examine_text(text)
    assert [(finding.place, finding.remedy) for finding in done.findings] == [(place, "left out")]
    assert done.fixed == fixed


def test_behind_what_is_left_out_of_a_list_a_place_is_that_of_the_file() -> None:
    refused = f'{{"messages": [{{"role": "user", "content": "q"}}, {UNSENDABLE_CALLS}]}}'
    done = examine_text(f'[{CONVERSATION}, {{"id": "b"}}, {refused}]')
    assert [finding.place for finding in done.findings] == ["[1]", "[2].messages[1]"]
    mended = refused.replace(', "tool_calls": []', "")
    assert done.fixed == f"[{CONVERSATION}, {mended}]"


@QUIET
@given(st.lists(st.sampled_from(VALUES), min_size=1, max_size=4), st.sampled_from(["", "\n"]))
def test_a_fixed_file_of_any_lines_is_sound_and_imported(lines: list[str], end: str) -> None:
    try:
        fixed = examine_text("\n".join(lines) + end).fixed
    except InvalidArgument:
        return
    if fixed.strip():
        assert examine_text(fixed).findings == ()
        read = list(read_transcripts(BytesIO(fixed.encode()), "name"))
        assert [item for item in read if isinstance(item, BadLine)] == []


def test_numbers_and_letters_of_a_list_that_changes_keep_their_spelling() -> None:
    numbers = '[0,-0, 1E2,0,100.0,"\\u0061","a"'
    text = '{"k":' + numbers + ',NaN],"messages":[{"role":"user","content":"q"}]}'
    done = examine_text(text)
    assert done.fixed == text.replace("NaN", "null")
    assert [finding.place for finding in done.findings] == ["k[7]"]


def test_a_number_that_no_float_holds_is_null_as_it_is_imported() -> None:
    text = '{"messages":[{"role":"user","content":"q","n":[-0,1e400]}]}'
    done = examine_text(text)
    assert done.fixed == text.replace("1e400", "null")
    assert "too large" in done.findings[0].reason


CALLING = '{"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]}'
ASKED = '{"role": "user", "content": "q"}'
TORN = '{"role": "user", "con'


def indented(*messages: str) -> str:
    return json.dumps({"messages": [json.loads(message) for message in messages]}, indent=2)


@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
@pytest.mark.parametrize(
    "text",
    [
        CALLING,
        f"{ASKED}\n{CALLING}",
        f"{CALLING}\n\n{ASKED}",
        f"{ASKED}\n{UNSENDABLE_CALLS}",
        f"{ASKED}\n{ASKED}{ASKED}",
        f"{ASKED}\n5",
        f"{ASKED}\n{TORN}",
        f"{TORN}{ASKED}\n{ASKED}",
        f'{{"messages": [{CALLING}]}}\n{{"b": 1}}',
        f'{CONVERSATION}\n{{"messages": [{CALLING}]}}',
        indented(ASKED, CALLING),
        indented(CALLING, ASKED),
        indented(ASKED, ASKED)[:-10],
    ],
)
def test_a_file_with_carriage_returns_is_fixed_as_one_without_and_keeps_them(text: str, end: str) -> None:
    fixed = examine_text(text + end).fixed
    assert fixed != text + end
    kept = examine_text((text + end).replace("\n", "\r\n")).fixed
    assert kept.replace("\r\n", "\n") == fixed
    if "\n" in text + end:
        assert kept.count("\r") == kept.count("\n") == kept.count("\r\n")


@pytest.mark.parametrize("name", ["n" * 250, "\u00e4" * 125])
def test_a_file_whose_name_is_as_long_as_can_be_is_replaced(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(f"{ASKED}\n{CALLING}\n")
    assert run("doctor", path, "--fix", path).code == 1
    assert run("doctor", path).code == 0
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_the_name_of_what_is_written_is_legible(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_text(f"{ASKED}\n")
    out = tmp_path / "a\x1b[31m\u202e.jsonl"
    done = run("doctor", path, "--fix", out)
    assert out.read_text() == path.read_text()
    assert "; written to " in done.out
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


RING: dict[str, Any] = {"role": "user"}
RING["content"] = [RING]
HUGE = pytest.param(10**5_000, id="huge")


@pytest.mark.parametrize("format", [None, *EXAMINED])
@pytest.mark.parametrize("value", [RING, {1: 2}, {None: 1}, {("a",): 1}, nested(5_000), HUGE])
def test_messages_that_json_cannot_hold_are_refused_by_their_place(value: Any, format: str | None) -> None:
    asked = {"role": "user", "content": "q"}
    for message in (value, {"role": "user", "content": [{"type": "text", "text": value}]}):
        with pytest.raises(InvalidMessage) as raised:
            examine([asked, message], format)
        assert raised.value.index == 1


@pytest.mark.parametrize("format", [None, *EXAMINED])
@pytest.mark.parametrize("value", [object(), {"a": object()}, ("a",), {"a"}, b"\xff", nested(150)])
def test_what_else_a_program_puts_into_a_message_is_examined(value: Any, format: str | None) -> None:
    function = {"name": value, "arguments": value}
    for message in (
        value,
        {"role": value, "content": value},
        {"role": "user", "content": value, "parts": value, "type": value},
        {"role": "assistant", "content": value, "tool_calls": [{"id": value, "function": function}]},
        {"role": "model", "parts": [{"functionCall": {"id": value, "name": value, "args": value}}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": value, "name": value, "input": value}]},
        {"role": "tool", "tool_call_id": value, "content": value},
        {"type": "assistant", "uuid": value, "parentUuid": value, "message": value},
        {"type": "function_call", "call_id": value, "id": value, "name": value, "arguments": value},
    ):
        assert examine([message, {"role": "user", "content": "q"}], format).messages == 2
