"""A JSON text made to hold another value: what is equal keeps its letters, the rest is written in its style.

Values that were not touched are the very objects that were read, so that a message is found again wherever it
now stands; of those that were changed, `Origins` knows what they were.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from turnledger.importing.doctor.spans import Span, spans

_INDENT = re.compile(r"\n([ \t]+)\S")
_COLON = re.compile(r'":( ?)')
_COMMA = re.compile(r'[\]}"0-9el],( ?)["{]')


class Origins:
    """Of which value that was read each new one is the change."""

    def __init__(self) -> None:
        self._old: dict[int, Any] = {}
        self._alive: list[Any] = []

    def note(self, new: Any, old: Any) -> Any:
        """Says that `new` is `old`, changed; gives `new`."""
        if new is not old:
            self._old[id(new)] = self._old.get(id(old), old)
            self._alive.append(new)
        return new

    def copy_of(self, value: Any) -> Any:
        """A copy of a container, to be changed; itself, where it is one."""
        return value if id(value) in self._old else self.note(value.copy(), value)

    def of(self, new: Any) -> Any:
        return self._old.get(id(new), new)


@dataclass(frozen=True, slots=True)
class Style:
    """How a text is written: the white space of one level, escapes, and whether blanks follow `:` and `,`."""

    indent: str | None
    ascii_only: bool
    after_colon: str
    after_comma: str

    def written(self, value: Any, margin: str) -> str:
        """A new value, its further lines behind `margin`."""
        separators = ("," if self.indent is not None else "," + self.after_comma, ":" + self.after_colon)
        text = json.dumps(value, ensure_ascii=self.ascii_only, indent=self.indent, separators=separators)
        return text.replace("\n", "\n" + margin) if self.indent is not None else text

    def like(self, sample: str) -> "Style":
        """The same; on one line where the sample, a list or a map, stands on one."""
        on_one = sample[:1] in ("{", "[") and "\n" not in sample
        return replace(self, indent=None) if on_one else self


def style_of(text: str) -> Style:
    """The style of a text; of one that shows none, that of Python's `json`."""
    head = text[:20_000]
    indent, colon, comma = _INDENT.search(head), _COLON.search(head), _COMMA.search(head)
    return Style(
        indent.group(1) if indent else None,
        text.isascii(),
        colon.group(1) if colon else " ",
        comma.group(1) if comma else " ",
    )


def patched(text: str, old: Any, new: Any, origins: Origins, style: Style | None = None) -> str:
    """The text, which holds `old`, holding `new`."""
    if old is new:
        return text
    begin = len(text) - len(text.lstrip(" \t\r\n"))
    end = len(text.rstrip(" \t\r\n"))
    body = _Patch(text, style or style_of(text), origins).value(begin, end, old, new)
    return text[:begin] + body + text[end:]


def same(old: Any, new: Any) -> bool:
    """Whether a value was left alone."""
    if old is new:
        return True
    return not isinstance(old, dict | list) and type(old) is type(new) and bool(old == new)


class _Patch:
    def __init__(self, text: str, style: Style, origins: Origins) -> None:
        self._text = text
        self._style = style
        self._origins = origins

    def value(self, at: int, end: int, old: Any, new: Any, around: str = "") -> str:
        """The text of a value, itself or as it is now; `around` is the container that it stands in."""
        if same(old, new):
            return self._text[at:end]
        if old and new and isinstance(old, dict) and isinstance(new, dict):
            return self._map(at, end, old, new)
        if old and new and isinstance(old, list) and isinstance(new, list):
            return self._list(at, end, old, new)
        sample = self._text[at:end] if isinstance(old, dict | list) and old else around
        return self._style.like(sample).written(new, self._margin(at))

    def _margin(self, at: int) -> str:
        """The white space that the line of this place begins with."""
        line = self._text[self._text.rfind("\n", 0, at) + 1 : at]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _map(self, at: int, end: int, old: dict[str, Any], new: dict[str, Any]) -> str:
        found = list(spans(self._text, at))
        read = {span.key: span for span in found}  # of a key that stands there twice, the last one
        pieces: list[tuple[Span | None, str]] = []
        for span in (span for span in found if span.key in new):
            key, value = str(span.key), self._text[span.at : span.end]
            if read[key] is span:
                value = self.value(span.at, span.end, old[key], new[key], self._text[at:end])
            pieces.append((span, self._text[span.start : span.at] + value))
        style, margin = self._style.like(self._text[at:end]), self._margin(found[0].start)
        for key, value in new.items():
            if key not in old:
                written = style.written(value, margin)
                pieces.append((None, f"{style.written(key, '')}:{style.after_colon}{written}"))
        return self._joined(at, end, found, pieces)

    def _list(self, at: int, end: int, old: list[Any], new: list[Any]) -> str:
        found = list(spans(self._text, at))
        place_of = {id(value): place for place, value in enumerate(old)}
        style, margin = self._style.like(self._text[found[0].at : found[0].end]), self._margin(found[0].at)
        pieces: list[tuple[Span | None, str]] = []
        for value in new:
            place = place_of.get(id(self._origins.of(value)))
            if place is None:
                pieces.append((None, style.written(value, margin)))
            else:
                span = found[place]
                pieces.append((span, self.value(span.at, span.end, old[place], value)))
        return self._joined(at, end, found, pieces)

    def _joined(
        self, at: int, end: int, found: Sequence[Span], pieces: Sequence[tuple[Span | None, str]]
    ) -> str:
        """The pieces between the brackets, each as far from the one before as it stood."""
        text, lead = self._text, self._text[at + 1 : found[0].start]
        before = {one.start: text[last.end : one.start] for last, one in pairwise(found)}
        usual = next(iter(before.values()), "," + (lead if "\n" in lead else self._style.after_comma))
        body = ""
        for number, (span, piece) in enumerate(pieces):
            apart = before.get(span.start, usual) if span else usual
            body += piece if number == 0 else apart + piece
        return text[at] + lead + body + text[found[-1].end : end]
