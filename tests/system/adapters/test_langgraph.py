"""LangChain's agent on a store of ours: what bricks a thread elsewhere leaves it sound here."""

import inspect
import random
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.judges import openai_chat
from tests.judges.official import library
from tests.system.adapters.outcomes_langgraph import OUTCOMES
from tests.system.adapters.staging import OURS, THEIRS, check_outcomes, ends_as_told, in_child, run
from turnledger import ConversationStore, InvalidArgument

pytestmark = pytest.mark.filterwarnings("ignore")  # of LangChain's own

for needed in ("langchain", "langgraph", "langgraph.checkpoint.sqlite"):
    library(needed)

from langchain.agents import create_agent  # noqa: E402
from langchain.agents.middleware import AgentMiddleware  # noqa: E402
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage  # noqa: E402
from langchain_core.tools import tool  # noqa: E402
from langgraph.checkpoint.memory import InMemorySaver  # noqa: E402

from tests.system.adapters.langgraph_scenes import SCENES  # noqa: E402
from tests.system.adapters.langgraph_shop import (  # noqa: E402
    CONFIG,
    LABEL,
    THREAD,
    WITH_BOTH,
    Shop,
    Told,
    calls,
    label,
    shape,
    track,
)
from turnledger.adapters.langchain import TurnledgerHistory  # noqa: E402
from turnledger.adapters.langgraph import TurnledgerMiddleware, import_thread  # noqa: E402
from turnledger.adapters.langgraph_messages import as_messages, entry_of, is_sound, repaired  # noqa: E402

test_the_scene_ends_as_the_table_says_and_leaves_a_sound_log = ends_as_told(
    SCENES, OUTCOMES, "shop.db", THREAD, "openai-chat", openai_chat.why_not
)


def test_every_scene_has_an_outcome_of_all() -> None:
    check_outcomes(OUTCOMES, SCENES, (OURS, WITH_BOTH, THEIRS))


def test_what_a_paused_run_made_is_held_and_delivered_once_on_the_answer_of_another_process(
    tmp_path: Path,
) -> None:
    async def resumed() -> None:
        async with Shop(WITH_BOTH, tmp_path, "Refunded") as shop:
            await shop.approved()

    assert in_child("langgraph_shop", "paused", WITH_BOTH, tmp_path) == 0
    with ConversationStore(tmp_path / "shop.db") as store:
        assert [held.payload for held in store.held(THREAD)] == [LABEL]
        assert not any(message.get("toolArtifacts") for message in store.wire(THREAD))
        run(resumed())
        assert store.held(THREAD) == []
        shown = [m for m in store.wire(THREAD) if m.get("toolArtifacts")]
        assert [(m["content"], len(m["toolArtifacts"])) for m in shown] == [("Refunded", 1)]


def test_what_is_held_shows_in_no_entry_and_comes_back_with_its_message_to_the_next_run() -> None:
    with ConversationStore(":memory:") as store:
        asked(store, calls("photo"), "Taken")
        sent = asked(store, "Bye").sent[-1]
        assert PHOTO not in str([store.buffer(THREAD), store.sendable(THREAD)])
        (shown,) = [message for message in store.wire(THREAD) if PHOTO in str(message)]
        assert (shown["role"], len(shown["toolArtifacts"])) == ("assistant", 1)
        assert [message.artifact for message in sent if isinstance(message, ToolMessage)] == [PHOTO]


def test_a_run_that_is_resumed_after_a_crash_makes_no_call_again_that_had_its_result(tmp_path: Path) -> None:
    made: list[str] = []

    @tool("track")  # type: ignore[untyped-decorator]
    async def track_again(parcel: int = 1) -> str:
        """Where a parcel is."""
        made.append("track")
        return "lost"

    @tool("die")  # type: ignore[untyped-decorator]
    async def live() -> str:
        """Lives this time."""
        made.append("die")
        return "alive"

    async def resumed() -> list[str]:
        async with Shop(WITH_BOTH, tmp_path, "There", tools=[track_again, live]) as shop:
            await shop.run(None)
            return shape(shop.model.sent[-1])

    assert in_child("langgraph_shop", "killed", WITH_BOTH, tmp_path) == -9
    assert run(resumed()) == ["u", "c:track", "c:die", "r:track depot", "r:die alive"]
    assert made == ["die"]


def test_the_synchronous_agent_is_recorded_too_and_goes_on_from_the_log_in_another_process() -> None:
    with ConversationStore(":memory:") as store:
        for turns in ([calls("track"), AIMessage("There")], [AIMessage("Bye")]):
            model = Told(turns=turns, sent=[])
            agent = create_agent(model, [label, track_now], middleware=[TurnledgerMiddleware(store)])
            agent.invoke({"messages": [("user", f"{len(turns)}")]}, CONFIG)
        assert shape(model.sent[-1]) == ["u", "c:track", "r:track depot", "a", "u"]
        assert [m["role"] for m in store.buffer(THREAD)][-2:] == ["user", "assistant"]


PHOTO = "iVBOR/8="


@tool("track")  # type: ignore[untyped-decorator]
def track_now(parcel: int = 1) -> str:
    """Where a parcel is."""
    return "depot"


@tool("photo", response_format="content_and_artifact")  # type: ignore[untyped-decorator]
def photo(parcel: int = 1) -> tuple[str, bytes]:
    """How a parcel looks."""
    return "taken", b"\x89PNG\xff"


def asked(store: ConversationStore, *turns: Any, thread: str = THREAD, **more: Any) -> Any:
    """The model of one run of an agent over a store, which was sent what its `sent` holds."""
    model = Told(turns=[AIMessage(turn) if isinstance(turn, str) else turn for turn in turns], sent=[])
    middleware = [TurnledgerMiddleware(store)]
    agent = create_agent(model, [track_now, photo, label_now], middleware=middleware, **more)
    agent.invoke({"messages": [("user", "Where?")]}, {"configurable": {"thread_id": thread}})
    return model


@tool("label", response_format="content_and_artifact")  # type: ignore[untyped-decorator]
def label_now(parcel: int = 1) -> tuple[str, dict[str, int]]:
    """Makes a label."""
    if parcel < 0:
        raise KeyboardInterrupt
    return "made", {"of": parcel}


@pytest.mark.parametrize("saver", [None, InMemorySaver()], ids=["alone", "with a checkpointer"])
def test_a_result_that_comes_into_the_log_takes_the_place_of_the_placeholder_in_the_next_run(
    saver: Any,
) -> None:
    with ConversationStore(":memory:") as store:
        model = Told(turns=[AIMessage("Lost?"), AIMessage("Found")], sent=[])
        agent = create_agent(model, [track_now], middleware=[TurnledgerMiddleware(store)], checkpointer=saver)
        agent.invoke({"messages": [HumanMessage("1"), calls("track"), HumanMessage("2")]}, CONFIG)
        store.append(THREAD, {"role": "tool", "tool_call_id": "c-track", "content": "depot"})
        agent.invoke({"messages": [("user", "3")]}, CONFIG)
        assert shape(model.sent[-1]) == ["u", "c:track", "r:track depot", "u", "a", "u"]


def test_a_step_of_a_long_thread_is_taken_without_reading_all_of_its_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int | None] = []
    with ConversationStore(":memory:") as store:
        model = Told(turns=[AIMessage("Hi"), calls("track"), AIMessage("There")], sent=[])
        middleware = [TurnledgerMiddleware(store)]
        agent = create_agent(model, [track_now], middleware=middleware, checkpointer=InMemorySaver())
        agent.invoke({"messages": [HumanMessage(f"{number}") for number in range(40)]}, CONFIG)
        entries = store.entries

        def noted(name: str, last: int | None = None) -> Any:
            asked.append(last)
            return entries(name, last=last)

        monkeypatch.setattr(store, "entries", noted)
        agent.invoke({"messages": [("user", "Where?")]}, CONFIG)
        assert shape(model.sent[-1])[-3:] == ["u", "c:track", "r:track depot"]
        assert asked
        assert None not in asked


def test_bytes_that_a_tool_made_are_delivered_as_base64_text_and_the_result_is_kept() -> None:
    with ConversationStore(":memory:") as store:
        asked(store, calls("photo"), "There")
        [artifact] = store.wire(THREAD)[-1]["toolArtifacts"]
        assert artifact["payload"] == {"artifact": PHOTO}
        assert shape(asked(store, "Bye").sent[-1]) == ["u", "c:photo", "r:photo taken", "a", "u"]


@pytest.mark.parametrize("ids", [["c", "c"], ["", ""], [None, "c"]])
def test_two_calls_of_one_message_have_each_an_id_of_its_own_and_its_result(ids: list[Any]) -> None:
    turn = AIMessage(
        [
            {"type": "tool_use", "id": one, "name": name, "input": {}}
            for one, name in zip(ids, "ab", strict=True)
        ],
        tool_calls=[
            {"id": one, "name": name, "args": {}} for one, name in zip(ids, ("track", "photo"), strict=True)
        ],
    )
    with ConversationStore(":memory:") as store:
        asked(store, turn, "There")
        sent = asked(store, "Bye").sent[-1]
        told = shape(sent)
        told[3:5] = sorted(told[3:5])  # they were made at once
        assert told == ["u", "c:track", "c:photo", "r:photo taken", "r:track depot", "a", "u"]
        assert [block["id"] for block in sent[1].content] == [call["id"] for call in sent[1].tool_calls]
        assert len({call["id"] for call in sent[1].tool_calls}) == 2
        results = [m["tool_call_id"] for m in store.sendable(THREAD).messages if m["role"] == "tool"]
        assert sorted(results) == sorted(call["id"] for call in sent[1].tool_calls)


def test_the_first_run_over_a_conversation_of_another_origin_begins_with_it() -> None:
    agent = create_agent(Told(turns=[AIMessage("There")]), [track_now], checkpointer=InMemorySaver())
    agent.invoke({"messages": [("user", "Where?")]}, CONFIG)
    with ConversationStore(":memory:") as store:
        import_thread(store, agent, CONFIG, "imported")
        store.append("plain", [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}])
        TurnledgerHistory("history", store).add_messages(
            [HumanMessage("Hi", id="1"), AIMessage("Ho", id="2")]
        )
        asked(store, "There", thread="first")
        store.fork("first", at=store.version("first"), into="forked")
        for thread in ("imported", "plain", "history", "forked"):
            assert shape(asked(store, "Bye", thread=thread).sent[-1]) == ["u", "a", "u"]
            assert shape(asked(store, "Bye", thread=thread).sent[-1]) == ["u", "a", "u", "a", "u"]
            assert len(store.buffer(thread)) == 6


def test_a_thread_that_was_imported_and_goes_on_with_its_checkpointer_is_not_recorded_twice() -> None:
    saver = InMemorySaver()
    agent = create_agent(Told(turns=[AIMessage("There")]), [track_now], checkpointer=saver)
    agent.invoke({"messages": [("user", "Where?")]}, CONFIG)
    with ConversationStore(":memory:") as store:
        import_thread(store, agent, CONFIG)
        assert shape(asked(store, "Bye", checkpointer=saver).sent[-1]) == ["u", "a", "u"]
        assert [m["content"] for m in store.buffer(THREAD)] == ["Where?", "There", "Where?", "Bye"]


@pytest.mark.parametrize("saver", [None, InMemorySaver()], ids=["log", "checkpointer"])
def test_what_a_run_made_that_ended_without_an_answer_is_on_no_answer_of_another_run(saver: Any) -> None:
    with ConversationStore(":memory:") as store:
        with pytest.raises(KeyboardInterrupt):
            asked(store, calls("label", parcel=7), calls("label", ids=["c2"], parcel=-1), checkpointer=saver)
        asked(store, "Bye", checkpointer=saver)
        assert not any(message.get("toolArtifacts") for message in store.wire(THREAD))
        assert [held.payload for held in store.held(THREAD)] == [{"of": 7}]
        asked(store, calls("label", parcel=8), "There", checkpointer=saver)
        assert [a["payload"] for a in store.wire(THREAD)[-1]["toolArtifacts"]] == [{"of": 8}]


def test_runs_at_once_on_one_thread_have_each_its_own_artifacts_on_its_answer() -> None:
    with ConversationStore(":memory:") as store:
        threads = [
            Thread(target=asked, args=(store, calls("label", ids=[f"c{n}"], parcel=n), f"{n}"))
            for n in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        shown = {m["content"]: m["toolArtifacts"] for m in store.wire(THREAD) if m.get("toolArtifacts")}
        assert {name: [a["payload"] for a in made] for name, made in shown.items()} == {
            f"{n}": [{"of": n}] for n in range(3)
        }


def test_a_run_without_a_thread_is_told_to_name_one() -> None:
    with ConversationStore(":memory:") as store:
        agent = create_agent(
            Told(turns=[AIMessage("x")], sent=[]), [track], middleware=[TurnledgerMiddleware(store)]
        )
        with pytest.raises(InvalidArgument, match="thread_id"):
            agent.invoke({"messages": [("user", "Hi")]})
        named = create_agent(
            Told(turns=[AIMessage("x")], sent=[]), [track], middleware=[TurnledgerMiddleware(store, "mine")]
        )
        named.invoke({"messages": [("user", "Hi")]})
        assert len(store.buffer("mine")) == 2


def test_messages_come_back_as_they_were_given() -> None:
    given = [
        SystemMessage("Be kind", id="0"),
        HumanMessage(
            [
                {"type": "text", "text": "Look"},
                {"type": "image_url", "image_url": {"url": "https://x.y/z.png"}},
            ],
            id="1",
            name="ann",
            additional_kwargs={"k": [1, None]},
        ),
        AIMessage(
            [
                {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                {"type": "tool_use", "id": "c1", "name": "track", "input": {}},
            ],
            id="2",
            tool_calls=[{"id": "c1", "name": "track", "args": {}}],
            additional_kwargs={"refusal": None},
            response_metadata={"model": "m", "usage": {"in": 3}},
            usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        ),
        ToolMessage("depot", id="3", tool_call_id="c1", name="track", artifact={"a": 1}, status="error"),
        AIMessage(
            "",
            id="4",
            invalid_tool_calls=[
                {"id": "c2", "name": "track", "args": "{", "error": "cut", "type": "invalid_tool_call"}
            ],
        ),
    ]
    with ConversationStore(":memory:") as store:
        store.append("c", [entry_of(message) for message in given])
        assert as_messages(store.entries("c")) == given


def test_a_call_whose_id_was_used_before_comes_back_with_its_own_wherever_a_package_has_it() -> None:
    again = AIMessage(
        [{"type": "tool_use", "id": "c1", "name": "track", "input": {"p": 2}}],
        tool_calls=[{"id": "c1", "name": "track", "args": {"p": 2}}],
        additional_kwargs={"tool_calls": [{"id": "c1"}]},
    )
    given = [
        AIMessage("", tool_calls=[{"id": "c1", "name": "track", "args": {}}]),
        ToolMessage("depot", tool_call_id="c1"),
        again,
        ToolMessage("train", tool_call_id="c1"),
    ]
    with ConversationStore(":memory:") as store:
        store.append("c", [{"role": "user", "content": "x"}, *map(entry_of, given)])
        *_, turn, result = as_messages(store.entries("c"))
        ids = turn.content[0]["id"], turn.tool_calls[0]["id"], turn.additional_kwargs["tool_calls"][0]["id"]
        assert {*ids, result.tool_call_id} == {"c1-2"}


def test_a_list_is_repaired_with_the_results_that_the_log_has() -> None:
    turn = calls("track", "label")
    cut = [HumanMessage("a"), turn, HumanMessage("b"), ToolMessage("stray", tool_call_id="gone")]
    found = repaired(cut, {"c-track": ToolMessage("depot", tool_call_id="c-track")})
    assert shape(found) == [
        "u",
        "c:track",
        "c:label",
        "r:track depot",
        "r:label Tool call was interrupted; no result.",
        "u",
    ]


def test_a_list_that_is_seen_to_be_sound_is_one_that_the_repair_leaves_alone() -> None:
    def any_message(chance: random.Random, place: int) -> BaseMessage:
        name = chance.choice(["a", "b", " c", ""])
        made = [
            HumanMessage("u"),
            SystemMessage("s"),
            AIMessage("a"),
            ToolMessage("r", tool_call_id=name),
            ToolMessage("r", tool_call_id=name),
            calls(*"fg", ids=chance.sample(["a", "b", " c", "d"], 2)),
            calls("f", ids=[name]),
        ]
        return chance.choice(made).model_copy(update={"id": f"{place}"})

    sound = 0
    for seed in range(2_000):
        chance = random.Random(seed)
        messages = [any_message(chance, place) for place in range(chance.randrange(7))]
        if is_sound(messages):
            sound += 1
            assert repaired(messages, {}) == messages
    assert sound > 300


def test_of_calls_that_share_an_id_or_have_none_a_list_that_was_given_keeps_the_first() -> None:
    given = [HumanMessage("a"), calls("track", "label", "photo", ids=[" c", "c", ""])]
    found = repaired([*given, ToolMessage("depot", tool_call_id="c"), ToolMessage("x", tool_call_id="")], {})
    assert [call["name"] for call in found[1].tool_calls] == ["track"]
    assert [message.content for message in found[2:]] == ["depot"]


def test_a_thread_is_imported_with_what_was_removed_from_its_state_and_again_only_what_is_new() -> None:
    model = Told(turns=[calls("track"), AIMessage("There"), AIMessage("Bye"), AIMessage("Still?")], sent=[])
    agent = create_agent(model, [track_now], checkpointer=InMemorySaver())
    agent.invoke({"messages": [("user", "Where?")]}, CONFIG)
    with ConversationStore(":memory:") as store:
        assert import_thread(store, agent, CONFIG).messages == 4
        agent.invoke({"messages": [("user", "Thanks")]}, CONFIG)
        assert import_thread(store, agent, CONFIG).outcome == "grown"
        assert import_thread(store, agent, CONFIG).outcome == "unchanged"
        assert [m["role"] for m in store.buffer(THREAD)] == [
            "user",
            "assistant",
            "tool",
            "assistant",
            "user",
            "assistant",
        ]
        assert store.verify().ok


def test_of_a_thread_that_was_forked_the_branch_of_the_newest_checkpoint_is_imported() -> None:
    model = Told(turns=[AIMessage("One"), AIMessage("Two")], sent=[])
    agent = create_agent(model, [track_now], checkpointer=InMemorySaver())
    agent.invoke({"messages": [("user", "Left")]}, CONFIG)
    first = list(agent.get_state_history(CONFIG))[-1]
    agent.invoke({"messages": [("user", "Taken")]}, first.config)
    with ConversationStore(":memory:") as store:
        import_thread(store, agent, CONFIG, "taken")
        assert [m["content"] for m in store.buffer("taken")] == ["Taken", "Two"]


def test_the_protocol_is_the_one_that_was_read() -> None:
    hooks = ("before_agent", "wrap_model_call", "wrap_tool_call", "after_agent")
    assert [f"{name}{inspect.signature(getattr(AgentMiddleware, name))}" for name in hooks] == [
        "before_agent(self, state: 'StateT', runtime: 'Runtime[ContextT]') -> 'dict[str, Any] | None'",
        "wrap_model_call(self, request: 'ModelRequest[ContextT]', handler: "
        "'Callable[[ModelRequest[ContextT]], ModelResponse[ResponseT]]') -> "
        "'ModelResponse[ResponseT] | AIMessage | ExtendedModelResponse[ResponseT]'",
        "wrap_tool_call(self, request: 'ToolCallRequest', handler: 'Callable[[ToolCallRequest], "
        "ToolMessage | Command[Any]]') -> 'ToolMessage | Command[Any]'",
        "after_agent(self, state: 'StateT', runtime: 'Runtime[ContextT]') -> 'dict[str, Any] | None'",
    ]
