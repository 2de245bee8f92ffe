"""A session of Claude Code as a tree: one line an event, each naming the one before it.

The conversation is the chain from the newest event back by `parentUuid`; what a rewind abandoned stands in
the file and is no part of it. Parallel calls branch the tree: the blocks of one answer, and the results of
its calls, belong together though no chain runs through all of them. Sidechains, what subagents said, are
conversations of their own.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnledger.projections.legible import counted

Event = Mapping[str, Any]
_SESSION_KEYS = ("sessionId", "leafUuid", "parentUuid")
_LINE_TYPES = ("file-history-snapshot", "queue-operation", "summary", "custom-title")


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation of a session: its events in order, and what of the file is no part of it."""

    conversation_id: str | None
    name: str
    events: list[Any]
    notes: tuple[str, ...] = ()

    @property
    def main(self) -> bool:
        return not self.name


def is_event(value: Event) -> bool:
    """Whether a map is a line of a session."""
    kind = value.get("type")
    if not isinstance(kind, str) or "role" in value:
        return False
    streamed = "session_id" in value and "uuid" in value
    return streamed or kind in _LINE_TYPES or any(key in value for key in _SESSION_KEYS)


def is_turn(event: Any) -> bool:
    """Whether an event is something that the model is given, or said itself."""
    if not isinstance(event, Mapping) or event.get("isApiErrorMessage") is True:
        return False
    message = event.get("message")
    return (
        event.get("type") in ("user", "assistant") and isinstance(message, Mapping) and "content" in message
    )


def _named(event: Event) -> str | None:
    found = event.get("parentUuid")
    return found if isinstance(found, str) else None


def is_side(event: Event) -> bool:
    return event.get("isSidechain") is True or event.get("parent_tool_use_id") is not None


def blocks_in(event: Event, kind: str, key: str) -> list[Any]:
    """The ids of an event's blocks of a type."""
    content = event["message"]["content"]
    blocks = content if isinstance(content, list) else []
    found = [block for block in blocks if isinstance(block, Mapping) and block.get("type") == kind]
    return [block[key] for block in found if isinstance(block.get(key), str)]


def answer_of(event: Event) -> str | None:
    """The id of the answer that a line of the assistant's is a part of."""
    found = event["message"].get("id") if event["type"] == "assistant" else None
    return found if isinstance(found, str) else None


class Tree:
    """The events of a session, by their places in the file.

    With `whole`, the conversation goes on behind a compaction to what was said before it; without, it begins
    with the summary, as the model is given it.
    """

    def __init__(self, events: Sequence[Any], *, whole: bool) -> None:
        self._events = events
        self._whole = whole
        self._place: dict[Any, int] = {}
        for place, event in enumerate(events):
            if isinstance(event, Mapping) and isinstance(event.get("uuid"), str):
                self._place[event["uuid"]] = place
        self.turns = [place for place, event in enumerate(events) if is_turn(event) and self._counts(place)]

    def _counts(self, place: int) -> bool:
        """Whether no later event has the same uuid; of several the last is loaded."""
        uuid = self._events[place].get("uuid")
        return not isinstance(uuid, str) or self._place[uuid] == place

    def main(self) -> list[int]:
        """The places of the conversation's turns, in order; those of a sidechain where it has none."""
        main = [place for place in self.turns if not is_side(self._events[place])]
        return self.chain_from(main or self.turns)

    def sidechains(self) -> Iterator[tuple[str, list[int]]]:
        """Each sidechain's name and the places of its turns."""
        groups: dict[str, list[int]] = {}
        names: dict[int, str] = {}
        for place in self.turns:
            if is_side(self._events[place]):
                groups.setdefault(self._side_name(place, names), []).append(place)
        for name, places in groups.items():
            yield name, self.chain_from(places)

    def _side_name(self, place: int, names: dict[int, str]) -> str:
        """That of its agent; without one, that of the sidechain event before it, or a new one."""
        event = self._events[place]
        agent = event.get("agentId") or event.get("parent_tool_use_id")
        if isinstance(agent, str):
            return f"agent-{agent}"
        before = self.parent(place, None)
        while before is not None and before not in names and not is_turn(self._events[before]):
            before = self.parent(before, None)
        new = f"sidechain-{len(set(names.values())) + 1}"
        names[place] = new if before is None else names.get(before, new)
        return names[place]

    def chain_from(self, among: Sequence[int]) -> list[int]:
        """The chain that ends in the last of these places, with what belongs to its answers."""
        if not among:
            return []
        chain = set(self.ancestors(among[-1], among)).intersection(among)
        return sorted(chain | self._siblings(chain, among))

    def ancestors(self, place: int, kept: Sequence[int] | None) -> list[int]:
        """The places from this one back to the root; `kept` are those of the turns, in order."""
        found, here = [place], self.parent(place, kept)
        seen = {place}
        while here is not None and here not in seen:
            seen.add(here)
            found.append(here)
            here = self.parent(here, kept)
        return found

    def parent(self, place: int, kept: Sequence[int] | None) -> int | None:
        """The place of the event before; for one whose own is not in the file, that of the turn before it."""
        event = self._events[place]
        named = _named(event)
        if named is None and self._whole:
            logical = event.get("logicalParentUuid")
            named = logical if isinstance(logical, str) else None
        if named is None and "parentUuid" in event:
            return None
        if named in self._place:
            return self._place[named]
        before = bisect_left(kept, place) if kept else 0
        return kept[before - 1] if kept and before else None

    def lost_parent(self, place: int) -> bool:
        """Whether an event names one before it that is not in the file."""
        named = _named(self._events[place])
        return named is not None and named not in self._place

    def _siblings(self, chain: set[int], among: Sequence[int]) -> set[int]:
        """The other blocks of the chain's answers, and the results of their calls."""
        answers = {answer_of(self._events[place]) for place in chain} - {None}
        found = {place for place in among if answer_of(self._events[place]) in answers}
        calls = {call for place in found | chain for call in self._calls(place)}
        results_of = {place: self._results(place) for place in among}
        answered = {result for place in chain for result in results_of.get(place, ())}
        for place, results in results_of.items():
            if (
                place not in chain
                and results
                and all(one in calls and one not in answered for one in results)
            ):
                answered.update(results)
                found.add(place)
        return found

    def _calls(self, place: int) -> list[Any]:
        event = self._events[place]
        return blocks_in(event, "tool_use", "id") if event["type"] == "assistant" else []

    def _results(self, place: int) -> list[Any]:
        return blocks_in(self._events[place], "tool_result", "tool_use_id")


def conversations_of(events: Sequence[Any]) -> list[Conversation]:
    """The conversations of a session: what the user and the model said, then each sidechain."""
    tree = Tree(events, whole=True)
    main, sides = tree.main(), list(tree.sidechains())
    side = {place for _, places in sides for place in places}
    named = next((_session_id(event) for event in reversed(events) if _session_id(event)), None)
    if side and side.issuperset(main):
        return [_conversation(events, places, named, name) for name, places in sides]
    notes = tuple(_notes(events, tree, main, side))
    whole = [events[place] for place in main]
    found = [Conversation(named, "", whole, notes)] if main or not sides else []
    return found + [_conversation(events, places, named, name) for name, places in sides]


def _conversation(events: Sequence[Any], places: list[int], named: str | None, name: str) -> Conversation:
    return Conversation(f"{named or 'session'}/{name}", name, [events[place] for place in places])


def _session_id(event: Any) -> str | None:
    named = (event.get("sessionId") or event.get("session_id")) if isinstance(event, Mapping) else None
    return named if isinstance(named, str) else None


def _notes(events: Sequence[Any], tree: Tree, main: list[int], side: set[int]) -> Iterator[str]:
    turns = set(tree.turns)
    others = Counter(
        str(event.get("type")) if isinstance(event, Mapping) else "no event"
        for place, event in enumerate(events)
        if place not in turns and not _is_error(event) and not is_turn(event)
    )
    if others:
        kinds = ", ".join(f"{kind} {number:,}" for kind, number in others.most_common())
        yield f"{counted(others.total(), 'line')} that the model is not given: {kinds}"
    again = sum(is_turn(event) for event in events) - len(turns)
    if again:
        yield f"{counted(again, 'message')} that a later line with the same uuid replaces"
    errors = sum(_is_error(event) for event in events)
    if errors:
        yield f"{counted(errors, 'message')} about an error of the service"
    abandoned = len(turns - set(main) - side)
    if abandoned:
        yield f"{counted(abandoned, 'message')} on branches that were abandoned"


def _is_error(event: Any) -> bool:
    return isinstance(event, Mapping) and event.get("isApiErrorMessage") is True
