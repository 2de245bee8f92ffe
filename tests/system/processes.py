"""Runs of other processes: writers to meet, and bodies to run where the test's own process must not."""

import json
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from typing import Any

from turnledger import ConversationStore

UNPRIVILEGED = 65534
WAIT_S = 120


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str, *calls: str) -> dict[str, Any]:
    declared = [{"tool_call_id": call, "name": "look", "arguments": {}} for call in calls]
    return {"role": "assistant", "content": text, "tool_calls": declared or None}


def result(call: str, text: str = "found") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call, "content": text}


def contents(store: ConversationStore, conversation_id: str) -> list[Any]:
    return [message["content"] for message in store.buffer(conversation_id)]


CALLS: dict[str, Callable[[ConversationStore], Any]] = {
    "append": lambda store: store.append("c", user("x")),
    "hold": lambda store: store.hold("c", "e", [{"type": "t", "payload": {}}]),
    "write_back": lambda store: store.write_back("c", "e", [assistant("x")]),
    "take": lambda store: store.take("c", "e"),
    "confirm": lambda store: store.confirm("c", "take"),
    "put_back": lambda store: store.put_back("c", "take"),
    "discard": lambda store: store.discard("c", "take", reason="r"),
    "taking": lambda store: store.taking("c", "e").__enter__(),
    "buffer": lambda store: store.buffer("c"),
    "entries": lambda store: store.entries("c"),
    "sendable": lambda store: store.sendable("c"),
    "wire": lambda store: store.wire("c"),
    "held": lambda store: store.held("c"),
    "open_takes": lambda store: store.open_takes("c"),
    "all open_takes": lambda store: store.open_takes(),
    "turn_artifacts": lambda store: store.turn_artifacts("c", "t"),
    "events": lambda store: store.events("c"),
    "version": lambda store: store.version("c"),
    "conversations": lambda store: store.conversations(),
    "verify": lambda store: store.verify(),
}


def started(*arguments: object) -> "subprocess.Popen[str]":
    """This module in another process."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.system.processes", *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def told(process: "subprocess.Popen[str]") -> Any:
    """What it reported, when it has ended; its end by an error fails the test."""
    out, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0, err
    return json.loads(out)


def body(code: str, *arguments: object, unprivileged: bool = False) -> str:
    """Runs code in a process of its own, as nobody special where file rights matter; what it printed."""
    prelude = ""
    if unprivileged and os.geteuid() == 0:
        # imported before: the interpreter may stand where only root can read
        prelude = f"import os\nos.setgroups([])\nos.setgid({UNPRIVILEGED})\nos.setuid({UNPRIVILEGED})\n"
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import sys\nimport sqlite_utils\nfrom turnledger import *\n{prelude}{textwrap.dedent(code)}",
            *map(str, arguments),
        ],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def in_threads(*jobs: Any) -> list[BaseException]:
    """Runs all at once, waits for all; what they raised. A job that never ends fails the test."""
    raised: list[BaseException] = []

    def run(job: Any) -> None:
        try:
            job()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(job,), daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    end = time.monotonic() + WAIT_S
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    assert not any(thread.is_alive() for thread in threads), "threads wait for each other"
    return raised


def _write(path: str, process: str, threads: str, messages: str) -> dict[str, Any]:
    """Appends by turns to one conversation of all and to its own; reports what was acknowledged."""
    acknowledged: list[tuple[str, str]] = []
    waits_s: list[float] = []

    def writer(number: int) -> None:
        name = f"{process}-{number}"
        for n in range(int(messages)):
            conversation_id = "shared" if n % 2 else f"own {name}"
            begun = time.monotonic()
            store.append(conversation_id, user(f"{name}-{n}"))
            waits_s.append(time.monotonic() - begun)
            acknowledged.append((conversation_id, f"{name}-{n}"))

    with ConversationStore(path) as store:
        raised = in_threads(*[lambda n=n: writer(n) for n in range(int(threads))])
    return {"acknowledged": acknowledged, "raised": list(map(repr, raised)), "longest_s": max(waits_s)}


def _open(path: str) -> dict[str, Any]:
    """Waits for the word, then opens a store that may not exist yet, in many threads."""
    sys.stdin.readline()

    def opener() -> None:
        with ConversationStore(path) as store:
            store.append("c", user("here"))

    return {"raised": [repr(error) for error in in_threads(*[opener] * 4)]}


def _lock(path: str) -> dict[str, Any]:
    """Holds the write lock from one word to the next."""
    import sqlite3

    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    sys.stdout.write("locked\n")
    sys.stdout.flush()
    sys.stdin.readline()
    connection.rollback()
    return {}


TASKS: dict[str, Callable[..., dict[str, Any]]] = {"write": _write, "open": _open, "lock": _lock}

if __name__ == "__main__":
    sys.stdout.write(json.dumps(TASKS[sys.argv[1]](*sys.argv[2:])))
