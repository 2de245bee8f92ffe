"""The benchmark's programs run to their ends; what they measure is no test's business."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.__main__ import main
from benchmarks.measure import Line, Samples
from benchmarks.rows import ROWS

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("row", [row for row in ROWS if row not in {"verify", "race"}])
def test_every_row_is_measured_and_told_with_its_ratio(row: str, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    done = CliRunner().invoke(
        main, ["--tiny", "--no-peers", "--only", row, "--json", str(report), "--folder", str(tmp_path)]
    )
    assert done.exit_code == 0, done.output
    lines = json.loads(report.read_text())["lines"]
    assert lines
    assert all(line["row"] == row and line["samples"]["median"] > 0 for line in lines)
    assert any(line["ratio_of_medians"] for line in lines)


def test_two_processes_on_one_conversation_lose_nothing(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    page = tmp_path / "report.md"
    arguments = ["--tiny", "--no-peers", "--only", "race", "--json", str(report), "--markdown", str(page)]
    done = CliRunner().invoke(main, [*arguments, "--folder", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert page.read_text().splitlines()[2].endswith("| yes |")
    (line,) = json.loads(report.read_text())["lines"]
    assert line["met"], line["note"]
    assert not line["note"].startswith("0 tries")


def test_a_target_is_met_when_the_median_and_the_mean_keep_it() -> None:
    def line(*values: float) -> Line:
        return Line("row", "work", "us", Samples(values), "them", Samples((2.0, 2.0, 2.0)), 0.6)

    assert line(1.0, 1.0, 1.0).met
    assert not line(1.0, 1.0, 9.0).met
    assert line(1.0, 1.0, 1.1).spread == (0.5, 0.55)
    assert Line("row", "work", "us", None, "them", None, 0.6).met is None


def test_a_soak_stops_by_itself_and_misses_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.soak", "--minutes", "0.06", "--folder", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing acknowledged is missing" in done.stdout
    assert not list(tmp_path.iterdir())
