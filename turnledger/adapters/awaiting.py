"""A store for code that awaits: one that is given, of either kind, or one opened at a place."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import wraps
from itertools import islice
from typing import Any, TypeVar

from turnledger.aio import PAGE_ITEMS, AsyncConversationStore
from turnledger.domain.errors import ConversationNotFound
from turnledger.projections.buffer import Entry
from turnledger.store import ConversationStore

Place = ConversationStore | AsyncConversationStore | str | bytes | os.PathLike[str]
T = TypeVar("T")


async def ended(call: Awaitable[T]) -> T:
    """What a store's call gives. A cancellation goes on when the call is over: what is read next shows it."""
    work = asyncio.ensure_future(call)
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled from None if work.cancelled() else work.exception()
    return work.result()


class Threads:
    """A `ConversationStore` whose methods are awaited, each in a thread of asyncio's own, to its end."""

    def __init__(self, store: ConversationStore) -> None:
        self.blocking = store

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self.blocking, name)

        @wraps(method)
        async def call(*args: Any, **options: Any) -> Any:
            return await ended(asyncio.to_thread(method, *args, **options))

        return call

    def conversations(self, **asked: Any) -> AsyncIterator[Any]:
        """The summaries, a page at a time."""
        return _paged(lambda: self.blocking.conversations(**asked))

    def events(self, conversation_id: str, **asked: Any) -> AsyncIterator[Any]:
        """The events, a page at a time."""
        return _paged(lambda: self.blocking.events(conversation_id, **asked))


async def _paged(opened: Callable[[], Iterator[T]]) -> AsyncIterator[T]:
    found = await asyncio.to_thread(opened)
    while page := await asyncio.to_thread(lambda: list(islice(found, PAGE_ITEMS))):
        for item in page:
            yield item


async def seen(store: Any, conversation_id: str) -> tuple[int, list[Entry]]:
    """The entries of a conversation and a version that they are of at least, to be expected by a writing."""
    try:
        version = await store.version(conversation_id)
        return version, await store.entries(conversation_id)
    except ConversationNotFound:
        return 0, []


def awaited(store: Place) -> tuple[Any, bool]:
    """The store, awaited, and whether it was opened here and is to be closed here."""
    if isinstance(store, ConversationStore):
        return Threads(store), False
    if isinstance(store, AsyncConversationStore):
        return store, False
    return AsyncConversationStore(store), True
