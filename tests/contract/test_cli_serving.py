"""`serve` and `export --format html` at a prompt."""

import builtins
import os
import signal
import socket
import subprocess
import sys
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.contract.command_line import damage, run
from turnledger.cli import serving


def start(store: Path, *options: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "turnledger", "--store", str(store), "serve", *options]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_it_says_where_the_page_is_serves_it_and_ends_when_interrupted(cats: Path) -> None:
    with start(cats, "--port", "0") as process:
        assert process.stdout
        said = process.stdout.readline()
        address = said.split(" at ")[1].split(";")[0]
        with urlopen(f"{address}c/cats", timeout=20) as answer:
            assert b"three cats" in answer.read()
        process.send_signal(signal.SIGINT)
        _, complained = process.communicate(timeout=20)
    assert said.startswith(f"{cats} is shown at http://127.0.0.1:")
    assert process.returncode == 130
    assert complained.strip() == "turnledger: stopped"


def test_an_open_page_does_not_keep_it_from_ending(cats: Path) -> None:
    with start(cats, "--port", "0") as process:
        assert process.stdout
        address = process.stdout.readline().split("http://")[1].split("/")[0]
        host, _, port = address.partition(":")
        with closing(socket.create_connection((host, int(port)), timeout=20)) as browser:
            browser.sendall(f"GET /c/cats/news HTTP/1.1\r\nHost: {address}\r\n\r\n".encode())
            assert browser.recv(100).startswith(b"HTTP/1.1 200")
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=20)
    assert process.returncode == 130


def test_a_port_that_is_taken_is_named(cats: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        ran = run("serve", "--port", port, store=cats)
    assert ran.code == 2
    assert f"cannot listen on 127.0.0.1 port {port}" in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_host_that_is_none_is_named(cats: Path) -> None:
    ran = run("serve", "--host", "no such host", store=cats)
    assert ran.code == 2
    assert "cannot listen on no such host" in ran.err
    assert len(ran.err.splitlines()) == 1


def test_it_never_makes_a_store(tmp_path: Path) -> None:
    ran = run("serve", store=tmp_path / "absent.db")
    assert ran.code == 2
    assert "there is no store" in ran.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["serve", "export cats --format html"])
def test_without_the_extra_it_says_what_to_install(
    command: str, cats: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "find_spec", lambda name: None if name == "starlette" else find_spec(name))
    ran = run(*command.split(), store=cats)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err == "turnledger: this needs more packages: pip install 'turnledger[web]'\n"


def test_no_other_command_needs_the_extra(cats: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.split(".", maxsplit=1)[0] in serving.NEEDED or name.startswith("turnledger.web"):
            raise ModuleNotFoundError(name)
        return imported(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    for command in ("show cats", "log cats", "export cats", "verify"):
        assert run(*command.split(), store=cats).code == 0


def test_an_exported_page_is_one_file_that_asks_for_nothing(cats: Path, tmp_path: Path) -> None:
    file = tmp_path / "cats.html"
    ran = run("export", "cats", "--format", "html", "--output", file, store=cats)
    text = file.read_text()
    assert ran.code == 0
    assert "Content-Security-Policy" in text
    assert "default-src &#39;none&#39;; style-src &#39;sha256-" in text
    assert "three cats" in text
    assert not [mark for mark in ("<script", "<link", "<img", "src=", "@import", "url(") if mark in text]
    assert run("export", "cats", "--format", "html", store=cats).out == text + "\n" * (
        not text.endswith("\n")
    )


def test_an_exported_page_names_the_head_of_the_log(cats: Path) -> None:
    from turnledger import ConversationStore

    with ConversationStore(cats, create=False) as store:
        head = store.head("cats")
    text = run("export", "cats", "--format", "html", store=cats).out
    assert f"version {head.version}, SHA-256 <code>{head.digest}</code>" in text


@pytest.mark.parametrize("ids", [[], ["cats", "dogs"]])
def test_a_page_is_exported_of_one_conversation(ids: list[str], cats: Path) -> None:
    ran = run("export", *ids, "--format", "html", store=cats)
    assert ran.code == 2
    assert "one conversation" in ran.err


def test_a_damaged_conversation_is_exported_as_far_as_it_goes_where_that_is_asked(cats: Path) -> None:
    damage(cats, "cats", 4)
    refused = run("export", "cats", "--format", "html", store=cats)
    assert (refused.code, refused.out) == (1, "")
    salvaged = run("export", "cats", "--format", "html", "--salvage", store=cats)
    assert salvaged.code == 1
    assert "those behind version 3 cannot be rebuilt" in salvaged.out
    assert "three cats" in salvaged.out
    assert "1 event of cats cannot be read" in salvaged.err
