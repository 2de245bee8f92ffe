"""Two versions compared, as the page shows it: each difference, and the event that began them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from turnledger.domain.events import DomainEvent
from turnledger.projections.diff import Diff, Difference, Of
from turnledger.web.shown import Shown, ShownArtifact, shown, shown_artifact
from turnledger.web.states import Window

_NOUNS = {"sendable": "sendable list", "buffer": "buffer", "held": "held list"}


@dataclass(frozen=True, slots=True)
class Pair:
    """What stood there, and what stands there now; one of the two is None where something came or went."""

    kind: str
    place: str
    old: Shown | ShownArtifact | None
    new: Shown | ShownArtifact | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A diff in words and pairs; `cause` is the event that changed the first position."""

    verdict: str
    cache: str
    cause: DomainEvent | None
    pairs: Sequence[Pair]
    window: Window


def comparison(diff: Diff, asked: int | None) -> Comparison:
    window = Window.around(len(diff.differences), 0, asked)
    pairs = [_pair(found, diff.of) for found in diff.differences[window.first : window.end]]
    return Comparison(_verdict(diff), _cache(diff), diff.cause, pairs, window)


def _verdict(diff: Diff) -> str:
    if diff.first_changed is None:
        return f"The {_NOUNS[diff.of]} is the same at both versions."
    counts = [
        f"{sum(found.kind == kind for found in diff.differences):,} {kind}"
        for kind in ("added", "removed", "replaced")
        if any(found.kind == kind for found in diff.differences)
    ]
    return f"The {_NOUNS[diff.of]} differs from position {diff.first_changed} on: {', '.join(counts)}."


def _cache(diff: Diff) -> str:
    if diff.of != "sendable" or diff.first_changed is None:
        return ""
    if diff.appends_only and diff.length_a <= diff.length_b:
        return "It only goes on where the earlier one ended: a prompt cache of that still matches."
    return f"A prompt cache of version {diff.a} stops matching at position {diff.first_changed}."


def _pair(found: Difference, of: Of) -> Pair:
    places = [f"position {place}" for place in (found.before, found.after) if place is not None]
    place = places[0] if len(set(places)) == 1 else " → ".join(places)
    return Pair(found.kind, place, _side(found.old, of), _side(found.new, of))


def _side(item: dict[str, Any] | None, of: Of) -> Shown | ShownArtifact | None:
    if item is None:
        return None
    if of == "held":
        return shown_artifact(item)
    return shown(item, f"entry {item['entry']}" if "entry" in item else "")
