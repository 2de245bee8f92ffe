"""The cases of kind append."""

from pathlib import Path
from typing import Any

import pytest

from tests.contract.cases import assert_messages, cases, names, only, run_append
from turnledger import ConversationStore


@pytest.mark.parametrize("case", cases("append"), ids=names("append"))
def test_an_append_ends_as_the_case_says(case: dict[str, Any], place: Path | str) -> None:
    only(case, "steps", "expect", "window", "reused_ids")
    only(case["expect"], "buffer", "sibling_results_order")
    settings = {key: case[key] for key in ("window", "reused_ids") if key in case}
    with ConversationStore(place, **settings) as store:
        for step in case["steps"]:
            only(step, "append", "expect")
            assert set(step["expect"]) == {"appended", "count"}
            run_append(store, "c", step)
        found = store.buffer("c")
        assert_messages(found, case["expect"]["buffer"], case["expect"].get("sibling_results_order"))
    with ConversationStore(place) as reopened:
        assert reopened.buffer("c") == found
