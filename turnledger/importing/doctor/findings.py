"""What the doctor finds: one thing that a provider refuses, where it stands, why, and what mends it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from turnledger.domain.values import json_text

UNANSWERED = "unanswered call"
ORPHAN = "orphan result"
DOUBLED = "doubled result"
DISPLACED = "displaced result"
REPEATED_CALL = "repeated call"
REUSED_ID = "reused id"
REUSED_NAME = "reused name"
UNUSABLE_ID = "unusable id"
MISSING_ID = "missing id"
UNUSABLE_NAME = "unusable name"
UNUSABLE_ARGUMENTS = "unusable arguments"
STRAY_CALL = "stray call"
NO_CALLS = "empty list of calls"
SYSTEM = "system in the middle"
EMPTY = "empty content"
UNWRITABLE = "unwritable content"
LEADING = "leading assistant"
ENDING = "unusable ending"
THINKING = "thinking at the end"
ORDER = "out of order"
BROKEN_CHAIN = "broken chain"
NO_MESSAGE = "no message"
CUT_OFF = "cut off"
BAD_LINE = "bad line"

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a provider refuses.

    `place` is where it stands (`messages[12].content[1]`, `line 7`), `reason` says what is wrong and who
    refuses it, `remedy` what the fixed file holds instead, `call_id` the call concerned, if one is.
    """

    kind: str
    place: str
    reason: str
    remedy: str
    call_id: str | None = None

    def __str__(self) -> str:
        return f"{self.place}: {self.kind}: {self.reason}"


def spelled(path: Sequence[str | int]) -> str:
    """A path as a reader of JSON writes it.

    >>> spelled(("messages", 12, "content", 1))
    'messages[12].content[1]'
    """
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def quoted(value: Any, characters_max: int = 40) -> str:
    """An id or a name in quotes, shortened."""
    text = value if isinstance(value, str) else repr(value)
    return repr(text if len(text) <= characters_max else text[:characters_max] + "…")


def short(value: Any, characters_max: int = 60) -> str:
    """A value as JSON, shortened."""
    text = value if isinstance(value, str) else json_text(value)
    return text if len(text) <= characters_max else text[:characters_max] + "…"
