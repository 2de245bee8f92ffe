"""Every domain event, its topic, its version and its upcasts. Facts in the past participle, immutable.

An event records the outcome of a decision, never a rule to apply, so that an old log replays the same after
any fix of a decision. To change a shape: raise `SCHEMA` of the class, add an `upcast_vN_vN1` static method
that turns a stored map of version N into one of N + 1, and record an old log in `tests/histories`.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import AwareDatetime

from turnledger.domain.artifacts import Artifact, RefusedArtifact
from turnledger.domain.values import Frozen

NO_PREVIOUS = ""


class Envelope(Frozen):
    """What every event carries beside its payload.

    `batch` is the version of the first event of the same call, `previous` the SHA-256 (hexadecimal) of the
    preceding event's stored bytes, empty for the first.
    """

    version: int
    time: AwareDatetime
    batch: int
    schema_number: int = 1
    previous: str = NO_PREVIOUS
    execution_id: str | None = None
    turn_id: str | None = None
    idempotency_key: str | None = None
    idempotency_digest: str | None = None
    context: dict[str, str] | None = None


class DomainEvent(Frozen):
    """What is common to the events of a conversation: the conversation's id, and the envelope."""

    TOPIC: ClassVar[str]
    SCHEMA: ClassVar[int] = 1

    conversation_id: str
    envelope: Envelope

    @property
    def version(self) -> int:
        return self.envelope.version

    @property
    def time(self) -> AwareDatetime:
        return self.envelope.time

    @property
    def batch(self) -> int:
        return self.envelope.batch

    @property
    def previous(self) -> str:
        return self.envelope.previous

    @property
    def execution_id(self) -> str | None:
        return self.envelope.execution_id

    @property
    def turn_id(self) -> str | None:
        return self.envelope.turn_id

    @property
    def originator_id(self) -> str:
        return self.conversation_id

    @property
    def originator_version(self) -> int:
        return self.envelope.version


class ConversationStarted(DomainEvent):
    """The first event. `window` is the number of entries that the buffer keeps, or None for all."""

    TOPIC = "turnledger.ConversationStarted"

    started_id: str
    window: int | None = None


class MessageAppended(DomainEvent):
    """A message became an entry at the end of the buffer; `index` is its place in the append."""

    TOPIC = "turnledger.MessageAppended"

    index: int = 0
    entry: int
    role: str
    content: Any = None
    metadata: dict[str, Any]


class CallHealed(DomainEvent):
    """A placeholder became an entry, for a call of `turn_entry`, directly behind `behind` (MEM-3)."""

    TOPIC = "turnledger.CallHealed"

    entry: int
    call_id: str
    turn_entry: int
    behind: int
    content: str


class PlaceholderReplaced(DomainEvent):
    """A real result took the place of the placeholder in `entry`, which may have been evicted (MEM-10)."""

    TOPIC = "turnledger.PlaceholderReplaced"

    index: int = 0
    entry: int
    call_id: str
    content: Any = None
    metadata: dict[str, Any]


class EntriesEvicted(DomainEvent):
    """Entries left the buffer because of its window, in the order in which they stood."""

    TOPIC = "turnledger.EntriesEvicted"

    evicted: list[int]


class ArtifactsHeld(DomainEvent):
    """Artifacts joined the end of the execution's held list; `repeated` names the entries that a repeated
    write-back brought them for, which has no other event."""

    TOPIC = "turnledger.ArtifactsHeld"

    held: list[Artifact]
    refused: list[RefusedArtifact] = []
    repeated: list[int] = []


class ArtifactsTaken(DomainEvent):
    """All that the execution held left its held list, in order."""

    TOPIC = "turnledger.ArtifactsTaken"

    take_id: str
    taken: list[str]


class ArtifactsDelivered(DomainEvent):
    """Artifacts were delivered, once and for ever: on `entry`, or elsewhere where that is None.

    `delivered` are all ids in order, `new` those that were never held, `take_id` the take that this settles.
    """

    TOPIC = "turnledger.ArtifactsDelivered"

    entry: int | None = None
    take_id: str | None = None
    delivered: list[str]
    new: list[Artifact] = []
    refused: list[RefusedArtifact] = []


class ArtifactsPutBack(DomainEvent):
    """A take was undone: `put_back` are its ids, `held` the execution's held list that results, in order."""

    TOPIC = "turnledger.ArtifactsPutBack"

    take_id: str
    put_back: list[str]
    held: list[str]
    refused: list[RefusedArtifact] = []


class ArtifactsDiscarded(DomainEvent):
    """What a take holds was given up, for the reason stated."""

    TOPIC = "turnledger.ArtifactsDiscarded"

    take_id: str
    discarded: list[str]
    reason: str


EVENT_CLASSES: tuple[type[DomainEvent], ...] = (
    ConversationStarted,
    MessageAppended,
    CallHealed,
    PlaceholderReplaced,
    EntriesEvicted,
    ArtifactsHeld,
    ArtifactsTaken,
    ArtifactsDelivered,
    ArtifactsPutBack,
    ArtifactsDiscarded,
)
TOPICS: Mapping[str, type[DomainEvent]] = {cls.TOPIC: cls for cls in EVENT_CLASSES}
