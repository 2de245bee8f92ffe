"""agent-framework's own agent on a store of ours: what bricks a session elsewhere leaves it sound here."""

import asyncio
import inspect
from pathlib import Path
from typing import Any

import pytest

from tests.judges import openai_chat
from tests.judges.official import library
from tests.system.adapters.outcomes_agent_framework import OUTCOMES
from tests.system.adapters.staging import OURS, cancelled_at, check_outcomes, ends_as_told, in_child, run
from turnledger import AsyncConversationStore, ConversationStore

pytestmark = pytest.mark.filterwarnings("ignore")  # of the framework's own

library("agent_framework")

from agent_framework import (  # noqa: E402
    Agent,
    AgentSession,
    Content,
    HistoryProvider,
    Message,
    SessionContext,
    SessionStore,
)

from tests.system.adapters.agent_framework_desk import (  # noqa: E402
    LINK,
    SESSION,
    Desk,
    Told,
    calls,
    track,
    why_not,
)
from tests.system.adapters.agent_framework_scenes import SCENES  # noqa: E402
from turnledger.adapters.agent_framework import (  # noqa: E402
    TurnledgerHistoryProvider,
    TurnledgerSessionStore,
    conversation_of,
)
from turnledger.domain.messages import PLACEHOLDER_TEXT  # noqa: E402

CID = conversation_of(SESSION)


async def kept(*messages: Message) -> tuple[TurnledgerHistoryProvider, list[Message]]:
    history = TurnledgerHistoryProvider(":memory:")
    await history.save_messages(SESSION, messages)
    return history, await history.get_messages(SESSION)


test_the_scene_ends_as_the_table_says_and_leaves_a_sound_log = ends_as_told(
    SCENES, OUTCOMES, "desk.db", CID, "openai-chat", openai_chat.why_not
)


def test_every_scene_has_an_outcome_of_both() -> None:
    check_outcomes(OUTCOMES, SCENES)


def test_what_a_paused_run_holds_is_delivered_once_on_the_answer_of_another_process(tmp_path: Path) -> None:
    async def resumed() -> None:
        async with Desk(OURS, tmp_path, ["Refunded"]) as desk:
            await desk.approved()

    assert in_child("agent_framework_desk", "paused", OURS, tmp_path) == 0
    with ConversationStore(tmp_path / "desk.db") as store:
        assert [held.type for held in store.held(CID)] == ["link"]
        assert not any(message.get("toolArtifacts") for message in store.wire(CID))
        run(resumed())
        assert store.held(CID) == []
        shown = [m for m in store.wire(CID) if m.get("toolArtifacts")]
        assert [(m["content"], m["toolArtifacts"]) for m in shown] == [("Refunded", [LINK])]


def test_messages_come_back_as_they_were_given() -> None:
    given = [
        Message("system", ["Be kind"]),
        Message(
            "user",
            [Content.from_text("Look"), Content.from_data(b"\x89PNG", "image/png")],
            author_name="Ann",
            message_id="m1",
            additional_properties={"k": [1, None]},
        ),
        Message("assistant", [Content.from_text_reasoning(text="hm"), *calls("track", "label")]),
        Message(
            "tool",
            [
                Content.from_function_result("c-track", result="depot"),
                Content.from_function_result("c-label", result=[Content.from_text("made")]),
            ],
        ),
        Message("assistant", ["There"], author_name="Desk"),
    ]

    async def main() -> None:
        history, found = await kept(*given)
        assert [m.to_dict() for m in found] == [m.to_dict() for m in given]
        await history.store.close()

    run(main())


def test_a_call_whose_id_was_used_before_comes_back_with_one_of_its_own_and_its_result_too() -> None:
    async def main() -> None:
        history, found = await kept(
            Message("user", ["Where?"]),
            Message("assistant", calls("track")),
            Message("tool", [Content.from_function_result("c-track", result="depot")]),
            Message("assistant", calls("track", arguments='{"parcel": 2}')),
            Message("tool", [Content.from_function_result("c-track", result="train")]),
        )
        assert [m.contents[0].call_id for m in found[1:]] == ["c-track", "c-track", "c-track-2", "c-track-2"]
        await history.store.close()

    run(main())


def asked(text: str = "Where?") -> Message:
    return Message("user", [text])


def called(*ids: str, arguments: str = "{}") -> Message:
    return Message("assistant", calls(*["track" for _ in ids], ids=ids, arguments=arguments))


def came(call_id: str, text: str = "depot") -> Message:
    return Message("tool", [Content.from_function_result(call_id, result=text)])


def told(messages: list[Message]) -> list[str]:
    """Calls and results by their id, all else by its text."""
    words = []
    for message in messages:
        ids = [f"{content.type[9:]} {content.call_id}" for content in message.contents if content.call_id]
        words += ids or [message.text]
    return words


def test_a_result_stands_behind_its_call_where_another_worker_answered_in_between() -> None:
    async def main() -> None:
        history, _ = await kept(asked(), called("c1"))
        await history.save_messages(SESSION, [Message("assistant", ["There"])])
        await history.save_messages(SESSION, [came("c1")])
        assert told(await history.get_messages(SESSION)) == ["Where?", "call c1", "result c1", "There"]
        await history.store.close()

    run(main())


def test_of_several_open_calls_one_has_its_late_result_and_the_others_placeholders_in_the_request(
    tmp_path: Path,
) -> None:
    async def main() -> None:
        async with Desk(OURS, tmp_path, ["One of three"]) as desk:
            await desk.history.save_messages(SESSION, [asked(), called("c1", "c2", "c3")])
            await desk.ask(came("c2"))
            assert why_not(desk.model.sent[-1]) is None
            assert [m.contents[0].result for m in desk.model.sent[-1][2:]] == [
                "depot",
                PLACEHOLDER_TEXT,
                PLACEHOLDER_TEXT,
            ]

    run(main())


def test_of_two_workers_whose_calls_have_one_id_each_has_its_own_result() -> None:
    async def main() -> None:
        history, _ = await kept()
        states: list[dict[str, Any]] = [{}, {}]
        for state, question in zip(states, [asked("A?"), asked("B?")], strict=True):
            context: Any = SessionContext(session_id=SESSION, input_messages=[question])
            await history.before_run(agent=None, session=None, context=context, state=state)
            await history.save_messages(SESSION, [question, called("c1")], state=state)
        await history.save_messages(SESSION, [came("c1", "of the second")], state=states[1])
        await history.save_messages(SESSION, [came("c1", "of the first")], state=states[0])
        found = await history.get_messages(SESSION)
        assert told(found) == ["A?", "call c1", "result c1", "B?", "call c1-2", "result c1-2"]
        assert [found[at].contents[0].result for at in (2, 5)] == ["of the first", "of the second"]
        await history.store.close()

    run(main())


def test_an_equal_call_is_another_one_where_the_user_has_said_something_since() -> None:
    async def main() -> None:
        turn = [called("track"), came("track"), Message("assistant", ["There"])]
        history, _ = await kept(asked(), *turn, asked("And now?"), *turn)
        said = told(await history.get_messages(SESSION))
        assert said[5:] == ["call track-2", "result track-2", "There"]
        await history.save_messages(SESSION, [called("track"), came("track")])  # sent again
        assert told(await history.get_messages(SESSION)) == said
        await history.store.close()

    run(main())


def test_a_turn_that_has_a_known_call_beside_a_new_one_has_ids_of_its_own() -> None:
    async def main() -> None:
        history, _ = await kept(asked(), called("c1"), came("c1"))
        await history.save_messages(SESSION, [called("c1", "c9")])
        await history.save_messages(SESSION, [came("c1", "train"), came("c9")])
        found = told(await history.get_messages(SESSION))
        assert found[3:] == ["call c1-2", "call c9", "result c1-2", "result c9"]
        await history.store.close()

    run(main())


def test_what_stands_beside_the_results_in_a_message_comes_back_with_them() -> None:
    async def main() -> None:
        contents = [
            Content.from_text("first"),
            Content.from_function_result("c1", result="depot"),
            Content.from_text("between"),
            Content.from_function_result("c2", result="depot"),
            Content.from_text("last"),
        ]
        given = [asked(), called("c1", "c2"), Message("tool", contents)]
        history, found = await kept(*given)
        assert [m.to_dict() for m in found] == [m.to_dict() for m in given]
        await history.store.close()

    run(main())


def test_a_save_is_ended_before_its_cancellation_goes_on(tmp_path: Path) -> None:
    async def main() -> None:
        history = TurnledgerHistoryProvider(tmp_path / "desk.db")
        for number in range(20):
            await cancelled_at(history.save_messages(SESSION, [asked(str(number))]), asyncio.sleep(0.002))
            before = told(await history.get_messages(SESSION))
            await asyncio.sleep(0.01)
            assert told(await history.get_messages(SESSION)) == before
        await history.close()

    run(main())


def test_a_transcript_that_is_given_again_adds_only_what_is_new() -> None:
    async def main() -> None:
        first = [Message("user", ["Hi"]), Message("assistant", ["Hello"])]
        history, _ = await kept(*first)
        await history.save_messages(SESSION, [*first, Message("user", ["Bye"])])
        await history.save_messages(SESSION, [Message("user", ["Bye"])])  # without an id: said twice
        await history.save_messages(SESSION, [Message("user", ["Last"], message_id="m9")])
        await history.save_messages(SESSION, [Message("user", ["Last"], message_id="m9")])
        found = await history.get_messages(SESSION)
        assert [message.text for message in found] == ["Hi", "Hello", "Bye", "Bye", "Last"]
        await history.store.close()

    run(main())


def test_as_an_audit_sink_it_records_what_runs_say_and_leaves_it_to_another_to_load() -> None:
    async def main() -> None:
        model = Told(calls("track"), ["There"], ["Bye"])
        sink = TurnledgerHistoryProvider(":memory:", "audit", load_messages=False)
        agent = Agent(client=model, tools=[track], context_providers=[sink])
        session = AgentSession(session_id=SESSION)
        await agent.run("Where?", session=session)
        await agent.run("Thanks", session=session)
        entries = await sink.store.entries(CID)
        assert [e.role for e in entries] == ["user", "assistant", "tool", "assistant", "user", "assistant"]
        texts = [message.text for message in model.sent[-1]]  # from the framework's own memory
        assert texts == ["Where?", "", "", "There", "Thanks"]
        assert (await sink.store.verify()).ok
        await sink.store.close()

    run(main())


def test_a_session_is_what_was_set_last_and_none_when_it_is_deleted() -> None:
    async def main() -> None:
        sessions: Any = TurnledgerSessionStore(AsyncConversationStore(":memory:"))
        assert await sessions.get("s") is None
        session = AgentSession(session_id="s")
        for number in (1, 2):
            session.state["n"] = {"a": number}
            await sessions.set("s", session)
        found = await sessions.get("s")
        assert (found.session_id, found.state) == ("s", {"n": {"a": 2}})
        await sessions.delete("s")
        await sessions.delete("s")
        assert await sessions.get("s") is None
        await sessions.set("s", session)
        assert (await sessions.get("s")).state == {"n": {"a": 2}}
        await sessions.store.close()

    run(main())


def signatures(of: type, names: list[str]) -> list[str]:
    return [f"{name}{inspect.signature(getattr(of, name))}" for name in names]


def test_the_protocols_are_those_that_were_read() -> None:
    assert signatures(HistoryProvider, ["__init__", "get_messages", "save_messages", "before_run"]) == [
        "__init__(self, source_id: 'str', *, load_messages: 'bool' = True, store_inputs: 'bool' = True, "
        "store_context_messages: 'bool' = False, store_context_from: 'set[str] | None' = None, "
        "store_outputs: 'bool' = True)",
        "get_messages(self, session_id: 'str | None', *, state: 'dict[str, Any] | None' = None, "
        "**kwargs: 'Any') -> 'list[Message]'",
        "save_messages(self, session_id: 'str | None', messages: 'Sequence[Message]', *, "
        "state: 'dict[str, Any] | None' = None, **kwargs: 'Any') -> 'None'",
        "before_run(self, *, agent: 'SupportsAgentRun', session: 'AgentSession', context: 'SessionContext', "
        "state: 'dict[str, Any]') -> 'None'",
    ]
    assert signatures(SessionStore, ["get", "set", "delete"]) == [
        "get(self, session_id: 'str') -> 'AgentSession | None'",
        "set(self, session_id: 'str', session: 'AgentSession') -> 'None'",
        "delete(self, session_id: 'str') -> 'None'",
    ]
