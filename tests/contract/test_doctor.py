"""The doctor on real breakages: what it finds and where, and the least that mends it."""

import difflib
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.contract.command_line import run
from tests.doctoring import why_refused
from tests.session_samples import line, use
from turnledger import InvalidArgument, normalize
from turnledger.importing import read_messages
from turnledger.importing.claude_code import NAME as SESSION
from turnledger.importing.doctor import examine, examine_text
from turnledger.importing.doctor.layout import Layout
from turnledger.importing.sessions import Tree

BROKEN = Path(__file__).parents[1] / "broken"


class Case(NamedTuple):
    """A file's format, how many lines its mending takes away and adds, and what is found where."""

    format: str
    removed: int
    added: int
    found: list[tuple[str, str]]


CASES = {
    "anthropic-blank-texts.jsonl": Case(
        "anthropic",
        2,
        1,
        [
            ("line 2, content[0]", "empty content"),
            ("line 4", "empty content"),
        ],
    ),
    "anthropic-cut-off.json": Case(
        "anthropic",
        7,
        4,
        [
            ("line 37", "cut off"),
        ],
    ),
    "anthropic-foreign-ids.json": Case(
        "anthropic",
        3,
        3,
        [
            ("messages[1].content[0]", "unusable id"),
            ("messages[3]", "unusable ending"),
        ],
    ),
    "anthropic-half-of-a-batch.json": Case(
        "anthropic",
        0,
        6,
        [
            ("messages[1].content[1]", "unanswered call"),
        ],
    ),
    "anthropic-interrupted.json": Case(
        "anthropic",
        1,
        12,
        [
            ("messages[1].content[1]", "unanswered call"),
        ],
    ),
    "anthropic-one-message-a-line.json": Case(
        "anthropic",
        2,
        1,
        [
            ("messages[3].content[0]", "displaced result"),
        ],
    ),
    "anthropic-orphan-after-compaction.json": Case(
        "anthropic",
        5,
        0,
        [
            ("messages[0].content[0]", "orphan result"),
        ],
    ),
    "anthropic-system-among-messages.json": Case(
        "anthropic",
        8,
        10,
        [
            ("messages[0]", "system in the middle"),
            ("messages[3]", "system in the middle"),
        ],
    ),
    "anthropic-text-before-results.json": Case(
        "anthropic",
        4,
        4,
        [
            ("messages[2].content[1]", "displaced result"),
        ],
    ),
    "bedrock-not-alternating.json": Case(
        "bedrock-converse",
        11,
        3,
        [
            ("messages[3].content[0]", "displaced result"),
            ("messages[4].content[0]", "empty content"),
        ],
    ),
    "claude-code-interrupted.jsonl": Case(
        "claude-code",
        1,
        2,
        [
            ("line 14, message.content[0]", "unanswered call"),
        ],
    ),
    "claude-code-orphan-and-late.jsonl": Case(
        "claude-code",
        5,
        4,
        [
            ("line 4, message.content[0]", "displaced result"),
            ("line 6, message.content[0]", "orphan result"),
        ],
    ),
    "claude-code-parallel-result-lost.jsonl": Case(
        "claude-code",
        1,
        3,
        [
            ("line 7, message.content[0]", "unanswered call"),
            ("line 12, message.content[0]", "unanswered call"),
        ],
    ),
    "claude-code-torn-line.jsonl": Case(
        "claude-code",
        3,
        3,
        [
            ("line 3", "bad line"),
            ("line 4, parentUuid", "broken chain"),
            ("line 2, message.content[0]", "unanswered call"),
        ],
    ),
    "gemini-interrupted.json": Case(
        "gemini",
        8,
        8,
        [
            ("[1].parts[0]", "unanswered call"),
            ("[3]", "empty content"),
        ],
    ),
    "gemini-too-few-responses.json": Case(
        "gemini",
        3,
        8,
        [
            ("contents[1].parts[1]", "unanswered call"),
            ("contents[4].parts[0]", "empty content"),
        ],
    ),
    "mistral-ids-of-openai.jsonl": Case(
        "mistral",
        3,
        3,
        [
            ("line 2, tool_calls[0]", "unusable id"),
            ("line 4", "out of order"),
            ("line 5", "empty content"),
        ],
    ),
    "openai-arguments-cut-off.jsonl": Case(
        "openai-chat",
        2,
        2,
        [
            ("line 1, messages[1].tool_calls[0]", "unusable arguments"),
            ("line 3, messages[1].tool_calls[0]", "unanswered call"),
        ],
    ),
    "openai-crash-before-result.jsonl": Case(
        "openai-chat",
        0,
        1,
        [
            ("line 3, tool_calls[0]", "unanswered call"),
        ],
    ),
    "openai-doubled-and-orphan.json": Case(
        "openai-chat",
        10,
        0,
        [
            ("[3]", "doubled result"),
            ("[5]", "orphan result"),
        ],
    ),
    "openai-ids-restart.json": Case(
        "openai-chat",
        4,
        4,
        [
            ("messages[1].tool_calls[0]", "unusable id"),
            ("messages[7].tool_calls[0]", "reused id"),
        ],
    ),
    "openai-last-line-cut.jsonl": Case(
        "openai-chat",
        1,
        1,
        [
            ("line 5", "cut off"),
        ],
    ),
    "openai-results-out-of-place.json": Case(
        "openai-chat",
        4,
        4,
        [
            ("messages[5]", "displaced result"),
        ],
    ),
    "openai-system-later.jsonl": Case(
        "openai-chat",
        3,
        2,
        [
            ("line 3", "system in the middle"),
            ("line 5", "empty content"),
            ("line 6", "empty list of calls"),
        ],
    ),
    "openai-torn-line.jsonl": Case(
        "openai-chat",
        1,
        1,
        [
            ("line 4", "bad line"),
        ],
    ),
    "openai-turn-saved-twice.json": Case(
        "openai-chat",
        14,
        0,
        [
            ("messages[2].tool_calls[0]", "repeated call"),
        ],
    ),
    "openai-unwritable.jsonl": Case(
        "openai-chat",
        3,
        3,
        [
            ("line 1, messages[0].content", "unwritable content"),
            ("line 2, score", "unwritable content"),
            ("line 3, messages[0].content", "unwritable content"),
        ],
    ),
    "responses-no-output.json": Case(
        "openai-responses",
        5,
        5,
        [
            ("input[2]", "unanswered call"),
            ("input[4]", "out of order"),
        ],
    ),
    "responses-orphan-output.json": Case(
        "openai-responses",
        15,
        1,
        [
            ("[0]", "orphan result"),
            ("[2]", "unusable id"),
        ],
    ),
}
each_case = pytest.mark.parametrize("name", list(CASES))


def text_of(name: str) -> str:
    return (BROKEN / name).read_bytes().decode("utf-8", "surrogateescape")


def requests_in(text: str, format: str) -> list[list[Any]]:
    """The messages of each conversation of a file as its provider is given them."""
    found = [held.messages for held in Layout(text).conversations]
    if format == SESSION:
        (events,) = found
        return [[events[place]["message"] for place in Tree(events, whole=False).main()]]
    return found


def as_given(messages: list[Any], format: str) -> list[Any]:
    """Messages with what the service takes of them: an answer's own keys are none of a request's."""
    if format != SESSION:
        return messages
    return [{key: message[key] for key in ("role", "content")} for message in messages]


@each_case
def test_a_broken_file_is_told_place_by_place(name: str) -> None:
    case = CASES[name]
    done = examine_text(text_of(name), case.format)
    assert [(finding.place, finding.kind) for finding in done.findings] == case.found
    assert all(finding.reason and finding.remedy for finding in done.findings)


@each_case
def test_a_broken_file_is_mended_with_few_changes(name: str) -> None:
    case, text = CASES[name], text_of(name)
    fixed = examine_text(text, case.format).fixed
    changes = list(difflib.unified_diff(text.split("\n"), fixed.split("\n"), n=0, lineterm=""))[2:]
    assert sum(line.startswith("-") for line in changes) == case.removed
    assert sum(line.startswith("+") for line in changes) == case.added


@each_case
def test_a_mended_file_is_sound_accepted_and_read_without_loss(name: str) -> None:
    case = CASES[name]
    fixed = examine_text(text_of(name), case.format).fixed
    again = examine_text(fixed, case.format)
    assert (again.findings, again.fixed) == ((), fixed)
    provider = "anthropic" if case.format == SESSION else case.format
    for messages in requests_in(fixed, case.format):
        assert why_refused(provider, as_given(messages, case.format)) is None
        assert normalize(read_messages(messages, provider)).dropped == 0


def test_at_least_twenty_files_in_five_formats_are_broken() -> None:
    assert set(CASES) == {path.name for path in BROKEN.iterdir()}
    assert len(CASES) >= 20
    assert len({case.format for case in CASES.values()}) >= 5


@pytest.mark.parametrize(
    "text",
    [
        '{"messages": [{"role": "user", "content": "a"}], "b": 1.50, "c": "\\u00e9"}',
        '[\n{"role":"user" ,"content":"a"}\n,{"role":"assistant","content":"b"}]\n\n',
        '\ufeff{"role": "user", "content": "a"}\r\n\r\n{"role": "assistant", "content": "b"}',
        '{"id": 1, "messages": []}\n[{"role": "user", "content": "\u2028"}]\n',
    ],
)
def test_what_is_sound_comes_back_to_the_letter(text: str) -> None:
    done = examine_text(text)
    assert done.sound
    assert done.fixed == text


def test_what_was_not_touched_keeps_its_letters() -> None:
    text = (
        '{"n": 1.50, "messages": [ {"content":"\\u00e9", "role":"user"},{"role": "system","content":"x"} ]}'
    )
    mended = (
        '{"n": 1.50, "messages": [ {"role": "system","content":"x"},{"content":"\\u00e9", "role":"user"} ]}'
    )
    assert examine_text(text).fixed == mended


def test_a_system_prompt_goes_where_the_request_has_its_place() -> None:
    request = {
        "system": "Be brief.",
        "messages": [{"role": "system", "content": "In verse."}, {"role": "user", "content": "a"}],
    }
    fixed = json.loads(examine_text(json.dumps(request), "anthropic").fixed)
    assert fixed == {
        "system": [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "In verse."}],
        "messages": [{"role": "user", "content": "a"}],
    }


@pytest.mark.parametrize("text", ["", " \n", "no JSON", '{"a": 1}', '{"messages": [{"role": "user"]}'])
def test_what_holds_no_conversation_cannot_be_examined(text: str) -> None:
    with pytest.raises(InvalidArgument):
        examine_text(text)


def test_a_format_that_is_not_known_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="anthropic"):
        examine([], "telegram")


def test_messages_of_a_program_are_left_as_they_are_and_the_sound_ones_come_back() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
    ]
    done = examine(messages)
    assert len(messages) == 2
    assert done.fixed[:2] == messages
    assert done.fixed[0] is messages[0]
    assert [(finding.place, finding.call_id) for finding in done.findings] == [("[1].tool_calls[0]", "c1")]


def test_a_tool_part_of_a_user_interface_that_never_ended_ends() -> None:
    part = {"type": "tool-look", "toolCallId": "t1", "state": "input-available", "input": {}}
    messages = [{"id": "m1", "role": "assistant", "parts": [part]}]
    done = examine(messages)
    assert [(finding.place, finding.kind) for finding in done.findings] == [
        ("[0].parts[0]", "unanswered call")
    ]
    (message,) = done.fixed
    assert message["parts"][0]["state"] == "output-error"
    _, result = read_messages(done.fixed)
    assert result["tool_call_id"] == "t1"


def test_two_messages_on_one_line_are_put_on_lines_of_their_own() -> None:
    one, other = '{"role": "user", "content": "a"}', '{"role": "assistant", "content": "b"}'
    done = examine_text(f"{one}\n{one}{other}\n")
    assert done.fixed == f"{one}\n{one}\n{other}\n"
    assert [finding.place for finding in done.findings] == ["line 2"]


def test_the_command_says_what_is_found_and_writes_nothing_unasked(tmp_path: Path) -> None:
    path = BROKEN / "openai-crash-before-result.jsonl"
    done = run("doctor", path)
    assert done.code == 1
    assert done.lines[0].startswith(
        "line 3, tool_calls[0]: unanswered call: the call 'call_1' of track has no result"
    )
    assert "1 conversation, 4 messages, read as openai-chat: 1 finding" in done.lines[1]
    assert "--fix OUT" in done.lines[2]


def test_the_command_fixes_into_another_file_and_says_what_it_did(tmp_path: Path) -> None:
    out = tmp_path / "fixed.jsonl"
    done = run("doctor", BROKEN / "openai-crash-before-result.jsonl", "--fix", out)
    assert done.code == 1
    assert "; fixed: a result says that it was interrupted" in done.lines[0]
    assert run("doctor", out).code == 0
    assert run("doctor", out, "--json").json["sound"] is True


def test_the_command_replaces_another_file_only_when_it_is_told_to(tmp_path: Path) -> None:
    path, other = tmp_path / "chat.json", tmp_path / "other.json"
    path.write_bytes((BROKEN / "openai-doubled-and-orphan.json").read_bytes())
    other.write_text("mine")
    refused = run("doctor", path, "--fix", other)
    assert (refused.code, other.read_text()) == (2, "mine")
    assert "--force" in refused.err
    assert run("doctor", path, "--fix", other, "--force").code == 1
    assert run("doctor", path, "--fix", path).code == 1
    assert path.read_text() == other.read_text()
    assert run("doctor", path).code == 0
    assert {one.name for one in tmp_path.iterdir()} == {"chat.json", "other.json"}


def test_the_command_reads_standard_input_and_writes_standard_output_and_every_byte_of_it() -> None:
    data = b'{"role": "user", "content": "caf\xe9"}\n{"role": "user", "content": "\xc3\xa9"}\n'
    done = run("doctor", "-", "--fix", "-", input=data)
    assert done.code == 1
    assert "read as openai-chat (give --format if it is another's): 1 finding" in done.err
    assert done.out == '{"role": "user", "content": "caf\ufffd"}\n{"role": "user", "content": "\xe9"}\n'


@pytest.mark.parametrize("given", ["absent.json", "."])
def test_the_command_names_what_it_cannot_read(given: str, tmp_path: Path) -> None:
    done = run("doctor", tmp_path / given)
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    empty = tmp_path / "empty.json"
    empty.touch()
    assert run("doctor", empty, "--fix", tmp_path / "out.json").code == 2
    assert not (tmp_path / "out.json").exists()


def test_a_line_that_goes_may_make_another_one_the_newest_and_that_is_examined_too() -> None:
    events = [
        line("u1", None, "user", "hi"),
        line("a1", "u1", "assistant", use("c1")),
        line("u2", "u1", "user", "no, wait"),
        line("u3", "u2", "user", " "),
        line("u2", "u1", "user", " "),
    ]
    done = examine(events, SESSION)
    assert [finding.kind for finding in done.findings] == ["empty content", "empty content"]
    assert done.fixed == events[:3]
    assert examine(done.fixed, SESSION).sound


def test_ids_that_start_anew_each_turn_are_told_apart_turn_by_turn() -> None:
    turns = 300
    messages: list[Any] = []
    for number in range(turns):
        call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": f"[{number}]"}}
        messages += [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": str(number)},
        ]
    done = examine(messages)
    assert {finding.kind for finding in done.findings} == {"reused id"}
    assert [message["tool_call_id"] for message in done.fixed[2::3]] == [
        "call_1",
        *(f"call_1-{number}" for number in range(2, turns + 1)),
    ]


def test_each_of_many_conversations_in_one_document_is_mended() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    one = [{"role": "user", "content": "a"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    done = examine_text(json.dumps([one] * 50))
    assert len(done.findings) == 50
    assert [len(messages) for messages in json.loads(done.fixed)] == [3] * 50


@pytest.mark.parametrize("given", ["a b", None, 7, ""], ids=repr)
def test_a_server_s_call_of_bedrock_and_its_result_get_the_same_id_where_theirs_is_not_taken(
    given: Any,
) -> None:
    call = {"toolUseId": given, "name": "look", "input": {}, "type": "server_tool_use"}
    result = {"toolUseId": given, "content": [{"text": "saw"}], "type": "server_tool_result"}
    blocks = [{"toolUse": call}, {"toolResult": result}, {"text": "It is red."}]
    messages = [{"role": "user", "content": [{"text": "a"}]}, {"role": "assistant", "content": blocks}]
    done = examine(messages, "bedrock-converse")
    kind = "missing id" if given is None else "unusable id"
    assert [finding.kind for finding in done.findings] == [kind] * 2
    assert why_refused("bedrock-converse", done.fixed) is None
    first, second, _ = done.fixed[1]["content"]
    assert first["toolUse"]["toolUseId"] == second["toolResult"]["toolUseId"]


@pytest.mark.parametrize("given", ["a b", None, 7, "", ["x"]], ids=repr)
def test_a_server_s_call_of_anthropic_and_its_result_get_the_same_id_where_theirs_is_not_taken(
    given: Any,
) -> None:
    call = {"type": "server_tool_use", "id": given, "name": "web_search", "input": {"query": "cat"}}
    result = {"type": "web_search_tool_result", "tool_use_id": given, "content": []}
    messages = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": [call, result, {"type": "text", "text": "It is red."}]},
    ]
    done = examine(messages, "anthropic")
    kind = "missing id" if given is None else "unusable id"
    assert [finding.kind for finding in done.findings] == [kind] * 2
    assert why_refused("anthropic", done.fixed) is None
    first, second, _ = done.fixed[1]["content"]
    assert first["id"] == second["tool_use_id"]
    assert examine(done.fixed, "anthropic").sound


@pytest.mark.parametrize("item_id", [["x"], {"a": 1}, 7])
def test_an_item_of_responses_whose_id_is_no_text_is_no_fault_of_ours(item_id: Any) -> None:
    silent = {"role": "user", "content": "", "id": item_id}
    done = examine([silent, {"role": "user", "content": "hi"}, silent], "openai-responses")
    assert done.findings
    assert why_refused("openai-responses", done.fixed) is None


LEGACY = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
CALLING = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
}


@pytest.mark.parametrize(
    ("turn", "result", "fixed"),
    [
        (LEGACY, {"role": "tool", "content": "r"}, {"role": "function", "name": "f", "content": "r"}),
        (
            CALLING,
            {"role": "function", "name": "f", "content": "r"},
            {"role": "tool", "name": "f", "tool_call_id": "a", "content": "r"},
        ),
    ],
)
def test_a_result_answers_in_the_way_in_which_the_call_was_made(turn: Any, result: Any, fixed: Any) -> None:
    """A tool's message behind a `function_call` was given an id, and then answered nothing."""
    hi = {"role": "user", "content": "hi"}
    done = examine([hi, turn, result], "openai-chat")
    assert done.fixed == [hi, turn, fixed]
    assert "orphan result" in [finding.kind for finding in done.findings]
    assert examine(done.fixed, "openai-chat").sound


@pytest.mark.parametrize("format", ["openai-chat", "mistral"])
def test_an_empty_list_beside_calls_is_no_content(format: str) -> None:
    call = {"id": "abcdefgh1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    turn = {"role": "assistant", "content": [], "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "abcdefgh1", "content": "r"}
    done = examine([{"role": "user", "content": "hi"}, turn, result], format)
    assert [finding.kind for finding in done.findings] == ["empty content"]
    assert done.fixed[1] == {**turn, "content": ""}
    assert why_refused(format, done.fixed) is None
    assert examine(done.fixed, format).sound
