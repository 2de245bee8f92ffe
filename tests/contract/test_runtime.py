"""The reference runtime: killed before or after any of its writes it goes on, and delivers once."""

import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from examples.runtime import Answer, NeedsAnswer, Outcome, Paused, Runtime, parcels, send_again
from turnledger import ConversationStore, normalize

ROOT = Path(__file__).parents[2]
CID = "parcels"
WRITES = ("append", "hold", "write_back", "record_request")
WRITTEN = 10  # writes of the whole conversation
LOOK = {"tool_call_id": "look"}
LAST = "It was lost. Sent again: yes."


class KilledError(BaseException):
    """The process dies here."""


class Dying:
    """A store in a process that dies at one of its writes: before it, or when it is recorded."""

    def __init__(self, store: ConversationStore, dies_at: int, *, after: bool) -> None:
        self._store = store
        self._left = dies_at
        self._after = after

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        return partial(self._write, found) if name in WRITES else found

    def _write(self, write: Callable[..., Any], *given: Any, **more: Any) -> Any:
        self._left -= 1
        if not self._left and not self._after:
            raise KilledError
        done = write(*given, **more)
        if not self._left:
            raise KilledError
        return done


class Tools(dict[str, Any]):
    """The tools of the demonstration; each look gives another link."""

    def __init__(self) -> None:
        super().__init__(track=self.track, send_again=send_again)
        self.looks = 0

    def track(self, arguments: Mapping[str, Any]) -> Outcome:
        self.looks += 1
        return Outcome("lost", ({"type": "link", "payload": {"n": self.looks}, "tool_call_id": "look"},))


def gone_on(runtime: Runtime, store: ConversationStore) -> Answer | Paused:
    """What another process makes of it after a crash."""
    begun = any(summary.conversation_id == CID for summary in store.conversations())
    done = runtime.go_on(CID) if begun else runtime.ask(CID, "Where is it?")
    return runtime.answer(CID, done.call_id, "yes") if isinstance(done, Paused) else done


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("dies_at", range(1, WRITTEN + 2))
def test_killed_at_any_write_it_goes_on_and_delivers_once(dies_at: int, after: bool) -> None:
    with ConversationStore(":memory:") as store:
        tools = Tools()
        dying = Runtime(cast("ConversationStore", Dying(store, dies_at, after=after)), parcels, tools)
        try:
            asked = dying.ask(CID, "Where is it?")
            assert isinstance(asked, Paused)
            assert not any("toolArtifacts" in message for message in store.wire(CID))
            done = dying.answer(CID, asked.call_id, "yes")
            assert dies_at > WRITTEN
        except KilledError:
            assert dies_at <= WRITTEN
            done = gone_on(Runtime(store, parcels, tools), store)
        assert isinstance(done, Answer)
        assert done.text == LAST
        assert len(done.artifacts) == 1
        assert [len(message.get("toolArtifacts", ())) for message in store.wire(CID)] == [0, 0, 0, 0, 0, 1]
        assert store.held(CID) == []
        assert normalize(store.buffer(CID)).dropped == 0
        assert store.verify().ok


def test_what_a_tool_raises_is_told_to_the_model() -> None:
    def failing(arguments: Mapping[str, Any]) -> Outcome:
        raise ValueError("no such parcel")

    with ConversationStore(":memory:") as store:
        Runtime(store, parcels, {"track": failing, "send_again": send_again}).ask(CID, "Where is it?")
        assert store.buffer(CID)[2]["content"] == "ValueError: no such parcel"


@pytest.mark.parametrize("given", [{1, 2}, object(), "no outcome"], ids=["a set", "an object", "a text"])
def test_so_is_what_a_tool_gives_that_the_log_cannot_hold(given: Any) -> None:
    def odd(arguments: Mapping[str, Any]) -> Outcome:
        return given if isinstance(given, str) else Outcome(given)  # type: ignore[return-value]

    with ConversationStore(":memory:") as store:
        Runtime(store, parcels, {"track": odd, "send_again": send_again}).ask(CID, "Where is it?")
        assert "Error: " in store.buffer(CID)[2]["content"]


def test_a_user_who_speaks_while_the_model_answers_another_is_answered_too() -> None:
    def model(messages: list[dict[str, Any]]) -> dict[str, Any]:
        if len(messages) == 1:
            store.append(CID, {"role": "user", "content": "And mine?"}, execution_id="run-2")
        return {"content": f"{len(messages)} questions"}

    with ConversationStore(":memory:") as store:
        done = Runtime(store, model, {}).ask(CID, "Where is it?")
        assert done == Runtime(store, model, {}).go_on(CID) == Answer("2 questions", ())


def test_it_goes_on_in_a_conversation_of_another_client_s() -> None:
    with ConversationStore(":memory:") as store:
        store.append(CID, {"role": "user", "content": "Where is it?"})
        assert isinstance(Runtime(store, parcels, Tools()).go_on(CID), Paused)


def test_a_model_that_counts_its_calls_anew_is_answered_each_time() -> None:
    """The second call was taken for the first, sent again: its result was dropped, and the run had no end."""
    readings = iter(range(1, 9))

    def model(messages: list[dict[str, Any]]) -> dict[str, Any]:
        last = max(place for place, message in enumerate(messages) if message["role"] == "user")
        results = [message["content"] for message in messages[last:] if message["role"] == "tool"]
        if len(results) < 2:
            return {"content": "", "tool_calls": [{"tool_call_id": "call_0", "name": "status"}]}
        return {"content": f"It is {results}"}

    with ConversationStore(":memory:") as store:
        runtime = Runtime(store, model, {"status": lambda _: Outcome(str(next(readings)))})
        assert runtime.ask(CID, "Ready?") == Answer("It is ['1', '2']", ())
        assert runtime.ask(CID, "And now?") == Answer("It is ['3', '4']", ())
        assert store.verify().ok


def test_two_that_go_on_at_once_end_a_run_once() -> None:
    """Whoever was in a tool meanwhile asked the model behind the other's last word."""

    def model(messages: list[dict[str, Any]]) -> dict[str, Any]:
        if messages[-1]["role"] == "tool":
            return {"content": "In the depot."}
        return {"content": "", "tool_calls": [{"tool_call_id": "look", "name": "track"}]}

    with ConversationStore(":memory:") as store:
        other = Runtime(store, model, {"track": lambda _: Outcome("depot")})

        def slow(arguments: Mapping[str, Any]) -> Outcome:
            other.go_on(CID)
            return Outcome("depot")

        assert Runtime(store, model, {"track": slow}).ask(CID, "Where?") == Answer("In the depot.", ())
        assert [entry.role for entry in store.entries(CID)] == ["user", "assistant", "tool", "assistant"]


def test_where_nothing_was_asked_it_says_so() -> None:
    with ConversationStore(":memory:") as store:
        store.append(CID, {"role": "user", "content": "hi"})
        store.clear(CID)
        with pytest.raises(LookupError, match="ask something"):
            Runtime(store, parcels, Tools()).go_on(CID)


def test_a_user_who_speaks_instead_of_answering_is_not_locked_out() -> None:
    with ConversationStore(":memory:") as store:
        runtime = Runtime(store, parcels, Tools())
        assert isinstance(runtime.ask(CID, "Where is it?"), Paused)
        done = runtime.ask(CID, "Never mind.")
        assert isinstance(done, Answer)
        assert done.artifacts == ()
        assert len(store.held(CID)) == 1  # of the run that was given up: for an operator


def test_an_answer_that_comes_after_the_user_went_on_is_heard_and_delivers() -> None:
    with ConversationStore(":memory:") as store:
        runtime = Runtime(store, parcels, Tools())
        assert isinstance(runtime.ask(CID, "Where is it?"), Paused)
        assert isinstance(runtime.ask(CID, "Still there?"), Answer)
        done = runtime.answer(CID, "send", "yes")
        assert done == runtime.go_on(CID) == Answer(LAST, ({"type": "link", "payload": {"n": 1}, **LOOK},))
        assert store.held(CID) == []
        assert store.verify().ok


def test_killed_behind_an_answer_that_came_late_it_goes_on_with_it() -> None:
    with ConversationStore(":memory:") as store:
        runtime = Runtime(store, parcels, Tools())
        runtime.ask(CID, "Where is it?")
        runtime.ask(CID, "Still there?")
        dying = Runtime(cast("ConversationStore", Dying(store, 1, after=True)), parcels, Tools())
        with pytest.raises(KilledError):
            dying.answer(CID, "send", "yes")
        assert runtime.go_on(CID) == Answer(LAST, ({"type": "link", "payload": {"n": 1}, **LOOK},))


def test_a_slow_tool_s_result_ends_its_own_run_though_another_asked_meanwhile() -> None:
    """The first run was given the other's answer, and what it held stayed held."""

    def model(messages: list[dict[str, Any]]) -> dict[str, Any]:
        results = [message["content"] for message in messages if message["role"] == "tool"]
        if not results:
            return {"content": "", "tool_calls": [{"tool_call_id": "look", "name": "track"}]}
        return {"content": f"It is {results[-1]}"}

    with ConversationStore(":memory:") as store:

        def slow(arguments: Mapping[str, Any]) -> Outcome:
            Runtime(store, lambda _: {"content": "Wait."}, {}).ask(CID, "And mine?")
            return Outcome("depot", ({"type": "link", "payload": {"n": 1}, **LOOK},))

        done = Runtime(store, model, {"track": slow}).ask(CID, "Where?")
        assert isinstance(done, Answer)
        assert done.text == "It is depot"
        assert len(done.artifacts) == 1
        assert store.held(CID) == []


def test_the_model_is_not_asked_where_another_spoke_between_the_look_and_the_list() -> None:
    """Both ended the run: the look saw no answer, the list that was taken then had one."""

    class Overtaken:
        def __init__(self, store: ConversationStore) -> None:
            self._store = store

        def __getattr__(self, name: str) -> Any:
            return getattr(self._store, name)

        def sendable(self, conversation_id: str) -> Any:
            Runtime(self._store, model, {}).go_on(conversation_id)
            return self._store.sendable(conversation_id)

    asked: list[int] = []

    def model(messages: list[dict[str, Any]]) -> dict[str, Any]:
        asked.append(len(messages))
        return {"content": "In the depot."}

    with ConversationStore(":memory:") as store:
        slow = Runtime(cast("ConversationStore", Overtaken(store)), model, {})
        assert slow.ask(CID, "Where?") == Answer("In the depot.", ())
        assert asked == [1]
        assert [entry.role for entry in store.entries(CID)] == ["user", "assistant"]


def test_a_model_may_change_the_messages_that_it_is_given() -> None:
    """As clients do that mark the last one for a provider's cache: the store's own list was changed."""

    def model(messages: list[dict[str, Any]]) -> dict[str, Any]:
        messages[-1]["content"] += " [cache here]"
        return {"content": "Yes."}

    with ConversationStore(":memory:") as store:
        runtime = Runtime(store, model, {})
        runtime.ask(CID, "Where?")
        runtime.ask(CID, "And now?")
        assert store.sendable(CID).messages[0]["content"] == "Where?"
        assert store.verify().ok


def test_an_answer_to_no_call_and_another_answer_are_refused() -> None:
    with ConversationStore(":memory:") as store:
        runtime = Runtime(store, parcels, Tools())
        runtime.ask(CID, "Where is it?")
        with pytest.raises(LookupError, match="has no call 'sent'"):
            runtime.answer(CID, "sent", "yes")
        done = runtime.answer(CID, "send", "yes")
        version = store.version(CID)
        assert runtime.answer(CID, "send", "yes") == done
        with pytest.raises(LookupError, match="was answered before"):
            runtime.answer(CID, "send", "no")
        assert store.version(CID) == version


def calling(call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    call = {"tool_call_id": call_id, "name": name, "arguments": arguments}
    return {"content": "", "tool_calls": [call]}


def saying(*turns: dict[str, Any]) -> Callable[[list[dict[str, Any]]], dict[str, Any]]:
    coming = iter(turns)
    return lambda _: next(coming)


def approve(arguments: Mapping[str, Any]) -> Outcome:
    raise NeedsAnswer(f"Delete {arguments['file']}?")


def receipt(arguments: Mapping[str, Any]) -> Outcome:
    return Outcome("made", ({"type": "receipt", "payload": dict(arguments), "tool_call_id": "x"},))


@pytest.mark.parametrize("again", ["yes", "no"])
def test_a_second_answer_to_one_question_answers_no_other_that_has_its_id(again: str) -> None:
    """The model used the id again for another file, which nobody had approved."""
    with ConversationStore(":memory:") as store:
        turns = calling("ok", "approve", file="A"), calling("ok", "approve", file="B")
        runtime = Runtime(store, saying(*turns, {"content": "done"}), {"approve": approve})
        runtime.ask(CID, "go")
        asked = runtime.answer(CID, "ok", "no")
        assert asked == Paused("ok-2", "Delete B?")
        if again == "no":
            assert runtime.answer(CID, "ok", again) == asked
        else:
            with pytest.raises(LookupError, match="answered before"):
                runtime.answer(CID, "ok", again)
        assert [item.id for item in store.open_calls(CID)] == ["ok-2"]


@pytest.mark.parametrize("call_id", ["ask", "2", "step/2", "x" * 223, "line\nline", "c1"])
def test_artifacts_of_a_call_are_delivered_whatever_its_id(call_id: str) -> None:
    with ConversationStore(":memory:") as store:
        turns = calling(call_id, "receipt"), {"content": "done"}
        done = Runtime(store, saying(*turns), {"receipt": receipt}).ask(CID, "go")
        assert isinstance(done, Answer)
        assert len(done.artifacts) == 1


def test_a_call_that_two_runs_make_at_once_delivers_once() -> None:
    def model(messages: list[dict[str, Any]]) -> dict[str, Any]:
        made = any(message["role"] == "tool" for message in messages)
        return {"content": "Refunded."} if made else calling("pay", "refund")

    with ConversationStore(":memory:") as store:
        other = Runtime(store, model, {"refund": receipt})

        def refund(arguments: Mapping[str, Any]) -> Outcome:
            other._run(CID, "another-run")
            return receipt(arguments)

        Runtime(store, model, {"refund": refund}).ask(CID, "go")
        assert sum(len(message.get("toolArtifacts", ())) for message in store.wire(CID)) == 1
        assert store.held(CID) == []
        assert store.verify().ok


def test_a_run_that_is_answered_is_not_stopped_by_another_s_question() -> None:
    def model(messages: list[dict[str, Any]]) -> dict[str, Any]:
        last = max(place for place, message in enumerate(messages) if message["role"] == "user")
        if any(message["role"] == "assistant" for message in messages[last:]):
            return {"content": "done"}
        file = messages[last]["content"]
        calls = [calling(f"r{file}", "receipt", file=file), calling(f"a{file}", "approve", file=file)]
        return {"content": "", "tool_calls": [turn["tool_calls"][0] for turn in calls]}

    with ConversationStore(":memory:") as store:
        runtime = Runtime(store, model, {"receipt": receipt, "approve": approve})
        assert runtime.ask(CID, "A") == Paused("aA", "Delete A?")
        assert runtime.ask(CID, "B") == Paused("aB", "Delete B?")
        for file in ("A", "B"):
            done = runtime.answer(CID, f"a{file}", "yes")
            assert isinstance(done, Answer)
            assert [artifact["payload"] for artifact in done.artifacts] == [{"file": file}]
        assert store.held(CID) == []
        assert normalize(store.buffer(CID)).dropped == 0
        assert store.verify().ok


DEEP: list[Any] = []
for _ in range(150):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    "outcome",
    [Outcome(DEEP), Outcome({1: 1, "1": 2}), Outcome("r", {"type": "t"}), Outcome("r", 5)],  # type: ignore[arg-type]
    ids=["deep", "two keys that read the same", "a map", "a number"],
)
def test_an_outcome_that_the_log_refuses_is_told_to_the_model(outcome: Outcome) -> None:
    with ConversationStore(":memory:") as store:
        turns = calling("c1", "odd"), {"content": "end"}
        done = Runtime(store, saying(*turns), {"odd": lambda _: outcome}).ask(CID, "go")
        assert done == Answer("end", ())
        assert "Invalid" in store.buffer(CID)[2]["content"]


def test_a_call_without_an_id_is_given_one() -> None:
    with ConversationStore(":memory:") as store:
        turn = {"content": "", "tool_calls": [{"name": "receipt", "arguments": {}}]}
        done = Runtime(store, saying(turn, {"content": "end"}), {"receipt": receipt}).ask(CID, "go")
        assert isinstance(done, Answer)
        assert len(done.artifacts) == 1
        assert store.buffer(CID)[2]["content"] == "made"


def test_it_runs_at_a_prompt_in_a_process_a_step(tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        program, store = ROOT / "examples" / "runtime.py", tmp_path / "chat.db"
        command = [sys.executable, str(program), str(store), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert run("Where is it?").startswith("Paused(call_id='send'")
    assert run("--go-on").startswith("Paused(call_id='send'")
    assert run("--answer", "yes") == run("--go-on")


@pytest.mark.parametrize("asked", [["--go-on"], ["--answer", "yes"]])
def test_at_a_prompt_where_nothing_was_asked_it_says_so(tmp_path: Path, asked: list[str]) -> None:
    command = [sys.executable, str(ROOT / "examples" / "runtime.py"), str(tmp_path / "chat.db"), *asked]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "there is no conversation 'parcels'\n")
