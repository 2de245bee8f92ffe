"""Values that JSON in UTF-8 can hold: a lone surrogate is U+FFFD, a number that is none is null."""

import json
import math
from collections.abc import Callable
from typing import Any

from turnledger.domain.values import scrubbed
from turnledger.importing.doctor.findings import Path
from turnledger.importing.doctor.patching import Origins

LEVELS_MAX = 200
SURROGATE = "a text holds half a character (a lone surrogate), or bytes that are no UTF-8"
NUMBER = "a number is NaN, infinite or too large for a float, which a client cannot send"
Tell = Callable[[Path, str, str], None]


def writable(value: Any, tell: Tell, origins: Origins) -> Any:
    """The value as it can be written: itself, where it can. `tell` is given each place that cannot, why, and
    what it becomes. Raises `ValueError` for one nested too deep."""
    return value if _is_writable(value) else _Writing(tell, origins).of(value, ())


def unwritable_in(value: Any) -> int:
    """How many texts and numbers of a value cannot be written as they are."""
    found: list[Path] = []
    writable(value, lambda path, why, remedy: found.append(path), Origins())
    return len(found)


def _is_writable(value: Any) -> bool:
    """Whether a value can be written as it is: most can, and no path needs to be known for that."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        return False
    return text.count(b"[") + text.count(b"{") <= LEVELS_MAX or _is_shallow(value, LEVELS_MAX)


def _is_shallow(value: Any, levels: int) -> bool:
    inner = [
        one for one in (value.values() if isinstance(value, dict) else value) if one.__class__ in (dict, list)
    ]
    return not inner or (levels > 0 and all(_is_shallow(one, levels - 1) for one in inner))


class _Writing:
    def __init__(self, tell: Tell, origins: Origins) -> None:
        self._tell = tell
        self._origins = origins

    def of(self, value: Any, path: Path) -> Any:
        if isinstance(value, str):
            return self._text(value, path)
        if isinstance(value, float) and not math.isfinite(value):
            self._tell(path, NUMBER, "null")
            return None
        if not isinstance(value, dict | list):
            return value
        if len(path) > LEVELS_MAX:
            raise ValueError(f"it is nested more than {LEVELS_MAX} levels deep")
        new: Any = self._map(value, path) if isinstance(value, dict) else self._list(value, path)
        return new

    def _text(self, text: str, path: Path) -> str:
        clean = scrubbed(text)
        if clean == text:
            return text
        self._tell(path, SURROGATE, "U+FFFD (�) in its place")
        return clean

    def _map(self, value: dict[str, Any], path: Path) -> dict[str, Any]:
        new = {self._text(key, path): self.of(item, (*path, key)) for key, item in value.items()}
        changed = any(item is not new.get(key) for key, item in value.items())
        return self._origins.note(new, value) if changed or len(new) != len(value) else value

    def _list(self, value: list[Any], path: Path) -> list[Any]:
        new = [self.of(item, (*path, place)) for place, item in enumerate(value)]
        changed = any(item is not old for item, old in zip(new, value, strict=True))
        return self._origins.note(new, value) if changed else value
