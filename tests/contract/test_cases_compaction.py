"""The cases of kind compaction: one writer compacts while another appends."""

import threading
from pathlib import Path
from typing import Any

import pytest

from tests.contract.cases import cases, contents, names, only, run_append
from turnledger import ConversationStore

ROUNDS = 8
"""How often each race is run."""


@pytest.mark.parametrize("case", cases("compaction"), ids=names("compaction"))
@pytest.mark.parametrize("turn", range(ROUNDS))
def test_a_compaction_erases_no_append(case: dict[str, Any], turn: int, place: Path | str) -> None:
    only(case, "setup", "parallel", "expect", "open")
    only(case["expect"], "contains_once")
    with ConversationStore(place) as store:
        for step in case["setup"]:
            run_append(store, "c", step)
        raced(place, case["parallel"])
        assert store.verify().ok
        for text in case["expect"]["contains_once"]:
            assert contents(store, "c").count(text) == 1


def raced(place: Path | str, writers: list[list[dict[str, Any]]]) -> None:
    together = threading.Barrier(len(writers))
    errors: list[BaseException] = []

    def write(steps: list[dict[str, Any]]) -> None:
        try:
            with ConversationStore(place) as store:
                together.wait()
                for step in steps:
                    only(step, "append", "compact")
                    if "compact" in step:
                        store.compact("c", **step["compact"])
                    else:
                        run_append(store, "c", step)
        except BaseException as error:
            errors.append(error)
            raise

    threads = [threading.Thread(target=write, args=(steps,)) for steps in writers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
