"""The README tells the truth: its Python runs in order, and prints what it says that it prints."""

import ast
import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
RUNTIME = README.parent / "examples" / "runtime.py"


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


def session(block: str) -> list[tuple[str, list[str]]]:
    """The commands of a console block, each with the lines that it prints."""
    commands: list[tuple[str, list[str]]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            commands.append((line[2:], []))
        else:
            commands[-1][1].append(line)
    return commands


def ran(block: str, folder: Path) -> list[list[str]]:
    """What each command of a console block prints when they run in one shell, in order."""
    script = "".join(f"{command}\necho '#####'\n" for command, _ in session(block))
    scripts = str(Path(sys.executable).parent)
    done = subprocess.run(
        ["bash", "-e"],
        input=script,
        cwd=folder,
        env={**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}", "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return [part.strip("\n").splitlines() for part in done.stdout.split("#####\n")]


def timeless(line: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", line)


def test_the_commands_print_what_it_says_that_they_print(tmp_path: Path) -> None:
    block = "".join(b for b in blocks("console") if "TURNLEDGER_STORE" in b or "sqlite-utils" in b)
    assert block.count("$ ") > 12
    for (command, expected), output in zip(session(block), ran(block, tmp_path), strict=False):
        told = [timeless(line.replace(f"{tmp_path}{os.sep}", "")) for line in output]
        assert told == [timeless(line) for line in expected], command


def test_the_test_command_is_the_one_that_ci_runs() -> None:
    ci = (README.parent / ".ci" / "run").read_text()
    (command,) = re.findall(r"\.venv/bin/(python -m pytest.*)$", README.read_text(), re.MULTILINE)
    assert f"\n{command}\n" in ci


def test_the_runtime_runs_as_it_says_and_what_is_shown_of_it_stands_in_it(tmp_path: Path) -> None:
    (block,) = [block for block in blocks("console") if "examples/runtime.py" in block]
    (tmp_path / "examples").symlink_to(RUNTIME.parent)
    for (command, expected), output in zip(session(block), ran(block, tmp_path), strict=False):
        assert output == expected, command
    shown = blocks("py")
    assert len(shown) == 3
    whole = "".join(RUNTIME.read_text().split())
    for block in shown:
        assert "".join(block.split()) in whole
