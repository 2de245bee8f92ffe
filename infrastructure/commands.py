"""One writing call: its input checked before the log is touched, its key looked at, its decision recorded."""

import logging
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from turnledger.domain.appending import Appending
from turnledger.domain.artifacts import HeldLimits, read_artifact
from turnledger.domain.calls import REUSED_IDS, ReusedIds
from turnledger.domain.changes import Changes, Origin
from turnledger.domain.conversation import Conversation, KeyUse
from turnledger.domain.delivering import Incoming, Refused, refusals
from turnledger.domain.errors import (
    ArtifactDropped,
    ConversationNotFound,
    IdempotencyConflict,
    InvalidArgument,
    VersionConflict,
)
from turnledger.domain.events import (
    ArtifactsDelivered,
    ArtifactsHeld,
    ArtifactsPutBack,
    DomainEvent,
    MessageAppended,
    PlaceholderReplaced,
    RecordKept,
)
from turnledger.domain.identifiers import checked_context, checked_id, checked_optional_id, input_digest
from turnledger.domain.messages import Message, as_messages, read_message
from turnledger.domain.values import copied_json
from turnledger.infrastructure.application import ConversationApplication

log = logging.getLogger("turnledger")

NEW_ID_TRIES = 100
FIRST_MOMENT = datetime.min.replace(tzinfo=UTC)
LAST_MOMENT = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Settings:
    """What a store decides with: its window for new conversations, modes, limits, and where time and ids come
    from."""

    window: int | None
    reused_ids: ReusedIds
    held_limits: HeldLimits
    clock: Callable[[], datetime]
    new_id: Callable[[], str]


class Command:
    """The checked input of one writing call on one conversation.

    Raises `InvalidId`, `InvalidArgument` and `InvalidMessage` when it is made, before anything is read.
    """

    def __init__(
        self,
        application: ConversationApplication,
        settings: Settings,
        conversation_id: str,
        *,
        execution_id: str | None = None,
        turn_id: str | None = None,
        context: Mapping[str, str] | None = None,
    ) -> None:
        self._application = application
        self._settings = settings
        self.conversation_id = checked_id("conversation_id", conversation_id)
        self.execution_id = checked_optional_id("execution_id", execution_id)
        self.turn_id = checked_optional_id("turn_id", turn_id)
        self.context = checked_context(context)
        self.messages: list[Message] = []
        self.artifacts: list[Incoming] = []
        self.key: str | None = None
        self.digest: str | None = None
        self.repeated: KeyUse | None = None

    def given(self, messages: Any = (), artifacts: Iterable[Any] = ()) -> "Command":
        """Takes the messages and artifacts in, as they will be kept."""
        self.messages = [read_message(message, index) for index, message in enumerate(as_messages(messages))]
        if isinstance(artifacts, str | bytes | Mapping) or not isinstance(artifacts, Iterable):
            raise InvalidArgument("artifacts must be a list of {type, payload, tool_call_id} maps")
        self.artifacts = [read_artifact(artifact) for artifact in artifacts]
        return self

    def keyed(self, operation: str, key: str | None, others: Iterable[Any] = ()) -> "Command":
        """Gives the call its idempotency key, if it has one; call it when the input is in.

        `others` is what it has of that beside messages and artifacts.
        """
        self.key = checked_optional_id("idempotency_key", key)
        if self.key is not None:
            artifacts = [a if isinstance(a, dict) else a.model_dump() for a in self.artifacts]
            given = [*artifacts, *others]
            self.digest = input_digest(operation, self.execution_id, self.turn_id, self.messages, given)
        return self

    def run(
        self,
        decide: Callable[[Changes], None],
        *,
        expected_version: int | None = None,
        expected_records: int | None = None,
        must_exist: bool = False,
    ) -> Changes:
        """Records what `decide` records, or nothing where the key was used before: `repeated` says so."""
        _check_expected("expected_version", expected_version)
        _check_expected("expected_records", expected_records)

        def attempt(conversation: Conversation) -> Changes:
            if must_exist and not conversation.version:
                raise ConversationNotFound(f"there is no conversation {self.conversation_id!r}")
            changes = Changes(conversation, self._origin())
            self.repeated = self._earlier_use(conversation)
            if self.repeated is None:
                self._refuse_stale(conversation, expected_version)
                self._refuse_stale_records(conversation, expected_records)
                decide(changes)
            return changes

        return self._application.write(self.conversation_id, attempt)

    def _origin(self) -> Origin:
        return Origin(
            self.conversation_id,
            aware("clock()", self._settings.clock()),
            self._settings.window,
            self.execution_id,
            self.turn_id,
            self.key,
            self.digest,
            self.context,
        )

    def _earlier_use(self, conversation: Conversation) -> KeyUse | None:
        use = conversation.keys.get(self.key) if self.key is not None else None
        if use is not None and use.digest != self.digest:
            raise IdempotencyConflict(
                f"key {self.key!r} was used at version {use.first} of conversation {self.conversation_id!r} "
                "with other input: use a new key for new input"
            )
        return use

    def _refuse_stale(self, conversation: Conversation, expected_version: int | None) -> None:
        if expected_version is None:
            return
        if not conversation.buffer_version <= expected_version <= conversation.version:
            raise VersionConflict(
                f"the buffer of conversation {self.conversation_id!r} is that of version "
                f"{conversation.buffer_version}, not {expected_version}: read it again and decide again"
            )

    def _refuse_stale_records(self, conversation: Conversation, expected_records: int | None) -> None:
        known = conversation.records_version
        if expected_records is not None and not known <= expected_records <= conversation.version:
            raise VersionConflict(
                f"the records of conversation {self.conversation_id!r} are those of version {known}, not "
                f"{expected_records}: read them again and decide again"
            )

    def new_ids(self, changes: Changes) -> Callable[[], str]:
        """Ids for artifacts and takes that this conversation does not use yet."""
        issued: set[str] = set()

        def new_id() -> str:
            shelf = changes.state.shelf
            for _ in range(NEW_ID_TRIES):
                candidate = checked_id("what new_id() returned", self._settings.new_id())
                if (
                    candidate not in issued
                    and candidate not in shelf.artifacts
                    and candidate not in shelf.takes
                ):
                    issued.add(candidate)
                    return candidate
            raise InvalidArgument("new_id() keeps returning ids that are in use: it must return new ones")

        return new_id

    def appending(self, changes: Changes, mode: ReusedIds) -> Appending:
        appending = Appending(changes, mode)
        appending.all(self.messages)
        return appending

    def first_use(self) -> list[DomainEvent]:
        """The events that the key's first use recorded."""
        use = self.repeated
        rows = self._application.rows(self.conversation_id, use.first - 1, use.last) if use else ()
        return [self._application.mapper.decoded(row) for row in rows]

    def repeated_report(self, changes: Changes) -> dict[str, Any]:
        """The fields of an `AppendResult` for a key used before: what the log shows of its first use."""
        entries: list[int | None] = [None] * len(self.messages)
        first_use = self.first_use()
        for event in first_use:
            if isinstance(event, MessageAppended | PlaceholderReplaced):
                entries[event.index] = event.entry
        return {
            "conversation_id": self.conversation_id,
            "version": self.repeated.last if self.repeated else changes.version,
            "count": changes.count,
            "appended": 0,
            "entries": tuple(entries),
            "repeated": True,
            "records": sum(isinstance(event, RecordKept) for event in first_use),
        }


@dataclass(frozen=True, slots=True)
class ArtifactsOf:
    """What the events of one call did with artifacts."""

    held: tuple[dict[str, Any], ...]
    refused: tuple[Refused, ...]
    delivered: list[str]


def artifacts_of(events: Iterable[DomainEvent]) -> ArtifactsOf:
    held: list[dict[str, Any]] = []
    refused: list[Refused] = []
    delivered: list[str] = []
    for event in events:
        if isinstance(event, ArtifactsHeld):
            held.extend(copied_json(artifact.plain) for artifact in event.held)
        if isinstance(event, ArtifactsDelivered):
            delivered.extend(event.delivered)
        if isinstance(event, ArtifactsHeld | ArtifactsDelivered | ArtifactsPutBack):
            refused.extend(refusals(event.refused))
    return ArtifactsOf(tuple(held), tuple(refused), delivered)


def warn_of(conversation_id: str, refused: Iterable[Refused]) -> None:
    """One warning and one log record an artifact that was dropped; never an exception (RT-TOOL-6)."""
    for artifact in refused:
        text = (
            f"conversation {conversation_id!r} dropped an artifact of type {artifact.type!r} "
            f"(call {artifact.tool_call_id!r}, {artifact.size_bytes} bytes): {artifact.reason}"
        )
        log.warning("%s", text)
        try:
            warnings.warn(text, ArtifactDropped, stacklevel=3)
        except Warning:  # a filter that makes errors of warnings must not fail what is recorded
            continue


def log_differing(command: Command, appending: Appending) -> None:
    """Names each dropped turn that says something else than the entry that it repeats."""
    for index in appending.differing:
        if index in appending.repeats:
            log.warning(
                "conversation %r: message %d repeats the calls of entry %s and was dropped, "
                "though its text or calls differ",
                command.conversation_id,
                index,
                ", ".join(map(str, sorted(set(appending.repeats[index])))),
            )


def aware(what: str, value: Any) -> datetime:
    """A time in UTC. Raises `InvalidArgument` for one that does not say its zone."""
    if not isinstance(value, datetime) or value.tzinfo is None or value.utcoffset() is None:
        raise InvalidArgument(f"{what} must be a datetime with a time zone, not {value!r}")
    if value.tzinfo is UTC:
        return value
    try:
        return value.astimezone(UTC)
    except OverflowError:  # within a day of the first or the last moment that there is
        return FIRST_MOMENT if value.year == 1 else LAST_MOMENT


def _check_expected(what: str, version: Any) -> None:
    if version is not None and (not isinstance(version, int) or isinstance(version, bool) or version < 0):
        raise InvalidArgument(f"{what} must be a version: a whole number from 0 up")


def checked_reused_ids(value: Any) -> ReusedIds:
    if value not in REUSED_IDS:
        raise InvalidArgument(f"reused_ids must be one of {', '.join(REUSED_IDS)}, not {value!r}")
    mode: ReusedIds = value
    return mode
