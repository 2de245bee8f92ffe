"""Kills a writer with SIGKILL at random moments, again and again, and looks at what it left.

    python -m tests.system.kill --kills 300

The writer performs numbered deeds, one transaction each, and reports each that was acknowledged. A deed
follows from its number alone, so a second store in memory that performs the same deeds holds the very same
events: the file must equal it after the acknowledged deeds, or after one more, and nothing in between.
"""

import argparse
import logging
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from turnledger import ConversationStore, Record, TurnledgerError

CONVERSATIONS = ("alpha", "beta", "gamma")
KILLS_PER_FILE = 8
DELAYS_S = (0.0, 0.03, 0.1, 0.3, 0.6)
REOPENED_EVERY = 40


class Writer:
    """Performs deeds on a store; deed N is the same in every process and in every store."""

    def __init__(self, url: str | Path, seed: int) -> None:
        self.seed = seed
        self.deed = 0
        self.ids = 0
        self.did: Counter[str] = Counter()
        self._url = url
        self.store = self._opened()

    def _opened(self) -> ConversationStore:
        return ConversationStore(self._url, clock=self._clock, new_id=self._new_id, timeout_s=30)

    def _clock(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.deed)

    def _new_id(self) -> str:
        self.ids += 1
        return f"id-{self.deed}-{self.ids}"

    def perform(self, deed: int) -> None:
        """One deed: at most one transaction."""
        self.deed, self.ids = deed, 0
        rng = random.Random(f"{self.seed}-{deed}")
        name = rng.choices(tuple(DEEDS), WEIGHTS)[0]
        try:
            DEEDS[name](self.store, rng, deed)
        except TurnledgerError as refused:
            name = f"{name} refused: {type(refused).__name__}"
        self.did[name] += 1
        if deed % REOPENED_EVERY == 0 and self._url != ":memory:":
            self.store.close()
            self.store = self._opened()


def _call(rng: random.Random) -> str:
    return f"call-{rng.randrange(12)}"


def _turn(rng: random.Random, deed: int) -> dict[str, Any]:
    ids = [_call(rng) for _ in range(rng.randint(1, 3))]
    calls = [{"id": i, "function": {"name": "look", "arguments": f'{{"n": {deed % 5}}}'}} for i in ids]
    return {"role": "assistant", "content": f"turn {deed}", "tool_calls": calls}


def _result(rng: random.Random, deed: int) -> dict[str, Any]:
    size = rng.choice((10, 10, 100, 30_000))
    return {"role": "tool", "tool_call_id": _call(rng), "content": f"result {deed} " + "x" * size}


def _user(deed: int) -> dict[str, Any]:
    return {"role": "user", "content": f"go on {deed}"}


def _artifacts(rng: random.Random, deed: int) -> list[dict[str, Any]]:
    return [{"type": "chart", "payload": {"deed": deed, "n": n}} for n in range(rng.randint(1, 3))]


def _append(store: ConversationStore, rng: random.Random, deed: int) -> None:
    message = rng.choice((_turn, _result, lambda _, n: _user(n)))(rng, deed)
    store.append(rng.choice(CONVERSATIONS), message)


def _batch(store: ConversationStore, rng: random.Random, deed: int) -> None:
    turn = _turn(rng, deed)
    store.append(
        rng.choice(CONVERSATIONS), [turn, _result(rng, deed), _user(deed), _turn(rng, deed + 1), _user(deed)]
    )


def _keyed(store: ConversationStore, rng: random.Random, deed: int) -> None:
    number = deed - deed % 3  # a key used up to three times, with the same input
    conversation = CONVERSATIONS[number % 3]
    store.append(conversation, [_user(number), _user(number + 1)], idempotency_key=f"key-{number}")


def _hold(store: ConversationStore, rng: random.Random, deed: int) -> None:
    store.hold(rng.choice(CONVERSATIONS), "run", _artifacts(rng, deed))


def _take(store: ConversationStore, rng: random.Random, deed: int) -> None:
    store.take(rng.choice(CONVERSATIONS), "run")


def _settle(store: ConversationStore, rng: random.Random, deed: int) -> None:
    conversation = rng.choice(CONVERSATIONS)
    for take in store.open_takes(conversation)[:1]:
        if rng.random() < 0.5:
            store.put_back(conversation, take)
        else:
            store.confirm(conversation, take)


def _write_back(store: ConversationStore, rng: random.Random, deed: int) -> None:
    key = rng.choice((None, f"back-{deed}"))
    messages = [_result(rng, deed), _turn(rng, deed)]
    store.write_back(
        rng.choice(CONVERSATIONS), "run", messages, artifacts=_artifacts(rng, deed), idempotency_key=key
    )


def _compact(store: ConversationStore, rng: random.Random, deed: int) -> None:
    summary = {"role": rng.choice(("user", "system")), "content": f"so far {deed}"}
    store.compact(rng.choice(CONVERSATIONS), keep_last=rng.randrange(8), summary=summary)


def _request(store: ConversationStore, rng: random.Random, deed: int) -> None:
    store.record_request(rng.choice(CONVERSATIONS), provider=rng.choice((None, "openai-chat")))


def _fork(store: ConversationStore, rng: random.Random, deed: int) -> None:
    """A fork, now and then of a fork, at any version."""
    source = rng.choice((*CONVERSATIONS, "fork-0", "fork-1"))
    into = f"fork-{rng.randrange(12)}"
    store.fork(source, at=rng.randint(1, store.version(source)), into=into)


def _append_to_fork(store: ConversationStore, rng: random.Random, deed: int) -> None:
    into = f"fork-{rng.randrange(12)}"
    store.version(into)
    store.append(into, [_turn(rng, deed), _user(deed)])


def _retract(store: ConversationStore, rng: random.Random, deed: int) -> None:
    """A turn with its results, and what stands instead, or whatever is last."""
    conversation = rng.choice(CONVERSATIONS)
    standing = [entry.number for entry in store.entries(conversation)]
    entry = rng.choice(standing) if standing and rng.random() < 0.5 else None
    store.retract(conversation, entry, instead=[_turn(rng, deed)] if rng.random() < 0.3 else [])


def _clear(store: ConversationStore, rng: random.Random, deed: int) -> None:
    store.clear(rng.choice(CONVERSATIONS))


def _records(store: ConversationStore, rng: random.Random, deed: int) -> None:
    records = [Record("sdk", rng.choice((None, f"key-{deed % 5}")), {"deed": deed})] * 2
    store.append(rng.choice(CONVERSATIONS), rng.choice(([], [_user(deed)])), records=records)


DEEDS = {
    "append": _append,
    "batch": _batch,
    "keyed": _keyed,
    "hold": _hold,
    "take": _take,
    "settle": _settle,
    "write back": _write_back,
    "compact": _compact,
    "record request": _request,
    "fork": _fork,
    "append to a fork": _append_to_fork,
    "retract": _retract,
    "clear": _clear,
    "records": _records,
}
WEIGHTS = (12, 8, 6, 4, 4, 4, 6, 2, 2, 2, 2, 4, 1, 2)


def _child(path: Path, seed: int, first: int, acknowledgements: int) -> None:
    """The writer's process: never returns by itself."""
    try:
        writer = Writer(path, seed)
        deed = first
        while True:
            writer.perform(deed)
            os.write(acknowledgements, b"%d\n" % deed)
            deed += 1
    except BaseException as error:
        os.write(acknowledgements, f"failed {error!r}\n".encode())
        os._exit(1)


def _killed(path: Path, seed: int, first: int, delay_s: float) -> list[str]:
    """The acknowledgements of a writer that was killed after a while."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _child(path, seed, first, writing)
    os.close(writing)
    time.sleep(delay_s)
    os.kill(pid, signal.SIGKILL)
    with os.fdopen(reading) as lines:
        acknowledged = lines.read().split("\n")[:-1]
    os.waitpid(pid, 0)
    return acknowledged


def _log_of(store: ConversationStore) -> dict[str, list[Any]]:
    return {
        found.conversation_id: list(store.events(found.conversation_id)) for found in store.conversations()
    }


class Ordeal:
    """One file and its twin in memory, through a number of kills."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path = path
        self.seed = seed
        self.next = 0
        self.twin = Writer(":memory:", seed)
        self.unacknowledged = 0

    def kill(self, delay_s: float) -> None:
        acknowledged = _killed(self.path, self.seed, self.next, delay_s)
        expected = [str(self.next + n) for n in range(len(acknowledged))]
        assert acknowledged == expected, f"the writer failed: {acknowledged[-1:]}"
        for _ in acknowledged:
            self._perform_on_twin()
        with ConversationStore(self.path) as store:
            self._compare(store)
            report = store.verify()
            assert report.ok, report.findings
            store.append("probe", _user(self.next))
        self._check_file()

    def _perform_on_twin(self) -> None:
        self.twin.perform(self.next)
        self.next += 1

    def _compare(self, store: ConversationStore) -> None:
        found = _log_of(store)
        found.pop("probe", None)
        if found == _log_of(self.twin.store):
            return
        lost = {name: len(log) for name, log in _log_of(self.twin.store).items()}
        self._perform_on_twin()
        self.unacknowledged += 1
        assert found == _log_of(self.twin.store), (
            f"the file holds { ({name: len(log) for name, log in found.items()}) }, "
            f"{self.next - 1} acknowledged deeds make {lost}"
        )

    def _check_file(self) -> None:
        connection = sqlite3.connect(self.path)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.close()


def run(kills: int, seed: int) -> str:
    """Kills so many writers; raises `AssertionError` for anything lost, doubled or torn."""
    rng = random.Random(seed)
    deeds = unacknowledged = 0
    did: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(0, kills, KILLS_PER_FILE):
            ordeal = Ordeal(Path(folder) / f"{number}.db", seed + number)
            for _ in range(min(KILLS_PER_FILE, kills - number)):
                ordeal.kill(rng.uniform(*rng.choice(tuple(pairwise(DELAYS_S)))))
            deeds += ordeal.next
            unacknowledged += ordeal.unacknowledged
            did += ordeal.twin.did
            ordeal.twin.store.close()
    kinds = ", ".join(f"{count} {name}" for name, count in sorted(did.items()))
    return f"{kills} kills, {deeds} deeds, {unacknowledged} recorded but not acknowledged: {kinds}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=150)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    given = parser.parse_args()
    logging.disable()  # dropped turns are meant
    sys.stdout.write(f"seed {given.seed}\n{run(given.kills, given.seed)}\n")


if __name__ == "__main__":
    main()
