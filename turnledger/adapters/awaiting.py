"""A store for code that awaits: one that is given, of either kind, or one opened at a place."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from itertools import islice
from typing import Any

from turnledger.aio import PAGE_ITEMS, AsyncConversationStore
from turnledger.store import ConversationStore

Place = ConversationStore | AsyncConversationStore | str | bytes | os.PathLike[str]


class Threads:
    """A `ConversationStore` whose methods are awaited, each in a thread of asyncio's own."""

    def __init__(self, store: ConversationStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        return partial(asyncio.to_thread, getattr(self._store, name))

    async def conversations(self, **asked: Any) -> AsyncIterator[Any]:
        """The summaries, a page at a time."""
        found = self._store.conversations(**asked)
        while page := await asyncio.to_thread(lambda: list(islice(found, PAGE_ITEMS))):
            for summary in page:
                yield summary


def awaited(store: Place) -> tuple[Any, bool]:
    """The store, awaited, and whether it was opened here and is to be closed here."""
    if isinstance(store, ConversationStore):
        return Threads(store), False
    if isinstance(store, AsyncConversationStore):
        return store, False
    return AsyncConversationStore(store), True
