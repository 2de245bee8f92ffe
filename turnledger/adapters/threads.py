"""A store's call for code that awaits, on whichever event loop the ecosystem runs: asyncio or trio."""

import asyncio
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar

from turnledger.adapters.extras import extra

with extra("pydantic-ai"):
    from anyio import CancelScope, to_thread

T = TypeVar("T")


async def in_thread(call: Callable[..., T], *args: Any) -> T:
    """Makes the call in a thread; one that has begun is ended before a cancellation goes on."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # trio, whose cancellations a shield holds off
        return await to_thread.run_sync(call, *args)
    made = loop.run_in_executor(None, partial(copy_context().run, call, *args))
    cancelled: asyncio.CancelledError | None = None
    with CancelScope(shield=True):  # against scopes of anyio, which would cancel again and again
        while not made.done():
            try:
                await asyncio.wait([made])
            except asyncio.CancelledError as error:
                cancelled = error
    if cancelled is not None:
        made.exception()  # looked at, so that nobody warns of it
        raise cancelled
    return made.result()
