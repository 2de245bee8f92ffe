"""Keys as they are pressed, one by one, where there is a terminal to press them on."""

import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from turnledger.cli.playback import BACK, FASTER, PAUSE, QUIT, SLOWER, STEP

try:
    import termios
    import tty
except ImportError:  # not on Windows: there a replay plays, and only Ctrl-C stops it
    termios = None  # type: ignore[assignment]

KEYS = {
    " ": PAUSE,
    "n": STEP,
    "\x1b[C": STEP,
    "\x1bOC": STEP,
    "b": BACK,
    "\x1b[D": BACK,
    "\x1bOD": BACK,
    "+": FASTER,
    "=": FASTER,
    "-": SLOWER,
    "q": QUIT,
}

ReadKey = Callable[[float | None], str | None]


@contextmanager
def keys() -> Iterator[ReadKey | None]:
    """Reads what a key means, waiting so many seconds (None: until there is one); None: no key was pressed.

    Yields None itself where standard input is no terminal.
    """
    if termios is None or sys.stdin is None or not sys.stdin.isatty():
        yield None
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    with _signals() as signals:
        try:
            tty.setcbreak(terminal)
            yield lambda wait_s: _key(terminal, signals, wait_s)
        finally:
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)


@contextmanager
def _signals() -> Iterator[int]:
    """A pipe's end that can be read as soon as a signal has come: one that comes just before a wait would
    not end it, and an interrupt raised in a finaliser is lost."""
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    before = signal.set_wakeup_fd(theirs, warn_on_full_buffer=False)
    try:
        yield ours
    finally:
        signal.set_wakeup_fd(before)
        os.close(theirs)
        os.close(ours)


def _key(terminal: int, signals: int, wait_s: float | None) -> str | None:
    ready, _, _ = select.select([terminal, signals], [], [], wait_s)
    if signals in ready and signal.SIGINT in os.read(signals, 64):
        raise KeyboardInterrupt
    if terminal not in ready:
        return None if not ready else ""
    pressed = os.read(terminal, 1)
    if pressed == b"\x1b" and select.select([terminal], [], [], 0)[0]:
        pressed += os.read(terminal, 2)
    return KEYS.get(pressed.decode("ascii", "replace"), "") if pressed else QUIT
