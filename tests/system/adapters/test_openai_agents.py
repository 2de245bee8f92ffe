"""The session of the OpenAI Agents SDK: driven by its own loop, beside its own `SQLiteSession`."""

import asyncio
import inspect
import random
from pathlib import Path
from typing import Any

import pytest

from tests.judges.official import library
from tests.judges.openai_responses import why_not
from tests.system.adapters.staging import OURS, check_log, run
from turnledger import AsyncConversationStore, ConversationStore, InvalidId
from turnledger.domain.values import canonical

library("agents")

from agents.memory import Session, SessionSettings  # noqa: E402
from agents.run_internal import session_persistence  # noqa: E402

from tests.system.adapters import openai_agents_scenes as scenes  # noqa: E402
from tests.system.adapters.outcomes_openai_agents import OUTCOMES  # noqa: E402
from turnledger.adapters.awaiting import ended  # noqa: E402
from turnledger.adapters.openai_agents import TurnledgerSession, newest  # noqa: E402

SIGNATURES = {
    "get_items": "(self, limit: 'int | None' = None) -> 'list[TResponseInputItem]'",
    "add_items": "(self, items: 'list[TResponseInputItem]') -> 'None'",
    "pop_item": "(self) -> 'TResponseInputItem | None'",
    "clear_session": "(self) -> 'None'",
}
"""The protocol as it was read in release 0.24.0."""

USER = {"role": "user", "content": "hi"}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc"}
CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "c1",
    "name": "f",
    "arguments": '{"a": 1}',
    "status": "completed",
    "provider_data": {"signature": "x"},
}
OTHER = {"type": "function_call", "call_id": "c2", "name": "g", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "found"}
OTHER_OUTPUT = {
    "type": "function_call_output",
    "call_id": "c2",
    "output": [{"type": "input_text", "text": "so"}],
}
ANSWER = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "yes", "annotations": [], "logprobs": []}],
    "provider_data": {"model": "m"},
}
PARTS = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "and?"}], "own": 1}
ALL: list[Any] = [USER, THOUGHT, CALL, OTHER, OUTPUT, OTHER_OUTPUT, ANSWER, PARTS]


def in_any_order(items: list[Any]) -> list[str]:
    return sorted(canonical(item) for item in items)


@pytest.mark.parametrize("method", SIGNATURES)
def test_the_protocol_is_the_one_that_was_read(method: str) -> None:
    assert str(inspect.signature(getattr(Session, method))) == SIGNATURES[method]


def test_the_session_is_one_that_takes_the_runs_wrapper() -> None:
    session = TurnledgerSession("s")
    assert isinstance(session, Session)
    assert session_persistence._get_session_wrapper(session, object()) is not None
    run(session.close())


@pytest.mark.parametrize(("scene", "who"), OUTCOMES, ids=lambda value: value.replace(" ", "-"))
def test_after_each_scene_the_model_is_asked_with_a_list_that_it_takes(
    scene: str, who: str, tmp_path: Path
) -> None:
    path = tmp_path / "store.db"

    async def played() -> list[Any]:
        session = scenes.session_of(who, path)
        await scenes.SCENES[scene](session, path, who)
        sent = await scenes.asked_at_last(session)
        await scenes.closed(session)
        return sent

    sent = run(played())
    refused = why_not({"input": sent})
    assert scenes.told(sent) + (f", refused: {refused}" if refused else "") == OUTCOMES[scene, who]
    if who == OURS:
        assert refused is None
        check_log(path, scenes.SESSION, "openai-responses", why_not)


async def with_items(items: list[Any], **options: Any) -> TurnledgerSession:
    session = TurnledgerSession("s", **options)
    await session.add_items(items)
    return session


def test_items_come_back_as_they_were_given() -> None:
    async def told() -> Any:
        session = await with_items(ALL)
        await session.add_items([])
        return await session.get_items()

    assert run(told()) == ALL


PATCH = {
    "type": "apply_patch_call",
    "id": "ap_1",
    "call_id": "c1",
    "operation": {"type": "delete_file", "path": "x"},
    "status": "completed",
}
SHELL = {
    "type": "local_shell_call",
    "id": "ls_1",
    "call_id": "c1",
    "action": {"type": "exec", "command": ["ls"], "env": {}},
    "status": "completed",
}


@pytest.mark.parametrize(
    ("call", "output"),
    [
        (PATCH, {"output": "Error: no such file", "status": "failed", "id": "apo_1"}),
        (PATCH, {"status": "completed"}),
        (PATCH, {"output": "", "status": "completed"}),
        (SHELL, {"output": "a.txt"}),
        (SHELL, {"output": "a.txt", "status": "completed", "id": "c1"}),
    ],
)
def test_so_do_a_patch_and_a_local_shell_s_command_with_what_they_said(
    call: dict[str, Any], output: dict[str, Any]
) -> None:
    items = [call, {"type": f"{call['type']}_output", "call_id": "c1", **output}]

    async def told() -> Any:
        return await (await with_items(items)).get_items()

    assert run(told()) == items


def test_they_do_in_whatever_pieces_they_were_given() -> None:
    async def told(chance: random.Random) -> Any:
        session, rest = TurnledgerSession("s"), ALL
        while rest:
            count = chance.randint(1, len(rest))
            await session.add_items(rest[:count])
            rest = rest[count:]
        return await session.get_items()

    for seed in range(12):
        found = run(told(random.Random(seed)))
        assert in_any_order(found) == in_any_order(ALL)
        assert why_not({"input": [without_own(item) for item in found]}) is None


def without_own(item: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key not in ("provider_data", "own")}


def test_they_do_after_a_heal_too() -> None:
    async def told() -> Any:
        session = await with_items([USER, THOUGHT, CALL, OTHER, OTHER_OUTPUT])
        await session.add_items([PARTS])
        return await session.get_items()

    found = run(told())
    assert [one for one in found if one in ALL] == [USER, THOUGHT, CALL, OTHER, OTHER_OUTPUT, PARTS]
    (healed,) = [one for one in found if one not in ALL]
    assert (healed["type"], healed["call_id"]) == ("function_call_output", "c1")


def test_items_are_popped_one_by_one_as_they_were_given_and_the_log_keeps_them(tmp_path: Path) -> None:
    path = tmp_path / "store.db"

    async def told() -> Any:
        session = await with_items(ALL, store=path)
        popped = [await session.pop_item() for _ in range(len(ALL) + 1)]
        await session.close()
        return popped

    assert run(told()) == [*reversed(ALL), None]
    with ConversationStore(path) as store:
        assert store.buffer("s") == []
        assert len(store.buffer("s", at=7)) == 6
        assert store.verify().ok


def test_a_pop_takes_one_item_of_a_response_and_leaves_the_others() -> None:
    async def told() -> Any:
        session = await with_items([USER, THOUGHT, CALL, OTHER])
        await session.pop_item()
        rest = await session.get_items()
        await session.add_items([OTHER, OUTPUT, OTHER_OUTPUT])
        return rest, await session.get_items()

    rest, whole = run(told())
    assert rest[:3] == [USER, THOUGHT, CALL]
    assert in_any_order(whole) == in_any_order([USER, THOUGHT, CALL, OTHER, OUTPUT, OTHER_OUTPUT])


def test_the_runners_own_rewind_takes_back_what_a_retry_sends_again() -> None:
    async def told() -> Any:
        session = await with_items([USER, THOUGHT, CALL, OUTPUT, ANSWER])
        await session.add_items([PARTS])
        await session_persistence.rewind_session_items(session, [PARTS])
        before = await session.get_items()
        await session_persistence.rewind_session_items(session, [OTHER])
        return before, await session.get_items()

    before, after = run(told())
    assert before == after == [USER, THOUGHT, CALL, OUTPUT, ANSWER]


def test_an_unknown_session_has_no_items_and_is_not_begun_by_reading(tmp_path: Path) -> None:
    async def told() -> Any:
        async with TurnledgerSession("s", tmp_path / "store.db") as session:
            await session.clear_session()
            return await session.get_items(), await session.pop_item()

    assert run(told()) == ([], None)
    with ConversationStore(tmp_path / "store.db") as store:
        assert list(store.conversations()) == []


def test_a_cleared_session_begins_anew() -> None:
    async def told() -> Any:
        session = await with_items(ALL)
        await session.clear_session()
        empty = await session.get_items()
        await session.add_items(ALL)
        return empty, await session.get_items()

    assert run(told()) == ([], ALL)


@pytest.mark.parametrize("limit", range(-1, len(ALL) + 3))
def test_a_limit_parts_no_call_from_its_output_nor_reasoning_from_what_it_led_to(limit: int) -> None:
    async def told() -> Any:
        session = await with_items(ALL)
        return await session.get_items(limit)

    found = run(told())
    assert found == (ALL[len(ALL) - len(found) :] if found else [])
    assert len(found) == {-1: 0, 0: 0, 1: 1, 2: 2, 3: 2, 4: 2, 5: 2, 6: 2, 7: 7}.get(limit, len(ALL))
    assert why_not({"input": [without_own(item) for item in found]}) is None


def any_items(chance: random.Random) -> list[Any]:
    """Items in any order, as a program that stores what it likes has them."""
    call_id, word = f"c{chance.randrange(4)}", f"{chance.randrange(3)}"
    call = {"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}"}
    kinds: list[list[dict[str, Any]]] = [
        [{"role": chance.choice(["user", "user", "user", "developer"]), "content": word}],
        [{**THOUGHT, "id": f"rs_{word}"}, {**call, "id": f"fc_{call_id}"}],
        [call],
        [{**OUTPUT, "call_id": call_id, "output": word}],
        [{**ANSWER, "id": f"msg_{chance.randrange(9)}"}],
        [{**SHELL, "call_id": call_id}],
    ]
    return [item for _ in range(chance.randrange(1, 4)) for item in chance.choice(kinds)]


@pytest.mark.parametrize("seed", range(30))
def test_a_limit_gives_the_end_of_what_the_whole_is(seed: int) -> None:
    async def checked() -> None:
        chance, store = random.Random(seed), ConversationStore(":memory:")
        session = TurnledgerSession("s", store)
        for _ in range(12):
            await session.add_items(any_items(chance))
            if chance.random() < 0.2:
                await session.pop_item()
            if chance.random() < 0.1:
                store.compact("s", keep_last=3, summary=USER)
            whole: list[Any] = await session.get_items()
            for limit in (1, 2, 5, 9):
                session.session_settings = SessionSettings(limit=limit)
                assert await session.get_items() == newest(whole, limit)
            session.session_settings = SessionSettings()
        store.close()

    run(checked())


def test_a_step_in_a_long_session_is_stored_popped_and_looked_at_without_reading_the_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def turn(number: int) -> list[Any]:
        call = {**CALL, "call_id": f"c{number}", "id": f"fc_{number}"}
        answer = {**ANSWER, "id": f"msg_{number}"}
        return [USER, call, {**OUTPUT, "call_id": f"c{number}"}, answer]

    async def told() -> Any:
        store = ConversationStore(":memory:")
        session = TurnledgerSession("s", store)
        await session.add_items([item for number in range(20) for item in turn(number)])
        await session.add_items(turn(20))
        monkeypatch.setattr(store, "buffer", None)
        entries = store.entries
        monkeypatch.setattr(store, "entries", lambda name, last: entries(name, last=last))
        await session.add_items(turn(21))
        await session.add_items(turn(21)[1:])
        found = await TurnledgerSession("s", store).get_items(limit=5)
        return found, await session.pop_item()

    found, popped = run(told())
    assert found == [turn(20)[-1], *turn(21)]
    assert popped == turn(21)[-1]


def test_a_limit_begins_behind_a_response_without_reasoning_or_calls() -> None:
    answers = [{"role": "assistant", "content": text} for text in "ab"]
    assert newest([USER, *answers], 1) == answers[1:]
    assert newest([USER, CALL, OUTPUT], 2) == [CALL, OUTPUT]
    assert newest([USER, CALL, OUTPUT], 1) == []


def test_a_look_at_the_end_shows_a_waiting_call_without_a_placeholder_and_a_run_is_given_one() -> None:
    async def told(settings: SessionSettings | None) -> Any:
        session = await with_items([USER, THOUGHT, CALL, OTHER, OUTPUT], session_settings=settings)
        return await session.get_items(limit=9), await session.get_items()

    waiting, healed = run(told(None))
    assert waiting == [USER, THOUGHT, CALL, OTHER, OUTPUT]
    assert sorted(item["call_id"] for item in healed if "output" in item) == ["c1", "c2"]
    assert run(told(SessionSettings(limit=9)))[0] == healed


def test_the_settings_limit_holds_where_none_is_given() -> None:
    async def told(settings: Any) -> Any:
        session = await with_items([USER, ANSWER, PARTS], session_settings=settings)
        return await session.get_items(), await session.get_items(limit=2)

    assert run(told(SessionSettings(limit=1))) == ([PARTS], [ANSWER, PARTS])
    assert run(told({"limit": 1})) == ([PARTS], [ANSWER, PARTS])


def test_an_equal_answer_under_a_made_up_id_is_another_answer() -> None:
    made_up = {**ANSWER, "id": "__fake_id__"}

    async def told(item: Any) -> Any:
        session = await with_items([USER, item])
        await session.add_items([USER, item])
        return len(await session.get_items())

    assert (run(told(made_up)), run(told(ANSWER))) == (4, 3)


SEARCH = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "q"},
}


def test_what_a_tool_of_the_service_did_is_not_kept_twice_when_its_step_is_sent_again() -> None:
    async def told() -> Any:
        session = await with_items([USER, SEARCH, ANSWER])
        await session.add_items([SEARCH, ANSWER])
        return await session.get_items()

    assert run(told()) == [USER, SEARCH, ANSWER]


def test_an_item_under_its_id_is_not_kept_twice_within_one_call_nor_while_it_waits_for_what_it_led_to() -> (
    None
):
    async def told() -> Any:
        session = await with_items([USER, THOUGHT, THOUGHT])
        await session.add_items([THOUGHT, CALL, OUTPUT])
        return await session.get_items()

    assert run(told()) == [USER, THOUGHT, CALL, OUTPUT]


def test_reasoning_that_led_to_nothing_is_kept_again_with_what_it_leads_to() -> None:
    async def told() -> Any:
        session = await with_items([USER, THOUGHT])
        await session.add_items([USER])
        await session.add_items([THOUGHT, ANSWER])
        return await session.get_items()

    assert run(told()) == [USER, USER, THOUGHT, ANSWER]


def again(output: str, **more: Any) -> list[Any]:
    """A call that a program's own model makes under the one id that it knows, and its output."""
    return [{**OTHER, **more}, {**OTHER_OUTPUT, "output": output}]


async def with_steps(*steps: list[Any]) -> list[tuple[str, Any]]:
    """The calls and the outputs after steps that were stored one by one."""
    session = TurnledgerSession("s")
    for step in steps:
        await session.add_items(step)
    items: list[Any] = await session.get_items()
    return [(item["call_id"], item.get("output", "")) for item in items if "call_id" in item]


BOTH = [("c2", ""), ("c2", "1"), ("c2-2", ""), ("c2-2", "2")]


@pytest.mark.parametrize(
    "steps",
    [
        ([USER], again("1"), [USER], again("2")),
        ([USER, *again("1")], [USER, *again("2")]),
        ([USER, *again("1"), USER, *again("2")],),
        ([USER, *again("1")], again("2")),
        ([USER, *again("1")], again("2"), again("1"), again("2")),
        ([USER, *again("1", id="fc_1")], again("2", id="fc_2")),
        ([USER, *again("1")], [USER, OTHER], again("2")[1:]),
    ],
    ids=["turns", "whole turns", "at once", "steps", "steps sent again", "ids", "stored as it goes"],
)
def test_an_equal_call_under_the_same_id_is_another_one_in_another_turn_or_with_another_output(
    steps: tuple[list[Any], ...],
) -> None:
    assert run(with_steps(*steps)) == BOTH


@pytest.mark.parametrize("user_went_on", [True, False])
def test_a_call_that_is_sent_again_under_the_service_s_own_id_is_the_same(user_went_on: bool) -> None:
    between = [[USER]] if user_went_on else []
    assert run(with_steps([USER, *again("1", id="fc_1")], *between, again("1", id="fc_1"))) == BOTH[:2]


def test_a_step_that_is_sent_again_is_not_kept_twice_before_the_user_goes_on() -> None:
    assert run(with_steps([USER, *again("1")], again("1"), [OTHER])) == BOTH[:2]


def test_a_call_that_waits_is_the_same_when_it_is_sent_with_its_output() -> None:
    assert run(with_steps([USER, OTHER], [USER], again("1"))) == BOTH[:2]


def test_three_turns_with_the_same_call_are_three_calls() -> None:
    found = run(with_steps(*([USER, *again("1")] for _ in range(3))))
    assert [call_id for call_id, _ in found] == ["c2", "c2", "c2-2", "c2-2", "c2-3", "c2-3"]


def test_a_step_that_two_workers_store_with_the_same_id_is_stored_by_each(tmp_path: Path) -> None:
    async def told() -> Any:
        session, other = (TurnledgerSession("s", tmp_path / "store.db") for _ in range(2))
        await session.add_items([USER, *again("1")])
        await asyncio.gather(session.add_items(again("2")), other.add_items(again("3")))
        items: list[Any] = await session.get_items()
        await session.close()
        await other.close()
        return sorted(item["output"] for item in items if "output" in item)

    assert run(told()) == ["1", "2", "3"]


class Raced(ConversationStore):
    """A store in which another worker was a moment quicker, once."""

    is_ahead = True

    def append(self, conversation_id: str, messages: Any, **how: Any) -> Any:
        if self.is_ahead:
            self.is_ahead = False
            call = {"tool_call_id": "c2", "name": "g", "arguments": "{}"}
            theirs = {"role": "assistant", "content": "", "tool_calls": [call]}
            self.append(conversation_id, [theirs, {"role": "tool", "tool_call_id": "c2", "content": "1"}])
        return super().append(conversation_id, messages, **how)


def test_a_step_is_kept_where_another_worker_stored_an_equal_call_since_the_last_look() -> None:
    async def told() -> Any:
        with Raced(":memory:") as store:
            session = TurnledgerSession("s", store)
            await session.add_items(again("2"))
            return await session.get_items()

    assert [(one["call_id"], one.get("output", "")) for one in run(told())] == BOTH


def test_it_says_where_its_events_come_from() -> None:
    async def told() -> Any:
        store = AsyncConversationStore(":memory:")
        session = TurnledgerSession("s", store, origin=lambda wrapper: {"turn_id": f"turn {wrapper}"})
        await session.add_items([USER], wrapper=7)
        await session.pop_item(wrapper=8)
        await session.close()
        events = [event.turn_id async for event in store.events("s")]
        await store.close()
        return events

    assert run(told()) == ["turn 7", "turn 7", "turn 8"]


def test_a_store_that_blocks_is_used_from_threads() -> None:
    with ConversationStore(":memory:") as store:
        assert len(run(with_items_and_read(store))) == len(ALL)
        assert store.version("s") == 7


@pytest.mark.parametrize("kind", [ConversationStore, AsyncConversationStore])
def test_what_a_cancelled_call_stored_is_seen_by_the_read_right_after_it(kind: Any, tmp_path: Path) -> None:
    async def seen_and_later() -> tuple[list[Any], list[Any]]:
        store = kind(tmp_path / "store.db")
        session = TurnledgerSession("s", store)
        seen, later = [], []
        for number in range(16):
            adding = asyncio.create_task(session.add_items([{"role": "user", "content": f"{number}"}]))
            await asyncio.sleep(0.0005 * (number % 8))
            adding.cancel()
            await asyncio.wait([adding])
            seen.append(await session.get_items())
            await asyncio.sleep(0.02)
            later.append(await session.get_items())
        closing = store.close()
        await (closing or asyncio.sleep(0))
        return seen, later

    seen, later = run(seen_and_later())
    assert seen == later


def test_a_cancelled_call_ends_before_the_cancellation_goes_on() -> None:
    async def played() -> list[str]:
        told: list[str] = []

        async def work() -> None:
            await asyncio.sleep(0.05)
            told.append("stored")

        task = asyncio.create_task(ended(work()))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return [*told, "cancelled"]

    assert run(played()) == ["stored", "cancelled"]


async def with_items_and_read(store: ConversationStore) -> Any:
    session = await with_items(ALL, store=store)
    return await session.get_items()


def test_a_session_id_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidId):
        TurnledgerSession("")


def test_two_that_pop_at_once_take_different_items(tmp_path: Path) -> None:
    async def told() -> Any:
        sessions = [TurnledgerSession("s", tmp_path / "store.db") for _ in range(2)]
        await sessions[0].add_items(ALL)
        popped = await asyncio.gather(*(sessions[n % 2].pop_item() for n in range(len(ALL))))
        left = await sessions[0].get_items()
        for session in sessions:
            await session.close()
        return popped, left

    popped, left = run(told())
    assert left == []
    assert in_any_order(popped) == in_any_order(ALL)
