"""The cases of kind concurrency: writers as threads with a store each, faults done to real files."""

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.contract.cases import (
    assert_message,
    assert_messages,
    cases,
    contents,
    decoded,
    names,
    only,
    run_append,
)
from tests.postgres import executed
from turnledger import ConversationStore, CorruptEvent, MessageAppended, TurnledgerError
from turnledger.infrastructure.log import Overtaken

WRITES_AND_IS_KILLED = """
import json, os, signal, sys
from tests.postgres import executed
from turnledger import ConversationStore
store = ConversationStore(sys.argv[1])
for messages in json.loads(sys.argv[2]):
    store.append("c", messages)
os.kill(os.getpid(), signal.SIGKILL)
"""
ROUNDS = 4
"""How often each race is run."""


class Run:
    def __init__(self, case: dict[str, Any], folder: Path, place: Path | str) -> None:
        self.case, self.folder, self.place = case, folder, place
        self.fault = case.get("fault", {})
        only(self.fault, "truncate_log_tail", "overwrite_record", "kill", "conflict_once_for_writer")
        self.store = ConversationStore(self.place)
        self.appended: list[list[int]] = []
        self.salvaged: list[Any] = []
        self.damage: list[Any] = []
        self.locked = False

    def setup(self) -> None:
        steps = self.case.get("setup", [])
        if "kill" in self.fault:
            assert self.fault["kill"] == "before the result is appended"
            told = json.dumps([step["append"] for step in steps])
            command = [sys.executable, "-c", WRITES_AND_IS_KILLED, str(self.place), told]
            assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
            return
        self.log_bytes = [self.logged_bytes()]
        for step in steps:
            only(step, "append", "expect")
            run_append(self.store, "c", step)
            self.log_bytes.append(self.logged_bytes())

    def wal(self) -> Path:
        path = Path(self.place)
        return path.with_name(path.name + "-wal")

    def logged_bytes(self) -> int:
        return self.wal().stat().st_size if self.wal().exists() else 0

    def damage_it(self) -> None:
        if "truncate_log_tail" in self.fault:
            assert self.fault["truncate_log_tail"] == "middle of the last record"
            self.tear_the_log()
        if "overwrite_record" in self.fault:
            only(self.fault["overwrite_record"], "index", "with_bytes")
            self.overwrite(
                self.fault["overwrite_record"]["index"], self.fault["overwrite_record"]["with_bytes"]
            )

    def tear_the_log(self) -> None:
        """The files as they were when the machine stopped in the middle of the last append."""
        torn = self.folder / "torn"
        torn.mkdir()
        for path in (Path(self.place), self.wal()):
            shutil.copyfile(path, torn / path.name)
        self.store.close()
        self.place = torn / Path(self.place).name
        with self.wal().open("r+b") as file:
            file.truncate((self.log_bytes[-2] + self.log_bytes[-1]) // 2)
        self.store = ConversationStore(self.place)

    def overwrite(self, index: int, with_bytes: str) -> None:
        byte, times = with_bytes.split(" x ")
        self.store.append("other", {"role": "user", "content": "unharmed"})
        messages = [event for event in self.store.events("c") if isinstance(event, MessageAppended)]
        overwritten(self.place, messages[index].version, bytes.fromhex(byte) * int(times))

    def parallel(self) -> None:
        writers = self.case.get("parallel", [])
        self.appended = [[] for _ in writers]
        errors: list[BaseException] = []
        together = threading.Barrier(max(len(writers), 1))

        def write(number: int) -> None:
            try:
                self.writer(number, writers[number], together)
            except BaseException as error:
                errors.append(error)
                raise

        threads = [threading.Thread(target=write, args=(number,)) for number in range(len(writers))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors

    def writer(self, number: int, steps: list[dict[str, Any]], together: threading.Barrier) -> None:
        with ConversationStore(self.place) as store:
            if any(step.get("open_early") for step in steps):
                store.buffer("c")
            if self.fault.get("conflict_once_for_writer") == number:
                self.conflict_once(store)
            together.wait()
            for step in steps:
                only(step, "append", "repeat", "open_early", "delay_s")
                time.sleep(step.get("delay_s", 0))
                for turn in range(step.get("repeat", 1)):
                    messages = decoded(step["append"])
                    for message in messages:
                        message["content"] = message["content"].replace("{n}", str(turn))
                    self.appended[number].append(store.append("c", messages).appended)

    def conflict_once(self, store: ConversationStore) -> None:
        """The first insert meets what a database says to the loser of a race."""
        recorder = store._application.recorder
        insert = recorder.insert
        self.conflicts = 0

        def insert_or_conflict(*args: Any, **kwargs: Any) -> None:
            self.conflicts += 1
            if self.conflicts == 1:
                raise Overtaken
            insert(*args, **kwargs)

        recorder.insert = insert_or_conflict  # type: ignore[method-assign]

    def after(self) -> None:
        for step in self.case.get("after", []):
            only(
                step,
                "append",
                "expect",
                "reopen",
                "read",
                "events",
                "may_raise",
                "second_connection",
                "timeout_s",
            )
            if step.get("reopen"):
                self.store.close()
                self.store = ConversationStore(self.place)
            if "read" in step:
                assert step["read"] == "raises CorruptEvent"
                with pytest.raises(CorruptEvent) as caught:
                    self.store.buffer("c")
                assert "'c'" in str(caught.value)
            if "events" in step:
                assert step["events"] == "damaged=skip"
                events = self.store.events("c", damaged="skip")
                self.salvaged = [event.content for event in events if isinstance(event, MessageAppended)]
                self.damage = list(events.damaged)
            if "append" in step:
                self.append_after(step)
            elif "expect" in step:
                only(step["expect"], "count")
                assert len(self.store.buffer("c")) == step["expect"]["count"]

    def append_after(self, step: dict[str, Any]) -> None:
        if step.get("second_connection"):
            try:
                with ConversationStore(self.place, timeout_s=step.get("timeout_s", 5)) as second:
                    run_append(second, "c", step)
            except TimeoutError:
                self.locked = True
        elif step.get("may_raise"):
            before = self.store.buffer("c")
            with pytest.raises(TurnledgerError):
                run_append(self.store, "c", step)
            assert self.store.buffer("c") == before
        else:
            run_append(self.store, "c", step)

    def check(self) -> None:
        expect = self.case["expect"]
        only(
            expect,
            "appended_each",
            "appended_sum",
            "appended_of_writer",
            "count",
            "contains_once",
            "first",
            "buffer",
            "buffer_any_of",
            "per_writer_order_kept",
            "raises_locked",
            "salvaged_contains_once",
            "damage_reported",
            "other_conversations_unharmed",
        )
        if "appended_each" in expect:
            assert list(map(sum, self.appended)) == expect["appended_each"]
        if "appended_sum" in expect:
            assert sum(map(sum, self.appended)) == expect["appended_sum"]
        for number, allowed in expect.get("appended_of_writer", {}).items():
            assert sum(self.appended[int(number)]) in allowed
        if "raises_locked" in expect:
            assert self.locked is expect["raises_locked"]
        if "salvaged_contains_once" in expect:
            assert [self.salvaged.count(text) for text in expect["salvaged_contains_once"]] == [1] * 3
        if "damage_reported" in expect:
            assert bool(self.damage) is expect["damage_reported"]
            assert not self.store.verify("c").ok
        if "other_conversations_unharmed" in expect:
            assert contents(self.store, "other") == ["unharmed"]
            assert self.store.append("other", {"role": "assistant", "content": "still"}).appended == 1
            assert self.store.verify("other").ok
        if "damage_reported" not in expect:
            self.check_buffer(expect)
        if "conflict_once_for_writer" in self.fault:
            assert self.conflicts > 1

    def check_buffer(self, expect: dict[str, Any]) -> None:
        buffer = self.store.buffer("c")
        assert self.store.verify("c").ok
        if "count" in expect:
            assert len(buffer) == expect["count"]
        for text in expect.get("contains_once", ()):
            assert [message["content"] for message in buffer].count(text) == 1
        if "first" in expect:
            assert_message(buffer[0], expect["first"])
        if "buffer" in expect:
            assert_messages(buffer, expect["buffer"])
        if "buffer_any_of" in expect:
            assert any(self.equals(buffer, wanted) for wanted in expect["buffer_any_of"])
        if expect.get("per_writer_order_kept"):
            for steps in self.case["parallel"]:
                texts = [
                    message["content"].replace("{n}", str(turn))
                    for step in steps
                    for turn in range(step.get("repeat", 1))
                    for message in step["append"]
                ]
                assert [message["content"] for message in buffer if message["content"] in texts] == texts

    @staticmethod
    def equals(buffer: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> bool:
        try:
            assert_messages(buffer, wanted)
        except AssertionError:
            return False
        return True


def overwritten(place: Path | str, version: int, state: bytes) -> None:
    statement = "UPDATE {}stored_events SET state = {} WHERE originator_id = 'c' AND originator_version = {}"
    if isinstance(place, str):
        executed(place, statement.format("{schema}.", "%s", "%s"), state, version)
        return
    with closing(sqlite3.connect(place)) as connection, connection:
        connection.execute(statement.format("", "?", "?"), (state, version))


@pytest.mark.parametrize("case", cases("concurrency"), ids=names("concurrency"))
def test_writers_and_faults_end_as_the_case_says(
    case: dict[str, Any], tmp_path: Path, new_place: Callable[[], Path | str]
) -> None:
    only(case, "setup", "parallel", "fault", "after", "expect")
    assert case.get("fault", {}).keys() <= {
        "truncate_log_tail",
        "overwrite_record",
        "kill",
        "conflict_once_for_writer",
    }
    if "truncate_log_tail" in case.get("fault", {}) and isinstance(new_place(), str):
        return  # the server's own log is the server's to repair
    for number in range(ROUNDS if len(case.get("parallel", ())) > 1 else 1):
        folder = tmp_path / str(number)
        folder.mkdir()
        run = Run(case, folder, new_place())
        run.setup()
        run.damage_it()
        run.parallel()
        run.after()
        run.check()
        run.store.close()
