"""A replay's position: when the next event is due, and what each key does. Knows no screen and no clock."""

from collections.abc import Sequence
from datetime import datetime

WAIT_S_MAX = 5.0
SPEED_STEP = 2.0
SPEED_MIN, SPEED_MAX = 1 / 64, 4096.0

PAUSE, STEP, BACK, FASTER, SLOWER, QUIT = "pause", "step", "back", "faster", "slower", "quit"


class Playback:
    """Plays events at the pace at which they happened, `speed` times as fast, or one step at a time.

    `shown` is how many events are shown, from 1. No wait is longer than `WAIT_S_MAX` seconds: a night between
    two turns is not sat through.
    """

    def __init__(self, times: Sequence[datetime], *, speed: float = 1.0, step: bool = False) -> None:
        self._times = times
        self.shown = min(1, len(times))
        self.speed = speed
        self.paused = step
        self.over = False

    @property
    def at_the_end(self) -> bool:
        return self.shown == len(self._times)

    @property
    def wait_s(self) -> float | None:
        """How long until the next event; None while it waits for a key."""
        if self.paused:
            return None
        if self.at_the_end:
            return 0.0
        gap = self._times[self.shown] - self._times[self.shown - 1]
        return min(gap.total_seconds() / self.speed, WAIT_S_MAX)

    def advance(self) -> None:
        """Shows one event more; behind the last one it is over."""
        if self.at_the_end:
            self.over = True
        else:
            self.shown += 1

    def press(self, key: str) -> None:
        """A step pauses; going on from the end of a pause plays from there."""
        if key == QUIT:
            self.over = True
        elif key == PAUSE:
            self.paused = not self.paused
        elif key == STEP:
            self.paused = True
            self.advance()
        elif key == BACK:
            self.paused = True
            self.shown = max(self.shown - 1, 1)
        elif key in (FASTER, SLOWER):
            faster = self.speed * (SPEED_STEP if key == FASTER else 1 / SPEED_STEP)
            self.speed = min(max(faster, SPEED_MIN), SPEED_MAX)
