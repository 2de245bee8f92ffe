"""The formats that can be read, by name, and which of them a conversation is in."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from turnledger.domain.errors import InvalidArgument
from turnledger.importing import (
    anthropic,
    bedrock_converse,
    claude_code,
    gemini,
    langchain,
    llm,
    mistral,
    ollama,
    openai_agents,
    openai_chat,
    openai_responses,
    pydantic_ai,
    vercel,
)
from turnledger.importing.reading import Format

FORMATS: Mapping[str, Format] = {
    found.name: found
    for found in (
        openai_chat.FORMAT,
        anthropic.FORMAT,
        bedrock_converse.FORMAT,
        claude_code.FORMAT,
        gemini.FORMAT,
        langchain.FORMAT,
        mistral.FORMAT,
        ollama.FORMAT,
        openai_responses.FORMAT,
        openai_agents.FORMAT,
        pydantic_ai.FORMAT,
        vercel.FORMAT,
        llm.FORMAT,  # behind vercel, which has the same shape for what is text alone
    )
}
ALIASES: Mapping[str, str] = {
    "ai-sdk": vercel.FORMAT.name,
    "bedrock": bedrock_converse.FORMAT.name,
}
DEFAULT_FORMAT = openai_chat.FORMAT.name
_LOOKED_AT_MAX = 1_000


def known_format(format: str | None) -> str | None:
    """The format's own name. Raises `InvalidArgument` for one that is not known."""
    name = format if format is None else ALIASES.get(format, format)
    if name is not None and name not in FORMATS:
        raise InvalidArgument(f"format must be one of {', '.join(FORMATS)}, not {format!r}")
    return name


def guessed_format(messages: Sequence[Any], about: Mapping[str, Any] | None = None) -> str:
    """The format that these messages show; the default's where none shows."""
    return shown_format(messages, about) or DEFAULT_FORMAT


def shown_format(messages: Sequence[Any], about: Mapping[str, Any] | None = None) -> str | None:
    """The format that most of these messages can only be of; else that of the request `about` them."""
    shown = Counter(
        found.name
        for message in islice(messages, _LOOKED_AT_MAX)
        if isinstance(message, Mapping)
        for found in FORMATS.values()
        if found.marks(message)
    )
    return shown.most_common(1)[0][0] if shown else request_format(about or {})


def request_format(request: Mapping[str, Any]) -> str | None:
    """The format that only such a request is of, beside its messages: a system prompt on top, or a model."""
    if "messages" not in request:
        return None
    system, model = request.get("system"), request.get("model")
    if isinstance(system, list) and any(isinstance(one, Mapping) and "type" not in one for one in system):
        return bedrock_converse.FORMAT.name
    is_claude = isinstance(model, str) and model.startswith("claude")
    return anthropic.FORMAT.name if is_claude or (system and isinstance(system, str | list)) else None
