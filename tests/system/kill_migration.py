"""Kills a migration with SIGKILL at its writes, one after another, and looks at what each left in the target.

    python -m tests.system.kill_migration --kills 50
    python -m tests.system.kill_migration --kills 50 --postgres

What is there must be the beginning of the source, byte for byte; the same command goes on from it, and ends
with the source's digest.
"""

import argparse
import logging
import os
import random
import signal
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.postgres import Server
from tests.system.kill import Writer
from turnledger import ConversationStore

DEEDS = 120
MIGRATING = """
import os, random, signal, sqlite3, sys, threading
from turnledger.cli import main
from turnledger.infrastructure import migrating

migrating.PAGE_ROWS = 5
source, target, left = sys.argv[1], sys.argv[2], int(sys.argv[3])

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def count_down(statement=""):
    global left
    if statement.startswith(("BEGIN IMMEDIATE", "INSERT", "COMMIT")):
        left -= 1
        if not left:
            die()

if target.startswith("postgresql:"):
    from turnledger.infrastructure.postgres_connections import Loan
    told = Loan.told
    def dying(loan, *given):
        global left
        left -= 1
        if left == 1:  # while the server is at it
            threading.Timer(random.uniform(0, 0.004), die).start()
        if left == 0:
            die()
        told_now = told(loan, *given)
        if left == 2 and random.random() < 0.3:
            die()  # it is recorded, and nobody has heard of it
        return told_now
    Loan.told = dying
else:
    connect = sqlite3.connect
    def connected(name, *given, **more):
        connection = connect(name, *given, **more)
        if target in str(name):
            connection.set_trace_callback(count_down)
        return connection
    sqlite3.connect = connected
main(["migrate", "--from", source, "--to", target, "--json"])
"""


def main(kills: int, seed: int = 0, *, postgres: bool = False) -> str:
    """Kills so often, each target until it is whole; raises where one is not as it must be."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "chats.db"
        _filled(source, seed)
        server = Server() if postgres else None
        try:
            whole, killed, left = 0, 0, kills
            while left or not whole:
                target = server.url(f"t{whole}") if server else str(Path(name) / f"copy-{whole}.db")
                killed, left = _moved(source, target, left, chance, killed)
                whole += 1
        finally:
            if server:
                server.remove()
        return f"{killed} kills, {whole} targets, each in the end with the source's digest"


def _filled(path: Path, seed: int) -> None:
    logging.getLogger("turnledger").setLevel(logging.ERROR)
    writer = Writer(path, seed)
    for deed in range(1, DEEDS + 1):
        writer.perform(deed)
    writer.store.close()


def _moved(source: Path, target: str, left: int, chance: random.Random, killed: int) -> tuple[int, int]:
    """Moves a store, killed again and again on the way; how many kills there were, and how many are left."""
    whole = rows(str(source))
    while True:
        dies_at = chance.randrange(1, 20) if left else 0
        done = _python("-c", MIGRATING, source, target, dies_at)
        left -= bool(left)
        if done.returncode == 0:
            assert rows(target) == whole
            digest = sha256(b"".join(map(_told, whole))).hexdigest()
            assert f'"digest":"{digest}"' in done.stdout.replace(" ", ""), done.stdout
            with ConversationStore(target) as store:
                assert store.verify().ok
            return killed, left
        assert done.returncode == -signal.SIGKILL, done.stderr
        killed += 1
        there = rows(target)
        assert there == whole[: len(there)], "the target does not hold the beginning of the source"


def rows(url: str) -> list[tuple[str, int, str, bytes]]:
    with ConversationStore(url) as store:
        found = store._application.recorder.select_notifications(None, 100_000)
    return [(str(one.originator_id), one.originator_version, one.topic, one.state) for one in found]


def _told(row: tuple[str, int, str, bytes]) -> bytes:
    conversation_id, version, topic, state = row
    return f"{conversation_id}\n{version}\n{topic}\n{len(state)}\n".encode() + state


def _python(*arguments: object) -> Any:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--postgres", action="store_true")
    asked = parser.parse_args()
    print(main(asked.kills, asked.seed, postgres=asked.postgres))  # noqa: T201
