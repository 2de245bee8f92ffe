"""Turns: threads let through a few at a time, in the order in which they came.

A `threading.Lock` goes to whoever asks first after a release, mostly the thread that released it: a busy
writer would starve the others of its process.
"""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class _Stay:
    __slots__ = ("gate", "inside")

    def __init__(self) -> None:
        self.gate = threading.Lock()
        self.inside = False


class Turnstile:
    """Lets `places` threads in at a time."""

    def __init__(self, places: int = 1) -> None:
        self.places = places
        self._free = places
        self._waiting: deque[_Stay] = deque()
        self._lock = threading.Lock()

    @contextmanager
    def turn(self, timeout_s: float) -> Iterator[bool]:
        """One place for the block; False where none came free in time.

        What is held is noted in the stay itself, not by the caller: an interrupt in between loses nothing.
        """
        stay = _Stay()
        try:
            self._enter(stay, timeout_s)
            yield stay.inside
        finally:
            try:
                self._leave(stay)
            except BaseException:  # an interrupt just here once cost the place, and so every later writer
                self._leave(stay)
                raise

    def _enter(self, stay: _Stay, timeout_s: float) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                stay.inside = True
                return
            stay.gate.acquire()
            self._waiting.append(stay)
        stay.gate.acquire(timeout=timeout_s)

    def _leave(self, stay: _Stay) -> None:
        """Hands the place on. Between the notes of who is inside nothing is called, so no interrupt falls."""
        with self._lock:
            if stay.inside:
                following = self._waiting[0] if self._waiting else None
                stay.inside = False
                if following is None:
                    self._free += 1
                else:
                    following.inside = True
            elif stay in self._waiting:
                self._waiting.remove(stay)
            while self._waiting and self._waiting[0].inside:
                self._waiting.popleft().gate.release()

    def abandon(self) -> None:
        """For a forked child: whoever held the inner lock is not here to release it."""
        self._lock = threading.Lock()
