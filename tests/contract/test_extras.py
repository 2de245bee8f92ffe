"""An adapter whose packages are missing says which to install, by the name of its extra.

What several SDKs bring is missing too, as it is where nothing but turnledger is installed.
"""

import subprocess
import sys

import pytest

ADAPTERS = {
    "agent_framework": ("agent-framework", "agent_framework"),
    "claude_agent_sdk": ("claude-agent-sdk", "claude_agent_sdk"),
    "google_adk": ("google-adk", "google.adk"),
    "google_adk_artifacts": ("google-adk", "google.adk"),
    "langchain": ("langchain", "langchain_core"),
    "langgraph": ("langgraph", "langchain"),
    "llama_index": ("llama-index", "llama_index"),
    "openai_agents": ("openai-agents", "agents"),
    "otel": ("otel", "opentelemetry"),
    "pydantic_ai": ("pydantic-ai", "pydantic_ai"),
    "strands": ("strands", "strands"),
}


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_missing_package_is_told_with_the_command_that_installs_it(adapter: str) -> None:
    extra, package = ADAPTERS[adapter]
    script = (
        f"import sys; sys.modules[{package!r}] = sys.modules['anyio'] = None\n"
        "from turnledger.domain.errors import PackageMissing\n"
        f"try:\n    import turnledger.adapters.{adapter}\n"
        "except PackageMissing as error:\n    print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=False, timeout=120
    )
    assert f"pip install 'turnledger[{extra}]'" in done.stdout, done.stderr


def test_what_only_read_models_need_comes_with_them() -> None:
    """It brings numpy where that is installed: a fifth of the time that `import turnledger` takes."""
    script = "import sys, turnledger; print({'sqlite_utils', 'numpy'} & set(sys.modules))"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert told.stdout == "set()\n"
