"""What the doctor has no reason to touch stays as it was, in every format and however it was written."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.client_samples import CLIENT_SAMPLES, VERCEL_MODEL
from tests.contract.command_line import run
from tests.samples import SAMPLES
from tests.session_samples import PARALLEL
from turnledger.importing.claude_code import NAME as SESSION
from turnledger.importing.doctor import examine, examine_text
from turnledger.importing.doctor.anatomies import EXAMINED
from turnledger.projections.media import in_json

GIVEN: dict[str, list[Any]] = {**SAMPLES, **CLIENT_SAMPLES, "vercel-ai": VERCEL_MODEL, SESSION: PARALLEL}
SOUND = {format: examine(GIVEN[format], format).fixed for format in EXAMINED}
ODD = (
    '"odd": {"a": 1, "b": 1.0, "a": [1e5, 1E-3, -0.0], "n": 123456789012345678901234567890,'
    ' "c" :\t"\\u00e9 \\/ \\ud83d\\ude00"}'
)
each_format = pytest.mark.parametrize("format", EXAMINED)


def lines_of(format: str) -> list[str]:
    """The messages one a line, each with a key that no format knows, in letters that no library writes."""
    return [
        f"{json.dumps(message, ensure_ascii=False, default=in_json)[:-1]}, {ODD}}}"
        for message in SOUND[format]
    ]


WRITTEN: dict[str, Callable[[list[str]], str]] = {
    "one a line": lambda lines: "\n".join(lines) + "\n",
    "no newline at the end": "\n".join,
    "CRLF": lambda lines: "\r\n".join(lines) + "\r\n",
    "a mark at the beginning": lambda lines: "\ufeff" + "\n".join(lines),
    "blank lines": lambda lines: "\n \n".join(lines) + "\n\n\n",
    "a list": lambda lines: "[" + ", ".join(lines) + "]",
    "a list over lines": lambda lines: "[\r\n\t" + ",\r\n\t".join(lines) + "\r\n]\r\n",
    "a map": lambda lines: '{"id" : "x",' + ODD + ', "messages":[' + ",".join(lines) + "] ,\n" + ODD + "}",
}
each_writing = pytest.mark.parametrize("writing", list(WRITTEN))


@each_format
@each_writing
def test_a_sound_file_comes_back_byte_by_byte(format: str, writing: str, tmp_path: Path) -> None:
    path, out = tmp_path / "given", tmp_path / "fixed"
    path.write_bytes(WRITTEN[writing](lines_of(format)).encode())
    done = run("doctor", path, "--fix", out, "--format", format)
    assert (done.code, done.err) == (0, "")
    assert out.read_bytes() == path.read_bytes()


@each_format
@each_writing
def test_of_a_file_with_something_to_mend_the_rest_comes_back_to_the_letter(
    format: str, writing: str
) -> None:
    lines = lines_of(format)
    bad = '{"role": "nobody", "content": NaN}' if format != SESSION else '{"type": "summary", "n": NaN}'
    good = bad.replace("NaN", "null")
    done = examine_text(WRITTEN[writing]([*lines, bad]), format)
    expected = lines if format != SESSION else [*lines, good]
    assert done.findings
    left = done.fixed
    for line in expected:
        before, found, left = left.partition(line)
        assert found
        assert not before.strip(" \t\r\n,[\ufeff") or writing == "a map"


def test_a_key_that_stands_twice_keeps_both_its_places() -> None:
    text = '[{"role": "user", "content": "x", "name": "a", "n": NaN, "content":  "hi"}]'
    assert examine_text(text).fixed == text.replace("NaN", "null")
