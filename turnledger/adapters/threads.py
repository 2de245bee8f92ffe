"""A store's call for code that awaits, on whichever event loop the ecosystem runs: asyncio or trio."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from turnledger.adapters.awaiting import ended

T = TypeVar("T")


async def in_thread(call: Callable[..., T], *args: Any) -> T:
    """Makes the call in a thread; one that has begun is ended before a cancellation goes on."""
    from anyio import CancelScope, to_thread  # noqa: PLC0415 - the SDKs bring it, each by its own extra

    try:
        asyncio.get_running_loop()
    except RuntimeError:  # trio, whose cancellations a shield holds off
        return await to_thread.run_sync(call, *args)
    made = asyncio.ensure_future(asyncio.to_thread(call, *args))
    with CancelScope(shield=True):  # against scopes of anyio, which would cancel again and again
        await ended(made)
    return made.result()
