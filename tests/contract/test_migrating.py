"""A store moved from one database to another: the same bytes in the same order, wherever it was stopped."""

import itertools
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.postgres import need_server, new_url
from tests.spec import artifact, assistant, call, result, turn, user
from turnledger import ConversationStore, MigrationRefused, migrate
from turnledger.cli import main
from turnledger.infrastructure import migrating

DIRECTIONS = list(itertools.product(["file", "postgres"], repeat=2))


@pytest.fixture(name="places", params=DIRECTIONS, ids=" to ".join)
def both_ends(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path | str, Path | str]:
    need_server()
    made: list[Path | str] = []
    for name, kind in zip(("from.db", "to.db"), request.param, strict=True):
        made.append(tmp_path / name if kind == "file" else new_url())
    return made[0], made[1]


def filled(place: Path | str) -> ConversationStore:
    store = ConversationStore(place)
    for n in range(8):
        store.append(f"c{n % 3}", [user(f"{n} ä\0"), turn(call(f"a{n}")), user("again")])
        store.append(f"c{n % 3}", result(f"a{n}"))
    store.hold("c0", "e1", [artifact("link")])
    store.write_back("c0", "e1", assistant("done"))
    store.fork("c1", at=3, into="fork")
    return store


def rows(store: ConversationStore) -> list[Any]:
    found = store._application.recorder.select_notifications(None, 10_000)
    return [(one.originator_id, one.originator_version, one.topic, one.state) for one in found]


def test_all_rows_arrive_in_their_order_and_bytes(places: tuple[Any, Any]) -> None:
    with filled(places[0]) as source, ConversationStore(places[1]) as target:
        done = migrate(source, target)
        assert rows(target) == rows(source)
        assert (done.copied, done.events, done.conversations) == (len(rows(source)), len(rows(source)), 4)
        assert target.verify().ok
        again = migrate(source, target)
        assert (again.copied, again.events, again.digest) == (0, done.events, done.digest)
        target_head, source_head = target.head("c0"), source.head("c0")
        assert target_head == source_head


def test_what_is_new_in_the_source_follows(places: tuple[Any, Any]) -> None:
    with filled(places[0]) as source, ConversationStore(places[1]) as target:
        migrate(source, target)
        source.append("c1", [user("more"), assistant("and more")])
        assert migrate(source, target).copied == 2
        assert target.buffer("c1") == source.buffer("c1")


def test_a_migration_that_is_stopped_anywhere_goes_on(
    places: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrating, "PAGE_ROWS", 5)
    copied = 0
    with filled(places[0]) as source:
        for stop in itertools.count(1):
            with ConversationStore(places[1]) as target, _stopped_at(target, stop) as stopped:
                try:
                    done = migrate(source, target)
                    break
                except KeyboardInterrupt:
                    copied = len(rows(target))
                    assert rows(target) == rows(source)[:copied]
        assert stop > 2
        assert copied
        assert stopped
        assert done.events == len(rows(source))


@contextmanager
def _stopped_at(target: ConversationStore, batch: int) -> Any:
    """Stops in the first copy of each try, before it or behind it; each try comes one batch further."""
    recorder: Any = target._application.recorder
    copy = recorder.copy
    seen: list[int] = []

    def stopping(log: Any, batch_rows: Any) -> None:
        seen.append(len(batch_rows))
        if batch % 2 and len(seen) == 1:
            copy(log, batch_rows)
            raise KeyboardInterrupt
        if len(seen) == 2:
            raise KeyboardInterrupt
        copy(log, batch_rows)

    recorder.copy = stopping
    yield seen


@pytest.mark.parametrize(
    "other",
    [
        lambda store: store.append("else", user("x")),
        lambda store: store.append("c0", user("x")),
    ],
)
def test_a_target_that_holds_something_else_is_left_as_it_is(
    places: tuple[Any, Any], other: Callable[[ConversationStore], Any]
) -> None:
    with filled(places[0]) as source, ConversationStore(places[1]) as target:
        other(target)
        before = rows(target)
        with pytest.raises(MigrationRefused, match="holds something else"):
            migrate(source, target)
        assert rows(target) == before


def test_a_target_that_went_on_by_itself_is_refused(places: tuple[Any, Any]) -> None:
    with filled(places[0]) as source, ConversationStore(places[1]) as target:
        migrate(source, target)
        target.append("c0", user("its own"))
        with pytest.raises(MigrationRefused):
            migrate(source, target)


@pytest.mark.parametrize("damage", ["UPDATE {} SET state = 'x'", "DELETE FROM {}"])
def test_a_damaged_conversation_stays_out_as_a_whole_and_is_named(tmp_path: Path, damage: str) -> None:
    filled(tmp_path / "from.db").close()
    with closing(sqlite3.connect(tmp_path / "from.db")) as connection, connection:
        where = " WHERE originator_id = 'c1' AND originator_version = 3"
        connection.execute(damage.format("stored_events") + where)
    with ConversationStore(tmp_path / "from.db") as source, ConversationStore(new_url()) as target:
        for _ in range(2):
            done = migrate(source, target)
            assert [error.conversation_id for error in done.damaged] == ["c1"]
            assert {row[0] for row in rows(target)} == {"c0", "c2", "fork"}
            assert done.conversations == 3


def test_progress_is_told_step_by_step(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    with filled(tmp_path / "from.db") as source, ConversationStore(tmp_path / "to.db") as target:
        done = migrate(source, target, progress=lambda *step: told.append(step))
    assert [step for step, _ in itertools.groupby(told, key=lambda one: one[0])] == [
        "reading",
        "copying",
        "checking",
    ]
    assert told[-1] == ("checking", done.events, done.events)


class TestCommand:
    def run(self, *arguments: object) -> Any:
        return CliRunner().invoke(main, [str(argument) for argument in arguments], standalone_mode=True)

    def test_it_says_what_it_copied_and_that_it_is_the_same(self, places: tuple[Any, Any]) -> None:
        filled(places[0]).close()
        done = self.run("migrate", "--from", places[0], "--to", places[1])
        assert done.exit_code == 0, done.output
        assert "SHA-256" in done.output
        assert "of 4 conversations" in done.output
        told = json.loads(self.run("migrate", "--from", places[0], "--to", places[1], "--json").output)
        assert (told["copied"], told["conversations"], told["damaged"]) == (0, 4, [])
        assert self.run("verify", "--store", places[1]).exit_code == 0

    def test_damage_is_named_and_the_exit_code_says_so(self, tmp_path: Path) -> None:
        filled(tmp_path / "a.db").close()
        with closing(sqlite3.connect(tmp_path / "a.db")) as connection, connection:
            connection.execute("UPDATE stored_events SET state = 'x' WHERE originator_id = 'c1'")
        done = self.run("migrate", "--from", tmp_path / "a.db", "--to", tmp_path / "b.db")
        assert done.exit_code == 1
        assert "left out, as it is damaged: conversation 'c1'" in done.output

    def test_a_source_that_is_not_there_makes_no_target(self, tmp_path: Path) -> None:
        done = self.run("migrate", "--from", tmp_path / "none.db", "--to", tmp_path / "b.db")
        assert done.exit_code == 2
        assert not (tmp_path / "b.db").exists()

    def test_the_command_line_works_on_a_server_as_on_a_file(self) -> None:
        url = new_url()
        assert self.run("--store", url, "append", "cats", "--role", "user", "--text", "Hi").exit_code == 0
        for command in (
            "show",
            "show cats",
            "log cats",
            "verify",
            "inbox",
            "head",
            "export",
            "requests cats",
        ):
            done = self.run("--store", url, *command.split())
            assert done.exit_code == 0, (command, done.output)
        assert "no store" in self.run("--store", new_url(), "show").output

    def test_no_password_is_printed(self) -> None:
        done = self.run("--store", "postgresql://bob:s3cret@127.0.0.1:1/db", "show")
        assert done.exit_code == 2
        assert "s3cret" not in done.output
        assert "bob@127.0.0.1:1" in done.output
