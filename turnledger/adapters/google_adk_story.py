"""What a session of Google ADK has come to, told by its conversation: folded once, then read on.

Pure. It has of each event what a next step asks about, and not the event: so a step costs what is new, and
not what the session is long. What must follow an event in another transaction, and may have been lost with
the process, is listed until it is known to be done: state of the app or the user, and rewinds.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from turnledger.adapters.answers import Answers
from turnledger.adapters.extras import extra
from turnledger.adapters.naming import as_id
from turnledger.domain.events import (
    ConversationCleared,
    DomainEvent,
    PlaceholderReplaced,
    RecordKept,
)
from turnledger.projections.buffer import Entry

with extra("google-adk"):
    from google.adk.sessions.state import State

SESSION, EVENT = "google-adk.session", "google-adk.event"
_SCOPES = (State.APP_PREFIX, State.USER_PREFIX)


@dataclass(frozen=True, slots=True)
class Scoped:
    """State of the app or the user that came with what was recorded at a version and time."""

    version: int
    time: datetime
    delta: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Rewind:
    """What was said in these turns behind one version and up to another is taken back."""

    after: int
    to: int
    turns: frozenset[str]


@dataclass(slots=True)
class Story:
    """A session as of a version: `session` is how it was made, None where it is not, or is deleted."""

    version: int = 0
    session: Mapping[str, Any] | None = None
    state: dict[str, Any] = field(default_factory=dict)
    moment: float = 0.0
    places: dict[str, int] = field(default_factory=dict)
    """Of each event, by its id, how many came before it."""
    versions: list[int] = field(default_factory=list)
    moments: list[float] = field(default_factory=list)
    turns: list[str] = field(default_factory=list)
    begun: dict[str, int] = field(default_factory=dict)
    """Of each invocation the place of its first event."""
    declared: dict[str, str] = field(default_factory=dict)
    """Of each call, by its id, the event that made it."""
    long_running: set[str] = field(default_factory=set)
    answers: Answers = field(default_factory=Answers)
    replaced: dict[int, int] = field(default_factory=dict)
    """Of each entry that was a placeholder the version that brought its result."""
    scoped: list[Scoped] = field(default_factory=list)
    rewinds: list[Rewind] = field(default_factory=list)

    def told(self, event: DomainEvent) -> "Story":
        """The story with one more event."""
        if isinstance(event, ConversationCleared):
            return Story(event.version)
        self.answers.told(event)
        if isinstance(event, PlaceholderReplaced):
            self.replaced[event.entry] = event.version
        elif isinstance(event, RecordKept) and event.kind == SESSION:
            self.session, self.moment = event.record, event.record["last_update_time"]
            self._change(event, event.record["state"])
        elif isinstance(event, RecordKept) and event.kind == EVENT:
            self._go_on(event)
        self.version = event.version
        return self

    def _change(self, event: RecordKept, delta: Mapping[str, Any]) -> None:
        scoped = {key: value for key, value in delta.items() if key.startswith(_SCOPES)}
        self.state |= {key: value for key, value in delta.items() if key not in scoped}
        if scoped:
            self.scoped.append(Scoped(event.version, event.time, scoped))

    def _go_on(self, event: RecordKept) -> None:
        value, actions, place = event.record, event.record.get("actions", {}), len(self.versions)
        self.moment = value["timestamp"]
        self.places[value["id"]] = place
        self.versions.append(event.version)
        self.moments.append(self.moment)
        self.turns.append(run_of(value.get("invocation_id", ""), value["id"]))
        self.begun.setdefault(value.get("invocation_id", ""), place)
        self.declared |= {
            call_id: value["id"]
            for call_id in _ids_in(value, "function_call")
            if call_id not in self.declared
        }
        self.long_running.update(value.get("long_running_tool_ids", ()))
        self.answers.said(_ids_in(value, "function_response"), event)
        self._change(event, actions.get("state_delta", {}))
        first = self.begun.get(actions.get("rewind_before_invocation_id") or "", place)
        if actions.get("rewind_before_invocation_id") and first < place:
            after = self.versions[first - 1] if first else 0
            self.rewinds.append(Rewind(after, event.version, frozenset(self.turns[first:place])))

    def behind(self, newest: int | None, since: float | None) -> int:
        """The version behind which all of the newest events stand, and all of a time."""
        first = 0 if newest is None else max(len(self.versions) - newest, 0)
        if since is not None:
            later = (place for place, moment in enumerate(self.moments) if moment >= since)
            first = max(first, next(later, len(self.versions)))
        return self.versions[first - 1] if first else 0

    def rewound(self, rewind: Rewind, entries: list[Entry]) -> Iterator[int]:
        """The entries that a rewind takes back, the newest first; a result that came in its time too."""
        for entry in reversed(entries):
            is_said = entry.turn_id in rewind.turns and rewind.after < entry.version <= rewind.to
            if is_said or rewind.after < self.replaced.get(entry.number, 0) <= rewind.to:
                yield entry.number


def run_of(invocation_id: str, event_id: str) -> str:
    """The turn, and the execution, that an event belongs to."""
    return as_id(invocation_id if invocation_id.strip() else event_id)


def _ids_in(value: Mapping[str, Any], kind: str) -> Iterator[str]:
    for part in value.get("content", {}).get("parts", ()):
        if call_id := part.get(kind, {}).get("id"):
            yield call_id
