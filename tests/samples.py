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
MISTRAL: list[dict[str, Any]] = [
    {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "what is it?"},
            {"type": "image_url", "image_url": "https://a.b/c.png"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,eA==", "detail": "low"}},
            {"type": "document_url", "document_url": "https://a.b/d.pdf", "document_name": "d.pdf"},
            {"type": "input_audio", "input_audio": "eA=="},
            {"type": "file", "file_id": "f-1"},
            {"type": "resource_link", "uri": "https://a.b/e", "metadata": {"page": 2}},
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}], "signature": "c2ln"},
            {"type": "text", "text": "I look."},
        ],
        "tool_calls": [
            {
                "id": "D681PevKs",
                "type": "function",
                "function": {"name": "look", "arguments": '{"at": "cat"}'},
            },
            {"id": "000000002", "type": "function", "function": {"name": "sniff", "arguments": "{}"}},
        ],
    },
    {
        "role": "tool",
        "name": "look",
        "tool_call_id": "D681PevKs",
        "content": [
            {"type": "text", "text": "see"},
            {"type": "resource", "uri": "cat://1", "content": {"type": "text", "text": "a cat"}},
        ],
    },
    {"role": "tool", "name": "sniff", "tool_call_id": "000000002", "content": "warm"},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "It is red"},
            {"type": "reference", "reference_ids": [1, "b"]},
            {"type": "text", "text": "."},
        ],
    },
    {"role": "user", "content": "In verse?"},
    {"role": "assistant", "content": "Red ", "prefix": True},
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

SAMPLES: Mapping[str, list[dict[str, Any]]] = {
    "anthropic": ANTHROPIC,
    "mistral": MISTRAL,
    "openai-chat": OPENAI,
}
