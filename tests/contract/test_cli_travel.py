"""`diff`, `fork`, `compact`, `retract`, `clear`, `requests`, `inbox`, `head`, `verify --anchors`, `log`."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from tests.contract.command_line import run
from tests.contract.test_cli_mistakes import assert_one_line
from tests.system.tampering import executed
from turnledger import ConversationStore, Record

CATS = 9
"""The last version of the conversation `cats`."""


def test_log_ends_at_a_version_or_a_time(cats: Path) -> None:
    with ConversationStore(cats) as store:
        times = [event.time for event in store.events("cats")]
    assert len(run("log", "cats", "--at", 4, store=cats).lines) == 4
    before = (times[0] - timedelta(days=1)).isoformat()
    assert run("log", "cats", "--at", before, store=cats).lines == []
    assert len(run("log", "cats", "--at", times[-1].isoformat(), store=cats).lines) == CATS


def test_diff_tells_what_differs_from_where_on_and_why(cats: Path) -> None:
    lines = run("diff", "cats", 5, 6, store=cats).lines
    assert lines[0] == "cats  version 5 against 6, sendable: 4 messages against 4"
    assert lines[1] == "  first changed at position 2: the 2 before it are the same"
    assert lines[2].startswith("  by cats version 6 replaced c1 answered")
    assert [line.split()[:2] for line in lines[3:]] == [["-", "2"], ["+", "2"]]


def test_diff_without_a_second_version_compares_with_the_newest(cats: Path) -> None:
    told = run("diff", "cats", 3, "--json", store=cats).json
    with ConversationStore(cats) as store:
        found = store.diff("cats", 3, CATS)
    assert (told["a"], told["b"], told["first_changed"]) == (3, CATS, found.first_changed)
    assert found.cause is not None
    assert told["cause"]["envelope"]["version"] == found.cause.version
    assert len(told["differences"]) == len(found.differences)
    assert told["appends_only"] is False


def test_diff_of_equal_lists_says_so(cats: Path) -> None:
    assert "equal" in run("diff", "cats", 6, 7, store=cats).out
    assert "goes on at position 1" in run("diff", "cats", 2, 3, store=cats).out


def test_diff_of_held_lists_tells_artifacts(cats: Path) -> None:
    out = run("diff", "cats", 6, 7, "--of", "held", store=cats).out
    assert "link" in out
    assert "by cats version 7 held" in out


def test_a_fork_says_what_it_made_and_diff_compares_it(cats: Path) -> None:
    ran = run("fork", "cats", "dogs", "--at", 5, store=cats)
    assert ran.lines == ["dogs  4 entries, from version 5 of cats"]
    assert run("fork", "cats", "owls", "--json", store=cats).json["source_version"] == CATS
    told = run("diff", "cats", CATS, 1, "--other", "dogs", "--json", store=cats).json
    assert told["cause"]["conversation_id"] == "cats"
    assert run("verify", store=cats).code == 0
    assert run("log", "dogs", store=cats).lines[0].endswith("from cats at version 5, with entries 1-4")
    assert len(run("show", "--json", store=cats).json) == 3


def test_a_fork_into_an_id_that_is_taken_says_what_to_do(cats: Path) -> None:
    ran = run("fork", "cats", "cats", "--at", 5, store=cats)
    assert_one_line(ran)
    assert "fork into an id that is free" in ran.err


def test_retract_says_what_it_took_back(cats: Path) -> None:
    ran = run("retract", "cats", store=cats)
    assert ran.lines == [f"cats  version {CATS + 1}, 3 entries; took back entry 4"]
    told = run("retract", "cats", "--entry", 2, "--json", store=cats).json
    assert (told["entry"], [one["number"] for one in told["results"]]) == (2, [3])
    assert told["retracted"]["role"] == "assistant"
    assert "took back entry 1" in run("retract", "cats", store=cats).out
    assert "nothing to take back" in run("retract", "cats", store=cats).out
    assert run("log", "cats", store=cats).lines[-1].endswith("entry 1 was taken back")
    assert run("verify", store=cats).code == 0


def test_clear_says_how_many_entries_left(cats: Path) -> None:
    assert run("clear", "cats", store=cats).lines == [f"cats  version {CATS + 1}; 4 entries left the buffer"]
    assert "nothing was recorded" in run("clear", "cats", store=cats).out
    assert run("clear", "cats", "--json", store=cats).json["cleared"] == 0
    assert_one_line(run("clear", "cats", "--expected-version", 1, store=cats))
    assert "begins anew" in run("log", "cats", store=cats).lines[-1]


def test_compact_says_what_left_and_what_stands_for_it(cats: Path) -> None:
    ran = run("compact", "cats", "--keep-last", 1, "--text", "three cats", store=cats)
    assert ran.lines == ["cats  version 11, 2 entries; 3 entries left the buffer, entry 5 stands for them"]
    again = run("compact", "cats", "--keep-last", 1, "--text", "three cats", store=cats)
    assert "nothing was recorded" in again.out
    assert (
        run("compact", "cats", "--keep-last", 1, "--text", "x", "--json", store=cats).json["summary"] is None
    )
    assert "three cats" in run("show", "cats", store=cats).out
    assert len(run("show", "cats", "--at", CATS, "--json", store=cats).json) == 4


def test_requests_are_listed_and_rebuilt(cats: Path) -> None:
    assert run("requests", "cats", store=cats).lines == ["no request was recorded"]
    with ConversationStore(cats) as store:
        sent = store.sendable("cats", provider="openai-chat")
        store.record_request("cats", provider="openai-chat", model="m-1", execution_id="run-1")
    (line,) = run("requests", "cats", store=cats).lines
    assert line.startswith("   1  4 messages of version 9, openai-chat to m-1, execution run-1")
    assert run("requests", "cats", "--json", store=cats).json[0]["of_version"] == CATS
    shown = run("requests", "cats", "--show", 1, store=cats).out
    assert "to the letter what was sent" in shown
    assert "three cats" in shown
    told = run("requests", "cats", "--show", 1, "--json", store=cats).json
    assert told["messages"] == sent.messages
    assert told["rendered_differently"] is False


def test_records_are_listed_cut_short_and_whole(cats: Path) -> None:
    assert run("records", "cats", store=cats).lines == ["no records"]
    with ConversationStore(cats) as store:
        kept = [Record("crm.ticket", "7", {"text": "long " * 99}), Record("crm.note", None, "two\x1b[2J")]
        store.append("cats", [], records=kept)
    ticket, value, note, _ = run("records", "cats", store=cats).lines
    assert ticket.startswith(f"{CATS + 1:>4}  crm.ticket 7  ")
    assert value.endswith("… (507 characters)")
    assert note.startswith(f"{CATS + 2:>4}  crm.note  ")
    assert "\x1b" not in run("records", "cats", store=cats).out
    assert ("long " * 99).strip() in run("records", "cats", "--key", "7", "--full", store=cats).out
    (told,) = run("records", "cats", "--kind", "crm.note", "--json", store=cats).json
    assert (told["key"], told["value"], told["version"]) == (None, "two\x1b[2J", CATS + 2)
    run("clear", "cats", store=cats)
    assert run("records", "cats", store=cats).lines == ["no records"]
    assert len(run("records", "cats", "--at", CATS + 1, store=cats).lines) == 2


def test_a_request_that_no_longer_reads_as_it_was_sent_is_damage(
    cats: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ConversationStore(cats) as store:
        monkeypatch.setattr("turnledger.infrastructure.requests.digest_of_sent", lambda sent: "0" * 64)
        store.record_request("cats")
        monkeypatch.undo()
    assert_one_line(run("requests", "cats", "--show", 1, store=cats), 1)


def test_the_inbox_lists_what_waits_with_its_age(cats: Path) -> None:
    run("append", "dogs", '{"role": "assistant", "tool_calls": [{"id": "d1", "name": "bark"}]}', store=cats)
    items = run("inbox", "--json", store=cats).json
    assert [(item["conversation_id"], item["kind"]) for item in items] == [
        ("cats", "take"),
        ("cats", "held"),
        ("dogs", "call"),
    ]
    assert all(item["age_s"] >= 0 for item in items)
    lines = run("inbox", store=cats).lines
    assert "open call" in lines[-1]
    assert "dogs: bark d1, entry 1" in lines[-1]
    assert len(run("inbox", "dogs", store=cats).lines) == 1
    run("append", "dogs", '{"role": "tool", "tool_call_id": "d1", "content": "woof"}', store=cats)
    assert run("inbox", "dogs", store=cats).lines == ["nothing waits"]


def test_heads_kept_elsewhere_are_verified_as_anchors(cats: Path, tmp_path: Path) -> None:
    kept = tmp_path / "anchors.json"
    kept.write_text(run("head", "--json", store=cats).out)
    with ConversationStore(cats) as store:
        digest = store.head("cats").digest
    assert run("head", "cats", store=cats).lines == [f"cats  version {CATS}  {digest}"]
    run("append", "cats", "--role", "user", "--text", "more", store=cats)
    assert run("verify", "--anchors", kept, store=cats).code == 0
    cut = executed(cats, "DELETE FROM stored_events WHERE originator_version >= ?", CATS)
    assert run("verify", store=cut).code == 0
    ran = run("verify", "--anchors", kept, store=cut)
    assert ran.code == 1
    assert "version 9 was anchored, and is cut off" in ran.out
    (one,) = run("verify", "cats", "--anchors", kept, "--json", store=cut).json
    assert one["findings"][0]["invariant"] == "the log holds every anchor"


def test_an_anchored_conversation_that_is_gone_is_a_finding(cats: Path, tmp_path: Path) -> None:
    kept = tmp_path / "anchors.jsonl"
    kept.write_text(json.dumps({"conversation_id": "owls", "version": 2, "digest": "a" * 64}) + "\n")
    for source in (kept, "-"):
        ran = run("verify", "--anchors", source, store=cats, input=kept.read_text())
        assert ran.code == 1
        assert "FAIL  owls" in ran.out


@pytest.mark.parametrize("text", ["", "[]", "\n", "{", "[7]", '{"version": 1}', '"cats"', "7"])
def test_a_file_without_anchors_says_what_to_keep(text: str, cats: Path, tmp_path: Path) -> None:
    kept = tmp_path / "anchors.json"
    kept.write_text(text)
    ran = run("verify", "--anchors", kept, store=cats)
    assert_one_line(ran)
    assert "turnledger head --json" in ran.err


def test_replay_into_a_pipe_is_one_line_an_event(cats: Path) -> None:
    assert run("replay", "cats", store=cats).out == run("log", "cats", store=cats).out
    assert len(run("replay", "cats", "--after", 3, "--to", 5, "--step", store=cats).lines) == 2
    told = run("replay", "cats", "--json", store=cats).json
    assert [row["version"] for row in told] == list(range(1, CATS + 1))
    assert told[3]["buffer"]["added"] == [3]
    assert told[5]["sendable"]["first_changed"] == 2
    assert run("replay", "cats", "--after", 99, "--json", store=cats).json == []


def test_log_at_a_version_that_is_not_there_says_so(cats: Path) -> None:
    ran = run("log", "cats", "--at", 99, store=cats)
    assert_one_line(ran)
    assert "give one of 0 to 9" in ran.err


def test_verify_says_how_many_anchors_it_held_the_log_against(cats: Path, tmp_path: Path) -> None:
    kept = tmp_path / "anchors.json"
    kept.write_text(run("head", "cats", "--json", store=cats).out)
    assert run("verify", "--anchors", kept, store=cats).lines[-1].endswith("held against 1 anchor: all sound")


def test_a_speed_that_is_no_number_is_refused(cats: Path) -> None:
    ran = run("replay", "cats", "--speed", "nan", store=cats)
    assert_one_line(ran)
    assert "it is no number" in ran.err
