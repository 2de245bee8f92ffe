"""One history, event by event: the checks of the log and of the model, and what the projections say of it.

What is asked of the projections, and when, so that an audit stays linear in the length of the log:

- *The lists* are for `lists`.
- *Appending again.* Each real result and each call turn is given to the decision again right after it was
  recorded, and at the end of the log, on a state that refuses to record.
- *Requests.* Each says of which version it is, and of which list; the list is rendered again at as many of
  them as a budget covers. `request_messages` does it for any one.
- Held lists, open takes and the wire view are compared at the end, where every artifact's whole way shows in
  its place.
"""

from collections.abc import Callable, Iterable
from typing import Any

from turnledger.domain.events import (
    ConversationForked,
    DomainEvent,
    MessageAppended,
    PlaceholderReplaced,
    RequestRecorded,
)
from turnledger.domain.heads import Head
from turnledger.projections.audit.compactions import check_summary_follows
from turnledger.projections.audit.entries import check_entries, check_healing_ends
from turnledger.projections.audit.lists import Budget, ListChecks
from turnledger.projections.audit.model import Model, SeenEntry
from turnledger.projections.audit.report import (
    ONCE,
    PROJECTIONS,
    REQUESTS,
    AuditedConversation,
    Findings,
)
from turnledger.projections.audit.rows import Row, RowChecks
from turnledger.projections.audit.shelf import ShelfChecks
from turnledger.projections.audit.views import Views

REQUESTED_AT_FIRST = 5_000
REQUESTED_AN_EVENT = 4


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
        self._lists = ListChecks(self._model, self.findings)
        self._requests = Budget(REQUESTED_AT_FIRST, REQUESTED_AN_EVENT)
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
        self._requests.grow()
        if isinstance(event, RequestRecorded):
            self._request(views, event)
        self._lists.see(views, event)
        if isinstance(event, MessageAppended | PlaceholderReplaced):
            self._again(views, self._model.entries[event.entry])

    def _request(self, views: Views, event: RequestRecorded) -> None:
        if not self._model.changed <= event.of_version < event.version:
            text = f"the request is said to be of version {event.of_version}, whose buffer it does not follow"
            self.findings.add(REQUESTS, text, event.version)
        if not self._requests.covers(len(self._model.buffered)):
            return
        if views.sent_digest(event.provider, event.rendering) not in (None, event.digest):
            text = f"the list of version {event.of_version} is not the one that was sent"
            self.findings.add(REQUESTS, text, event.of_version, event.version)

    def _again(self, views: Views, entry: SeenEntry) -> None:
        """MEM-1 and MEM-2: what is recorded is known, so giving it again records nothing."""
        if entry.is_real_result:
            if self._model.may_answer_another(entry.ids[0]):
                return
        elif not entry.is_call_turn:
            return
        if recorded := views.recorded_again(entry.number, entry.stored):
            text = f"appending entry {entry.number} again at version {self._version} would record {recorded}"
            self.findings.add(ONCE, text, entry.version)

    def _last(self, views: Views) -> None:
        self._lists.finish(views, self._version)
        for entry in self._model.entries.values():
            if not entry.forgotten:
                self._again(views, entry)
        if not self.findings:
            held = {execution: ids for execution, ids in self._shelf.held.items() if ids}
            wire = [self._on_wire(entry) for entry in self._model.in_order()]
            self.findings.compare("held list", dict(views.held()), held, self._version)
            takes = list(views.open_takes())
            self.findings.compare("list of open takes", takes, self._shelf.open_takes, self._version)
            self.findings.compare("wire view", list(views.wire()), wire, self._version)

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
