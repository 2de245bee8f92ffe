"""`show`, `log`, `held`, `takes`, `verify`: what they print, for a person and as JSON."""

from datetime import timedelta
from pathlib import Path

from tests.contract.command_line import READINGS, damage, rows, run
from turnledger import ConversationStore


def test_show_json_is_the_list_of_messages_in_the_chosen_shape(cats: Path) -> None:
    with ConversationStore(cats) as store:
        assert run("show", "cats", "--json", store=cats).json == store.buffer("cats")
        assert (
            run("show", "cats", "--as", "flat", "--json", store=cats).json == store.sendable("cats").messages
        )
        assert run("show", "cats", "--as", "wire", "--json", store=cats).json == store.wire("cats")
        assert run("show", "cats", "--at", "3", "--json", store=cats).json == store.buffer("cats", at=3)


def test_show_at_a_time_shows_what_was_there_then(cats: Path) -> None:
    with ConversationStore(cats) as store:
        first = next(iter(store.events("cats"))).time
    before = (first - timedelta(days=1)).isoformat()
    assert run("show", "cats", "--at", before, "--json", store=cats).json == []
    assert len(run("show", "cats", "--at", "2999-01-01T00:00:00Z", "--json", store=cats).json) == 4
    assert run("show", "cats", "--at", "0", store=cats).code == 0


def test_show_tells_roles_entries_and_calls(cats: Path) -> None:
    ran = run("show", "cats", store=cats)
    assert ran.lines[0].startswith("cats  4 entries")
    assert '   2  assistant  → search c1 {"q":"cats"}' in ran.lines
    assert "   3  tool       ← c1" in ran.lines
    assert run("show", "cats", "--at", "5", store=cats).out.count("placeholder") == 1


def test_show_flat_names_what_normalization_dropped(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    run("append", "c", '[{"role": "tool", "content": "lost", "tool_call_id": "c9"}]', store=path)
    assert run("show", "c", "--as", "flat", "--json", store=path).json == []
    assert "dropped entry 1 (c9)" in run("show", "c", "--as", "flat", store=path).out


def test_show_wire_shows_what_was_delivered(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with ConversationStore(path) as store:
        link = {"type": "link", "payload": {"url": "x"}}
        store.write_back("c", "r", {"role": "assistant", "content": "done"}, artifacts=[link])
    assert 'delivered link {"url":"x"}' in run("show", "c", "--as", "wire", store=path).out
    assert "delivered" not in run("show", "c", store=path).out


def test_show_without_an_id_lists_the_conversations(cats: Path) -> None:
    (line,) = run("show", store=cats).lines
    assert line.startswith("cats  version 9, 4 entries")
    (listed,) = run("show", "--json", store=cats).json
    assert (listed["conversation_id"], listed["version"], listed["entries"]) == ("cats", 9, 4)


def test_long_content_is_cut_unless_asked_in_full(cats: Path) -> None:
    text = "word " * 1_000
    run("append", "long", "--role", "user", "--text", text, store=cats)
    assert "(5,000 characters)" in run("show", "long", store=cats).out
    assert text.strip() in run("show", "long", "--full", store=cats).out
    assert run("show", "long", "--json", store=cats).json[0]["content"] == text


def test_log_is_one_line_an_event(cats: Path) -> None:
    lines = run("log", "cats", store=cats).lines
    assert len(lines) == 9
    assert [int(line.split()[0]) for line in lines] == list(range(1, 10))
    assert "healed     c1 behind entry 2" in lines[3]
    assert lines[1].endswith("[turn t1, actor ann]")
    assert [line.split()[0] for line in run("log", "cats", "--after", 3, "--to", 5, store=cats).lines] == [
        "4",
        "5",
    ]


def test_log_json_holds_each_event_whole(cats: Path) -> None:
    told = run("log", "cats", "--json", store=cats).json
    assert [line["version"] for line in told] == list(range(1, 10))
    assert told[3]["event"] == "turnledger.CallHealed"
    assert told[3]["payload"]["call_id"] == "c1"
    assert told[1]["context"] == {"actor": "ann"}
    assert all({"time", "batch", "previous", "kind", "text"} <= line.keys() for line in told)


def test_log_of_a_damaged_conversation_tells_what_is_sound_and_where_it_is_not(cats: Path) -> None:
    damage(cats, "cats", 3)
    for option in ([], ["--json"]):
        ran = run("log", "cats", *option, store=cats)
        assert ran.code == 1
        assert ran.err == ""
        assert "damaged" in ran.out
        assert "three cats" in ran.out


def test_held_and_takes_list_what_is_where(cats: Path) -> None:
    (held,) = run("held", "--json", store=cats).json
    assert (held["conversation_id"], held["execution_id"], held["type"]) == ("cats", "run-1", "table")
    assert run("held", "cats", "--execution", "other", "--json", store=cats).json == []
    assert "table" in run("held", store=cats).out
    (take,) = run("takes", "--json", store=cats).json
    assert take["artifacts"] == [
        {"type": "link", "payload": {"url": "https://example.com"}, "tool_call_id": None}
    ]
    assert take["take_id"] in run("takes", "cats", store=cats).out


def test_held_as_of_a_version(cats: Path) -> None:
    assert [a["type"] for a in run("held", "cats", "--at", 7, "--json", store=cats).json] == ["link"]


def test_a_store_with_nothing_held_says_so(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    run("append", "c", "--role", "user", "--text", "hi", store=path)
    assert run("held", store=path).lines == ["nothing is held"]
    assert run("takes", store=path).lines == ["no take is open"]
    assert run("takes", "--json", store=path).json == run("held", "--json", store=path).json == []


def test_takes_settles_one_way_or_the_other(cats: Path) -> None:
    take_id = run("takes", "--json", store=cats).json[0]["take_id"]
    ran = run("takes", "--put-back", take_id, "--json", store=cats)
    assert ran.json["settled"] == "put back"
    assert [a["type"] for a in run("held", "--json", store=cats).json] == ["link", "table"]
    with ConversationStore(cats) as store:
        take_id = store.take("cats", "run-1").take_id or ""
    assert run("takes", "cats", "--discard", take_id, "--reason", "gone", store=cats).code == 0
    assert run("takes", "--json", store=cats).json == run("held", "--json", store=cats).json == []
    assert run("verify", store=cats).code == 0


def test_verify_is_one_line_a_conversation(cats: Path) -> None:
    run("append", "dogs", "--role", "user", "--text", "hi", store=cats)
    ran = run("verify", store=cats)
    assert ran.code == 0
    assert [line.split()[:2] for line in ran.lines if line.startswith("ok")] == [
        ["ok", "cats"],
        ["ok", "dogs"],
    ]
    assert ran.lines[-1].startswith("2 conversations, 11 events: all sound")
    assert [one["conversation_id"] for one in run("verify", "--json", store=cats).json] == ["cats", "dogs"]
    assert len(run("verify", "dogs", "--json", store=cats).json) == 1


def test_verify_names_what_it_finds_and_exits_with_1(cats: Path) -> None:
    run("append", "dogs", "--role", "user", "--text", "hi", store=cats)
    damage(cats, "cats", 3)
    ran = run("verify", store=cats)
    assert ran.code == 1
    assert any(line.startswith("FAIL  cats") for line in ran.lines)
    assert any(line.startswith("ok    dogs") for line in ran.lines)
    assert "(version 3)" in ran.out
    json = run("verify", "--json", store=cats)
    assert json.code == 1
    assert json.json[0]["findings"][0]["versions"] == [3]


def test_readings_change_nothing(cats: Path) -> None:
    before = rows(cats)
    for command in (*READINGS, "export"):
        assert run(*command.split(), store=cats).code == 0, command
    assert rows(cats) == before


def test_the_store_may_be_named_behind_the_command_too(cats: Path) -> None:
    assert run("log", "cats", "--store", cats).out == run("log", "cats", store=cats).out
    assert run("log", "cats", "--store", cats, store=cats.with_name("absent.db")).code == 0


def test_nothing_of_a_message_commands_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    evil = "\x1b]0;owned\x07\x9b31m\u202egnp\r\x08"
    with ConversationStore(path) as store:
        call = {"tool_call_id": f"c1{evil}", "name": evil, "arguments": evil}
        store.append("c", [{"role": "user", "content": evil}, {"role": "assistant", "tool_calls": [call]}])
        store.append("c", {"role": "tool", "content": [{"type": evil}], "tool_call_id": f"c1{evil}"})
        store.hold("c", "r", [{"type": evil, "payload": {evil: evil}, "tool_call_id": evil}])
        store.take("c", "r")
        store.hold("c", "r", [{"type": evil, "payload": {evil: evil}, "tool_call_id": evil}])
        store.write_back(
            "c", "s", {"role": "assistant", "content": ""}, artifacts=[{"type": evil, "payload": {}}]
        )
    for command in (
        "show c",
        "show c --as flat",
        "show c --as wire",
        "show c --full",
        "log c",
        "held",
        "takes",
    ):
        for option in ([], ["--json"]):
            out = run(*command.split(), *option, store=path).out
            assert out
            assert all(character == "\n" or character.isprintable() for character in out), (command, option)
