"""Where a fork comes from: its source's log, read once more up to the version that it was forked at.

A fork carries a state and says whose it is. Both are held against the source: the digest of the event there,
which by the chain stands for all before it, and the state, as the model makes it of the source's events.
"""

from dataclasses import astuple
from typing import Any

from turnledger.domain.events import ArtifactsDelivered, ConversationForked, DomainEvent
from turnledger.projections.audit.model import Model, SeenEntry
from turnledger.projections.audit.report import ORIGIN, Findings
from turnledger.projections.audit.rows import Row, RowChecks

Delivery = tuple[int, str, list[str]]


class OriginAudit:
    """Fed the rows of a fork's source up to the version forked, then asked for what it found.

    `beginning` is the source's own first event: it may be a fork in turn.
    """

    def __init__(self, forked: ConversationForked) -> None:
        self.beginning: DomainEvent | None = None
        self._forked = forked
        self._damage = Findings(forked.source_id)
        self._rows = RowChecks(forked.source_id, self._damage)
        self._model = Model()
        self._delivered: dict[int, list[str]] = {}
        self._carried: list[Delivery] = []
        self._last: Row | None = None

    def see(self, row: Row) -> None:
        self._rows.see(row)
        self._last = row
        if row.event is None or self._rows.gap:
            return
        if row.version == 1:
            self.beginning = row.event
        self._model.take(row.event)
        match row.event:
            case ConversationForked():
                self._carried = [(d.entry, d.conversation_id, d.artifact_ids) for d in row.event.delivered]
            case ArtifactsDelivered() if row.event.entry is not None:
                self._delivered.setdefault(row.event.entry, []).extend(row.event.delivered)

    def finish(self, findings: Findings) -> None:
        """After the last row of the source up to that version: adds what does not fit."""
        source, version = self._forked.source_id, self._forked.source_version
        named = f"its source, version {version} of conversation {source!r},"
        if self._last is None:
            text = f"{named} is not in this store: how it began cannot be checked"
            findings.add(ORIGIN, text, self._forked.version)
            return
        self._rows.finish(version)
        if len(self._damage):
            findings.add(ORIGIN, f"{named} or what leads to it is damaged: see there", self._forked.version)
        elif self._rows.digest != self._forked.source_digest:
            findings.add(ORIGIN, f"{named} is not the one that was forked", self._forked.version)
        else:
            for what in self._differing():
                findings.add(ORIGIN, f"{named} had other {what}", self._forked.version)

    def _differing(self) -> list[str]:
        """What the fork carries and its source did not have, by name."""
        forked, model = self._forked, self._model
        carried = {entry.entry: astuple(entry) for entry in forked.entries}
        due = {
            number: _as_carried(entry)
            for number, entry in model.entries.items()
            if number in model.buffered or entry.ids
        }
        unequal = sorted(n for n in carried.keys() | due.keys() if carried.get(n) != due.get(n))
        delivered = [(d.entry, d.conversation_id, d.artifact_ids) for d in forked.delivered]
        here = [(entry, forked.source_id, ids) for entry, ids in self._delivered.items()]
        pairs: dict[str, tuple[Any, Any]] = {
            f"contents in entry {', '.join(map(str, unequal[:5]))}": (unequal, []),
            "positions": (forked.buffer, [entry.number for entry in model.in_order()]),
            "settings": (forked.window, model.window),
            "newest entries": (
                (forked.newest_entry, forked.newest_user, forked.newest_turn or 0),
                (model.newest, model.newest_user, model.newest_turn),
            ),
            "deliveries": (delivered, [*self._carried, *here]),
        }
        return [what for what, (given, expected) in pairs.items() if given != expected]


def _as_carried(entry: SeenEntry) -> tuple[Any, ...]:
    stored = entry.stored
    return (
        entry.number,
        entry.time,
        entry.turn_id,
        entry.execution_id,
        stored["role"],
        stored["content"],
        stored["metadata"],
        entry.summary,
    )
