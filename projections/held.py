"""Where every artifact is, with its payload: held lists, open takes, what was delivered on which entry."""

from datetime import datetime
from typing import Any, NamedTuple

from turnledger.domain.artifacts import Artifact
from turnledger.domain.delivering import HeldArtifact, Take
from turnledger.domain.events import (
    ArtifactsDelivered,
    ArtifactsDiscarded,
    ArtifactsHeld,
    ArtifactsPutBack,
    ArtifactsTaken,
    CallHealed,
    CarriedDelivery,
    ConversationForked,
    DomainEvent,
    MessageAppended,
)
from turnledger.domain.values import copied_json


class _Held(NamedTuple):
    artifact: Artifact
    execution_id: str
    turn_id: str | None
    time: datetime


class _OpenTake(NamedTuple):
    execution_id: str
    taken_at: datetime
    version: int
    artifact_ids: list[str]
    context: dict[str, str] | None


class ArtifactsView:
    """A fold: feed it the events of one conversation in order; one fed again changes nothing."""

    def __init__(self) -> None:
        self.version = 0
        self._artifacts: dict[str, _Held] = {}
        self._held: dict[str, list[str]] = {}
        self._takes: dict[str, _OpenTake] = {}
        self._delivered: dict[int, list[str]] = {}
        self._turn_of: dict[int, str] = {}
        self._carried: list[CarriedDelivery] = []

    def apply(self, event: DomainEvent) -> None:
        version = event.envelope.version
        if version <= self.version:
            return
        self.version = version
        if event.__class__ is MessageAppended and event.envelope.turn_id is None:
            return  # what most events are
        match event:
            case MessageAppended() | CallHealed():
                if event.turn_id is not None:
                    self._turn_of[event.entry] = event.turn_id
            case ConversationForked():
                self._carried = event.delivered
            case ArtifactsHeld():
                self._keep(event, event.held)
                held = self._held.setdefault(event.execution_id or "", [])
                held.extend(artifact.artifact_id for artifact in event.held)
            case ArtifactsTaken():
                self._take(event)
            case ArtifactsDelivered():
                self._deliver(event)
            case ArtifactsPutBack():
                self._takes.pop(event.take_id, None)
                self._held[event.execution_id or ""] = list(event.held)
                self._forget([refused.artifact_id or "" for refused in event.refused])
            case ArtifactsDiscarded():
                self._takes.pop(event.take_id, None)
                self._forget(event.discarded)

    def _keep(self, event: DomainEvent, artifacts: list[Artifact]) -> None:
        for artifact in artifacts:
            self._artifacts[artifact.artifact_id] = _Held(
                artifact, event.execution_id or "", event.turn_id, event.time
            )

    def _take(self, event: ArtifactsTaken) -> None:
        execution_id = event.execution_id or ""
        taken = set(event.taken)
        self._held[execution_id] = [i for i in self._held.get(execution_id, []) if i not in taken]
        self._takes[event.take_id] = _OpenTake(
            execution_id, event.time, event.version, event.taken, event.envelope.context
        )

    def _deliver(self, event: ArtifactsDelivered) -> None:
        if event.take_id is not None:
            self._takes.pop(event.take_id, None)
        self._keep(event, event.new)
        if event.entry is None:
            self._forget(event.delivered)
        else:
            self._delivered.setdefault(event.entry, []).extend(event.delivered)

    def _forget(self, artifact_ids: list[str]) -> None:
        """Payloads that nothing here shows any more; the log keeps them."""
        for artifact_id in artifact_ids:
            self._artifacts.pop(artifact_id, None)

    def shows(self, artifact_ids: list[str]) -> bool:
        """Whether all of these are held, in an open take or on an entry."""
        return all(artifact_id in self._artifacts for artifact_id in artifact_ids)

    def plain(self, artifact_ids: list[str]) -> list[dict[str, Any]]:
        return [copied_json(self._artifacts[artifact_id].artifact.plain) for artifact_id in artifact_ids]

    def held(self, execution_id: str | None = None) -> list[HeldArtifact]:
        """What one execution holds, in order, or all of them by the order of their first hold."""
        executions = list(self._held) if execution_id is None else [execution_id]
        return [
            HeldArtifact(
                copied_json(kept.artifact.plain),
                artifact_id=artifact_id,
                execution_id=kept.execution_id,
                turn_id=kept.turn_id,
            )
            for execution in executions
            for artifact_id in self._held.get(execution, [])
            for kept in [self._artifacts[artifact_id]]
        ]

    def held_since(self) -> list[tuple[HeldArtifact, datetime]]:
        """All that is held, each with the time when it was first held."""
        return [(held, self._artifacts[held.artifact_id].time) for held in self.held()]

    def open_takes(self, conversation_id: str) -> list[Take]:
        """The takes that nothing has settled, oldest first."""
        return [self.take(conversation_id, take_id) for take_id in self._takes]

    def take(self, conversation_id: str, take_id: str) -> Take:
        """One open take."""
        take = self._takes[take_id]
        return Take(
            take_id=take_id,
            conversation_id=conversation_id,
            execution_id=take.execution_id,
            taken_at=take.taken_at,
            version=take.version,
            artifacts=tuple(self.plain(take.artifact_ids)),
            context=copied_json(take.context),
        )

    def on_entry(self, entry: int) -> list[dict[str, Any]]:
        """What was delivered on an entry, in order."""
        return self.plain(self._delivered.get(entry, []))

    def deliveries(self, conversation_id: str) -> list[CarriedDelivery]:
        """What was delivered on which entry, here or before a fork, by ids: for a fork to refer to."""
        return [
            *self._carried,
            *(
                CarriedDelivery(entry=entry, conversation_id=conversation_id, artifact_ids=list(artifact_ids))
                for entry, artifact_ids in self._delivered.items()
            ),
        ]

    def of_turn(self, turn_id: str) -> list[dict[str, Any]]:
        """RT-TOOL-4: what was delivered on the entries of a turn, evicted ones included."""
        return [
            artifact
            for entry in sorted(self._delivered)
            if self._turn_of.get(entry) == turn_id
            for artifact in self.on_entry(entry)
        ]
