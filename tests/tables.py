"""What the tables of read models must hold, worked out from projections, events and the face."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from pydantic_core import from_json

from turnledger import (
    ArtifactsDelivered,
    CallHealed,
    ConversationCleared,
    ConversationForked,
    ConversationNotFound,
    ConversationStore,
    DomainEvent,
    EntriesEvicted,
    EntryRetracted,
    MessageAppended,
    PlaceholderReplaced,
    ReadModels,
)
from turnledger.domain.messages import call_id
from turnledger.infrastructure.following import Position
from turnledger.projections.held import ArtifactsView
from turnledger.projections.sendable import normalized_items
from turnledger.projections.timeline import timeline


class UpTo:
    """A log as it was when it had so many rows: what a follower sees that looked then."""

    def __init__(self, log: Any, to: int) -> None:
        self._log, self.to = log, to

    def last(self) -> int:
        return min(int(self._log.last()), self.to)

    def behind(self, position: int) -> list[Position]:
        return [one for one in self._log.behind(position) if one.position <= self.to]

    def at(self, position: int) -> Any:
        return self._log.at(position) if position <= self.to else None

    def wait(self, position: int, stop: Any, timeout_s: float) -> None:
        raise AssertionError("nothing is waited for here")

    def close(self) -> None:
        self._log.close()


def following(store: ConversationStore, to: int) -> tuple[ReadModels, UpTo]:
    """Read models in memory, of the first `to` events of a store; how many may be changed."""
    models = store.read_models(":memory:")
    log = UpTo(models._followed, to)
    models._followed = log
    return models, log


def assert_tables_show(models: ReadModels, store: ConversationStore, conversation_id: str, at: int) -> None:
    """Every table says of a conversation at a version what the projections say."""
    events = list(store.events(conversation_id, to=at))
    where = "WHERE conversation_id = ?"

    def rows(statement: str, *more: Any) -> list[dict[str, Any]]:
        return list(models.rows(statement, (conversation_id, *more)))

    (one,) = rows(f"SELECT * FROM conversations {where}")
    entries = store.entries(conversation_id, at=at)
    assert (one["version"], one["entries"], one["damaged"]) == (at, len(entries), None)
    assert (one["started_at"], one["updated_at"]) == (text_of(events[0].time), text_of(events[-1].time))

    standing = rows(f"SELECT * FROM entries {where} AND position IS NOT NULL ORDER BY position")
    assert [row["position"] for row in standing] == list(range(len(entries)))
    places = places_of([entry.stored for entry in entries])
    messages = store.sendable(conversation_id, at=at).messages
    for row, entry in zip(standing, entries, strict=True):
        assert (row["entry"], row["role"], row["version"]) == (entry.number, entry.role, entry.version)
        assert (row["turn_id"], row["execution_id"]) == (entry.turn_id, entry.execution_id)
        assert row["time"] == text_of(entry.time)
        assert row["sendable_position"] == places.get(entry.position), entry.number
        if row["sendable_position"] is not None:
            assert messages[row["sendable_position"]]["role"] == entry.role
        if isinstance(entry.content, str):
            assert (row["text"], row["content"]) == (entry.content, None)
    gone = {row["entry"]: row["state"] for row in rows(f"SELECT * FROM entries {where} AND position IS NULL")}
    assert gone == dict(left(events))
    assert {row["entry"]: row["state"] for row in standing} == {
        entry.number: state_of(entry, events) for entry in entries
    }

    with store._application.reading(conversation_id, at, whole=True) as live:
        waiting = rows(f"SELECT call_id FROM calls {where} AND state = 'open'")
        assert {row["call_id"] for row in waiting} == set(live.conversation.open_calls)
        requests = live.conversation.requests
    calls = rows(f"SELECT * FROM calls {where} AND state IN ('answered', 'healed')")
    known = known_still(events)
    answers = dict(answers_of(known))
    assert {c["call_id"]: (c["state"], c["answered_at"]) for c in calls} == {
        declared: answers[declared] for declared in answers if declared in declared_in(known)
    }

    held = rows(f"SELECT * FROM artifacts {where} AND place = 'held' ORDER BY execution_id, place_order")
    shown = sorted(store.held(conversation_id, at=at), key=lambda artifact: str(artifact.execution_id))
    assert [row["artifact_id"] for row in held] == [artifact.artifact_id for artifact in shown]
    view = ArtifactsView()
    for event in events:
        view.apply(event)
    takes = rows(f"SELECT * FROM takes {where} AND state = 'open' ORDER BY taken_version")
    assert [t["take_id"] for t in takes] == [t.take_id for t in view.open_takes(conversation_id)]
    on_entries = [
        event for event in events if isinstance(event, ArtifactsDelivered) and event.entry is not None
    ]
    delivered = rows(
        "SELECT artifact_id, entry FROM artifacts JOIN entries USING (entry_id)"
        " WHERE artifacts.conversation_id = ? AND place = 'delivered' ORDER BY since_version, place_order"
    )
    assert [(row["artifact_id"], row["entry"]) for row in delivered] == [
        (artifact_id, event.entry) for event in on_entries for artifact_id in event.delivered
    ]
    assert len(rows(f"SELECT * FROM requests {where}")) == requests
    kept = rows(f"SELECT * FROM records {where} AND cleared_version IS NULL ORDER BY version")
    assert [(row["kind"], row["key"], row["version"], from_json(row["value"])) for row in kept] == [
        (one.kind, one.key, one.version, one.value) for one in store.records(conversation_id, at=at)
    ]
    lines = rows(f"SELECT version, kind, text FROM events {where} ORDER BY version")
    assert [tuple(line.values()) for line in lines] == [
        (line.version, line.kind, line.text) for line in timeline(events)
    ]


def text_of(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"


def places_of(stored: list[dict[str, Any]]) -> dict[int, int]:
    """The place of each entry in the normalized list, by its position in the buffer."""
    items, _ = normalized_items(stored)
    return {item.index: place for place, item in enumerate(items) if item.role == stored[item.index]["role"]}


def left(events: list[DomainEvent]) -> Iterator[tuple[int, str]]:
    """Entries that are not in the buffer, with why; the last word on one counts."""
    added: set[int] = set()
    for event in events:
        added |= numbers_in(event)
        if isinstance(event, EntryRetracted):
            added.discard(event.entry)
            yield event.entry, "retracted"
        if isinstance(event, ConversationCleared):
            yield from ((entry, "cleared") for entry in added)
            added.clear()
        if isinstance(event, EntriesEvicted):
            for entry in event.evicted:
                yield entry, "compacted" if event.batch == event.version else "evicted"
        if isinstance(event, ConversationForked):
            for carried in event.entries:
                if carried.entry not in event.buffer:
                    yield carried.entry, "evicted"


def numbers_in(event: DomainEvent) -> set[int]:
    """The entries that an event added."""
    if isinstance(event, ConversationForked):
        return {carried.entry for carried in event.entries}
    return set() if isinstance(event, EntryRetracted) else {getattr(event, "entry", None)} - {None}  # type: ignore[return-value]


def known_still(events: list[DomainEvent]) -> list[DomainEvent]:
    """The events without what was taken back or cleared away later."""
    known: list[DomainEvent] = []
    for event in events:
        if isinstance(event, ConversationCleared):
            known.clear()
        elif isinstance(event, EntryRetracted):
            known = [without(event.entry, one) for one in known if getattr(one, "entry", None) != event.entry]
        else:
            known.append(event)
    return known


def without(entry: int, event: DomainEvent) -> DomainEvent:
    if not isinstance(event, ConversationForked):
        return event
    return replace(event, entries=[carried for carried in event.entries if carried.entry != entry])


def state_of(entry: Any, events: list[DomainEvent]) -> str:
    if any(type(e).__name__ == "SummaryInserted" and e.entry == entry.number for e in events):  # type: ignore[attr-defined]
        return "summary"
    if any(isinstance(e, PlaceholderReplaced) and e.entry == entry.number for e in events):
        return "replaced"
    first = events[0]
    if isinstance(first, ConversationForked) and any(
        carried.summary for carried in first.entries if carried.entry == entry.number
    ):
        return "summary"
    return "placeholder" if entry.role == "tool" and entry.metadata.get("healed") is True else "standing"


def declared_in(events: list[DomainEvent]) -> set[str]:
    found: set[str] = set()
    for event in events:
        for message in event.entries if isinstance(event, ConversationForked) else [event]:
            if getattr(message, "role", None) == "assistant" and not getattr(message, "summary", False):
                for call in message.metadata.get("tool_calls", ()):  # type: ignore[union-attr]
                    declared = call_id(call.get("tool_call_id")) or call_id(call.get("id"))
                    if declared:
                        found.add(declared)
    return found


def answers_of(events: list[DomainEvent]) -> Iterator[tuple[str, tuple[str, str | None]]]:
    """Each answered id with how it stands: the first real result, else a placeholder."""
    real: set[str] = set()
    for event in events:
        for message in event.entries if isinstance(event, ConversationForked) else [event]:
            if isinstance(message, CallHealed):
                answered, healed = call_id(message.call_id), True
            elif isinstance(message, PlaceholderReplaced):
                answered, healed = call_id(message.metadata.get("tool_call_id")), False
            elif isinstance(message, MessageAppended) or hasattr(message, "summary"):
                if message.role != "tool":  # type: ignore[union-attr]
                    continue
                answered = call_id(message.metadata.get("tool_call_id"))  # type: ignore[union-attr]
                healed = message.metadata.get("healed") is True  # type: ignore[union-attr]
            else:
                continue
            if answered is None or answered in real:
                continue
            if healed:
                yield answered, ("healed", None)
            else:
                real.add(answered)
                yield answered, ("answered", text_of(message.time))


def all_conversations(store: ConversationStore) -> list[str]:
    try:
        return [one.conversation_id for one in store.conversations()]
    except ConversationNotFound:
        return []
