"""The sendable list in a provider's own shape, one file a provider."""

from collections.abc import Callable, Mapping
from typing import Any

from turnledger.domain.pairing import Item
from turnledger.projections.providers import (
    anthropic,
    bedrock_converse,
    gemini,
    mistral,
    openai_chat,
    openai_responses,
)
from turnledger.projections.providers.refusals import spoken_out
from turnledger.projections.sendable import RENDERING

Rendering = tuple[list[dict[str, Any]], dict[str, Any]]

PROVIDERS: Mapping[str, Callable[[list[Item]], Rendering]] = {
    openai_chat.NAME: openai_chat.rendered,
    anthropic.NAME: spoken_out(anthropic.rendered),
    bedrock_converse.NAME: spoken_out(bedrock_converse.rendered),
    gemini.NAME: spoken_out(gemini.rendered),
    mistral.NAME: spoken_out(mistral.rendered),
    openai_responses.NAME: spoken_out(openai_responses.rendered),
}

RENDERINGS: Mapping[str | None, int] = {
    None: RENDERING,
    openai_chat.NAME: openai_chat.RENDERING,
    anthropic.NAME: anthropic.RENDERING,
    bedrock_converse.NAME: bedrock_converse.RENDERING,
    gemini.NAME: gemini.RENDERING,
    mistral.NAME: mistral.RENDERING,
    openai_responses.NAME: openai_responses.RENDERING,
}
"""The number of each rendering, None for the flat list."""
