"""The command line as a process: pipes, encodings, colours, full disks, and the demo."""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.contract.command_line import DATA, run, run_process
from turnledger import ConversationStore

ESCAPE = "\x1b"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    run("import", DATA, store=path)
    return path


def test_piped_output_has_no_colour_and_no_wrapped_lines(store: Path) -> None:
    for command in ("show airline-task2-trial1", "log airline-task2-trial1", "verify"):
        ran = run_process(*command.split(), store=store, environment={"COLUMNS": "40"})
        assert ran.code == 0
        assert ESCAPE not in ran.out + ran.err
    lines = run_process("log", "airline-task2-trial1", store=store, environment={"COLUMNS": "40"}).lines
    assert len(lines) == 63
    assert max(map(len, lines)) > 100


def on_a_terminal(columns: int, *arguments: str, **environment: str) -> str:
    """What a command shows on a terminal of that width."""
    pty = pytest.importorskip("pty", reason="there are no terminals here")
    leader, follower = pty.openpty()
    kept = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-m", "turnledger", *arguments],
        env={**kept, "TERM": "xterm-256color", "COLUMNS": str(columns), "LINES": "50", **environment},
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    shown = b""
    with process, open(leader, "rb", buffering=0) as screen, suppress(OSError):  # noqa: PTH123
        while block := screen.read(4096):
            shown += block
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [30, 80, 120])
def test_a_terminal_gets_lines_of_its_width_and_no_colour_where_none_is_wanted(
    columns: int, store: Path
) -> None:
    commands = ["log airline-task2-trial1", "show airline-task2-trial1 --at 12"]
    for command in [*commands, "show", "demo --fast"] if columns == 80 else commands:
        arguments = (*command.split(), "--store", str(store))
        shown = on_a_terminal(columns, *arguments, NO_COLOR="1")
        lines = re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()
        assert lines
        assert max(map(cell_len, lines)) <= columns
        assert not re.search(r"\x1b\[[0-9;]*3[0-9]", shown)
    if columns == 80:
        assert re.search(r"\x1b\[[0-9;]*3[0-9]", on_a_terminal(columns, *arguments))


def test_a_closed_pipe_is_no_fault(store: Path) -> None:
    for command in ("log airline-task2-trial1", "show airline-task2-trial1 --json", "export", "--help"):
        process = subprocess.Popen(
            [sys.executable, "-m", "turnledger", *command.split()],
            env={**os.environ, "TURNLEDGER_STORE": str(store)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout
        process.stdout.close()
        assert process.stderr
        with process.stderr:
            assert process.stderr.read() == b""
        process.wait(30)


def test_an_ascii_terminal_gets_what_it_can_show(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    run("append", "c", "--role", "user", "--text", "naïve 日本", store=path)
    run("append", "c", '{"role": "assistant", "tool_calls": [{"id": "c1", "name": "f"}]}', store=path)
    ascii_only = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    for command in ("show c", "log c", "export", "show c --as flat", "verify"):
        ran = run_process(*command.split(), store=path, environment=ascii_only)
        assert (ran.code, ran.err) == (0, "")
    assert "-> f c1" in run_process("show", "c", store=path, environment=ascii_only).out
    assert (
        run_process("show", "c", "--json", store=path, environment=ascii_only).json[0]["content"]
        == "naïve 日本"
    )
    demo = run_process("demo", environment=ascii_only)
    assert (demo.code, demo.err) == (0, "")
    assert run_process("show", "日本", store=path, environment=ascii_only).code == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_under_the_output_is_one_line(store: Path) -> None:
    for command in ("show", "log airline-task2-trial1", "export", "verify --json", "--help"):
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(
                [sys.executable, "-m", "turnledger", *command.split()],
                env={**os.environ, "TURNLEDGER_STORE": str(store)},
                stdout=full,
                stderr=subprocess.PIPE,
                check=False,
                timeout=60,
            )
        assert done.returncode == 2
        (line,) = done.stderr.decode().splitlines()
        assert "no room" in line


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_an_interrupt_is_one_line(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "turnledger", "--store", str(tmp_path / "s.db"), "import", str(pipe)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with process, pipe.open("wb"):  # which opens when the command opens it
        errors = b""
        for _ in range(30):  # one may come while the interpreter can do nothing about it
            process.send_signal(signal.SIGINT)
            try:
                _, errors = process.communicate(timeout=2)
                break
            except subprocess.TimeoutExpired:
                continue
    assert process.returncode == 130
    assert errors.decode().strip() == "turnledger: stopped"


def test_the_demo_tells_its_story_in_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "demo.db"
    ran = run_process("demo", store=path)
    assert (ran.code, ran.err) == (0, "")
    assert ESCAPE not in ran.out
    with ConversationStore(path) as store:
        told = [line.split() for line in ran.lines if line.startswith(" + ")]
        assert [int(words[1]) for words in told] == [event.version for event in store.events("demo")]
        assert str(store.verify("demo").ok) in "True"
        assert [a["type"] for a in store.turn_artifacts("demo", "t3")] == ["map", "offer", "ticket"]
    for fact in (
        "ended with code -9" if os.name == "posix" else "was killed",
        "version 3; the log, opened again, has version 3",
        "tool c1 (interrupted)",
        "0; messages 0, 1 were known",
        "recorded as c1-2",
        "3 (map, offer, ticket)",
        "StoreBusy",
        "map 1 time, offer 1 time, ticket 1 time",
        "all sound",
    ):
        assert fact in ran.out, fact


def test_a_second_demo_in_the_same_store_has_a_conversation_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "demo.db"
    for _ in range(2):
        assert run("demo", "--fast", store=path).code == 0
    assert [one["conversation_id"] for one in run("show", "--json", store=path).json] == ["demo", "demo-2"]
