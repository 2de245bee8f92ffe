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
BEDROCK: list[dict[str, Any]] = [
    {
        "role": "user",
        "content": [
            {"text": "what is it?"},
            {"image": {"format": "png", "source": {"bytes": b"x"}}},
            {"document": {"format": "pdf", "name": "a cat (1)", "source": {"bytes": b"pdf"}}},
            {"video": {"format": "mp4", "source": {"s3Location": {"uri": "s3://pets/cat.mp4"}}}},
            {"cachePoint": {"type": "default"}},
            {"guardContent": {"text": {"text": "say it", "qualifiers": ["query"]}}},
            {"guardContent": {"image": {"format": "png", "source": {"bytes": b"y"}}}},
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}},
            {"reasoningContent": {"redactedContent": b"xx"}},
            {"text": "I look."},
            {"toolUse": {"toolUseId": "tooluse_1", "name": "look", "input": {"at": "cat", "bytes": "no"}}},
            {"toolUse": {"toolUseId": "tooluse_2", "name": "sniff", "input": {}}},
            {"toolUse": {"toolUseId": "tooluse_3", "name": "hear", "input": {}}},
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "toolResult": {
                    "toolUseId": "tooluse_1",
                    "content": [
                        {"text": "see"},
                        {"image": {"format": "gif", "source": {"bytes": b"\xff\xd8"}}},
                        {"document": {"format": "txt", "name": "notes", "source": {"text": "a cat"}}},
                    ],
                }
            },
            {"toolResult": {"toolUseId": "tooluse_2", "content": [{"json": {"warm": [1, None]}}]}},
            {"toolResult": {"toolUseId": "tooluse_3", "content": [{"text": "deaf"}], "status": "error"}},
            {"text": "well?"},
            {"text": "say"},
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"text": "I search."},
            {
                "toolUse": {
                    "toolUseId": "srv_1",
                    "name": "nova_grounding",
                    "input": {"query": "cat"},
                    "type": "server_tool_use",
                }
            },
            {
                "toolResult": {
                    "toolUseId": "srv_1",
                    "content": [{"text": "found"}],
                    "type": "nova_grounding_result",
                }
            },
            {
                "citationsContent": {
                    "content": [{"text": "It is red."}],
                    "citations": [{"title": "Cats", "location": {"web": {"url": "https://a.b/c"}}}],
                }
            },
            {"text": " And warm."},
        ],
    },
    {
        "role": "user",
        "content": [
            {"searchResult": {"source": "kb", "title": "Cats", "content": [{"text": "They purr."}]}},
            {"text": "and this?"},
        ],
    },
]
GEMINI: list[dict[str, Any]] = [
    {
        "role": "user",
        "parts": [
            {"text": "what is it?"},
            {"inlineData": {"mimeType": "image/png", "data": "eA==", "displayName": "cat"}},
            {
                "fileData": {"mimeType": "video/mp4", "fileUri": "gs://pets/cat.mp4"},
                "videoMetadata": {"fps": 2},
            },
        ],
    },
    {
        "role": "model",
        "parts": [
            {"text": "hm", "thought": True},
            {"text": "I ", "thoughtSignature": "c2ln"},
            {"text": "look."},
            {"functionCall": {"name": "look", "args": {"at_what": "cat"}}, "thoughtSignature": "c2lnMg=="},
            {"functionCall": {"name": "look", "args": {"at_what": "dog"}}},
        ],
    },
    {
        "role": "user",
        "parts": [
            {"functionResponse": {"name": "look", "response": {"output": "a cat"}}},
            {"functionResponse": {"name": "look", "response": {"paws_seen": 4, "tail": [True, None]}}},
            {"text": "well?"},
        ],
    },
    {
        "role": "model",
        "parts": [
            {"functionCall": {"id": "f1", "name": "paint", "args": {}}, "thoughtSignature": "c2lnMw=="},
            {"functionCall": {"id": "f2", "name": "hear"}},
        ],
    },
    {
        "role": "user",
        "parts": [
            {
                "functionResponse": {
                    "id": "f1",
                    "name": "paint",
                    "response": {"result": "done"},
                    "parts": [{"inlineData": {"mimeType": "image/png", "data": "-_8="}}],
                    "scheduling": "SILENT",
                }
            },
            {"functionResponse": {"id": "f2", "name": "hear", "response": {"error": "deaf"}}},
        ],
    },
    {
        "role": "model",
        "parts": [
            {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
            {"inlineData": {"mimeType": "image/png", "data": "eA=="}, "thoughtSignature": "c2lnNA=="},
            {"text": "It is 1."},
            {"text": "", "thoughtSignature": "c2lnNQ=="},
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
REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "hm"}],
    "encrypted_content": "eHh4",
}
RESPONSES: list[dict[str, Any]] = [
    {"type": "message", "role": "system", "content": [{"type": "input_text", "text": "Be brief."}]},
    {"role": "developer", "content": "in verse"},
    {
        "type": "message",
        "role": "user",
        "status": "completed",
        "content": [
            {"type": "input_text", "text": "see"},
            {"type": "input_image", "image_url": "data:image/png;base64,eA==", "detail": "low"},
            {"type": "input_image", "file_id": "file-1", "detail": "auto"},
            {"type": "input_file", "file_url": "https://example.org/d.pdf"},
            {"type": "input_file", "filename": "d.pdf", "file_data": "data:application/pdf;base64,eA=="},
        ],
    },
    REASONING,
    {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "cat"},
    },
    {**REASONING, "id": "rs_2"},
    {
        "type": "message",
        "role": "assistant",
        "id": "msg_1",
        "status": "completed",
        "phase": "commentary",
        "content": [
            {
                "type": "output_text",
                "text": "I look.",
                "annotations": [
                    {
                        "type": "url_citation",
                        "url": "https://example.org",
                        "title": "cat",
                        "start_index": 0,
                        "end_index": 6,
                    }
                ],
            },
            {"type": "refusal", "refusal": "But I will not touch."},
        ],
    },
    {**REASONING, "id": "rs_3"},
    {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "look",
        "arguments": '{"at": "cat"}',
        "status": "completed",
    },
    {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_2", "name": "sh", "input": "ls -l"},
    {
        "type": "computer_call",
        "id": "cu_1",
        "call_id": "call_3",
        "action": {"type": "screenshot"},
        "pending_safety_checks": [],
        "status": "completed",
    },
    {
        "type": "shell_call",
        "call_id": "call_4",
        "action": {"commands": ["ls"]},
    },
    {"type": "function_call_output", "call_id": "call_1", "output": "red", "status": "completed"},
    {
        "type": "custom_tool_call_output",
        "call_id": "call_2",
        "output": [{"type": "input_text", "text": "a b"}],
    },
    {
        "type": "computer_call_output",
        "call_id": "call_3",
        "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,eA=="},
    },
    {
        "type": "shell_call_output",
        "call_id": "call_4",
        "output": [{"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
    },
    {"role": "assistant", "content": "It is red."},
    {
        "type": "image_generation_call",
        "id": "ig_1",
        "status": "completed",
        "result": None,
    },
    {"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]},
    {"type": "function_call", "call_id": "call_5", "name": "look", "arguments": "{}"},
    {
        "type": "function_call_output",
        "call_id": "call_5",
        "output": [{"type": "input_image", "image_url": "https://example.org/cat.png", "detail": "auto"}],
    },
]

SAMPLES: Mapping[str, list[dict[str, Any]]] = {
    "anthropic": ANTHROPIC,
    "bedrock-converse": BEDROCK,
    "gemini": GEMINI,
    "mistral": MISTRAL,
    "openai-chat": OPENAI,
    "openai-responses": RESPONSES,
}
