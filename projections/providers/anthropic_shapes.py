"""What the blocks of Anthropic messages hold. A test compares it with the types of its library."""

import re
from typing import Any

from turnledger.projections.providers.shapes import (
    Either,
    Keys,
    Kinds,
    OrNone,
    anything,
    mapping,
    one_of,
    said,
    text,
    truth,
    whole,
)

IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")


def _all(**shapes: Any) -> Keys:
    """A map that needs each of these keys, its type too, save those that may be nothing."""
    needed = tuple(key for key, shape in shapes.items() if not isinstance(shape, OrNone))
    return Keys({"type": text, **shapes}, ("type", *needed))


def _with(keys: Keys, *needed: str, **shapes: Any) -> Keys:
    """The same map with more keys, of which only those named are needed."""
    return Keys({**keys.shapes, **shapes}, (*keys.needed, *needed))


_CACHE = OrNone(Kinds({"ephemeral": Keys({"type": text, "ttl": one_of("5m", "1h")}, ("type",))}))
_NAME, _COUNT = OrNone(text), OrNone(whole)
_CITED = {"cited_text": text, "document_index": whole, "document_title": _NAME}
_CITATION = Kinds(
    {
        "char_location": _with(
            _all(**_CITED, start_char_index=whole, end_char_index=whole), "document_title"
        ),
        "page_location": _with(
            _all(**_CITED, start_page_number=whole, end_page_number=whole), "document_title"
        ),
        "content_block_location": _with(
            _all(**_CITED, start_block_index=whole, end_block_index=whole), "document_title"
        ),
        "web_search_result_location": _with(
            _all(cited_text=text, encrypted_index=text, title=_NAME, url=text), "title"
        ),
        "search_result_location": _with(
            _all(
                cited_text=text,
                search_result_index=whole,
                source=text,
                title=_NAME,
                start_block_index=whole,
                end_block_index=whole,
            ),
            "title",
        ),
    }
)
_TEXT = _all(text=said, citations=OrNone([_CITATION]), cache_control=_CACHE)
_URL, _FILE = _all(url=text), _all(file_id=text)
_IMAGE = _all(
    source=Kinds({"base64": _all(data=text, media_type=one_of(*IMAGE_TYPES)), "url": _URL, "file": _FILE}),
    transformations=OrNone(Keys({"oversized_image": one_of("downsize", "error")})),
    cache_control=_CACHE,
)
_SHOWN = [Kinds({"text": _TEXT, "image": _IMAGE})]
_ENABLED = Keys({"enabled": truth})
_DOCUMENT = _all(
    source=Kinds(
        {
            "base64": _all(data=text, media_type=one_of("application/pdf")),
            "text": _all(data=text, media_type=one_of("text/plain")),
            "content": _all(content=Either((text, _SHOWN))),
            "url": _URL,
            "file": _FILE,
        }
    ),
    citations=OrNone(_ENABLED),
    context=_NAME,
    title=_NAME,
    cache_control=_CACHE,
)
_FOUND = _with(
    _all(content=[Kinds({"text": _TEXT})], source=text, title=text, cache_control=_CACHE), citations=_ENABLED
)
_REFERENCE = _all(tool_name=text, cache_control=_CACHE)
_CALLER = Kinds(
    {
        "direct": _all(),
        "code_execution_20250825": _all(tool_id=text),
        "code_execution_20260120": _all(tool_id=text),
    }
)
_TAB = Keys({"tab_id": text, "title": text, "url": text, "active": truth}, ("tab_id", "title", "url"))
_BROWSER = _all(
    tabs=[_TAB],
    state_changes=OrNone(
        [
            Kinds(
                {
                    "tab_opened": _all(tab_id=text),
                    "download_started": _all(download_id=text, url=text),
                    "download_completed": _all(download_id=text, url=text, path=_NAME, size_bytes=_COUNT),
                    "download_failed": _all(download_id=text, url=text, error=_NAME),
                }
            )
        ]
    ),
    cache_control=_CACHE,
)
INSIDE = Kinds(
    {
        "text": _TEXT,
        "image": _IMAGE,
        "search_result": _FOUND,
        "document": _DOCUMENT,
        "tool_reference": _REFERENCE,
        "browser_state": _BROWSER,
    }
)
"""The blocks inside a result."""


def _error(*codes: str, **shapes: Any) -> Keys:
    return _all(error_code=one_of(*codes), **shapes)


_REFUSED = ("invalid_tool_input", "unavailable", "too_many_requests", "execution_time_exceeded")
_RAN = {"return_code": whole, "stderr": text}
_EDITED = dict.fromkeys(("old_lines", "old_start", "new_lines", "new_start"), _COUNT)


def is_server_id(value: Any) -> bool:
    """Whether the service could have given an id to a call of its own tools."""
    return isinstance(value, str) and re.fullmatch("srvtoolu_[a-zA-Z0-9_]+", value, re.ASCII) is not None


def _of_tool(**kinds: Keys) -> Keys:
    """What a server's tool gave: one of these kinds."""
    return _all(tool_use_id=is_server_id, content=Kinds(kinds), cache_control=_CACHE)


_SEARCHED = Either(
    (
        [Kinds({"web_search_result": _all(encrypted_content=text, title=text, url=text, page_age=_NAME)})],
        Kinds(
            {
                "web_search_tool_result_error": _error(
                    *("invalid_tool_input", "unavailable", "max_uses_exceeded", "too_many_requests"),
                    *("query_too_long", "request_too_large"),
                )
            }
        ),
    )
)
SERVER_TOOLS = (
    *("web_search", "web_fetch", "code_execution", "bash_code_execution", "text_editor_code_execution"),
    *("tool_search_tool_regex", "tool_search_tool_bm25"),
)
GIVEN = Kinds(
    {
        "text": _TEXT,
        "image": _IMAGE,
        "document": _DOCUMENT,
        "search_result": _FOUND,
        "container_upload": _all(file_id=text, cache_control=_CACHE),
    }
)
"""The blocks of what the user says."""


BETA = {
    "advisor_tool_result": _all(tool_use_id=text, content=mapping, cache_control=_CACHE),
    "compaction": _all(
        content=_NAME,
        encrypted_content=_NAME,
        signature=_NAME,
        tool_changes=OrNone([mapping]),
        cache_control=_CACHE,
    ),
    "fallback": Keys(
        {"type": text, "from": mapping, "to": mapping, "trigger": anything}, ("type", "from", "to")
    ),
    "mcp_tool_listing": _all(mcp_server_name=text, tools=[mapping]),
    "mcp_tool_result": _with(
        _all(tool_use_id=text, cache_control=_CACHE),
        content=Either((text, [Kinds({"text": _TEXT})])),
        is_error=truth,
    ),
    "mcp_tool_use": _all(id=text, name=text, server_name=text, input=mapping, cache_control=_CACHE),
}
"""Blocks of the assistant's that only `client.beta.messages` takes."""

SAID = Kinds(
    {
        **BETA,
        "text": _TEXT,
        "thinking": _all(thinking=text, signature=text),
        "redacted_thinking": _all(data=text),
        "tool_use": _with(
            _all(id=text, name=text, input=mapping, cache_control=_CACHE), caller=_CALLER, toolset_name=_NAME
        ),
        "server_tool_use": _with(
            _all(id=is_server_id, name=one_of(*SERVER_TOOLS), input=mapping, cache_control=_CACHE),
            caller=_CALLER,
        ),
        "web_search_tool_result": _with(
            _all(tool_use_id=is_server_id, content=_SEARCHED, cache_control=_CACHE), caller=_CALLER
        ),
        "web_fetch_tool_result": _with(
            _of_tool(
                web_fetch_result=_all(content=Kinds({"document": _DOCUMENT}), url=text, retrieved_at=_NAME),
                web_fetch_tool_result_error=_error(
                    *("invalid_tool_input", "url_too_long", "url_not_allowed", "url_not_in_prior_context"),
                    *("url_not_accessible", "unsupported_content_type", "too_many_requests"),
                    *("max_uses_exceeded", "unavailable", "content_too_large"),
                ),
            ),
            caller=_CALLER,
        ),
        "code_execution_tool_result": _of_tool(
            code_execution_result=_all(
                content=[Kinds({"code_execution_output": _FILE})], stdout=text, **_RAN
            ),
            encrypted_code_execution_result=_all(
                content=[Kinds({"code_execution_output": _FILE})], encrypted_stdout=text, **_RAN
            ),
            code_execution_tool_result_error=_error(*_REFUSED),
        ),
        "bash_code_execution_tool_result": _of_tool(
            bash_code_execution_result=_all(
                content=[Kinds({"bash_code_execution_output": _FILE})], stdout=text, **_RAN
            ),
            bash_code_execution_tool_result_error=_error(*_REFUSED, "output_file_too_large"),
        ),
        "text_editor_code_execution_tool_result": _of_tool(
            text_editor_code_execution_view_result=_all(
                content=text,
                file_type=one_of("text", "image", "pdf"),
                num_lines=_COUNT,
                start_line=_COUNT,
                total_lines=_COUNT,
            ),
            text_editor_code_execution_create_result=_all(is_file_update=truth),
            text_editor_code_execution_str_replace_result=_all(lines=OrNone([text]), **_EDITED),
            text_editor_code_execution_tool_result_error=_error(
                *_REFUSED, "file_not_found", error_message=_NAME
            ),
        ),
        "tool_search_tool_result": _of_tool(
            tool_search_tool_search_result=_all(tool_references=[Kinds({"tool_reference": _REFERENCE})]),
            tool_search_tool_result_error=_error(*_REFUSED, error_message=_NAME),
        ),
    }
)
"""The blocks of what the assistant says and does."""


RESULT = Keys(
    {
        "type": text,
        "tool_use_id": text,
        "content": Either((text, [INSIDE])),
        "is_error": truth,
        "toolset_name": _NAME,
        "cache_control": _CACHE,
    },
    ("type", "tool_use_id"),
)

SYSTEM = Kinds({"text": _TEXT})
PARTS = Kinds({"text": _TEXT, "image": _IMAGE, "document": _DOCUMENT})
