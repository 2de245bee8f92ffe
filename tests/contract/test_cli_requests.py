"""`requests --show` of every provider's shape: all that was sent can be looked at, bytes and items too."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.contract.command_line import run
from tests.samples import SAMPLES
from turnledger import ConversationStore
from turnledger.importing import import_transcript


@pytest.mark.parametrize(("provider", "messages"), list(SAMPLES.items()))
def test_a_recorded_request_is_shown_whole(provider: str, messages: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with ConversationStore(path) as store:
        import_transcript(store, "c", messages, provider)
        store.record_request("c", provider=provider)
        sent = store.sendable("c", provider=provider).messages
    shown = run("requests", "c", "--show", 1, "--full", store=path)
    assert shown.code == 0
    nothing = [one for one in sent if one.get("content") == "" and "tool_calls" not in one]
    assert shown.out.count("(empty)") == len(nothing)
    as_json = run("requests", "c", "--show", 1, "--json", store=path)
    assert len(json.loads(as_json.out)["messages"]) == len(sent)
