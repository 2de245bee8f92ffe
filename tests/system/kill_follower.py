"""Kills a follower with SIGKILL at random moments while writers go on, and looks at the tables that it left.

    python -m tests.system.kill_follower --kills 50

At the end they must equal those made from nothing, and show what the projections show.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.tables import all_conversations, assert_tables_show
from turnledger import ConversationStore

WRITERS = 2
WRITING = """
import sys
from tests.system.kill import Writer
writer = Writer(sys.argv[1], int(sys.argv[2]))
for deed in range(1, 10**9):
    writer.perform(deed)
"""
FOLLOWING = """
import sys
from turnledger.cli import main
from turnledger.infrastructure import following
following.PAGE_ROWS = 3  # many batches, to be killed between and in
main(sys.argv[1:])
"""


def main(kills: int, seed: int = 0, folder: Path | None = None) -> str:
    """Kills so often, and says what came of it; raises where the tables are not right."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(dir=folder) as name:
        path = Path(name) / "chats.db"
        ConversationStore(path).close()
        writers = [_python("-c", WRITING, path, number) for number in range(WRITERS)]
        cut_short = 0
        try:
            for _ in range(kills):
                cut_short += _killed(path, chance)
        finally:
            for writer in writers:
                writer.send_signal(signal.SIGKILL)
                writer.wait()
        return _looked_at(path, kills, cut_short)


def _killed(path: Path, chance: random.Random) -> int:
    """Starts a follower, and kills it; 1 where it had not caught up by then."""
    before, end = _position(path), time.monotonic() + chance.choice((1, 60, 60, 60, 60, 60))
    follower = _python("-c", FOLLOWING, "--store", path, "follow")
    while _position(path) <= before and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(chance.choice((0.0, 0.003, 0.01, 0.05, 0.2)))
    follower.send_signal(signal.SIGKILL)
    follower.wait()
    with ConversationStore(path, read_only=True) as store, store.read_models() as models:
        return int(models.standing().lag > 0)


def _position(path: Path) -> int:
    with ConversationStore(path, read_only=True) as store, store.read_models() as models:
        return models.standing().position


def _looked_at(path: Path, kills: int, cut_short: int) -> str:
    with ConversationStore(path, read_only=True) as store, store.read_models() as models:
        followed = models.standing().position
        standing = models.catch_up()
        assert standing.lag == 0
        report = models.verify()
        assert report.ok, report.first
        for found in all_conversations(store):
            assert_tables_show(models, store, found, store.version(found))
    assert followed, "no follower came so far as to follow anything"
    return (
        f"{kills} kills, {cut_short} with events still to come; {followed:,} of {standing.position:,} events "
        f"followed by the killed; {report.rows:,} rows as made from nothing"
    )


def _python(*arguments: object) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONWARNINGS": "ignore"}
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    print(main(asked.kills, asked.seed))  # noqa: T201
