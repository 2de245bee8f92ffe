"""`follow`, `search`, `stats`, and the page's search in read models."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.contract.command_line import DATA, run
from tests.serving import served
from turnledger import ConversationStore, Record
from turnledger.cli.mistakes import DAMAGE, MISTAKE
from turnledger.infrastructure.read_models import file


def test_following_once_makes_the_tables_beside_the_store(cats: Path) -> None:
    ran = run("follow", "--once", store=cats)
    assert (ran.code, ran.err) == (0, "")
    assert "9 events followed" in ran.out
    assert "0 behind" in ran.out
    with closing(sqlite3.connect(cats.with_name("cats-read.db"))) as database:
        assert database.execute("SELECT COUNT(*) FROM events").fetchone() == (9,)
    assert run("follow", "--once", "--json", store=cats).json["lag"] == 0


def test_comparing_finds_what_was_changed_and_a_rebuild_mends_it(cats: Path) -> None:
    run("follow", "--once", store=cats)
    assert "all the same" in run("follow", "--verify", store=cats).out
    with closing(sqlite3.connect(cats.with_name("cats-read.db"))) as database, database:
        database.execute("UPDATE calls SET name = 'forged'")
    ran = run("follow", "--verify", store=cats)
    assert ran.code == DAMAGE
    assert "calls 1: name" in ran.out
    assert run("follow", "--verify", "--json", store=cats).json["differing"] == 1
    assert run("follow", "--rebuild", "--once", store=cats).code == 0
    assert run("follow", "--verify", store=cats).code == 0


def test_a_file_that_holds_something_else_is_a_mistake(cats: Path) -> None:
    ran = run("follow", "--once", "--read-models", cats, store=cats)
    assert (ran.code, len(ran.err.splitlines())) == (MISTAKE, 1)
    assert "no read models" in ran.err


def test_a_search_makes_what_it_needs_and_says_so(cats: Path) -> None:
    ran = run("search", "three", store=cats)
    assert ran.code == 0
    assert ran.lines[0].startswith("cats  entry 3  tool of search, replaced")
    assert ran.lines[1].strip() == "three cats"
    assert "made" in ran.err
    again = run("search", "three", store=cats)
    assert (again.out, again.err) == (ran.out, "")


def test_a_search_sees_what_came_since(cats: Path) -> None:
    run("search", "three", store=cats)
    with ConversationStore(cats) as store:
        store.append("dogs", {"role": "user", "content": "three dogs"})
    assert len(run("search", "three", "--json", store=cats).json) == 2


def test_hits_as_json_say_where_they_are(cats: Path) -> None:
    (hit,) = run("search", "THREE", "--role", "tool", "--json", store=cats).json
    assert (hit["conversation_id"], hit["entry"], hit["state"]) == ("cats", 3, "replaced")
    assert [hit["text"][begin:end] for begin, end in hit["highlights"]] == ["three"]


def test_searching_for_nothing_or_in_no_time_is_a_mistake(cats: Path) -> None:
    assert run("search", '"', store=cats).code == MISTAKE
    assert run("search", "x", "--since", "3", store=cats).code == MISTAKE
    assert run("search", "x", "--events", "--role", "tool", store=cats).code == MISTAKE
    assert run("search", "nowhere", store=cats).out.strip() == "nothing found"


def test_events_are_searched_by_their_lines(cats: Path) -> None:
    assert "placeholder" in run("search", "placeholder", "--events", store=cats).out


def test_events_are_found_by_what_their_lines_quote(cats: Path) -> None:
    ran = run("search", "three", "--events", store=cats)
    (line,) = [line for line in run("log", "cats", store=cats).lines if "three cats" in line]
    assert ran.lines[0].startswith("cats  version ")
    assert "three cats" in ran.lines[1]
    (hit,) = run("search", "three", "--events", "--json", store=cats).json
    assert line.split()[0] == str(hit["version"])
    assert [hit["text"][begin:end] for begin, end in hit["highlights"]] == ["three"]


def test_what_is_found_cannot_command_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "odd.db"
    with ConversationStore(path) as store:
        store.append("odd", {"role": "user", "content": "red\x1b[31m alert \u202e here"})
    ran = run("search", "alert", store=path)
    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out


def test_statistics_count_what_there_is(cats: Path) -> None:
    ran = run("stats", store=cats)
    assert ran.code == 0
    assert "entries       4: 3 standing, 1 replaced" in ran.out
    found = run("stats", "--json", store=cats).json
    assert (found["events"], found["calls"], found["takes"]) == (9, {"answered": 1}, {"open": 1})
    assert found["tools"][0]["name"] == "search"
    with ConversationStore(cats) as store:
        store.append("cats", [], records=[Record("crm.note", None, number) for number in range(3)])
    assert "records       3: 3 crm.note" in run("stats", store=cats).out
    run("clear", "cats", store=cats)
    assert "records" not in run("stats", store=cats).out


def test_the_list_of_conversations_goes_by_pages(tmp_path: Path) -> None:
    path = tmp_path / "many.db"
    run("import", DATA, store=path)
    whole = [one["conversation_id"] for one in run("show", "--json", store=path).json]
    page = run("show", "--json", "--after", whole[1], "--limit", "2", store=path).json
    assert [one["conversation_id"] for one in page] == whole[2:4]
    assert len(run("show", "--limit", "3", store=path).lines) == 3
    assert run("show", whole[0], "--limit", "3", store=path).code == MISTAKE


def test_the_page_searches_in_the_read_models(cats: Path) -> None:
    with ConversationStore(cats) as store:
        store.append("dogs", {"role": "user", "content": "three dogs"})
        with served(cats, searches=True) as page:
            found = page.get("/?q=THR&part=list").text
            assert "/c/cats" in found
            assert "/c/dogs" in found
            store.append("birds", {"role": "user", "content": "thrushes"})
            assert "/c/birds" in page.get("/?q=thr&part=list").text
            assert "/c/cats" not in page.get("/?q=hrush&part=list").text
            assert "/c/dogs" in page.get("/?q=dogs&part=list").text
            assert "No conversation has" in page.get("/?q=%22&part=list").text


def test_the_page_searches_the_log_where_its_read_models_are_behind_and_cannot_be_written(
    cats: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ConversationStore(cats) as store:
        with store.read_models() as models:
            models.catch_up()
        monkeypatch.setattr(file, "_may_only_be_read", lambda path: True)
        with served(cats, searches=True) as page:
            store.append("birds", {"role": "user", "content": "thrushes"})
            assert "/c/birds" in page.get("/?q=thr&part=list").text
