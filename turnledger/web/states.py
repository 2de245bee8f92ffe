"""The state at a version as one tab shows it: which messages, in which window, and what is marked on them."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnledger.domain.delivering import Take
from turnledger.domain.events import ArtifactsDelivered
from turnledger.domain.messages import PLACEHOLDER_TEXT, SYSTEM_ROLES, call_id
from turnledger.domain.pairing import EMPTY_TURN, NO_MAP, NO_ROLE, Drop
from turnledger.projections.buffer import Row
from turnledger.projections.history import HistoryRow
from turnledger.projections.legible import legible
from turnledger.projections.moment import Moment
from turnledger.projections.wire import wire_message
from turnledger.web.shown import Mark, Shown, ShownArtifact, origin, shown, shown_artifact

WINDOW = 60
_GONE = (NO_MAP, NO_ROLE, EMPTY_TURN)


@dataclass(frozen=True, slots=True)
class Window:
    """The part of a list that is shown: items `first` to `end` of `length`, counted from 0."""

    first: int
    end: int
    length: int

    @classmethod
    def around(cls, length: int, focus: int | None, asked: int | None) -> "Window":
        """The window that begins where it was asked to, or holds what changed, or the end of the list."""
        if asked is not None:
            first = min(asked, length)
        else:
            middle = length if focus is None else focus + WINDOW // 2
            first = max(0, min(middle, length) - WINDOW)
        return cls(first, min(first + WINDOW, length), length)

    @property
    def earlier(self) -> int | None:
        return max(0, self.first - WINDOW) if self.first else None

    @property
    def later(self) -> int | None:
        return self.end if self.end < self.length else None


@dataclass(frozen=True, slots=True)
class Panel:
    """What a tab shows: messages or artifacts in a window, and notes below them."""

    window: Window
    items: Sequence[Shown] = ()
    artifacts: Sequence[ShownArtifact] = ()
    takes: Sequence[tuple[str, Sequence[ShownArtifact]]] = ()
    notes: Sequence[str] = ()
    empty: str = ""


def buffer_panel(moment: Moment, asked: int | None) -> Panel:
    """The stored buffer."""
    return _of_rows(moment, asked, lambda row: row.stored, "The buffer is empty.")


def whole_panel(moment: Moment) -> Panel:
    """All of the buffer with what was delivered on it, and nothing marked as new."""
    marks, names = _Marks(moment, tells=False), moment.names()
    items = [_item(row, wire_message(row, moment.artifacts), marks, names) for row in moment.buffer.rows()]
    return Panel(Window(0, len(items), len(items)), items, empty="The buffer is empty.")


def wire_panel(moment: Moment, asked: int | None) -> Panel:
    """What a client of the runtime sees."""
    return _of_rows(
        moment, asked, lambda row: wire_message(row, moment.artifacts), "A client sees nothing yet."
    )


def _of_rows(moment: Moment, asked: int | None, shape: Callable[[Row], dict[str, Any]], empty: str) -> Panel:
    marks, names = _Marks(moment), moment.names()
    rows = moment.buffer.rows()
    changed = [place for place, row in enumerate(rows) if row.number in marks.touched]
    window = Window.around(len(rows), changed[0] if changed else None, asked)
    items = [_item(row, shape(row), marks, names) for row in rows[window.first : window.end]]
    return Panel(window, items, empty=empty)


def _item(row: Row, message: Mapping[str, Any], marks: "_Marks", names: Mapping[str, str]) -> Shown:
    detail = origin(row.turn_id, row.execution_id)
    return shown(message, f"entry {row.number}", marks=marks.on(row.number), detail=detail, names=names)


class _Marks:
    """What is to be said of entries: what the last event did to them, what an earlier one had done."""

    def __init__(self, moment: Moment, *, tells: bool = True) -> None:
        self._moment = moment
        row = moment.row if tells else None
        change = row.buffer if row else None
        self.added = frozenset(change.added if change else ())
        self.replaced = frozenset(change.replaced if change else ())
        self.moved = frozenset(change.moved if change else ())
        self.delivered = _delivered_on(row)
        self.touched: Collection[int] = self.added | self.replaced | self.delivered

    def on(self, entry: int) -> Iterator[Mark]:
        moment = self._moment
        if entry in self.added:
            yield Mark("new here", "changed")
        if entry in self.replaced:
            yield Mark("replaced here", "changed")
        if entry in self.delivered:
            yield Mark("delivered here", "changed")
        if entry in self.moved:
            yield Mark("moved back", "moved")
        if (replaced := moment.replaced.get(entry)) is not None:
            yield Mark(f"real result{_since(replaced, moment)}", "replaced")
        elif (healed := moment.healed.get(entry)) is not None:
            yield Mark(f"placeholder{_since(healed, moment)}", "healed")


def _since(version: int, moment: Moment) -> str:
    return "" if version == moment.version else f" since version {version}"


def _delivered_on(row: HistoryRow | None) -> frozenset[int]:
    event = row.event if row else None
    entry = event.entry if isinstance(event, ArtifactsDelivered) else None
    return frozenset() if entry is None else frozenset([entry])


def sendable_panel(moment: Moment, asked: int | None) -> Panel:
    """The list that a provider accepts, each message with the entry that it was, and what was left out."""
    messages, drops = moment.sendable()
    rows = moment.buffer.rows()
    entries = entries_of(messages, rows, drops)
    marks, names = _Marks(moment), moment.names()
    change = moment.row.sendable if moment.row else None
    first = change.first_changed if change else None
    new = range(first, first + change.added) if change and first is not None else range(0)
    window = Window.around(len(messages), first, asked)
    items = []
    for place in range(window.first, window.end):
        entry = entries[place]
        told = [Mark("new in the list", "changed")] if place in new else []
        if entry is not None:
            told += [mark for mark in marks.on(entry) if mark.kind in ("healed", "replaced")]
        elif messages[place].get("content") == PLACEHOLDER_TEXT:
            told.append(Mark("stands in, recorded nowhere", "healed"))
        detail = "" if entry is None else f"entry {entry}"
        items.append(shown(messages[place], f"position {place}", marks=told, detail=detail, names=names))
    return Panel(
        window, items, notes=[_left_out(drop, rows) for drop in drops], empty="There is nothing to send yet."
    )


def entries_of(
    messages: Sequence[Mapping[str, Any]], rows: Sequence[Row], drops: Sequence[Drop]
) -> list[int | None]:
    """The entry that each sendable message was; None for one that normalization made.

    Results are found by their call; the others keep their order, system messages for themselves.
    """
    gone = {drop.index for drop in drops if drop.reason in _GONE}
    kept = [row for place, row in enumerate(rows) if place not in gone]
    results: dict[str | None, int] = {}
    for row in kept:
        if row.role == "tool":
            results.setdefault(call_id(row.metadata.get("tool_call_id")), row.number)
    others = {
        True: (row.number for row in kept if row.role in SYSTEM_ROLES),
        False: (row.number for row in kept if row.role not in (*SYSTEM_ROLES, "tool")),
    }
    return [
        results.get(message.get("tool_call_id"))
        if message["role"] == "tool"
        else next(others[message["role"] in SYSTEM_ROLES], None)
        for message in messages
    ]


def _left_out(drop: Drop, rows: Sequence[Row]) -> str:
    call = f" ({legible(drop.call_id)})" if drop.call_id else ""
    return f"entry {rows[drop.index].number}{call} is left out: {drop.reason}"


def held_panel(moment: Moment, asked: int | None) -> Panel:
    """What runs hold, and what is in open takes; no client or model sees any of it."""
    joined = frozenset(moment.row.held.added if moment.row else ())
    held = moment.artifacts.held()
    window = Window.around(len(held), None, asked)
    artifacts = [
        shown_artifact(
            artifact,
            detail=origin(artifact.turn_id, artifact.execution_id),
            marks=[Mark("new here", "changed")] if artifact.artifact_id in joined else (),
        )
        for artifact in held[window.first : window.end]
    ]
    takes = [
        (_named(take), [shown_artifact(artifact) for artifact in take.artifacts])
        for take in moment.artifacts.open_takes("")
    ]
    return Panel(window, artifacts=artifacts, takes=takes, empty="" if takes else "Nothing is held.")


def _named(take: Take) -> str:
    return f"take {legible(take.take_id or '')} of {legible(take.execution_id)}, since version {take.version}"
