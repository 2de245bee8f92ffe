"""`replay`: a conversation played back event by event, at its own pace, faster, or one keypress at a time."""

import sys
import time
from dataclasses import asdict
from typing import Any

import click
from rich.live import Live

from turnledger.cli.keys import ReadKey, keys
from turnledger.cli.options import json_option, store_option_here, store_to_read
from turnledger.cli.pen import LogPen
from turnledger.cli.playback import WAIT_S_MAX, Playback
from turnledger.cli.screen import Screen, print_json_list
from turnledger.cli.stage import Moment, frame
from turnledger.projections.timeline import Timeline
from turnledger.store import ConversationStore

_HELP = f"""Play a conversation back, event by event, with its buffer as it was at each.

At its own pace, --speed times as fast, or with --step one keypress at a time; no wait is longer than
{WAIT_S_MAX:g} seconds. Keys: space pauses, n or right steps, b or left goes back, + and - change the speed, q
quits. Where there is no terminal the events are printed, one a line, and waited for only with --speed.

\b
Examples:
  turnledger replay cats
  turnledger replay cats --speed 10
  turnledger replay cats --step --after 40
  turnledger replay cats --json
"""


@click.command(help=_HELP)
@click.argument("conversation_id", metavar="ID")
@click.option(
    "--speed", type=click.FloatRange(1 / 64, 4096), metavar="X", help="So many times as fast as it happened."
)
@click.option("--step", is_flag=True, help="Wait for a key before each event.")
@click.option(
    "--after", type=click.IntRange(min=0), default=0, metavar="VERSION", help="Begin behind that version."
)
@click.option("--to", type=click.IntRange(min=0), metavar="VERSION", help="End with that version.")
@json_option
@store_option_here
def replay(
    conversation_id: str, speed: float | None, step: bool, after: int, to: int | None, as_json: bool
) -> None:
    screen = Screen()
    with store_to_read() as store:
        moments = _moments(store, conversation_id, after, to)
        if as_json:
            print_json_list(_as_map(moment) for moment in moments)
        elif moments and screen.is_terminal:
            playback = Playback([row.time for row, _ in moments], speed=speed or 1.0, step=step)
            with keys() as read_key:
                _play(screen, store, conversation_id, moments, playback, read_key)
        else:
            _print(screen, moments, speed)


def _moments(store: ConversationStore, conversation_id: str, after: int, to: int | None) -> list[Moment]:
    """Each version with its row of the history and its line of the timeline."""
    seen = Timeline()
    moments = [(row, seen.line(row.event)) for row in store.history(conversation_id, to=to)]
    return moments[after:]


def _as_map(moment: Moment) -> dict[str, Any]:
    row, line = moment
    return {
        "version": row.version,
        "time": row.time,
        "event": row.event.TOPIC,
        "kind": line.kind,
        "text": line.text,
        "buffer": asdict(row.buffer),
        "held": asdict(row.held),
        "sendable": {**asdict(row.sendable), "appends_only": row.sendable.appends_only},
    }


def _print(screen: Screen, moments: list[Moment], speed: float | None) -> None:
    """One line an event; at a pace only if one was asked for."""
    pen, playback = LogPen(screen), Playback([row.time for row, _ in moments], speed=speed or 1.0)
    for _, line in moments:
        pen.write(line)
        if speed is not None:
            sys.stdout.flush()
            time.sleep(playback.wait_s or 0)
            playback.advance()


def _play(
    screen: Screen,
    store: ConversationStore,
    conversation_id: str,
    moments: list[Moment],
    playback: Playback,
    read_key: ReadKey | None,
) -> None:
    """Draws each moment over the one before; the last one stays on the screen."""
    with Live(console=screen.console, auto_refresh=False, vertical_overflow="crop") as live:
        while not playback.over:
            row, _ = moments[playback.shown - 1]
            entries = store.entries(conversation_id, at=row.version)
            size = screen.console.width, screen.console.height
            live.update(frame(conversation_id, moments, entries, playback, size), refresh=True)
            key = _waited(playback.wait_s, read_key)
            if key is None:
                playback.advance()
            else:
                playback.press(key)


def _waited(wait_s: float | None, read_key: ReadKey | None) -> str | None:
    """The key that was pressed meanwhile, or None."""
    if read_key is not None:
        return read_key(wait_s)
    time.sleep(wait_s or 0)  # nobody can press a key: it goes on
    return None
