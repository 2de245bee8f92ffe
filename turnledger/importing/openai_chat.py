"""OpenAI chat messages, as they come: what the store's own append does not read already.

`developer` is OpenAI's newer name for `system`; the rules know four roles, so it is kept beside the role and
given back by the provider of the same name.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from turnledger.projections.providers.openai_chat import NAME, ROLE_KEY

__all__ = ["NAME", "read"]


def read(messages: Iterable[Any]) -> list[Any]:
    """The messages, to be appended."""
    return [_read(message) for message in messages]


def _read(message: Any) -> Any:
    if not isinstance(message, Mapping) or message.get("role") != "developer":
        return message
    metadata = message.get("metadata")
    if metadata is not None and not isinstance(metadata, Mapping):
        return message
    return {**message, "role": "system", "metadata": {**(metadata or {}), ROLE_KEY: "developer"}}
