"""A store for code that awaits: one that is given, of either kind, or one opened at a place."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from turnledger.aio import AsyncConversationStore
from turnledger.store import ConversationStore

Place = ConversationStore | AsyncConversationStore | str | bytes | os.PathLike[str]


class Threads:
    """A `ConversationStore` whose methods are awaited, each in a thread of asyncio's own."""

    def __init__(self, store: ConversationStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        return partial(asyncio.to_thread, getattr(self._store, name))


def awaited(store: Place) -> tuple[Any, bool]:
    """The store, awaited, and whether it was opened here and is to be closed here."""
    if isinstance(store, ConversationStore):
        return Threads(store), False
    if isinstance(store, AsyncConversationStore):
        return store, False
    return AsyncConversationStore(store), True
