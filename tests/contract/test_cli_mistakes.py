"""Mistakes on the command line: one line that says what to do, the right exit code, never a traceback."""

import json
from pathlib import Path

import pytest

from tests.contract.command_line import READINGS, Ran, damage, run
from turnledger.cli import main
from turnledger.cli.mistakes import DAMAGE, MISTAKE


def assert_one_line(ran: Ran, code: int = MISTAKE) -> None:
    assert ran.code == code, ran
    assert ran.out == ""
    assert len(ran.err.splitlines()) == 1, ran.err
    assert ran.err.startswith("turnledger: ")
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("name", sorted(main.commands))
def test_every_command_has_help_with_an_example(name: str) -> None:
    for option in ("--help", "-h"):
        ran = run(name, option)
        assert ran.code == 0
        assert (
            f"Examples:\n    turnledger {name}" in ran.out or "Examples:\n    turnledger --store" in ran.out
        )
        assert f"turnledger {name}" in ran.out


def test_the_commands_are_those_that_the_specification_names() -> None:
    named = {"demo", "append", "show", "log", "held", "takes", "import", "export", "verify"}
    assert named <= set(main.commands)


def test_without_a_command_the_help_is_shown() -> None:
    ran = run()
    assert ran.code == 0
    assert "Examples:" in ran.out
    assert ran.out == run("--help").out
    assert run("--version").out.startswith("turnledger ")


@pytest.mark.parametrize(
    "command", [*READINGS, "export", "append cats --role user --text hi", "takes --confirm x", "import FILE"]
)
def test_a_command_without_a_store_says_how_to_name_one(command: str, tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text("[]")
    ran = run(*command.replace("FILE", str(file)).split())
    if "append" in command:
        ran = run("append", "cats", "--role", "user", "--text", "hi")
    assert_one_line(ran)
    assert "--store" in ran.err
    assert "TURNLEDGER_STORE" in ran.err


@pytest.mark.parametrize("command", [*READINGS, "export", "takes --confirm x", "takes cats --put-back x"])
def test_a_reading_command_never_creates_a_store(command: str, tmp_path: Path) -> None:
    path = tmp_path / "absent.db"
    ran = run(*command.split(), store=path)
    assert_one_line(ran)
    assert "there is no store" in ran.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [*READINGS, "export", "append cats {}", "takes --confirm x"])
def test_a_file_that_is_no_store_is_named(command: str, tmp_path: Path) -> None:
    path = tmp_path / "text.db"
    path.write_text("This is no database, but it is long enough to look like one. " * 100)
    assert_one_line(run(*command.split(), store=path))
    assert_one_line(run(*command.split(), store=tmp_path))
    assert path.read_text().startswith("This is no database")


@pytest.mark.parametrize("name", sorted(main.commands))
def test_an_unknown_option_is_a_mistake(name: str, cats: Path) -> None:
    ran = run(name, "--no-such-option", store=cats)
    assert_one_line(ran)
    assert f"turnledger {name} --help" in ran.err


@pytest.mark.parametrize(
    "command",
    [
        "no-such-command",
        "log",
        "append",
        "append cats",
        "append cats {bad",
        "append cats [1,",
        "append cats no-such-file.json",
        "append cats [] --role user",
        "append cats --text hi",
        "append cats --role robot --text hi",
        "append cats --role user --text hi --call-id c1",
        "append cats --role user --text hi --expected-version 1",
        "append cats --role user --text hi --expected-version -1",
        "append cats [7]",
        'append cats {"role":"robot"}',
        "append cats [] --reused-ids perhaps",
        "show nobody",
        "show cats --at 99",
        "show cats --at yesterday",
        "show cats --at 2026-05-01T12:00:00",
        "show cats --at -1",
        "show --at 1",
        "show cats --as pretty",
        "log nobody",
        "log cats --after -1",
        "held nobody",
        "held --at 1",
        "held cats --execution ",
        "takes nobody",
        "takes --confirm nothing",
        "takes cats --confirm nothing",
        "takes cats --discard nothing",
        "takes cats --reason because",
        "takes cats --confirm a --put-back b",
        "verify nobody",
        "export nobody",
        "export --format telegram",
        "export --output /no/such/folder/file",
        "import",
        "import no-such-file.jsonl",
        "import . --format openai-chat",
        "import no-such-file.jsonl --format telegram",
        "demo extra",
        "diff cats",
        "diff cats 1 99",
        "diff cats yesterday",
        "diff nobody 1",
        "diff cats 1 2 --of wire",
        "diff cats 1 1 --other nobody",
        "fork cats",
        "fork cats cats",
        "fork cats new --at 0",
        "fork cats new --at 99",
        "fork nobody new",
        "requests nobody",
        "requests cats --show 1",
        "requests cats --show one",
        "records nobody",
        "records cats --at 99",
        "records cats --key  ",
        "inbox nobody",
        "head nobody",
        "verify --anchors no-such-file.json",
        "compact cats --keep-last 1",
        "compact cats --text so --keep-last -1",
        "compact nobody --text so --keep-last 1",
        "compact cats --text so --keep-last 1 --role tool",
        "compact cats --text so --keep-last 1 --expected-version 1",
        "retract nobody",
        "retract cats --entry 99",
        "retract cats --entry 0",
        "clear nobody",
        "clear cats --expected-version 1",
        "retract cats --expected-version 1",
        "log cats --to 3 --at 3",
        "replay nobody",
        "replay cats --speed 0",
        "replay cats --speed fast",
    ],
)
def test_a_mistake_gives_one_line_and_exit_code_2(command: str, cats: Path) -> None:
    arguments = command.split(" ")
    assert_one_line(run(*arguments, store=cats))


def test_a_control_character_in_an_argument_is_spelled_out(cats: Path) -> None:
    ran = run("show", "cats\x1b[2J", store=cats)
    assert_one_line(ran)
    assert "\x1b" not in ran.err


def test_a_file_that_is_no_json_is_one_line(cats: Path, tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    for content in (b"{", b"\xff\xfe", b"", b"[" * 100_000, b'{"a": ' + b"1" * 5_000 + b"}"):
        file.write_bytes(content)
        assert_one_line(run("append", "cats", file, store=cats))
        assert_one_line(run("import", file, store=cats))


def test_an_import_conflict_says_what_to_do_and_records_nothing(cats: Path, tmp_path: Path) -> None:
    file = tmp_path / "cats.json"
    file.write_text(json.dumps([{"role": "user", "content": "other"}]))
    ran = run("import", file, store=cats)
    assert_one_line(ran)
    assert "--id" in ran.err
    assert run("log", "cats", "--after", 10, store=cats).out == ""


def test_damage_is_one_line_and_exit_code_1(cats: Path) -> None:
    damage(cats, "cats", 3)
    for command in ("show cats", "show cats --json", "held cats", "takes cats", "export", "export cats"):
        ran = run(*command.split(), store=cats)
        assert_one_line(ran, DAMAGE)
        assert "version 3" in ran.err


def test_a_late_settlement_of_the_other_kind_is_a_mistake(cats: Path) -> None:
    take_id = run("takes", "--json", store=cats).json[0]["take_id"]
    assert run("takes", "--confirm", take_id, store=cats).code == 0
    assert_one_line(run("takes", "cats", "--put-back", take_id, store=cats))
    assert run("takes", "cats", "--confirm", take_id, store=cats).code == 0
