"""What the doctor's tests share: requests as a provider is given them, and transcripts broken at random."""

from base64 import b64decode
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

from tests.judges import JUDGES

IDS = ("id", "tool_call_id", "tool_use_id", "toolUseId", "call_id", "toolCallId")
ODD_IDS: list[Any] = ["a", "b", "a", "", " ", None, "0", " a ", 7, "x" * 70, "ü"]


def _in_turns(messages: list[dict[str, Any]], *, merged: bool = True) -> tuple[list[Any], list[Any]]:
    """Messages of one side in a row are one turn for the service, a text is a block; system prompts apart."""
    turns: list[Any] = []
    system: list[Any] = []
    for message in messages:
        key = "parts" if "parts" in message else "content"
        content = message[key]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        if message["role"] == "system":
            assert not turns
            system += blocks
        elif merged and turns and turns[-1]["role"] == message["role"]:
            turns[-1][key] += blocks
        else:
            turns.append({"role": message["role"], key: blocks})
    return turns, system


def _anthropic(messages: list[dict[str, Any]]) -> dict[str, Any]:
    turns, system = _in_turns(messages)
    return {"messages": turns} | ({"system": system} if system else {})


def _converse(messages: list[dict[str, Any]]) -> dict[str, Any]:
    turns, system = _in_turns(messages, merged=False)
    request: dict[str, Any] = in_bytes({"messages": turns} | ({"system": system} if system else {}))
    return request


_AS_GIVEN = ("input", "json")  # what a tool takes and gives keeps its own keys


def in_bytes(value: Any) -> Any:
    """A request of Bedrock's with bytes where its JSON has base64 text."""
    if isinstance(value, dict):
        return {
            key: b64decode(one) if key in ("bytes", "redactedContent") else in_bytes(one)
            for key, one in value.items()
            if key not in _AS_GIVEN
        } | {key: value[key] for key in _AS_GIVEN if key in value}
    return [in_bytes(one) for one in value] if isinstance(value, list) else value


def _gemini(messages: list[dict[str, Any]]) -> dict[str, Any]:
    contents, system = _in_turns(messages)
    return {"contents": contents} | ({"config": {"system_instruction": {"parts": system}}} if system else {})


def _chat(messages: list[dict[str, Any]]) -> dict[str, Any]:
    return {"messages": [{"content": None, **message} for message in messages]}


def _items(messages: list[dict[str, Any]]) -> dict[str, Any]:
    return {"input": messages}


REQUESTS: Mapping[str, Callable[[list[Any]], dict[str, Any]]] = {
    "anthropic": _anthropic,
    "bedrock-converse": _converse,
    "gemini": _gemini,
    "mistral": _chat,
    "openai-chat": _chat,
    "openai-responses": _items,
}


def why_refused(format: str, messages: list[Any]) -> str | None:
    """Why the provider of a format refuses messages as they stand in a file, None where it takes them."""
    return JUDGES[format](REQUESTS[format](messages))


@st.composite
def broken(draw: st.DrawFn, sound: st.SearchStrategy[list[Any]]) -> list[Any]:
    """A sound list of messages after a few accidents."""
    messages = deepcopy(draw(sound))
    for _ in range(draw(st.integers(0, 4))):
        accident = draw(st.sampled_from([_list_accident, _block_accident, _id_accident, _text_accident]))
        accident(draw, messages)
    return messages


def _list_accident(draw: st.DrawFn, found: list[Any]) -> None:
    """Something of a list is lost, doubled, or moved."""
    if not found:
        return
    taken = draw(st.integers(0, len(found) - 1))
    what = draw(st.sampled_from(["lost", "doubled", "moved"]))
    piece = deepcopy(found[taken]) if what == "doubled" else found.pop(taken)
    if what != "lost":
        found.insert(draw(st.integers(0, len(found))), piece)


def _block_accident(draw: st.DrawFn, messages: list[Any]) -> None:
    lists = [value for message in messages for value in message.values() if isinstance(value, list)]
    if lists:
        _list_accident(draw, draw(st.sampled_from(lists)))


def _id_accident(draw: st.DrawFn, messages: list[Any]) -> None:
    maps = [one for one in _maps(messages) if any(key in one for key in IDS)]
    if maps:
        one = draw(st.sampled_from(maps))
        key = next(key for key in IDS if key in one)
        one[key] = draw(st.sampled_from(ODD_IDS))


def _text_accident(draw: st.DrawFn, messages: list[Any]) -> None:
    found = [
        (one, key) for one in _maps(messages) for key in ("text", "content") if isinstance(one.get(key), str)
    ]
    if found:
        one, key = draw(st.sampled_from(found))
        one[key] = draw(st.sampled_from(["", " ", "a\ud800", "b \n"]))


def _maps(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        return [value, *(one for inner in value.values() for one in _maps(inner))]
    return [one for inner in value for one in _maps(inner)] if isinstance(value, list) else []
