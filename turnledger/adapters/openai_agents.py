"""A session of the OpenAI Agents SDK: `agents.memory.Session`, over a store (extra `openai-agents`).

    session = TurnledgerSession("support-7", "conversations.db")
    result = await Runner.run(agent, "Where is my parcel?", session=session)

Items come back as they were given, with reasoning and the service's ids, in a list that the service takes: a
call that nothing answered has a placeholder, a late output takes its place, and what comes a second time is
not kept twice. `pop_item` and `clear_session` are events; every earlier state can still be read. What the
model did between two inputs is one entry, as an import of the same items has it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, cast

from turnledger.adapters.awaiting import Place, awaited
from turnledger.adapters.extras import extra
from turnledger.adapters.openai_agents_calls import without_repeats
from turnledger.adapters.openai_agents_end import end_of
from turnledger.adapters.openai_agents_seen import Seen, caught_up
from turnledger.domain.errors import ConversationNotFound, EntryNotFound, VersionConflict
from turnledger.domain.identifiers import checked_id
from turnledger.domain.messages import call_id
from turnledger.domain.pairing import Item
from turnledger.domain.values import copied
from turnledger.importing.openai_responses import read
from turnledger.importing.reading import as_item, equal, own_ids
from turnledger.projections.buffer import Entry
from turnledger.projections.providers.openai_items import CALLS, REASONING, RESULTS, type_of
from turnledger.projections.providers.openai_messages import fits
from turnledger.projections.providers.openai_order import is_answer, led
from turnledger.projections.providers.openai_responses import items_of
from turnledger.projections.sendable import normalized_items

with extra("openai-agents"):
    from agents.items import TResponseInputItem
    from agents.memory import SessionSettings
    from agents.memory.session_settings import coerce_session_settings, resolve_session_limit

Items = list[dict[str, Any]]
Buffer = Sequence[dict[str, Any]]
Origin = Callable[[Any], Mapping[str, Any]]


class TurnledgerSession:
    """One conversation as a session: `session_id` is its id in the store.

    `store` is a `ConversationStore`, an `AsyncConversationStore`, or a place to open one at, which `close`
    closes again. `origin` is called with the run's `RunContextWrapper` (None outside of a run) for what the
    events are to say of where they come from: any of `turn_id` and `context`.

    `limit` gives the newest items in whole responses: an output never without its call, nor what reasoning
    led to without the reasoning; so there may be fewer.
    """

    def __init__(
        self,
        session_id: str,
        store: Place = ":memory:",
        *,
        session_settings: SessionSettings | dict[str, Any] | None = None,
        origin: Origin | None = None,
    ) -> None:
        self.session_id = checked_id("session_id", session_id)
        self.session_settings: SessionSettings | None = (
            SessionSettings() if session_settings is None else coerce_session_settings(session_settings)
        )
        self._store, self._is_own = awaited(store)
        self._origin = origin or (lambda wrapper: {})

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the store, if it was opened here."""
        if self._is_own:
            await self._store.close()

    async def get_items(self, limit: int | None = None, *, wrapper: Any = None) -> list[TResponseInputItem]:
        """The items, healed; with `limit` the newest, that many at most.

        With a `limit` that is not the settings' own, calls at the end that wait for their outputs stand
        without: the SDK looks at the last items so, to find what it stored, and a placeholder is not that.
        """
        most = resolve_session_limit(limit, self.session_settings)
        looks = limit is not None and limit != resolve_session_limit(None, self.session_settings)
        items = await self._items() if most is None else newest(await self._items(most, waiting=looks), most)
        return cast(list[TResponseInputItem], items)

    async def add_items(self, items: list[TResponseInputItem], *, wrapper: Any = None) -> None:
        """Appends items, all or none; calls and outputs that are known, and answers under their id, are not
        kept twice."""
        given = [dict(item) if isinstance(item, Mapping) else item for item in items]
        origin = self._origin(wrapper) if given else {}
        while True:
            try:
                return await self._add(given, origin)
            except VersionConflict:
                continue

    async def _add(self, given: list[Any], origin: Mapping[str, Any]) -> None:
        comes_once = any(_is_identified(item) or type_of(item) in CALLS for item in given)
        seen = await caught_up(self._store, self.session_id) if comes_once else Seen()
        version = seen.version
        identified = {item["id"] for item in given if _is_identified(item)}
        if identified:
            given = _without_known(given, await self._known(identified, seen))
        messages, anew = without_repeats(seen, [found.message for found in read(given)])
        how: dict[str, Any] = {"reused_ids": "distinct"} if anew else {}
        if comes_once:  # what another writer stored since may be an equal call, or the same item
            how["expected_version"] = version
        if messages:
            await self._store.append(self.session_id, messages, **how, **origin)

    async def pop_item(self, *, wrapper: Any = None) -> TResponseInputItem | None:
        """Takes the newest item back, and gives it; the items of its entry that are older stay."""
        while True:
            try:
                version = await self._store.version(self.session_id)
                entries = await self._store.entries(self.session_id, last=1)
                if not entries:
                    return None
                items = _items_of([_item(entries[-1])])
                await self._store.retract(
                    self.session_id,
                    entries[-1].number,
                    instead=[found.message for found in read(items[:-1])],
                    expected_version=version,
                    **self._origin(wrapper),
                )
            except ConversationNotFound:
                return None
            except (VersionConflict, EntryNotFound):
                continue
            if items:
                return cast(TResponseInputItem, items[-1])

    async def clear_session(self, *, wrapper: Any = None) -> None:
        """Begins the session anew; what is held for its runs stays held."""
        try:
            await self._store.clear(self.session_id, **self._origin(wrapper))
        except ConversationNotFound:
            return

    async def _items(self, most: int | None = None, *, waiting: bool = False) -> Items:
        """The items, healed; with `most` those that a limit of so many can give, and others before them."""

        def shown(buffer: Buffer) -> Items:
            return without_placeholders(healed(buffer), buffer) if waiting else healed(buffer)

        if most is not None:
            seen, count = await caught_up(self._store, self.session_id), max(most, 0) + 1
            while count <= seen.count:
                end = end_of(await self._store.entries(self.session_id, last=count), seen)
                if end and len(items := shown(end)) > most:
                    return items
                count *= 2
        return shown(await self._buffer())

    async def _known(self, ids: set[str], seen: Seen) -> Items:
        """The items of the turns that an item with one of these ids stands in, as they are shown.

        Of the last turn all: what its reasoning leads to may be on its way. Elsewhere reasoning at a turn's
        end is shown by what the whole list has behind it.
        """
        found: Items = []
        for turn in seen.named(ids):
            items = _items_of([as_item(turn.stored)])
            if turn is not seen.last and items and type_of(items[-1]) == REASONING:
                found += healed(await self._buffer())
            found += items if turn is seen.last else led(items)
        return found

    async def _buffer(self) -> Buffer:
        try:
            found: Buffer = await self._store.buffer(self.session_id)
        except ConversationNotFound:
            return []
        return found


def healed(buffer: Buffer) -> Items:
    """The items of a buffer as they are given to a run."""
    items, _ = normalized_items(buffer)
    return led(_items_of(items))


def without_placeholders(items: Items, buffer: Buffer) -> Items:
    """The items without the outputs at their end that no entry is."""
    answered = {call_id(stored["metadata"].get("tool_call_id")) for stored in buffer}
    end = len(items)
    while end and type_of(items[end - 1]) in RESULTS:
        end -= 1
    return items[:end] + [item for item in items[end:] if item.get("call_id") in answered]


def newest(items: Items, limit: int) -> Items:
    """The newest items, at most so many, beginning where a list can begin."""
    first = max(len(items) - limit, 0)
    while first < len(items) and not _can_begin(items, first):
        first += 1
    return items[first:]


def _can_begin(items: Sequence[dict[str, Any]], place: int) -> bool:
    """Whether what stands before a place can be left away: no call of an output behind it, and no reasoning
    of the response that it would cut into."""
    item = items[place]
    if type_of(item) in RESULTS:
        return False
    before = items[place - 1] if place else {}
    if type_of(item) == REASONING:
        return type_of(before) != REASONING
    if not is_answer(item):
        return True
    while place and (is_answer(items[place - 1]) or type_of(items[place - 1]) == REASONING):
        place -= 1
        if type_of(items[place]) == REASONING or _is_call(items[place]):
            return False
    return True


def _is_call(item: Mapping[str, Any]) -> bool:
    return f"{type_of(item)}_output" in RESULTS


def _is_identified(item: Any) -> bool:
    """Whether an item is one with the service's own id that comes once: an answer, reasoning, what a tool
    of the service's did.

    A call has its own rule; an id that a program made up says nothing.
    """
    kind = type_of(item)
    if kind in CALLS or kind in RESULTS or kind in ("", "item_reference"):
        return False
    is_the_user_s = kind == "message" and item.get("role") != "assistant"
    return not is_the_user_s and fits(item.get("id"), kind)


def _without_known(given: list[Any], known: Items) -> list[Any]:
    """The items without those that come once and are known, or came before among them."""
    left = []
    for item in given:
        if _is_identified(item):
            if any(one.get("id") == item["id"] and equal(one, item) for one in known):
                continue
            known = [*known, item]
        left.append(item)
    return left


def _item(entry: Entry) -> Item:
    return as_item(entry.stored)


def _items_of(items: Sequence[Item]) -> Items:
    """The items of the service, its messages as they were given."""
    ids = {own: own for item in items for own in own_ids(item)}
    return list(items_of(items, ids, copied))
