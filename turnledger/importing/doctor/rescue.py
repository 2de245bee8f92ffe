"""What can be saved of a text that breaks off, or of a line in which two writers wrote.

A document that was cut off ends behind its last whole message; of a torn line the whole values are kept.
"""

import json
from typing import Any, NamedTuple

from turnledger.importing.doctor.spans import Broken, after_blank, spans, value_at
from turnledger.importing.files import LIST_KEYS

_TAIL_CHARACTERS = 6
_STARTS_MAX = 200


class _Cut(NamedTuple):
    """Where to cut, what closes the containers that are open there, and whether messages stand before it."""

    end: int
    closing: str
    holds_messages: bool


def rescued(text: str) -> str | None:
    """The text closed behind its last whole message; None where it is not merely cut off."""
    if not _breaks_off(text):
        return None
    at = after_blank(text, 0)
    cut = _cut(text, at, top=True) if text[at : at + 1] in ("{", "[") else None
    if cut is None or not cut.holds_messages:
        return None
    return text[: cut.end] + cut.closing


def _breaks_off(text: str) -> bool:
    """Whether the text is JSON as far as it goes."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        near = error.pos >= len(text.rstrip()) - _TAIL_CHARACTERS
        return near or error.msg.startswith("Unterminated string")
    except (ValueError, RecursionError):
        return False
    return False


def _cut(text: str, at: int, *, top: bool) -> _Cut | None:
    end, holds = 0, text[at] == "[" and top
    try:
        for span in spans(text, at):
            end, holds = span.end, holds or span.key in LIST_KEYS
    except Broken as broken:
        inner = _inner_cut(text, broken, top=top)
        if inner:
            return _Cut(inner.end, inner.closing + _closing(text, at), True)
    return _Cut(end, _closing(text, at), holds) if end else None


def _inner_cut(text: str, broken: Broken, *, top: bool) -> _Cut | None:
    """The cut inside of the value that is not whole, where that holds the messages."""
    opening = text[broken.at : broken.at + 1]
    if opening == "[" and (broken.key in LIST_KEYS or top):
        inner = _cut(text, broken.at, top=False)
        return inner._replace(holds_messages=True) if inner else None
    if opening == "{" and top:
        inner = _cut(text, broken.at, top=False)
        return inner if inner and inner.holds_messages else None
    return None


def _closing(text: str, at: int) -> str:
    """What closes the container that begins there: on a line of its own where the text has many."""
    closing = "}" if text[at] == "{" else "]"
    follows = text[at + 1 : after_blank(text, at + 1)]
    if "\n" not in follows:
        return closing
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return ("\r\n" if "\r\n" in follows else "\n") + line[: len(line) - len(line.lstrip(" \t"))] + closing


def values_in(line: str) -> list[tuple[str, Any]]:
    """The whole maps of a line that is no JSON: one after the other, or the one behind a torn one."""
    found: list[tuple[str, Any]] = []
    at, starts = after_blank(line, 0), 0
    while at < len(line) and starts < _STARTS_MAX:
        starts += 1
        try:
            value, end = value_at(line, at)
        except Broken:
            value, end = None, at
        if isinstance(value, dict) and (found or _ends_whole(line, end)):
            found.append((line[at:end], value))
            at = after_blank(line, end)
        else:
            at = _next_map(line, at)
    return found


def _ends_whole(line: str, end: int) -> bool:
    """Whether what ends here is followed by nothing, or by another map."""
    here = after_blank(line, end)
    return here == len(line) or line[here] == "{"


def _next_map(line: str, at: int) -> int:
    found = line.find('{"', at + 1)
    return len(line) if found < 0 else found
