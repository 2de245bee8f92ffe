"""Sessions of Google ADK step by step: what a step reads, what a crash leaves between two, odd names."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from tests.judges.official import library
from tests.system.adapters.staging import Died, Mortal, run
from turnledger import ConversationStore

pytestmark = pytest.mark.filterwarnings("ignore")  # of ADK's own

library("google.adk")

from google.adk.errors.session_not_found_error import SessionNotFoundError  # noqa: E402
from google.adk.events.event import Event  # noqa: E402
from google.adk.events.event_actions import EventActions  # noqa: E402
from google.adk.sessions.base_session_service import GetSessionConfig  # noqa: E402
from google.genai import types  # noqa: E402

from turnledger.adapters.google_adk import TurnledgerSessionService, conversation_of  # noqa: E402

NAMED = {"app_name": "shop", "user_id": "u", "session_id": "s"}
CID = conversation_of("shop", "u", "s")


@pytest.fixture
def store() -> Iterator[Mortal]:
    with Mortal(":memory:") as opened:
        yield opened


def said(text: str, run_id: str = "r1", *, by: str = "user", delta: Any = None, **more: Any) -> Event:
    content = types.Content(role="user" if by == "user" else "model", parts=[types.Part(text=text)])
    actions = EventActions(state_delta=delta or {})
    return Event(author=by, invocation_id=run_id, content=content, actions=actions, **more)


def called(*ids: str, run_id: str = "r1", **more: Any) -> Event:
    parts = [types.Part(function_call=types.FunctionCall(id=one, name="track", args={})) for one in ids]
    content = types.Content(role="model", parts=parts)
    return Event(author="clerk", invocation_id=run_id, content=content, **more)


def answered(*ids: str, run_id: str = "r1", by: str = "clerk") -> Event:
    parts = [
        types.Part(function_response=types.FunctionResponse(id=one, name="track", response={"r": one}))
        for one in ids
    ]
    content = types.Content(role="user", parts=parts)
    return Event(author=by, invocation_id=run_id, content=content)


def rewound(before: str) -> Event:
    actions = EventActions(rewind_before_invocation_id=before)
    return Event(author="user", invocation_id="rewind", actions=actions)


def service(store: ConversationStore) -> Any:
    return TurnledgerSessionService(store)


async def begun(sessions: Any, *events: Event, **named: Any) -> Any:
    session = await sessions.create_session(**{**NAMED, **named})
    for event in events:
        await sessions.append_event(session, event)
    return session


def buffer(store: ConversationStore) -> list[tuple[str, Any]]:
    return [(message["role"], message["content"]) for message in store.buffer(CID)]


def test_a_step_reads_what_is_new_and_not_how_long_the_session_is(store: Mortal) -> None:
    async def main() -> None:
        sessions = service(store)
        session = await begun(sessions, *(said(str(n), delta={"app:n": n}) for n in range(50)))
        newest = GetSessionConfig(num_recent_events=2)
        store.read = 0
        await sessions.append_event(session, said("next", delta={"app:n": 50}))
        assert store.read < 8
        store.read = 0
        assert len((await sessions.get_session(**NAMED, config=newest)).events) == 2
        assert store.read < 6
        store.read = 0
        [listed] = (await sessions.list_sessions(app_name="shop")).sessions
        assert (listed.state["app:n"], store.read) == (50, 0)

    run(main())


def test_a_state_that_was_read_is_the_callers_own(store: Mortal) -> None:
    async def main() -> None:
        sessions = service(store)
        await begun(sessions, said("Hi", delta={"own": [1], "app:a": [1], "user:u": [1]}))
        read = await sessions.get_session(**NAMED)
        for key in "own", "app:a", "user:u":
            read.state[key].append(2)
        (await sessions.get_user_state(app_name="shop", user_id="u"))["u"].append(2)
        again = await sessions.get_session(**NAMED)
        assert again.state == {"own": [1], "app:a": [1], "user:u": [1]}

    run(main())


def test_a_session_that_another_process_deleted_takes_no_more_events(store: Mortal) -> None:
    async def main() -> None:
        sessions = service(store)
        session = await begun(sessions, said("Hi"))
        await service(store).delete_session(**NAMED)
        with pytest.raises(SessionNotFoundError):
            await sessions.append_event(session, said("Still?"))
        await service(store).create_session(**NAMED)
        assert (await sessions.get_session(**NAMED)).events == []

    run(main())


def test_a_call_gets_an_id_of_its_own_where_the_first_is_not_among_the_events_that_were_read(
    store: Mortal,
) -> None:
    async def main() -> None:
        sessions = service(store)
        await begun(sessions, said("Where?"), called("c1"), answered("c1"), said("There", by="clerk"))
        newest = GetSessionConfig(num_recent_events=1)
        session = await sessions.get_session(**NAMED, config=newest)
        again = called("c1", run_id="r2", long_running_tool_ids={"c1"})
        await sessions.append_event(session, again)
        assert [call.id for call in again.get_function_calls()] == ["c1-2"]
        assert again.long_running_tool_ids == {"c1-2"}

    run(main())


def test_calls_without_an_id_stay_without_one(store: Mortal) -> None:
    async def main() -> None:
        sessions = service(store)
        await begun(sessions, called("", ""), said("?"))
        [event, *_] = (await sessions.get_session(**NAMED)).events
        assert [call.id for call in event.get_function_calls()] == ["", ""]
        assert store.verify().ok

    run(main())


def test_state_whose_process_died_behind_its_event_is_there_when_the_session_is_read_again(
    store: Mortal,
) -> None:
    async def main() -> None:
        sessions = service(store)
        session = await begun(sessions)
        store.dies = lambda call, conversation: conversation == conversation_of("shop")
        with pytest.raises(Died):
            await sessions.append_event(session, said("Hi", delta={"app:name": "x", "app:n": 1, "own": 1}))
        del store.dies
        other = await begun(service(store), session_id="other")
        assert other.state == {}
        await sessions.append_event(other, said("Later", delta={"app:n": 2}))
        read = await service(store).get_session(**NAMED)
        assert read.state == {"own": 1, "app:name": "x", "app:n": 2}  # what was said later stays
        assert (await service(store).get_session(**NAMED)).state == read.state

    run(main())


def test_state_that_a_new_session_brings_is_not_lost_with_its_process(store: Mortal) -> None:
    async def main() -> None:
        store.dies = lambda call, conversation: conversation == conversation_of("shop", "u")
        with pytest.raises(Died):
            await service(store).create_session(**NAMED, state={"user:plan": "pro", "own": 1})
        del store.dies
        again = await service(store).get_session(**NAMED)
        assert again.state == {"user:plan": "pro", "own": 1}

    run(main())


def test_events_of_one_id_in_two_sessions_both_bring_their_state(store: Mortal) -> None:
    async def main() -> None:
        sessions = service(store)
        await begun(sessions, said("Hi", id="e1", delta={"app:a": 1}))
        other = await begun(sessions, said("Hi", id="e1", delta={"app:b": 2}), session_id="other")
        assert other.state == {"app:a": 1, "app:b": 2}
        assert (await sessions.get_session(**NAMED)).state == {"app:a": 1, "app:b": 2}

    run(main())


def test_a_rewind_whose_process_died_is_ended_when_the_session_is_read_again(store: Mortal) -> None:
    async def main() -> None:
        sessions = service(store)
        talk = [said(text, name) for name in ("r1", "r2", "r3") for text in (f"{name} a", f"{name} b")]
        session = await begun(sessions, *talk)
        calls = iter(range(9))
        store.dies = lambda call, conversation: call == "retract" and next(calls) == 2
        with pytest.raises(Died):
            await sessions.append_event(session, rewound("r2"))
        del store.dies
        assert len(buffer(store)) == 4  # two of the four were taken back
        again = await service(store).get_session(**NAMED)
        await sessions.append_event(again, said("on", "r4"))
        assert [content for _, content in buffer(store)] == ["r1 a", "r1 b", "on"]
        await service(store).get_session(**NAMED)
        assert len(buffer(store)) == 3
        assert store.verify().ok

    run(main())


def test_a_rewind_leaves_what_stands_behind_a_call_that_was_healed_meanwhile(store: Mortal) -> None:
    async def main() -> None:
        first = said("q1"), called("x", "y"), answered("y")
        await begun(service(store), *first, said("q2", "r2"), rewound("r2"))
        assert buffer(store) == [("user", "q1"), ("assistant", ""), ("tool", '{"r":"y"}')]

    run(main())


def test_a_late_result_that_is_rewound_is_taken_back(store: Mortal) -> None:
    async def main() -> None:
        first = said("q1"), called("x"), said("q2", "r2")
        late = answered("x", run_id="r3", by="user")
        await begun(service(store), *first, late, rewound("r3"))
        assert buffer(store) == [("user", "q1"), ("assistant", ""), ("user", "q2")]
        assert [m["role"] for m in store.sendable(CID).messages] == ["user", "assistant", "tool", "user"]

    run(main())


@pytest.mark.parametrize("name", ["a/b", "..", "%2F", "x" * 2_000, "a\nb\x00", "né ü 😀", "a" * 76, "a" * 77])
def test_a_session_may_have_any_name(store: Mortal, name: str) -> None:
    async def main() -> None:
        sessions = service(store)
        named = {"app_name": name, "user_id": name, "session_id": name}
        await begun(sessions, said("Hi", delta={"user:u": 1}), **named)
        assert (await sessions.get_session(**named)).events
        assert [s.id for s in (await sessions.list_sessions(**{"app_name": name})).sessions] == [name]
        other = {**named, "session_id": name + "!"}
        assert await sessions.get_session(**other) is None

    run(main())


def test_events_may_have_long_ids_and_blank_invocations(store: Mortal) -> None:
    async def main() -> None:
        sessions = service(store)
        given = said("a", id="e" * 300), said("b", " "), said("c", "i" * 300), said("d", id=" ")
        await begun(sessions, *given, *(event.model_copy(deep=True) for event in given))
        assert len((await sessions.get_session(**NAMED)).events) == 4
        assert len(buffer(store)) == 4

    run(main())


def test_a_cancellation_does_not_part_an_event_from_its_state(store: Mortal) -> None:
    async def main() -> None:
        sessions = service(store)
        session = await begun(sessions)
        for number in range(20):
            step = asyncio.ensure_future(sessions.append_event(session, said("x", delta={"app:n": number})))
            await asyncio.sleep(number / 10_000)
            step.cancel()
            await asyncio.wait([step])
            read = await service(store).get_session(**NAMED)
            told = [event.actions.state_delta["app:n"] for event in read.events]
            assert read.state == ({"app:n": told[-1]} if told else {})
            assert [event.id for event in session.events] == [event.id for event in read.events]

    run(main())
