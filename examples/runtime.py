"""A reference runtime: a tool loop with pauses, artifacts and crash recovery, over any callable model.

It keeps nothing of its own. Every step is appended before the next one depends on it, so that a process
that dies anywhere is followed by another that reads where things stand and goes on: `Runtime.go_on`. What the
model sees is `sendable`; what is held for a paused run is delivered by the write that ends it (RT-TOOL-7).

    python examples/runtime.py chat.db "Where is my parcel?"      asks, and perhaps pauses
    python examples/runtime.py chat.db --answer yes               answers the question of a paused run
    python examples/runtime.py chat.db --go-on                    goes on after a crash
"""

import argparse
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from uuid import uuid4

from turnledger import (
    ConversationStore,
    Entry,
    IdempotencyConflict,
    InboxItem,
    InvalidArgument,
    InvalidMessage,
    PlaceholderReplaced,
    VersionConflict,
)

Message = dict[str, Any]
Model = Callable[[list[Message]], Message]


class NeedsAnswer(Exception):
    """A tool raises it where a human must answer first; the answer becomes the call's result."""


@dataclass(frozen=True)
class Outcome:
    """What a tool gives: the result that the model reads, and artifacts for the client."""

    content: Any
    artifacts: tuple[dict[str, Any], ...] = ()


Tool = Callable[[Mapping[str, Any]], Outcome]


@dataclass(frozen=True)
class Answer:
    """The run ended: what the assistant said, and the artifacts that were delivered with it."""

    text: str
    artifacts: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Paused:
    """The run waits for a human's answer to the question of a call."""

    call_id: str
    question: str


class Runtime:
    """Runs conversations of a store. Any number of processes may have one on the same store."""

    def __init__(
        self, store: ConversationStore, model: Model, tools: Mapping[str, Tool], steps_max: int = 40
    ) -> None:
        self.store = store
        self.model = model
        self.tools = tools
        self.steps_max = steps_max

    def ask(self, conversation_id: str, text: str) -> Answer | Paused:
        """A user says something: a new run. What an earlier run left unanswered is healed by the store."""
        run = uuid4().hex
        message = {"role": "user", "content": text}
        self.store.append(
            conversation_id, message, execution_id=run, turn_id=run, idempotency_key=f"{run}/ask"
        )
        return self._run(conversation_id, run)

    def answer(self, conversation_id: str, call_id: str, text: str) -> Answer | Paused:
        """A human answers the question of a paused run, in whichever process, however much later."""
        run = self._run_of_call(conversation_id, call_id)
        if not self._give(conversation_id, run, call_id, text):
            entries = self.store.entries(conversation_id)
            if text not in [e.content for e in entries if e.metadata.get("tool_call_id") == call_id]:
                raise LookupError(f"call {call_id!r} was answered before, and otherwise: ask something new")
        return self._run(conversation_id, run)

    def go_on(self, conversation_id: str) -> Answer | Paused:
        """After a crash: goes on where the log ends. Calls without a result are made again, so a tool that
        must not act twice asks its own system, by the call's id."""
        return self._run(conversation_id, self._newest_run(conversation_id))

    def _run(self, conversation_id: str, run: str) -> Answer | Paused:
        for _ in range(self.steps_max):
            version = self.store.version(conversation_id)  # what is looked at below is at least of that
            entries = self.store.entries(conversation_id)
            if not entries:
                raise LookupError("nothing was asked, or it was cleared: ask something")
            calls = self._open_calls(conversation_id, run, entries)
            is_waiting = any(caller == run for caller, _ in calls)
            if not is_waiting and self._is_over(conversation_id, run, entries[-1]):
                artifacts = self.store.turn_artifacts(conversation_id, run)
                return Answer(str(entries[-1].content), tuple(artifacts))
            waiting = self._make(conversation_id, calls)
            for caller, question in waiting:
                if caller == run:  # another run's question does not stop this one
                    return question
            if len(waiting) < len(calls):
                continue  # meanwhile somebody may have spoken: look again
            with suppress(VersionConflict, IdempotencyConflict):  # another process was first: look again
                self._ask_model(conversation_id, run, version)
        raise RuntimeError(f"the run made {self.steps_max} steps and came to no end: raise steps_max")

    def _is_over(self, conversation_id: str, run: str, last: Entry) -> bool:
        """Whether the last word was spoken, knowing every result, and nothing is held for this run's own."""
        if last.role != "assistant" or last.metadata.get("tool_calls"):
            return False
        since = self.store.events(conversation_id, after=last.version)
        late = any(isinstance(event, PlaceholderReplaced) for event in since)
        return not late and not self.store.held(conversation_id, run)

    def _ask_model(self, conversation_id: str, run: str, version: int) -> None:
        """Appends what the model says, unless somebody spoke whom it did not hear; the last word of a run
        takes what is held for it along."""
        sendable = self.store.sendable(conversation_id)
        # refused with a VersionConflict where somebody spoke behind that version; which list was sent is kept
        unless_spoken: dict[str, Any] = {"execution_id": run, "turn_id": run, "expected_version": version}
        self.store.record_request(conversation_id, **unless_spoken)
        turn = {**self.model(sendable.messages), "role": "assistant"}
        once = {**unless_spoken, "idempotency_key": f"{run}/step/{version}"}
        if turn.get("tool_calls"):
            turn["tool_calls"] = [{"tool_call_id": uuid4().hex, **call} for call in turn["tool_calls"]]
            # under the key it comes once: an equal call of before is another one
            self.store.append(conversation_id, turn, reused_ids="distinct", **once)
        else:
            self.store.write_back(conversation_id, messages=turn, **once)

    def _make(self, conversation_id: str, calls: list[tuple[str, Message]]) -> list[tuple[str, Paused]]:
        """Makes every call that has no result yet, for its own run; the questions that wait for a human."""
        waiting: list[tuple[str, Paused]] = []
        for run, call in calls:
            call_id = call["tool_call_id"]
            try:
                outcome = self._made(call)
                if outcome.artifacts:
                    # once for each call: made again after a crash, what was held first stands
                    key = f"{run}/hold/{sha256(call_id.encode()).hexdigest()}"
                    with suppress(IdempotencyConflict):
                        once: dict[str, Any] = {"turn_id": run, "idempotency_key": key}
                        self.store.hold(conversation_id, run, outcome.artifacts, **once)
                self._give(conversation_id, run, call_id, outcome.content)
            except NeedsAnswer as question:
                waiting.append((run, Paused(call_id, str(question))))
            except (InvalidArgument, InvalidMessage) as error:  # what the log cannot hold went wrong too
                self._give(conversation_id, run, call_id, f"{type(error).__name__}: {error}")
        return waiting

    def _give(self, conversation_id: str, run: str, call_id: str, content: Any) -> bool:
        """Gives this very call its result; False where it has one."""
        result = {"role": "tool", "tool_call_id": call_id, "content": content}
        while True:
            version = self.store.version(conversation_id)
            if all(item.id != call_id for item in self._waiting(conversation_id)):
                return False
            with suppress(VersionConflict):  # another process was first: look again
                self.store.append(
                    conversation_id, result, execution_id=run, turn_id=run, expected_version=version
                )
                return True

    def _waiting(self, conversation_id: str) -> list[InboxItem]:
        """Calls without a result, and such with a placeholder for one."""
        items = self.store.open_calls(conversation_id)
        return [item for item in items if item.kind in ("call", "placeholder")]

    def _made(self, call: Mapping[str, Any]) -> Outcome:
        """A tool's outcome; what goes wrong is told to the model, which knows best what to try next."""
        given = call.get("arguments") or {}
        try:
            arguments = json.loads(given) if isinstance(given, str) else given
            outcome = self.tools[call["name"]](arguments)
            json.dumps(outcome.content)  # what is no outcome, or no JSON, went wrong too
            return outcome
        except NeedsAnswer:
            raise
        except Exception as error:
            return Outcome(f"{type(error).__name__}: {error}")

    def _open_calls(self, conversation_id: str, run: str, entries: list[Entry]) -> list[tuple[str, Message]]:
        """The calls that nothing answers, in order, each with its run: another client's with this one."""
        waiting = {item.id for item in self._waiting(conversation_id) if item.kind == "call"}
        return [
            (entry.execution_id or run, call)
            for entry in entries
            for call in entry.metadata.get("tool_calls", ())
            if call.get("tool_call_id") in waiting
        ]

    def _run_of_call(self, conversation_id: str, call_id: str) -> str:
        """The run that made a call; a new one for another client's call."""
        for entry in reversed(self.store.entries(conversation_id)):
            if any(call.get("tool_call_id") == call_id for call in entry.metadata.get("tool_calls", ())):
                return entry.execution_id or uuid4().hex
        raise LookupError(f"conversation {conversation_id!r} has no call {call_id!r}")

    def _newest_run(self, conversation_id: str) -> str:
        """The run of the newest event that is of one; a new one in another client's conversation."""
        runs = [event.execution_id for event in self.store.events(conversation_id) if event.execution_id]
        return runs[-1] if runs else uuid4().hex


def parcels(messages: list[Message]) -> Message:
    """A model for the demonstration: it looks a parcel up, asks before it sends it anew, then tells."""
    results = {m["tool_call_id"]: m["content"] for m in messages if m["role"] == "tool"}
    if "look" not in results:
        call = {"tool_call_id": "look", "name": "track", "arguments": {"parcel": 7}}
        return {"content": "I look it up.", "tool_calls": [call]}
    if "send" not in results:
        call = {"tool_call_id": "send", "name": "send_again", "arguments": {"parcel": 7}}
        return {"content": "It is lost.", "tool_calls": [call]}
    return {"content": f"It was lost. Sent again: {results['send']}."}


def track(arguments: Mapping[str, Any]) -> Outcome:
    url = f"https://example.com/parcels/{arguments['parcel']}"
    return Outcome("lost", ({"type": "link", "payload": {"url": url}, "tool_call_id": "look"},))


def send_again(arguments: Mapping[str, Any]) -> Outcome:
    raise NeedsAnswer(f"Send parcel {arguments['parcel']} again?")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("store")
    parser.add_argument("text", nargs="?", default="Where is my parcel?")
    parser.add_argument("--answer")
    parser.add_argument("--go-on", action="store_true")
    asked = parser.parse_args()
    with ConversationStore(asked.store) as store:
        runtime = Runtime(store, parcels, {"track": track, "send_again": send_again})
        try:
            if asked.answer is not None:
                done = runtime.answer("parcels", "send", asked.answer)
            else:
                done = runtime.go_on("parcels") if asked.go_on else runtime.ask("parcels", asked.text)
        except LookupError as error:
            parser.exit(2, f"{error}\n")
    print(done)  # noqa: T201


if __name__ == "__main__":
    main()
