"""What is told of a long text that was found: what stands around the first of the words.

FTS5's own snippet takes the square of how often the words are there: minutes for a log with 30,000 errors.
"""

import re
import unicodedata

LONG_CHARACTERS = 4_000
LEAD_CHARACTERS = 60
EXCERPT_CHARACTERS = 240
_WORD = re.compile("[^\\W_](?:[^\\W_]|[\u0300-\u036f])*")
Highlights = tuple[tuple[int, int], ...]


def excerpt(text: str, words: str) -> tuple[str, Highlights]:
    """A part of a text, and the places in it of what was searched for; its beginning where none is found.

    >>> excerpt("Trains go to Évora", "evora tra*")
    ('Trains go to Évora', ((0, 6), (13, 18)))
    """
    wanted = _Wanted(words)
    first = next((word.start() for word in _WORD.finditer(text) if wanted.holds(word[0])), 0)
    start = _beginning(text, first)
    end = start + EXCERPT_CHARACTERS
    lead = "…" if start else ""
    part = lead + text[start:end] + ("…" if end < len(text) else "")
    return part, tuple(word.span() for word in _WORD.finditer(part) if wanted.holds(word[0]))


def _beginning(text: str, first: int) -> int:
    """Where a part begins that has the word at `first`: behind a blank, if one is near."""
    start = max(0, first - LEAD_CHARACTERS)
    blank = text.find(" ", start, first)
    return blank + 1 if start and blank >= 0 else start


class _Wanted:
    """The words of a search, each whole or, with a star behind it, as a beginning."""

    def __init__(self, words: str) -> None:
        self._whole: set[str] = set()
        self._begin: list[str] = []
        for word in _WORD.finditer(words):
            if words[word.end() : word.end() + 1] == "*":
                self._begin.append(_folded(word[0]))
            else:
                self._whole.add(_folded(word[0]))

    def holds(self, word: str) -> bool:
        folded = _folded(word)
        return folded in self._whole or any(folded.startswith(begin) for begin in self._begin)


def _folded(word: str) -> str:
    """As the search compares: neither case nor accents."""
    if word.isascii():
        return word.lower()
    return "".join(c for c in unicodedata.normalize("NFKD", word.casefold()) if not unicodedata.combining(c))
