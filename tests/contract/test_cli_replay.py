"""`replay` on a terminal, key by key, and its pace without one."""

import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from turnledger.cli.keys import keys
from turnledger.cli.playback import BACK, FASTER, PAUSE, QUIT, SLOWER, STEP, WAIT_S_MAX, Playback

pty = pytest.importorskip("pty", reason="there are no terminals here")

START = datetime(2030, 1, 1, tzinfo=UTC)
PATIENCE_S = 30


def playback(*gaps_s: float, speed: float = 1.0, step: bool = False) -> Playback:
    """One of an event, and one more behind each gap."""
    times = [START]
    for gap in gaps_s:
        times.append(times[-1] + timedelta(seconds=gap))
    return Playback(times, speed=speed, step=step)


def test_it_waits_as_long_as_it_took_and_less_at_a_higher_speed() -> None:
    assert playback(2).wait_s == 2
    assert playback(2, speed=10).wait_s == pytest.approx(0.2)


def test_it_does_not_sit_through_a_night() -> None:
    assert playback(36_000).wait_s == WAIT_S_MAX


def test_paused_it_waits_for_a_key() -> None:
    played = playback(2)
    played.press(PAUSE)
    assert played.wait_s is None
    played.press(PAUSE)
    assert played.wait_s == 2


def test_it_is_over_behind_the_last_event() -> None:
    played = playback(1, 1)
    for shown in (2, 3):
        played.advance()
        assert (played.shown, played.over) == (shown, False)
    assert played.wait_s == 0
    played.advance()
    assert played.over


def test_a_step_goes_one_on_and_a_step_back_one_back_and_both_pause() -> None:
    played = playback(1, 1)
    played.press(STEP)
    assert (played.shown, played.paused) == (2, True)
    played.press(BACK)
    played.press(BACK)
    assert played.shown == 1
    assert playback(1, step=True).wait_s is None


def test_speed_doubles_and_halves_within_bounds() -> None:
    played = playback(1)
    played.press(FASTER)
    assert played.speed == 2
    for _ in range(40):
        played.press(SLOWER)
    assert played.speed == 1 / 64
    for _ in range(40):
        played.press(FASTER)
    assert played.speed == 4096


def test_other_keys_do_nothing_and_q_ends_it() -> None:
    played = playback(1)
    played.press("")
    assert (played.shown, played.over, played.paused) == (1, False, False)
    played.press(QUIT)
    assert played.over


class Terminal:
    """A replay on a terminal of its own."""

    def __init__(self, store: Path, *arguments: str) -> None:
        leader, follower = pty.openpty()
        self.leader = leader
        self.seen = ""
        environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "turnledger", "--store", str(store), "replay", "cats", *arguments],
            env=environment,
            stdin=follower,
            stdout=follower,
            stderr=follower,
            start_new_session=True,
        )
        os.close(follower)

    def read(self) -> bool:
        ready, _, _ = select.select([self.leader], [], [], PATIENCE_S)
        assert ready, f"nothing more was shown: {self.seen[-2000:]}"
        with suppress(OSError):
            block = os.read(self.leader, 65_536)
            self.seen += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", block.decode(errors="replace"))
            return bool(block)
        return False

    def shows(self, text: str) -> None:
        """Waits until the text is shown, and forgets what was shown up to it."""
        while text not in self.seen:
            assert self.read(), f"{text!r} was never shown: {self.seen[-2000:]}"
        self.seen = self.seen.partition(text)[2]

    def press(self, keys: str) -> None:
        os.write(self.leader, keys.encode())

    def ends(self) -> int:
        while self.read():
            pass
        return self.process.wait(PATIENCE_S)


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.process.kill()
        terminal.process.wait()
        os.close(terminal.leader)


def test_keys_step_go_back_and_quit(cats: Path, terminals: list[Terminal]) -> None:
    terminal = Terminal(cats, "--step")
    terminals.append(terminal)
    terminal.shows("version 1 of 9")
    for key, version in (("n", 2), ("\x1b[C", 3), ("n", 4), ("b", 3), ("\x1b[D", 2), ("n", 3), ("n", 4)):
        terminal.press(key)
        terminal.shows(f"version {version} of 9")
        terminal.shows("paused")
        terminal.shows("q quit")
    terminal.press("x+")
    terminal.press("q")
    assert terminal.ends() == 0


def test_it_shows_the_buffer_as_it_was_and_what_the_event_changed(
    cats: Path, terminals: list[Terminal]
) -> None:
    terminal = Terminal(cats, "--step", "--after", "3")
    terminals.append(terminal)
    terminal.shows("healed")
    terminal.shows("3 entries")
    terminal.shows("+    3  tool")
    terminal.press("nn")
    terminal.shows("version 6 of 9")
    terminal.shows("changed from position 2")
    terminal.shows("~    3  tool")
    terminal.press("q")
    assert terminal.ends() == 0


def test_it_plays_to_the_end_by_itself(cats: Path, terminals: list[Terminal]) -> None:
    terminal = Terminal(cats, "--speed", "4096")
    terminals.append(terminal)
    terminal.shows("version 9 of 9")
    assert terminal.ends() == 0


def test_space_pauses_and_goes_on(cats: Path, terminals: list[Terminal]) -> None:
    terminal = Terminal(cats, "--step")
    terminals.append(terminal)
    terminal.shows("paused")
    terminal.press(" ")
    terminal.shows("playing")
    assert terminal.ends() == 0


def test_an_interrupt_ends_it_with_130_and_gives_the_terminal_back(
    cats: Path, terminals: list[Terminal]
) -> None:
    termios = pytest.importorskip("termios", reason="there are no terminals here")
    terminal = Terminal(cats, "--step")
    terminals.append(terminal)
    before = termios.tcgetattr(terminal.leader)
    terminal.shows("q quit")
    assert not termios.tcgetattr(terminal.leader)[3] & termios.ICANON
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.ends() == 130
    assert termios.tcgetattr(terminal.leader)[3] == before[3]
    terminal.shows("stopped")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_that_came_before_the_wait_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raised in a finaliser, an interrupt is lost to the code around it."""

    class Final:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    leader, follower = pty.openpty()
    try:
        with os.fdopen(follower) as terminal:
            monkeypatch.setattr(sys, "stdin", terminal)
            with keys() as read_key:
                assert read_key is not None
                assert read_key(0) is None
                Final()
                with pytest.raises(KeyboardInterrupt):
                    read_key(5)
    finally:
        os.close(leader)
