"""One conversation as a single file: its timeline, what each event recorded, and how it ended.

For a report: it opens offline, runs nothing, asks for nothing, and names the digest that its log ended with.
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version as version_of
from typing import Any

from markupsafe import Markup
from pydantic_core import to_json

from turnledger.domain.events import (
    ArtifactsDelivered,
    ArtifactsHeld,
    CallHealed,
    DomainEvent,
    MessageAppended,
    PlaceholderReplaced,
    SummaryInserted,
)
from turnledger.projections.consequences import consequences
from turnledger.projections.legible import legible, legible_lines
from turnledger.projections.moment import Moment
from turnledger.projections.timeline import TimelineLine
from turnledger.store import ConversationStore
from turnledger.web.assets import ASSETS
from turnledger.web.rendering import rendered
from turnledger.web.shown import Shown, ShownArtifact, shown, shown_artifact
from turnledger.web.states import Panel, whole_panel
from turnledger.web.tracks import Track

POLICY = "default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'"
STYLES = ("page.css", "messages.css", "export.css")


@dataclass(frozen=True, slots=True)
class Told:
    """One event of the file: its line, what it recorded, what that changed, and the event as it is stored."""

    line: TimelineLine
    message: Shown | None
    artifacts: tuple[ShownArtifact, ...]
    changed: tuple[str, str, str]
    recorded: str


def document(store: ConversationStore, conversation_id: str, *, salvage: bool = False) -> tuple[str, int]:
    """The file's HTML, and how many of the events are damaged.

    Raises `ConversationNotFound`, and `CorruptEvent` for damage; with `salvage` that is told in its place.
    """
    track = Track(conversation_id)
    track.catch_up(store)
    sound = next((place for place, event in enumerate(track.events) if event is None), track.last)
    if not salvage:
        track.moment(track.last)
    styles = Markup("\n".join(ASSETS[name].content.decode() for name in STYLES))
    text = rendered(
        "export.html",
        title=legible(conversation_id),
        styles=styles,
        policy=POLICY.format(_digest(styles)),
        release=version_of("turnledger"),
        head=store.head(conversation_id),
        first=track.lines[0],
        last=track.lines[-1],
        told=_told(track),
        sound=sound,
        panel=_ended(track, sound),
    )
    return text, track.events.count(None)


def _digest(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode()


def _told(track: Track) -> Iterator[Told]:
    moment: Moment | None = Moment()
    for line, event in zip(track.lines, track.events, strict=True):
        if event is None:
            moment = None  # what comes behind damage cannot be folded
            yield Told(line, None, (), ("", "", ""), "")
            continue
        changed = ("", "", "")
        if moment is not None:
            moment.apply(event)
            changed = consequences(moment.row) if moment.row else changed
        yield Told(line, _message(event), _artifacts(event), changed, _recorded(event))


def _recorded(event: DomainEvent) -> str:
    text = to_json({"topic": event.TOPIC, **_fields(event)}, indent=2).decode()
    return "\n".join(legible_lines(text))


def _fields(event: DomainEvent) -> Mapping[str, Any]:
    return {name: getattr(event, name) for name in type(event).__dataclass_fields__}


def _message(event: DomainEvent) -> Shown | None:
    match event:
        case MessageAppended() | SummaryInserted():
            stored = {"role": event.role, "content": event.content, "metadata": event.metadata}
        case PlaceholderReplaced():
            stored = {"role": "tool", "content": event.content, "metadata": event.metadata}
        case CallHealed():
            metadata = {"tool_call_id": event.call_id, "healed": True}
            stored = {"role": "tool", "content": event.content, "metadata": metadata}
        case _:
            return None
    return shown(stored, f"entry {event.entry}")


def _artifacts(event: DomainEvent) -> tuple[ShownArtifact, ...]:
    match event:
        case ArtifactsHeld():
            return tuple(shown_artifact(artifact.plain) for artifact in event.held)
        case ArtifactsDelivered():
            return tuple(shown_artifact(artifact.plain) for artifact in event.new)
    return ()


def _ended(track: Track, sound: int) -> Panel:
    """The buffer as it was at the last version that can be rebuilt."""
    return whole_panel(track.moment(sound))
