"""Artifacts: each in one place at every version, delivered at most once, held in order (RT-TOOL-7)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from turnledger.domain.artifacts import Artifact
from turnledger.domain.events import (
    ArtifactsDelivered,
    ArtifactsDiscarded,
    ArtifactsHeld,
    ArtifactsPutBack,
    ArtifactsTaken,
    DomainEvent,
)
from turnledger.projections.audit.model import Model
from turnledger.projections.audit.report import ARTIFACTS, HELD_ORDER, Findings

HELD = "held"


@dataclass(slots=True)
class SeenArtifact:
    """One artifact: its place, the version that put it there, and its rank in the order of first holding."""

    artifact: Artifact
    rank: int
    first_version: int
    place: str
    version: int


@dataclass(slots=True)
class SeenTake:
    execution_id: str | None
    artifact_ids: list[str]
    version: int
    batch: int
    settled: int | None = None


@dataclass(slots=True)
class ShelfChecks:
    """Fed every event, before the model takes it."""

    findings: Findings
    artifacts: dict[str, SeenArtifact] = field(default_factory=dict)
    held: dict[str, list[str]] = field(default_factory=dict)
    takes: dict[str, SeenTake] = field(default_factory=dict)
    delivered: dict[int, list[str]] = field(default_factory=dict)
    _delivery: dict[int, int] = field(default_factory=dict)
    gap: bool = False

    def see(self, event: DomainEvent, model: Model) -> None:
        self.gap = model.gap
        match event:
            case ArtifactsHeld():
                self._new(event, event.held, HELD)
                self.held.setdefault(event.execution_id or "", []).extend(_ids(event.held))
                self._repeated_for(event, model)
            case ArtifactsTaken():
                self._taken(event)
            case ArtifactsDelivered():
                self._delivered(event, model)
            case ArtifactsPutBack():
                self._put_back(event)
            case ArtifactsDiscarded():
                self._settled(event, event.take_id, event.discarded)
                self._move(event, event.discarded, f"take {event.take_id}", "discarded")

    @property
    def open_takes(self) -> list[str]:
        return [take_id for take_id, take in self.takes.items() if take.settled is None]

    def _new(self, event: DomainEvent, artifacts: Sequence[Artifact], place: str) -> None:
        """An id and its payload come once."""
        if artifacts and event.execution_id is None:
            self.findings.add(ARTIFACTS, "artifacts came in for no execution", event.version)
        for artifact in artifacts:
            earlier = self.artifacts.get(artifact.artifact_id)
            if earlier:
                text = f"the payload of artifact {artifact.artifact_id!r} was stored before"
                self.findings.add(ARTIFACTS, text, earlier.first_version, event.version)
                continue
            self.artifacts[artifact.artifact_id] = SeenArtifact(
                artifact, len(self.artifacts), event.version, place, event.version
            )

    def _repeated_for(self, event: ArtifactsHeld, model: Model) -> None:
        for entry in event.repeated:
            if not self.gap and (entry not in model.entries or model.entries[entry].role != "assistant"):
                self.findings.add(ARTIFACTS, f"held for entry {entry}, which is no turn", event.version)

    def _taken(self, event: ArtifactsTaken) -> None:
        held = self.held.get(event.execution_id or "", [])
        if event.taken != held and not self.gap:
            self._wrong_list(event, "taken", event.taken, held)
        if not event.taken:
            self.findings.add(ARTIFACTS, "a take of nothing was recorded", event.version)
        if event.take_id in self.takes:
            text = f"take {event.take_id!r} was taken before"
            self.findings.add(ARTIFACTS, text, self.takes[event.take_id].version, event.version)
        self._move(event, event.taken, HELD, f"take {event.take_id}")
        taken = set(event.taken)
        self.held[event.execution_id or ""] = [i for i in held if i not in taken]
        self.takes[event.take_id] = SeenTake(
            event.execution_id, list(event.taken), event.version, event.batch
        )

    def _wrong_list(self, event: DomainEvent, what: str, given: Sequence[str], due: Sequence[str]) -> None:
        """A list that is not what it has to be: by its order alone, or by what is in it."""
        if sorted(given) == sorted(due):
            invariant, text = HELD_ORDER, f"the artifacts {what} are not in the order of first holding"
        else:
            invariant, text = ARTIFACTS, f"the artifacts {what} are not those due: {_differing(given, due)}"
        known = [self.artifacts[i].version for i in set(given) ^ set(due) if i in self.artifacts]
        self.findings.add(invariant, text, *known, event.version)

    def _delivered(self, event: ArtifactsDelivered, model: Model) -> None:
        where = "elsewhere" if event.entry is None else f"entry {event.entry}"
        new = set(_ids(event.new))
        from_take = [i for i in event.delivered if i not in new]
        self._new(event, event.new, f"delivered on {where}")
        if event.delivered != [*from_take, *_ids(event.new)]:
            self._wrong_list(event, "delivered", event.delivered, [*from_take, *_ids(event.new)])
        if event.take_id is not None:
            self._settled(event, event.take_id, from_take)
        elif event.entry is None and not self.gap:
            self.findings.add(ARTIFACTS, "a delivery elsewhere settles no take", event.version)
        source = HELD if event.take_id is None else f"take {event.take_id}"
        self._move(event, from_take, source, f"delivered on {where}")
        if event.entry is not None:
            self._on_entry(event, event.entry, model)

    def _on_entry(self, event: ArtifactsDelivered, number: int, model: Model) -> None:
        """RT-TOOL-4: once a run, on an assistant entry of the same call, and all that was held."""
        entry = model.entries.get(number)
        if entry is not None and (entry.role != "assistant" or entry.batch != event.batch):
            text = f"entry {number}, delivered on, is no assistant message of the same call"
            self.findings.add(ARTIFACTS, text, entry.version, event.version)
        elif entry is None and not self.gap:
            self.findings.add(ARTIFACTS, f"there is no entry {number} to deliver on", event.version)
        if number in self._delivery:
            text = f"artifacts were delivered on entry {number} before"
            self.findings.add(ARTIFACTS, text, self._delivery[number], event.version)
        take = self.takes.get(event.take_id) if event.take_id is not None else None
        if take is not None and take.batch != event.batch:
            text = "a take of another call was delivered on an entry"
            self.findings.add(ARTIFACTS, text, take.version, event.version)
        left = self.held.get(event.execution_id or "")
        if left and not self.gap:
            versions = [self.artifacts[i].version for i in left if i in self.artifacts]
            self.findings.add(ARTIFACTS, "a write-back left held artifacts behind", *versions, event.version)
        self._delivery[number] = event.version
        self.delivered.setdefault(number, []).extend(event.delivered)

    def _settled(self, event: DomainEvent, take_id: str, artifact_ids: Sequence[str]) -> None:
        """A take is settled once, as a whole, for its own execution."""
        take = self.takes.get(take_id)
        if take is None:
            if not self.gap:
                self.findings.add(ARTIFACTS, f"there was no take {take_id!r} to settle", event.version)
            return
        if take.settled is not None:
            text = f"take {take_id!r} was settled before"
            self.findings.add(ARTIFACTS, text, take.version, take.settled, event.version)
        if list(artifact_ids) != take.artifact_ids:
            self._wrong_list(event, f"of take {take_id!r}", artifact_ids, take.artifact_ids)
        if take.execution_id != event.execution_id:
            text = f"take {take_id!r} belongs to execution {take.execution_id!r}"
            self.findings.add(ARTIFACTS, text, take.version, event.version)
        take.settled = event.version

    def _put_back(self, event: ArtifactsPutBack) -> None:
        """Each to its place by the order of first holding; what is dropped was held since, and says why."""
        take = self.takes.get(event.take_id)
        self._settled(event, event.take_id, event.put_back)
        self._move(event, event.put_back, f"take {event.take_id}", HELD)
        execution_id = event.execution_id or ""
        before = self.held.get(execution_id, [])
        dropped = [refused.artifact_id for refused in event.refused if refused.artifact_id]
        gone = set(dropped)
        due = [artifact_id for artifact_id in (*before, *event.put_back) if artifact_id not in gone]
        due.sort(key=self._rank)
        if event.held != due and not self.gap:
            self._wrong_list(event, "held", event.held, due)
        for artifact_id in dropped:
            seen = self.artifacts.get(artifact_id)
            if seen and take and seen.first_version < take.version:
                text = f"artifact {artifact_id!r} was dropped, though it was not held since the take"
                self.findings.add(ARTIFACTS, text, seen.first_version, take.version, event.version)
        self._move(event, dropped, HELD, "dropped")
        self.held[execution_id] = list(event.held)

    def _rank(self, artifact_id: str) -> int:
        seen = self.artifacts.get(artifact_id)
        return seen.rank if seen else -1

    def _move(self, event: DomainEvent, artifact_ids: Iterable[str], source: str, target: str) -> None:
        """From the place where each has to be, once."""
        for artifact_id in artifact_ids:
            seen = self.artifacts.get(artifact_id)
            if seen is None:
                if not self.gap:
                    text = f"artifact {artifact_id!r} was never stored"
                    self.findings.add(ARTIFACTS, text, event.version)
                continue
            if seen.place != source and not self.gap:
                text = f"artifact {artifact_id!r} is {target} now, and was {seen.place}, not {source}"
                self.findings.add(ARTIFACTS, text, seen.version, event.version)
            seen.place, seen.version = target, event.version


def _ids(artifacts: Iterable[Artifact]) -> list[str]:
    return [artifact.artifact_id for artifact in artifacts]


def _differing(given: Sequence[str], due: Sequence[str]) -> str:
    lost, extra = sorted(set(due) - set(given)), sorted(set(given) - set(due))
    parts = [f"without {', '.join(lost)}"] if lost else []
    parts += [f"with {', '.join(extra)}"] if extra else []
    return "; ".join(parts) or "one stands there twice"
