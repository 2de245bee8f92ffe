"""LlamaIndex's `FunctionAgent`, which writes each step to its memory before it takes the next one.

LlamaIndex's own writes what it did when it has ended, so that a crash takes a whole run. With this one a call
that a crash or a cancel left open is in the memory, and healed when the user goes on.
"""

from collections.abc import Sequence
from typing import Any

from turnledger.adapters.extras import extra

with extra("llama-index"):
    from llama_index.core.agent.workflow import AgentOutput, FunctionAgent
    from llama_index.core.base.llms.types import ChatMessage


class StepwiseAgent(FunctionAgent):  # type: ignore[misc]
    """A `FunctionAgent`, alone or in an `AgentWorkflow`, whose scratchpad is its memory."""

    async def take_step(
        self, ctx: Any, llm_input: list[ChatMessage], tools: Sequence[Any], memory: Any
    ) -> AgentOutput:
        output = await super().take_step(ctx, llm_input, tools, memory)
        return await self.finalize(ctx, output, memory)

    async def handle_tool_call_results(self, ctx: Any, results: list[Any], memory: Any) -> None:
        await super().handle_tool_call_results(ctx, results, memory)
        await self.finalize(ctx, None, memory)

    async def finalize(self, ctx: Any, output: Any, memory: Any) -> Any:
        """Writes what the scratchpad has to the memory, and empties it."""
        if await ctx.store.get(self.scratchpad_key, default=[]):
            await super().finalize(ctx, output, memory)
        return output
