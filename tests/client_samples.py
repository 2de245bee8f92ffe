"""A conversation in the shape of each client that is read and not written: all that this shape can say."""

from collections.abc import Mapping
from typing import Any

PNG = "iVBORw0KGgo="

OLLAMA: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "what is it?", "images": [PNG, "eA=="]},
    {
        "model": "qwen3",
        "created_at": "2026-01-01T00:00:00Z",
        "message": {
            "role": "assistant",
            "content": "I look.",
            "thinking": "hm",
            "tool_calls": [
                {"function": {"index": 0, "name": "look", "arguments": {"at": "cat"}}},
                {"function": {"index": 1, "name": "sniff", "arguments": {}}},
            ],
        },
        "done": True,
        "done_reason": "stop",
        "eval_count": 7,
    },
    {"role": "tool", "tool_name": "sniff", "content": "warm"},
    {"role": "tool", "tool_name": "look", "content": "red"},
    {"role": "assistant", "content": "It is red.", "thinking": "so it is"},
]

CLIENT_SAMPLES: Mapping[str, list[dict[str, Any]]] = {"ollama": OLLAMA}
