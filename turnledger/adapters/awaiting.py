"""A store for code that awaits: one that is given, of either kind, or one opened at a place."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import wraps
from itertools import islice
from typing import Any, TypeVar

from turnledger.aio import PAGE_ITEMS, AsyncConversationStore
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

    async def conversations(self, **asked: Any) -> AsyncIterator[Any]:
        """The summaries, a page at a time."""
        async for summary in _paged(self.blocking.conversations(**asked)):
            yield summary

    async def events(self, conversation_id: str, **asked: Any) -> AsyncIterator[Any]:
        """The events, a page at a time."""
        async for event in _paged(self.blocking.events(conversation_id, **asked)):
            yield event


async def _paged(found: Iterator[T]) -> AsyncIterator[T]:
    """What an iteration gives, a page at a time, from a thread."""
    while page := await asyncio.to_thread(lambda: list(islice(found, PAGE_ITEMS))):
        for one in page:
            yield one


def awaited(store: Place) -> tuple[Any, bool]:
    """The store, awaited, and whether it was opened here and is to be closed here."""
    if isinstance(store, ConversationStore):
        return Threads(store), False
    if isinstance(store, AsyncConversationStore):
        return store, False
    return AsyncConversationStore(store), True
