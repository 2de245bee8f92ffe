"""Compactions: what a summary may stand for, and where it stands.

A compaction is a call of its own: entries leave by its first event, the summary comes by its second.
"""

from collections.abc import Sequence

from turnledger.domain.events import DomainEvent, EntriesEvicted, SummaryInserted
from turnledger.projections.audit.model import Model, SeenEntry, calls_of
from turnledger.projections.audit.report import COMPACTIONS, ENTRIES, EVICTIONS, Findings

ROLES = ("user", "assistant", "system", "developer")


def check_compaction(
    model: Model, event: EntriesEvicted, gone: Sequence[SeenEntry], findings: Findings
) -> None:
    """What leaves for a summary: no system entry, no turn with open calls, and every earlier summary."""
    for entry in gone:
        reason = None
        if entry.number not in model.counted and not entry.summary:
            reason = f"a {entry.role} message"
        elif model.has_open_call(entry):
            reason = "a turn with open calls"
        if reason:
            text = f"entry {entry.number} left the buffer, though it is {reason}"
            findings.add(EVICTIONS, text, entry.version, event.version)
    leaving = {entry.number for entry in gone}
    for number in model.buffered.keys() - leaving:
        if model.entries[number].summary:
            text = f"entry {number}, an earlier summary, stayed"
            findings.add(COMPACTIONS, text, model.entries[number].version, event.version)
    model.due = (event.version, _last_before(model, leaving))


def _last_before(model: Model, leaving: set[int]) -> int:
    """The entry behind which the first of those that leave stands; 0 at the front."""
    before = 0
    for entry in model.in_order():
        if entry.number in leaving:
            return before
        before = entry.number
    return before


def check_summary_follows(model: Model, event: DomainEvent | None, findings: Findings) -> None:
    """What left by a call of its own left for a summary, which is the next event."""
    last = model.last
    if not isinstance(last, EntriesEvicted) or last.batch != last.version:
        return
    if model.gap and (event is None or event.version > last.version + 1):
        return
    if not isinstance(event, SummaryInserted) or event.batch != last.batch:
        text = "entries left the buffer, and no summary follows"
        findings.add(COMPACTIONS, text, last.version, *([event.version] if event else []))


def check_summary(model: Model, event: SummaryInserted, findings: Findings) -> None:
    if event.role not in ROLES:
        findings.add(ENTRIES, f"entry {event.entry} has role {event.role!r}", event.version)
    if event.role == "assistant" and calls_of(event.metadata):
        findings.add(COMPACTIONS, f"entry {event.entry}, a summary, declares calls", event.version)
    if event.behind and event.behind not in model.buffered and not model.gap:
        findings.add(ENTRIES, f"there is no entry {event.behind} to stand behind", event.version)
    if model.due is not None and model.due[0] == event.version - 1:
        if event.behind != model.due[1] and not model.gap:
            text = f"the summary stands behind entry {event.behind}, not {model.due[1]}"
            findings.add(COMPACTIONS, text, event.version - 1, event.version)
    elif not model.gap:
        findings.add(COMPACTIONS, "a summary was inserted, and nothing had left for it", event.version)
