"""The table that people read, and the file that programs read."""

import json
import os
import platform
import sqlite3
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.measure import Line, Samples

PACKAGES = (
    "turnledger",
    "eventsourcing",
    "pydantic-core",
    "openai-agents",
    "langgraph",
    "langgraph-checkpoint-sqlite",
    "langchain-community",
    "google-adk",
)


def table(title: str, lines: Iterable[Line]) -> Table:
    made = Table(title=title, title_justify="left", show_lines=False, pad_edge=False)
    for heading in ("work", "what", "median", "mean", "beside", "its median"):
        made.add_column(heading, justify="right" if "me" in heading else "left", overflow="fold")
    for heading in ("ratio", "of means", "spread", "target"):
        made.add_column(heading, justify="right", no_wrap=True)
    made.add_column("met")
    made.add_column("note", overflow="fold")
    for line in lines:
        made.add_row(*_cells(line))
    return made


def _cells(line: Line) -> list[str]:
    samples, baseline = line.samples, line.baseline
    counted = samples is not None and samples.unit == "faults"
    verdict = {True: "[green]yes[/]", False: "[red]NO[/]", None: ""}[line.met]
    return [
        line.work,
        line.contender,
        shown(samples, samples.median) if samples else "none",
        shown(samples, samples.mean) if samples else "",
        line.baseline_name,
        shown(baseline, baseline.median) if baseline and not counted else "",
        "" if line.ratio is None or counted else f"{line.ratio:.3g}",
        "" if line.ratio_of_means is None or counted else f"{line.ratio_of_means:.3g}",
        "" if line.spread is None or counted else f"{line.spread[0]:.3g}-{line.spread[1]:.3g}",
        "" if line.target is None else f"{line.target:.3g}",
        verdict if line.target is None or line.met is not None else "[yellow]?[/]",
        line.note,
    ]


def markdown(lines: Iterable[Line]) -> str:
    """The table for a page; what is met needs no colour there."""
    headings = ("work", "what", "median", "beside", "its median", "ratio", "of means", "spread", "target")
    rows = [[*headings, "met"], ["---"] * (len(headings) + 1)]
    for line in lines:
        work, what, median, _, *rest = _cells(line)
        verdict = {True: "yes", False: "no", None: ""}[line.met]
        rows.append([work, what, median, *rest[:-2], verdict])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def shown(samples: Samples, value: float) -> str:
    if samples.unit == "s":
        return f"{value * 1000:,.3f} ms"
    if samples.unit == "bytes" and value >= 2**20:
        return f"{value / 2**20:,.1f} MiB"
    return f"{value:,.0f} {samples.unit}"


def environment(folder: Path) -> dict[str, Any]:
    """What the numbers depend on."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "filesystem": _filesystem(folder),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")


def _filesystem(folder: Path) -> str:
    """The kind of file system: on one in memory a commit costs nothing, and every ratio is another."""
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return ""
    holding = [(len(m[1]), m[2]) for m in mounts if folder.resolve().is_relative_to(m[1])]
    return max(holding)[1] if holding else ""


def write(path: Path, scale: str, where: dict[str, Any], missing: Sequence[str], lines: list[Line]) -> None:
    report = {
        "scale": scale,
        "environment": where,
        "not_installed": list(missing),
        "lines": [line.as_json() for line in lines],
    }
    path.write_text(json.dumps(report, indent=1) + "\n")


def say(console: Console, where: dict[str, Any]) -> None:
    packages = ", ".join(f"{name} {number}" for name, number in where["packages"].items())
    console.print(
        f"Python {where['python']}, SQLite {where['sqlite']}, {where['processor'] or where['system']}, "
        f"{where['cores']} cores, {where['filesystem']}, load {where['load_before']}\n{packages}"
    )
    if where["load_before"] and where["load_before"] > 0.5:
        console.print("[yellow]The machine is at work: read the ratios and their spread, not the times.[/]")


def console() -> Console:
    return Console(width=None if sys.stdout.isatty() else 200)
