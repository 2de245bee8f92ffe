"""What a command prints: colours and wrapped columns on a terminal, whole plain lines anywhere else.

JSON goes out one element a line, with nothing in it that a terminal would obey.
"""

import codecs
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from typing import Any, TextIO, TypeVar

import click
from rich.console import Console
from rich.text import Text

from turnledger.projections.media import in_json

STYLES: Mapping[str, str] = {
    "system": "magenta",
    "developer": "magenta",
    "user": "cyan",
    "assistant": "green",
    "tool": "yellow",
    "started": "dim",
    "healed": "bold red",
    "replaced": "bold green",
    "evicted": "dim",
    "summary": "bold magenta",
    "forked": "bold cyan",
    "retracted": "bold yellow",
    "cleared": "bold yellow",
    "record": "dim",
    "request": "dim",
    "held": "bright_blue",
    "taken": "bright_blue",
    "delivered": "bright_blue",
    "put back": "bright_blue",
    "discarded": "bright_blue",
    "damaged": "bold red",
}
Found = TypeVar("Found")
BODY_WIDTH_MIN = 24
NARROW_INDENT = 4
_PLAIN_GLYPHS = {
    "…": "...",
    "→": "->",
    "←": "<-",
    "·": "-",
    "“": '"',
    "”": '"',
    "─": "-",
    "✓": "ok",
    "✗": "x",
}
_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")

Part = str | tuple[str, str]


class Screen:
    """Standard output, or standard error, for a person."""

    def __init__(self, *, stderr: bool = False) -> None:
        self.console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)

    @property
    def is_terminal(self) -> bool:
        """Whether somebody looks at it; colours may be forced on without."""
        return bool(getattr(self.console.file, "isatty", lambda: False)())

    @property
    def width(self) -> int:
        return self.console.width

    def line(self, *parts: Part, indent: int = 0) -> None:
        """One line of parts, each a text or a text and its style; wrapped under `indent` on a terminal."""
        text = Text.assemble(*parts)
        if not self.is_terminal:
            self.console.print(text, soft_wrap=True)
            return
        head, body, hang = text[:indent], text[indent:], indent
        if self.width - indent < BODY_WIDTH_MIN:  # too narrow for columns
            head, body, hang = Text(), text, min(indent, NARROW_INDENT)
        for line in body.wrap(self.console, max(self.width - hang, 1), overflow="fold") or [Text()]:
            line.rstrip()
            self.console.print(head + line, soft_wrap=True)
            head = Text(" " * hang)


def stream_is_utf(stream: TextIO | None) -> bool:
    return (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "").startswith("utf")


def make_safe(stream: TextIO | None) -> None:
    """Lets a stream print anything: what its encoding lacks is spelled out, never a failure."""
    codecs.register_error("turnledger", _spelled_out)
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="turnledger")


def _spelled_out(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    glyph = error.object[error.start]
    if glyph in _PLAIN_GLYPHS:
        return _PLAIN_GLYPHS[glyph], error.start + 1
    return codecs.backslashreplace_errors(error)


def json_line(value: Any) -> str:
    """One JSON value on one line; ASCII only where the output could not hold more."""
    text = json.dumps(value, ensure_ascii=not stream_is_utf(sys.stdout), default=_plain)
    return _UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def print_json_list(values: Iterable[Any]) -> None:
    """A JSON list, printed as its elements come, one a line."""
    before = "[\n"
    for value in values:
        click.echo(f"{before}{json_line(value)}", nl=False)
        before = ",\n"
    click.echo("[]" if before == "[\n" else "\n]")


def list_found(found: Sequence[Found], show: Callable[[Screen, Found], None], nothing: str) -> None:
    """Each thing found, as `show` shows it; in words where there is none."""
    screen = Screen()
    for one in found:
        show(screen, one)
    if not found:
        screen.line((nothing, "dim"))


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return in_json(value) if isinstance(value, bytes) else str(value)


def clock(time: datetime) -> str:
    return f"{time.astimezone(UTC):%H:%M:%S}"


def stamp(time: datetime | None) -> str:
    """A time that `--at` takes again."""
    return f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" if time else "unknown"
