"""The README tells the truth: its Python runs in order, and prints what it says that it prints."""

import ast
import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README.read_text(), re.DOTALL | re.MULTILINE)


def statements(block: str) -> Iterator[tuple[ast.stmt, str | None]]:
    """Each statement with the comment that says what it prints: behind a print, or on the line below it."""
    lines = block.splitlines()
    for statement in ast.parse(block).body:
        last = lines[(statement.end_lineno or 0) - 1]
        below = lines[statement.end_lineno or 0 :][:1]
        comment = re.search(r"print\(.*\)\s+# (.*)$", last)
        if comment:
            yield statement, comment[1]
        elif last.startswith("print(") and below and below[0].startswith("# "):
            yield statement, below[0][2:]
        else:
            yield statement, None


def test_the_python_runs_in_order_and_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    compared = 0
    for block in blocks("python"):
        for statement, expected in statements(block):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(ast.Module([statement], []), "README.md", "exec"), names)
            if expected is not None:
                text = printed.getvalue().strip()
                assert expected == text or expected.startswith(f"{text}:"), ast.unparse(statement)
                compared += 1
    assert compared >= 8
    names["store"].close()  # type: ignore[attr-defined]
