"""What an agent's session of Strands has come to, told by its conversation: folded once, then read on.

Pure. It has of each message what pairing asks about, and not its contents: `repaired` says which messages an
agent is restored with, so that a result stands right behind its call, once, the real one first.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from turnledger.adapters.answers import Answers
from turnledger.adapters.strands_messages import is_stand_in, results_in, uses_in
from turnledger.domain.events import ConversationCleared, DomainEvent, MessageAppended, RecordKept

SESSION, AGENT, MULTI_AGENT = "strands.session", "strands.agent", "strands.multi-agent"
MESSAGE, REDACTED = "strands.message", "strands.redacted"


@dataclass(frozen=True, slots=True)
class Shape:
    """A message as it is kept at a version: its calls, its results, of which some are stand-ins, and whether
    it has anything else."""

    number: int
    version: int
    role: str
    calls: tuple[str, ...]
    results: tuple[tuple[str, bool], ...]
    has_rest: bool


@dataclass(frozen=True, slots=True)
class Place:
    """A message of the repaired list: the results that it begins with, and what else the message of this
    number has; none is, where it is made here."""

    number: int
    answers: tuple[str, ...]
    is_made: bool


@dataclass(slots=True)
class Story:
    """An agent's conversation, or a session's, as of a version."""

    version: int = 0
    session: Mapping[str, Any] | None = None
    agent: Mapping[str, Any] | None = None
    agents: dict[str, Any] = field(default_factory=dict)
    """States of several agents together, by their id."""
    shapes: dict[int, Shape] = field(default_factory=dict)
    declared: set[str] = field(default_factory=set)
    answers: Answers = field(default_factory=Answers)
    redacted: list[tuple[int, int]] = field(default_factory=list)
    """Numbers of messages, and the versions that redacted them, where what follows may not be done."""

    def told(self, event: DomainEvent) -> "Story":
        """The story with one more event."""
        if isinstance(event, ConversationCleared):
            return Story(event.version)
        self.version = event.version
        if not self._is_redacted(event):
            self.answers.told(event)
        if isinstance(event, RecordKept):
            self._keep(event.kind, event.record, event)
        return self

    def _is_redacted(self, event: DomainEvent) -> bool:
        """Whether an event has a result of a message that came before, put in its place."""
        turn = event.turn_id or ""
        shape = self.shapes.get(int(turn)) if turn.isdecimal() else None
        if shape is None or not isinstance(event, MessageAppended):
            return False
        return event.metadata.get("tool_call_id") in dict(shape.results)

    def _keep(self, kind: str, value: Any, event: RecordKept) -> None:
        if kind == SESSION:
            self.session = value
        elif kind == AGENT:
            self.agent = value
        elif kind == MULTI_AGENT:
            self.agents[value["id"]] = value["state"]
        elif kind in (MESSAGE, REDACTED):
            shape = _shape(value, event.version)
            self.shapes[shape.number] = shape
            self.answers.said(dict(shape.results), event)
            self.declared.update(use["toolUseId"] for use in uses_in(value["message"]))
            if kind == REDACTED:
                self.redacted.append((shape.number, event.version))

    def repaired(self) -> list[Place]:
        """The messages, in order; the newest is left open where it calls: Strands goes on there."""
        found: list[Place] = []
        waiting: tuple[str, ...] = ()
        shapes = [self.shapes[number] for number in sorted(self.shapes)]
        for shape in shapes:
            answers = waiting
            if answers and (shape.role == "assistant" or not shape.results):
                found.append(Place(found[-1].number, answers, True))
                answers = ()
            if answers or shape.has_rest or not shape.results:
                found.append(Place(shape.number, answers, False))
            waiting = shape.calls if shape is not shapes[-1] else ()
        return found

    def answering(self, places: Iterable[Place]) -> dict[str, Shape]:
        """Of each call that is answered in these places the message that has its result."""
        asked = {call_id for place in places for call_id in place.answers}
        best: dict[str, tuple[bool, Shape]] = {}
        for number in sorted(self.shapes) if asked else ():
            for call_id, is_for_now in self.shapes[number].results:
                known = best.get(call_id)
                if call_id in asked and (known is None or (known[0] and not is_for_now)):
                    best[call_id] = is_for_now, self.shapes[number]
        return {call_id: shape for call_id, (_, shape) in best.items()}


def _shape(value: Mapping[str, Any], version: int) -> Shape:
    message = value["redact_message"] or value["message"]
    results: Sequence[Any] = results_in(message)
    return Shape(
        value["message_id"],
        version,
        message["role"],
        tuple(use["toolUseId"] for use in uses_in(message)),
        tuple((result["toolUseId"], is_stand_in(result)) for result in results),
        len(results) < len(message["content"]),
    )
