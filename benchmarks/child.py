"""Work measured inside a new process: `python -m benchmarks.child`, one line of JSON on standard input.

The interpreter, the imports and an event loop are there before the clock starts; connections, caches and
statements are not. The operating system's cache of the file is warm for all.
"""

import gc
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import peers
from benchmarks.contenders import Contender, Raw, Turnledger, TurnledgerShared
from benchmarks.messages import messages
from turnledger import ConversationStore


def _contender(name: str) -> type[Contender]:
    everyone: tuple[type[Contender], ...] = (Raw, Turnledger, TurnledgerShared, *peers.ALL)
    return next(kind for kind in everyone if kind.name == name)


def read(request: dict[str, Any]) -> dict[str, Any]:
    """The first reading of a conversation: open, read all, as it is now."""
    kind, path = _contender(request["contender"]), Path(request["path"])
    kind.ready()
    begun = time.perf_counter()
    contender = kind(path)
    number = len(contender.read("c"))
    took = time.perf_counter() - begun
    contender.close()
    return {"s": took, "messages": number}


def read_first(request: dict[str, Any]) -> dict[str, Any]:
    """The first messages of a conversation, from bare sqlite3."""
    begun = time.perf_counter()
    raw = Raw(Path(request["path"]))
    number = len(raw.read_first("c", request["number"]))
    took = time.perf_counter() - begun
    raw.close()
    return {"s": took, "messages": number}


def read_at(request: dict[str, Any]) -> dict[str, Any]:
    """An earlier version, by the store: open, `sendable(at=)`."""
    begun = time.perf_counter()
    store = ConversationStore(request["path"])
    number = len(store.sendable("c", at=request["at"]).messages)
    took = time.perf_counter() - begun
    store.close()
    return {"s": took, "messages": number}


def verify(request: dict[str, Any]) -> dict[str, Any]:
    begun = time.perf_counter()
    store = ConversationStore(request["path"])
    ok = store.verify().ok
    took = time.perf_counter() - begun
    store.close()
    if not ok:
        raise RuntimeError("the audit found something in a log that the benchmark made")
    return {"s": took}


def serve(request: dict[str, Any]) -> dict[str, Any]:
    """Appends to and reads many conversations, one after the other; resident memory at each mark."""
    histories = [messages(request["messages"], number) for number in range(20)]
    options = {"cache_bytes": request["cache_bytes"]} if request["cache_bytes"] else {}
    store = ConversationStore(request["path"], durability="normal", **options)
    marks = {}
    start = rss_bytes()
    for number in range(1, max(request["marks"]) + 1):
        history = histories[number % len(histories)]
        store.append(f"c{number}", history[:-1])
        store.sendable(f"c{number}")
        store.append(f"c{number}", history[-1])
        store.sendable(f"c{number}", shared=True)
        if number in request["marks"]:
            gc.collect()
            marks[str(number)] = rss_bytes()
    store.close()
    return {"start": start, "marks": marks}


def race(request: dict[str, Any]) -> dict[str, Any]:
    """Appends tokens to one conversation until the time is up; what was acknowledged, what was refused."""
    kind = _contender(request["contender"])
    kind.ready()
    contender = kind(Path(request["path"]))
    contender.read("c")
    acknowledged: list[str] = []
    refused: list[str] = []
    errors: dict[str, int] = {}
    _wait()
    until = time.monotonic() + request["s"]
    number = 0
    while time.monotonic() < until:
        number += 1
        token = f"token {request['writer']}/{number}."
        try:
            contender.append("c", ({"role": "user", "content": token},))
            acknowledged.append(token)
        except Exception as error:
            refused.append(token)
            errors[type(error).__name__] = errors.get(type(error).__name__, 0) + 1
            _reread(contender)
    contender.close()
    return {"acknowledged": acknowledged, "refused": refused, "errors": errors}


def _reread(contender: Any) -> None:
    """After a refusal one reads anew, as the refusals ask for."""
    try:
        contender.read("c")
    except Exception:
        return


def contents(request: dict[str, Any]) -> dict[str, Any]:
    """All of a conversation, as text."""
    kind = _contender(request["contender"])
    contender = kind(Path(request["path"]))
    found = [str(message) for message in contender.read("c")]
    contender.close()
    return {"contents": found}


def rss_bytes() -> int:
    """The resident memory of this process now; where the system does not say, the most that it had."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


WORK = {work.__name__: work for work in (read, read_first, read_at, verify, serve, race, contents)}


def _wait() -> str:
    """Says that all is ready, and waits to be told a line."""
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    return sys.stdin.readline()


if __name__ == "__main__":
    gc.freeze()  # what is imported, as in `measure.interleaved`
    asked_for = json.loads(_wait())
    sys.stdout.write(json.dumps(WORK[asked_for.pop("work")](asked_for)) + "\n")
