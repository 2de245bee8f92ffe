"""AsyncConversationStore: the face of `ConversationStore`, awaited, with a few threads underneath.

No call blocks the event loop. Writings have one thread, which takes them in the order in which they were
called (one process's writers stand in one queue anyway), readings have `READERS` others: however many tasks
wait, the threads stay as few, and a writer that waits for a lock holds up no reading.

What a cancelled await means: a writing that has not begun is withdrawn, nothing of it is recorded; one that
has begun is ended first, and then the cancellation goes on: it is recorded whole or not at all, what is read
next shows which, and only its answer is lost. No lock outlives it. Who calls again with the same
`idempotency_key` gets the answer. A cancelled reading is left alone. What is given to a call is read in the
thread: leave it unchanged until the call ends.

Rules, log and clock are the store's; this only carries calls to threads and answers back.
"""

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from contextvars import copy_context
from functools import wraps
from inspect import signature
from itertools import islice
from threading import Lock
from time import monotonic
from typing import Any, Concatenate, Generic, Literal, ParamSpec, Self, TypeVar, cast

from turnledger.domain.delivering import Take
from turnledger.domain.errors import CorruptEvent, StoreBusy, TakeSettled
from turnledger.domain.events import DomainEvent
from turnledger.infrastructure.faults import closed
from turnledger.infrastructure.reading import ConversationSummary, EventReading
from turnledger.projections.history import HistoryRow
from turnledger.store import ConversationStore

READERS = 4
PAGE_ITEMS = 100

P = ParamSpec("P")
T = TypeVar("T")
AsyncMethod = Callable[Concatenate["AsyncConversationStore", P], Coroutine[Any, Any, T]]


def _written(method: Callable[Concatenate[ConversationStore, P], T]) -> AsyncMethod[P, T]:
    """The same method, awaited: the writing thread calls it."""

    @_named_like(method)
    async def call(self: "AsyncConversationStore", /, *args: P.args, **kwargs: P.kwargs) -> T:
        work = self._write(lambda store: method(store, *args, **kwargs))
        return await _through(work, withdraw=True)

    return call


def _read(method: Callable[Concatenate[ConversationStore, P], T]) -> AsyncMethod[P, T]:
    """The same method, awaited: one of the reading threads calls it."""

    @_named_like(method)
    async def call(self: "AsyncConversationStore", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.wrap_future(self._read(lambda store: method(store, *args, **kwargs)))

    return call


def _named_like(method: Callable[..., Any]) -> Callable[[AsyncMethod[P, T]], AsyncMethod[P, T]]:
    def named(call: AsyncMethod[P, T]) -> AsyncMethod[P, T]:
        wraps(method, assigned=("__name__", "__doc__"))(call)
        call.__qualname__ = f"Async{method.__qualname__}"
        return call

    return named


def _given_like(
    method: Callable[Concatenate[ConversationStore, P], None],
) -> Callable[[Callable[..., None]], Callable[Concatenate["AsyncConversationStore", P], None]]:
    """Types a constructor that takes what `method` takes."""
    return lambda init: cast(Callable[Concatenate["AsyncConversationStore", P], None], wraps(method)(init))


async def _end_of(work: Future[Any]) -> None:
    """Waits until a thread's work is over, whatever came of it; to cancel this leaves the work alone."""
    await _over(work).wait()


def _over(work: Future[Any]) -> asyncio.Event:
    """What is set when a thread's work is over."""
    over, loop = asyncio.Event(), asyncio.get_running_loop()

    def tell(_: object) -> None:
        with suppress(RuntimeError):  # the loop may be gone by then
            loop.call_soon_threadsafe(over.set)

    work.add_done_callback(tell)
    return over


async def _through(work: Future[T], *, withdraw: bool = False) -> T:
    """The result, waited for through any cancellation, which goes on when the work is over.

    With `withdraw` work that has not begun by then is withdrawn.
    """
    cancelled: asyncio.CancelledError | None = None
    over = _over(work)  # once: some cancel again at each turn of the loop
    while not work.done():
        try:
            await over.wait()
        except asyncio.CancelledError as error:
            cancelled = error
            if withdraw:
                work.cancel()
    if cancelled is not None:
        raise cancelled from None if work.cancelled() else work.exception()
    return work.result()


class _Pages(AsyncIterator[T], Generic[T]):
    """What `source` yields, a page at a time from a reading thread. A cancelled `__anext__` skips nothing."""

    def __init__(
        self, store: "AsyncConversationStore", source: Callable[[ConversationStore], Iterator[T]]
    ) -> None:
        self._store = store
        self._open = source
        self._source: Iterator[T] | None = None
        self._page: deque[T] = deque()
        self._error: Exception | None = None
        self._coming: Future[tuple[list[T], Exception | None]] | None = None

    async def __anext__(self) -> T:
        while not self._page:
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            await self._next_page()
        return self._page.popleft()

    async def _next_page(self) -> None:
        if self._coming is None:
            self._coming = self._store._read(self._read_page)
        coming = self._coming
        await _end_of(coming)
        if self._coming is coming:  # else another task that waits for it was first
            self._coming = None
            page, self._error = coming.result()
            self._page.extend(page)
            if not page and self._error is None:
                raise StopAsyncIteration

    def _read_page(self, store: ConversationStore) -> tuple[list[T], Exception | None]:
        """A page, and what went wrong behind its last item."""
        page: list[T] = []
        try:
            if self._source is None:
                self._source = self._open(store)
            for item in islice(self._source, PAGE_ITEMS):
                page.append(item)
        except Exception as error:
            return page, error
        return page, None


class AsyncEventReading(_Pages[DomainEvent]):
    """The events of a conversation, in order, page by page; see `EventReading`.

    What opening it raises (`ConversationNotFound`) is raised for the first item.
    """

    @property
    def damaged(self) -> list[CorruptEvent]:
        """With `damaged="skip"`, what was left out; complete when the iteration has ended."""
        return self._source.damaged if isinstance(self._source, EventReading) else []


class AsyncConversationStore:
    """`ConversationStore` for asyncio: the same arguments, the same methods, awaited.

    It is opened by `async with` or by the first call, which raises what opening raises. `timeout_s` bounds
    the wait for the calls before this one, and then the call itself; `StoreBusy` says that nothing was
    recorded. The callables given (`clock`, `new_id`, `progress`) are called in its threads.

        async with AsyncConversationStore("conversations.db") as store:
            await store.append("support-7", {"role": "user", "content": "Where is my parcel?"})
            sendable = await store.sendable("support-7")

    May be shared by any number of tasks, and used from one event loop after another; a forked child must
    open its own.
    """

    @_given_like(ConversationStore.__init__)
    def __init__(self, *args: Any, **options: Any) -> None:
        given = signature(ConversationStore).bind(*args, **options)
        given.apply_defaults()
        self._timeout_s: float = given.arguments["timeout_s"]
        self._make: Callable[[], ConversationStore] = lambda: ConversationStore(*given.args, **given.kwargs)
        self._store: ConversationStore | None = None
        self._opening = Lock()
        self._closing: Future[None] | None = None
        self._pid = os.getpid()
        self._writer = ThreadPoolExecutor(1, "turnledger-writer")
        self._readers = ThreadPoolExecutor(READERS, "turnledger-reader")

    async def __aenter__(self) -> Self:
        try:
            await _through(self._write(lambda store: None), withdraw=True)
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Waits for the calls made so far, then lets go of the file; later ones raise `StoreClosed`.

        A cancelled close goes on by itself.
        """
        if self._pid != os.getpid():
            return
        if self._closing is None:
            self._closing = self._writer.submit(self._close)
            self._writer.shutdown(wait=False)
        await _end_of(self._closing)
        self._closing.result()

    append = _written(ConversationStore.append)
    hold = _written(ConversationStore.hold)
    write_back = _written(ConversationStore.write_back)
    take = _written(ConversationStore.take)  # cancelled, it may leave an open take: `taking` does not
    confirm = _written(ConversationStore.confirm)
    put_back = _written(ConversationStore.put_back)
    discard = _written(ConversationStore.discard)
    compact = _written(ConversationStore.compact)
    fork = _written(ConversationStore.fork)
    retract = _written(ConversationStore.retract)
    clear = _written(ConversationStore.clear)
    record_request = _written(ConversationStore.record_request)

    buffer = _read(ConversationStore.buffer)
    entries = _read(ConversationStore.entries)
    sendable = _read(ConversationStore.sendable)
    wire = _read(ConversationStore.wire)
    held = _read(ConversationStore.held)
    open_takes = _read(ConversationStore.open_takes)
    turn_artifacts = _read(ConversationStore.turn_artifacts)
    records = _read(ConversationStore.records)
    requests = _read(ConversationStore.requests)
    request_messages = _read(ConversationStore.request_messages)
    open_calls = _read(ConversationStore.open_calls)
    head = _read(ConversationStore.head)
    diff = _read(ConversationStore.diff)
    version = _read(ConversationStore.version)
    read_models = _read(ConversationStore.read_models)
    verify = _read(ConversationStore.verify)

    @asynccontextmanager
    async def taking(
        self,
        conversation_id: str,
        execution_id: str,
        *,
        turn_id: str | None = None,
        context: Mapping[str, str] | None = None,
    ) -> AsyncIterator[Take]:
        """A take for a block: confirmed when the block ends, put back when it raises (RT-TOOL-7.4).

        A cancellation is such an exception. It goes on when what was taken is put back, or, if the block had
        ended by then, confirmed. What the block settled itself is left alone. A confirm that fails is raised,
        and the take stays open; a put-back that fails is a note on the block's exception, and the take stays
        open.
        """
        taken = self._write(
            lambda store: store.take(conversation_id, execution_id, turn_id=turn_id, context=context)
        )
        try:
            yield await _through(taken, withdraw=True)
        except BaseException as failure:
            if not taken.cancelled() and taken.exception() is None:
                await self._undone(taken.result(), failure, turn_id, context)
            raise
        take = taken.result()
        with suppress(TakeSettled):
            await _through(
                self._write(
                    lambda store: store.confirm(conversation_id, take, turn_id=turn_id, context=context)
                )
            )

    async def _undone(
        self, take: Take, failure: BaseException, turn_id: str | None, context: Mapping[str, str] | None
    ) -> None:
        try:
            with suppress(TakeSettled):
                await _through(
                    self._write(
                        lambda store: store.put_back(
                            take.conversation_id, take, turn_id=turn_id, context=context
                        )
                    )
                )
        except Exception as error:
            failure.add_note(f"take {take.take_id!r} could not be put back and stays open: {error}")

    def events(
        self,
        conversation_id: str,
        *,
        after: int = 0,
        to: int | None = None,
        damaged: Literal["raise", "skip"] = "raise",
    ) -> AsyncEventReading:
        """The events behind version `after`, up to `to`, for `async for`.

        With `damaged="skip"` sound events only; its `.damaged` then lists what is not. What the call itself
        would raise (`ConversationNotFound`, `InvalidArgument`) is raised for the first item.
        """
        return AsyncEventReading(
            self, lambda store: store.events(conversation_id, after=after, to=to, damaged=damaged)
        )

    def history(
        self, conversation_id: str, *, after: int = 0, to: int | None = None
    ) -> AsyncIterator[HistoryRow]:
        """A row for each version behind `after`, up to `to`, for `async for`.

        What the call itself would raise is raised for the first item.
        """
        return _Pages(self, lambda store: store.history(conversation_id, after=after, to=to))

    def conversations(
        self, *, after: str | None = None, saying: str | None = None
    ) -> AsyncIterator[ConversationSummary]:
        """A summary of each conversation, in the order of their ids, for `async for`."""
        return _Pages(self, lambda store: store.conversations(after=after, saying=saying))

    def _write(self, call: Callable[[ConversationStore], T]) -> Future[T]:
        return self._submitted(self._writer, call)

    def _read(self, call: Callable[[ConversationStore], T]) -> Future[T]:
        return self._submitted(self._readers, call)

    def _submitted(self, threads: ThreadPoolExecutor, call: Callable[[ConversationStore], T]) -> Future[T]:
        """Hands a call to the threads, with the caller's context variables. Raises `StoreClosed`."""
        if self._closing is not None or self._pid != os.getpid():
            raise closed()
        asked = monotonic()

        def in_thread() -> T:
            waited = monotonic() - asked
            store = self._opened()
            if 0 < self._timeout_s < waited:
                raise StoreBusy(
                    f"this call waited {waited:.1f} s for those before it, longer than timeout_s="
                    f"{self._timeout_s:g}; nothing was recorded, try again"
                )
            return call(store)

        return threads.submit(copy_context().run, in_thread)

    def _opened(self) -> ConversationStore:
        with self._opening:
            if self._store is None:
                self._store = self._make()
            return self._store

    def _close(self) -> None:
        self._readers.shutdown(wait=True)
        if self._store is not None:
            self._store.close()
