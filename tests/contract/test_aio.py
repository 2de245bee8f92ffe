"""AsyncConversationStore: the face of ConversationStore, awaited, and what a cancellation leaves behind."""

import asyncio
import inspect
import random
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, assert_type

import pytest

from turnledger import (
    AppendResult,
    AsyncConversationStore,
    AuditReport,
    ConversationNotFound,
    ConversationStore,
    ConversationSummary,
    CorruptEvent,
    DomainEvent,
    Entry,
    StoreBusy,
    StoreClosed,
    StoreNotFound,
    Take,
)

ARTIFACT = {"type": "link", "payload": {"url": "https://example.com"}, "tool_call_id": None}
NOT_AWAITED = {"events", "history", "conversations", "taking"}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def run(body: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(body())


def public(face: type) -> set[str]:
    return {name for name in vars(face) if not name.startswith("_")}


def test_the_face_is_that_of_the_store() -> None:
    assert public(AsyncConversationStore) == public(ConversationStore)
    assert inspect.signature(AsyncConversationStore) == inspect.signature(ConversationStore)


@pytest.mark.parametrize("name", sorted(public(ConversationStore)))
def test_every_method_takes_what_the_stores_takes(name: str) -> None:
    ours = inspect.signature(getattr(AsyncConversationStore, name))
    theirs = inspect.signature(getattr(ConversationStore, name))
    assert ours.parameters == theirs.parameters
    if name not in NOT_AWAITED:
        assert inspect.iscoroutinefunction(getattr(AsyncConversationStore, name))
        assert ours.return_annotation == theirs.return_annotation
        assert getattr(AsyncConversationStore, name).__doc__


def test_every_call_answers_as_the_stores_does(tmp_path: Path) -> None:
    async def body() -> None:
        async with AsyncConversationStore(tmp_path / "t.db") as store:
            done = assert_type(await store.append("c", user("hi"), turn_id="t1"), AppendResult)
            assert (done.appended, done.version) == (1, 2)
            held = await store.hold("c", "e", [ARTIFACT])
            assert len(held.held) == 1
            written = await store.write_back("c", "e", {"role": "assistant", "content": "ok"}, turn_id="t1")
            assert len(written.delivered) == 1
            assert assert_type(await store.buffer("c"), list[dict[str, Any]])[1]["content"] == "ok"
            assert [e.number for e in assert_type(await store.entries("c", at=2), list[Entry])] == [1]
            sendable = await store.sendable("c", shared=True)
            assert [m["role"] for m in sendable.messages] == ["user", "assistant"]
            assert (await store.wire("c"))[1]["toolArtifacts"]
            assert await store.turn_artifacts("c", "t1")
            assert await store.held("c") == []
            take = assert_type(await store.take("c", "e"), Take)
            assert take.take_id is None
            await store.hold("c", "e", [ARTIFACT])
            first = await store.take("c", "e")
            assert [t.take_id for t in await store.open_takes()] == [first.take_id]
            assert len((await store.put_back("c", first)).held) == 1
            await store.confirm("c", await store.take("c", "e"))
            await store.hold("c", "e", [ARTIFACT])
            await store.discard("c", await store.take("c", "e"), reason="over")
            version = assert_type(await store.version("c"), int)
            events = [assert_type(event, DomainEvent) async for event in store.events("c")]
            assert [event.version for event in events] == list(range(1, version + 1))
            summaries = [assert_type(s, ConversationSummary) async for s in store.conversations()]
            assert [s.conversation_id for s in summaries] == ["c"]
            assert assert_type(await store.verify(), AuditReport).ok

    run(body)


def test_it_opens_by_itself_and_is_closed_for_good(tmp_path: Path) -> None:
    async def body() -> None:
        store = AsyncConversationStore(tmp_path / "t.db")
        await store.append("c", user("hi"))
        await asyncio.gather(store.close(), store.close())
        with pytest.raises(StoreClosed):
            await store.append("c", user("again"))
        with pytest.raises(StoreClosed):
            async with store.taking("c", "e"):
                pass
        await store.close()

    run(body)


def test_what_cannot_be_opened_is_told_by_the_first_call(tmp_path: Path) -> None:
    async def body() -> None:
        with pytest.raises(StoreNotFound):
            async with AsyncConversationStore(tmp_path / "none.db", create=False):
                pass
        with pytest.raises(TypeError):
            AsyncConversationStore(tmp_path / "none.db", colour="red")  # type: ignore[call-arg]

    run(body)


def test_it_serves_one_event_loop_after_another(tmp_path: Path) -> None:
    store = AsyncConversationStore(tmp_path / "t.db")
    for text in ("one", "two"):
        asyncio.run(store.append("c", user(text)))
    assert len(asyncio.run(store.buffer("c"))) == 2
    asyncio.run(store.close())


def test_many_more_tasks_than_threads_are_served_in_the_order_of_their_calls(tmp_path: Path) -> None:
    async def body() -> None:
        async with AsyncConversationStore(tmp_path / "t.db", durability="normal", timeout_s=60) as store:
            writes = [store.append("c", user(str(number))) for number in range(300)]
            await asyncio.gather(*writes)
            seen = await asyncio.gather(*(store.buffer("c") for _ in range(50)))
            assert all([m["content"] for m in s] == [str(n) for n in range(300)] for s in seen)
        names = [thread.name for thread in threading.enumerate()]
        assert not [name for name in names if name.startswith("turnledger-reader")]

    run(body)


def test_takes_in_more_tasks_than_threads_do_not_lock_each_other_out(tmp_path: Path) -> None:
    async def body() -> None:
        async with AsyncConversationStore(tmp_path / "t.db", durability="normal", timeout_s=60) as store:
            inside = asyncio.Barrier(40)

            async def deliver(number: int) -> int:
                await store.hold("c", f"e{number}", [ARTIFACT])
                async with store.taking("c", f"e{number}") as take:
                    await inside.wait()
                    return len(take.artifacts)

            assert await asyncio.gather(*(deliver(n) for n in range(40))) == [1] * 40
            assert await store.open_takes() == []
            assert await store.held("c") == []

    run(body)


def test_a_locked_file_blocks_neither_the_loop_nor_the_readers(tmp_path: Path) -> None:
    async def body() -> None:
        async with AsyncConversationStore(tmp_path / "t.db", timeout_s=20) as store:
            await store.append("c", user("first"))
            other = sqlite3.connect(tmp_path / "t.db", isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            writes = [asyncio.create_task(store.append("c", user(str(n)))) for n in range(20)]
            longest = 0.0
            for _ in range(20):
                before = time.monotonic()
                await asyncio.sleep(0.01)
                longest = max(longest, time.monotonic() - before)
            assert not any(write.done() for write in writes)
            assert len(await store.buffer("c")) == 1
            assert longest < 1
            other.execute("ROLLBACK")
            other.close()
            await asyncio.gather(*writes)
            assert len(await store.buffer("c")) == 21

    run(body)


def test_a_call_that_waits_longer_than_the_timeout_for_those_before_it_is_refused(tmp_path: Path) -> None:
    async def body() -> None:
        async with AsyncConversationStore(tmp_path / "t.db", timeout_s=0.2) as store:
            await store.append("c", user("first"))
            other = sqlite3.connect(tmp_path / "t.db", isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            before = time.monotonic()
            writes = [store.append("c", user(str(n))) for n in range(30)]
            outcomes = await asyncio.gather(*writes, return_exceptions=True)
            took = time.monotonic() - before
            other.execute("ROLLBACK")
            other.close()
            assert {type(outcome) for outcome in outcomes} == {StoreBusy}
            assert took < 3
            assert (await store.append("c", user("next"))).count == 2

    run(body)


def test_a_call_sees_the_context_variables_of_its_task(tmp_path: Path) -> None:
    from contextvars import ContextVar

    traced: ContextVar[str] = ContextVar("traced", default="")
    seen: list[str] = []

    def clock() -> datetime:
        seen.append(traced.get())
        return datetime.now(UTC)

    async def body() -> None:
        async with AsyncConversationStore(tmp_path / "t.db", clock=clock) as store:
            traced.set("trace-1")
            await store.append("c", user("hi"))
        assert seen == ["trace-1"]

    run(body)


def test_an_append_cancelled_at_any_moment_is_recorded_whole_or_not_at_all(tmp_path: Path) -> None:
    chance = random.Random(7)

    async def body() -> None:
        path = tmp_path / "t.db"
        recorded = cancelled = 0
        async with AsyncConversationStore(path, durability="normal") as store:
            await store.append("c", user("first"))
            with ConversationStore(path, durability="normal") as other:
                for number in range(150):
                    batch = [user(f"{number}/{part}") for part in range(3)]
                    append = asyncio.create_task(store.append("c", batch, idempotency_key=f"k{number}"))
                    await asyncio.sleep(chance.uniform(0, 0.003))
                    append.cancel()
                    before = time.monotonic()
                    try:
                        await append
                    except asyncio.CancelledError:
                        cancelled += 1
                    assert time.monotonic() - before < 1
                    # another store is locked out by nothing, and the next append works at once
                    other.append("c", user(f"{number}/other"))
                    await store.append("c", user(f"{number}/next"))
                    texts = [message["content"] for message in await store.buffer("c")]
                    parts = [text for text in texts if text in {m["content"] for m in batch}]
                    assert parts in ([], [message["content"] for message in batch])
                    recorded += bool(parts)
                    # who cannot know calls again with the same key
                    again = await store.append("c", batch, idempotency_key=f"k{number}")
                    assert again.repeated == bool(parts)
                texts = [message["content"] for message in await store.buffer("c")]
                assert len(texts) == len(set(texts)) == 1 + 150 * 5
            assert (await store.verify()).ok
        assert recorded
        assert cancelled

    run(body)


def test_an_append_that_has_not_begun_is_withdrawn_and_one_that_has_ends_before_it_is_cancelled(
    tmp_path: Path,
) -> None:
    """The cancellation overtook the thread: what was read next did not show what was recorded then."""

    async def body() -> None:
        async with AsyncConversationStore(tmp_path / "t.db", timeout_s=20) as store:
            await store.append("c", user("first"))
            other = sqlite3.connect(tmp_path / "t.db", isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            begun = asyncio.create_task(store.append("c", user("begun")))
            waiting = asyncio.create_task(store.append("c", user("waiting")))
            await asyncio.sleep(0.05)
            waiting.cancel()
            begun.cancel()
            await asyncio.wait([waiting])
            await asyncio.sleep(0.05)
            assert not begun.done()
            other.execute("ROLLBACK")
            other.close()
            await asyncio.wait([begun])
            assert begun.cancelled()
            assert [m["content"] for m in await store.buffer("c")] == ["first", "begun"]
            await store.append("c", user("last"))
            assert [m["content"] for m in await store.buffer("c")] == ["first", "begun", "last"]

    run(body)


def test_a_taking_block_cancelled_at_any_moment_leaves_no_open_take(tmp_path: Path) -> None:
    chance = random.Random(11)

    async def body() -> None:
        async with AsyncConversationStore(tmp_path / "t.db", durability="normal") as store:
            ended = 0

            async def deliver() -> None:
                nonlocal ended
                async with store.taking("c", "e"):
                    await asyncio.sleep(0.001)
                    ended += 1

            for _ in range(120):
                await store.hold("c", "e", [ARTIFACT])
                ended_before, held_before = ended, len(await store.held("c", "e"))
                task = asyncio.create_task(deliver())
                await asyncio.sleep(chance.uniform(0, 0.005))
                task.cancel()
                task.cancel()
                await asyncio.wait([task])
                assert await store.open_takes("c") == []
                held = len(await store.held("c", "e"))
                assert held == (0 if ended > ended_before else held_before)
            assert (await store.verify()).ok
            assert 0 < ended < 120

    run(body)


def test_a_block_that_raises_puts_back_and_raises_its_own(tmp_path: Path) -> None:
    async def body() -> None:
        async with AsyncConversationStore(tmp_path / "t.db") as store:
            await store.hold("c", "e", [ARTIFACT])
            with pytest.raises(ZeroDivisionError):
                async with store.taking("c", "e"):
                    raise ZeroDivisionError
            assert len(await store.held("c", "e")) == 1
            async with store.taking("c", "e") as take:
                await store.discard("c", take, reason="no use")
            assert await store.held("c", "e") == []

    run(body)


def test_a_put_back_that_fails_is_a_note_on_the_blocks_exception(tmp_path: Path) -> None:
    async def body() -> None:
        store = AsyncConversationStore(tmp_path / "t.db")
        await store.hold("c", "e", [ARTIFACT])
        with pytest.raises(ZeroDivisionError) as failure:
            async with store.taking("c", "e"):
                await store.close()
                raise ZeroDivisionError
        assert "stays open" in failure.value.__notes__[0]

    run(body)


def test_a_timeout_inside_a_block_puts_back_before_it_goes_on(tmp_path: Path) -> None:
    async def body() -> None:
        async with AsyncConversationStore(tmp_path / "t.db") as store:
            await store.hold("c", "e", [ARTIFACT])
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1), store.taking("c", "e"):
                    await asyncio.sleep(30)
            assert await store.open_takes("c") == []
            assert len(await store.held("c", "e")) == 1

    run(body)


def test_events_come_page_by_page_and_a_cancelled_step_skips_none(tmp_path: Path) -> None:
    async def body() -> None:
        async with AsyncConversationStore(tmp_path / "t.db", durability="normal") as store:
            await store.append("c", [user(str(n)) for n in range(450)])
            reading = store.events("c", after=1)
            versions: list[int] = []
            chance = random.Random(3)
            while True:
                step = asyncio.ensure_future(anext(reading, None))
                if chance.random() < 0.3:
                    await asyncio.sleep(chance.choice((0, 0, 0.001)))
                    if not step.done():
                        step.cancel()
                try:
                    event = await step
                except asyncio.CancelledError:
                    continue
                if event is None:
                    break
                versions.append(event.version)
            assert versions == list(range(2, 452))

    run(body)


def test_an_unknown_conversation_is_told_by_the_first_item(tmp_path: Path) -> None:
    async def body() -> None:
        async with AsyncConversationStore(tmp_path / "t.db") as store:
            with pytest.raises(ConversationNotFound):
                await anext(store.events("none"))
            reading: AsyncIterator[ConversationSummary] = store.conversations()
            assert [summary async for summary in reading] == []

    run(body)


def test_the_sound_events_before_a_damaged_one_are_given_first(tmp_path: Path) -> None:
    async def body() -> None:
        async with AsyncConversationStore(tmp_path / "t.db") as store:
            await store.append("c", [user(str(n)) for n in range(5)])
        connection = sqlite3.connect(tmp_path / "t.db")
        connection.execute("UPDATE stored_events SET state = x'00' WHERE originator_version = 4")
        connection.commit()
        connection.close()
        async with AsyncConversationStore(tmp_path / "t.db") as store:
            seen: list[int] = []
            with pytest.raises(CorruptEvent):
                async for event in store.events("c"):
                    seen.append(event.version)
            assert seen == [1, 2, 3]
            skipping = store.events("c", damaged="skip")
            assert [event.version async for event in skipping] == [1, 2, 3, 5, 6]
            assert [found.version for found in skipping.damaged] == [4]

    run(body)


def test_a_scope_that_cancels_again_and_again_waits_with_one_callback(tmp_path: Path) -> None:
    """Each turn of the loop added a callback to the work that was waited for: 130,000 in six seconds."""
    anyio = pytest.importorskip("anyio")
    asked: list[int] = []

    async def body() -> None:
        async with AsyncConversationStore(tmp_path / "t.db", timeout_s=20) as store:
            await store.append("c", user("first"))
            submitted = store._write

            def noted(call: Any) -> Any:
                work = submitted(call)
                added = work.add_done_callback

                def counted(tell: Any) -> None:
                    asked.append(1)
                    added(tell)

                work.add_done_callback = counted  # type: ignore[assignment, method-assign]
                return work

            store._write = noted  # type: ignore[method-assign]
            other = sqlite3.connect(tmp_path / "t.db", isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            asyncio.get_running_loop().call_later(0.3, other.execute, "ROLLBACK")
            with anyio.move_on_after(0.05):
                await store.append("c", user("second"))
            other.close()
            assert [m["content"] for m in await store.buffer("c")] == ["first", "second"]
        assert len(asked) == 1

    run(body)
