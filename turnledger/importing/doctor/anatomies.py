"""The formats that the doctor knows, by name, and how one conversation of each is treated."""

from collections.abc import Mapping, Sequence
from typing import Any

from turnledger.importing.claude_code import NAME as SESSION
from turnledger.importing.doctor.anatomy import Anatomy
from turnledger.importing.doctor.anthropic import AnthropicAnatomy
from turnledger.importing.doctor.bedrock_converse import ConverseAnatomy
from turnledger.importing.doctor.claude_code import SessionTreatment
from turnledger.importing.doctor.gemini import GeminiAnatomy
from turnledger.importing.doctor.langchain import LangchainAnatomy
from turnledger.importing.doctor.llm import LlmAnatomy
from turnledger.importing.doctor.mistral import MistralAnatomy
from turnledger.importing.doctor.ollama import OllamaAnatomy
from turnledger.importing.doctor.openai_chat import OpenAIAnatomy
from turnledger.importing.doctor.openai_responses import ResponsesAnatomy
from turnledger.importing.doctor.patching import Origins
from turnledger.importing.doctor.pydantic_ai import PydanticAnatomy
from turnledger.importing.doctor.treatment import Place, Treated, Treatment
from turnledger.importing.doctor.vercel import VercelAnatomy

ANATOMIES: Mapping[str, Anatomy] = {
    "anthropic": AnthropicAnatomy(),
    "bedrock-converse": ConverseAnatomy(),
    "gemini": GeminiAnatomy(),
    "langchain": LangchainAnatomy(),
    "llm": LlmAnatomy(),
    "mistral": MistralAnatomy(),
    "ollama": OllamaAnatomy(),
    "openai-chat": OpenAIAnatomy(),
    "openai-responses": ResponsesAnatomy(),
    "pydantic-ai": PydanticAnatomy(),
    "vercel-ai": VercelAnatomy(),
}
EXAMINED = [*ANATOMIES, SESSION]


def treated_as(
    format: str,
    messages: Sequence[Any],
    origins: Origins,
    place: Place,
    holder: Mapping[str, Any] | None = None,
) -> Treated:
    """The treatment of one conversation in a format of these."""
    if format == SESSION:
        return SessionTreatment(origins, place).of(messages)
    return Treatment(ANATOMIES[format], origins, place, holder).of(messages)
