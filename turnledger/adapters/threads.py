"""A store's call for code that awaits, on whichever event loop the ecosystem runs: asyncio or trio."""

from collections.abc import Callable
from typing import Any, TypeVar

from turnledger.adapters.extras import extra

with extra("pydantic-ai"):
    from anyio import to_thread

T = TypeVar("T")


async def in_thread(call: Callable[..., T], *args: Any) -> T:
    """Makes the call in a thread; one that has begun is ended before a cancellation goes on."""
    return await to_thread.run_sync(call, *args)
