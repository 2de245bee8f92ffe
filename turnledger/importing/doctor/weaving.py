"""A session's events with other messages in the place of its conversation's, and the chain through them.

Every line but those concerned stays as it was: what is new stands behind the line that it belongs to, what
followed that line follows it, and what followed a line that goes follows the one before that.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from turnledger.importing.doctor.patching import Origins
from turnledger.importing.sessions import Tree

_PARENT = "parentUuid"


class Weaving:
    """The events, and their `places` that are the conversation. `broken` are the places that name a line
    before them that is not in the file, each with the place that it follows now."""

    def __init__(self, events: Sequence[Any], tree: Tree, places: Sequence[int], origins: Origins) -> None:
        self._events = events
        self._places = places
        self._origins = origins
        self._path = tree.ancestors(places[-1], places) if places else []
        self._links: dict[int, str | None] = {}
        self.broken: list[tuple[int, int]] = []
        for place in reversed(self._path):
            before = tree.parent(place, places)
            if before is not None and tree.lost_parent(place):
                self.broken.append((place, before))
                self._links[place] = self._uuid(before)

    def of(self, messages: Sequence[Any], moved: set[int]) -> list[Any]:
        """The events with these messages; `moved` are the places of lines that stand elsewhere among them."""
        place_of = {id(self._origins.of(self._events[place])): place for place in self._places}
        found = [(place_of.get(id(self._origins.of(message))), message) for message in messages]
        stays = {place: message for place, message in found if place is not None and place not in moved}
        self._close_gaps(set(self._places) - stays.keys())
        runs = self._runs([(None if place in moved else place, message) for place, message in found])
        return list(self._woven(stays, runs))

    def _uuid(self, place: int) -> str | None:
        return _text(self._events[place], "uuid")

    def _parent(self, place: int) -> str | None:
        return self._links.get(place, _text(self._events[place], _PARENT))

    def _close_gaps(self, gone: set[int]) -> None:
        """What followed a line that goes follows the one before that."""
        self._gone = gone
        before = {self._uuid(place): self._parent(place) for place in gone if self._uuid(place)}
        for place in range(len(self._events)):
            parent, seen = self._parent(place), set[Any]()
            while place not in gone and parent in before and parent not in seen:
                seen.add(parent)
                self._links[place] = parent = before[parent]

    def _runs(self, found: Sequence[tuple[int | None, Any]]) -> dict[int | None, list[Any]]:
        """New and moved lines by the place of the line that they stand behind, chained."""
        path = [place for place in self._path if place not in self._gone]
        follower = {self._parent(place): place for place in path}
        runs: dict[int | None, list[Any]] = {}
        last: int | None = None
        for place, message in found:
            if place is not None:
                last = place
                continue
            run = runs.setdefault(last, [])
            before = _text(run[-1], "uuid") if run else self._uuid(last) if last is not None else None
            run.append(self._origins.note({**message, _PARENT: before}, message))
        for place, run in runs.items():
            named = self._uuid(place) if place is not None else None
            root = path[-1] if place is None and path else None
            follows = root if named is None else follower.get(named)
            if follows is not None:
                self._links[follows] = _text(run[-1], "uuid")
        return runs

    def _woven(self, stays: dict[int, Any], runs: dict[int | None, list[Any]]) -> Iterator[Any]:
        for place, event in enumerate(self._events):
            if self._places and place == self._places[0]:
                yield from runs.get(None, ())
            if place not in self._gone:
                yield self._linked(place, stays.get(place, event))
            yield from runs.get(place, ())

    def _linked(self, place: int, event: Any) -> Any:
        """An event that follows the one that it follows now."""
        if place not in self._links or self._links[place] == event.get(_PARENT):
            return event
        return self._origins.note({**event, _PARENT: self._links[place]}, event)


def _text(event: Any, key: str) -> str | None:
    found = event.get(key) if isinstance(event, dict) else None
    return found if isinstance(found, str) else None
