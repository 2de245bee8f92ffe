"""One retraction, or a clearing: recorded, and told with what stood there."""

from dataclasses import dataclass

from turnledger.domain.calls import ReusedIds
from turnledger.domain.changes import Changes
from turnledger.domain.events import ConversationCleared, EntryRetracted
from turnledger.domain.retracting import ClearResult, clear, retract
from turnledger.infrastructure.application import ConversationApplication
from turnledger.infrastructure.commands import Command
from turnledger.projections.buffer import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class RetractResult:
    """What a retraction took back: `entry` is its number, `retracted` the entry as it stood, to be given
    again; both are None where the buffer was empty, and nothing was recorded.

    `results` are the results that went with a turn, as they stood; `instead` are the numbers of the entries
    that were appended in their place, None for one that was dropped as known; `count` is how many entries the
    buffer has now. `repeated` says that the idempotency key had been used before.
    """

    conversation_id: str
    version: int
    count: int
    entry: int | None = None
    retracted: Entry | None = None
    results: tuple[Entry, ...] = ()
    instead: tuple[int | None, ...] = ()
    repeated: bool = False


def retracted(
    application: ConversationApplication,
    command: Command,
    entry: int | None,
    mode: ReusedIds,
    expected_version: int | None,
) -> RetractResult:
    """Retracts, appends the command's messages instead, and tells what stood there: as the decision saw it,
    else as the log has it."""
    stood: list[Entry] = []
    instead: list[int | None] = []

    def decide(changes: Changes) -> None:
        numbers = retract(changes, entry)
        stood[:] = _standing(application, changes, numbers)
        instead[:] = command.appending(changes, mode).entries if command.messages else []

    changes = command.run(decide, expected_version=expected_version, must_exist=True)
    if command.repeated:
        instead[:] = command.repeated_report(changes)["entries"]
    events = command.first_use() if command.repeated else changes.events
    numbers = [event.entry for event in events if isinstance(event, EntryRetracted)]
    if [one.number for one in stood] != numbers:
        with application.reading(command.conversation_id, events[0].version - 1) as live:
            stood = [live.buffer.entry(number) for number in numbers]
    last = stood[-1] if stood else None
    return RetractResult(
        conversation_id=command.conversation_id,
        version=command.repeated.last if command.repeated else changes.version,
        count=changes.count,
        entry=last.number if last else None,
        retracted=last,
        results=tuple(stood[:-1]),
        instead=tuple(instead),
        repeated=command.repeated is not None,
    )


def _standing(application: ConversationApplication, changes: Changes, numbers: list[int]) -> list[Entry]:
    """The entries as they are kept in memory; none where that is not the state decided on."""
    live = application.cached(changes.origin.conversation_id)
    if live is None or live.conversation is not changes.before:
        return []
    return [live.buffer.entry(number) for number in numbers]


def cleared(
    application: ConversationApplication,
    command: Command,
    expected_version: int | None,
    expected_records: int | None,
) -> ClearResult:
    """Clears, and tells how many entries stood there."""
    count = 0

    def decide(changes: Changes) -> None:
        nonlocal count
        count = clear(changes)

    changes = command.run(
        decide, expected_version=expected_version, expected_records=expected_records, must_exist=True
    )
    if command.repeated:
        event = next(event for event in command.first_use() if isinstance(event, ConversationCleared))
        with application.reading(command.conversation_id, event.version - 1) as live:
            count = len(live.buffer)
    return ClearResult(
        conversation_id=command.conversation_id,
        version=command.repeated.last if command.repeated else changes.version,
        cleared=count,
        repeated=command.repeated is not None,
    )
