"""Files of clients in SQLite, sessions of the OpenAI Agents SDK and logs of llm: read, never written."""

import asyncio
import io
import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlite_utils import Database

from tests.contract.command_line import run
from tests.judges.official import library
from tests.samples import RESPONSES
from turnledger import ConversationStore, ImportConflict, InvalidArgument
from turnledger.importing import (
    BadLine,
    Transcript,
    import_sound,
    import_transcript,
    read_messages,
    read_transcripts,
)

DATA = Path(__file__).parents[1] / "data"
USER, REPLY = {"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}
SESSIONS = """
CREATE TABLE {sessions} (session_id TEXT PRIMARY KEY, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE {messages} (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL,
    message_data TEXT NOT NULL, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    FOREIGN KEY (session_id) REFERENCES {sessions} (session_id) ON DELETE CASCADE);
"""
BRANCHES = """
CREATE TABLE message_structure (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL,
    message_id INTEGER NOT NULL, branch_id TEXT NOT NULL DEFAULT 'main', sequence_number INTEGER NOT NULL)
"""


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path)) as connection, connection:
        yield connection


def sessions_at(path: Path, messages: str = "agent_messages") -> Path:
    with opened(path) as file:
        file.executescript(SESSIONS.format(sessions="agent_sessions", messages=messages))
    return path


def add(path: Path, session_id: str, *items: Any, messages: str = "agent_messages") -> None:
    with opened(path) as file:
        statement = f"INSERT INTO {messages} (session_id, message_data, created_at) VALUES (?, ?, ?)"
        texts = [item if isinstance(item, str) else json.dumps(item) for item in items]
        file.executemany(statement, [(session_id, text, "2026-01-02 03:04:05") for text in texts])


def log_at(path: Path, name: str) -> Path:
    with opened(path) as file:
        file.executescript((DATA / f"{name}.sql").read_text(encoding="utf-8"))
    return path


def read(path: Path) -> list[Transcript | BadLine]:
    with path.open("rb") as file:
        return list(read_transcripts(file, "file"))


def import_all(store: ConversationStore, path: Path) -> list[str]:
    """The outcome of each conversation."""
    found = read(path)
    assert not any(isinstance(one, BadLine) for one in found)
    transcripts = [one for one in found if isinstance(one, Transcript)]
    return [
        import_transcript(store, one.conversation_id, one.messages, one.format).outcome for one in transcripts
    ]


def test_each_session_is_a_conversation_with_its_id_and_times(tmp_path: Path) -> None:
    path = sessions_at(tmp_path / "agents.db")
    add(path, "b", USER)
    add(path, "a", *RESPONSES)
    add(path, "b", REPLY)
    with ConversationStore(":memory:") as store:
        assert import_all(store, path) == ["new", "new"]
        assert store.sendable("a", provider="openai-responses").messages == RESPONSES
        assert [entry["content"] for entry in store.buffer("b")] == ["hi", "hello"]
        known = {"session_id": "b", "created_at": "2026-01-02 03:04:05"}
        assert store.buffer("b")[0]["metadata"] == {"openai-agents": known}
        assert store.verify().ok


def test_importing_a_session_again_changes_nothing_and_a_grown_one_appends(tmp_path: Path) -> None:
    path = sessions_at(tmp_path / "agents.db")
    add(path, "a", USER)
    with ConversationStore(":memory:") as store:
        assert import_all(store, path) == ["new"]
        assert import_all(store, path) == ["unchanged"]
        add(path, "a", REPLY)
        add(path, "b", USER)
        assert import_all(store, path) == ["grown", "new"]
        assert [entry["content"] for entry in store.buffer("a")] == ["hi", "hello"]


def test_a_session_that_was_cut_back_is_a_conflict_and_not_a_loss(tmp_path: Path) -> None:
    path = sessions_at(tmp_path / "agents.db")
    add(path, "a", USER, REPLY)
    with ConversationStore(":memory:") as store:
        import_all(store, path)
        with opened(path) as file:
            file.execute("DELETE FROM agent_messages WHERE id = 2")
        with pytest.raises(ImportConflict):
            import_all(store, path)


def test_a_row_that_is_no_json_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    path = sessions_at(tmp_path / "agents.db")
    add(path, "a", USER, "{oops", REPLY)
    bad, transcript = read(path)
    assert isinstance(bad, BadLine)
    assert bad.place == "row 2 of agent_messages"
    assert isinstance(transcript, Transcript)
    assert [row["message_data"] for row in transcript.messages] == [USER, REPLY]


def test_a_row_that_cannot_be_kept_is_left_out_alone(tmp_path: Path) -> None:
    path = sessions_at(tmp_path / "agents.db")
    add(path, "a", USER, 7, REPLY)
    (item,) = read(path)
    assert isinstance(item, Transcript)
    with ConversationStore(":memory:") as store:
        done, (bad,) = import_sound(store, item)
        assert bad.place == "row 2 of agent_messages"
        assert done.messages == 2
        assert [entry["content"] for entry in store.buffer("a")] == ["hi", "hello"]


def test_tables_may_have_other_names(tmp_path: Path) -> None:
    path = sessions_at(tmp_path / "agents.db", "my_messages")
    add(path, "a", USER, messages="my_messages")
    assert len(read(path)) == 1


def test_a_branch_of_a_session_is_a_conversation_of_its_own(tmp_path: Path) -> None:
    path = sessions_at(tmp_path / "agents.db")
    add(path, "a", USER, REPLY, {"role": "user", "content": "or else"})
    with opened(path) as file:
        file.execute(BRANCHES)
        rows = [(1, "main", 1), (2, "main", 2), (1, "other", 1), (3, "other", 2)]
        statement = "INSERT INTO message_structure (session_id, message_id, branch_id, sequence_number)"
        file.executemany(f"{statement} VALUES ('a', ?, ?, ?)", rows)
    with ConversationStore(":memory:") as store:
        import_all(store, path)
        contents = {one: [entry["content"] for entry in store.buffer(one)] for one in ("a", "a/other")}
    assert contents == {"a": ["hi", "hello"], "a/other": ["hi", "or else"]}


def test_a_file_at_rest_is_left_as_it_was(tmp_path: Path) -> None:
    path = sessions_at(tmp_path / "agents.db")
    with opened(path) as file:
        file.execute("PRAGMA journal_mode = WAL")
    add(path, "a", USER)
    before = path.read_bytes()
    assert [one.name for one in tmp_path.iterdir()] == ["agents.db"]
    assert len(read(path)) == 1
    assert [one.name for one in tmp_path.iterdir()] == ["agents.db"]
    assert path.read_bytes() == before


def test_what_stands_in_the_log_beside_a_file_in_use_is_read(tmp_path: Path) -> None:
    path = sessions_at(tmp_path / "agents.db")
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("SELECT * FROM agent_messages").fetchall()  # only now is the log open
        add(path, "a", USER)
        assert (tmp_path / "agents.db-wal").stat().st_size > 0
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("INSERT INTO agent_messages (session_id, message_data) VALUES ('a', '{}')")
        (transcript,) = read(path)
        assert isinstance(transcript, Transcript)
        assert [row["message_data"] for row in transcript.messages] == [USER]
        writer.rollback()


def test_a_file_is_read_while_it_is_written(tmp_path: Path) -> None:
    path = sessions_at(tmp_path / "agents.db")
    with opened(path) as file:
        file.execute("PRAGMA journal_mode = WAL")
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            add(path, "a", {"role": "user", "content": str(number)})
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with ConversationStore(":memory:") as store:
            for _ in range(30):
                assert set(import_all(store, path)) <= {"new", "grown", "unchanged"}
    finally:
        stop.set()
        writer.join()
    with ConversationStore(":memory:") as store:
        import_all(store, path)
        said = [entry["content"] for entry in store.buffer("a")]
    assert said == [str(number) for number in range(len(said))]


def test_the_sdk_s_own_file_is_read(tmp_path: Path) -> None:
    agents = library("agents")
    path = tmp_path / "agents.db"

    async def write(session: Any) -> None:
        await session.add_items(RESPONSES)
        assert await session.get_items() == RESPONSES

    session = agents.SQLiteSession("a", path)
    asyncio.run(write(session))
    with ConversationStore(":memory:") as store:
        assert import_all(store, path) == ["new"]
        session.close()
        assert import_all(store, path) == ["unchanged"]
        assert store.sendable("a", provider="openai-responses").messages == RESPONSES


def said_in(path: Path, conversation_id: str) -> list[tuple[str, Any]]:
    with ConversationStore(":memory:") as store:
        import_all(store, path)
        assert store.sendable(conversation_id).dropped == 0
        assert store.verify().ok
        return [(entry["role"], entry["content"]) for entry in store.buffer(conversation_id)]


SAID: list[tuple[str, Any]] = [
    ("assistant", "I look."),
    ("tool", "saw cat"),
    ("tool", "Error: broken"),
    ("assistant", "It is red."),
    ("user", "and as JSON?"),
]


def test_a_thread_of_llm_is_a_conversation(tmp_path: Path) -> None:
    path = log_at(tmp_path / "logs.db", "llm-threads")
    with_tools, alone = (one for one in read(path) if isinstance(one, Transcript))
    system, (role, content), *rest, (_, schema) = said_in(path, with_tools.conversation_id)
    assert system == ("system", "Be brief.")
    assert role == "user"
    assert content[0] == {"type": "text", "text": "All about cats. \nwhat is it?"}
    assert [block["attachment"].get("type") for block in content[1:]] == [
        "image/png",
        "image/png",
        "application/pdf",
    ]
    assert rest == SAID
    assert json.loads(schema) == {"name": "cat"}
    assert said_in(path, alone.conversation_id) == [("user", "just one"), ("assistant", "alone")]


def test_what_a_call_of_the_model_took_is_kept_with_its_answer(tmp_path: Path) -> None:
    path = log_at(tmp_path / "logs.db", "llm-threads")
    with ConversationStore(":memory:") as store:
        import_all(store, path)
        (conversation_id, *_) = (one.conversation_id for one in store.conversations())
        answers = [
            entry["metadata"]["llm"]
            for entry in store.buffer(conversation_id)
            if entry["role"] == "assistant"
        ]
        failed = store.buffer(conversation_id)[4]
    assert [answer["turn"]["model"] for answer in answers] == ["mock"] * 3
    assert [answer["turn"]["output_tokens"] for answer in answers] == [7] * 3
    assert answers[0]["parts"][0]["type"] == "reasoning"
    assert answers[2]["turn"]["schema"]["type"] == "object"
    assert failed["metadata"]["is_error"] is True
    assert failed["metadata"]["llm"] == {"name": "fail", "exception": "ValueError: broken"}


def test_responses_of_an_older_llm_are_a_conversation(tmp_path: Path) -> None:
    path = log_at(tmp_path / "logs.db", "llm-responses")
    assert [one.conversation_id for one in read(path) if isinstance(one, Transcript)] == ["01a", "01b"]
    system, (_, content), looked, (_, saw), *rest = said_in(path, "01a")
    assert system == ("system", "In verse.\n\nBe brief.")
    assert content[0]["text"] == "All about cats.\nwhat is it?"
    assert [block["attachment"] for block in content[1:]] == [
        {"type": "image/png", "content": "eA=="},
        {"type": "image/png", "path": "/home/ann/cat.png"},
    ]
    assert saw[0] == {"type": "text", "text": "saw cat"}
    assert saw[1]["attachment"]["url"] == "https://example.org/cat.jpg"
    assert [looked, *rest] == [SAID[0], *SAID[2:], ("assistant", '{"name": "cat"}')]


def test_a_result_without_an_id_is_that_of_the_call_of_its_name(tmp_path: Path) -> None:
    path = log_at(tmp_path / "logs.db", "llm-responses")
    with ConversationStore(":memory:") as store:
        import_all(store, path)
        turn, look, fail = store.buffer("01a")[2:5]
    ids = [call["tool_call_id"] for call in turn["metadata"]["tool_calls"]]
    assert [look["metadata"]["tool_call_id"], fail["metadata"]["tool_call_id"]] == ids
    assert ids[1] == "tc_2"


def test_the_first_log_of_llm_is_read_beside_what_came_after(tmp_path: Path) -> None:
    path = log_at(tmp_path / "logs.db", "llm-first")
    assert [one.conversation_id for one in read(path) if isinstance(one, Transcript)] == [
        "log-1",
        "log-2",
        "01a",
    ]
    assert said_in(path, "log-1") == [
        ("system", "Be brief."),
        ("user", "hi"),
        ("assistant", "hello"),
        ("user", "and?"),
        ("assistant", "that is all"),
    ]
    assert said_in(path, "01a") == [("user", "cats?"), ("assistant", "three")]


@pytest.mark.parametrize("name", ["llm-threads", "llm-responses", "llm-first"])
def test_importing_a_log_again_changes_nothing(tmp_path: Path, name: str) -> None:
    path = log_at(tmp_path / "logs.db", name)
    with ConversationStore(":memory:") as store:
        assert set(import_all(store, path)) == {"new"}
        assert set(import_all(store, path)) == {"unchanged"}


def test_a_log_that_has_grown_appends(tmp_path: Path) -> None:
    path = log_at(tmp_path / "logs.db", "llm-responses")
    with ConversationStore(":memory:") as store:
        import_all(store, path)
        with opened(path) as file:
            file.execute(
                "INSERT INTO responses (id, model, prompt, response, conversation_id) VALUES (?, ?, ?, ?, ?)",
                ["r5", "gpt-4o", "and now?", "still red", "01a"],
            )
        assert import_all(store, path) == ["grown", "unchanged"]
        assert [entry["content"] for entry in store.buffer("01a")][-2:] == ["and now?", "still red"]


def test_a_conversation_of_an_older_llm_that_was_gone_on_with_is_read_once(tmp_path: Path) -> None:
    path = log_at(tmp_path / "logs.db", "llm-threads")
    (thread, _) = (one.conversation_id for one in read(path) if isinstance(one, Transcript))
    with opened(path) as file:
        file.execute(
            "INSERT INTO responses (id, prompt, response, conversation_id) VALUES ('r', 'a', 'b', ?)",
            [thread],
        )
    assert len(read(path)) == 2


def test_a_message_that_is_missing_from_a_thread_is_named(tmp_path: Path) -> None:
    path = log_at(tmp_path / "logs.db", "llm-threads")
    with opened(path) as file:
        file.execute("DELETE FROM messages WHERE role = 'system'")
    bad, transcript, _ = read(path)
    assert isinstance(bad, BadLine)
    assert "missing" in bad.reason
    assert isinstance(transcript, Transcript)
    assert transcript.messages[0]["role"] == "user"


def test_llm_s_own_log_is_read(tmp_path: Path) -> None:
    llm = library("llm")

    class Parrot(llm.Model):  # type: ignore[misc, name-defined]
        model_id = "parrot"
        can_stream = False

        def execute(self, prompt: Any, *_: Any, **__: Any) -> Iterator[str]:
            yield prompt.prompt.upper()

    conversation = Parrot().conversation()
    with closing(Database(tmp_path / "logs.db")) as database:
        for text in ("hi", "there"):
            response = conversation.prompt(text, system="Be brief.")
            response.text()
            response.log_to_db(database)
    said = said_in(tmp_path / "logs.db", conversation.id)
    assert [content for _, content in said] == ["Be brief.", "hi", "HI", "there", "THERE"]


def test_a_file_of_no_client_is_one_bad_line(tmp_path: Path) -> None:
    for name, statement in [("other", "CREATE TABLE t (a)"), ("empty", "VACUUM")]:
        path = tmp_path / f"{name}.db"
        with opened(path) as file:
            file.execute(statement)
        (bad,) = read(path)
        assert isinstance(bad, BadLine)
        assert "neither" in bad.reason
        done = run("import", str(path), store=tmp_path / "store.db")
        assert done.code == 2
        assert "neither" in done.err


def test_a_damaged_file_is_one_bad_line(tmp_path: Path) -> None:
    path = sessions_at(tmp_path / "agents.db")
    add(path, "a", *RESPONSES)
    path.write_bytes(path.read_bytes()[:5_000])
    (bad,) = read(path)
    assert isinstance(bad, BadLine)
    assert "SQLite cannot read it" in bad.reason


def test_a_database_from_standard_input_is_read_too(tmp_path: Path) -> None:
    path = sessions_at(tmp_path / "agents.db")
    add(path, "a", USER)
    (transcript,) = read_transcripts(io.BytesIO(path.read_bytes()), "file")
    assert isinstance(transcript, Transcript)
    assert transcript.conversation_id == "a"


def test_read_messages_takes_a_database_of_one_conversation(tmp_path: Path) -> None:
    path = sessions_at(tmp_path / "agents.db")
    add(path, "a", USER)
    (message,) = read_messages(path)
    assert message["content"] == "hi"
    add(path, "b", USER)
    with pytest.raises(InvalidArgument, match="2 conversations"):
        read_messages(path)


def test_the_command_says_what_it_took_a_database_for(tmp_path: Path) -> None:
    path = sessions_at(tmp_path / "agents.db")
    add(path, "a", USER)
    done = run("import", str(path), store=tmp_path / "store.db")
    assert done.code == 0
    assert "read as openai-agents" in done.out
