"""Whether a provider takes a request: the official library's types first, then rules of structure.

One file a provider, each with `why_not(request) -> str | None`. No code of the library is used here.
"""

from collections.abc import Callable, Mapping
from typing import Any

from tests.judges import (
    anthropic,
    bedrock_converse,
    gemini,
    mistral,
    openai_chat,
    openai_responses,
)

JUDGES: Mapping[str, Callable[[dict[str, Any]], str | None]] = {
    "openai-chat": openai_chat.why_not,
    "anthropic": anthropic.why_not,
    "bedrock-converse": bedrock_converse.why_not,
    "gemini": gemini.why_not,
    "mistral": mistral.why_not,
    "openai-responses": openai_responses.why_not,
}
