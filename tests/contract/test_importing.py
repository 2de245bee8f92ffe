"""Importing: files told apart, ids kept or made fresh, nothing twice, conflicts refused."""

import io
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.contract.command_line import DATA, transcripts
from turnledger import ConversationStore, ImportConflict, InvalidArgument, InvalidMessage
from turnledger.importing import (
    BadLine,
    Transcript,
    guessed_format,
    import_sound,
    import_transcript,
    read_messages,
    read_transcripts,
)

TAU_BENCH = Path(__file__).parents[3] / "shared" / "data" / "tau-bench-airline-50.jsonl"

USER = {"role": "user", "content": "hi"}
REPLY = {"role": "assistant", "content": "hello"}


def read(text: str | bytes, name: str = "file") -> list[Transcript | BadLine]:
    data = text.encode() if isinstance(text, str) else text
    return list(read_transcripts(io.BytesIO(data), name))


def ids(text: str) -> list[str]:
    found = read(text)
    assert not [item for item in found if isinstance(item, BadLine)]
    return [item.conversation_id for item in found if isinstance(item, Transcript)]


def messages_of(text: str) -> list[list[Any]]:
    return [item.messages for item in read(text) if isinstance(item, Transcript)]


def test_one_conversation_a_line() -> None:
    text = json.dumps({"id": "a", "messages": [USER]}) + "\n\n" + json.dumps([REPLY]) + "\n"
    assert ids(text) == ["a", "file"]
    assert messages_of(text) == [[USER], [REPLY]]


def test_one_message_a_line_is_one_conversation() -> None:
    text = json.dumps(USER) + "\n" + json.dumps(REPLY)
    assert ids(text) == ["file"]
    assert messages_of(text) == [[USER, REPLY]]


@pytest.mark.parametrize("indent", [None, 2])
def test_one_json_conversation(indent: int | None) -> None:
    assert messages_of(json.dumps([USER, REPLY], indent=indent)) == [[USER, REPLY]]
    assert ids(json.dumps({"id": "x", "messages": [USER]}, indent=indent)) == ["x"]


@pytest.mark.parametrize("indent", [None, 2])
def test_one_json_list_of_conversations(indent: int | None) -> None:
    text = json.dumps([{"id": "a", "messages": [USER]}, [REPLY], [USER]], indent=indent)
    assert ids(text) == ["a", "file", "file-2"]


def test_a_byte_order_mark_is_no_part_of_the_first_line() -> None:
    assert messages_of("\ufeff" + json.dumps([USER])) == [[USER]]


def test_a_line_separator_inside_a_text_ends_no_line() -> None:
    message = {"role": "user", "content": "a\u2028b\x85c"}
    assert messages_of(json.dumps([message], ensure_ascii=False)) == [[message]]


def test_a_numeric_id_is_its_text() -> None:
    assert ids(json.dumps({"id": 7, "messages": [USER]})) == ["7"]


def test_a_bad_line_is_named_and_the_rest_is_read() -> None:
    good = json.dumps({"id": "a", "messages": [USER]})
    for bad, reason in [
        ("{oops", "it is no JSON"),
        ("[" * 100_000, "cannot be read"),
        ('{"id": "b"}', "expected"),
        ("7", "expected"),
        ('{"id": "", "messages": []}', "the id has 0 characters"),
    ]:
        first, second, third = read(f"{good}\n{bad}\n{good}\n")
        assert isinstance(first, Transcript)
        assert isinstance(third, Transcript)
        assert isinstance(second, BadLine)
        assert second.place == "line 2"
        assert reason in second.reason


def test_a_bad_first_line_does_not_hide_the_others() -> None:
    good = json.dumps({"id": "a", "messages": [USER]})
    bad, *rest = read(f"{good[:20]}\n{good}\n{good}\n")
    assert isinstance(bad, BadLine)
    assert [item.place for item in rest] == ["line 2", "line 3"]


def test_a_torn_last_message_leaves_the_others() -> None:
    text = json.dumps(USER) + "\n" + json.dumps(REPLY)[:10]
    bad, transcript = read(text)
    assert isinstance(bad, BadLine)
    assert isinstance(transcript, Transcript)
    assert transcript.messages == [USER]


@pytest.mark.parametrize("text", ["", "\n \n", "no JSON at all", "\xff\xfe"])
def test_a_file_of_nothing_is_one_bad_line(text: str) -> None:
    (bad,) = read(text.encode("latin-1"))
    assert isinstance(bad, BadLine)


def test_read_messages_takes_a_list_a_map_or_a_path(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_text(json.dumps({"id": "a", "messages": [USER, REPLY]}))
    for source in ([USER, REPLY], {"messages": [USER, REPLY]}, path, str(path), iter([USER, REPLY])):
        assert read_messages(source) == [USER, REPLY]


def test_read_messages_refuses_what_is_not_one_conversation(tmp_path: Path) -> None:
    path = tmp_path / "two.jsonl"
    for text, error in [("[]\n[]", InvalidArgument), ("{", InvalidMessage)]:
        path.write_text(text)
        with pytest.raises(error):
            read_messages(path)
    for source in (tmp_path / "absent.json", {"no": "messages"}, 7):
        with pytest.raises(InvalidArgument):
            read_messages(source)
    with pytest.raises(InvalidArgument, match="openai-chat"):
        read_messages([USER], format="telegram")


def test_a_developer_message_is_stored_as_system_and_given_back_as_developer() -> None:
    message = {"role": "developer", "content": "in verse", "metadata": {"kept": 1}}
    with ConversationStore(":memory:") as store:
        import_transcript(store, "c", [message])
        (entry,) = store.buffer("c")
        assert entry["role"] == "system"
        assert entry["metadata"] == {"kept": 1, "openai_role": "developer"}
        assert store.sendable("c", provider="openai-chat").messages[0]["role"] == "developer"


def test_what_was_retracted_is_not_imported_again_and_what_is_new_is() -> None:
    with ConversationStore(":memory:") as store:
        import_transcript(store, "c", [USER, REPLY])
        store.retract("c")
        assert import_transcript(store, "c", [USER, REPLY]).outcome == "unchanged"
        assert import_transcript(store, "c", [USER, REPLY, USER]).outcome == "grown"
        assert [message["content"] for message in store.buffer("c")] == ["hi", "hi"]


def test_a_cleared_conversation_is_imported_anew_whoever_began_it() -> None:
    with ConversationStore(":memory:") as store:
        import_transcript(store, "c", [USER, REPLY])
        store.clear("c")
        again = import_transcript(store, "c", [USER, REPLY])
        assert (again.outcome, again.messages) == ("new", 2)
        assert import_transcript(store, "c", [USER, REPLY]).outcome == "unchanged"
        store.append("other", USER)
        with pytest.raises(ImportConflict):
            import_transcript(store, "other", [USER])
        store.clear("other")
        assert import_transcript(store, "other", [USER]).outcome == "new"
        store.clear("other")
        store.append("other", USER)
        with pytest.raises(ImportConflict):
            import_transcript(store, "other", [USER])


def test_importing_again_records_nothing_and_a_grown_transcript_only_what_is_new() -> None:
    with ConversationStore(":memory:") as store:
        assert import_transcript(store, "c", [USER]).outcome == "new"
        assert import_transcript(store, "c", [USER]).outcome == "unchanged"
        grown = import_transcript(store, "c", [USER, REPLY])
        assert (grown.outcome, grown.messages) == ("grown", 1)
        assert import_transcript(store, "c", [USER, REPLY]).outcome == "unchanged"
        assert [entry["content"] for entry in store.buffer("c")] == ["hi", "hello"]


def test_keys_of_nothing_and_the_order_of_keys_do_not_make_another_transcript() -> None:
    with ConversationStore(":memory:") as store:
        import_transcript(store, "c", [{"role": "assistant", "content": None, "tool_calls": [], "name": "n"}])
        again = [{"name": "n", "content": "", "role": "assistant", "refusal": None}]
        assert import_transcript(store, "c", again).outcome == "unchanged"


def test_what_was_appended_since_an_import_stays_before_what_the_file_has_anew() -> None:
    with ConversationStore(":memory:") as store:
        import_transcript(store, "c", [USER])
        store.append("c", {"role": "user", "content": "between"})
        import_transcript(store, "c", [USER, REPLY])
        assert [entry["content"] for entry in store.buffer("c")] == ["hi", "between", "hello"]


def test_a_transcript_that_does_not_begin_with_what_was_imported_is_refused() -> None:
    with ConversationStore(":memory:") as store:
        import_transcript(store, "c", [USER, REPLY])
        for other in ([REPLY], [USER], [], [USER, USER, REPLY]):
            with pytest.raises(ImportConflict, match="2 messages"):
                import_transcript(store, "c", other)
        assert store.version("c") == 3


def test_a_conversation_that_no_import_began_is_not_imported_into() -> None:
    with ConversationStore(":memory:") as store:
        store.append("c", USER)
        with pytest.raises(ImportConflict, match="no import began it"):
            import_transcript(store, "c", [USER, REPLY])
        assert store.version("c") == 2


def test_a_refused_message_is_named_by_its_place_in_the_transcript() -> None:
    with ConversationStore(":memory:") as store:
        import_transcript(store, "c", [USER])
        with pytest.raises(InvalidMessage, match="message 2: its role"):
            import_transcript(store, "c", [USER, REPLY, {"role": "robot"}])
        assert store.version("c") == 2


def test_an_empty_transcript_starts_no_conversation() -> None:
    with ConversationStore(":memory:") as store:
        assert import_transcript(store, "c", []).outcome == "unchanged"
        assert list(store.conversations()) == []


def test_two_importers_at_once_double_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    messages = [{"role": "user", "content": str(number)} for number in range(40)]
    with ConversationStore(path) as one, ConversationStore(path) as other:
        barrier = threading.Barrier(2)

        def grow(store: ConversationStore) -> None:
            barrier.wait()
            for length in range(1, len(messages) + 1):
                try:
                    import_transcript(store, "c", messages[:length])
                except ImportConflict:  # the other one is ahead of this beginning of the file
                    continue

        threads = [threading.Thread(target=grow, args=[store]) for store in (one, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [entry["content"] for entry in one.buffer("c")] == [m["content"] for m in messages]


def assert_equal_but_for_fresh_ids(rendered: list[dict[str, Any]], given: list[dict[str, Any]]) -> None:
    """Each id of the file has one id of ours until the file declares it anew; `null` and "" are equal."""
    assert len(rendered) == len(given)
    ours: dict[str, str] = {}
    used: set[str] = set()
    for mine, message in zip(rendered, given, strict=True):
        theirs = {key: value for key, value in message.items() if value is not None}
        for call, declared in zip(mine.get("tool_calls", []), theirs.get("tool_calls", []), strict=True):
            assert call["function"] == declared["function"]
            assert call["id"] not in used
            used.add(call["id"])
            ours[declared["id"]] = call["id"]
        if "tool_call_id" in theirs:
            assert mine["tool_call_id"] == ours[theirs["tool_call_id"]]
        compared = {"role", "content", "name"}
        assert {"content": ""} | {k: v for k, v in theirs.items() if k in compared} == {
            k: v for k, v in mine.items() if k in compared
        }
        assert mine.keys() == theirs.keys() | {"content"}


def import_all(store: ConversationStore, path: Path) -> None:
    with path.open("rb") as file:
        for item in read_transcripts(file, path.stem):
            assert isinstance(item, Transcript)
            import_transcript(store, item.conversation_id, item.messages)


def the_files() -> list[Any]:
    absent = pytest.mark.skipif(
        not TAU_BENCH.exists(), reason="the 50 conversations lie beside the checkout only"
    )
    return [pytest.param(DATA, 5, id="five"), pytest.param(TAU_BENCH, 50, id="fifty", marks=absent)]


@pytest.mark.parametrize(("path", "count"), the_files())
def test_recorded_conversations_come_back_as_they_went_in(path: Path, count: int) -> None:
    with ConversationStore(":memory:") as store:
        import_all(store, path)
        for transcript in transcripts(path):
            sendable = store.sendable(transcript["id"], provider="openai-chat")
            assert_equal_but_for_fresh_ids(sendable.messages, transcript["messages"])
            assert sendable.dropped == 0
        assert sum(1 for _ in store.conversations()) == count
        assert store.verify().ok


@pytest.mark.parametrize(("path", "count"), the_files())
def test_recorded_conversations_appended_one_message_at_a_time_lose_nothing(path: Path, count: int) -> None:
    with ConversationStore(":memory:") as store:
        for transcript in transcripts(path):
            for number, message in enumerate(transcript["messages"], 1):
                assert store.append(transcript["id"], message).appended == 1, (transcript["id"], number)
            sendable = store.sendable(transcript["id"], provider="openai-chat")
            assert_equal_but_for_fresh_ids(sendable.messages, transcript["messages"])


@pytest.mark.parametrize(("path", "count"), the_files())
def test_recorded_call_turns_and_results_sent_twice_add_nothing(path: Path, count: int) -> None:
    with ConversationStore(":memory:") as store:
        for transcript in transcripts(path):
            for message in transcript["messages"]:
                first = store.append(transcript["id"], message)
                if message.get("tool_calls") or message["role"] == "tool":
                    again = store.append(transcript["id"], message)
                    assert (again.appended, again.version) == (0, first.version)
            sendable = store.sendable(transcript["id"], provider="openai-chat")
            assert_equal_but_for_fresh_ids(sendable.messages, transcript["messages"])


BAD = {"role": "wizard", "content": "hi"}


@pytest.mark.parametrize("bad", [BAD, {"role": "user", "content": "x", "metadata": 7}])
def test_a_message_that_cannot_be_kept_is_left_out_alone_where_it_has_a_line_of_its_own(bad: Any) -> None:
    (item,) = read("".join(f"{json.dumps(message)}\n" for message in [USER, bad, REPLY, BAD]))
    assert isinstance(item, Transcript)
    with ConversationStore(":memory:") as store:
        done, left_out = import_sound(store, item, "openai-chat")
        assert [message["content"] for message in store.buffer("file")] == ["hi", "hello"]
        assert [one.place for one in left_out] == ["line 2", "line 4"]
        assert "wizard" in left_out[1].reason
        assert (done.outcome, done.messages) == ("new", 2)
        again, left_out = import_sound(store, item, "openai-chat")
        assert (again.outcome, len(left_out)) == ("unchanged", 2)


def test_a_message_that_cannot_be_kept_refuses_its_conversation_where_no_line_is_its_own() -> None:
    (item,) = read(json.dumps([USER, BAD]))
    assert isinstance(item, Transcript)
    with ConversationStore(":memory:") as store, pytest.raises(InvalidMessage) as refused:
        import_sound(store, item, "openai-chat")
    assert refused.value.index == 1


def test_where_no_message_can_be_kept_the_first_is_what_is_said() -> None:
    (item,) = read("".join(f"{json.dumps(BAD)}\n" for _ in range(3)))
    assert isinstance(item, Transcript)
    with ConversationStore(":memory:") as store:
        with pytest.raises(InvalidMessage) as refused:
            import_sound(store, item, "openai-chat")
        assert refused.value.index == 0
        assert list(store.conversations()) == []


def ids_of(messages: list[Any]) -> list[Any]:
    return [
        [call["id"] for call in message["tool_calls"]] if "tool_calls" in message else message["tool_call_id"]
        for message in messages
    ]


def nameless_and_named(format: str) -> list[Any]:
    calls = [
        {"id": "x1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}},
        {"id": "", "type": "function", "function": {"name": "look", "arguments": '{"at": 2}'}},
    ]
    turn = {"role": "assistant", "content": "", "tool_calls": calls}
    results = [{"content": "two"}, {"tool_call_id": "x1", "content": "one"}]
    return read_messages([turn, *({"role": "tool", **result} for result in results)], format)


@pytest.mark.parametrize("format", ["openai-chat", "mistral", "ollama"])
def test_a_result_without_an_id_leaves_a_call_with_one_to_its_own_result(format: str) -> None:
    assert ids_of(nameless_and_named(format)) == [["x1", "call_0_1"], "call_0_1", "x1"]


def blank_turn(name: str) -> list[dict[str, Any]]:
    call = {"id": "", "type": "function", "function": {"name": name, "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "", "content": "done"}
    return [{"role": "assistant", "content": "", "tool_calls": [call]}, result]


def test_calls_that_an_openai_shaped_service_gave_no_ids_keep_their_results() -> None:
    with ConversationStore(":memory:") as store:
        import_transcript(store, "c", [*blank_turn("look"), *blank_turn("look")], "openai-chat")
        sent = store.sendable("c")
    assert [message["role"] for message in sent.messages] == ["assistant", "tool"] * 2
    assert sent.dropped == 0


def test_a_call_with_neither_id_nor_name_gets_none() -> None:
    assert ids_of(read_messages(blank_turn(""), "openai-chat")) == [[""], ""]


OWN_RESULTS = {
    "anthropic": [
        {"type": "tool_use", "id": "c1", "name": "look", "input": {}},
        {"type": "tool_result", "tool_use_id": "c1", "content": "seen"},
    ],
    "bedrock-converse": [
        {"toolUse": {"toolUseId": "c1", "name": "look", "input": {}}},
        {"toolResult": {"toolUseId": "c1", "content": [{"text": "seen"}]}},
    ],
    "gemini": [
        {"functionCall": {"name": "look", "args": {}}},
        {"functionResponse": {"name": "look", "response": {"result": "seen"}}},
    ],
}


@pytest.mark.parametrize("format", OWN_RESULTS)
def test_a_result_within_the_turn_that_calls_stands_behind_it(format: str) -> None:
    gemini = format == "gemini"
    turn = {"role": "model" if gemini else "assistant", "parts" if gemini else "content": OWN_RESULTS[format]}
    with ConversationStore(":memory:") as store:
        import_transcript(store, "c", [turn], format)
        sent = store.sendable("c")
    assert [message["content"] for message in sent.messages] == ["", "seen"]
    assert sent.dropped == 0


@pytest.mark.parametrize("format", ["openai-chat", "mistral", "ollama"])
def test_a_result_without_an_id_finds_its_call_behind_what_the_user_said_meanwhile(format: str) -> None:
    turn, result = blank_turn("look")
    result = {"role": "tool", "name": "look", "tool_name": "look", "content": result["content"]}
    with ConversationStore(":memory:") as store:
        import_transcript(store, "c", [turn, USER, result], format)
        assert [message["content"] for message in store.sendable("c").messages] == ["", "done", "hi"]


@pytest.mark.parametrize("kind", ["mcp_tool_use", "server_tool_use", "web_search_tool_result"])
def test_the_services_own_tools_tell_anthropic(kind: str) -> None:
    assert guessed_format([{"role": "assistant", "content": [{"type": kind}]}]) == "anthropic"
