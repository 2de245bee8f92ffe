"""ConversationStore: the one face, and the one place where rules, log and clock are put together."""

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Literal, Self
from uuid import uuid4

from turnledger.domain import delivering
from turnledger.domain.appending import Appending, AppendResult
from turnledger.domain.artifacts import Artifact, HeldLimits
from turnledger.domain.calls import ReusedIds
from turnledger.domain.changes import Changes
from turnledger.domain.compacting import CompactResult, checked_keep_last, compact, compacted, read_summary
from turnledger.domain.delivering import HeldArtifact, HoldResult, PutBackResult, Take, WriteBackResult
from turnledger.domain.errors import (
    ConversationNotFound,
    InvalidArgument,
    StoreNotFound,
    TakeSettled,
    TurnledgerError,
    VersionNotFound,
)
from turnledger.domain.events import ArtifactsPutBack, ArtifactsTaken
from turnledger.domain.forking import ForkResult
from turnledger.domain.heads import Head, as_anchors
from turnledger.domain.identifiers import checked_id
from turnledger.domain.records import KeptRecord, Record, keep, read_records
from turnledger.domain.retracting import ClearResult, checked_entries, checked_entry, retract_all
from turnledger.domain.values import copied_json
from turnledger.infrastructure.application import ConversationApplication
from turnledger.infrastructure.auditing import audit
from turnledger.infrastructure.commands import (
    Command,
    Settings,
    artifacts_of,
    aware,
    checked_reused_ids,
    log_differing,
    warn_of,
)
from turnledger.infrastructure.comparing import Station, diff, rows_of
from turnledger.infrastructure.following import followed
from turnledger.infrastructure.forking import forked
from turnledger.infrastructure.heads import head_of
from turnledger.infrastructure.inbox import inbox
from turnledger.infrastructure.live import Live
from turnledger.infrastructure.location import SYNCHRONOUS
from turnledger.infrastructure.migrating import Migration, Progress, migrated
from turnledger.infrastructure.places import Opening, path_of, place_of
from turnledger.infrastructure.read_models import ReadModels, beside
from turnledger.infrastructure.reading import ConversationSummary, EventReading, summary
from turnledger.infrastructure.records import kept_records
from turnledger.infrastructure.requests import (
    RebuiltRequest,
    RecordedRequest,
    checked_model,
    numbered,
    rebuilt,
    record,
    recorded_requests,
)
from turnledger.infrastructure.retracting import RetractResult, cleared, retracted
from turnledger.infrastructure.searching import conversations_saying
from turnledger.projections.audit import AuditedConversation, AuditReport
from turnledger.projections.buffer import Entry
from turnledger.projections.diff import OF, Diff, Of
from turnledger.projections.history import HistoryRow
from turnledger.projections.inbox import InboxItem
from turnledger.projections.providers import PROVIDERS
from turnledger.projections.sendable import Sendable
from turnledger.projections.wire import wire

log = logging.getLogger("turnledger")

CACHE_BYTES = 128 * 2**20
At = int | datetime | None


def _now() -> datetime:
    return datetime.now(UTC)


def _new_id() -> str:
    return uuid4().hex


class ConversationStore:
    """A store of conversations in one SQLite file, in memory, or on PostgreSQL.

    `url` is a path, ":memory:", a `sqlite:///path` or a `postgresql://user@host/database` URL (extra
    `postgres`; docs/scaling.md). With `create=False` the store must exist, with `read_only=True` nothing is
    ever written to it. `window` is the number of entries that the buffer of a
    new conversation keeps, `reused_ids` how a call under a known id is read ("compare", "drop" or
    "distinct"), `held_limits` what an execution may hold. `durability="normal"` may lose the last commits
    at a power cut. `timeout_s` bounds each call, retries included (0 tries once). `clock` returns an aware
    datetime, `new_id` a new unique text. `cache_bytes` bounds what is kept in memory of conversations.
    `persistence_module` names any other persistence module of eventsourcing instead of a URL, with its own
    `persistence_settings`.

    May be shared between threads; a forked child must open its own.
    """

    def __init__(
        self,
        url: str | bytes | os.PathLike[str] | None = None,
        *,
        create: bool = True,
        read_only: bool = False,
        window: int | None = None,
        reused_ids: ReusedIds = "compare",
        held_limits: HeldLimits | None = None,
        durability: Literal["full", "normal"] = "full",
        timeout_s: float = 5.0,
        clock: Callable[[], datetime] = _now,
        new_id: Callable[[], str] = _new_id,
        cache_bytes: int = CACHE_BYTES,
        persistence_module: str | None = None,
        persistence_settings: Mapping[str, str] | None = None,
    ) -> None:
        if window is not None and (not isinstance(window, int) or isinstance(window, bool) or window < 1):
            raise InvalidArgument("window must be None or a whole number of entries from 1 up")
        if durability not in SYNCHRONOUS:
            raise InvalidArgument(f"durability must be one of {', '.join(SYNCHRONOUS)}, not {durability!r}")
        if not isinstance(timeout_s, int | float) or isinstance(timeout_s, bool) or not 0 <= timeout_s < 1e6:
            raise InvalidArgument("timeout_s must be a number of seconds from 0 up")
        if not isinstance(held_limits, HeldLimits | None):
            raise InvalidArgument("held_limits must be a HeldLimits(artifacts=..., payload_bytes=...)")
        self._settings = Settings(
            window, checked_reused_ids(reused_ids), held_limits or HeldLimits(), clock, new_id
        )
        opening = Opening(create, read_only, durability, float(timeout_s))
        found = place_of(url, opening, persistence_module, persistence_settings)
        self._application = ConversationApplication(found.place, found.factory, cache_bytes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the file or the server; every later call raises `StoreClosed`."""
        self._application.close()

    def append(
        self,
        conversation_id: str,
        messages: Any,
        *,
        execution_id: str | None = None,
        turn_id: str | None = None,
        context: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
        reused_ids: ReusedIds | None = None,
        expected_version: int | None = None,
        records: Iterable[Record] = (),
        expected_records: int | None = None,
        retracting: Iterable[int] = (),
    ) -> AppendResult:
        """Appends one message or an iterable of them, all or none (MEM-1, 2, 3, 10, 14).

        A repeated result or call turn is dropped, a late result replaces its placeholder, a user message
        first heals every open call. `records` are kept behind the messages, in the same transaction: what an
        ecosystem has of its own beside them, shown by `records` alone; one whose key is known under its kind
        is left out. With `expected_records` a record kept, a retraction or a clearing since that version is
        a `VersionConflict`. `retracting` are numbers of entries that are taken back before, as by `retract`,
        in the same transaction. Raises `InvalidMessage`, `InvalidId`, `InvalidArgument`, `EntryNotFound`,
        `IdempotencyConflict`, `VersionConflict` and `StoreBusy`; nothing is recorded then.
        """
        command = self._command(conversation_id, execution_id, turn_id, context)
        own = read_records(records)
        numbers = checked_entries(retracting)
        command.given(messages).keyed("append", idempotency_key, [*map(asdict, own), *numbers])
        mode = self._mode(reused_ids)
        done: list[Appending] = []
        kept = 0

        def decide(changes: Changes) -> None:
            nonlocal kept
            retract_all(changes, numbers)
            done[:] = [command.appending(changes, mode)]
            kept = keep(changes, own) if own else 0

        changes = command.run(decide, expected_version=expected_version, expected_records=expected_records)
        if command.repeated:
            return AppendResult(**command.repeated_report(changes))
        log_differing(command, done[0])
        return AppendResult(**done[0].report(), records=kept)

    def hold(
        self,
        conversation_id: str,
        execution_id: str,
        artifacts: Iterable[Any],
        *,
        turn_id: str | None = None,
        context: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> HoldResult:
        """Holds artifacts of a run that pauses (RT-TOOL-7.1 and .5), each `{type, payload, tool_call_id}`.

        What is malformed or does not fit `held_limits` is refused alone, with a warning.
        """
        command = self._command(conversation_id, checked_id("execution_id", execution_id), turn_id, context)
        command.given(artifacts=artifacts).keyed("hold", idempotency_key)

        def decide(changes: Changes) -> None:
            delivering.hold(changes, command.artifacts, self._settings.held_limits, command.new_ids(changes))

        changes = command.run(decide)
        did = artifacts_of(command.first_use() if command.repeated else changes.events)
        if not command.repeated:
            warn_of(conversation_id, did.refused)
        return HoldResult(
            conversation_id=conversation_id,
            version=command.repeated.last if command.repeated else changes.version,
            held=did.held,
            refused=did.refused,
            repeated=command.repeated is not None,
        )

    def write_back(
        self,
        conversation_id: str,
        execution_id: str,
        messages: Any,
        *,
        artifacts: Iterable[Any] = (),
        turn_id: str | None = None,
        context: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
        reused_ids: ReusedIds | None = None,
        expected_version: int | None = None,
        records: Iterable[Record] = (),
        expected_records: int | None = None,
    ) -> WriteBackResult:
        """The resumed run's write (RT-TOOL-7.2): appends, and delivers what is held, then `artifacts`.

        All in one transaction, on the last assistant message given. If that message repeats what is known,
        or none is given, nothing is delivered, and those artifacts are held that no earlier try brought.
        `records` and `expected_records` are as in `append`. Raises what `append` raises; nothing was taken
        then.
        """
        command = self._command(conversation_id, checked_id("execution_id", execution_id), turn_id, context)
        own = read_records(records)
        command.given(messages, artifacts).keyed("write_back", idempotency_key, map(asdict, own))
        mode = self._mode(reused_ids)
        done: list[Appending] = []
        kept = 0

        def decide(changes: Changes) -> None:
            nonlocal kept
            done[:] = [command.appending(changes, mode)]
            delivering.write_back(
                changes,
                done[0],
                command.messages,
                command.artifacts,
                self._settings.held_limits,
                command.new_ids(changes),
            )
            kept = keep(changes, own) if own else 0

        changes = command.run(decide, expected_version=expected_version, expected_records=expected_records)
        did = artifacts_of(command.first_use() if command.repeated else changes.events)
        if command.repeated:
            report = command.repeated_report(changes)
        else:
            report = {**done[0].report(), "records": kept}
            log_differing(command, done[0])
            warn_of(conversation_id, did.refused)
        delivered = self._payloads(conversation_id, did.delivered)
        return WriteBackResult(**report, delivered=delivered, held=did.held, refused=did.refused)

    def compact(
        self,
        conversation_id: str,
        *,
        keep_last: int,
        summary: Any,
        expected_version: int | None = None,
        turn_id: str | None = None,
        context: Mapping[str, str] | None = None,
    ) -> CompactResult:
        """Lets the older entries leave the buffer, and puts `summary`, one message, in their place.

        The newest `keep_last` entries stay, as do system entries, turns with open calls, and what shares a
        call with an entry that stays; the summary of an earlier compaction leaves with the rest. Both events
        are recorded, or, where nothing is older, none. The log keeps what left: `at=` an earlier version
        shows it. Raises `ConversationNotFound`, `VersionConflict`, and `InvalidMessage` for the summary.
        """
        command = self._command(conversation_id, None, turn_id, context)
        message, last = read_summary(summary), checked_keep_last(keep_last)
        return compacted(
            command.run(
                lambda changes: compact(changes, last, message),
                expected_version=expected_version,
                must_exist=True,
            )
        )

    def retract(
        self,
        conversation_id: str,
        entry: int | None = None,
        *,
        instead: Any = (),
        expected_version: int | None = None,
        turn_id: str | None = None,
        context: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> RetractResult:
        """Takes an entry of the buffer back, or the last one that stands there: an event, not a deletion.

        It leaves buffer, sendable list and wire view for good; earlier versions show it, its number is never
        used again. What it declared or answered is unknown from then on: the same turn appended again is
        appended, a call whose result was taken back is open again, and a late result of a turn that was taken
        back is dropped. With a turn go the results in the
        buffer that no other turn there declares, in the same transaction, so that no orphan is left: the
        results first, an event each. What was delivered on it stays delivered. An empty buffer has nothing to
        take: nothing is recorded, and `entry` is None. `instead` are messages to append in the same
        transaction. Raises `EntryNotFound` for what is not in the buffer, `ConversationNotFound`,
        `InvalidMessage`, `VersionConflict` and `IdempotencyConflict`.
        """
        command = self._command(conversation_id, None, turn_id, context)
        number = checked_entry(entry)
        command.given(instead).keyed("retract", idempotency_key, [number])
        return retracted(self._application, command, number, self._mode(None), expected_version)

    def clear(
        self,
        conversation_id: str,
        *,
        turn_id: str | None = None,
        context: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
        expected_version: int | None = None,
        expected_records: int | None = None,
    ) -> ClearResult:
        """Lets a conversation begin anew: its buffer is empty, and no call of before is known any more.

        A late result of such a call is dropped, until a turn declares its id again. Records of before are not
        shown any more. Entry numbers go on; what is held or in an open take stays, since it belongs to
        executions. With nothing to forget nothing is recorded. `expected_version` and `expected_records` are
        as in `append`. Raises `ConversationNotFound`, `IdempotencyConflict` and `VersionConflict`.
        """
        command = self._command(conversation_id, None, turn_id, context)
        command.keyed("clear", idempotency_key)
        return cleared(self._application, command, expected_version, expected_records)

    def fork(
        self,
        conversation_id: str,
        *,
        at: int | datetime,
        into: str,
        turn_id: str | None = None,
        context: Mapping[str, str] | None = None,
    ) -> ForkResult:
        """Starts conversation `into` from the state of this one at a version or time, and says from which.

        It carries the buffer and the known calls, entry numbers and window, and goes its own way from there.
        What is held or in an open take stays with the source, idempotency keys, requests and records too;
        what was delivered was delivered there, and is referred to without its payload. Raises
        `ConversationExists`, `ConversationNotFound`, `VersionNotFound`, and `InvalidArgument` for a state
        over 256 MiB.
        """
        command = self._command(into, None, turn_id, context)
        return forked(self._application, command, self._station(conversation_id, at))

    def record_request(
        self,
        conversation_id: str,
        *,
        provider: str | None = None,
        model: str | None = None,
        execution_id: str | None = None,
        turn_id: str | None = None,
        context: Mapping[str, str] | None = None,
        expected_version: int | None = None,
    ) -> RecordedRequest:
        """Records that the sendable list, as `provider` has it, is sent to a model: its digest, not the list.

        Call it with the arguments of the `sendable` whose list is sent, and that one's version as
        `expected_version`: then `VersionConflict` says that the buffer has changed in between. It changes no
        buffer itself. Raises `ConversationNotFound`.
        """
        command = self._command(conversation_id, execution_id, turn_id, context)
        name = checked_model(model)

        def render() -> Sendable:
            return self.sendable(conversation_id, provider=provider, shared=True)

        return record(self._application, command, render, provider, name, expected_version)

    def take(
        self,
        conversation_id: str,
        execution_id: str,
        *,
        turn_id: str | None = None,
        context: Mapping[str, str] | None = None,
    ) -> Take:
        """Takes all that an execution holds, for a runtime that delivers elsewhere (RT-TOOL-7.3).

        Settle it with `confirm`, `put_back` or `discard`; until then it is listed by `open_takes`. Raises
        `ConversationNotFound`.
        """
        command = self._command(conversation_id, checked_id("execution_id", execution_id), turn_id, context)

        def decide(changes: Changes) -> None:
            delivering.take(changes, command.new_ids(changes))

        changes = command.run(decide, must_exist=True)
        taken = next((event for event in changes.events if isinstance(event, ArtifactsTaken)), None)
        return Take(
            take_id=taken.take_id if taken else None,
            conversation_id=conversation_id,
            execution_id=execution_id,
            taken_at=taken.time if taken else aware("clock()", self._settings.clock()),
            version=changes.version,
            artifacts=self._payloads(conversation_id, taken.taken) if taken else (),
            context=dict(command.context) if command.context else None,
        )

    def confirm(
        self,
        conversation_id: str,
        take_or_id: Take | str,
        *,
        turn_id: str | None = None,
        context: Mapping[str, str] | None = None,
    ) -> None:
        """Records that a take was delivered elsewhere; once more changes nothing.

        Raises `TakeNotFound`, `TakeSettled` and `ConversationNotFound`, as do `put_back` and `discard`.
        """
        self._settle(conversation_id, take_or_id, turn_id, context, delivering.confirm)

    def put_back(
        self,
        conversation_id: str,
        take_or_id: Take | str,
        *,
        turn_id: str | None = None,
        context: Mapping[str, str] | None = None,
    ) -> PutBackResult:
        """Undoes a take (RT-TOOL-7.4): each artifact is held again, in its place in the order of holding."""

        def decide(changes: Changes, take_id: str) -> None:
            delivering.put_back(changes, take_id, self._settings.held_limits)

        changes = self._settle(conversation_id, take_or_id, turn_id, context, decide)
        did = artifacts_of(changes.events if changes else ())
        warn_of(conversation_id, did.refused)
        ids = (
            [i for e in changes.events if isinstance(e, ArtifactsPutBack) for i in e.put_back]
            if changes
            else []
        )
        return PutBackResult(
            conversation_id=conversation_id,
            version=changes.version if changes else self.version(conversation_id),
            held=self._payloads(conversation_id, ids),
            refused=did.refused,
        )

    def discard(
        self,
        conversation_id: str,
        take_or_id: Take | str,
        *,
        reason: str,
        turn_id: str | None = None,
        context: Mapping[str, str] | None = None,
    ) -> None:
        """Gives a take up for good, with a reason: for a run that will never resume."""
        text = delivering.reason_text(reason)

        def decide(changes: Changes, take_id: str) -> None:
            delivering.discard(changes, take_id, text)

        self._settle(conversation_id, take_or_id, turn_id, context, decide)

    @contextmanager
    def taking(
        self,
        conversation_id: str,
        execution_id: str,
        *,
        turn_id: str | None = None,
        context: Mapping[str, str] | None = None,
    ) -> Iterator[Take]:
        """A take for a block: confirmed when the block ends, put back when it raises (RT-TOOL-7.4).

        What the block settled itself is left alone. A confirm that fails is raised, and the take stays
        open; a put-back that fails is a note on the block's exception, and the take stays open.
        """
        take = self.take(conversation_id, execution_id, turn_id=turn_id, context=context)
        try:
            yield take
        except BaseException as failure:
            try:
                with suppress(TakeSettled):
                    self.put_back(conversation_id, take, turn_id=turn_id, context=context)
            except Exception as error:
                failure.add_note(f"take {take.take_id!r} could not be put back and stays open: {error}")
            raise
        with suppress(TakeSettled):
            self.confirm(conversation_id, take, turn_id=turn_id, context=context)

    def buffer(self, conversation_id: str, *, at: At = None) -> list[dict[str, Any]]:
        """The buffer in the stored shape, as it is or was `at` a version or an aware datetime.

        Like every reading it raises `ConversationNotFound`, `VersionNotFound` and `CorruptEvent`.
        """
        with self._reading(conversation_id, at) as live:
            return live.buffer.buffer()

    def entries(self, conversation_id: str, *, at: At = None, last: int | None = None) -> list[Entry]:
        """The buffer's entries, each with its number, position, version, time, turn and execution.

        With `last` the newest alone, that many at most, at a cost that does not grow with the buffer.
        """
        if last is not None:
            _check_last(last)
        with self._reading(conversation_id, at) as live:
            return live.buffer.entries(0 if last is None else max(len(live.buffer) - last, 0))

    def sendable(
        self, conversation_id: str, *, at: At = None, provider: str | None = None, shared: bool = False
    ) -> Sendable:
        """The list that a provider accepts (MEM-5): flat, or as that `provider` wants it, with its drops.

        With `shared=True` its messages are to be treated as read-only; the list itself is the caller's.
        """
        if provider is not None and provider not in PROVIDERS:
            raise InvalidArgument(f"provider must be one of {', '.join(PROVIDERS)}, not {provider!r}")
        with self._reading(conversation_id, at) as live:
            version = live.version
            if provider is None:
                flat, drops = live.sendable.read(live.buffer)
                is_alone = shared or at is not None  # the folds of an earlier version are this call's
                return Sendable(flat if is_alone else copied_json(flat), tuple(drops), version)
            items, drops = live.sendable.items(live.buffer)
            messages, request = PROVIDERS[provider](items)
            return Sendable(messages, tuple(drops), version, request)

    def wire(self, conversation_id: str, *, at: At = None) -> list[dict[str, Any]]:
        """What a client of the runtime sees: entries with what was delivered on them (RT-TOOL-4)."""
        with self._reading(conversation_id, at, whole=True) as live:
            return wire(live.buffer, live.artifacts)

    def held(
        self, conversation_id: str, execution_id: str | None = None, *, at: At = None
    ) -> list[HeldArtifact]:
        """What an execution holds, or all of them: for operators, never for a client or a model."""
        if execution_id is not None:
            checked_id("execution_id", execution_id)
        with self._reading(conversation_id, at, whole=True) as live:
            return live.artifacts.held(execution_id)

    def open_takes(self, conversation_id: str | Iterable[str] | None = None) -> list[Take]:
        """Takes that nothing settled: their process may have died before or after it delivered.

        Of one conversation, of several, or of all. Of several one that cannot be read is named in a log
        record and passed over; of all only those are read that ever had a take.
        """
        asked = _asked(conversation_id)
        if isinstance(asked, str):
            with self._reading(asked, whole=True) as live:
                return live.artifacts.open_takes(asked)
        takes: list[Take] = []
        for found in self._application.conversation_ids(ArtifactsTaken.TOPIC) if asked is None else asked:
            try:
                takes.extend(self.open_takes(found))
            except TurnledgerError as error:
                log.warning("open takes of conversation %r are not known: %s", found, error)
        return takes

    def turn_artifacts(self, conversation_id: str, turn_id: str) -> list[dict[str, Any]]:
        """What was delivered on the entries of a turn, evicted ones included (RT-TOOL-4)."""
        checked_id("turn_id", turn_id)
        with self._reading(conversation_id, whole=True) as live:
            return live.artifacts.of_turn(turn_id)

    def events(
        self,
        conversation_id: str,
        *,
        after: int = 0,
        to: int | None = None,
        damaged: Literal["raise", "skip"] = "raise",
    ) -> EventReading:
        """The events behind version `after`, up to `to`, as an iterator.

        With `damaged="skip"` sound events only; its `.damaged` then lists what is not.
        """
        checked_id("conversation_id", conversation_id)
        _check_range(after, to)
        return EventReading(self._application, conversation_id, after=after, to=to, damaged=damaged)

    def records(
        self,
        conversation_id: str,
        kind: str | None = None,
        *,
        key: str | None = None,
        after: int = 0,
        at: At = None,
    ) -> list[KeptRecord]:
        """The records that were kept by `append`, in order: of a kind, of a key, behind version `after`.

        None from before the last clearing. Only rows of records are read, by `key` those that may be its.
        """
        checked_id("conversation_id", conversation_id)
        _checked_version(after)
        moment = self._moment(at)
        return kept_records(self._application, conversation_id, kind, key, after, moment)

    def requests(self, conversation_id: str) -> list[RecordedRequest]:
        """The requests that were recorded, in order, numbered from 1."""
        return recorded_requests(self._application, checked_id("conversation_id", conversation_id))

    def request_messages(self, conversation_id: str, n: int) -> RebuiltRequest:
        """What exactly the model saw in request `n`: rebuilt from the log, and checked by its digest.

        Where this release renders it otherwise than the one that recorded it, `rendered_differently` says so.
        Raises `CorruptEvent` where it should be the same and is not, and `RequestNotFound`.
        """
        recorded = numbered(self.requests(conversation_id), conversation_id, n)
        sendable = self.sendable(conversation_id, at=recorded.of_version, provider=recorded.provider)
        return rebuilt(conversation_id, recorded, sendable)

    def open_calls(self, conversation_id: str | Iterable[str] | None = None) -> list[InboxItem]:
        """What waits in a conversation, in several, or in all, oldest first: the operator's inbox.

        Calls without an answer, placeholders still standing, held artifacts, open takes, each with its age.
        Of several one that cannot be read is named in a log record and passed over. All means that each is
        read: where they are many, give `read_models().waiting()`, which knows where something waits.
        """
        asked = _asked(conversation_id)
        return inbox(self._application, asked, aware("clock()", self._settings.clock()))

    def head(self, conversation_id: str) -> Head:
        """Version and digest of a conversation's newest event: keep it elsewhere, and give it to `verify`."""
        return head_of(self._application, checked_id("conversation_id", conversation_id))

    def history(self, conversation_id: str, *, after: int = 0, to: int | None = None) -> Iterator[HistoryRow]:
        """A row for each version behind `after`, up to `to`: its event, and what that changed.

        Told are the buffer, the held lists and the sendable list. Made as they are asked for, each at the
        cost of its change. Raises `ConversationNotFound` at the call.
        """
        checked_id("conversation_id", conversation_id)
        _check_range(after, to)
        return rows_of(self._application, conversation_id, after, to)

    def diff(
        self,
        conversation_id: str,
        a: int | datetime,
        b: int | datetime,
        *,
        of: Of = "sendable",
        other: str | None = None,
    ) -> Diff:
        """What differs between two versions (or times), message by message, and which event began it.

        With `other`, `b` is a version of that conversation, and the two must have a common past: one is a
        fork of the other, or both come from one. See `Diff` for `first_changed`, the position at which a
        provider's prompt cache stops matching, and `cause`. Raises `InvalidArgument` where there is no common
        past, and what every reading raises.
        """
        if of not in OF:
            raise InvalidArgument(f"of must be one of {', '.join(OF)}, not {of!r}")
        stations = self._station(conversation_id, a), self._station(other or conversation_id, b)
        return diff(self._application, *stations, of, other)

    def version(self, conversation_id: str) -> int:
        """How many events the conversation has."""
        version = self._application.version(checked_id("conversation_id", conversation_id))
        if not version:
            raise ConversationNotFound(f"there is no conversation {conversation_id!r}")
        return version

    def conversations(
        self, *, after: str | None = None, saying: str | None = None
    ) -> Iterator[ConversationSummary]:
        """A summary of each conversation, in the order of their ids; with `after` of those behind that id.

        With `saying` of those only whose id or messages hold that text, in upper or lower case. That reads
        every event that it goes through; summaries are made as they are asked for.
        """
        self._application.refuse_closed()
        ids = (
            conversations_saying(self._application, saying, after)
            if saying
            else self._application.conversation_ids(after=after)
        )
        return (summary(self._application, conversation_id) for conversation_id in ids)

    def read_models(
        self, path: str | bytes | os.PathLike[str] | None = None, *, create: bool = True
    ) -> ReadModels:
        """Tables for people with SQL that follow this store, in an SQLite file, or ":memory:".

        Without `path` the file stands beside the store's. They are behind until `catch_up` or `follow` is
        called on them; see `ReadModels`. The file can be thrown away: it is made again from the log. Raises
        `NotReadModels` for a file that holds something else, with `create=False` `StoreNotFound` for none.
        """
        self._application.refuse_closed()
        location = self._application.location
        place = beside(location) if path is None else path_of(path)
        if not create and place is not None and not place.exists():
            raise StoreNotFound(f"there are no read models at {place}: 'turnledger follow' makes them")
        return ReadModels(followed(self._application), place, timeout_s=location.timeout_s)

    def verify(
        self,
        conversation_id: str | None = None,
        *,
        anchors: Iterable[Any] = (),
        progress: Callable[[AuditedConversation], None] | None = None,
    ) -> AuditReport:
        """Audits a conversation, or all, each at one version: replays it and checks the invariants by name.

        `anchors` are heads that were kept elsewhere (see `head`), or maps of their fields; of a conversation
        alone, its own count. Each proves that nothing up to it was edited, removed, reordered or cut off;
        without them a chain rewritten as a whole, last events cut off and a conversation removed go unseen.

        What is broken is a finding of the report, with the versions of its witness events, and keeps no
        other conversation from being audited. `progress` is called with each conversation when it is done.
        Raises `ConversationNotFound`, and `StoreDamaged` for a file whose conversations cannot be listed.
        """
        if conversation_id is not None:
            checked_id("conversation_id", conversation_id)
        return audit(self._application, conversation_id, as_anchors(anchors), progress)

    def _command(
        self,
        conversation_id: str,
        execution_id: str | None,
        turn_id: str | None,
        context: Mapping[str, str] | None,
    ) -> Command:
        return Command(
            self._application,
            self._settings,
            conversation_id,
            execution_id=execution_id,
            turn_id=turn_id,
            context=context,
        )

    def _mode(self, reused_ids: ReusedIds | None) -> ReusedIds:
        return self._settings.reused_ids if reused_ids is None else checked_reused_ids(reused_ids)

    def _settle(
        self,
        conversation_id: str,
        take_or_id: Take | str,
        turn_id: str | None,
        context: Mapping[str, str] | None,
        decide: Callable[[Changes, str], None],
    ) -> Changes | None:
        """Settles a take; None for a take of nothing, which needs no settling."""
        command = self._command(conversation_id, None, turn_id, context)
        take_id = take_or_id.take_id if isinstance(take_or_id, Take) else take_or_id
        if take_id is None:
            self.version(conversation_id)
            return None
        checked_id("take_id", take_id)
        return command.run(lambda changes: decide(changes, take_id), must_exist=True)

    def _payloads(self, conversation_id: str, artifact_ids: list[str]) -> tuple[dict[str, Any], ...]:
        """The artifacts as the log holds them: another process may have settled them since."""
        if not artifact_ids:
            return ()
        with self._reading(conversation_id, whole=True) as live:
            if live.artifacts.shows(artifact_ids):
                return tuple(live.artifacts.plain(artifact_ids))
        kept = {
            artifact.artifact_id: artifact.plain
            for event in self.events(conversation_id)
            for artifact in (*getattr(event, "held", ()), *getattr(event, "new", ()))
            if isinstance(artifact, Artifact)
        }
        return tuple(kept[artifact_id] for artifact_id in artifact_ids)

    def _station(self, conversation_id: str, at: int | datetime) -> Station:
        """A conversation at a version that it has, given as such or as a time, which needs its events."""
        if isinstance(at, datetime):
            with self._reading(conversation_id, at) as live:
                return Station(conversation_id, live.version)
        _checked_version(at)
        last = self.version(conversation_id)
        if at > last:
            raise VersionNotFound.beyond(conversation_id, at, last)
        return Station(conversation_id, at)

    def _reading(
        self, conversation_id: str, at: At = None, *, whole: bool = False
    ) -> AbstractContextManager[Live]:
        checked_id("conversation_id", conversation_id)
        return self._application.reading(conversation_id, self._moment(at), whole=whole)

    @staticmethod
    def _moment(at: At) -> At:
        """`at`, checked; a time in UTC."""
        if isinstance(at, datetime):
            return aware("at", at)
        if at is not None:
            _checked_version(at)
        return at


def named(store: ConversationStore) -> str:
    """Where a store is, as errors name it: a path, or a URL without its password."""
    return store._application.location.place


def migrate(
    source: ConversationStore, target: ConversationStore, *, progress: Progress | None = None
) -> Migration:
    """Copies a store into another, of whichever database, event by event, and compares the digests.

    `target` must be empty, or hold the beginning of `source`: what was stopped goes on. A conversation that
    is damaged stays out, and is named. `progress` is called with the step, how many events are done, and of
    how many. Raises `MigrationRefused` where the target holds something else; nothing is copied then.
    """
    return migrated(source._application, target._application, progress)


def _asked(conversation_id: Any) -> str | list[str] | None:
    """One id, checked; several, each to be checked when it is read; None for all."""
    if conversation_id is None:
        return None
    if isinstance(conversation_id, str | bytes) or not isinstance(conversation_id, Iterable):
        return checked_id("conversation_id", conversation_id)
    return list(conversation_id)


def _check_range(after: Any, to: Any) -> None:
    _checked_version(after)
    if to is not None:
        _checked_version(to)


def _check_last(value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InvalidArgument(f"last is a whole number of entries from 0 up, not {value!r}")


def _checked_version(value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InvalidArgument(
            f"a version is a whole number from 0 up, and a time an aware datetime, not {value!r}"
        )
