"""The normalized list of a growing buffer, at the cost of its end: equal to `normalize` at every version.

What stands before the last unanswered call can change only in ways that are seen here: it is settled, and
kept as flat messages; as items too, with their content as given, once a provider's shape was asked for. The
rest, mostly one or two entries, is normalized at each reading.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Any

from turnledger.domain.events import (
    ConversationCleared,
    DomainEvent,
    EntriesEvicted,
    EntryRetracted,
    PlaceholderReplaced,
    SummaryInserted,
)
from turnledger.domain.pairing import Drop, Item, coerced, in_order, item_of
from turnledger.projections.buffer import BufferView
from turnledger.projections.plain import PlainStretch
from turnledger.projections.settled_items import SettledItems, repaired_behind
from turnledger.projections.settling import answered_up_to, touches

Flat = dict[str, Any]
_MOVING = (EntriesEvicted, SummaryInserted, EntryRetracted, ConversationCleared)
Stretches = tuple[list[Flat], list[Flat], list[Flat], list[Flat]]


class SendableView:
    """A fold beside a `BufferView` of the same events."""

    def __init__(self) -> None:
        self._at_work = False
        self._forget()

    def _forget(self) -> None:
        self._count = 0
        self._systems: list[Flat] = []
        self._others: list[Flat] = []
        self._drops: list[Drop] = []
        self._declared: set[str] = set()
        self._orphans: set[str] = set()
        self._place_of: dict[int, int] = {}
        self._items: SettledItems | None = None

    def apply(self, event: DomainEvent) -> None:
        """Sees to what an event changes before the end; call it before the buffer view has applied it."""
        if isinstance(event, _MOVING):
            self._forget()
        elif isinstance(event, PlaceholderReplaced) and event.entry in self._place_of:
            place = self._place_of.pop(event.entry)
            stored = {"role": "tool", "content": event.content, "metadata": event.metadata}
            answer = item_of(0, stored, "tool", [])
            if answer.call_id == self._others[place]["tool_call_id"]:
                self._others[place] = answer.flat()
                if self._items is not None:
                    self._items.replace(place, answer)
            else:  # in a log that is not sound
                self._forget()

    def read(self, buffer: BufferView) -> tuple[list[Flat], list[Drop]]:
        """The normalized list, sharing its messages with this view, and the drops."""
        stretches, drops = self.stretches(buffer)
        return [*stretches[0], *stretches[1], *stretches[2], *stretches[3]], drops

    def items(self, buffer: BufferView) -> tuple[list[Item], list[Drop]]:
        """The same list as items, sharing them with this view: what a provider's rendering is made of."""
        self.stretches(buffer)
        self._at_work = True
        if self._items is None:
            self._items = SettledItems()
        settled = self._items
        coming, _ = self._coerced(buffer, settled.count, self._count)
        settled.take(coming, self._count)
        rest, drops = self._coerced(buffer, self._count)
        systems, others = self._normalized(rest, drops)
        self._at_work = False
        return [*settled.systems, *systems, *settled.others, *others], self._drops + in_order(drops)

    def unsettled(self, buffer: BufferView) -> int:
        """How many entries a reading has to look at."""
        return len(buffer) - self._count

    def stretches(self, buffer: BufferView) -> tuple[Stretches, list[Drop]]:
        """The same list in four stretches: system messages, settled and not, then others, settled and not.

        The settled ones are this view's own lists: they grow at their end; an event that changes what stands
        in one either changes it there (a replacement) or leaves it for a new list.
        """
        if self._at_work:
            self._forget()  # an interrupt fell into the last reading
        self._at_work = True
        stretches, drops = self._settled(buffer)
        self._at_work = False
        return stretches, drops

    def _settled(self, buffer: BufferView) -> tuple[Stretches, list[Drop]]:
        """Settles what can be; a fault in between leaves something that is half settled."""
        if self._count < len(buffer):
            tail = self._settle_plain(buffer)
            if tail is not None:
                return (self._systems, [], self._others, tail), self._drops.copy()
        if self._count == len(buffer):
            return (self._systems, [], self._others, []), self._drops.copy()
        items, drops = self._coerced(buffer, self._count)
        if items and self._settle(buffer, items, drops):
            items, drops = self._coerced(buffer, self._count)
        if self._touches_what_is_settled(items):
            self._forget()
            items, drops = self._coerced(buffer)
        systems, others = self._normalized(items, drops)
        stretches = (
            self._systems,
            [item.flat() for item in systems],
            self._others,
            [item.flat() for item in others],
        )
        return stretches, self._drops + in_order(drops)

    def _settle_plain(self, buffer: BufferView) -> list[Flat] | None:
        """Settles the stretch that is sendable as it stands: what most conversations are, at little cost.

        What is sent behind it, if only a turn stands there that waits for results; None where more does.
        """
        stretch = PlainStretch(self._declared, self._orphans)
        stretch.take(buffer.plain_rows(self._count))
        for number, place in stretch.placeholders:
            self._place_of[number] = len(self._others) + place
        self._systems += stretch.systems
        self._others += stretch.others
        self._declared |= stretch.declared
        self._count += stretch.count
        return stretch.tail

    def _coerced(
        self, buffer: BufferView, first: int = 0, end: int | None = None
    ) -> tuple[list[Item], list[Drop]]:
        """The entries from a position on, coerced."""
        drops: list[Drop] = []
        stored = (row.stored for row in islice(buffer.rows(first), None if end is None else end - first))
        return coerced(stored, drops, first=first), drops

    def _touches_what_is_settled(self, items: Sequence[Item]) -> bool:
        """Whether an item changes what is settled."""
        return bool(self._count) and touches(items, self._declared, self._orphans)

    def _settle(self, buffer: BufferView, items: list[Item], drops: list[Drop]) -> bool:
        """Settles the longest stretch that leaves no call unanswered, if nothing in it touches what was."""
        cut = answered_up_to(items, self._declared)
        if not cut or self._touches_what_is_settled(items[:cut]):
            return False
        settled_drops = [drop for drop in drops if drop.index < self._count + cut]
        declared = {call.call_id for item in items[:cut] for call in item.calls}
        answered = {item.call_id for item in items[:cut] if item.call_id is not None}
        systems, others = self._normalized(items[:cut], settled_drops)
        for place, item in enumerate(others, start=len(self._others)):
            if item.healed:
                self._place_of[buffer.rows(item.index)[0].number] = place
        self._systems += [item.flat() for item in systems]
        self._others += [item.flat() for item in others]
        self._drops += in_order(settled_drops)
        self._declared |= declared
        self._orphans |= answered - self._declared
        self._count += cut
        return True

    def _normalized(self, items: list[Item], drops: list[Drop]) -> tuple[list[Item], list[Item]]:
        """System and other items behind what is settled, repaired."""
        return repaired_behind(items, drops, self._declared, leads=not self._others)
