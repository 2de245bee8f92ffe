"""Where the values of a JSON text stand in it: the members of a map, elements of a list, with their spans.

Python's own decoder reads each value; here is only what stands between them. A text that breaks off gives
what stands whole before the break.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_DECODER = json.JSONDecoder()
_BLANK = re.compile(r"[ \t\r\n]*")


class Span(NamedTuple):
    """A value with its place in the text; `start` is where its key begins, in a map."""

    key: str | int
    start: int
    at: int
    end: int
    value: Any


class Broken(ValueError):
    """What begins at `at`, under `key` if it is known, is no whole JSON value."""

    def __init__(self, at: int, key: str | int | None = None) -> None:
        super().__init__(f"no JSON from {at} on")
        self.at = at
        self.key = key


def after_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def value_at(text: str, at: int) -> tuple[Any, int]:
    """The value that begins there, and where it ends. Raises `Broken`."""
    try:
        return _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        raise Broken(at) from None


def spans(text: str, at: int) -> Iterator[Span]:
    """The members of the map or the elements of the list that begins at `at`. Raises `Broken`."""
    keyed, closing = text[at] == "{", "}" if text[at] == "{" else "]"
    here = after_blank(text, at + 1)
    if text[here : here + 1] == closing:
        return
    number = 0
    while True:
        start = here
        key: str | int = number
        if keyed:
            key, here = _key(text, here)
        try:
            value, end = value_at(text, here)
        except Broken as broken:
            broken.key = key
            raise
        yield Span(key, start, here, end, value)
        number += 1
        here = after_blank(text, end)
        if text[here : here + 1] == closing:
            return
        if text[here : here + 1] != ",":
            raise Broken(here)
        here = after_blank(text, here + 1)


def _key(text: str, at: int) -> tuple[str, int]:
    """A member's key, and where its value begins."""
    key, end = value_at(text, at)
    here = after_blank(text, end)
    if not isinstance(key, str) or text[here : here + 1] != ":":
        raise Broken(here)
    return key, after_blank(text, here + 1)
