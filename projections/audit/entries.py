"""Entries and positions: numbers, placeholders, replacements, evictions, and nothing recorded twice.

Each check looks at the model before the event that it checks. That a placeholder stands in the run of tool
entries behind its turn at *every* version follows from these checks: it is put directly behind its turn, or
behind the placeholder put there just before; only such insertions happen inside a buffer; and entries leave
it with their turn.
"""

from collections.abc import Sequence

from turnledger.domain.events import (
    CallHealed,
    DomainEvent,
    EntriesEvicted,
    MessageAppended,
    PlaceholderReplaced,
    SummaryInserted,
)
from turnledger.projections.audit.compactions import check_compaction, check_summary, check_summary_follows
from turnledger.projections.audit.model import Model, SeenEntry, calls_of, id_of, usable
from turnledger.projections.audit.report import (
    ENTRIES,
    EVICTIONS,
    HEALING,
    ONCE,
    PLACEHOLDERS,
    Findings,
)
from turnledger.projections.audit.retractions import check_retraction

INTERRUPTED = "Tool call was interrupted; no result."
ROLES = ("user", "assistant", "system", "developer", "tool")


def check_entries(model: Model, event: DomainEvent, findings: Findings) -> None:
    """Everything about entries that this event can break."""
    if isinstance(event, MessageAppended | CallHealed | SummaryInserted) and event.entry <= model.newest:
        text = f"entry {event.entry} is not new: {model.newest} came before"
        earlier = model.entries.get(event.entry)
        findings.add(ENTRIES, text, *([earlier.version] if earlier else []), event.version)
    check_healing_ends(model, event, findings)
    check_summary_follows(model, event, findings)
    check_retraction(model, event, findings)
    match event:
        case MessageAppended():
            _appended(model, event, findings)
        case CallHealed():
            _healed(model, event, findings)
        case PlaceholderReplaced():
            _replaced(model, event, findings)
        case EntriesEvicted():
            _evicted(model, event, findings)
        case SummaryInserted():
            check_summary(model, event, findings)


def check_healing_ends(model: Model, event: DomainEvent | None, findings: Findings) -> None:
    """MEM-3.3: what was healed was healed for a user message, which follows in the same call."""
    last = model.last
    if not isinstance(last, CallHealed) or (
        model.gap and (event is None or event.version > last.version + 1)
    ):
        return
    follows = isinstance(event, CallHealed) or (isinstance(event, MessageAppended) and event.role == "user")
    if event is None or not follows or event.batch != last.batch:
        text = f"call {last.call_id!r} was healed, and no user message follows"
        findings.add(HEALING, text, last.version, *([event.version] if event else []))


def _appended(model: Model, event: MessageAppended, findings: Findings) -> None:
    if event.role not in ROLES:
        findings.add(ENTRIES, f"entry {event.entry} has role {event.role!r}", event.version)
    if event.role == "user" and not model.gap:
        for call_id, turn in model.open.items():
            text = f"a user message was appended with call {call_id!r} open"
            findings.add(HEALING, text, model.entries[turn].version, event.version)
    if event.role == "tool":
        _answered_once(model, usable(event.metadata.get("tool_call_id")), event, findings)
    if event.role == "assistant":
        _declared_once(model, event, findings)


def _answered_once(model: Model, call_id: str | None, event: DomainEvent, findings: Findings) -> None:
    """MEM-1: an id has one result, or one placeholder, for ever."""
    if call_id in model.answers:
        earlier = model.entries[model.answers[call_id]]
        text = f"call {call_id!r} had its {'placeholder' if earlier.healed else 'result'} already"
        findings.add(ONCE, text, earlier.version, event.version)


def _declared_once(model: Model, event: MessageAppended, findings: Findings) -> None:
    """MEM-2: a turn whose calls are all known is none: what is recorded declares an id that nothing bore.

    That holds in every mode of reading reused ids, as a call that repeats none is recorded under a fresh id.
    A call that took the id of one further up in its turn came under another, which may be the new one.
    """
    calls = calls_of(event.metadata)
    ids = [id_of(call) for call in calls]
    came_as = [usable(call.get("original_id")) for call in calls]
    if any(call_id is not None and call_id not in model.bearing for call_id in came_as):
        return
    known = [model.bearing[call_id][0][0] for call_id in ids if call_id in model.bearing]
    if ids and len(known) == len(ids):
        text = f"all calls of entry {event.entry} were known: {', '.join(map(repr, ids))}"
        findings.add(ONCE, text, *(model.entries[turn].version for turn in known), event.version)


def _healed(model: Model, event: CallHealed, findings: Findings) -> None:
    _answered_once(model, event.call_id, event, findings)
    if event.content != INTERRUPTED:
        findings.add(
            PLACEHOLDERS, f"entry {event.entry} is no placeholder: it reads otherwise", event.version
        )
    turn = model.entries.get(event.turn_entry)
    if turn is None or turn.evicted:
        if not model.gap:
            text = f"the turn of the call healed, entry {event.turn_entry}, is not in the buffer"
            findings.add(ENTRIES, text, event.version)
        return
    if event.call_id not in turn.ids or turn.role != "assistant":
        text = f"entry {event.turn_entry} declares no call {event.call_id!r}"
        findings.add(PLACEHOLDERS, text, turn.version, event.version)
    _placed(model, event, turn, findings)


def _placed(model: Model, event: CallHealed, turn: SeenEntry, findings: Findings) -> None:
    """Directly behind the first turn that declared the call; siblings in the order of declaration."""
    opened = model.open.get(event.call_id)
    if opened is not None and opened != event.turn_entry:
        text = f"call {event.call_id!r} was declared first by entry {opened}, not {event.turn_entry}"
        findings.add(PLACEHOLDERS, text, model.entries[opened].version, event.version)
    placed = model.placed if model.placed_by == event.batch else {}
    expected = placed.get(event.turn_entry, event.turn_entry)
    before = model.entries.get(event.behind)
    if event.behind != expected and not (before is None and model.gap):
        if before is None:
            findings.add(ENTRIES, f"there is no entry {event.behind} to stand behind", event.version)
        text = f"the placeholder stands behind entry {event.behind}, not {expected}"
        witnesses = [seen.version for seen in (turn, before) if seen]
        findings.add(PLACEHOLDERS, text, *witnesses, event.version)
    for call_id, opener in model.open.items() if not model.gap else ():
        if call_id == event.call_id:
            break
        if opener == event.turn_entry:
            text = f"call {event.call_id!r} was healed before {call_id!r}, which its turn declares first"
            findings.add(PLACEHOLDERS, text, turn.version, event.version)


def _replaced(model: Model, event: PlaceholderReplaced, findings: Findings) -> None:
    """MEM-10: only a placeholder, by a real result, of the same call, in its entry."""
    if usable(event.metadata.get("tool_call_id")) != event.call_id:
        text = f"what replaces the placeholder of call {event.call_id!r} answers another call"
        findings.add(PLACEHOLDERS, text, event.version)
    if event.metadata.get("healed") is True:
        findings.add(PLACEHOLDERS, "what replaces a placeholder is itself marked healed", event.version)
    entry = model.entries.get(event.entry)
    if entry is None:
        if not model.gap:
            findings.add(ENTRIES, f"entry {event.entry}, replaced here, was never added", event.version)
    elif not entry.healed:
        text = f"entry {event.entry}, replaced here, was no placeholder"
        findings.add(PLACEHOLDERS, text, entry.version, event.version)
    elif event.call_id not in entry.ids:
        text = f"the placeholder in entry {event.entry} stands for another call than {event.call_id!r}"
        findings.add(PLACEHOLDERS, text, entry.version, event.version)


def _evicted(model: Model, event: EntriesEvicted, findings: Findings) -> None:
    numbers = event.evicted
    gone = [model.entries[number] for number in numbers if number in model.buffered]
    if len(gone) != len(numbers) and not model.gap:
        absent = [number for number in numbers if number not in model.buffered]
        known = [model.entries[number].version for number in absent if number in model.entries]
        text = f"entries that were not in the buffer left it: {', '.join(map(str, absent))}"
        findings.add(ENTRIES, text, *known, event.version)
    if len(set(numbers)) != len(numbers):
        findings.add(ENTRIES, "an entry left the buffer twice in one event", event.version)
    if not model.gap:
        if [entry.place for entry in gone] != sorted(entry.place for entry in gone):
            findings.add(ENTRIES, "the entries left in another order than they stood in", event.version)
        if event.batch == event.version:  # a window closes behind other events of its call
            check_compaction(model, event, gone, findings)
        else:
            _evictable(model, event, gone, findings)
        _pairs_stay_together(model, event, gone, findings)


def _evictable(model: Model, event: EntriesEvicted, gone: Sequence[SeenEntry], findings: Findings) -> None:
    """What a window never takes."""
    if model.window is None or len(model.counted) <= model.window:
        findings.add(EVICTIONS, "entries left a buffer that was not too long", event.version)
    for entry in gone:
        reason = None
        if entry.number not in model.counted:
            reason = "a summary" if entry.summary else f"a {entry.role} message"
        elif entry.batch == event.batch:
            reason = "added by the same call"
        elif entry.number == model.newest_user:
            reason = "the newest user message"
        elif model.has_open_call(entry):
            reason = "a turn with open calls"
        if reason:
            text = f"entry {entry.number} left the buffer, though it is {reason}"
            findings.add(EVICTIONS, text, entry.version, event.version)


def _pairs_stay_together(
    model: Model, event: EntriesEvicted, gone: Sequence[SeenEntry], findings: Findings
) -> None:
    leaving = {entry.number for entry in gone}
    for entry in gone:
        for call_id in entry.ids:
            for left in model.touching[call_id] - leaving:
                text = f"entry {entry.number} left the buffer, and entry {left} of call {call_id!r} did not"
                findings.add(EVICTIONS, text, entry.version, model.entries[left].version, event.version)
    first = next(iter(model.counted), None)
    leads = next((number for number in model.counted if number not in leaving), None)
    if leads is None or leads == first or model.entries[leads].role != "tool":
        return
    for call_id in model.entries[leads].ids:
        turns = [n for n in model.touching[call_id] - leaving if model.entries[n].role == "assistant"]
        if turns:
            text = f"result {leads} leads the buffer now, before its turn {turns[0]}"
            findings.add(EVICTIONS, text, model.entries[leads].version, event.version)
