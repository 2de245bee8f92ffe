"""JSON as markup: indented, its parts to be folded, every character of it text.

What is small stands on one line; what is deep or long begins folded; what is endless is cut, and says so.
"""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from markupsafe import Markup, escape

from turnledger.domain.values import parsed
from turnledger.projections.legible import legible, shortened

LEVELS_OPEN = 3
LEVELS_MAX = 32
NODES_MAX = 3_000
ITEMS_OPEN_MAX = 40
INLINE_CHARACTERS = 64
TEXT_CHARACTERS = 400
TEXT_CHARACTERS_MAX = 100_000
PARSED_CHARACTERS_MAX = 200_000


def tree(value: Any) -> Markup:
    """A JSON value as folding markup."""
    writer = _Writer()
    writer.value(value, 0)
    return Markup("".join(writer.parts))


def tree_of_text(text: str) -> Markup | None:
    """The same of a text that is a JSON object or list; None for any other text."""
    if text.lstrip()[:1] not in ("{", "[") or len(text) > PARSED_CHARACTERS_MAX:
        return None
    try:
        value = parsed(text)
    except ValueError:
        return None
    return tree(value) if isinstance(value, dict | list) and value else None


class _Writer:
    def __init__(self) -> None:
        self.parts: list[str] = []
        self._nodes = 0

    def value(self, value: Any, level: int) -> None:
        self._nodes += 1
        if not isinstance(value, Mapping | list | tuple):
            self.parts.append(_scalar(value))
        elif (line := _line(value)) is not None:
            self.parts.append(str(line) if value else _scalar(value))
        elif self._nodes > NODES_MAX or level > LEVELS_MAX:
            self.parts.append('<span class="j-cut">… cut here: the JSON has all of it</span>')
        else:
            self._container(value, level)

    def _container(self, value: Any, level: int) -> None:
        is_map = isinstance(value, Mapping)
        opening, closing = "{}" if is_map else "[]"
        noun = ("key", "keys") if is_map else ("item", "items")
        is_open = level < LEVELS_OPEN and len(value) <= ITEMS_OPEN_MAX
        count = f"{len(value):,} {noun[len(value) != 1]}"
        self.parts.append(
            f'<details class="j"{" open" if is_open else ""}><summary>{opening}'
            f'<span class="j-n"> {count} </span><span class="j-shut">{closing}</span></summary>'
            '<div class="j-in">'
        )
        for key, item in value.items() if is_map else ((None, item) for item in value):
            if self._nodes > NODES_MAX:
                self.parts.append('<div class="j-cut">… cut here: the JSON has all of it</div>')
                break
            self.parts.append("<div>")
            if key is not None:
                self.parts.append(f'<span class="j-k">{_quoted(str(key))}</span>: ')
            self.value(item, level + 1)
            self.parts.append("</div>")
        self.parts.append(f"</div>{closing}</details>")


def _line(value: Any) -> Markup | None:
    """A small container on one line, or None for one that is not small."""
    items = list(value.values()) if isinstance(value, Mapping) else list(value)
    if len(items) > INLINE_CHARACTERS // 4 or any(
        isinstance(item, Mapping | list) and item for item in items
    ):
        return None
    texts = [_plain(item) for item in items]
    keys = [_text(str(key)) for key in value] if isinstance(value, Mapping) else [""] * len(items)
    if sum(map(len, texts)) + sum(map(len, keys)) > INLINE_CHARACTERS:
        return None
    scalars = [_scalar(item) for item in items]
    if isinstance(value, Mapping):
        told = [f'<span class="j-k">{escape(k)}</span>: {s}' for k, s in zip(keys, scalars, strict=True)]
        return Markup(f"{{{', '.join(told)}}}")
    return Markup(f"[{', '.join(scalars)}]")


def _scalar(value: Any) -> str:
    if isinstance(value, Mapping | list | tuple):  # an empty one
        return "{}" if isinstance(value, Mapping) else "[]"
    if not isinstance(value, str):
        return f'<span class="j-v">{escape(_plain(value))}</span>'
    if len(value) <= TEXT_CHARACTERS:
        return f'<span class="j-s">{_quoted(value)}</span>'
    begin = escape(shortened(legible(value[:TEXT_CHARACTERS]), TEXT_CHARACTERS, len(value)))
    return (
        f'<details class="j-long"><summary><span class="j-s">"{begin}</span></summary>'
        f'<span class="j-s">{_quoted(shortened(value, TEXT_CHARACTERS_MAX))}</span></details>'
    )


def _quoted(text: str) -> str:
    return str(escape(_text(text)))


def _text(text: str) -> str:
    return legible(json.dumps(text, ensure_ascii=False))


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    return str(value) if isinstance(value, Decimal) else json.dumps(value)
