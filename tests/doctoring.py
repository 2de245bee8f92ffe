"""What the doctor's tests share: requests as a provider is given them, and transcripts broken at random."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

from tests.judges import JUDGES

IDS = ("id", "tool_call_id", "tool_use_id", "toolUseId", "call_id", "toolCallId")
ODD_IDS: list[Any] = ["a", "b", "a", "", " ", None, "0", " a ", 7, "x" * 70, "ü"]


def _anthropic(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Messages of one side in a row are one turn for the service, a text is a block."""
    request: dict[str, Any] = {"messages": []}
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        turns = request["messages"]
        if message["role"] == "system":
            assert not turns
            request.setdefault("system", []).extend(blocks)
        elif turns and turns[-1]["role"] == message["role"]:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": message["role"], "content": blocks})
    return request


def _as_they_are(messages: list[dict[str, Any]]) -> dict[str, Any]:
    return {"messages": [{"content": None, **message} for message in messages]}


REQUESTS: Mapping[str, Callable[[list[Any]], dict[str, Any]]] = {
    "anthropic": _anthropic,
    "openai-chat": _as_they_are,
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
    maps = [one for one in _maps(messages) if "text" in one or "content" in one]
    if maps:
        one = draw(st.sampled_from(maps))
        one["text" if "text" in one else "content"] = draw(st.sampled_from(["", " ", "a\ud800", "b \n"]))


def _maps(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        return [value, *(one for inner in value.values() for one in _maps(inner))]
    return [one for inner in value for one in _maps(inner)] if isinstance(value, list) else []
