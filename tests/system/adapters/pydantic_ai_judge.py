"""What Anthropic says to messages of Pydantic AI: judged is the request that the library makes of them."""

import json
from contextlib import suppress
from copy import deepcopy
from typing import Any

from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.tools import ToolDefinition

from tests.judges import anthropic as judge
from tests.judges.official import library


async def why_not(messages: list[ModelMessage]) -> str | None:
    """Why Anthropic refuses what the library's own model for it makes of the messages."""
    httpx, bodies = library("httpx2"), list[Any]()

    def hear(request: Any) -> Any:
        bodies.append(json.loads(request.content))
        return httpx.Response(400, json={"error": {"message": "heard"}})

    client = httpx.AsyncClient(transport=httpx.MockTransport(hear))
    model = AnthropicModel(
        "claude-sonnet-4-5", provider=AnthropicProvider(api_key="none", http_client=client)
    )
    tools = [ToolDefinition(name=name) for name in ("track", "label", "wait", "die", "refund")]
    with suppress(ModelHTTPError):
        await model.request(deepcopy(messages), None, ModelRequestParameters(function_tools=tools))
    return judge.why_not({"messages": _joined(bodies[0]["messages"])})


def _joined(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """In blocks, and neighbours of one role as one: so Anthropic takes them."""
    joined: list[dict[str, Any]] = []
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if joined and joined[-1]["role"] == message["role"]:
            joined[-1]["content"] += blocks
        else:
            joined.append({**message, "content": list(blocks)})
    return joined
