"""What can be given to the doctor, and which format it takes it to be in."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.contract.command_line import run
from turnledger import InvalidArgument
from turnledger.importing import read_messages, read_transcripts
from turnledger.importing.doctor import examine, examine_text

HI: dict[str, Any] = {"role": "user", "content": "hi"}
EMPTY: dict[str, Any] = {"role": "user", "content": None}
REQUESTS: list[dict[str, Any]] = [
    {"system": "Be brief.", "messages": [HI]},
    {"system": [{"type": "text", "text": "Be brief."}], "messages": [HI]},
    {"model": "claude-sonnet-4-5", "messages": [HI]},
]


@pytest.mark.parametrize("request_", REQUESTS)
def test_a_request_says_whose_it_is(request_: dict[str, Any]) -> None:
    for done in (examine(request_), examine_text(json.dumps(request_))):
        assert done.formats == ("anthropic",)
        assert not done.assumed
    (found,) = read_transcripts(io.BytesIO(json.dumps(request_).encode()), "c")
    assert getattr(found, "likely", None) == "anthropic"


def test_what_the_messages_show_goes_before_what_stands_beside_them() -> None:
    result = {"role": "tool", "tool_call_id": "call_1234567890", "content": "ok"}
    call = {"id": "call_1234567890", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [HI, {"role": "assistant", "content": None, "tool_calls": [call]}, result]
    assert examine({"model": "claude-sonnet-4-5", "messages": messages}).formats == ("openai-chat",)


def test_converse_has_its_system_prompt_in_blocks_without_a_type() -> None:
    assert examine({"system": [{"text": "Be brief."}], "messages": [HI]}).formats == ("bedrock-converse",)


def test_a_format_that_nothing_shows_is_told_as_that(tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text(json.dumps([HI]))
    assert "read as openai-chat (give --format if it is another's): sound" in run("doctor", file).out
    assert "give --format" not in run("doctor", file, "--format", "openai-chat").out
    assert run("doctor", file, "--json").json["assumed"] is True


def test_a_request_is_mended_as_a_request() -> None:
    given = {
        "model": "claude-sonnet-4-5",
        "messages": [{"role": "system", "content": "Be brief."}, HI, EMPTY],
    }
    done = examine(given)
    assert done.fixed == {"model": "claude-sonnet-4-5", "messages": [HI], "system": "Be brief."}
    assert {finding.place for finding in done.findings} == {"messages[0]", "messages[2]"}
    assert len(given["messages"]) == 3
    assert examine(done.fixed).fixed is done.fixed


def test_a_file_is_examined_by_its_path(tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text(json.dumps([HI, EMPTY]))
    for path in (file, str(file)):
        assert json.loads(examine(path).fixed) == [HI]
        assert read_messages(path)[0] == HI


@pytest.mark.parametrize("given", [None, 5, b"[]", "[]", {"role": "user"}, {"messages": "hi"}])
def test_what_cannot_be_examined_is_refused_with_what_to_give(given: Any) -> None:
    with pytest.raises(InvalidArgument, match="give a list of messages, a map with 'messages', or the path"):
        examine(given)


def test_an_open_file_is_not_taken_for_messages(tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text(json.dumps([HI]))
    with file.open() as opened, pytest.raises(InvalidArgument, match="the path of a file"):
        examine(opened)
