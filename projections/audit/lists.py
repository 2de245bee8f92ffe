"""The lists that the projections make of a buffer: sendable at every version, and the same as the model's.

What is looked at, and when, so that an audit stays linear in the length of the log:

- *The list as it grows* is judged at every version: what is new in it, and what it has not settled. An entry
  is settled when nothing before it waits for a result any more, so that is a few entries at most versions.
- Where it is more than the budget covers (hundreds of calls open at once, a buffer that lost entries), the
  entry that the event touched is judged with what shares its calls, normalized by itself: whether a list is
  sendable is decided turn by turn, call by call, and an event changes nothing for other calls.
- *The list from nothing*, and the buffer, are judged and compared at the last version and whenever a budget
  covers all entries: in a short conversation at every version, in a longer one each time it has grown by
  a part of its length.
"""

from collections.abc import Mapping
from typing import Any

from turnledger.domain.events import (
    CallHealed,
    ConversationCleared,
    ConversationForked,
    DomainEvent,
    EntriesEvicted,
    EntryRetracted,
    MessageAppended,
    PlaceholderReplaced,
    SummaryInserted,
)
from turnledger.projections.audit.model import Model, SeenEntry, calls_of, id_of
from turnledger.projections.audit.report import SENDABLE, Findings
from turnledger.projections.audit.sendable import GrowingList, unsendable
from turnledger.projections.audit.views import Views

CHANGING = (
    MessageAppended,
    CallHealed,
    PlaceholderReplaced,
    EntriesEvicted,
    SummaryInserted,
    ConversationForked,
    EntryRetracted,
    ConversationCleared,
)


class Budget:
    """How many entries may be looked at: so many at first, and more with each event."""

    def __init__(self, at_first: int, an_event: int) -> None:
        self._left = at_first
        self._an_event = an_event

    def grow(self) -> None:
        self._left += self._an_event

    def covers(self, entries: int) -> bool:
        """Whether as many may be looked at; then they are taken off."""
        if entries > self._left:
            return False
        self._left -= entries
        return True


class ListChecks:
    """Fed every event that changes the buffer, after the model and the projections took it."""

    AT_FIRST = 1_000
    UNSETTLED_AN_EVENT = 16
    NORMALIZED_AN_EVENT = 1
    COMPARED_AN_EVENT = 4

    def __init__(self, model: Model, findings: Findings) -> None:
        self._model = model
        self._findings = findings
        self._growing = GrowingList()
        self._unsettled = Budget(self.AT_FIRST, self.UNSETTLED_AN_EVENT)
        self._normalized = Budget(self.AT_FIRST, self.NORMALIZED_AN_EVENT)
        self._compared = Budget(self.AT_FIRST, self.COMPARED_AN_EVENT)
        self._calls: dict[int, dict[str, list[Any]]] = {}
        self._compared_at = self._normalized_at = 0

    def see(self, views: Views, event: DomainEvent) -> None:
        if not isinstance(event, CHANGING):
            return
        for budget in (self._unsettled, self._normalized, self._compared):
            budget.grow()
        self._grown(views, event)
        entries = len(self._model.buffered)
        if self._normalized.covers(entries):
            self._from_nothing(views, event.version)
        if self._compared.covers(entries):
            self._buffer(views, event.version)

    def finish(self, views: Views, version: int) -> None:
        """At the last version everything is looked at, unless it has been."""
        if self._normalized_at < self._model.changed:
            self._from_nothing(views, version)
        if self._compared_at < self._model.changed:
            self._buffer(views, version)

    def _grown(self, views: Views, event: DomainEvent) -> None:
        if isinstance(event, PlaceholderReplaced):
            self._growing.replaced(event.call_id)
        if self._unsettled.covers(views.unsettled()):
            if reason := self._growing.unsendable(views.growing()):
                self._findings.add(SENDABLE, reason, event.version)
        elif isinstance(event, MessageAppended | CallHealed | PlaceholderReplaced):
            self._touched(views, self._model.entries[event.entry], event.version)

    def _touched(self, views: Views, entry: SeenEntry, version: int) -> None:
        """The entry that an event touched, with all that shares its calls."""
        sharing = {number for call_id in entry.ids for number in self._model.touching[call_id]}
        if not self._unsettled.covers(len(sharing) or 1):
            return
        unit = self._model.in_order(sharing or {entry.number})
        if reason := unsendable(views.normalized([self._cut(seen, entry.ids) for seen in unit])):
            self._findings.add(SENDABLE, reason, *(seen.version for seen in unit), version)

    def _cut(self, seen: SeenEntry, ids: tuple[str, ...]) -> Mapping[str, Any]:
        """An entry as it is stored; a turn with no other calls than these."""
        if seen.role != "assistant" or seen.ids == ids or len(seen.ids) == 1:
            return seen.stored
        calls = self._calls.get(seen.number)
        if calls is None:
            calls = self._calls[seen.number] = {}
            for call in calls_of(seen.stored["metadata"]):
                calls.setdefault(id_of(call) or "", []).append(call)
        left = [call for call_id in ids for call in calls.get(call_id, ())]
        return {**seen.stored, "metadata": {**seen.stored["metadata"], "tool_calls": left}}

    def _from_nothing(self, views: Views, version: int) -> None:
        self._normalized_at = version
        found = list(views.sendable())
        if reason := unsendable(found):
            self._findings.add(SENDABLE, reason, version)
        if not self._findings:
            grown = [message for stretch in views.growing() for message in stretch]
            self._findings.compare("sendable list", grown, found, version)

    def _buffer(self, views: Views, version: int) -> None:
        self._compared_at = version
        if not self._findings:
            expected = [(entry.number, entry.stored) for entry in self._model.in_order()]
            self._findings.compare("buffer", list(views.buffer()), expected, version)
