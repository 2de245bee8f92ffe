"""The cases of kind artifacts."""

import json
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.contract.cases import as_json, cases, decoded, names, only
from tests.postgres import executed
from turnledger import ArtifactDropped, ConversationStore, HeldLimits

DIES_BEFORE_COMMIT = """
import json, os, sys
from turnledger import ConversationStore
path, execution, message, collected = *sys.argv[1:3], *map(json.loads, sys.argv[3:5])
store = ConversationStore(path)
insert = store._application.recorder.insert
def insert_and_die(*args, **kwargs):
    if not path.startswith("postgresql:"):  # there it would be recorded
        insert(*args, **kwargs)
    os._exit(9)
store._application.recorder.insert = insert_and_die
store.write_back("c", execution, message, artifacts=collected)
"""


TRIGGER = """
CREATE FUNCTION {schema}.fail() RETURNS trigger LANGUAGE plpgsql AS
    $body$ BEGIN RAISE EXCEPTION 'the write failed'; END $body$;
CREATE TRIGGER failing AFTER INSERT ON {schema}.stored_events EXECUTE FUNCTION {schema}.fail()
"""


def plain(artifacts: Any) -> list[Any]:
    return [{key: item[key] for key in ("type", "payload", "tool_call_id")} for item in artifacts]


class Run:
    """One case on its way: the store, what was delivered and taken so far."""

    def __init__(self, place: Path | str, bound: int | None) -> None:
        self.place, self.bound = place, bound
        self.store = self.opened()
        self.delivered: list[Any] = []
        self.taken: list[Any] = []
        self.open_take: Any = None
        self.turns = 0

    def opened(self) -> ConversationStore:
        limits = HeldLimits(artifacts=self.bound) if self.bound else None
        return ConversationStore(self.place, held_limits=limits)

    def message(self) -> dict[str, Any]:
        self.turns += 1
        return {"role": "assistant", "content": f"turn {self.turns}"}

    def on_the_wire(self) -> list[Any]:
        try:
            wire = self.store.wire("c")
        except LookupError:
            return []
        return [item for entry in wire for item in entry.get("toolArtifacts", ())]

    def step(self, step: dict[str, Any]) -> dict[str, Any]:
        """Does a step; what it shows, by the names that cases use."""
        only(
            step,
            "hold",
            "poll",
            "take",
            "put_back",
            "write_back",
            "reopen",
            "crash_during_write_back",
            "execution",
            "expect",
        )
        execution = step.get("execution", "e1")
        found: dict[str, Any] = {}
        before = self.on_the_wire()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if "hold" in step:
                self.store.hold("c", execution, decoded(step["hold"]))
            if "take" in step:
                self.open_take = self.store.take("c", execution)
                self.taken = found["taken"] = plain(self.open_take.artifacts)
            if "put_back" in step:
                assert as_json(plain(self.store.put_back("c", self.open_take).held)) == as_json(
                    step["put_back"]
                )
            if "write_back" in step:
                found["delivered"] = self.write_back(execution, step["write_back"])
        if "crash_during_write_back" in step:
            self.crash(execution, step["crash_during_write_back"])
        if "reopen" in step:
            self.store.close()
            self.store = self.opened()
        assert all(issubclass(warning.category, ArtifactDropped) for warning in caught)
        found["warnings"] = len(caught)
        if "poll" in step:
            found["wire"] = self.on_the_wire()
        assert self.on_the_wire() == before + found.get("delivered", [])
        with suppress(LookupError):
            found["held"] = plain(self.store.held("c", execution))
        return found

    def write_back(self, execution: str, given: dict[str, Any]) -> list[Any]:
        only(given, "collected", "fails")
        if given.get("fails"):
            with self.failing(), pytest.raises(OSError, match="the write failed"):
                self.store.write_back("c", execution, self.message(), artifacts=decoded(given["collected"]))
            return []
        result = self.store.write_back("c", execution, self.message(), artifacts=decoded(given["collected"]))
        self.delivered += plain(result.delivered)
        return plain(result.delivered)

    @contextmanager
    def failing(self) -> Iterator[None]:
        """Whatever is inserted in the block is not recorded: on PostgreSQL the server itself fails."""
        if isinstance(self.place, str):
            executed(self.place, TRIGGER)
            yield
            executed(self.place, "DROP TRIGGER failing ON {schema}.stored_events")
            return
        recorder = self.store._application.recorder
        insert = recorder.insert

        def insert_and_fail(*args: Any, **kwargs: Any) -> None:
            insert(*args, **kwargs)
            raise OSError("the write failed")

        recorder.insert = insert_and_fail  # type: ignore[method-assign]
        yield
        recorder.insert = insert  # type: ignore[method-assign]

    def crash(self, execution: str, given: dict[str, Any]) -> None:
        """Another process writes back, and dies when all is written and nothing is committed."""
        only(given, "collected", "after")
        assert given["after"] == "take"
        told = [str(self.place), execution, json.dumps(self.message()), json.dumps(given["collected"])]
        done = subprocess.run(
            [sys.executable, "-c", DIES_BEFORE_COMMIT, *told], check=False, capture_output=True
        )
        assert done.returncode == 9, done.stderr


@pytest.mark.parametrize("case", cases("artifacts"), ids=names("artifacts"))
def test_artifacts_end_where_the_case_says(case: dict[str, Any], place: Path | str) -> None:
    only(case, "steps", "expect", "bound")
    only(case["expect"], "delivered_total", "held", "taken_as_set", "exactly_once")
    run = Run(place, case.get("bound"))
    found: dict[str, Any] = {}
    for step in case["steps"]:
        found = run.step(step)
        expect = step.get("expect", {})
        only(expect, "held", "wire", "delivered", "taken", "warnings", "warnings_at_least")
        for key in ("held", "wire", "delivered", "taken", "warnings"):
            if key in expect:
                assert as_json(found[key]) == as_json(expect[key]), key
        assert found["warnings"] >= expect.get("warnings_at_least", 0)
    expect = case["expect"]
    if "held" in expect:
        assert as_json(plain(run.store.held("c"))) == as_json(expect["held"])
    if "delivered_total" in expect:
        assert as_json(run.delivered) == as_json(expect["delivered_total"])
        assert as_json(run.on_the_wire()) == as_json(expect["delivered_total"])
    if "taken_as_set" in expect:
        assert Counter(map(as_json, run.taken)) == Counter(map(as_json, expect["taken_as_set"]))
    for artifact in expect.get("exactly_once", ()):
        assert list(map(as_json, run.on_the_wire())).count(as_json(artifact)) == 1
    assert run.store.verify("c").ok
    run.store.close()


def test_a_write_back_that_fails_after_taking_takes_nothing(place: Path | str) -> None:
    run = Run(place, None)
    link = {"type": "link", "payload": {"n": 1}, "tool_call_id": "c1"}
    run.step({"hold": [link]})
    found = run.step({"write_back": {"collected": [], "fails": True}})
    assert found["held"] == [link]
    assert run.store.open_takes() == []
    assert run.step({"write_back": {"collected": []}})["delivered"] == [link]
    run.store.close()
