"""Foreign text made fit to be looked at: what could command a terminal, or hide itself, is spelled out.

A message's content is untrusted. Nothing of it that is not a plain character reaches a screen as it is.
"""

import json
import re
from typing import Any

from turnledger.domain.values import json_text
from turnledger.projections.media import in_json

_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # C0 and C1: escape sequences begin here
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # reorder the text around them
    "\u2028\u2029\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
_BLANKS = re.compile(r"[ \t\r\n\v\f]+")


def legible(text: str) -> str:
    """The text with every control character spelled out, line ends too.

    >>> legible("a\\x1b[31mred\\n")
    'a\\\\x1b[31mred\\\\n'
    """
    return _UNPRINTABLE.sub(_spelled_out, text)


def legible_lines(text: str) -> list[str]:
    """The text's lines, each legible; tabs become four spaces."""
    return [legible(line.expandtabs(4)) for line in text.replace("\r\n", "\n").split("\n")]


def one_line(text: str) -> str:
    """The text on one line: blanks and line ends as one space, all else legible."""
    return legible(_BLANKS.sub(" ", text).strip())


def shortened(text: str, characters_max: int, characters: int | None = None) -> str:
    """The text, or its beginning with how long it really is.

    >>> shortened("abcdefgh" * 4, 10)
    'abcdefghab… (32 characters)'
    """
    whole = len(text) if characters is None else characters
    if len(text) <= characters_max and whole <= len(text):
        return text
    return f"{text[:characters_max].rstrip()}… ({whole:,} characters)"


def spoken(content: Any) -> str:
    """A message's content as text: that of its parts, `[image_url]` for a part without; JSON otherwise."""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and content and all(isinstance(part, dict) for part in content):
        return "\n".join(_part(part) for part in content)
    return "" if content is None else json_text(content)


def _part(part: dict[str, Any]) -> str:
    text, kind = part.get("text"), part.get("type")
    if isinstance(text, str):
        return text
    if isinstance(kind, str):
        return f"[{kind}]"
    return json.dumps(part, ensure_ascii=False, separators=(",", ":"), default=in_json)


def _spelled_out(found: re.Match[str]) -> str:
    return found.group().encode("unicode_escape", "surrogatepass").decode("ascii")


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun: `1 entry`, `1,304 entries`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
