"""What `kill -9` leaves of a store. The long run: `python -m tests.system.kill --kills 300`."""

import re
import subprocess
import sys

import pytest

from tests.postgres import need_server
from tests.system import kill_migration

KILLS = 32


def test_a_writer_killed_at_any_moment_leaves_every_acknowledged_change_and_at_most_one_more() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.system.kill", "--kills", str(KILLS)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    deeds = re.search(r"(\d+) deeds", done.stdout)
    assert deeds is not None
    assert int(deeds[1]) > KILLS, "the writers were killed before they wrote"


@pytest.mark.parametrize("postgres", [False, True], ids=["to a file", "to a server"])
def test_a_migration_killed_at_its_writes_leaves_a_beginning_and_goes_on_from_it(*, postgres: bool) -> None:
    if postgres:
        need_server()
    assert "each in the end with the source's digest" in kill_migration.main(4, seed=3, postgres=postgres)
