"""Google ADK's own runner on a store of ours: what breaks a session elsewhere leaves it sound here."""

import asyncio
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.judges import gemini
from tests.judges.official import library
from tests.system.adapters.outcomes_google_adk import OUTCOMES
from tests.system.adapters.staging import OURS, check_log, check_outcomes, in_child, run
from turnledger import ConversationStore

pytestmark = pytest.mark.filterwarnings("ignore")  # of ADK's own

library("google.adk")

from google.adk.artifacts.base_artifact_service import BaseArtifactService  # noqa: E402
from google.adk.errors.already_exists_error import AlreadyExistsError  # noqa: E402
from google.adk.errors.session_not_found_error import SessionNotFoundError  # noqa: E402
from google.adk.events.event import Event  # noqa: E402
from google.adk.events.event_actions import EventActions  # noqa: E402
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig  # noqa: E402
from google.genai import types  # noqa: E402

from tests.system.adapters.google_adk_read import (  # noqa: E402
    ARTIFACT_SIGNATURES,
    MORE_SIGNATURES,
    SESSION_SIGNATURES,
)
from tests.system.adapters.google_adk_scenes import SCENES  # noqa: E402
from tests.system.adapters.google_adk_shop import (  # noqa: E402
    APP,
    SESSION,
    USER,
    Shop,
    answers,
    calls,
    says,
    shape,
)
from turnledger.adapters.google_adk import (  # noqa: E402
    TurnledgerArtifactService,
    TurnledgerSessionService,
    conversation_of,
)

CID = conversation_of(APP, USER, SESSION)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "shop.db"


@pytest.fixture
def sessions() -> Iterator[Any]:
    service = TurnledgerSessionService(":memory:")
    yield service
    asyncio.run(service.close())


def said(text: str, delta: dict[str, Any] | None = None, **more: Any) -> Event:
    content = types.Content(role="user", parts=[types.Part(text=text)])
    actions = EventActions(state_delta=delta or {})
    return Event(author="user", invocation_id="run-1", content=content, actions=actions, **more)


@pytest.mark.parametrize(("scene", "whose"), OUTCOMES)
def test_the_scene_ends_as_the_table_says_and_leaves_a_sound_log(
    scene: str, whose: str, database: Path
) -> None:
    assert run(SCENES[scene](whose, database)) == OUTCOMES[scene, whose]
    if whose == OURS:
        check_log(database, CID, "gemini", gemini.why_not)


def test_every_scene_has_an_outcome_of_both() -> None:
    check_outcomes(OUTCOMES, SCENES)


def test_what_a_paused_run_saved_is_held_and_delivered_once_on_the_answer_of_another_process(
    database: Path,
) -> None:
    async def resumed() -> None:
        async with Shop(OURS, database, says("Refunded")) as shop:
            asked = [c for e in (await shop.session()).events for c in e.get_function_calls()][-1]
            await shop.ask(answers(asked.id, asked.name, confirmed=True))

    assert in_child("google_adk_shop", "paused", OURS, database) == 0
    with ConversationStore(database) as store:
        assert [held.payload for held in store.held(CID)] == [{"filename": "label.txt", "version": 0}]
        assert not any(message.get("toolArtifacts") for message in store.wire(CID))
        run(resumed())
        assert store.held(CID) == []
        shown = [message for message in store.wire(CID) if message.get("toolArtifacts")]
        assert [message["content"] for message in shown] == ["Refunded"]
        assert len(shown[0]["toolArtifacts"]) == 1


def test_runs_of_two_workers_at_once_lose_nothing(database: Path) -> None:
    async def worker(name: str) -> None:
        turns = [turn for _ in range(6) for turn in (calls("track"), says(f"{name} is there"))]
        async with Shop(OURS, database, *turns) as shop:
            for number in range(6):
                await shop.ask(f"{name} {number}")

    async def both() -> None:
        async with Shop(OURS, database):
            await asyncio.gather(worker("a"), worker("b"))

    run(both())
    with ConversationStore(database) as store:
        asked = [m["content"] for m in store.buffer(CID) if m["role"] == "user"]
        assert sorted(asked) == sorted(f"{name} {number}" for name in "ab" for number in range(6))
        assert store.verify().ok


def test_a_rewind_takes_back_what_was_said_from_there_on_and_the_state(database: Path) -> None:
    async def main() -> Any:
        async with Shop(OURS, database, calls("label"), says("Made"), calls("track"), says("There")) as shop:
            await shop.ask("A label")
            await shop.ask("Where is my parcel?")
            events = (await shop.session()).events
            named = {"user_id": USER, "session_id": SESSION}
            await shop.runner.rewind_async(**named, rewind_before_invocation_id=events[-1].invocation_id)
            shop.model.turns[:] = [says("Bye")]
            await shop.ask("Thanks")
            return shape(shop.last_sent)

    sent = run(main())
    assert sent == ["u", "c:label", "r:label label.txt", "a", "u"]
    with ConversationStore(database) as store:
        contents = [m["content"] for m in store.buffer(CID)]
        assert [c for c in contents if c in ("A label", "Where is my parcel?", "Thanks")] == [
            "A label",
            "Thanks",
        ]
        assert "Where is my parcel?" in [getattr(event, "content", None) for event in store.events(CID)]
        assert store.verify().ok


def test_state_of_app_and_user_is_shared_and_that_of_an_invocation_is_not_kept(
    sessions: Any,
) -> None:
    async def main() -> None:
        one = await sessions.create_session(app_name=APP, user_id="1", state={"own": 1, "temp:gone": 1})
        delta = {"app:name": "shop", "user:plan": "pro", "temp:step": 1, "own": 2}
        await sessions.append_event(one, said("Hi", delta))
        assert one.state == {"own": 2, "app:name": "shop", "user:plan": "pro", "temp:step": 1}
        again = await sessions.get_session(app_name=APP, user_id="1", session_id=one.id)
        assert again.state == {"own": 2, "app:name": "shop", "user:plan": "pro"}
        assert again.events[0].actions.state_delta == {"own": 2, "app:name": "shop", "user:plan": "pro"}
        same_user = await sessions.create_session(app_name=APP, user_id="1")
        assert same_user.state == {"app:name": "shop", "user:plan": "pro"}
        another = await sessions.create_session(app_name=APP, user_id="2")
        assert another.state == {"app:name": "shop"}
        assert await sessions.get_user_state(app_name=APP, user_id="1") == {"plan": "pro"}
        assert await sessions.get_user_state(app_name=APP, user_id="3") == {}

    run(main())


def test_sessions_are_listed_by_their_last_work_and_a_deleted_one_is_gone_and_its_id_free(
    sessions: Any,
) -> None:
    async def main() -> None:
        for name in "abc":
            await sessions.create_session(app_name=APP, user_id="1", session_id=name)
        await sessions.create_session(app_name=APP, user_id="1/2", session_id="d")
        with pytest.raises(AlreadyExistsError):
            await sessions.create_session(app_name=APP, user_id="1", session_id="a")
        first = await sessions.get_session(app_name=APP, user_id="1", session_id="a")
        await sessions.append_event(first, said("Hi"))

        async def listed(user: str | None) -> list[str]:
            found = await sessions.list_sessions(app_name=APP, user_id=user)
            return [session.id for session in found.sessions]

        assert await listed("1") == ["b", "c", "a"]
        assert sorted(await listed(None)) == ["a", "b", "c", "d"]
        await sessions.delete_session(app_name=APP, user_id="1", session_id="a")
        assert await sessions.get_session(app_name=APP, user_id="1", session_id="a") is None
        assert await listed("1") == ["b", "c"]
        with pytest.raises(SessionNotFoundError):
            await sessions.append_event(first, said("Still?"))
        anew = await sessions.create_session(app_name=APP, user_id="1", session_id="a")
        assert anew.events == []
        assert (await sessions.get_session(app_name=APP, user_id="1", session_id="a")).events == []

    run(main())


def test_a_store_that_is_not_asynchronous_serves_too_and_is_left_open() -> None:
    async def main(store: ConversationStore) -> None:
        sessions: Any = TurnledgerSessionService(store)
        for name in "ab":
            session = await sessions.create_session(app_name=APP, user_id="1", session_id=name)
            await sessions.append_event(session, said("Hi", {"user:plan": "pro"}))
        listed = await sessions.list_sessions(app_name=APP)
        assert [session.id for session in listed.sessions] == ["a", "b"]
        await sessions.close()

    with ConversationStore(":memory:") as store:
        run(main(store))
        assert len(store.buffer(conversation_of(APP, "1", "a"))) == 1


def test_an_event_comes_back_equal_with_bytes_and_what_no_message_holds(
    sessions: Any,
) -> None:
    async def main() -> None:
        session = await sessions.create_session(app_name=APP, user_id="1")
        image = types.Part.from_bytes(data=b"\x89PNG", mime_type="image/png")
        thought = types.Part(text="hm", thought=True, thought_signature=b"\x01\x02")
        event = Event(
            author="clerk",
            invocation_id="run-1",
            content=types.Content(role="model", parts=[thought, image]),
            grounding_metadata=types.GroundingMetadata(
                search_entry_point=types.SearchEntryPoint(sdk_blob=b"blob")
            ),
            long_running_tool_ids={"t"},
            error_code="e",
            custom_metadata={"a": [1, None]},
            actions=EventActions(artifact_delta={"f": 3}, transfer_to_agent="other", escalate=True),
        )
        await sessions.append_event(session, event)
        again = await sessions.get_session(app_name=APP, user_id="1", session_id=session.id)
        assert again == session
        assert again.events == [event]

    run(main())


def test_a_reading_may_be_of_the_newest_events_or_of_those_since_a_time(
    sessions: Any,
) -> None:
    async def main() -> None:
        session = await sessions.create_session(app_name=APP, user_id="1")
        for moment in range(1, 6):
            await sessions.append_event(session, said("x", timestamp=float(moment)))

        async def moments(**config: Any) -> list[float]:
            found = await sessions.get_session(
                app_name=APP, user_id="1", session_id=session.id, config=GetSessionConfig(**config)
            )
            return [event.timestamp for event in found.events]

        assert await moments(num_recent_events=3) == [3, 4, 5]
        assert await moments(num_recent_events=0) == []
        assert await moments(after_timestamp=4.0) == [4, 5]
        assert await moments(after_timestamp=4.0, num_recent_events=3) == [4, 5]

    run(main())


def test_versions_of_an_artifact_count_from_0_and_from_0_again_after_a_deletion() -> None:
    async def main() -> None:
        artifacts: Any = TurnledgerArtifactService(":memory:")
        named: dict[str, Any] = {"app_name": APP, "user_id": "1", "session_id": "s", "filename": "a.txt"}
        assert await artifacts.load_artifact(**named) is None
        for number in range(3):
            part = types.Part.from_bytes(data=bytes([number]), mime_type="text/plain")
            assert await artifacts.save_artifact(**named, artifact=part) == number
        assert (await artifacts.load_artifact(**named)).inline_data.data == b"\x02"
        assert (await artifacts.load_artifact(**named, version=0)).inline_data.data == b"\x00"
        assert await artifacts.load_artifact(**named, version=3) is None
        assert await artifacts.list_versions(**named) == [0, 1, 2]
        described = await artifacts.get_artifact_version(**named, version=1)
        assert (described.version, described.mime_type) == (1, "text/plain")
        await artifacts.delete_artifact(**named)
        assert await artifacts.load_artifact(**named) is None
        assert await artifacts.list_versions(**named) == []
        assert await artifacts.save_artifact(**named, artifact=types.Part(text="anew")) == 0
        assert (await artifacts.load_artifact(**named)).text == "anew"
        users: dict[str, Any] = {"app_name": APP, "user_id": "1", "filename": "user:me.txt"}
        await artifacts.save_artifact(**users, artifact={"text": "me"}, custom_metadata={"k": 1})
        in_session = {"app_name": APP, "user_id": "1", "session_id": "s"}
        assert await artifacts.list_artifact_keys(**in_session) == ["a.txt", "user:me.txt"]
        assert await artifacts.list_artifact_keys(app_name=APP, user_id="1") == ["user:me.txt"]
        assert (await artifacts.list_artifact_versions(**users))[0].custom_metadata == {"k": 1}
        reference = types.Part(file_data=types.FileData(file_uri=described.canonical_uri))
        await artifacts.save_artifact(**{**named, "filename": "b.txt"}, artifact=reference)
        assert (
            await artifacts.load_artifact(**{**named, "filename": "b.txt"}) is None
        )  # its target is deleted
        await artifacts.store.close()

    run(main())


def test_two_writers_never_get_one_version_of_an_artifact(database: Path) -> None:
    async def writer(artifacts: TurnledgerArtifactService) -> list[int]:
        named: dict[str, Any] = {"app_name": APP, "user_id": "1", "session_id": "s", "filename": "a.txt"}
        return [await artifacts.save_artifact(**named, artifact=types.Part(text="x")) for _ in range(10)]

    async def main() -> list[int]:
        two = TurnledgerArtifactService(database), TurnledgerArtifactService(database)
        found = await asyncio.gather(*map(writer, two))
        for one in two:
            await one.store.close()
        return sorted(found[0] + found[1])

    assert run(main()) == list(range(20))


def signatures(of: type, names: list[str]) -> list[str]:
    found = []
    for name in names:
        told = str(inspect.signature(getattr(of, name)))
        found.append(f"{name}{told}".replace("typing.", "").replace("google.genai.types.", "types."))
    return found


def test_the_protocols_are_those_that_were_read() -> None:
    assert (
        signatures(BaseSessionService, sorted(BaseSessionService.__abstractmethods__)) == SESSION_SIGNATURES
    )
    assert signatures(BaseSessionService, ["append_event", "get_user_state", "flush"]) == MORE_SIGNATURES
    assert signatures(BaseArtifactService, sorted(BaseArtifactService.__abstractmethods__)) == (
        ARTIFACT_SIGNATURES
    )
