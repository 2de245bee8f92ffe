"""The timeline on the screen: whole lines for a pipe, columns for a person."""

from rich.cells import cell_len

from turnledger.cli.screen import BODY_WIDTH_MIN, STYLES, Screen, clock, stamp
from turnledger.projections.timeline import TimelineLine

KIND_WIDTH = 9
QUOTE_WIDTH = 160
QUOTE_WIDTH_MIN = 40


class LogPen:
    """Writes timeline lines: whole ones into a pipe; on a terminal in columns, a line or two an event.

    In columns the day stands above, and what the events of one call share, time and origin, beside the first.
    """

    def __init__(self, screen: Screen, *, columns: bool | None = None) -> None:
        self._screen = screen
        self._columns = screen.is_terminal if columns is None else columns
        self._day = ""
        self._batch = 0

    def write(self, line: TimelineLine, *, mark: tuple[str, str] = ("", "")) -> None:
        first = not self._columns or line.batch != self._batch
        self._batch = line.batch
        if self._columns:
            self._date(line)
        time = clock(line.time) if self._columns else stamp(line.time)
        indent = cell_len(mark[0]) + len(f"{line.version:>4}  {time}  {line.kind:<{KIND_WIDTH}}  ")
        width = max(self._screen.width - indent, BODY_WIDTH_MIN)
        told = line.text + self._quote(line, width)
        detail = f"[{line.detail}]" if line.detail and first else ""
        self._screen.line(
            mark,
            (f"{line.version:>4}", "bold"),
            (f"  {time if first else '':<{len(time)}}  ", "dim"),
            (f"{line.kind:<{KIND_WIDTH}}", STYLES.get(line.kind, "")),
            f"  {told}",
            (self._after(told, detail, width) if detail else "", "dim"),
            indent=indent,
        )

    def _date(self, line: TimelineLine) -> None:
        day = stamp(line.time)[:10]
        if day != self._day:
            self._day = day
            self._screen.line((f"      {day} UTC", "dim"))

    def _quote(self, line: TimelineLine, width: int) -> str:
        """What was said, cut so that it fits behind the text, or on a line of its own."""
        if not line.quote:
            return ""
        if not self._screen.is_terminal:
            return f"  {line.quoted(QUOTE_WIDTH)}"
        room = width - cell_len(line.text) - 2
        if line.characters <= room:
            return f"  {line.quote}"
        length = len(f"… ({line.characters:,} characters)")
        if room - length >= QUOTE_WIDTH_MIN:
            return f"  {line.quoted(room - length)}"
        return f"\n{line.quoted(width if line.characters <= width else max(width - length, BODY_WIDTH_MIN))}"

    def _after(self, told: str, detail: str, width: int) -> str:
        """The detail behind what was told, or on the next line where it does not fit."""
        used = cell_len(told.rpartition("\n")[2])
        fits = not self._screen.is_terminal or used + 2 + cell_len(detail) <= width
        return f"  {detail}" if fits else f"\n{detail}"
