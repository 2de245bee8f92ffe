"""`append`, `import` and `export`."""

import json
from pathlib import Path

import pytest

from tests.contract.command_line import DATA, damage, rows, run, transcripts
from tests.contract.test_importing import TAU_BENCH
from tests.samples import ANTHROPIC
from tests.session_samples import PARALLEL, SESSION, line
from turnledger import ConversationStore


def test_append_takes_text_json_a_file_and_standard_input(tmp_path: Path) -> None:
    path, file = tmp_path / "store.db", tmp_path / "messages.json"
    message = {"role": "assistant", "content": "hello"}
    file.write_text(json.dumps([message]))
    assert run("append", "c", "--role", "user", "--text", "hi", store=path).code == 0
    assert run("append", "c", json.dumps(message), store=path).code == 0
    assert run("append", "c", file, store=path).code == 0
    assert run("append", "c", "-", store=path, input=json.dumps(message)).code == 0
    lines = f"{json.dumps(message)}\n{json.dumps(message)}\n"
    assert run("append", "c", "-", store=path, input=lines).code == 0
    assert [m["content"] for m in run("show", "c", "--json", store=path).json] == ["hi", *["hello"] * 5]


def test_append_prints_the_report(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    call = json.dumps({"role": "assistant", "tool_calls": [{"id": "c1", "name": "search"}]})
    assert run("append", "c", call, store=path).lines == ["c  version 2, 1 entry; appended 1 (1)"]
    again = run("append", "c", call, store=path).lines
    assert again == ["c  version 2, 1 entry; appended 0", "  dropped as known: message 0"]
    report = run("append", "c", "--role", "user", "--text", "hi", "--json", store=path).json
    assert (report["appended"], report["healed"], report["version"]) == (1, ["c1"], 4)
    late = run("append", "c", "--role", "tool", "--call-id", "c1", "--text", "3", store=path)
    assert late.lines[1] == "  replaced the placeholder of c1"


def test_append_passes_its_options_on(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    options = ["--turn", "t", "--execution", "e", "--key", "k"]
    for repeated in (False, True):
        report = run("append", "c", "--role", "user", "--text", "hi", *options, "--json", store=path).json
        assert report["repeated"] is repeated
    event = run("log", "c", "--json", store=path).json[1]
    assert (event["turn_id"], event["execution_id"], event["idempotency_key"]) == ("t", "e", "k")
    call = json.dumps([{"role": "assistant", "tool_calls": [{"id": "c1", "name": "f"}]}] * 2)
    assert run("append", "d", call, "--reused-ids", "distinct", "--json", store=path).json["appended"] == 2
    assert run("append", "d", call, "--expected-version", "3", store=path).code == 0


def files() -> list[object]:
    absent = pytest.mark.skipif(
        not TAU_BENCH.exists(), reason="the 50 conversations lie beside the checkout only"
    )
    return [
        pytest.param(DATA, 5, id="five"),
        pytest.param(TAU_BENCH, 50, id="fifty", marks=absent),
    ]


@pytest.mark.parametrize(("file", "count"), files())
def test_importing_a_file_again_changes_no_byte_of_the_log(file: Path, count: int, tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    messages = sum(len(transcript["messages"]) for transcript in transcripts(file))
    if count == 50:
        assert messages == 1_304
    first = run("import", file, store=path)
    told = f"{messages:,} messages recorded as {messages:,} entries"
    assert first.lines == [f"{count} conversations: {count} new; {told}; read as openai-chat"]
    before = rows(path)
    again = run("import", file, store=path)
    assert (again.code, again.err) == (0, "")
    assert again.out.startswith(f"{count} conversations: {count} unchanged; 0 messages")
    assert rows(path) == before
    assert run("verify", store=path).code == 0
    assert sum(one["entries"] for one in run("show", "--json", store=path).json) == messages


def test_a_file_that_has_grown_adds_only_what_is_new(tmp_path: Path) -> None:
    path, file = tmp_path / "store.db", tmp_path / "grown.jsonl"
    whole = list(transcripts())
    for cut in (7, 8, None):
        grown = [{**transcript, "messages": transcript["messages"][:cut]} for transcript in whole]
        file.write_text("\n".join(map(json.dumps, grown)))
        ran = run("import", file, "--json", store=path)
        assert ran.json["failures"] == []
    assert [one["outcome"] for one in ran.json["conversations"]] == ["grown"] * 5
    with ConversationStore(path) as store:
        for transcript in whole:
            assert len(store.buffer(transcript["id"])) == len(transcript["messages"])


def test_bad_lines_are_named_and_the_rest_is_imported(tmp_path: Path) -> None:
    path, file = tmp_path / "store.db", tmp_path / "chats.jsonl"
    good = {"id": "a", "messages": [{"role": "user", "content": "hi"}]}
    robot = {"id": "b", "messages": [{"role": "user", "content": "hi"}, {"role": "robot"}]}
    other = {"id": "a", "messages": [{"role": "user", "content": "other"}]}
    file.write_text("\n".join([json.dumps(good), "{torn", json.dumps(robot), json.dumps(other)]))
    ran = run("import", file, store=path)
    assert ran.code == 1
    assert ran.lines == [
        "1 conversation: 1 new; 1 message recorded as 1 entry; read as openai-chat; 3 not imported"
    ]
    torn, refused, conflict = ran.err.splitlines()
    assert "line 2: it is no JSON" in torn
    assert "line 3, conversation 'b': message 1: its role" in refused
    assert "line 4, conversation 'a'" in conflict
    failures = run("import", file, "--json", store=path).json["failures"]
    assert [failure["id"] for failure in failures] == [None, "b", "a"]


def test_an_import_names_a_conversation_by_option_or_by_the_file(tmp_path: Path) -> None:
    path, file = tmp_path / "store.db", tmp_path / "chat.json"
    text = json.dumps([{"role": "user", "content": "hi"}])
    file.write_text(text)
    run("import", file, store=path)
    run("import", file, "--id", "named", store=path)
    run("import", "-", store=path, input=text)
    assert [one["conversation_id"] for one in run("show", "--json", store=path).json] == [
        "chat",
        "named",
        "stdin",
    ]


def test_an_import_names_a_conversation_that_brings_an_id(tmp_path: Path) -> None:
    path, file = tmp_path / "store.db", tmp_path / "chat.jsonl"
    side = line("s1", None, "user", "look", isSidechain=True, agentId="x")
    file.write_text("\n".join(json.dumps(event) for event in [*PARALLEL, side]))
    run("import", file, store=path)
    file.write_text("\n".join(json.dumps(event) for event in [line("o1", None, "user", "other"), side]))
    assert "--id" in run("import", file, store=path).err
    assert run("import", file, "--id", "other", store=path).code == 0
    file.write_text(json.dumps({"id": "own", "messages": [{"role": "user", "content": "hi"}]}))
    assert run("import", file, "--id", "third", store=path).code == 0
    ids = {one["conversation_id"] for one in run("show", "--json", store=path).json}
    assert ids == {SESSION, f"{SESSION}/agent-x", "other", "other/agent-x", "third"}


def test_of_several_conversations_each_keeps_the_id_that_it_brings(tmp_path: Path) -> None:
    path, file = tmp_path / "store.db", tmp_path / "chats.jsonl"
    said = [{"role": "user", "content": "hi"}]
    lines = [{"id": "own", "messages": said}, said, {"id": "own/more", "messages": said}, said]
    file.write_text("\n".join(json.dumps(one) for one in lines))
    assert run("import", file, "--id", "named", store=path).code == 0
    ids = {one["conversation_id"] for one in run("show", "--json", store=path).json}
    assert ids == {"own", "own/more", "named", "named-2"}


def test_export_gives_each_conversation_as_openai_chat_messages(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    run("import", DATA, store=path)
    exported = [json.loads(line) for line in run("export", store=path).lines]
    with ConversationStore(path) as store:
        for conversation in exported:
            sendable = store.sendable(conversation["id"], provider="openai-chat")
            assert conversation["messages"] == sendable.messages
    assert len(exported) == 5
    assert len(run("export", exported[0]["id"], store=path).lines) == 1


def test_an_export_can_be_imported_and_comes_out_the_same(tmp_path: Path) -> None:
    path, other, file = tmp_path / "store.db", tmp_path / "other.db", tmp_path / "out.jsonl"
    run("import", DATA, store=path)
    assert run("export", "--output", file, store=path).code == 0
    assert run("import", file, store=other).code == 0
    assert run("export", store=other).out == file.read_text()


def test_export_replaces_its_file_whole_or_not_at_all(cats: Path, tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    file.write_text("before")
    file.chmod(0o640)
    damage(cats, "cats", 3)
    assert run("export", "--output", file, store=cats).code == 1
    assert file.read_text() == "before"
    assert run("export", "--salvage", "--output", file, store=cats).code == 1
    assert json.loads(file.read_text())["id"] == "cats"
    assert file.stat().st_mode & 0o777 == 0o640
    assert [p.name for p in tmp_path.iterdir() if "out" in p.name] == ["out.jsonl"]


def test_salvage_gives_what_is_sound_and_names_what_is_not(cats: Path) -> None:
    run("append", "dogs", "--role", "user", "--text", "woof", store=cats)
    damage(cats, "cats", 3)
    ran = run("export", "--salvage", store=cats)
    assert ran.code == 1
    exported = {one["id"]: one["messages"] for one in map(json.loads, ran.lines)}
    assert [m["content"] for m in exported["cats"]] == ["cats?", "hello?"]
    assert [m["content"] for m in exported["dogs"]] == ["woof"]
    assert "'cats', version 3" in ran.err


@pytest.mark.parametrize("version", range(1, 10))
def test_salvage_loses_nothing_but_the_damaged_event(cats: Path, version: int) -> None:
    damage(cats, "cats", version)
    ran = run("export", "--salvage", store=cats)
    (exported,) = map(json.loads, ran.lines)
    contents = {message["content"] for message in exported["messages"]}
    lost = {2: {"cats?"}, 3: {"", "three cats"}, 5: {"hello?"}, 6: {"three cats"}}.get(version, set())
    assert {"cats?", "", "hello?", "three cats"} - contents == lost


def test_salvage_of_a_sound_store_is_a_plain_export(cats: Path) -> None:
    ran = run("export", "--salvage", store=cats)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == run("export", store=cats).out


def test_a_take_is_settled_by_the_start_of_its_id(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    ids = iter(["artifact-1", "ab-1", "artifact-2", "ab-2"])
    with ConversationStore(path, new_id=lambda: next(ids)) as store:
        for execution in ("e1", "e2"):
            store.hold("c", execution, [{"type": "link", "payload": {}, "tool_call_id": None}])
            store.take("c", execution)
    assert run("takes", "--confirm", "ab", store=path).code == 2
    assert run("takes", "--confirm", "ab-1", store=path).code == 0
    assert run("takes", "--put-back", "a", store=path).code == 0
    assert run("takes", "--json", store=path).json == []


def test_an_export_names_what_no_provider_would_accept(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with ConversationStore(path) as store:
        store.append("c", {"role": "tool", "tool_call_id": "lost", "content": "of no call"})
    ran = run("export", store=path)
    assert ran.code == 0
    assert "position 0: no turn declares the result's call" in ran.err


def test_an_export_keeps_the_system_prompt_that_stands_beside_the_messages(tmp_path: Path) -> None:
    """It was left out: only the list of messages was written."""
    path, file, again = tmp_path / "store.db", tmp_path / "chat.jsonl", tmp_path / "again.jsonl"
    file.write_text(json.dumps({"id": "a", "system": "Be brief.", "messages": ANTHROPIC}))
    run("import", file, store=path)
    run("export", "--format", "anthropic", "--output", again, store=path)
    exported = json.loads(again.read_text())
    assert exported["system"] == [{"type": "text", "text": "Be brief."}]
    assert exported["messages"] == ANTHROPIC
    assert run("import", again, store=tmp_path / "other.db").code == 0


def test_an_import_says_how_many_values_it_had_to_change_and_only_once(tmp_path: Path) -> None:
    path, file = tmp_path / "store.db", tmp_path / "odd.jsonl"
    file.write_text('{"role": "user", "content": "a\\ud800", "score": NaN}\n{"role": "user", "content": "b"}')
    told = "changed in odd: 2 values that JSON in UTF-8 has no words for: now U+FFFD, or null"
    assert told in run("import", file, store=path).lines
    assert told not in run("import", file, store=path).lines
    again = run("import", file, "--id", "again", "--json", store=path).json
    assert again["changed"] == [{"id": "again", "values": 2}]
