"""A conversation in each provider's own shape that says what only this shape can."""

from collections.abc import Mapping
from typing import Any

CACHED = {"cache_control": {"type": "ephemeral"}}
CITED = {
    "type": "text",
    "text": "It is red.",
    "citations": [
        {
            "type": "char_location",
            "cited_text": "red",
            "document_index": 0,
            "document_title": None,
            "start_char_index": 0,
            "end_char_index": 3,
        }
    ],
}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "eA=="}}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
USE = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": "cat"}}

ANTHROPIC: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "text", "text": "what is it?", **CACHED}, IMAGE]},
    {"role": "assistant", "content": [THINKING, {"type": "text", "text": "I look."}, {**USE, **CACHED}]},
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "toolu_1",
                "content": [{"type": "text", "text": "see"}, IMAGE],
                "is_error": True,
                **CACHED,
            },
            {"type": "text", "text": "well?"},
            {"type": "text", "text": "say"},
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "redacted_thinking", "data": "eHh4"},
            {"type": "text", "text": "I search."},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "cat"}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
            CITED,
            {"type": "text", "text": " And warm."},
        ],
    },
]
OPENAI: list[dict[str, Any]] = [
    {"role": "developer", "content": "in verse"},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "see"},
            {"type": "image_url", "image_url": {"url": "https://a.b/c"}},
        ],
    },
    {
        "role": "user",
        "name": "ann",
        "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
    },
    {"role": "assistant", "content": "", "refusal": "no"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "call_1", "type": "custom", "custom": {"name": "sh", "input": "ls -l"}}],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "a b"},
]

SAMPLES: Mapping[str, list[dict[str, Any]]] = {"anthropic": ANTHROPIC, "openai-chat": OPENAI}
