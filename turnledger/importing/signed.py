"""Anthropic's thinking in the hands of clients: with its signature, it goes back to the one who signed it.

Anthropic refuses a turn of thinking and calls that comes back without the thinking. So a client's message
that holds some is kept for that provider as blocks, as if it had been read from there.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from turnledger.projections.providers.keeping import Block


def thinking(text: Any, signature: Any) -> Iterator[Block]:
    """One block, or none where it was not signed."""
    if isinstance(text, str) and isinstance(signature, str) and signature:
        yield {"type": "thinking", "thinking": text, "signature": signature}


def redacted(data: Any) -> Iterator[Block]:
    """Thinking that Anthropic has encrypted."""
    if isinstance(data, str) and data:
        yield {"type": "redacted_thinking", "data": data}


def of_vercel(part: Mapping[str, Any]) -> Iterator[Block]:
    """A `reasoning` part of the AI SDK; version 4 has it in details."""
    for key in ("providerMetadata", "providerOptions"):
        options = part.get(key)
        known = options.get("anthropic") if isinstance(options, Mapping) else None
        if isinstance(known, Mapping):
            yield from thinking(part.get("text"), known.get("signature"))
            yield from redacted(known.get("redactedData"))
    details = part.get("details")
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, Mapping):
            yield from thinking(detail.get("text"), detail.get("signature"))
            yield from redacted(detail.get("data") if detail.get("type") == "redacted" else None)


def of_pydantic_ai(part: Mapping[str, Any]) -> Iterator[Block]:
    """A `thinking` part of Pydantic AI."""
    if part.get("provider_name") == "anthropic":
        is_redacted = part.get("id") == "redacted_thinking"
        signature = part.get("signature")
        yield from redacted(signature) if is_redacted else thinking(part.get("content"), signature)


def of_langchain(block: Mapping[str, Any]) -> Iterator[Block]:
    """A block of Anthropic's in LangChain's content."""
    if block.get("type") == "thinking":
        yield from thinking(block.get("thinking"), block.get("signature"))
    elif block.get("type") == "redacted_thinking":
        yield from redacted(block.get("data"))
