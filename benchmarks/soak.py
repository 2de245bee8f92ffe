"""A long run on one file: `python -m benchmarks.soak --minutes 30`.

Four processes write (appends, calls left open and healed, late results, holds, write-backs, takes, retries
with a key), one reads, one travels in time: it reads `at=` versions whose list was digested when they were
new. Each writer keeps a journal of what was acknowledged; at the end every line of it is looked up in the
log, and the log is audited. Ends with 1 if anything acknowledged is missing or any reading failed.
"""

import hashlib
import json
import multiprocessing
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from benchmarks.child import rss_bytes
from turnledger import (
    ConversationNotFound,
    ConversationStore,
    MessageAppended,
    PlaceholderReplaced,
    normalize,
)

WRITERS = 4
SLOTS = 12
EVENTS_A_CONVERSATION = 1_500
DIGESTED = 0.1
GRACE_S = 60.0
TIMEOUT_S = 30.0


def digest(messages: list[dict[str, Any]]) -> str:
    return hashlib.sha256(json.dumps(messages, sort_keys=True).encode()).hexdigest()


class Worker:
    """What writers, reader and time traveller share: a store, a journal, counts, the end."""

    def __init__(self, folder: Path, name: str, until: float) -> None:
        self.folder, self.name, self.until = folder, name, until
        self.chance = random.Random(name)
        self.store = ConversationStore(folder / "soak.db", timeout_s=TIMEOUT_S)
        self.journal = (folder / f"{name}.journal").open("w", encoding="utf-8")
        self.counts: Counter[str] = Counter()
        self._told = 0.0

    def run(self, step: Callable[[], None]) -> None:
        while time.time() < self.until:
            step()
            self.tell()
        self.tell(last=True)
        self.store.close()

    def tell(self, *, last: bool = False) -> None:
        """Writes down, once a second, how far this is."""
        if last or time.time() - self._told > 1:
            self._told = time.time()
            self.journal.flush()
            said = json.dumps({"counts": self.counts, "rss": rss_bytes()})
            part = self.folder / f"{self.name}.part"
            part.write_text(said)
            part.replace(self.folder / f"{self.name}.status")

    def note(self, *what: Any) -> None:
        self.journal.write(json.dumps(what) + "\n")

    def digested(self, conversation: str) -> None:
        """Notes the list as it is now, for the time traveller."""
        sendable = self.store.sendable(conversation)
        self.note("digest", conversation, sendable.version, digest(sendable.messages))


class Writer(Worker):
    def __init__(self, folder: Path, name: str, until: float) -> None:
        super().__init__(folder, name, until)
        self.generation = [0] * SLOTS
        self.number = 0
        self.open_calls: list[tuple[str, str]] = []
        self.works: list[Callable[[str], None]] = [
            *(self.user, self.user, self.call, self.call, self.late, self.late, self.answer),
            *(self.pause, self.resume, self.deliver, self.retry),
        ]

    def step(self) -> None:
        slot = self.chance.randrange(SLOTS)
        conversation = f"slot-{slot}-{self.generation[slot]}"
        self.number += 1
        self.chance.choice(self.works)(conversation)
        if self.chance.random() < DIGESTED and self._known(conversation):
            self.digested(conversation)
            if self.store.version(conversation) > EVENTS_A_CONVERSATION:
                self.generation[slot] += 1

    def _known(self, conversation: str) -> bool:
        try:
            return self.store.version(conversation) > 0
        except ConversationNotFound:
            return False

    @property
    def token(self) -> str:
        return f"{self.name}/{self.number}"

    def text(self) -> str:
        return f"{self.token} " + "lorem ipsum " * self.chance.randint(2, 120)

    def append(self, conversation: str, messages: list[dict[str, Any]], **options: Any) -> None:
        done = self.store.append(conversation, messages, turn_id=self.token, **options)
        self.counts["appends"] += 1
        self.counts["healed"] += len(done.healed)
        self.counts["replaced"] += len(done.replaced)
        self.acknowledged(conversation, messages, done)

    def acknowledged(self, conversation: str, messages: list[dict[str, Any]], done: Any) -> None:
        for index, (message, entry) in enumerate(zip(messages, done.entries, strict=True)):
            if entry is not None and index not in done.duplicates:
                self.note("entry", conversation, entry, message["content"][:40])

    def user(self, conversation: str) -> None:
        self.append(conversation, [{"role": "user", "content": self.text()}])

    def answer(self, conversation: str) -> None:
        self.append(conversation, [{"role": "assistant", "content": self.text()}])

    def call(self, conversation: str) -> None:
        """A turn with calls; some results come at once, the others late or never."""
        ids = [f"{self.token}-{n}" for n in range(self.chance.randint(1, 3))]
        calls = [{"tool_call_id": i, "name": "look", "arguments": {"q": self.token}} for i in ids]
        turn = {"role": "assistant", "content": self.text(), "tool_calls": calls}
        self.append(conversation, [turn])
        for call_id in ids:
            if self.chance.random() < 0.5:
                self.result(conversation, call_id)
            else:
                self.open_calls.append((conversation, call_id))

    def result(self, conversation: str, call_id: str) -> None:
        self.append(conversation, [{"role": "tool", "content": self.text(), "tool_call_id": call_id}])

    def late(self, conversation: str) -> None:
        if self.open_calls:
            self.result(*self.open_calls.pop(self.chance.randrange(len(self.open_calls))))

    def pause(self, conversation: str) -> None:
        done = self.store.hold(conversation, self.name, [self.artifact()], turn_id=self.token)
        self.counts["holds"] += 1
        for _ in done.held:
            self.note("artifact", conversation, self.token)

    def artifact(self) -> dict[str, Any]:
        return {"type": "chart", "payload": {"token": self.token}, "tool_call_id": None}

    def resume(self, conversation: str) -> None:
        messages = [{"role": "assistant", "content": self.text()}]
        done = self.store.write_back(
            conversation, self.name, messages, artifacts=[self.artifact()], turn_id=self.token
        )
        self.counts["write-backs"] += 1
        self.acknowledged(conversation, messages, done)
        for artifact in done.delivered:
            self.note("delivered", conversation, artifact["payload"]["token"])

    def deliver(self, conversation: str) -> None:
        """A take by a runtime that delivers elsewhere, or fails to."""
        if not self._known(conversation):
            return
        self.counts["takes"] += 1
        try:
            with self.store.taking(conversation, self.name):
                if self.chance.random() < 0.5:
                    raise ConnectionError
        except ConnectionError:
            self.counts["put back"] += 1

    def retry(self, conversation: str) -> None:
        """An append whose answer was lost, made again."""
        messages = [{"role": "user", "content": self.text()}]
        self.append(conversation, messages, idempotency_key=self.token)
        again = self.store.append(conversation, messages, turn_id=self.token, idempotency_key=self.token)
        if not again.repeated:
            raise AssertionError(f"a retry of {self.token} in {conversation} was taken for a new append")


class Reader(Worker):
    """Reads every view of what there is; a version must never go back, a list always be sendable."""

    def __init__(self, folder: Path, name: str, until: float) -> None:
        super().__init__(folder, name, until)
        self.seen: dict[str, int] = {}

    def step(self) -> None:
        conversations = self.conversations()
        if not conversations:
            time.sleep(0.05)
            return
        conversation = self.chance.choice(conversations)
        sendable = self.store.sendable(conversation)
        if sendable.version < self.seen.get(conversation, 0):
            raise AssertionError(f"{conversation} went back to version {sendable.version}")
        self.seen[conversation] = sendable.version
        if normalize(sendable.messages).dropped:
            raise AssertionError(f"{conversation} at {sendable.version} is not sendable")
        self.note("digest", conversation, sendable.version, digest(sendable.messages))
        self.store.wire(conversation)
        self.store.held(conversation)
        self.store.open_takes(conversation)
        after = max(0, sendable.version - self.chance.randint(1, 50))
        if len(list(self.store.events(conversation, after=after, to=sendable.version))) < 1:
            raise AssertionError(f"{conversation} has no events behind {after}")
        self.counts["readings"] += 5

    def conversations(self) -> list[str]:
        """Those in use, and sometimes an old one."""
        if not self.seen or self.chance.random() < 0.02:
            for summary in self.store.conversations():
                self.seen.setdefault(summary.conversation_id, 0)
        return list(self.seen)[-3 * SLOTS :] if self.chance.random() < 0.9 else list(self.seen)


class Traveller(Worker):
    """Reads versions that were digested when they were new: the list must be the same for ever."""

    def __init__(self, folder: Path, name: str, until: float) -> None:
        super().__init__(folder, name, until)
        self.journals: dict[Path, int] = {}
        self.recorded: list[tuple[str, int, str]] = []

    def step(self) -> None:
        if not self.recorded or self.chance.random() < 0.02:
            self.collect()
        if not self.recorded:
            time.sleep(0.2)
            return
        conversation, version, expected = self.chance.choice(self.recorded)
        found = digest(self.store.sendable(conversation, at=version).messages)
        if found != expected:
            raise AssertionError(f"{conversation} at {version} is not what it was")
        self.counts["travels"] += 1

    def collect(self) -> None:
        """What the others noted since; at most 20,000 are remembered."""
        for journal in self.folder.glob("*.journal"):
            with journal.open(encoding="utf-8") as lines:
                lines.seek(self.journals.get(journal, 0))
                while (line := lines.readline()).endswith("\n"):
                    self.journals[journal] = lines.tell()
                    if line.startswith('["digest"'):
                        self.recorded.append(tuple(json.loads(line)[1:]))
        self.recorded = self.chance.sample(self.recorded, min(20_000, len(self.recorded)))


KINDS: dict[str, type[Any]] = {f"writer-{n}": Writer for n in range(WRITERS)} | {
    "reader": Reader,
    "traveller": Traveller,
}


def work(folder: Path, name: str, until: float) -> None:
    """What each process does."""
    try:
        worker = KINDS[name](folder, name, until)
        worker.run(worker.step)
    except BaseException:
        (folder / f"{name}.failure").write_text(traceback.format_exc())
        sys.exit(1)


def check(folder: Path) -> list[str]:
    """Everything acknowledged that the log does not have, or has elsewhere; and what the audit finds."""
    missing: list[str] = []
    with ConversationStore(folder / "soak.db", timeout_s=TIMEOUT_S) as store:
        for conversation, notes in _acknowledged(folder).items():
            entries: dict[int, list[str]] = {}
            held: Counter[str] = Counter()
            for event in store.events(conversation):
                if isinstance(event, MessageAppended | PlaceholderReplaced):
                    entries.setdefault(event.entry, []).append(str(event.content)[:40])
                held.update(
                    artifact.payload["token"]
                    for artifact in getattr(event, "held", ()) or getattr(event, "new", ())
                    if isinstance(getattr(artifact, "payload", None), dict)
                )
            shown = Counter(
                artifact["payload"]["token"]
                for entry in store.wire(conversation)
                for artifact in entry.get("toolArtifacts", ())
            )
            for kind, *what in notes:
                if kind == "entry" and what[1] not in entries.get(what[0], ()):
                    missing.append(f"{conversation}: entry {what[0]} {what[1]!r}")
                if kind == "artifact" and not held[what[0]]:
                    missing.append(f"{conversation}: artifact {what[0]}")
                if kind == "delivered" and shown[what[0]] != 1:
                    missing.append(f"{conversation}: artifact {what[0]} is shown {shown[what[0]]} times")
        report = store.verify()
        missing += [str(finding) for finding in report.findings]
    return missing


def _acknowledged(folder: Path) -> dict[str, list[list[Any]]]:
    notes: dict[str, list[list[Any]]] = {}
    for journal in folder.glob("writer-*.journal"):
        for line in journal.read_text(encoding="utf-8").splitlines():
            kind, conversation, *what = json.loads(line)
            if kind != "digest":
                notes.setdefault(conversation, []).append([kind, *what])
    return notes


class Progress:
    """What the processes told, summed up now and at the minute before."""

    def __init__(self, folder: Path, console: Console) -> None:
        self.folder, self.console = folder, console
        self.lines: list[tuple[float, Counter[str], dict[str, int]]] = [(time.time(), Counter(), {})]

    def tell(self) -> None:
        counts: Counter[str] = Counter()
        rss: dict[str, int] = {}
        for status in self.folder.glob("*.status"):
            said = json.loads(status.read_text())
            counts.update(said["counts"])
            rss[status.stem] = said["rss"]
        before, counted, _ = self.lines[-1]
        self.lines.append((time.time(), counts, rss))
        now = self.lines[-1][0]
        self.console.print(
            f"minute {(now - self.lines[0][0]) / 60:.1f}: {self._rates(counted, counts, now - before)}; "
            f"memory {self._memory(rss)}; file {self._file() / 2**20:,.0f} MiB",
            highlight=False,
        )

    @staticmethod
    def _rates(before: Counter[str], now: Counter[str], seconds: float) -> str:
        return ", ".join(f"{(now[what] - before[what]) / seconds:,.1f} {what}/s" for what in sorted(now))

    @staticmethod
    def _memory(rss: dict[str, int]) -> str:
        return ", ".join(f"{name} {size / 2**20:,.0f}" for name, size in sorted(rss.items())) + " MiB"

    def _file(self) -> int:
        return sum(file.stat().st_size for file in self.folder.glob("soak.db*"))

    def sum_up(self) -> None:
        if len(self.lines) < 2:
            return
        for name, number in (("start", 1), ("end", len(self.lines) - 1)):
            (before, counted, _), (at, counts, rss) = self.lines[number - 1], self.lines[number]
            self.console.print(
                f"{name}: {self._rates(counted, counts, at - before)}; memory {self._memory(rss)}",
                highlight=False,
            )
        total = self.lines[-1][1]
        in_all = ", ".join(f"{number:,} {what}" for what, number in sorted(total.items()))
        self.console.print(f"in all: {in_all}", highlight=False)


@click.command(help=__doc__)
@click.option("--minutes", type=click.FloatRange(0.05, 24 * 60), default=30.0, show_default=True)
@click.option("--folder", type=click.Path(path_type=Path, file_okay=False, exists=True), help="Where to.")
@click.option("--keep", is_flag=True, help="Leave the database and the journals there.")
def main(minutes: float, folder: Path | None, keep: bool) -> None:
    console = Console(width=200)
    made = Path(tempfile.mkdtemp(dir=folder, prefix="soak-"))
    failures = _soak(made, minutes, console)
    for failure in failures[:20]:
        console.print(f"[red]{failure}[/]", markup=True, highlight=False)
    if keep or failures:
        console.print(f"the database and the journals are in {made}")
    else:
        shutil.rmtree(made)
    console.print(
        f"{len(failures)} failures" if failures else "nothing acknowledged is missing, all read well"
    )
    sys.exit(1 if failures else 0)


def _soak(folder: Path, minutes: float, console: Console) -> list[str]:
    ConversationStore(folder / "soak.db").close()
    until = time.time() + minutes * 60
    context = multiprocessing.get_context("spawn")
    processes = {name: context.Process(target=work, args=(folder, name, until)) for name in KINDS}
    for process in processes.values():
        process.start()
    progress, told = Progress(folder, console), time.time()
    interval = min(60.0, minutes * 60 / 2)
    while any(p.is_alive() for p in processes.values()) and time.time() < until + GRACE_S:
        time.sleep(0.2)
        if time.time() - told >= interval:
            told += interval
            progress.tell()
        if any(p.exitcode for p in processes.values()):
            break
    failures = []
    for name, process in processes.items():
        process.join(0 if time.time() > until + GRACE_S else 1)
        if process.is_alive():
            process.terminate()
            process.join()
            failures.append(f"{name} had to be ended: another had failed, or it was stuck")
        failure = folder / f"{name}.failure"
        if failure.exists():
            failures.append(f"{name}: {failure.read_text()}")
    if time.time() - told > interval / 2:
        progress.tell()
    progress.sum_up()
    begun = time.time()
    failures += check(folder)
    console.print(f"looked up and audited in {time.time() - begun:.0f} s")
    return failures


if __name__ == "__main__":
    main()
