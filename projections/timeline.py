"""The timeline: what happened in a conversation, one line an event, for a person to read.

Pure, and safe to show: ids, names and contents are made legible. Colours and widths are for who shows it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from turnledger.domain.artifacts import Artifact, RefusedArtifact
from turnledger.domain.events import (
    ArtifactsDelivered,
    ArtifactsDiscarded,
    ArtifactsHeld,
    ArtifactsPutBack,
    ArtifactsTaken,
    CallHealed,
    ConversationCleared,
    ConversationForked,
    ConversationStarted,
    DomainEvent,
    EntriesEvicted,
    EntryRetracted,
    MessageAppended,
    PlaceholderReplaced,
    RecordKept,
    RequestRecorded,
    SummaryInserted,
)
from turnledger.domain.messages import (
    arguments_of_call,
    call_id,
    declared_by,
    id_of_call,
    name_of_call,
    original_id_of,
)
from turnledger.domain.values import json_text
from turnledger.projections.legible import counted, legible, one_line, shortened, spoken

QUOTE_CHARACTERS_MAX = 2_000
ID_CHARACTERS_MAX = 40
TAKE_CHARACTERS = 8
NAMED_MAX = 5


@dataclass(frozen=True, slots=True)
class TimelineLine:
    """One event as a person reads it.

    `kind` is one word for what happened: the role of a message that was appended, or `started`, `healed`,
    `replaced`, `evicted`, `summary`, `forked`, `retracted`, `cleared`, `record`, `request`, `held`, `taken`,
    `delivered`, `put back`, `discarded`. `text` says it by entries
    and ids, `quote` is the beginning of what was said (`characters` long in all), `detail` where it came
    from: turn, execution, key, context.
    """

    version: int
    time: datetime
    batch: int
    kind: str
    text: str
    quote: str = ""
    characters: int = 0
    detail: str = ""

    def quoted(self, characters_max: int) -> str:
        """What was said, cut to so many characters, with its length where something was cut off."""
        return shortened(self.quote, characters_max, self.characters) if self.quote else ""


def timeline(events: Iterable[DomainEvent]) -> Iterator[TimelineLine]:
    """A line for each event, in order. Feed it from the first event on: it names calls by what it saw."""
    seen = Timeline()
    return (seen.line(event) for event in events)


class Timeline:
    """A fold that remembers of the events only what later lines mention."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._types: dict[str, str] = {}
        self._evicted: set[int] = set()

    def line(self, event: DomainEvent) -> TimelineLine:
        """The line of the next event."""
        kind, text, content = self._told(event)
        whole = one_line(spoken(content))
        return TimelineLine(
            event.version,
            event.time,
            event.batch,
            kind,
            text,
            whole[:QUOTE_CHARACTERS_MAX],
            len(whole),
            _detail(event),
        )

    def name_of(self, declared: str) -> str | None:
        """The name of the call that was declared under an id, the latest, as a line has it."""
        return self._names.get(declared)

    def type_of(self, artifact_id: str) -> str | None:
        """The type of an artifact, as a line has it."""
        return self._types.get(artifact_id)

    def has_left(self, entry: int) -> bool:
        """Whether an entry has left the buffer."""
        return entry in self._evicted

    def _told(self, event: DomainEvent) -> tuple[str, str, Any]:
        """The kind, the text and what to quote."""
        match event:
            case ConversationStarted():
                window = f", keeps a window of {event.window:,} entries" if event.window else ""
                return "started", f"the conversation{window}", None
            case MessageAppended():
                return self._appended(event)
            case CallHealed():
                place = f"behind entry {event.behind}: entry {event.entry} stands in for it"
                return "healed", f"{_id(event.call_id)} {place}", None
            case PlaceholderReplaced():
                return "replaced", self._replaced(event), event.content
            case EntriesEvicted():
                self._evicted.update(event.evicted)
                return "evicted", f"{entries_named(event.evicted)} left the buffer: {_why(event)}", None
            case SummaryInserted():
                place = f"behind entry {event.behind}" if event.behind else "at the front"
                return "summary", f"entry {event.entry} ({event.role}) {place}, for what left", event.content
            case ConversationForked():
                return "forked", self._forked(event), None
            case EntryRetracted():
                self._evicted.add(event.entry)
                return "retracted", f"entry {event.entry} was taken back", None
            case ConversationCleared():
                return "cleared", "the conversation: it begins anew, with an empty buffer", None
            case RecordKept():
                return "record", _record(event), event.record
            case RequestRecorded():
                return "request", _request(event), None
            case _:
                return self._artifacts(event)

    def _forked(self, event: ConversationForked) -> str:
        for carried in event.entries:
            for call in declared_by(carried.role, carried.metadata):
                self._call(call)
        self._evicted.update({carried.entry for carried in event.entries} - set(event.buffer))
        source = f"from {_id(event.source_id)} at version {event.source_version}"
        if not event.buffer:
            return f"{source}, with an empty buffer"
        return f"{source}, with {entries_named(sorted(event.buffer))}"

    def _appended(self, event: MessageAppended) -> tuple[str, str, Any]:
        if event.role == "tool":
            return "tool", f"entry {event.entry} {self._answer(event.metadata)}", event.content
        calls = event.metadata.get("tool_calls") if event.role == "assistant" else None
        if not calls:
            return event.role, f"entry {event.entry}", event.content
        said = " ".join([spoken(event.content), *map(_arguments, calls)])
        return event.role, f"entry {event.entry} calls {', '.join(map(self._call, calls))}", said

    def _call(self, call: Mapping[str, Any]) -> str:
        declared, name = id_of_call(call), one_line(name_of_call(call))
        if declared is None:
            return f"{name} (without a usable id)"
        self._names[declared] = name
        original = original_id_of(call)
        if original:
            return f"{name} (reuses id {_id(original)}, recorded as {_id(declared)})"
        return f"{name} {_id(declared)}"

    def _answer(self, metadata: Mapping[str, Any]) -> str:
        answered = call_id(metadata.get("tool_call_id"))
        if answered is None:
            return "answers no call"
        original = original_id_of(metadata)
        given = f" (came as {_id(original)})" if original else ""
        verb = "stands in for" if metadata.get("healed") is True else "answers"
        return f"{verb} {self._named(answered)}{given}"

    def _named(self, answered: str) -> str:
        name = self.name_of(answered)
        return f"{name} {_id(answered)}" if name else _id(answered)

    def _replaced(self, event: PlaceholderReplaced) -> str:
        gone = ", which had left the buffer" if self.has_left(event.entry) else ""
        return f"{_id(event.call_id)} answered: replaces its placeholder in entry {event.entry}{gone}"

    def _artifacts(self, event: DomainEvent) -> tuple[str, str, Any]:
        match event:
            case ArtifactsHeld():
                self._know(event.held)
                again = f" for the repeated {entries_named(event.repeated)}" if event.repeated else ""
                return (
                    "held",
                    f"{self._list([a.artifact_id for a in event.held])}{again}{_dropped(event)}",
                    None,
                )
            case ArtifactsTaken():
                return (
                    "taken",
                    f"{self._list(event.taken)} by take {_id(event.take_id, TAKE_CHARACTERS)}",
                    None,
                )
            case ArtifactsDelivered():
                self._know(event.new)
                place = "elsewhere" if event.entry is None else f"on entry {event.entry}"
                return "delivered", f"{self._list(event.delivered)} {place}{_dropped(event)}", None
            case ArtifactsPutBack():
                text = f"{self._list(event.put_back)}; {len(event.held)} held now{_dropped(event)}"
                return "put back", text, None
            case ArtifactsDiscarded():
                text = f"{self._list(event.discarded)}: {shortened(one_line(event.reason), 200)}"
                return "discarded", text, None
        return "recorded", event.TOPIC, None

    def _know(self, artifacts: Iterable[Artifact]) -> None:
        for artifact in artifacts:
            self._types[artifact.artifact_id] = type_named(artifact.type)

    def _list(self, artifact_ids: Sequence[str]) -> str:
        """How many artifacts, and of which types."""
        if not artifact_ids:
            return "no artifact"
        named = [self.type_of(i) or _id(i, TAKE_CHARACTERS) for i in artifact_ids[:NAMED_MAX]]
        more = [f"{len(artifact_ids) - NAMED_MAX} more"] if len(artifact_ids) > NAMED_MAX else []
        return f"{counted(len(artifact_ids), 'artifact')} ({', '.join(named + more)})"


def type_named(kind: str) -> str:
    """An artifact's type, short enough for a line."""
    return shortened(one_line(kind), ID_CHARACTERS_MAX)


def _why(event: EntriesEvicted) -> str:
    """A window closes behind other events of its call; what leaves for a summary is the first of its own."""
    return "a summary stands for them" if event.batch == event.version else "its window is full"


def _record(event: RecordKept) -> str:
    key = f", key {_id(event.key)}" if event.key is not None else ""
    return f"of {_id(event.kind)}{key}"


def _request(event: RequestRecorded) -> str:
    shape = f"for {event.provider}" if event.provider else "flat"
    model = f" to {shortened(one_line(event.model), ID_CHARACTERS_MAX)}" if event.model else ""
    messages = counted(event.messages, "message")
    return f"{messages} of version {event.of_version}, {shape}, sent{model}"


def _dropped(event: ArtifactsHeld | ArtifactsDelivered | ArtifactsPutBack) -> str:
    """What was dropped, each with its reason."""
    return "".join(f"; dropped {_refused(item)}" for item in event.refused)


def _refused(item: RefusedArtifact) -> str:
    named = shortened(one_line(item.type), ID_CHARACTERS_MAX) if item.type else "an artifact"
    return f"{named}: {shortened(one_line(item.reason), 200)}"


def _id(value: str, characters_max: int = ID_CHARACTERS_MAX) -> str:
    return legible(value) if len(value) <= characters_max else f"{legible(value[:characters_max])}…"


def _arguments(call: Mapping[str, Any]) -> str:
    arguments = arguments_of_call(call)
    return "" if arguments is None else arguments if isinstance(arguments, str) else json_text(arguments)


def entries_named(numbers: Sequence[int]) -> str:
    """Entry numbers with their runs drawn together: `entries 1-3, 7`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], number]
        else:
            runs.append([number])
    drawn = ", ".join("-".join(map(str, run)) for run in runs)
    return f"entry {drawn}" if len(numbers) == 1 else f"entries {drawn}"


def _detail(event: DomainEvent) -> str:
    """Where an event came from, as far as its envelope says."""
    envelope = event.envelope
    context = envelope.context or {}
    imported = context.get("import.format")
    parts = [
        f"turn {_id(envelope.turn_id)}" if envelope.turn_id else "",
        f"execution {_id(envelope.execution_id)}" if envelope.execution_id else "",
        f"key {_id(envelope.idempotency_key)}" if envelope.idempotency_key else "",
        f"imported from {one_line(imported)}" if imported else "",
        *(
            f"{_id(one_line(key))} {_id(one_line(value))}"
            for key, value in context.items()
            if not key.startswith("import.")
        ),
    ]
    return ", ".join(part for part in parts if part)
