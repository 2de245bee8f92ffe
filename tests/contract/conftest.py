"""What several contract tests start from."""

from pathlib import Path

import pytest

from turnledger import ConversationStore


@pytest.fixture
def cats(tmp_path: Path) -> Path:
    """A store with one conversation: a call healed and answered late, one artifact held, one take open."""
    path = tmp_path / "cats.db"
    with ConversationStore(path) as store:
        call = {"tool_call_id": "c1", "name": "search", "arguments": {"q": "cats"}}
        store.append("cats", {"role": "user", "content": "cats?"}, turn_id="t1", context={"actor": "ann"})
        store.append("cats", {"role": "assistant", "content": "", "tool_calls": [call]}, turn_id="t1")
        store.append("cats", {"role": "user", "content": "hello?"}, turn_id="t2")
        store.append("cats", {"role": "tool", "content": "three cats", "tool_call_id": "c1"})
        store.hold("cats", "run-1", [{"type": "link", "payload": {"url": "https://example.com"}}])
        store.take("cats", "run-1")
        store.hold("cats", "run-1", [{"type": "table", "payload": {"rows": 2}, "tool_call_id": "c1"}])
    return path
