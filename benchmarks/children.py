"""New processes to measure in, which have imported everything and wait for their work.

Several start at once, on all cores, and none of them starts while something is measured.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TOGETHER = 2 * (os.cpu_count() or 1)


class Children:
    """Processes of `benchmarks.child`: each is given one request, and ends."""

    def __init__(self) -> None:
        self._waiting: list[subprocess.Popen[str]] = []

    def close(self) -> None:
        """Ends those that were not needed."""
        while self._waiting:
            process = self._waiting.pop()
            process.kill()
            process.communicate()

    def asked(self, request: dict[str, Any], timeout_s: float) -> dict[str, Any] | None:
        """The answer of a new process; None where it took longer than `timeout_s`."""
        process = self.started(request)
        try:
            return answer(process, timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return None

    def started(self, request: dict[str, Any]) -> subprocess.Popen[str]:
        """A new process that has its request."""
        if not self._waiting:
            self._waiting = [_new() for _ in range(TOGETHER)]
            for process in self._waiting:
                waited_for(process)
        process = self._waiting.pop()
        tell(process, json.dumps(request))
        return process


def _new() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "benchmarks.child"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def waited_for(process: subprocess.Popen[str]) -> None:
    """Waits until a process says that it is ready, or ends."""
    if process.stdout is not None:
        process.stdout.readline()


def tell(process: subprocess.Popen[str], line: str) -> None:
    if process.stdin is not None:
        process.stdin.write(f"{line}\n")
        process.stdin.flush()


def answer(process: subprocess.Popen[str], timeout_s: float) -> dict[str, Any]:
    """What the process answers when it ends. Raises `TimeoutExpired`."""
    out, err = process.communicate(timeout=timeout_s)
    if process.returncode:
        raise RuntimeError(f"a process of the benchmark failed:\n{err}")
    found: dict[str, Any] = json.loads(out.splitlines()[-1])
    return found
