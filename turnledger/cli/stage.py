"""One moment of a replay on a terminal: the newest events, and the buffer as it was then."""

from collections.abc import Sequence

from rich.console import Group
from rich.text import Text

from turnledger.cli.playback import Playback
from turnledger.cli.screen import STYLES, clock, stamp
from turnledger.domain.messages import name_of_call
from turnledger.projections.buffer import Entry
from turnledger.projections.history import HistoryRow
from turnledger.projections.legible import counted, legible, one_line, spoken
from turnledger.projections.timeline import TimelineLine

SAID_MAX = 400
FRAME_LINES = 5
HELP = "space pause · n → step · b ← back · + - speed · q quit"

Moment = tuple[HistoryRow, TimelineLine]


def frame(
    conversation_id: str,
    moments: Sequence[Moment],
    entries: Sequence[Entry],
    playback: Playback,
    size: tuple[int, int],
) -> Group:
    """As many lines as the terminal has, and no more: `size` is its columns and lines."""
    width, height = size
    room = max(height - FRAME_LINES, 2)
    events = moments[: playback.shown][-max(room // 3, 1) :]
    row = moments[playback.shown - 1][0]
    standing = entries[-(room - len(events)) :] if room > len(events) else ()
    lines = [
        _head(conversation_id, moments[-1][0].version, playback, row),
        *(_event(line, line.version == row.version) for _, line in events),
        Text(_rule(row, len(entries), width), "dim"),
        *(_entry(entry, row) for entry in standing),
        Text(HELP, "dim"),
    ]
    for line in lines:
        line.truncate(width - 1, overflow="ellipsis")
    return Group(*lines)


def _head(conversation_id: str, last: int, playback: Playback, row: HistoryRow) -> Text:
    state = ("paused", "bold yellow") if playback.paused else (f"playing ×{playback.speed:g}", "green")
    place = f"  version {row.version:,} of {last:,}  {stamp(row.time)}  "
    return Text.assemble((legible(conversation_id), "bold"), place, state)


def _event(line: TimelineLine, newest: bool) -> Text:
    return Text.assemble(
        ("▶" if newest else " ", "bold"),
        (f"{line.version:>4}", "bold"),
        (f"  {clock(line.time)}  ", "dim"),
        (f"{line.kind:<9}", STYLES.get(line.kind, "")),
        f"  {line.text}  {line.quoted(SAID_MAX)}",
    )


def _rule(row: HistoryRow, entries: int, width: int) -> str:
    """What the buffer and the list to send are now, and where the event changed the latter."""
    change = row.sendable
    told = "the same"
    if change and change.appends_only:
        told = "goes on"
    elif change:
        told = f"changed from position {change.first_changed}"
    text = (
        f"── {counted(entries, 'entry', 'entries')} · sendable: {counted(change.length, 'message')}, {told} "
    )
    return text.ljust(width - 1, "─")


def _entry(entry: Entry, row: HistoryRow) -> Text:
    mark = ("  ", "")
    if entry.number in row.buffer.added:
        mark = ("+ ", "bold green")
    elif entry.number in row.buffer.replaced:
        mark = ("~ ", STYLES["replaced"])
    healed = entry.metadata.get("healed") is True
    calls = entry.metadata.get("tool_calls") if entry.role == "assistant" else None
    called = "".join(f"  → {one_line(name_of_call(call))}" for call in calls or ())
    return Text.assemble(
        mark,
        (f"{entry.number:>4}", "bold"),
        "  ",
        (f"{entry.role:<9}", STYLES.get(entry.role, "")),
        "  ",
        (one_line(spoken(entry.content))[:SAID_MAX], STYLES["healed"] if healed else ""),
        called,
    )
