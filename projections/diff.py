"""What differs between two versions, message by message, and where a provider's prompt cache stops matching.

Pure: it compares two lists, and finds the cause among the events between them. Which lists, and which
events lie between, is for who reads the log.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal, NamedTuple, Protocol

from turnledger.domain.events import DomainEvent
from turnledger.domain.values import canonical
from turnledger.projections.buffer import BufferView
from turnledger.projections.held import ArtifactsView
from turnledger.projections.history import changed_stretch
from turnledger.projections.sendable_view import SendableView

Of = Literal["sendable", "buffer", "held"]
OF: tuple[Of, ...] = ("sendable", "buffer", "held")
Stretch = tuple[Iterable[DomainEvent], int]


@dataclass(frozen=True, slots=True)
class Difference:
    """One item that differs: a message, or a held artifact.

    `before` and `after` are its positions (from 0) in the two lists, `old` and `new` what stands there: flat
    messages (`of="sendable"`), messages in the stored shape with their number as `entry` ("buffer"), or
    artifacts as `held` gives them ("held"). An added item has no `before` and `old`, a removed one no `after`
    and `new`.
    """

    kind: Literal["added", "removed", "replaced"]
    before: int | None
    after: int | None
    old: dict[str, Any] | None
    new: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Diff:
    """What differs between version `a` of a conversation and version `b`, of it or of `other`.

    `first_changed` is the first position at which the two lists differ, and so the number of items that both
    begin with: behind it nothing of a prompt cache of `a`'s list serves `b`'s. Where `b`'s list only goes on
    where `a`'s ended, it is `a`'s length (all of the cache serves, `appends_only` is true); it is None only
    where the lists are equal. `cause` is the event that changed that position: going from `a` to `b`, the
    first after which it no longer holds what it held. `length_a` and `length_b` are the lengths of the lists.
    """

    conversation_id: str
    a: int
    b: int
    of: Of
    other: str | None
    differences: tuple[Difference, ...]
    first_changed: int | None
    cause: DomainEvent | None
    length_a: int
    length_b: int

    @property
    def appends_only(self) -> bool:
        """Whether `b`'s list begins with the whole of `a`'s."""
        return self.first_changed in (None, self.length_a)


class _Item(NamedTuple):
    """One item of a list: what makes it the same one in another list, and what it says."""

    key: Any
    shown: dict[str, Any]


class Compared(Protocol):
    """A fold of one of the three lists."""

    def apply(self, event: DomainEvent) -> None: ...
    def items(self, newest: int) -> list[_Item]:
        """The list; entries up to number `newest` are those of a common past."""
        ...

    def at(self, position: int) -> Any:
        """What stands at a position, as something to compare; None behind the end."""
        ...


class _Buffer:
    def __init__(self) -> None:
        self.view = BufferView()

    def apply(self, event: DomainEvent) -> None:
        self.view.apply(event)

    def items(self, newest: int) -> list[_Item]:
        return [
            _Item(
                (row.number, None if row.number <= newest else id(self)), {"entry": row.number, **row.stored}
            )
            for row in self.view.rows()
        ]

    def at(self, position: int) -> Any:
        row = self.view.row_at(position)
        return row and (row.number, row.stored)


class _Sendable(_Buffer):
    def __init__(self) -> None:
        super().__init__()
        self.sent = SendableView()

    def apply(self, event: DomainEvent) -> None:
        self.sent.apply(event)
        super().apply(event)

    def items(self, newest: int) -> list[_Item]:
        messages, _ = self.sent.read(self.view)
        return [_Item(canonical(message), message) for message in messages]

    def at(self, position: int) -> Any:
        for stretch in self.sent.stretches(self.view)[0]:
            if position < len(stretch):
                return canonical(stretch[position])
            position -= len(stretch)
        return None


class _Held:
    def __init__(self) -> None:
        self.view = ArtifactsView()

    def apply(self, event: DomainEvent) -> None:
        self.view.apply(event)

    def items(self, newest: int) -> list[_Item]:
        return [_Item(artifact.artifact_id, artifact) for artifact in self.view.held()]

    def at(self, position: int) -> Any:
        held = self.view.held()
        return held[position].artifact_id if position < len(held) else None


_FOLDS: Mapping[Of, Callable[[], Compared]] = {"sendable": _Sendable, "buffer": _Buffer, "held": _Held}


def compared(of: Of, events: Iterable[DomainEvent] = ()) -> Compared:
    """The fold of a list, fed with events from the first one on."""
    fold = _FOLDS[of]()
    for event in events:
        fold.apply(event)
    return fold


def changing(of: Of, stretches: Iterable[Stretch], position: int, before: Any) -> DomainEvent | None:
    """The first event, going through these stretches of logs, after which the position holds not `before`.

    A stretch is the events of one conversation from its first on, and the version behind which it is asked.
    """
    for events, after in stretches:
        fold = compared(of)
        for event in events:
            fold.apply(event)
            if event.version > after and fold.at(position) != before:
                return event
    return None


def differences(
    before: Sequence[_Item], after: Sequence[_Item], *, pairs: bool
) -> tuple[list[Difference], int | None]:
    """What differs between two lists, and the first position at which they do.

    With `pairs` one item may stand for another that is not the same: messages have nothing but their text.
    """
    first, last = changed_stretch(before, after)
    olds, news = before[first : len(before) - last], after[first : len(after) - last]
    if not olds and not news:
        return [], None
    blocks = SequenceMatcher(None, [i.key for i in olds], [i.key for i in news], autojunk=False).get_opcodes()
    found: list[Difference] = []
    for tag, a, a_end, b, b_end in blocks:
        paired = min(a_end - a, b_end - b) if pairs or tag != "replace" else 0
        found += [
            Difference("replaced", first + a + n, first + b + n, olds[a + n].shown, news[b + n].shown)
            for n in range(paired)
            if olds[a + n] != news[b + n]
        ]
        found += [
            Difference("removed", first + n, None, olds[n].shown, None) for n in range(a + paired, a_end)
        ]
        found += [Difference("added", None, first + n, None, news[n].shown) for n in range(b + paired, b_end)]
    return found, first
