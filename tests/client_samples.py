"""A conversation in the shape of each client that is read and not written: all that this shape can say."""

from collections.abc import Mapping
from typing import Any

from tests.samples import RESPONSES

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

VERCEL_UI: list[dict[str, Any]] = [
    {"id": "m0", "role": "system", "parts": [{"type": "text", "text": "Be brief."}]},
    {
        "id": "m1",
        "role": "user",
        "metadata": {"sent": 1},
        "parts": [
            {"type": "text", "text": "what is it?"},
            {"type": "file", "mediaType": "image/png", "url": f"data:image/png;base64,{PNG}"},
            {"type": "data-place", "id": "d1", "data": {"at": "home"}},
        ],
    },
    {
        "id": "m2",
        "role": "assistant",
        "parts": [
            {"type": "step-start"},
            {
                "type": "reasoning",
                "text": "hm",
                "state": "done",
                "providerMetadata": {"anthropic": {"signature": "c2ln"}},
            },
            {"type": "text", "text": "I look.", "state": "done"},
            {
                "type": "tool-look",
                "toolCallId": "t1",
                "state": "output-available",
                "input": {"at": "cat"},
                "output": {"colour": "red", "legs": 4},
                "callProviderMetadata": {"openai": {"itemId": "fc_1"}},
            },
            {
                "type": "dynamic-tool",
                "toolName": "sniff",
                "toolCallId": "t2",
                "state": "output-error",
                "rawInput": '{"a',
                "errorText": "no nose",
            },
            {
                "type": "tool-bite",
                "toolCallId": "t3",
                "state": "output-denied",
                "input": {},
                "approval": {"id": "a1", "approved": False, "reason": "better not"},
            },
            {
                "type": "tool-search",
                "toolCallId": "t4",
                "state": "output-available",
                "input": {"q": "cats"},
                "output": ["found"],
                "providerExecuted": True,
            },
            {"type": "step-start"},
            {"type": "text", "text": "It is "},
            {"type": "text", "text": "red."},
            {"type": "source-url", "sourceId": "s1", "url": "https://a.b/cat", "title": "Cats"},
            {"type": "file", "mediaType": "image/png", "url": "https://a.b/c.png", "filename": "c.png"},
        ],
    },
    {"id": "m3", "role": "user", "parts": [{"type": "text", "text": "and now?"}]},
    {
        "id": "m4",
        "role": "assistant",
        "parts": [
            {"type": "step-start"},
            {"type": "tool-look", "toolCallId": "t5", "state": "input-available", "input": {"at": "dog"}},
            {"type": "tool-bite", "toolCallId": "t6", "state": "input-streaming", "input": {"ho": "w"}},
        ],
    },
]
VERCEL_UI_4: list[dict[str, Any]] = [
    {
        "id": "n1",
        "createdAt": "2025-01-01T00:00:00.000Z",
        "role": "user",
        "content": "see",
        "parts": [{"type": "text", "text": "see"}],
        "experimental_attachments": [
            {"name": "d.pdf", "contentType": "application/pdf", "url": "https://a.b/d.pdf"}
        ],
    },
    {
        "id": "n2",
        "role": "assistant",
        "content": "Done.",
        "annotations": [{"cost": 3}],
        "parts": [
            {"type": "reasoning", "reasoning": "hm", "details": [{"type": "redacted", "data": "eHh4"}]},
            {
                "type": "tool-invocation",
                "toolInvocation": {
                    "state": "result",
                    "step": 0,
                    "toolCallId": "u1",
                    "toolName": "look",
                    "args": {"at": "pdf"},
                    "result": "a page",
                },
            },
            {
                "type": "tool-invocation",
                "toolInvocation": {
                    "state": "result",
                    "step": 1,
                    "toolCallId": "u2",
                    "toolName": "look",
                    "args": {},
                    "result": "no page",
                },
            },
            {"type": "text", "text": "Done."},
            {"type": "source", "source": {"sourceType": "url", "id": "s", "url": "https://a.b/s"}},
        ],
    },
    {
        "id": "n3",
        "role": "assistant",
        "content": "Older.",
        "reasoning": "long ago",
        "toolInvocations": [
            {"state": "result", "toolCallId": "u3", "toolName": "look", "args": {}, "result": "old"}
        ],
    },
]
VERCEL_MODEL: list[dict[str, Any]] = [
    {"role": "system", "content": "Be kind.", "providerOptions": {"anthropic": {"cacheControl": "yes"}}},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "look"},
            {"type": "image", "image": PNG, "mediaType": "image/png"},
            {"type": "file", "data": "eA==", "mediaType": "application/pdf", "filename": "e.pdf"},
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "reasoning", "text": "hm", "providerOptions": {"anthropic": {"signature": "c2ln"}}},
            {"type": "text", "text": "On it.", "providerOptions": {"openai": {"itemId": "msg_1"}}},
            {"type": "tool-call", "toolCallId": "v1", "toolName": "pull", "input": {"a": 1}},
            {"type": "tool-call", "toolCallId": "v2", "toolName": "push", "args": {"b": 2}},
            {"type": "tool-call", "toolCallId": "v3", "toolName": "show", "input": {}},
            {"type": "tool-call", "toolCallId": "v4", "toolName": "burn", "input": {}},
            {
                "type": "tool-call",
                "toolCallId": "v5",
                "toolName": "web",
                "input": {},
                "providerExecuted": True,
            },
            {
                "type": "tool-result",
                "toolCallId": "v5",
                "toolName": "web",
                "output": {"type": "json", "value": [9]},
            },
            {"type": "tool-approval-request", "approvalId": "ap1", "toolCallId": "v4"},
        ],
    },
    {
        "role": "tool",
        "content": [
            {"type": "tool-approval-response", "approvalId": "ap1", "approved": False},
            {
                "type": "tool-result",
                "toolCallId": "v1",
                "toolName": "pull",
                "output": {"type": "json", "value": {"n": 5}},
            },
            {
                "type": "tool-result",
                "toolCallId": "v2",
                "toolName": "push",
                "result": "pushed",
                "isError": True,
            },
            {
                "type": "tool-result",
                "toolCallId": "v3",
                "toolName": "show",
                "output": {
                    "type": "content",
                    "value": [
                        {"type": "text", "text": "here"},
                        {"type": "media", "data": PNG, "mediaType": "image/png"},
                        {"type": "image-url", "url": "https://a.b/i.png"},
                    ],
                },
            },
            {
                "type": "tool-result",
                "toolCallId": "v4",
                "toolName": "burn",
                "output": {"type": "execution-denied", "reason": "no fire"},
            },
        ],
    },
]

AT = "2026-01-01T00:00:00Z"
PYDANTIC_AI: list[dict[str, Any]] = [
    {
        "parts": [
            {"content": "sys", "timestamp": AT, "dynamic_ref": "d", "part_kind": "system-prompt"},
            {
                "content": [
                    "look",
                    {"url": "https://a.b/c.png", "kind": "image-url", "media_type": "image/png"},
                    {"url": "https://a.b/c.pdf", "kind": "document-url", "media_type": "application/pdf"},
                    {"data": PNG, "media_type": "image/png", "kind": "binary", "identifier": "11f6ad"},
                    {"kind": "cache-point", "ttl": "5m"},
                    {"file_id": "f1", "provider_name": "openai", "kind": "uploaded-file"},
                    {"content": "tc", "metadata": {"a": 1}, "kind": "text-content"},
                ],
                "timestamp": AT,
                "part_kind": "user-prompt",
            },
            {"part_kind": "model-settings-delta", "settings": {"heat": "high"}},
        ],
        "timestamp": AT,
        "instructions": "Be kind.",
        "kind": "request",
        "run_id": "r1",
        "metadata": {"who": "ann"},
    },
    {
        "parts": [
            {"content": "hm", "signature": "c2ln", "provider_name": "anthropic", "part_kind": "thinking"},
            {"content": "Working", "id": "x1", "part_kind": "text"},
            {"content": " on it.", "id": "x2", "part_kind": "text"},
            {
                "tool_name": "web_search",
                "args": {"q": "cats"},
                "tool_call_id": "srv1",
                "part_kind": "builtin-tool-call",
            },
            {
                "tool_name": "web_search",
                "content": {"r": [1]},
                "tool_call_id": "srv1",
                "part_kind": "builtin-tool-return",
            },
            {"tool_name": "one", "args": '{"a":1}', "tool_call_id": "p1", "part_kind": "tool-call"},
            {"tool_name": "two", "args": {}, "tool_call_id": "p2", "id": "fc_2", "part_kind": "tool-call"},
            {"tool_name": "three", "args": None, "tool_call_id": "p3", "part_kind": "tool-call"},
        ],
        "usage": {"input_tokens": 3, "details": {"cached": 1}},
        "model_name": "gpt",
        "timestamp": AT,
        "kind": "response",
        "finish_reason": "tool_call",
    },
    {
        "parts": [
            {"content": "more", "timestamp": AT, "part_kind": "user-prompt"},
            {
                "tool_name": "one",
                "content": {"x": [1, 2.5]},
                "tool_call_id": "p1",
                "metadata": {"m": 1},
                "timestamp": AT,
                "outcome": "success",
                "part_kind": "tool-return",
            },
            {"content": "no such", "tool_name": "two", "tool_call_id": "p2", "part_kind": "retry-prompt"},
            {
                "tool_name": "three",
                "content": [
                    "seen",
                    {"url": "https://a.b/x.png", "kind": "image-url", "media_type": "image/png"},
                ],
                "tool_call_id": "p3",
                "outcome": "failed",
                "part_kind": "tool-return",
            },
            {
                "content": [{"type": "missing", "loc": ["a"], "msg": "Field required", "input": {}}],
                "tool_call_id": "pyd_ai_1",
                "part_kind": "retry-prompt",
            },
        ],
        "instructions": "Be kind.",
        "kind": "request",
    },
    {
        "parts": [
            {
                "content": {"data": PNG, "media_type": "image/png", "kind": "binary"},
                "provider_name": "openai",
                "part_kind": "file",
            },
            {"content": "done", "part_kind": "text"},
        ],
        "timestamp": AT,
        "kind": "response",
    },
]

NOTHING: dict[str, Any] = {"additional_kwargs": {}, "response_metadata": {}, "id": None}
OLD_CALL = {"id": "t8", "type": "function", "function": {"name": "look", "arguments": '{"at": "old"}'}}
LANGCHAIN: list[dict[str, Any]] = [
    {"type": "system", "data": {**NOTHING, "content": "sys", "type": "system", "id": "s1"}},
    {
        "type": "human",
        "data": {
            **NOTHING,
            "type": "human",
            "name": "ann",
            "content": [
                "see",
                {"type": "text", "text": "this"},
                {"type": "image_url", "image_url": {"url": "https://a.b/c.png"}},
                {"type": "image", "source_type": "base64", "data": PNG, "mime_type": "image/png"},
                {"type": "image", "base64": PNG, "mime_type": "image/png", "id": "b1"},
                {"type": "file", "base64": "eA==", "mime_type": "application/pdf"},
                {"type": "audio", "base64": "eA==", "mime_type": "audio/wav"},
                {"type": "text-plain", "text": "plain", "title": "notes", "mime_type": "text/plain"},
            ],
        },
    },
    {
        "type": "ai",
        "data": {
            **NOTHING,
            "type": "ai",
            "content": "I look.",
            "tool_calls": [{"name": "look", "args": {"at": "cat"}, "id": "t1", "type": "tool_call"}],
            "invalid_tool_calls": [
                {"type": "invalid_tool_call", "id": "t2", "name": "sniff", "args": '{"a', "error": "cut off"}
            ],
            "usage_metadata": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
            "response_metadata": {"model_name": "gpt"},
        },
    },
    {
        "type": "tool",
        "data": {
            **NOTHING,
            "type": "tool",
            "content": "red",
            "name": "look",
            "tool_call_id": "t1",
            "artifact": {"x": 1},
            "status": "error",
        },
    },
    {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", "AIMessage"],
        "kwargs": {
            "type": "ai",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                {
                    "type": "text",
                    "text": "Once more.",
                    "annotations": [{"type": "citation", "url": "https://a.b/q"}],
                },
                {"type": "tool_use", "id": "t3", "name": "look", "input": {"at": "dog"}},
                {"type": "server_tool_call", "id": "srv", "name": "web", "args": {"q": "dogs"}},
            ],
            "tool_calls": [{"name": "look", "args": {"at": "dog"}, "id": "t3", "type": "tool_call"}],
        },
    },
    {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain_core", "messages", "ToolMessage"],
        "kwargs": {"type": "tool", "content": [{"type": "text", "text": "brown"}], "tool_call_id": "t3"},
    },
    {
        **NOTHING,
        "type": "ai",
        "content": "",
        "additional_kwargs": {"tool_calls": [OLD_CALL], "refusal": "not this"},
    },
    {**NOTHING, "type": "tool", "content": "aged", "tool_call_id": "t8"},
    {
        **NOTHING,
        "type": "ai",
        "content": "",
        "additional_kwargs": {"function_call": {"name": "older", "arguments": '{"n": 1}'}},
    },
    {**NOTHING, "type": "function", "content": "ancient", "name": "older"},
    {**NOTHING, "type": "chat", "content": "I doubt it.", "role": "critic"},
    {**NOTHING, "type": "AIMessageChunk", "content": "So do I.", "tool_call_chunks": []},
]

LLM: list[dict[str, Any]] = [
    {"role": "system", "parts": [{"type": "text", "text": "Be brief."}]},
    {
        "role": "user",
        "parts": [
            {"type": "text", "text": "what is it?"},
            {"type": "attachment", "attachment": {"type": "image/png", "content": PNG}},
            {"type": "attachment", "attachment": {"type": "application/pdf", "path": "/home/ann/d.pdf"}},
        ],
    },
    {
        "role": "assistant",
        "parts": [
            {"type": "reasoning", "text": "hm", "provider_metadata": {"anthropic": {"signature": "c2ln"}}},
            {"type": "text", "text": "I look."},
            {"type": "tool_call", "name": "look", "arguments": {"at": "cat"}, "tool_call_id": "tc_1"},
            {"type": "tool_call", "name": "sniff", "arguments": {}},
            {"type": "tool_call", "name": "search", "arguments": {"q": "cat"}, "server_executed": True},
            {"type": "tool_result", "name": "search", "output": "three cats", "server_executed": True},
        ],
        "provider_metadata": {"openai": {"id": "resp_1"}},
        "turn": {"id": "01k", "model": "gpt-5", "datetime_utc": "2026-01-01T00:00:00Z", "input_tokens": 5},
    },
    {
        "role": "tool",
        "parts": [
            {
                "type": "tool_result",
                "name": "look",
                "output": "red",
                "tool_call_id": "tc_1",
                "attachments": [{"type": "image/png", "url": "https://example.org/cat.png"}],
            },
            {"type": "tool_result", "name": "sniff", "output": "", "exception": "ValueError: no nose"},
        ],
    },
    {"role": "assistant", "parts": [{"type": "text", "text": "It is red."}]},
]
AGENTS = [
    {"session_id": "ann", "created_at": "2026-01-02 03:04:05", "message_data": item} for item in RESPONSES
]

CLIENT_SAMPLES: Mapping[str, list[dict[str, Any]]] = {
    "langchain": LANGCHAIN,
    "llm": LLM,
    "ollama": OLLAMA,
    "openai-agents": AGENTS,
    "pydantic-ai": PYDANTIC_AI,
    "vercel-ai": [*VERCEL_UI, *VERCEL_UI_4, *VERCEL_MODEL],
}
