"""What docs/adapters.md shows runs as it stands there."""

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from tests.judges.official import library

PAGE = (Path(__file__).parents[3] / "docs" / "adapters.md").read_text()
NEEDED = (
    *("agents", "google.adk", "agent_framework", "langchain", "llama_index.core", "strands"),
    *("pydantic_ai", "claude_agent_sdk", "opentelemetry.sdk"),
)
SECTIONS = re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
SNIPPETS = [
    (title, code) for title, text in SECTIONS for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL)
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("title", "code"), SNIPPETS, ids=[title for title, _ in SNIPPETS])
def test_the_lines_run_and_print_what_they_say(
    title: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in NEEDED:
        if f"from {module}" in code:
            library(module)
    monkeypatch.chdir(tmp_path)
    out = io.StringIO()
    with redirect_stdout(out):
        exec(compile(code, title, "exec"), {"__name__": "__main__"})
    assert out.getvalue().splitlines() == re.findall(r"print\(.*\)  # (.+)$", code, re.MULTILINE)
