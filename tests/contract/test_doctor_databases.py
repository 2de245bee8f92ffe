"""The doctor on databases of clients: places by row, a copy with few rows changed, read in order."""

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contract.command_line import run
from tests.contract.test_doctor_properties import rendered
from tests.contract.test_renderings import buffers
from tests.contract.test_sqlite_files import BRANCHES, REPLY, USER, add, log_at, opened, sessions_at
from tests.doctoring import broken, why_refused
from tests.samples import RESPONSES
from turnledger import InvalidArgument
from turnledger.domain.messages import PLACEHOLDER_TEXT
from turnledger.importing.doctor import examine_database, fix_database

NEXT = {"role": "user", "content": "and?"}


def call(call_id: str) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "look", "arguments": "{}"}


def result(call_id: str, output: str = "saw") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def stands_in(call_id: str) -> dict[str, Any]:
    return result(call_id, PLACEHOLDER_TEXT)


def found_in(path: Path) -> list[tuple[str, str]]:
    return [(finding.place, finding.kind) for finding in examine_database(path).findings]


def rows_of(path: Path, session_id: str = "a") -> list[tuple[int, Any]]:
    """The rows of a session as the SDK reads them."""
    statement = "SELECT id, message_data FROM agent_messages WHERE session_id = ? ORDER BY id"
    with opened(path) as file:
        return [(number, json.loads(text)) for number, text in file.execute(statement, [session_id])]


def branch_of(path: Path, branch: str) -> list[Any]:
    """The items of a branch as the SDK reads them."""
    statement = (
        "SELECT m.message_data FROM agent_messages m JOIN message_structure s ON m.id = s.message_id"
        " WHERE s.branch_id = ? ORDER BY s.sequence_number"
    )
    with opened(path) as file:
        return [json.loads(text) for (text,) in file.execute(statement, [branch])]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return sessions_at(tmp_path / "agents.db")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "fixed.db"


def test_what_is_found_is_named_by_table_row_and_session(path: Path) -> None:
    add(path, "a", USER, call("c1"))
    add(path, "b", USER)
    add(path, "a", NEXT, {**call("c2"), "arguments": "{oops"}, result("c2"), result("c3"))
    assert found_in(path) == [
        ("row 2 of agent_messages, session 'a'", "unanswered call"),
        ("row 5 of agent_messages, session 'a'", "unusable arguments"),
        ("row 7 of agent_messages, session 'a'", "orphan result"),
    ]


def test_a_result_that_never_came_gets_an_id_between_those_of_its_neighbours(path: Path, out: Path) -> None:
    add(path, "a", USER, call("c1"))
    add(path, "b", USER)
    add(path, "a", NEXT, REPLY)
    fix_database(path, out)
    assert rows_of(out) == [(1, USER), (2, call("c1")), (4, stands_in("c1")), (5, NEXT), (6, REPLY)]
    assert rows_of(out, "b") == [(3, USER)]
    assert examine_database(out).sound


def test_an_id_that_is_free_is_taken_and_nothing_moves_up(path: Path, out: Path) -> None:
    add(path, "a", call("c1"), REPLY, NEXT)
    with opened(path) as file:
        file.execute("DELETE FROM agent_messages WHERE id = 2")
    fix_database(path, out)
    assert rows_of(out) == [(1, call("c1")), (2, stands_in("c1")), (3, NEXT)]


def test_a_result_that_came_late_moves_behind_its_call(path: Path, out: Path) -> None:
    add(path, "a", call("c1"), NEXT, REPLY, result("c1"), USER)
    fix_database(path, out)
    assert rows_of(out) == [(1, call("c1")), (2, result("c1")), (3, NEXT), (4, REPLY), (5, USER)]


def test_rows_that_are_not_concerned_are_left_to_the_letter(path: Path, out: Path) -> None:
    texts = [
        '{ "role":"user","content" : "\\u00e9 1" }',
        json.dumps(call("c1")),
        '{"role": "user", "content": []}',
    ]
    add(path, "a", *texts, '{"role":"user",  "content":"b"}', "{oops")
    with opened(path) as file:
        file.execute("ALTER TABLE agent_messages ADD COLUMN note TEXT NOT NULL DEFAULT 'mine'")
        file.execute("CREATE TABLE other (a)")
        file.execute("INSERT INTO other VALUES (x'ff00')")
    assert [kind for _, kind in found_in(path)] == ["bad line", "unanswered call", "empty content"]
    fix_database(path, out)
    with opened(out) as file:
        found = file.execute("SELECT id, message_data, created_at, note FROM agent_messages").fetchall()
        assert file.execute("SELECT * FROM other").fetchall() == [(b"\xff\x00",)]
    at = "2026-01-02 03:04:05"
    new = json.dumps(stands_in("c1"))
    assert found == [
        (1, texts[0], at, "mine"),
        (2, texts[1], at, "mine"),
        (3, new, at, "mine"),
        (4, '{"role":"user",  "content":"b"}', at, "mine"),
    ]


def branched(path: Path, items: list[Any], links: list[tuple[int, str, int]]) -> None:
    add(path, "a", *items)
    with opened(path) as file:
        file.execute(BRANCHES.replace("sequence_number", "message_type TEXT, sequence_number"))
        statement = "INSERT INTO message_structure (session_id, message_id, branch_id, sequence_number)"
        file.executemany(f"{statement} VALUES ('a', ?, ?, ?)", links)


def test_each_branch_of_a_session_gets_the_results_that_it_lacks(path: Path, out: Path) -> None:
    links = [
        (1, "main", 1),
        (2, "main", 2),
        (3, "main", 3),
        (1, "other", 4),
        (2, "other", 5),
        (4, "other", 6),
    ]
    branched(path, [USER, call("c1"), NEXT, result("c1")], links)
    assert found_in(path) == [("row 2 of agent_messages, session 'a', branch 'main'", "unanswered call")]
    fix_database(path, out)
    assert branch_of(out, "main") == [USER, call("c1"), stands_in("c1"), NEXT]
    assert branch_of(out, "other") == [USER, call("c1"), result("c1")]
    with opened(out) as file:
        (kind,) = file.execute("SELECT message_type FROM message_structure WHERE id = 7").fetchone()
    assert kind == "function_call_output"
    assert examine_database(out).sound


def test_a_row_that_branches_share_is_mended_once_or_for_the_one_that_wants_it(path: Path, out: Path) -> None:
    bad = {**call("c1"), "arguments": "{oops"}
    links = [
        (1, "main", 1),
        (3, "main", 2),
        (4, "main", 3),
        (1, "other", 4),
        (2, "other", 5),
        (3, "other", 6),
    ]
    branched(path, [bad, call("c1"), result("c1"), USER], links)
    fix_database(path, out)
    mended = {**call("c1"), "arguments": '{"invalid_json": "{oops"}'}
    assert branch_of(out, "main") == [mended, result("c1"), USER]
    assert branch_of(out, "other")[0] == mended
    assert examine_database(out).sound
    assert rows_of(out)[0] == (1, mended)


def test_a_row_goes_when_no_branch_has_it_any_more(path: Path, out: Path) -> None:
    links = [(1, "main", 1), (2, "main", 2), (1, "other", 3), (2, "other", 4), (3, "other", 5)]
    branched(path, [USER, result("c9"), result("c8")], links)
    fix_database(path, out)
    assert rows_of(out) == [(1, USER)]


@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=60)
@given(st.data())
def test_what_is_fixed_is_accepted_and_sound_whatever_was_broken(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("agents")
    path, out = sessions_at(folder / "agents.db"), folder / "fixed.db"
    items = broken(buffers.map(lambda buffer: rendered("openai-responses", buffer)))
    one, other = data.draw(items), data.draw(items)
    for place in range(max(len(one), len(other))):
        add(path, "a", *one[place : place + 1])
        add(path, "b", *other[place : place + 1])
    examined = fix_database(path, out)
    for session_id in ("a", "b"):
        assert why_refused("openai-responses", [item for _, item in rows_of(out, session_id)]) is None
    assert examine_database(out).sound
    assert examined.sound == (out.read_bytes() == path.read_bytes())


def test_a_sound_file_at_rest_is_copied_to_the_letter(path: Path, out: Path) -> None:
    add(path, "a", *RESPONSES)
    with opened(path) as file:
        file.execute("PRAGMA journal_mode = WAL")
    before = path.read_bytes()
    assert fix_database(path, out).sound
    assert fix_database(path, path).sound
    assert before == path.read_bytes() == out.read_bytes()
    assert {one.name for one in path.parent.iterdir()} == {"agents.db", "fixed.db"}


def test_a_file_in_use_is_copied_with_what_stands_in_the_log_beside_it(path: Path, out: Path) -> None:
    with closing(sqlite3.connect(path)) as client:
        client.execute("PRAGMA journal_mode = WAL")
        client.execute("SELECT * FROM agent_messages").fetchall()
        add(path, "a", USER, call("c1"), NEXT)
        assert path.with_name("agents.db-wal").stat().st_size > 0
        fix_database(path, out)
        assert [item for _, item in rows_of(path)] == [USER, call("c1"), NEXT]
    assert [item for _, item in rows_of(out)] == [USER, call("c1"), stands_in("c1"), NEXT]


def test_a_file_in_use_is_mended_in_place_where_its_client_sees_it(path: Path) -> None:
    with closing(sqlite3.connect(path)) as client:
        client.execute("PRAGMA journal_mode = WAL")
        client.execute("SELECT * FROM agent_messages").fetchall()
        add(path, "a", USER, call("c1"), NEXT)
        fix_database(path, path)
        assert client.execute("SELECT count(*) FROM agent_messages").fetchone() == (4,)
        add(path, "a", REPLY)
    assert [item for _, item in rows_of(path)] == [USER, call("c1"), stands_in("c1"), NEXT, REPLY]


def test_a_database_in_use_is_not_replaced_by_another(path: Path, out: Path) -> None:
    add(path, "a", USER)
    sessions_at(out)
    with closing(sqlite3.connect(out)) as client:
        client.execute("PRAGMA journal_mode = WAL")
        client.execute("SELECT * FROM agent_messages").fetchall()
        with pytest.raises(InvalidArgument, match="in use"):
            fix_database(path, out)


def test_encrypted_items_are_left_as_they_are(path: Path, out: Path) -> None:
    sealed = {"__enc__": 1, "v": 1, "kid": "hkdf-v1", "payload": "gAAA"}
    add(path, "a", sealed, sealed)
    assert found_in(path) == [("row 1 of agent_messages, session 'a'", "bad line")]
    fix_database(path, out)
    assert [item for _, item in rows_of(out)] == [sealed, sealed]


def test_the_sdk_reads_what_was_mended_and_goes_on_behind_it(path: Path, out: Path) -> None:
    agents = pytest.importorskip("agents", reason="the SDK's own reading needs openai-agents (extra dev)")
    add(path, "a", USER, call("c1"), NEXT)
    fix_database(path, out)

    async def read() -> list[Any]:
        session = agents.SQLiteSession("a", out)
        await session.add_items([REPLY])
        found: list[Any] = await session.get_items()
        session.close()
        return found

    assert asyncio.run(read()) == [USER, call("c1"), stands_in("c1"), NEXT, REPLY]


@pytest.mark.parametrize("name", ["llm-threads", "llm-responses", "llm-first"])
def test_a_sound_log_of_llm_is_sound(tmp_path: Path, name: str) -> None:
    log = log_at(tmp_path / "logs.db", name)
    examined = examine_database(log)
    assert (examined.findings, examined.formats) == ((), ("llm",))


def test_a_call_that_an_older_log_has_no_result_of_is_named_by_its_row(tmp_path: Path) -> None:
    log = log_at(tmp_path / "logs.db", "llm-responses")
    with opened(log) as file:
        file.execute("DELETE FROM tool_results WHERE id = 2")
    place = "row r1 of responses, conversation '01a', parts[3]"
    assert found_in(log) == [(place, "unanswered call")]


def test_a_call_that_a_thread_has_no_result_of_is_named_by_its_message(tmp_path: Path) -> None:
    log = log_at(tmp_path / "logs.db", "llm-threads")
    with opened(log) as file:
        file.execute("DELETE FROM parts WHERE type = 'tool_result' AND position = 1")
    ((place, kind),) = found_in(log)
    assert kind == "unanswered call"
    with opened(log) as file:
        (named,) = file.execute(
            "SELECT m.hash FROM messages m JOIN parts p ON p.message_hash = m.hash WHERE p.type = 'tool_call'"
        ).fetchmany(1)
    assert place.startswith(f"message {named[0]} of messages, conversation ")


def test_a_log_of_llm_with_findings_is_not_written_and_the_command_says_why(
    tmp_path: Path, out: Path
) -> None:
    log = log_at(tmp_path / "logs.db", "llm-responses")
    with opened(log) as file:
        file.execute("DELETE FROM tool_results WHERE id = 2")
    done = run("doctor", log, "--fix", out)
    assert done.code == 1
    assert "nothing is written: llm names a message by a hash" in done.out
    assert "fixed:" not in done.out
    assert not out.exists()
    told = run("doctor", log, "--json", "--fix", out).json
    assert (told["fixed"], told["sound"]) == (None, False)


def test_the_command_examines_and_mends_a_database(path: Path, out: Path) -> None:
    add(path, "a", USER, call("c1"), NEXT)
    done = run("doctor", path)
    assert done.code == 1
    assert done.lines[0].startswith("row 2 of agent_messages, session 'a': unanswered call")
    assert "1 conversation, 3 messages, read as openai-agents: 1 finding" in done.out
    assert run("doctor", path, "--fix", out).code == 1
    assert run("doctor", out, "--format", "openai-agents").code == 0
    refused = run("doctor", path, "--fix", out)
    assert (refused.code, "--force" in refused.err) == (2, True)
    assert run("doctor", path, "--fix", path).code == 1
    assert rows_of(path) == rows_of(out)


def test_a_database_from_standard_input_is_mended_to_standard_output(path: Path, out: Path) -> None:
    add(path, "a", USER, call("c1"), NEXT)
    fix_database(path, out)
    target = path.with_name("other.db")
    assert run("doctor", "-", "--fix", target, input=path.read_bytes()).code == 1
    assert rows_of(target) == rows_of(out)


def test_a_database_that_cannot_be_examined_is_refused(path: Path, tmp_path: Path) -> None:
    add(path, "a", *RESPONSES)
    wrong = run("doctor", path, "--format", "llm")
    assert (wrong.code, "OpenAI Agents SDK" in wrong.err) == (2, True)
    assert run("doctor", path, "--fix", tmp_path / "no" / "out.db").code == 2
    path.write_bytes(path.read_bytes()[:5_000])
    done = run("doctor", path, "--fix", tmp_path / "out.db")
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert {one.name for one in tmp_path.iterdir()} == {"agents.db"}
    with opened(tmp_path / "foreign.db") as file:
        file.execute("CREATE TABLE t (a)")
    assert "neither" in run("doctor", tmp_path / "foreign.db").err
