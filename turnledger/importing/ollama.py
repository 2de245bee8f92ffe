"""Ollama's chat messages: calls and results mostly without ids, pictures and thinking beside the text.

A result names its tool and answers the first open call of that name. An answer of the service holds its
message inside. Thinking is no part of what was said: it is kept in metadata under the format's name.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from turnledger.importing.pairing import Unanswered, given_id
from turnledger.importing.reading import Format, Read, beyond

NAME = "ollama"
_SIGNATURES = {"iVBOR": "png", "/9j/": "jpeg", "R0lG": "gif", "UklGR": "webp"}  # in base64


def read(messages: Sequence[Any], start: int = 0) -> Iterator[Read]:
    """The messages from `start` on, to be appended; what is no message of Ollama's goes on as it is."""
    unanswered = Unanswered()
    for index, message in enumerate(messages):
        found = _read(message, index, unanswered) if isinstance(message, Mapping) else message
        if index >= start:
            yield Read(found, index)


def _read(message: Mapping[str, Any], index: int, unanswered: Unanswered) -> dict[str, Any]:
    known: dict[str, Any] = {}
    if _is_answer(message):
        known, message = {"response": beyond(message, ("message",))}, message["message"]
    role = message.get("role")
    found = {key: value for key, value in message.items() if key not in ("thinking", "images", "tool_name")}
    if "tool_calls" in message:
        found["tool_calls"] = unanswered.declared(message["tool_calls"], index)
    if role == "tool":
        name = message.get("tool_name") or message.get("name")
        found |= {
            "name": name,
            "tool_call_id": unanswered.answer(name, given_id(message.get("tool_call_id"))),
        }
    found["content"] = _with_images(message)
    if message.get("thinking"):
        known["thinking"] = message["thinking"]
    metadata = found.get("metadata")
    if known and isinstance(metadata, Mapping | None):
        found["metadata"] = {**(metadata or {}), NAME: known}
    return found


def _with_images(message: Mapping[str, Any]) -> Any:
    """The text, and behind it the pictures."""
    content, images = message.get("content"), message.get("images")
    if not isinstance(images, list) or not images or not isinstance(content, str | None):
        return content
    text = [{"type": "text", "text": content}] if content else []
    return text + [_image(image) for image in images]


def _image(data: Any) -> dict[str, Any]:
    kind = next((kind for sign, kind in _SIGNATURES.items() if str(data).startswith(sign)), None)
    return {"type": "image", "data": data} | ({"mimeType": f"image/{kind}"} if kind else {})


def _is_answer(message: Mapping[str, Any]) -> bool:
    return "role" not in message and "done" in message and isinstance(message.get("message"), Mapping)


def marks(message: Mapping[str, Any]) -> bool:
    if _is_answer(message) or "tool_name" in message:
        return True
    images, calls = message.get("images"), message.get("tool_calls")
    return (isinstance(images, list) and "role" in message) or (
        isinstance(calls, list) and any(_is_own(call) for call in calls if isinstance(call, Mapping))
    )


def _is_own(call: Mapping[str, Any]) -> bool:
    """Whether it is a call without an id, its arguments a map."""
    function = call.get("function")
    if not call.keys().isdisjoint(("id", "tool_call_id")) or not isinstance(function, Mapping):
        return False
    return isinstance(function.get("arguments"), Mapping)


FORMAT = Format(NAME, read, marks)
