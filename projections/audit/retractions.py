"""Retractions and records: what may be taken back, what goes with it, and that no key is kept twice."""

from turnledger.domain.events import ConversationCleared, DomainEvent, EntryRetracted, RecordKept
from turnledger.projections.audit.model import Model
from turnledger.projections.audit.report import ENTRIES, ONCE, RETRACTIONS, Findings


def check_retraction(model: Model, event: DomainEvent, findings: Findings) -> None:
    """What these events can break; the model is that of before the event."""
    match event:
        case EntryRetracted() if not model.gap:
            _retracted(model, event, findings)
        case ConversationCleared() if not model.gap and not model.has_something():
            findings.add(RETRACTIONS, "a conversation with nothing in it was cleared", event.version)
        case RecordKept() if (event.kind, event.key) in model.record_keys:
            text = f"a record of kind {event.kind!r} with key {event.key!r} was kept before"
            findings.add(ONCE, text, model.record_keys[event.kind, event.key], event.version)


def _retracted(model: Model, event: EntryRetracted, findings: Findings) -> None:
    entry = model.entries.get(event.entry)
    if entry is None or event.entry not in model.buffered:
        text = f"entry {event.entry}, which was not in the buffer, was retracted"
        findings.add(ENTRIES, text, *([entry.version] if entry else []), event.version)
        return
    if entry.role != "assistant":
        return
    for call_id in entry.ids:
        touching = [model.entries[number] for number in model.touching[call_id] - {event.entry}]
        if any(other.role == "assistant" for other in touching):
            continue
        for orphan in touching:
            text = f"entry {event.entry} was retracted, and its result in entry {orphan.number} was not"
            findings.add(RETRACTIONS, text, orphan.version, event.version)
