"""What `kill -9` leaves of a store. The long run: `python -m tests.system.kill --kills 300`."""

import re
import subprocess
import sys

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
