"""Turns: threads let through a few at a time, in the order in which they came.

A `threading.Lock` goes to whoever asks first after a release, mostly the thread that released it: a busy
writer would starve the others of its process.
"""

import threading
from collections import deque


class Turnstile:
    """Lets `places` threads in at a time."""

    def __init__(self, places: int = 1) -> None:
        self.places = places
        self._free = places
        self._waiting: deque[Stay] = deque()
        # reentrant, and nothing is made under it: a stay may be cleared away, and leave, at any moment
        self._lock = threading.RLock()

    def turn(self, timeout_s: float) -> "Stay":
        """One place for a block; what the block is given is False where none came free in time."""
        return Stay(self, timeout_s)

    def enter(self, stay: "Stay", timeout_s: float) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                stay.inside = True
                return
            stay.gate.acquire()
            self._waiting.append(stay)
        stay.gate.acquire(timeout=timeout_s)

    def leave(self, stay: "Stay") -> None:
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
        self._lock = threading.RLock()


class Stay:
    """One thread's place, or its wait for one: a context manager.

    What is held is noted here, not by the caller: an interrupt in between loses nothing, since what no
    block gives back is given back when this goes.
    """

    __slots__ = ("_timeout_s", "_turnstile", "gate", "inside", "left")

    def __init__(self, turnstile: Turnstile, timeout_s: float) -> None:
        self.left = True
        self.inside = False
        self.gate = threading.Lock()
        self._turnstile = turnstile
        self._timeout_s = timeout_s

    def __enter__(self) -> bool:
        self.left = False
        try:
            self._turnstile.enter(self, self._timeout_s)
        except BaseException:
            self._leave()
            raise
        return self.inside

    def __exit__(self, *exc_info: object) -> None:
        self._leave()

    def __del__(self) -> None:
        if not getattr(self, "left", True):  # or it was interrupted while it was made
            self._leave()

    def _leave(self) -> None:
        try:
            self._turnstile.leave(self)
        except BaseException:  # an interrupt just here once cost the place, and so every later writer
            self._turnstile.leave(self)
            raise
        finally:
            self.left = True
