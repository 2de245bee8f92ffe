"""History and diff, read from the log: which events lie between two states, across forks too.

Every state has a line: its conversation up to its version and, where that began as a fork, its source up to
the version that it was forked at, and so on. Two states have a common past where their lines meet.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from turnledger.domain.errors import InvalidArgument
from turnledger.domain.events import ConversationForked, DomainEvent
from turnledger.infrastructure.application import ConversationApplication
from turnledger.infrastructure.reading import EventReading
from turnledger.projections.diff import Compared, Diff, Of, Stretch, changing, compared, differences
from turnledger.projections.history import HistoryFold, HistoryRow

At = int | datetime


class Station(NamedTuple):
    """A conversation at a version."""

    conversation_id: str
    version: int


def rows_of(
    application: ConversationApplication, conversation_id: str, after: int, to: int | None
) -> Iterator[HistoryRow]:
    """The rows of the history behind version `after`. Raises `ConversationNotFound` at the call."""
    return _rows(EventReading(application, conversation_id, to=to), after)


def _rows(events: EventReading, after: int) -> Iterator[HistoryRow]:
    fold = HistoryFold()
    for event in events:
        if event.version > after:
            yield fold.row(event)
        else:
            fold.pass_over(event)


def diff(application: ConversationApplication, a: Station, b: Station, of: Of, other: str | None) -> Diff:
    """What differs between two states, and which event began it."""
    past = _CommonPast(application, a, b, of)
    before, after = (past.fold_of(station).items(past.newest_entry) for station in (a, b))
    found, first = differences(before, after, pairs=of == "sendable")
    cause = None if first is None else past.cause(first)
    return Diff(
        a.conversation_id,
        a.version,
        b.version,
        of,
        other,
        tuple(found),
        first,
        cause,
        len(before),
        len(after),
    )


def _events(application: ConversationApplication, station: Station) -> Iterator[DomainEvent]:
    """The events that lead to a state; none at version 0."""
    if not station.version:
        return iter(())
    return EventReading(application, station.conversation_id, to=station.version)


def line(application: ConversationApplication, station: Station) -> list[Station]:
    """The line of a state, from itself back to a beginning that is no fork.

    Raises `ConversationNotFound` where the log of a source is not in this store.
    """
    stations = [station]
    while beginning := _forked(application, stations[-1]):
        stations.append(Station(beginning.source_id, beginning.source_version))
    return stations


def _forked(application: ConversationApplication, station: Station) -> ConversationForked | None:
    first = next(_events(application, station._replace(version=min(station.version, 1))), None)
    return first if isinstance(first, ConversationForked) else None


class _CommonPast:
    """Where the lines of two states meet, and the way from there to each.

    Entries up to `newest_entry` are those of the common past: there the same number is the same entry.
    """

    def __init__(self, application: ConversationApplication, a: Station, b: Station, of: Of) -> None:
        self._application = application
        self._of = of
        lines = [line(application, station) for station in (a, b)]
        versions = [dict(found) for found in lines]
        common = next((s.conversation_id for s in lines[0] if s.conversation_id in versions[1]), None)
        if common is None:
            raise InvalidArgument(
                f"{a.conversation_id!r} and {b.conversation_id!r} have no common past: neither is a fork of "
                "the other, nor are they forks of one conversation"
            )
        self._meeting = Station(common, min(found[common] for found in versions))
        self._ways = [self._way(found) for found in lines]
        self.newest_entry = 0
        self._fold = compared(of, self._noting_entries(_events(application, self._meeting)))

    def _way(self, stations: Sequence[Station]) -> list[Station]:
        """The stations behind the meeting, in the order of time."""
        behind = [s.conversation_id for s in stations].index(self._meeting.conversation_id)
        return list(reversed(stations[: behind + 1]))

    def _noting_entries(self, events: Iterable[DomainEvent]) -> Iterator[DomainEvent]:
        for event in events:
            entries = getattr(event, "newest_entry", 0), getattr(event, "entry", None) or 0
            self.newest_entry = max(self.newest_entry, *entries)
            yield event

    def fold_of(self, station: Station) -> Compared:
        """The list of a state; where it is the meeting itself, it is folded already."""
        if station == self._meeting:
            return self._fold
        return compared(self._of, _events(self._application, station))

    def cause(self, position: int) -> DomainEvent | None:
        """The event that changed a position on the way to `b`, or else the one on the way to `a`."""
        before = self._fold.at(position)
        for way in reversed(self._ways):
            if event := changing(self._of, self._stretches(way), position, before):
                return event
        return None

    def _stretches(self, way: Sequence[Station]) -> Iterator[Stretch]:
        for station in way:
            after = self._meeting.version if station.conversation_id == self._meeting.conversation_id else 0
            yield _events(self._application, station), after
