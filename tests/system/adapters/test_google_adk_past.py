"""Results that come past Google ADK: each is sent once, behind its call, in the order of the calls."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import permutations
from pathlib import Path

import pytest

from tests.judges import gemini
from tests.judges.official import library
from tests.system.adapters.staging import OURS, check_log, in_child, run
from turnledger import ConversationStore

pytestmark = pytest.mark.filterwarnings("ignore")  # of ADK's own

library("google.adk")

from google.adk.events.event import Event  # noqa: E402
from google.adk.sessions.base_session_service import GetSessionConfig  # noqa: E402
from google.genai import types  # noqa: E402

from tests.system.adapters.google_adk_shop import (  # noqa: E402
    APP,
    SESSION,
    USER,
    Gate,
    Shop,
    answers,
    calls,
    says,
    why_not,
)
from turnledger.adapters.google_adk import TurnledgerSessionService, conversation_of  # noqa: E402

CID = conversation_of(APP, USER, SESSION)
PLACEHOLDER = "Tool call was interrupted; no result."
CORE, ADK = "core", "adk"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "shop.db"


@asynccontextmanager
async def called(database: Path, *ids: str) -> AsyncIterator[Shop]:
    """A shop whose process died as these calls were made; at the end its log is sound."""
    async with Shop(OURS, database) as shop:
        session = await shop.session()
        for author, parts in (
            ("user", says("Where?")),
            ("clerk", [part for i in ids for part in calls("track", call_id=i)]),
        ):
            content = types.Content(role="user" if author == "user" else "model", parts=parts)
            await shop.sessions.append_event(
                session, Event(author=author, invocation_id="r1", content=content)
            )
        yield shop
    check_log(database, CID, "gemini", gemini.why_not)


async def given(shop: Shop, call_id: str, text: str, by: str = CORE) -> None:
    """A result comes, to the core or as a message to ADK."""
    if by == CORE:
        result = {"role": "tool", "tool_call_id": call_id, "content": text}
        await shop.sessions.store.append(CID, result)
    else:
        shop.model.turns[:] = [says("Thanks")]
        await shop.ask(answers(call_id, "track", result=text))
        assert why_not(shop.last_sent) is None


async def sent(shop: Shop) -> list[str]:
    """The results that the model is sent when the user goes on; as many as `sendable` has, and the same."""
    shop.model.turns[:] = [says("Yes?")]
    await shop.ask("Hello?")
    assert why_not(shop.last_sent) is None
    parts = [part.function_response for content in shop.last_sent for part in content.parts]
    results = [part.response["result"] for part in parts if part]
    list_sent = await shop.sessions.store.sendable(CID, provider="gemini")
    responses = [
        part["functionResponse"]
        for m in list_sent.messages
        for part in m["parts"]
        if len(part) == 1 and "functionResponse" in part
    ]
    assert results == [response["response"]["result"] for response in responses]
    return results


@pytest.mark.parametrize("goes_on", [0, 1, 2])
def test_a_result_that_the_core_is_given_is_sent_whenever_the_user_goes_on(
    goes_on: int, database: Path
) -> None:
    async def main() -> None:
        async with called(database, "adk-1") as shop:
            for _ in range(goes_on):
                assert await sent(shop) == [PLACEHOLDER]
            await given(shop, "adk-1", "real")
            assert await sent(shop) == ["real"]
            assert await sent(shop) == ["real"]

    run(main())


@pytest.mark.parametrize("heard", [False, True])
@pytest.mark.parametrize("ways", [(CORE, CORE), (CORE, ADK), (ADK, CORE), (ADK, ADK)])
@pytest.mark.parametrize("order", [*permutations(("adk-1", "adk-2", "adk-3"), 2)])
def test_results_of_parallel_calls_are_sent_in_the_order_of_the_calls_however_they_come(
    order: tuple[str, ...], ways: tuple[str, ...], heard: bool, database: Path
) -> None:
    async def main() -> None:
        known = {"adk-1": PLACEHOLDER, "adk-2": PLACEHOLDER, "adk-3": PLACEHOLDER}
        async with called(database, *known) as shop:
            if heard or ADK in ways:  # or ADK makes the calls again
                assert await sent(shop) == [*known.values()]
            for call_id, way in zip(order, ways, strict=True):
                known[call_id] = f"of {call_id}"
                await given(shop, call_id, known[call_id], way)
            assert await sent(shop) == [*known.values()]
            assert await sent(shop) == [*known.values()]

    run(main())


@pytest.mark.parametrize("ways", [(CORE, ADK), (ADK, CORE)])
def test_of_a_result_that_comes_both_ways_the_first_is_sent_and_only_once(
    ways: tuple[str, ...], database: Path
) -> None:
    async def main() -> None:
        async with called(database, "adk-1", "adk-2") as shop:
            await sent(shop)
            for way in ways:
                await given(shop, "adk-1", f"by {way}", way)
                assert await sent(shop) == [f"by {ways[0]}", PLACEHOLDER]

    run(main())


def test_a_result_of_adks_own_beside_one_that_was_lost_is_sent_before_it_where_its_call_is(
    database: Path,
) -> None:
    async def main() -> None:
        async with called(database, "adk-1", "adk-2") as shop:
            own = answers("adk-2", "track", result="own")
            event = Event(author="clerk", invocation_id="r1", content=own)
            await shop.sessions.append_event(await shop.session(), event)
            assert await sent(shop) == [PLACEHOLDER, "own"]
            assert await sent(shop) == [PLACEHOLDER, "own"]

    run(main())


def test_a_result_is_sent_after_a_process_was_killed_in_its_tool_and_given_it_by_another(
    database: Path,
) -> None:
    assert in_child("google_adk_shop", "killed", OURS, database) == -9
    with ConversationStore(database) as store:
        [call] = [item.id for item in store.open_calls(CID)]
        store.append(CID, {"role": "tool", "tool_call_id": call, "content": "real"})

    async def main() -> None:
        async with Shop(OURS, database) as shop:
            assert await sent(shop) == ["real"]

    run(main())
    check_log(database, CID, "gemini", gemini.why_not)


def test_a_late_result_of_a_process_that_died_behind_it_is_sent_by_the_next(database: Path) -> None:
    async def main() -> None:
        async with called(database, "adk-1", "adk-2") as shop:
            await sent(shop)
            late = Event(author="user", invocation_id="r1", content=answers("adk-1", "track", result="late"))
            await shop.sessions.append_event(await shop.session(), late)
            shop.runner.session_service = shop.sessions = TurnledgerSessionService(shop.sessions.store)
            assert (await shop.session()).events[-1] == late  # ADK goes on there
            assert await sent(shop) == ["late", PLACEHOLDER]

    run(main())


def test_a_result_that_the_core_is_given_while_the_tool_runs_is_sent_by_that_run(database: Path) -> None:
    async def main() -> None:
        gate = Gate()
        async with Shop(OURS, database, calls("gate"), says("Open"), tools=[gate.gate]) as shop:
            asked = asyncio.create_task(shop.ask("Open the gate"))
            await gate.reached.wait()
            [call] = [c for e in (await shop.session()).events for c in e.get_function_calls()]
            await given(shop, call.id, "by core")
            gate.opened.set()
            await asked
            [response] = [p.function_response for c in shop.last_sent for p in c.parts if p.function_response]
            assert response.response == {"result": "by core"}
            assert await sent(shop) == ["by core"]

    run(main())


def test_what_a_tool_that_runs_long_is_waited_for_may_come_to_the_core(database: Path) -> None:
    async def main() -> None:
        async with Shop(OURS, database, calls("ask_human"), says("Asked")) as shop:
            await shop.ask("May I?")
            [call] = [c for e in (await shop.session()).events for c in e.get_function_calls()]
            await given(shop, call.id, "yes")
            assert await sent(shop) == ["yes"]

    run(main())
    check_log(database, CID, "gemini", gemini.why_not)


def test_a_late_result_that_is_rewound_leaves_the_placeholder(database: Path) -> None:
    async def main() -> None:
        async with called(database, "adk-1", "adk-2") as shop:
            await sent(shop)
            late = Event(author="user", invocation_id="r9", content=answers("adk-1", "track", result="late"))
            await shop.sessions.append_event(await shop.session(), late)
            named = {"user_id": USER, "session_id": SESSION}
            await shop.runner.rewind_async(**named, rewind_before_invocation_id="r9")
            assert await sent(shop) == [PLACEHOLDER, PLACEHOLDER]

    run(main())


def test_events_as_they_are_read_change_nothing_when_they_are_sent_again(database: Path) -> None:
    async def main() -> None:
        async with called(database, "adk-1", "adk-2") as shop:
            await sent(shop)
            await given(shop, "adk-1", "late", ADK)
            read = (await shop.session()).events
            version = await shop.sessions.store.version(CID)
            for event in (one for one in read if not one.id.endswith("/healed")):
                await shop.sessions.append_event(await shop.session(), event.model_copy(deep=True))
            assert await shop.sessions.store.version(CID) == version
            assert (await shop.session()).events == read

    run(main())


def test_a_reading_of_the_newest_events_has_a_late_result_once(database: Path) -> None:
    async def main() -> None:
        async with called(database, "adk-1") as shop:
            await sent(shop)
            await given(shop, "adk-1", "late", ADK)
            for newest in range(9):
                config = GetSessionConfig(num_recent_events=newest)
                named = {"app_name": APP, "user_id": USER, "session_id": SESSION}
                read = await shop.sessions.get_session(**named, config=config)
                found = [r.response for event in read.events for r in event.get_function_responses()]
                assert found in ([], [{"result": "late"}])

    run(main())


def test_a_confirmation_that_the_core_was_given_may_still_be_given_to_adk(database: Path) -> None:
    """What ADK asks itself is no message: the core's result stood in the place of the human's answer."""

    async def main() -> None:
        async with Shop(OURS, database, calls("refund"), says("Wait."), says("Refunded.")) as shop:
            await shop.ask("Refund it")
            made = [c for e in (await shop.session()).events for c in e.get_function_calls()]
            [asked] = [call for call in made if call.name == "adk_request_confirmation"]
            await given(shop, asked.id, "yes, by the core")
            await shop.ask(answers(asked.id, "adk_request_confirmation", confirmed=True))
            parts = [part for content in shop.last_sent for part in content.parts]
            assert [part.function_response.name for part in parts if part.function_response] == ["refund"]

    run(main())
