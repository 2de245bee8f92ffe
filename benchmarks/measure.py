"""Rounds, and what is made of them: median, mean, spread, a ratio to the baseline of that run, a verdict."""

import gc
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from typing import Any


@dataclass(frozen=True)
class Scale:
    """How much of everything: `--quick` and the tests have smaller ones."""

    rounds: int = 7
    lengths: tuple[int, ...] = (100, 1_000, 10_000)
    steps: Mapping[int, int] = field(default_factory=lambda: {100: 20, 1_000: 10, 10_000: 5})
    fill_batch: int = 1
    slow_peers_to: int = 10_000
    conversations: int = 100
    calls_each: int = 10
    at_length: int = 1_000
    at_versions: int = 3
    audited: tuple[int, int] = (5_000, 10_000)
    served: tuple[int, int] = (2_000, 10_000)
    served_messages: int = 10
    served_cache_bytes: int = 8 * 2**20
    race_s: float = 1.5
    peers_in_children: bool = True
    child_timeout_s: float = 600.0

    def steps_at(self, length: int) -> int:
        return self.steps.get(length, 5)


FULL = Scale()
QUICK = Scale(
    rounds=5,
    steps={100: 8, 1_000: 4, 10_000: 2},
    fill_batch=20,
    slow_peers_to=100,
    conversations=10,
    calls_each=8,
    at_versions=1,
    audited=(500, 1_000),
    served=(200, 1_000),
    served_messages=5,
    served_cache_bytes=2**19,
    peers_in_children=False,
    child_timeout_s=60.0,
)
TINY = Scale(
    rounds=1,
    lengths=(5, 20),
    steps={5: 1, 20: 1},
    slow_peers_to=0,
    conversations=2,
    calls_each=2,
    at_length=20,
    at_versions=1,
    audited=(10, 20),
    served=(4, 20),
    served_messages=2,
    served_cache_bytes=10_000,
    race_s=0.2,
    peers_in_children=False,
    child_timeout_s=60.0,
)


@dataclass(frozen=True)
class Samples:
    """One number a round, in the order of the rounds."""

    values: tuple[float, ...]
    unit: str = "s"

    @property
    def median(self) -> float:
        return median(self.values)

    @property
    def mean(self) -> float:
        return mean(self.values)

    def as_json(self) -> dict[str, Any]:
        return {
            "unit": self.unit,
            "median": self.median,
            "mean": self.mean,
            "min": min(self.values),
            "max": max(self.values),
            "rounds": list(self.values),
        }


@dataclass(frozen=True)
class Line:
    """One line of the table. Without a target it is for the reader; without a baseline it has no ratio."""

    row: str
    work: str
    contender: str
    samples: Samples | None
    baseline_name: str = ""
    baseline: Samples | None = None
    target: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """Of the medians."""
        return self._ratio(median)

    @property
    def ratio_of_means(self) -> float | None:
        return self._ratio(mean)

    def _ratio(self, of: Callable[[Sequence[float]], float]) -> float | None:
        if self.samples is None or self.baseline is None or not of(self.baseline.values):
            return None
        return of(self.samples.values) / of(self.baseline.values)

    @property
    def spread(self) -> tuple[float, float] | None:
        """The least and the greatest ratio of a round: its two numbers were taken side by side."""
        if self.samples is None or self.baseline is None:
            return None
        ratios = [a / b for a, b in zip(self.samples.values, self.baseline.values, strict=False) if b]
        return (min(ratios), max(ratios)) if ratios else None

    @property
    def met(self) -> bool | None:
        """Whether median and mean both keep the target; None where there is nothing to say."""
        if self.target is None or self.ratio is None or self.ratio_of_means is None:
            return None
        return max(self.ratio, self.ratio_of_means) <= self.target

    def as_json(self) -> dict[str, Any]:
        return {
            "row": self.row,
            "work": self.work,
            "contender": self.contender,
            "samples": self.samples.as_json() if self.samples else None,
            "baseline_name": self.baseline_name or None,
            "baseline": self.baseline.as_json() if self.baseline else None,
            "ratio_of_medians": self.ratio,
            "ratio_of_means": self.ratio_of_means,
            "ratio_spread": self.spread,
            "target": self.target,
            "met": self.met,
            "note": self.note or None,
        }


def interleaved(
    rounds: int, work: Mapping[str, Callable[[int], float | None]], unit: str = "s"
) -> dict[str, Samples]:
    """Runs every piece of work once a round, each round in another order; one that returns None is left out.

    Each gets the round's number. In this way what the machine does meanwhile falls on all alike. What there
    is before, as every imported peer's modules, is out of the garbage collector's way meanwhile: whoever is
    measured pays for objects of its own alone.
    """
    gc.collect()
    gc.freeze()
    try:
        return _interleaved(rounds, work, unit)
    finally:
        gc.unfreeze()


def _interleaved(
    rounds: int, work: Mapping[str, Callable[[int], float | None]], unit: str
) -> dict[str, Samples]:
    taken: dict[str, list[float]] = {name: [] for name in work}
    names = list(work)
    given_up: set[str] = set()
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            if name in given_up:
                continue
            gc.collect()
            value = work[name](number)
            if value is None:
                given_up.add(name)
            else:
                taken[name].append(value)
    return {name: Samples(tuple(values), unit) for name, values in taken.items() if values}


class Files:
    """Databases in one folder: templates that are made once, and copies of them to work on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._copies = 0

    def template(self, name: str, make: Callable[[Path], None]) -> Path:
        """A file that `make` makes and closes; made once."""
        path = self.folder / f"{name.replace(' ', '-')}.db"
        if not path.exists():
            make(path)
        return path

    def copy(self, template: Path) -> Path:
        self._copies += 1
        path = self.folder / f"copy-{self._copies}.db"
        for file in _with_side_files(template):
            copied = path.with_name(file.name.replace(template.name, path.name))
            shutil.copyfile(file, copied)
            with copied.open("rb") as written:  # or the first commit would pay for the copy
                os.fsync(written.fileno())
        return path

    def new(self) -> Path:
        self._copies += 1
        return self.folder / f"new-{self._copies}.db"

    def remove(self, path: Path) -> None:
        for file in _with_side_files(path):
            file.unlink()


def _with_side_files(path: Path) -> Iterator[Path]:
    for suffix in ("", "-wal", "-shm", "-journal"):
        file = path.with_name(path.name + suffix)
        if file.exists():
            yield file
