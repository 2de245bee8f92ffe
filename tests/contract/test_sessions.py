"""Sessions of Claude Code: the chain that is the conversation, its answers whole, sidechains apart."""

import io
import json
from pathlib import Path
from typing import Any

from tests.contract.command_line import run
from tests.session_samples import PARALLEL, SESSION, Event, line, result, text, use
from turnledger import ConversationStore
from turnledger.importing import (
    Transcript,
    guessed_format,
    import_transcript,
    read_messages,
    read_transcripts,
)
from turnledger.importing.doctor import examine


def transcripts(events: list[Event]) -> list[Transcript]:
    data = "".join(f"{json.dumps(event)}\n" for event in events).encode()
    found = list(read_transcripts(io.BytesIO(data), "file"))
    assert all(isinstance(one, Transcript) for one in found)
    return [one for one in found if isinstance(one, Transcript)]


def said(messages: list[Any]) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in messages]


def test_the_lines_of_one_answer_are_one_turn_and_parallel_results_belong_to_it() -> None:
    (found,) = transcripts(PARALLEL)
    assert guessed_format(found.messages) == "claude-code"
    user, turn, one, two, last = read_messages(found.messages)
    assert said([user, turn, one, two, last]) == [
        ("user", "fix it"),
        ("assistant", "I look."),
        ("tool", "one"),
        ("tool", "two"),
        ("assistant", "Done."),
    ]
    assert [call["tool_call_id"] for call in turn["tool_calls"]] == ["c1", "c2"]
    assert [one["tool_call_id"], two["tool_call_id"]] == ["c1", "c2"]


def test_what_a_line_knows_beyond_its_words_is_kept() -> None:
    _, turn, one, *_ = read_messages(PARALLEL)
    lines = turn["metadata"]["claude-code"]["lines"]
    assert [known["uuid"] for known in lines] == ["a1", "a2", "a3", "a4"]
    assert [known["blocks"] for known in lines] == [1, 1, 1, 1]
    assert lines[0]["message"] == {"id": "m1", "model": "m"}
    assert one["metadata"]["claude-code"]["lines"][0]["toolUseResult"] == {"stdout": "one"}


def test_thinking_with_its_signature_goes_back_to_anthropic() -> None:
    with ConversationStore(":memory:") as store:
        import_transcript(store, "c", PARALLEL)
        sent = store.sendable("c", provider="anthropic").messages
        assert [block["type"] for block in sent[1]["content"]] == ["thinking", "text", "tool_use", "tool_use"]


def test_a_branch_that_was_abandoned_is_left_out_and_said() -> None:
    events = [
        *PARALLEL,
        line("u2", "r2", "user", "no, the other way"),
        line("a6", "u2", "assistant", text("Yes.")),
    ]
    (found,) = transcripts(events)
    assert [event["uuid"] for event in found.messages][-3:] == ["r2", "u2", "a6"]
    assert found.notes == ("1 message on branches that were abandoned",)


def test_lines_that_the_model_is_not_given_are_left_out_and_said() -> None:
    events: list[Event] = [
        {"type": "summary", "summary": "A fix", "leafUuid": "x"},
        {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}},
        line("u1", None, "user", "fix it"),
        {"type": "progress", "uuid": "p1", "parentUuid": "u1", "sessionId": SESSION, "data": {}},
        line("e1", "p1", "assistant", text("API Error: 400"), isApiErrorMessage=True),
        line("a1", "e1", "assistant", text("Done.")),
    ]
    (found,) = transcripts(events)
    assert said(read_messages(found.messages)) == [("user", "fix it"), ("assistant", "Done.")]
    lines, errors = found.notes
    assert lines.startswith("3 lines that the model is not given: ")
    assert errors == "1 message about an error of the service"


def test_a_conversation_goes_on_behind_a_compaction() -> None:
    boundary: Event = {
        **{"type": "system", "subtype": "compact_boundary", "uuid": "b1", "parentUuid": None},
        **{"logicalParentUuid": "a1", "sessionId": SESSION},
    }
    events: list[Event] = [
        line("u1", None, "user", "fix it"),
        line("a1", "u1", "assistant", text("Done.")),
        boundary,
        line("s1", "b1", "user", "So far: fixed.", isCompactSummary=True),
        line("u2", "s1", "user", "go on"),
    ]
    (found,) = transcripts(events)
    assert [words for _, words in said(read_messages(found.messages))] == [
        *("fix it", "Done.", "So far: fixed.", "go on")
    ]


def test_sidechains_are_conversations_of_their_own() -> None:
    side = {"isSidechain": True}
    events = [
        line("u1", None, "user", "fix it"),
        line("s1", None, "user", "look there", **side),
        line("s2", "s1", "assistant", text("Nothing."), **side),
        line("t1", None, "user", "look here", agentId="b7", **side),
        line("a1", "u1", "assistant", text("Done.")),
    ]
    found = transcripts(events)
    assert [one.conversation_id for one in found] == [
        SESSION,
        f"{SESSION}/sidechain-1",
        f"{SESSION}/agent-b7",
    ]
    assert [said(read_messages(one.messages)) for one in found] == [
        [("user", "fix it"), ("assistant", "Done.")],
        [("user", "look there"), ("assistant", "Nothing.")],
        [("user", "look here")],
    ]
    (alone,) = transcripts(events[3:4])
    assert alone.conversation_id == f"{SESSION}/agent-b7"


def test_a_line_whose_parent_is_lost_follows_the_line_before_it() -> None:
    (found,) = transcripts([line("u1", None, "user", "a"), line("u2", "gone", "user", "b")])
    assert said(read_messages(found.messages)) == [("user", "a"), ("user", "b")]


def test_a_session_that_has_grown_adds_only_what_is_new(tmp_path: Path) -> None:
    path, store = tmp_path / "session.jsonl", tmp_path / "store.db"
    path.write_text("".join(f"{json.dumps(event)}\n" for event in PARALLEL[:3]))
    assert run("import", path, "--json", store=store).json["conversations"][0]["outcome"] == "new"
    path.write_text("".join(f"{json.dumps(event)}\n" for event in PARALLEL))
    grown = run("import", path, "--json", store=store).json["conversations"][0]
    assert (grown["id"], grown["outcome"], grown["messages"]) == (SESSION, "grown", 5)
    assert run("import", path, "--json", store=store).json["conversations"][0]["outcome"] == "unchanged"


def test_an_import_says_what_it_left_out(tmp_path: Path) -> None:
    path, store = tmp_path / "session.jsonl", tmp_path / "store.db"
    events = [*PARALLEL, {"type": "summary", "summary": "A fix", "leafUuid": "a5"}]
    path.write_text("".join(f"{json.dumps(event)}\n" for event in events))
    done = run("import", path, store=store)
    assert done.lines[-1] == f"left out of {SESSION}: 1 line that the model is not given: summary 1"
    what = run("import", path, "--json", store=store).json["left_out"]
    assert what == [{"id": SESSION, "what": "1 line that the model is not given: summary 1"}]


def test_of_lines_with_one_uuid_the_last_is_the_one_that_is_loaded() -> None:
    again = [*PARALLEL, *PARALLEL[-2:]]
    (once,), (twice,) = transcripts(PARALLEL), transcripts(again)
    assert twice.messages == once.messages
    assert twice.notes == ("2 messages that a later line with the same uuid replaces",)


def test_the_doctor_ends_where_two_lines_have_one_uuid() -> None:
    """It moved a result from one of the two calls to the other and back, for ever."""
    call = line("a1", "u0", "assistant", use("c"))
    done = examine([call, line("u0", None, "user", "hi"), call, line("r1", "a1", "user", result("c"))])
    assert done.formats == ("claude-code",)
    assert done.sound
