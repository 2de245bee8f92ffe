"""Where the time of the store's work goes: `python -m benchmarks --profile`.

The stack is looked at a thousand times a second, and what is seen put under the innermost frame that is
known. That slows the work less than cProfile would, which is asked afterwards for the functions that cost
most. Needs the timers of Unix.
"""

import cProfile
import io
import linecache
import pstats
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import FrameType

from rich.console import Console
from rich.table import Table

from benchmarks.contenders import Contender, Durability, Raw, Turnledger, TurnledgerShared
from benchmarks.messages import messages

INTERVAL_S = 0.001
LENGTH = 1_000
SECONDS = 2.0
CALLS_MAX = 1_500
PREPARED = 4_000
SQL = {"execute", "rows", "insert"}
ENCODING = {"stored", "chained", "_payload", "_envelope", "digest_of"}
DECODING = {"decoded", "model_validate", "model_validate_json", "_upcast"}
CALLERS = 2
Rule = tuple[str, Callable[[str, str, str], bool]]

# The first rule that fits the innermost frame wins; each is given the file, the function, and the line of
# source with those that called it (a COMMIT is executed like anything else).
RULES: tuple[Rule, ...] = (
    ("commit, fsync", lambda file, name, line: ".commit()" in line or "COMMIT" in line),
    ("SQL", lambda file, name, line: name in SQL or ".execute" in line.partition("\n")[0]),
    ("encode", lambda file, name, line: name in ENCODING or "to_json(" in line.partition("\n")[0]),
    ("decode", lambda file, name, line: name in DECODING or "from_json(" in line.partition("\n")[0]),
    ("copy", lambda file, name, line: file.endswith("domain/values.py") or name in {"flat", "copied"}),
    ("normalize", lambda file, name, line: file.endswith(("domain/pairing.py", "projections/sendable.py"))),
    ("fold", lambda file, name, line: name in {"evolve", "apply", "absorb"} or "/projections/" in file),
    ("decide", lambda file, name, line: "/domain/" in file or file.endswith("infrastructure/commands.py")),
    ("wiring", lambda file, name, line: "/infrastructure/" in file or file.endswith("turnledger/store.py")),
    ("eventsourcing", lambda file, name, line: "/eventsourcing/" in file),
)
NAMES = [name for name, _ in RULES] + ["rest"]


class Sampler:
    """Counts what the main thread is at, a thousand times a second.

    By a signal, whose handler runs when the C function at work returns. A thread that looks would get its
    turn where the other lets go of the interpreter, and see nothing but SQL.
    """

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()

    def __enter__(self) -> "Sampler":
        self._before = signal.signal(signal.SIGALRM, self._look)
        signal.siginterrupt(signal.SIGALRM, False)
        signal.setitimer(signal.ITIMER_REAL, INTERVAL_S, INTERVAL_S)
        return self

    def __exit__(self, *exc_info: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)

    def _look(self, _: int, frame: FrameType | None) -> None:
        self.seen[part_of(frame)] += 1


def part_of(frame: FrameType | None) -> str:
    while frame is not None:
        file = frame.f_code.co_filename.replace("\\", "/")
        lines = _lines(frame)
        for name, fits in RULES:
            if "/benchmarks/" not in file and fits(file, frame.f_code.co_name, lines):
                return name
        frame = frame.f_back
    return "rest"


def _lines(frame: FrameType | None) -> str:
    """The line that a frame is at, and those that called it."""
    found: list[str] = []
    while frame is not None and len(found) <= CALLERS:
        found.append(linecache.getline(frame.f_code.co_filename, frame.f_lineno or 0).strip())
        frame = frame.f_back
    return "\n".join(found)


def show(console: Console, folder: Path) -> None:
    made = Table(title=f"Share of the time, {LENGTH:,} messages", title_justify="left")
    for heading in ("work", "a call", *NAMES):
        made.add_column(heading, justify="right")
    with ExitStack() as stack:
        works = _works(folder, stack)
        _share_out(made, works)
        console.print(made)
        for label, work in works.items():
            if not label.startswith("raw"):
                console.print(f"{label}: the functions that cost most, under cProfile")
                console.print(_costliest(work), highlight=False)


def _share_out(made: Table, works: dict[str, Callable[[], None]]) -> None:
    for label, work in works.items():
        work()
        with Sampler() as sampler:
            calls, took = _for_seconds(work)
        total = sum(sampler.seen.values()) or 1
        shares = [f"{100 * sampler.seen[name] / total:.0f} %" if sampler.seen[name] else "" for name in NAMES]
        made.add_row(label, f"{took / calls * 1000:,.3f} ms", *shares)


def _for_seconds(work: Callable[[], None]) -> tuple[int, float]:
    begun, calls = time.perf_counter(), 0
    while calls < CALLS_MAX and time.perf_counter() - begun < SECONDS:
        work()
        calls += 1
    return calls, time.perf_counter() - begun


def _costliest(work: Callable[[], None], functions: int = 14) -> str:
    profile = cProfile.Profile()
    profile.enable()
    _for_seconds(work)
    profile.disable()
    out = io.StringIO()
    pstats.Stats(profile, stream=out).strip_dirs().sort_stats("tottime").print_stats(functions)
    return "\n".join(line for line in out.getvalue().splitlines() if line.strip())


def _works(folder: Path, stack: ExitStack) -> dict[str, Callable[[], None]]:
    """One call of each kind of work; each goes on where the last one ended."""

    def made(kind: type[Contender], durability: Durability = "full") -> Contender:
        contender = kind(folder / f"{len(opened)}.db", durability)
        opened.append(contender)
        stack.callback(contender.close)
        return contender

    opened: list[Contender] = []
    return {
        "raw, insert and commit, FULL": _ingest(made(Raw)),
        "ingest, FULL": _ingest(made(Turnledger)),
        "ingest, NORMAL": _ingest(made(Turnledger, "normal")),
        "raw, warm step": _step(made(Raw)),
        "warm step": _step(made(Turnledger)),
        "warm step, shared": _step(made(TurnledgerShared)),
        "raw, cold open": _open(Raw, folder / "raw-cold.db"),
        "cold open": _open(Turnledger, folder / "cold.db"),
    }


def _ingest(contender: Contender) -> Callable[[], None]:
    """One message a call, to 20 conversations in turn, and then to 20 others."""
    prepared = [messages(PREPARED // 20, conversation) for conversation in range(20)]
    calls = 0

    def work() -> None:
        nonlocal calls
        again, call = divmod(calls, PREPARED)
        calls += 1
        contender.append(f"c{again}-{call % 20}", (prepared[call % 20][call // 20],))

    return work


def _step(contender: Contender) -> Callable[[], None]:
    prepared = messages(LENGTH + PREPARED)
    contender.append("c", prepared[:LENGTH])
    coming = iter(prepared[LENGTH:])

    def work() -> None:
        contender.append("c", (next(coming),))
        contender.read("c")

    return work


def _open(kind: type[Contender], path: Path) -> Callable[[], None]:
    filled = kind(path)
    filled.append("c", messages(LENGTH))
    filled.close()

    def work() -> None:
        contender = kind(path)
        contender.read("c")
        contender.close()

    return work
