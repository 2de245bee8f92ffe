"""docs/formats.md tells the truth: its tables are those of the code, and its words what a rendering does."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from turnledger.importing import ALIASES, FORMATS
from turnledger.projections.providers import (
    PROVIDERS,
    RENDERINGS,
    anthropic,
    bedrock_converse,
    mistral,
    openai_chat,
    openai_responses,
)
from turnledger.projections.providers.table import TAKES
from turnledger.projections.sendable import normalized_items

PAGE = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")
IDS = {
    module.NAME: module.IDS
    for module in (anthropic, bedrock_converse, mistral, openai_chat, openai_responses)
} | {"gemini": "any"}
LONG_ID, LONG_NAME = "~" * 70, "é" * 200

each_provider = pytest.mark.parametrize("provider", list(PROVIDERS))


def rows(head: str) -> dict[str, list[str]]:
    """The rows of the table whose first line begins so, by their first cell."""
    _, _, rest = PAGE.partition(f"\n{head}")
    lines = rest.split("\n\n")[0].splitlines()[2:]
    cells = ([cell.strip() for cell in line.strip("|").split(" | ")] for line in lines)
    return {first.strip(): others for first, *others in cells}


def quoted(text: str) -> list[str]:
    """What stands in a cell as code."""
    return re.findall("`([^`]+)`", text)


IN, OUT = rows("| format |"), rows("| provider | `request`")


def request(provider: str, *messages: dict[str, Any]) -> dict[str, Any]:
    return PROVIDERS[provider](normalized_items(messages)[0])[1]


def of_a_call(provider: str) -> dict[str, Any]:
    call = {"id": LONG_ID, "type": "function", "function": {"name": LONG_NAME, "arguments": "{}"}}
    asked = {"role": "user", "content": "go"}
    return request(provider, asked, {"role": "assistant", "content": "", "tool_calls": [call]})


def texts(value: Any) -> Iterator[str]:
    """Every text in a request."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts(inner)
    elif isinstance(value, str):
        yield value


def test_each_format_has_its_row_with_its_other_names() -> None:
    named = [quoted(first) for first in IN]
    assert {name for name, *_ in named} == set(FORMATS)
    assert {alias: name for name, *aliases in named for alias in aliases} == ALIASES


def test_each_format_tells_the_keys_of_metadata_that_bear_its_name() -> None:
    for first, cells in IN.items():
        (name, *_) = quoted(first)
        assert any(key.split(".")[0] == name for key in quoted(cells[2])), name


def test_each_provider_has_its_row() -> None:
    assert {name for first in OUT for name in quoted(first)} == set(PROVIDERS)


@each_provider
def test_what_a_request_holds(provider: str) -> None:
    keys, place = OUT[f"`{provider}`"][:2]
    sent = request(provider, {"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"})
    assert set(sent) == set(quoted(keys))
    told = place.strip("`")
    assert "Be brief." in list(texts(sent[told]))


@each_provider
def test_whose_turn_is_the_first(provider: str) -> None:
    sent = request(provider, {"role": "assistant", "content": "Hello."}, {"role": "user", "content": "hi"})
    begins_otherwise = next(text for text in texts(sent) if text not in ("user", "assistant")) != "Hello."
    assert OUT[f"`{provider}`"][2] == ("the user's" if begins_otherwise else "any")


@each_provider
def test_which_ids_are_sent_and_what_another_becomes(provider: str) -> None:
    pattern, made = OUT[f"`{provider}`"][3:5]
    assert pattern.strip("`") == IDS[provider]
    sent = [text for text in texts(of_a_call(provider)) if is_id(text)]
    (one,) = set(sent)
    assert len(sent) == 2
    if made == "unchanged":
        assert one == LONG_ID
        return
    assert re.fullmatch(IDS[provider], one)
    beginning = "".join(quoted(made))
    assert one.startswith(beginning)
    digits = {"nine": 9, "24": 24}[re.sub("`.*?`|and|digits", "", made).strip()]
    assert re.fullmatch(f"[0-9a-f]{{{digits}}}", one.removeprefix(beginning))


def is_id(text: str) -> bool:
    return (
        text == LONG_ID
        or re.fullmatch("(call_|toolu_|tooluse_)?([0-9a-f]{24}|[0-9a-f]{9})", text) is not None
    )


@each_provider
def test_how_long_a_name_may_be_and_what_arguments_are(provider: str) -> None:
    longest, arguments = OUT[f"`{provider}`"][5:7]
    assert {len(text) for text in texts(of_a_call(provider)) if set(text) == {"_"}} == {int(longest)}
    assert ("{}" in texts(of_a_call(provider))) == (arguments == "JSON text")


@each_provider
def test_the_number_of_a_rendering(provider: str) -> None:
    assert OUT[f"`{provider}`"][7] == str(RENDERINGS[provider])
    assert f"has the rendering number {RENDERINGS[None]}" in PAGE


def test_which_parts_each_role_takes() -> None:
    head, *_ = (line for line in PAGE.splitlines() if line.startswith("| provider | `system`"))
    roles = quoted(head)
    told = {
        name: {role: tuple(cell.split(", ")) for role, cell in zip(roles, cells, strict=True)}
        for first, cells in rows("| provider | `system`").items()
        for name in quoted(first)
    }
    assert told == {
        name: {role: tuple(kinds) for role, kinds in takes.items()} for name, takes in TAKES.items()
    }
