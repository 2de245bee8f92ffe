"""One history, event by event: the checks of the log and of the model, and what the projections say of it.

What is asked of the projections, and when, so that an audit stays linear in the length of the log:

- *The list that is sent.* Whether a list is sendable is decided turn by turn: a turn with its results, ids
  that no other turn has, system messages first. An event touches one turn and what shares its calls. So at
  every version the whole list is judged, or these entries normalized by themselves. The whole list is judged
  at the last version, and at every one that the budget covers: it begins with `BUDGET_AT_FIRST` entries, and
  each event adds `BUDGET_AN_EVENT`. A conversation of a hundred entries is thus judged whole at every
  version, a longer one whenever as many events as a quarter of its buffer have come.
- *Appending again.* Each real result and each call turn is given to the decision again right after it was
  recorded, and at the end of the log, on a state that refuses to record.
- *Requests.* Each says of which version it is, and of which list; the list is rendered again at as many of
  them as a budget of the same kind covers. `request_messages` does it for any one.
- *The buffer* is compared with the model's whenever the whole list is judged; held lists, open takes and the
  wire view at the end, where every artifact's whole way shows in its place.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from turnledger.domain.events import (
    CallHealed,
    ConversationForked,
    DomainEvent,
    EntriesEvicted,
    MessageAppended,
    PlaceholderReplaced,
    RequestRecorded,
    SummaryInserted,
)
from turnledger.domain.heads import Head
from turnledger.projections.audit.compactions import check_summary_follows
from turnledger.projections.audit.entries import check_entries, check_healing_ends
from turnledger.projections.audit.model import Model, SeenEntry
from turnledger.projections.audit.report import (
    ONCE,
    PROJECTIONS,
    REQUESTS,
    SENDABLE,
    AuditedConversation,
    Findings,
)
from turnledger.projections.audit.rows import Row, RowChecks
from turnledger.projections.audit.sendable import unsendable
from turnledger.projections.audit.shelf import ShelfChecks

BUDGET_AT_FIRST = 5_000
BUDGET_AN_EVENT = 4
_CHANGING = (
    MessageAppended,
    CallHealed,
    PlaceholderReplaced,
    EntriesEvicted,
    SummaryInserted,
    ConversationForked,
)


class Views(Protocol):
    """The projections and decisions under check, folded to the version that the audit has reached."""

    def take(self, event: DomainEvent) -> None: ...
    def buffer(self) -> Sequence[tuple[int, Mapping[str, Any]]]: ...
    def sendable(self) -> Sequence[Mapping[str, Any]]: ...
    def normalized(self, messages: Iterable[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]: ...
    def held(self) -> Mapping[str, Sequence[str]]: ...
    def open_takes(self) -> Sequence[str]: ...
    def wire(self) -> Sequence[Mapping[str, Any]]: ...
    def sent_digest(self, provider: str | None, rendering: int) -> str | None:
        """The digest of the list as it would be sent; None where this release renders it in another way."""

    def recorded_again(self, message: Mapping[str, Any]) -> str | None:
        """The event that appending this message again would record, or None."""


class HistoryAudit:
    """Fed every row of one conversation in order, then asked for the result."""

    def __init__(self, conversation_id: str, views: Views, anchors: Iterable[Head] = ()) -> None:
        self.conversation_id = conversation_id
        self.findings = Findings(conversation_id)
        self.forked: ConversationForked | None = None
        self._rows = RowChecks(conversation_id, self.findings, anchors)
        self._model = Model()
        self._shelf = ShelfChecks(self.findings)
        self._views: Views | None = views
        self._budget = BUDGET_AT_FIRST
        self._requests_budget = BUDGET_AT_FIRST
        self._version = 0

    def see(self, row: Row) -> None:
        self._rows.see(row)
        self._model.gap = self._rows.gap
        self._version = max(row.version, 0)
        event = row.event
        if self._rows.gap:
            self._views = None
        if event is None:
            return
        if isinstance(event, ConversationForked):
            self.forked = event
        check_entries(self._model, event, self.findings)
        self._shelf.see(event, self._model)
        self._model.take(event)
        self._ask(lambda views: self._event(views, event))

    def finish(self, version: int) -> None:
        """After the last row: the conversation was said to have `version` events."""
        self._rows.finish(version)
        self._model.gap = self._rows.gap
        if self._rows.gap:
            self._views = None
        check_healing_ends(self._model, None, self.findings)
        check_summary_follows(self._model, None, self.findings)
        self._ask(self._whole)
        self._ask(self._last)

    def result(self, version: int) -> AuditedConversation:
        return AuditedConversation(
            self.conversation_id,
            version,
            len(self._model.buffered),
            self.findings.all(),
            tuple(self._shelf.open_takes),
        )

    @property
    def is_rebuilt(self) -> bool:
        """Whether the projections took every event."""
        return self._views is not None

    def differing(self, version: int, projections: Iterable[str]) -> None:
        """Names what is kept in memory, or stored, and differs at `version` from what the log gives."""
        for name in projections:
            text = f"the {name} kept for version {version} differs from the one rebuilt from the log"
            self.findings.add(PROJECTIONS, text, version)

    def _ask(self, question: Callable[[Views], None]) -> None:
        """A projection that fails is a finding, and is asked no more: its state is unknown then."""
        if self._views is None:
            return
        try:
            question(self._views)
        except Exception as error:
            text = f"the projections cannot be rebuilt: {type(error).__name__}: {error}"
            self.findings.add(PROJECTIONS, text, self._version)
            self._views = None

    def _event(self, views: Views, event: DomainEvent) -> None:
        views.take(event)
        self._requests_budget += BUDGET_AN_EVENT
        if isinstance(event, RequestRecorded):
            self._request(views, event)
        if not isinstance(event, _CHANGING):
            return
        self._budget += BUDGET_AN_EVENT
        if self._budget >= len(self._model.buffered):
            self._budget -= len(self._model.buffered)
            self._whole(views)
        elif isinstance(event, MessageAppended | CallHealed | PlaceholderReplaced):
            self._touched(views, self._model.entries[event.entry])
        if isinstance(event, MessageAppended | PlaceholderReplaced):
            self._again(views, self._model.entries[event.entry])

    def _request(self, views: Views, event: RequestRecorded) -> None:
        if not self._model.changed <= event.of_version < event.version:
            text = f"the request is said to be of version {event.of_version}, whose buffer it does not follow"
            self.findings.add(REQUESTS, text, event.version)
        if self._requests_budget < len(self._model.buffered):
            return
        self._requests_budget -= len(self._model.buffered)
        if views.sent_digest(event.provider, event.rendering) not in (None, event.digest):
            text = f"the list of version {event.of_version} is not the one that was sent"
            self.findings.add(REQUESTS, text, event.of_version, event.version)

    def _touched(self, views: Views, entry: SeenEntry) -> None:
        """The turn that the event touched, with all that shares its calls."""
        model = self._model
        numbers = {number for call_id in entry.ids for number in model.touching[call_id]}
        turns = [number for number in numbers if model.entries[number].role == "assistant"]
        for call_id in {call_id for turn in turns for call_id in model.entries[turn].ids}:
            numbers |= model.touching[call_id]
        unit = model.in_order(numbers or {entry.number})
        if reason := unsendable(views.normalized(seen.stored for seen in unit)):
            self.findings.add(SENDABLE, reason, *(seen.version for seen in unit), self._version)

    def _whole(self, views: Views) -> None:
        if reason := unsendable(views.sendable()):
            self.findings.add(SENDABLE, reason, self._version)
        if not self.findings:
            expected = [(entry.number, entry.stored) for entry in self._model.in_order()]
            self._same("buffer", list(views.buffer()), expected)

    def _again(self, views: Views, entry: SeenEntry) -> None:
        """MEM-1 and MEM-2: what is recorded is known, so giving it again records nothing."""
        if entry.is_real_result:
            if self._model.may_answer_another(entry.ids[0]):
                return
        elif not entry.is_call_turn:
            return
        if recorded := views.recorded_again(entry.stored):
            text = f"appending entry {entry.number} again at version {self._version} would record {recorded}"
            self.findings.add(ONCE, text, entry.version)

    def _last(self, views: Views) -> None:
        for entry in self._model.entries.values():
            self._again(views, entry)
        if not self.findings:
            held = {execution: ids for execution, ids in self._shelf.held.items() if ids}
            self._same("held list", dict(views.held()), held)
            self._same("list of open takes", list(views.open_takes()), self._shelf.open_takes)
            self._same("wire view", list(views.wire()), [self._on_wire(e) for e in self._model.in_order()])

    def _on_wire(self, entry: SeenEntry) -> dict[str, Any]:
        shown = {
            **entry.stored,
            "entry": entry.number,
            "timestamp": entry.time.isoformat(),
            "turn_id": entry.turn_id,
        }
        if ids := self._shelf.delivered.get(entry.number):
            artifacts = [self._shelf.artifacts[artifact_id].artifact for artifact_id in ids]
            shown["toolArtifacts"] = [
                {"type": a.type, "payload": a.payload, "tool_call_id": a.tool_call_id} for a in artifacts
            ]
        return shown

    def _same(self, what: str, shown: Any, expected: Any) -> None:
        if shown != expected:
            text = f"the {what} rebuilt at version {self._version} is not what the events say"
            self.findings.add(PROJECTIONS, text, self._version)
