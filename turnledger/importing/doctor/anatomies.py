"""The formats that the doctor knows, by name."""

from collections.abc import Mapping

from turnledger.importing.doctor.anatomy import Anatomy
from turnledger.importing.doctor.anthropic import AnthropicAnatomy
from turnledger.importing.doctor.openai_chat import OpenAIAnatomy

ANATOMIES: Mapping[str, Anatomy] = {
    "anthropic": AnthropicAnatomy(),
    "openai-chat": OpenAIAnatomy(),
}
