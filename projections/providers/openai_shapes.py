"""What the items and parts of OpenAI Responses hold. A test compares it with the types of its library."""

from collections.abc import Mapping
from typing import Any

from turnledger.projections.providers.shapes import (
    Keys,
    Kinds,
    anything,
    count,
    mapping,
    number,
    one_of,
    text,
    truth,
    whole,
)


def _texts_by_name(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())


def _all(**shapes: Any) -> Keys:
    """A map that needs each of these keys, its type too."""
    return Keys({"type": text, **shapes}, ("type", *shapes))


_STATUS = one_of("in_progress", "completed", "incomplete")
_CALLER = Kinds({"direct": _all(), "program": _all(caller_id=text)})
_CALL = {"id": text, "call_id": text, "caller": _CALLER, "namespace": text}
_CHECKS = [Keys({"id": text, "code": text, "message": text}, ("id",))]
_KEYS = [text]
_POINT = {"x": whole, "y": whole}
_CLICK = Keys(
    {"type": text, "button": one_of("left", "right", "wheel", "back", "forward"), "keys": _KEYS, **_POINT},
    ("type", "button", "x", "y"),
)
_POINTED = Keys({"type": text, "keys": _KEYS, **_POINT}, ("type", "x", "y"))
_ACTION = Kinds(
    {
        "click": _CLICK,
        "double_click": Keys({**_POINTED.shapes}, ("type", "x", "y", "keys")),
        "drag": Keys({"type": text, "path": [Keys(_POINT, ("x", "y"))], "keys": _KEYS}, ("type", "path")),
        "keypress": _all(keys=_KEYS),
        "move": _POINTED,
        "screenshot": _all(),
        "scroll": Keys(
            {**_POINTED.shapes, "scroll_x": whole, "scroll_y": whole},
            ("type", "x", "y", "scroll_x", "scroll_y"),
        ),
        "type": _all(text=text),
        "wait": _all(),
    }
)
_SOURCES = [_all(url=text)]
_SEARCH = Kinds(
    {
        "search": Keys({"type": text, "query": text, "queries": [text], "sources": _SOURCES}, ("type",)),
        "open_page": Keys({"type": text, "url": text}, ("type",)),
        "find_in_page": _all(pattern=text, url=text),
    }
)
_PATCH = Kinds(
    {
        "create_file": _all(diff=text, path=text),
        "delete_file": _all(path=text),
        "update_file": _all(diff=text, path=text),
    }
)
_RAN = Keys(
    {"stdout": text, "stderr": text, "outcome": Kinds({"exit": _all(exit_code=whole), "timeout": _all()})},
    ("stdout", "stderr", "outcome"),
)
_COMMANDS = Keys({"commands": [text], "max_output_length": count, "timeout_ms": count}, ("commands",))
_EXECUTED = Keys(
    {
        "type": one_of("exec"),
        "command": [text],
        "env": _texts_by_name,
        "timeout_ms": count,
        "user": text,
        "working_directory": text,
    },
    ("type", "command", "env"),
)
_FOUND = Keys({"attributes": mapping, "file_id": text, "filename": text, "score": number, "text": text})
_OUTPUT = Kinds({"logs": _all(logs=text), "image": _all(url=text)})
_LISTED = Keys(
    {"name": text, "input_schema": anything, "annotations": anything, "description": text},
    ("name", "input_schema"),
)
_SCREENSHOT = Keys({"type": one_of("computer_screenshot"), "image_url": text, "file_id": text}, ("type",))

_ANNOTATION = Kinds(
    {
        "file_citation": _all(file_id=text, filename=text, index=whole),
        "url_citation": _all(url=text, title=text, start_index=whole, end_index=whole),
        "container_file_citation": _all(
            container_id=text, file_id=text, filename=text, start_index=whole, end_index=whole
        ),
        "file_path": _all(file_id=text, index=whole),
    }
)
_LIKELY = {"token": text, "bytes": [whole], "logprob": number}
_LIKELIEST = {**_LIKELY, "top_logprobs": [Keys(_LIKELY, tuple(_LIKELY))]}
BREAK = {
    "prompt_cache_breakpoint": Keys({"mode": one_of("explicit"), "ttl": one_of("30m", "12h")}, ("mode",))
}
DETAILS = ("auto", "low", "high", "original")

SAID = Kinds(
    {
        "output_text": Keys(
            {
                "type": text,
                "text": text,
                "annotations": [_ANNOTATION],
                "logprobs": [Keys(_LIKELIEST, tuple(_LIKELIEST))],
            },
            ("type", "text"),
        ),
        "refusal": _all(refusal=text),
    }
)
"""The parts of what the assistant said."""

GIVEN = Kinds(
    {
        "input_text": Keys({"type": text, "text": text, **BREAK}, ("type", "text")),
        "input_image": Keys(
            {"type": text, "detail": one_of(*DETAILS), "image_url": text, "file_id": text, **BREAK},
            ("type",),
        ),
        "input_file": Keys(
            {
                "type": text,
                "detail": one_of("auto", "low", "high"),
                "file_data": text,
                "file_id": text,
                "file_url": text,
                "filename": text,
                **BREAK,
            },
            ("type",),
        ),
    }
)
"""The parts of a message to the model, and of a result."""


def _item(shapes: Mapping[str, Any], *needed: str) -> Keys:
    return Keys({"type": text, **shapes}, needed)


ITEMS: Mapping[str, Keys] = {
    "additional_tools": _item(
        {"id": text, "role": one_of("developer"), "tools": [mapping]}, "role", "tools", "type"
    ),
    "apply_patch_call": _item(
        {"id": text, "call_id": text, "caller": _CALLER, "operation": _PATCH, "status": _STATUS},
        *("call_id", "operation", "status", "type"),
    ),
    "apply_patch_call_output": _item(
        {
            "id": text,
            "call_id": text,
            "caller": _CALLER,
            "output": text,
            "status": one_of("completed", "failed"),
        },
        *("call_id", "status", "type"),
    ),
    "code_interpreter_call": _item(
        {
            "id": text,
            "code": text,
            "container_id": text,
            "outputs": [_OUTPUT],
            "status": one_of("in_progress", "completed", "incomplete", "interpreting", "failed"),
        },
        *("id", "container_id", "status", "type"),
    ),
    "compaction": _item({"id": text, "encrypted_content": text}, "encrypted_content", "type"),
    "compaction_trigger": _item({"id": text}, "type"),
    "computer_call": _item(
        {
            "id": text,
            "call_id": text,
            "action": _ACTION,
            "actions": [_ACTION],
            "pending_safety_checks": _CHECKS,
            "status": _STATUS,
        },
        *("id", "call_id", "pending_safety_checks", "status", "type"),
    ),
    "computer_call_output": _item(
        {
            "id": text,
            "call_id": text,
            "output": _SCREENSHOT,
            "acknowledged_safety_checks": _CHECKS,
            "status": _STATUS,
        },
        *("call_id", "output", "type"),
    ),
    "configuration_update": _item({"id": text, "reasoning": mapping, "text": mapping}, "type"),
    "custom_tool_call": _item(
        {**_CALL, "name": text, "input": text, "async": truth}, "call_id", "input", "name", "type"
    ),
    "custom_tool_call_output": _item(
        {"id": text, "call_id": text, "caller": _CALLER, "output": anything}, "call_id", "output", "type"
    ),
    "file_search_call": _item(
        {
            "id": text,
            "queries": [text],
            "results": [_FOUND],
            "status": one_of("in_progress", "searching", "completed", "incomplete", "failed"),
        },
        *("id", "queries", "status", "type"),
    ),
    "function_call": _item(
        {**_CALL, "name": text, "arguments": text, "status": _STATUS, "async": truth},
        *("call_id", "name", "arguments", "type"),
    ),
    "function_call_output": _item(
        {**_CALL, "name": text, "output": anything, "status": _STATUS}, "output", "type"
    ),
    "image_generation_call": _item(
        {
            "id": text,
            "result": text,
            "status": one_of("in_progress", "completed", "generating", "failed"),
            "action": one_of("generate", "edit", "auto"),
            "background": one_of("transparent", "opaque", "auto"),
            "output_format": one_of("png", "webp", "jpeg", "gif", "svg"),
            "quality": one_of("low", "medium", "high", "xhigh", "max", "auto"),
            "revised_prompt": text,
            "size": text,
        },
        *("id", "status", "type"),
    ),
    "item_reference": _item({"id": text}, "id"),
    "local_shell_call": _item(
        {"id": text, "call_id": text, "action": _EXECUTED, "status": _STATUS},
        *("id", "call_id", "action", "status", "type"),
    ),
    "local_shell_call_output": _item({"id": text, "output": text, "status": _STATUS}, "id", "output", "type"),
    "mcp_approval_request": _item(
        {"id": text, "arguments": text, "name": text, "server_label": text},
        *("id", "arguments", "name", "server_label", "type"),
    ),
    "mcp_approval_response": _item(
        {"id": text, "approval_request_id": text, "approve": truth, "reason": text},
        *("approval_request_id", "approve", "type"),
    ),
    "mcp_call": _item(
        {
            "id": text,
            "arguments": text,
            "name": text,
            "server_label": text,
            "approval_request_id": text,
            "output": text,
            "error": Kinds(
                {
                    "mcp_protocol_error": _all(code=whole, message=text),
                    "mcp_tool_execution_error": _all(content=anything),
                    "http_error": _all(code=whole, message=text),
                }
            ),
            "status": one_of("in_progress", "completed", "incomplete", "calling", "failed"),
        },
        *("id", "arguments", "name", "server_label", "type"),
    ),
    "mcp_list_tools": _item(
        {"id": text, "server_label": text, "tools": [_LISTED], "error": text},
        *("id", "server_label", "tools", "type"),
    ),
    "program": _item(
        {"id": text, "call_id": text, "code": text, "fingerprint": text},
        *("id", "call_id", "code", "fingerprint", "type"),
    ),
    "program_output": _item(
        {"id": text, "call_id": text, "result": text, "status": one_of("completed", "incomplete")},
        *("id", "call_id", "result", "status", "type"),
    ),
    "reasoning": _item(
        {
            "id": text,
            "summary": [_all(text=text)],
            "content": [_all(text=text)],
            "encrypted_content": text,
            "status": _STATUS,
        },
        *("id", "summary", "type"),
    ),
    "shell_call": _item(
        {
            "id": text,
            "call_id": text,
            "action": _COMMANDS,
            "caller": _CALLER,
            "environment": mapping,
            "status": _STATUS,
        },
        *("call_id", "action", "type"),
    ),
    "shell_call_output": _item(
        {
            "id": text,
            "call_id": text,
            "output": [_RAN],
            "caller": _CALLER,
            "max_output_length": count,
            "status": _STATUS,
        },
        *("call_id", "output", "type"),
    ),
    "tool_search_call": _item(
        {
            "id": text,
            "call_id": text,
            "arguments": anything,
            "execution": one_of("server", "client"),
            "status": _STATUS,
        },
        *("arguments", "type"),
    ),
    "tool_search_output": _item(
        {
            "id": text,
            "call_id": text,
            "tools": [mapping],
            "execution": one_of("server", "client"),
            "status": _STATUS,
        },
        *("tools", "type"),
    ),
    "web_search_call": _item(
        {
            "id": text,
            "action": _SEARCH,
            "status": one_of("in_progress", "searching", "completed", "failed", "incomplete"),
        },
        *("id", "action", "status", "type"),
    ),
}
NULLABLE: Mapping[str, tuple[str, ...]] = {
    "code_interpreter_call": ("code", "outputs"),
    "image_generation_call": ("result",),
}
"""What has to be there, but may be nothing."""
