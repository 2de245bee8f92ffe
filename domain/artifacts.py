"""An artifact's life: read, held within bounds, taken, delivered, put back, discarded (RT-TOOL-3, 6, 7).

Knows sizes, orders and places, not payloads: those stand in the events and in the `held` projection.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from pydantic_core import to_json

from turnledger.domain.errors import InvalidArgument
from turnledger.domain.messages import ENCODED_BYTES_MAX, as_map
from turnledger.domain.overlay import Overlay, adopt
from turnledger.domain.values import Frozen, Unkeepable, canonical, digest, kept, scrubbed

NAME_CHARACTERS_MAX = 1_024


@dataclass(frozen=True, slots=True)
class HeldLimits:
    """What one execution may hold: how many artifacts, and how many bytes of compact UTF-8 JSON in all."""

    artifacts: int = 100
    payload_bytes: int = 4 * 2**20

    def __post_init__(self) -> None:
        for limit in (self.artifacts, self.payload_bytes):
            if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
                raise InvalidArgument("held_limits takes whole numbers from 0 up")


class Artifact(Frozen):
    """A well-formed artifact with the id that the store gave it."""

    artifact_id: str
    type: str
    payload: dict[str, Any]
    tool_call_id: str | int | None = None

    @property
    def plain(self) -> dict[str, Any]:
        return {"type": self.type, "payload": self.payload, "tool_call_id": self.tool_call_id}

    @property
    def size_bytes(self) -> int:
        """The size that the bounds count: the whole artifact as compact UTF-8 JSON."""
        return len(to_json(self.plain))

    @property
    def likeness(self) -> str:
        """What two equal artifacts share."""
        return digest(canonical(self.plain))


class RefusedArtifact(Frozen):
    """An artifact that was dropped, named without its payload."""

    artifact_id: str | None = None
    type: str | None = None
    tool_call_id: str | int | None = None
    size_bytes: int | None = None
    reason: str


def read_artifact(value: Any) -> dict[str, Any] | RefusedArtifact:
    """An incoming artifact as `{type, payload, tool_call_id}`, or why it is none (RT-TOOL-3)."""
    try:
        given = as_map(value)
    except Unkeepable as reason:
        return RefusedArtifact(reason=str(reason))
    if given is None:
        return RefusedArtifact(reason=f"it is no map but a {type(value).__name__!r}")
    kind, owner = _kind(given.get("type")), _owner(given.get("tool_call_id"))
    if kind is None:
        return RefusedArtifact(tool_call_id=_shortened(owner), reason="its type is no text, or blank")
    if len(kind) > NAME_CHARACTERS_MAX or _shortened(owner) != owner:
        return RefusedArtifact(
            type=kind[:NAME_CHARACTERS_MAX],
            tool_call_id=_shortened(owner),
            reason=f"its type or call id is over {NAME_CHARACTERS_MAX:,} characters",
        )
    if not isinstance(payload := given.get("payload"), Mapping):
        return RefusedArtifact(type=kind, tool_call_id=owner, reason="its payload is no map")
    try:
        artifact = {"type": kind, "payload": kept(payload), "tool_call_id": owner}
    except Unkeepable as reason:
        return RefusedArtifact(type=kind, tool_call_id=owner, reason=f"its payload cannot be kept: {reason}")
    if len(to_json(artifact)) > ENCODED_BYTES_MAX:
        return RefusedArtifact(
            type=kind, tool_call_id=owner, reason=f"it takes more than {ENCODED_BYTES_MAX:,} bytes"
        )
    return artifact


def _kind(value: Any) -> str | None:
    return scrubbed(value) if isinstance(value, str) and value.strip() else None


def _owner(value: Any) -> str | int | None:
    if isinstance(value, str):
        return scrubbed(value)
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _shortened(value: str | int | None) -> str | int | None:
    if isinstance(value, str):
        return value[:NAME_CHARACTERS_MAX]
    return value if value is None or abs(value) < 10**NAME_CHARACTERS_MAX else None


Place = Literal["held", "taken", "delivered", "discarded", "dropped"]
Settlement = Literal["delivered", "put back", "discarded"]


class Holding(NamedTuple):
    """What decisions know of an artifact: where it is, its size, its place in the order of holding."""

    execution_id: str
    type: str
    tool_call_id: str | int | None
    size_bytes: int
    order: int
    held_at: int
    place: Place

    def refused(self, artifact_id: str, reason: str) -> RefusedArtifact:
        return RefusedArtifact(
            artifact_id=artifact_id,
            type=self.type,
            tool_call_id=self.tool_call_id,
            size_bytes=self.size_bytes,
            reason=reason,
        )


class TakeFacts(NamedTuple):
    execution_id: str
    artifact_ids: tuple[str, ...]
    version: int
    settled: Settlement | None


@dataclass(slots=True)
class Shelf:
    """Where every artifact of a conversation is."""

    artifacts: MutableMapping[str, Holding] = field(default_factory=dict)
    held: MutableMapping[str, tuple[str, ...]] = field(default_factory=dict)
    takes: MutableMapping[str, TakeFacts] = field(default_factory=dict)
    offers: MutableMapping[int, tuple[str, ...]] = field(default_factory=dict)
    offers_on: MutableMapping[int, tuple[int, ...]] = field(default_factory=dict)

    def draft(self) -> "Shelf":
        """The same shelf, whose changes this one does not see until it adopts them."""
        return Shelf(*map(Overlay, self._layers))

    def adopt(self, draft: "Shelf") -> None:
        """Takes over what a draft of this shelf changed."""
        for original, changed in zip(self._layers, draft._layers, strict=True):
            adopt(original, changed)

    @property
    def _layers(self) -> tuple[MutableMapping[Any, Any], ...]:
        return self.artifacts, self.held, self.takes, self.offers, self.offers_on

    def hold(self, execution_id: str, artifacts: Iterable[Artifact], version: int) -> None:
        for artifact in artifacts:
            self._add(execution_id, artifact, version, "held")
            self.held[execution_id] = (*self.held.get(execution_id, ()), artifact.artifact_id)

    def _add(self, execution_id: str, artifact: Artifact, version: int, place: Place) -> None:
        self.artifacts[artifact.artifact_id] = Holding(
            execution_id,
            artifact.type,
            artifact.tool_call_id,
            artifact.size_bytes,
            len(self.artifacts),
            version,
            place,
        )

    def take(self, take_id: str, execution_id: str, artifact_ids: Sequence[str], version: int) -> None:
        self.takes[take_id] = TakeFacts(execution_id, tuple(artifact_ids), version, None)
        self._place(artifact_ids, "taken")
        taken = set(artifact_ids)
        self.held[execution_id] = tuple(i for i in self.held.get(execution_id, ()) if i not in taken)

    def deliver(
        self, execution_id: str, artifact_ids: Sequence[str], new: Iterable[Artifact], version: int
    ) -> None:
        for artifact in new:
            self._add(execution_id, artifact, version, "delivered")
        self._place(artifact_ids, "delivered")

    def put_back(self, execution_id: str, held: Sequence[str], dropped: Iterable[str]) -> None:
        self._place(held, "held")
        self._place(dropped, "dropped")
        self.held[execution_id] = tuple(held)

    def discard(self, artifact_ids: Sequence[str]) -> None:
        self._place(artifact_ids, "discarded")

    def settle(self, take_id: str, settlement: Settlement) -> None:
        self.takes[take_id] = self.takes[take_id]._replace(settled=settlement)

    def offer(self, entries: Sequence[int], artifacts: Iterable[Artifact], version: int) -> None:
        """Remembers what a write-back itself brought for these entries, so that a retry is seen."""
        self.offers[version] = tuple(artifact.likeness for artifact in artifacts)
        for entry in entries:
            self.offers_on[entry] = (*self.offers_on.get(entry, ()), version)

    def offered(self, entries: Iterable[int]) -> Counter[str]:
        versions = {version for entry in entries for version in self.offers_on.get(entry, ())}
        return Counter(likeness for version in versions for likeness in self.offers[version])

    def _place(self, artifact_ids: Iterable[str], place: Place) -> None:
        for artifact_id in artifact_ids:
            self.artifacts[artifact_id] = self.artifacts[artifact_id]._replace(place=place)

    def load(self, artifact_ids: Iterable[str]) -> "Load":
        load = Load()
        for artifact_id in artifact_ids:
            load.add(self.artifacts[artifact_id].size_bytes)
        return load


@dataclass(slots=True)
class Load:
    """How much of its limits a held list uses."""

    artifacts: int = 0
    payload_bytes: int = 0

    def add(self, size_bytes: int) -> None:
        self.artifacts += 1
        self.payload_bytes += size_bytes

    def refuses(self, size_bytes: int, limits: HeldLimits) -> str | None:
        """Why one more of that size does not fit, or None."""
        if self.artifacts + 1 > limits.artifacts:
            return f"the execution holds {self.artifacts} artifacts and may hold {limits.artifacts}"
        if self.payload_bytes + size_bytes > limits.payload_bytes:
            return f"the execution would hold more than {limits.payload_bytes:,} bytes"
        return None
