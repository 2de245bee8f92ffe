"""The timeline of a reading that goes on behind damage: a line for each event, and for each that is damaged.

What an event's line says is for `timeline`; this sees that none is missing where the log can be read only in
part.
"""

from collections.abc import Iterator
from datetime import UTC, datetime

from turnledger.domain.errors import CorruptEvent
from turnledger.domain.events import DomainEvent
from turnledger.infrastructure.reading import EventReading
from turnledger.projections.legible import one_line
from turnledger.projections.timeline import Timeline, TimelineLine

DAMAGED = "damaged"
_UNKNOWN = datetime(1970, 1, 1, tzinfo=UTC)


def told(
    events: EventReading, seen: Timeline, last: DomainEvent | None = None
) -> Iterator[tuple[TimelineLine, DomainEvent | None]]:
    """Each event with its line; what is damaged has a line of its own and no event, where it was met.

    `seen` has been fed with the events before, of which `last` is the last.
    """
    known = 0

    def met() -> Iterator[tuple[TimelineLine, None]]:
        nonlocal known
        while known < len(events.damaged):
            known += 1
            yield _damage(events.damaged[known - 1], last), None

    for event in events:
        yield from met()
        last = event
        yield seen.line(event), event
    yield from met()


def _damage(error: CorruptEvent, last: DomainEvent | None) -> TimelineLine:
    time = last.time if last else _UNKNOWN
    return TimelineLine(error.version, time, error.version, DAMAGED, one_line(error.reason))
