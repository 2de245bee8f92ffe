"""Every domain event, its topic, its version and its upcasts. Facts in the past participle, immutable.

An event records the outcome of a decision, never a rule to apply, so that an old log replays the same after
any fix of a decision. To change a shape: raise `SCHEMA` of the class, add an `upcast_vN_vN1` static method
that turns a stored map of version N into one of N + 1, and record an old log in `tests/histories`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from pydantic import AwareDatetime, ConfigDict

from turnledger.domain.artifacts import Artifact, RefusedArtifact

NO_PREVIOUS = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """What every event carries beside its payload.

    `batch` is the version of the first event of the same call, `previous` the SHA-256 (hexadecimal) of the
    preceding event's stored bytes, empty for the first.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    version: int
    time: AwareDatetime
    batch: int = 0
    schema_number: int = 1
    previous: str = NO_PREVIOUS
    execution_id: str | None = None
    turn_id: str | None = None
    idempotency_key: str | None = None
    idempotency_digest: str | None = None
    context: dict[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainEvent:
    """What is common to the events of a conversation: the conversation's id, and the envelope."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    TOPIC: ClassVar[str]
    SCHEMA: ClassVar[int] = 1

    conversation_id: str = ""
    envelope: Envelope

    @property
    def version(self) -> int:
        return self.envelope.version

    @property
    def time(self) -> datetime:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationStarted(DomainEvent):
    """The first event, unless another conversation gave the state (`ConversationForked`).

    `window` is the number of entries that the buffer keeps, or None for all.
    """

    TOPIC: ClassVar[str] = "turnledger.ConversationStarted"

    started_id: str
    window: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageAppended(DomainEvent):
    """A message became an entry at the end of the buffer; `index` is its place in the append."""

    TOPIC: ClassVar[str] = "turnledger.MessageAppended"

    index: int = 0
    entry: int
    role: str
    content: Any = None
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallHealed(DomainEvent):
    """A placeholder became an entry, for a call of `turn_entry`, directly behind `behind` (MEM-3)."""

    TOPIC: ClassVar[str] = "turnledger.CallHealed"

    entry: int
    call_id: str
    turn_entry: int
    behind: int
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceholderReplaced(DomainEvent):
    """A real result took the place of the placeholder in `entry`, which may have been evicted (MEM-10)."""

    TOPIC: ClassVar[str] = "turnledger.PlaceholderReplaced"

    index: int = 0
    entry: int
    call_id: str
    content: Any = None
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntriesEvicted(DomainEvent):
    """Entries left the buffer, in the order in which they stood: because of its window, or, where it is the
    first event of its call, for the summary that follows."""

    TOPIC: ClassVar[str] = "turnledger.EntriesEvicted"

    evicted: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactsHeld(DomainEvent):
    """Artifacts joined the end of the execution's held list; `repeated` names the entries that a repeated
    write-back brought them for, which has no other event."""

    TOPIC: ClassVar[str] = "turnledger.ArtifactsHeld"

    held: list[Artifact]
    refused: list[RefusedArtifact] = field(default_factory=list)
    repeated: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactsTaken(DomainEvent):
    """All that the execution held left its held list, in order."""

    TOPIC: ClassVar[str] = "turnledger.ArtifactsTaken"

    take_id: str
    taken: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactsDelivered(DomainEvent):
    """Artifacts were delivered, once and for ever: on `entry`, or elsewhere where that is None.

    `delivered` are all ids in order, `new` those that were never held, `take_id` the take that this settles.
    """

    TOPIC: ClassVar[str] = "turnledger.ArtifactsDelivered"

    entry: int | None = None
    take_id: str | None = None
    delivered: list[str]
    new: list[Artifact] = field(default_factory=list)
    refused: list[RefusedArtifact] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactsPutBack(DomainEvent):
    """A take was undone: `put_back` are its ids, `held` the execution's held list that results, in order."""

    TOPIC: ClassVar[str] = "turnledger.ArtifactsPutBack"

    take_id: str
    put_back: list[str]
    held: list[str]
    refused: list[RefusedArtifact] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactsDiscarded(DomainEvent):
    """What a take holds was given up, for the reason stated."""

    TOPIC: ClassVar[str] = "turnledger.ArtifactsDiscarded"

    take_id: str
    discarded: list[str]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryInserted(DomainEvent):
    """A summary became an entry in the place of those that left just before: directly behind `behind`, or at
    the front where that is 0. It is no turn of the conversation, and no window counts it."""

    TOPIC: ClassVar[str] = "turnledger.SummaryInserted"

    entry: int
    behind: int
    role: str
    content: Any = None
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRecorded(DomainEvent):
    """A list was sent to a model: the state at version `of_version` as `provider` has it (None: flat), by
    rendering number `rendering`; `digest` is the SHA-256 of the very list, `messages` its length."""

    TOPIC: ClassVar[str] = "turnledger.RequestRecorded"

    of_version: int
    provider: str | None = None
    model: str | None = None
    rendering: int
    digest: str
    messages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedEntry:
    """An entry as a fork has it from its source; `time` is when it was added there."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    entry: int
    time: AwareDatetime
    turn_id: str | None = None
    execution_id: str | None = None
    role: str
    content: Any = None
    metadata: dict[str, Any]
    summary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedDelivery:
    """What was delivered on an entry before the fork: ids of artifacts, whose payloads are in the log of
    `conversation_id`. The delivery counts there."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    entry: int
    conversation_id: str
    artifact_ids: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationForked(DomainEvent):
    """The first event of a conversation that starts from the state of another at a version.

    `source_digest` is the SHA-256 of the stored bytes of the source's event at that version. `entries`, by
    number, are those of its buffer and, of what had left that, the turns and results whose calls stay known;
    `buffer` names the former in their order.
    """

    TOPIC: ClassVar[str] = "turnledger.ConversationForked"

    started_id: str
    source_id: str
    source_version: int
    source_digest: str
    window: int | None = None
    entries: list[CarriedEntry]
    buffer: list[int]
    newest_entry: int
    newest_user: int | None = None
    newest_turn: int | None = None
    delivered: list[CarriedDelivery] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRetracted(DomainEvent):
    """An entry was taken back: it left the buffer, and what it declared or answered is not known any more."""

    TOPIC: ClassVar[str] = "turnledger.EntryRetracted"

    entry: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationCleared(DomainEvent):
    """The conversation begins anew: its buffer is empty, no call and no record of before is known. Entry
    numbers go on; what is held or in an open take stays."""

    TOPIC: ClassVar[str] = "turnledger.ConversationCleared"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordKept(DomainEvent):
    """What an ecosystem has beside the messages was kept as it was given, in no buffer and no list that is
    sent: `kind` says whose it is, `key` which one, where it has a key."""

    TOPIC: ClassVar[str] = "turnledger.RecordKept"

    kind: str
    key: str | None = None
    record: Any = None


BEGINNINGS = (ConversationStarted, ConversationForked)
"""What the first event of a conversation can be, and no other event."""

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
    SummaryInserted,
    RequestRecorded,
    ConversationForked,
    EntryRetracted,
    ConversationCleared,
    RecordKept,
)
TOPICS: Mapping[str, type[DomainEvent]] = {cls.TOPIC: cls for cls in EVENT_CLASSES}
