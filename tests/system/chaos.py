"""Writers on PostgreSQL while it is done harm to: nothing acknowledged is lost, nothing is there twice.

Eight writers, each with a store of its own, append to one conversation of all and to their own, through a
proxy. Meanwhile, by turns, the server is stopped in the middle of everything and started again; its backends
are terminated; connections are cut when the request is through and the answer is not. What a call said must
be true: what it acknowledged is there once, what it refused is not there, what it calls unknown is there once
or not.

    python -m tests.system.chaos --rounds 20
"""

import argparse
import json
import random
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tests.postgres import Server, executed, free_port
from turnledger import ConversationStore, OutcomeUnknown, StoreBusy, StoreUnreachable

WRITERS = 8
TIMEOUT_S = 20.0
ROUND_S = 1.5
BLOCK = 65536


class Proxy:
    """A way to the server that can be cut, or go deaf first: then requests go through and answers do not."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._ends: set[socket.socket] = set()
        self._deaf = False
        self._listening = socket.create_server(("127.0.0.1", free_port()), backlog=64)
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                try:
                    server = socket.create_connection(("127.0.0.1", self._to))
                except OSError:
                    client.close()
                    continue
                self._ends |= {client, server}
                for source, target in ((client, server), (server, client)):
                    answers = source is server
                    threading.Thread(target=self._pump, args=(source, target, answers), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, answers: bool) -> None:
        with suppress(OSError):
            while data := source.recv(BLOCK):
                if not (answers and self._deaf):
                    target.sendall(data)
        self._end(source, target)

    def _end(self, *ends: socket.socket) -> None:
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
            self._ends.discard(end)

    def cut(self, *, deaf_s: float) -> None:
        self._deaf = True
        time.sleep(deaf_s)
        self._end(*list(self._ends))
        self._deaf = False

    def close(self) -> None:
        self._listening.close()
        self._end(*list(self._ends))


class Writers:
    """Who writes, and what each call said became of it."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._stop = threading.Event()
        self.said: dict[str, str] = {}
        self.faults: list[str] = []

    @contextmanager
    def at_work(self, name: str) -> Iterator[None]:
        self._stop.clear()
        threads = [
            threading.Thread(target=self._write, args=(f"{name}-{n}", n), daemon=True) for n in range(WRITERS)
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in threads:
                thread.join(3 * TIMEOUT_S)
            if any(thread.is_alive() for thread in threads):
                self.faults.append("a writer never came back")

    def _write(self, name: str, writer: int) -> None:
        try:
            with ConversationStore(self._url, timeout_s=TIMEOUT_S) as store:
                number = 0
                while not self._stop.is_set():
                    number += 1
                    self._append(store, f"{name}-{number}", "shared" if number % 2 else f"own {writer}")
        except Exception as error:
            self.faults.append(repr(error))

    def _append(self, store: ConversationStore, text: str, conversation_id: str) -> None:
        try:
            store.append(conversation_id, {"role": "user", "content": text})
        except OutcomeUnknown:
            self.said[text] = "unknown"
        except (StoreUnreachable, StoreBusy):
            self.said[text] = "refused"
        else:
            self.said[text] = "acknowledged"


class Chaos:
    """A server, a way to it, writers, and what is done to them."""

    def __init__(self, seed: int, *settings: str) -> None:
        self.chance = random.Random(seed)
        self.server = Server(*settings)
        self.proxy = Proxy(self.server.port)
        self.url = self.server.url()
        ConversationStore(self.url).close()
        self.writers = Writers(self.server.url(port=self.proxy.port))
        self.harms: tuple[Callable[[], None], ...] = (self.stop_and_start, self.terminate, self.cut)

    def stop_and_start(self) -> None:
        self.server.stop("immediate")
        time.sleep(self.chance.uniform(0, 0.3))
        self.server.start()

    def terminate(self) -> None:
        for _ in range(10):
            executed(
                self.url,
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'turnledger' AND random() < 0.5",
            )
            time.sleep(self.chance.uniform(0, 0.1))

    def cut(self) -> None:
        for _ in range(8):
            self.proxy.cut(deaf_s=self.chance.uniform(0, 0.02))
            time.sleep(self.chance.uniform(0, 0.15))

    def round(self, number: int) -> dict[str, Any]:
        """One round of harm, and what is found afterwards."""
        harm = self.harms[number % len(self.harms)]
        with self.writers.at_work(f"r{number}"):
            time.sleep(self.chance.uniform(0.1, ROUND_S / 3))
            harm()
            time.sleep(ROUND_S / 3)
        with ConversationStore(self.url) as store:
            return {"round": number, "harm": harm.__name__, **self.found(store)}

    def found(self, store: ConversationStore) -> dict[str, Any]:
        there = Counter(
            message["content"]
            for one in store.conversations()
            for message in store.buffer(one.conversation_id)
        )
        said = self.writers.said
        allowed = {"acknowledged": (1,), "refused": (0,), "unknown": (0, 1)}
        wrong = [
            f"{text} {what}: {there[text]} times"
            for text, what in said.items()
            if there[text] not in allowed[what]
        ]
        wrong += [f"{text}: nobody wrote it" for text in there if text not in said]
        places = [row.originator_version for row in _log(store) if row.originator_id == "shared"]
        report = store.verify()
        return {
            **Counter(said.values()),
            "wrong": wrong[:10] + self.writers.faults,
            "in order": places == sorted(places),
            "sound": report.ok,
        }

    def close(self) -> None:
        self.proxy.close()
        self.server.remove()


def _log(store: ConversationStore) -> Iterator[Any]:
    recorder, after = store._application.recorder, 0
    while page := recorder.select_notifications(after, 1000, inclusive_of_start=False):
        yield from page
        after = page[-1].id


def is_fine(found: dict[str, Any]) -> bool:
    return not found["wrong"] and found["in order"] and found["sound"] and bool(found.get("acknowledged"))


def main() -> int:
    parser = argparse.ArgumentParser(description="Harms a PostgreSQL server under eight writers.")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    chaos = Chaos(given.seed, "fsync=on", "max_connections=200")
    try:
        for number in range(given.rounds):
            found = chaos.round(number)
            sys.stdout.write(json.dumps(found) + "\n")
            sys.stdout.flush()
            if not is_fine(found):
                return 1
    finally:
        chaos.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
