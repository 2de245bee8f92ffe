"""The timeline: one line an event, as a person reads it."""

from datetime import UTC, datetime
from typing import Any

from turnledger import ConversationStore, HeldLimits
from turnledger.projections.legible import legible, legible_lines, one_line, shortened, spoken
from turnledger.projections.timeline import TimelineLine, timeline

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def a_store(**settings: Any) -> ConversationStore:
    ids = iter(f"id-{number:06}" for number in range(100))
    return ConversationStore(":memory:", clock=lambda: NOON, new_id=lambda: next(ids), **settings)


def told(store: ConversationStore) -> list[TimelineLine]:
    return list(timeline(store.events("c")))


def call(call_id: str, name: str = "search", **arguments: Any) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": [{"id": call_id, "name": name, "arguments": arguments}]}


def result(call_id: str, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def user(content: str) -> dict[str, Any]:
    return {"role": "user", "content": content}


def said(store: ConversationStore) -> list[tuple[str, str, str]]:
    return [(line.kind, line.text, line.quote) for line in told(store)]


def test_a_call_that_is_healed_and_answered_late_reads_as_it_happened() -> None:
    with a_store() as store:
        store.append("c", [user("cats?"), call("c1", q="cats"), user("hello?")])
        store.append("c", result("c1", "three cats"))
        assert said(store) == [
            ("started", "the conversation", ""),
            ("user", "entry 1", "cats?"),
            ("assistant", "entry 2 calls search c1", '{"q":"cats"}'),
            ("healed", "c1 behind entry 2: entry 3 stands in for it", ""),
            ("user", "entry 4", "hello?"),
            ("replaced", "c1 answered: replaces its placeholder in entry 3", "three cats"),
        ]


def test_a_reused_id_is_told_with_the_id_that_it_was_recorded_under() -> None:
    with a_store() as store:
        store.append("c", [call("c1", q="cats"), result("c1", "3"), call("c1", q="dogs"), result("c1", "2")])
        lines = told(store)
        assert lines[3].text == "entry 3 calls search (reuses id c1, recorded as c1-2)"
        assert lines[4].text == "entry 4 answers search c1-2 (came as c1)"


def test_a_compaction_a_request_and_a_fork_say_what_they_are() -> None:
    with a_store() as store:
        store.append("c", [call("c1", q="cats"), result("c1", "3"), user("and?")])
        store.record_request("c", provider="openai-chat", model="m-1")
        store.compact("c", keep_last=1, summary=user("three cats"))
        assert said(store)[-3:] == [
            ("request", "3 messages of version 4, for openai-chat, sent to m-1", ""),
            ("evicted", "entries 1-2 left the buffer: a summary stands for them", ""),
            ("summary", "entry 4 (user) at the front, for what left", "three cats"),
        ]
        store.fork("c", at=7, into="d")
        store.append("d", result("c1", "3"))
        (line,) = timeline(store.events("d"))
        assert (line.kind, line.text) == ("forked", "from c at version 7, with entries 3-4")


def test_a_fork_names_the_calls_that_it_carries() -> None:
    with a_store() as store:
        store.append("c", call("c1", name="book"))
        store.fork("c", at=2, into="d")
        store.append("d", result("c1", "done"))
        assert [line.text for line in timeline(store.events("d"))][1] == "entry 2 answers book c1"


def test_what_has_no_usable_id_says_so() -> None:
    with a_store() as store:
        store.append("c", [call("0"), result("", "lost")])
        assert [line.text for line in told(store)[1:]] == [
            "entry 1 calls search (without a usable id)",
            "entry 2 answers no call",
        ]


def test_evicted_entries_are_named_in_runs_and_a_late_answer_to_one_says_that_it_had_left() -> None:
    with a_store(window=2) as store:
        store.append("c", [call("c1"), user("a"), {"role": "assistant", "content": "b"}, user("c")])
        store.append("c", user("d"))
        store.append("c", result("c1", "late"))
        lines = told(store)
        assert lines[0].text == "the conversation, keeps a window of 2 entries"
        assert ("evicted", "entries 1-4 left the buffer: its window is full") in [
            (line.kind, line.text) for line in lines
        ]
        assert lines[-1].text.endswith("in entry 2, which had left the buffer")


def test_the_life_of_artifacts_is_told_by_their_types() -> None:
    with a_store(held_limits=HeldLimits(artifacts=2)) as store:
        store.append("c", user("go"))
        link, table = {"type": "link", "payload": {}}, {"type": "table", "payload": {}}
        store.hold("c", "run", [link, table])
        store.put_back("c", store.take("c", "run"))
        store.discard("c", store.take("c", "run"), reason="cancelled\nfor good")
        store.hold("c", "run", [link])
        store.confirm("c", store.take("c", "run"))
        store.hold("c", "run", [table])
        store.write_back("c", "run", {"role": "assistant", "content": "done"}, artifacts=[link])
        assert [(line.kind, line.text) for line in told(store)[2:]] == [
            ("held", "2 artifacts (link, table)"),
            ("taken", "2 artifacts (link, table) by take id-00000…"),
            ("put back", "2 artifacts (link, table); 2 held now"),
            ("taken", "2 artifacts (link, table) by take id-00000…"),
            ("discarded", "2 artifacts (link, table): cancelled for good"),
            ("held", "1 artifact (link)"),
            ("taken", "1 artifact (link) by take id-00000…"),
            ("delivered", "1 artifact (link) elsewhere"),
            ("held", "1 artifact (table)"),
            ("assistant", "entry 2"),
            ("taken", "1 artifact (table) by take id-00000…"),
            ("delivered", "2 artifacts (table, link) on entry 2"),
        ]


def test_a_dropped_artifact_is_named_with_the_reason() -> None:
    with a_store() as store:
        store.append("c", user("go"))
        store.hold("c", "run", [{"type": "chart", "payload": None}])
        assert told(store)[-1].text == "no artifact; dropped chart: its payload is no map"


def test_the_detail_says_turn_execution_key_and_context() -> None:
    with a_store() as store:
        store.append(
            "c", user("a"), turn_id="t1", execution_id="r1", idempotency_key="k1", context={"actor": "ann"}
        )
        assert {line.detail for line in told(store)} == {"turn t1, execution r1, key k1, actor ann"}


def test_nothing_in_a_line_can_command_a_terminal() -> None:
    evil = "\x1b[2J\x9b31m\x07\u202etxt\x00"
    with a_store() as store:
        store.append(
            "c",
            [user(evil), call("c1" + "\x1b]0;x", name=evil, q=evil), result(evil, evil)],
            context={evil: evil},
        )
        store.hold("c", "run", [{"type": evil, "payload": {}}])
        store.discard("c", store.take("c", "run"), reason=evil)
        for line in told(store):
            for text in (line.text, line.quote, line.detail):
                assert text.isprintable(), text
        assert told(store)[1].quote == r"\x1b[2J\x9b31m\x07\u202etxt\x00"


def test_long_content_is_cut_with_its_length_said() -> None:
    with a_store() as store:
        store.append("c", user("x" * 5_000))
        line = told(store)[1]
        assert line.quoted(10) == "xxxxxxxxxx… (5,000 characters)"
        assert len(line.quote) == 2_000


def test_every_event_has_a_line_of_its_own_version() -> None:
    with a_store() as store:
        store.append("c", [user("a"), call("c1"), user("b")])
        assert [line.version for line in told(store)] == [1, 2, 3, 4, 5]
        assert {line.batch for line in told(store)} == {1}


def test_parts_of_a_message_are_spoken_as_their_texts() -> None:
    assert spoken([{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}]) == "a\n[image_url]"
    assert spoken({"a": 1}) == '{"a":1}'
    assert spoken(None) == ""
    assert spoken(0) == "0"


def test_legible_text_keeps_what_is_harmless() -> None:
    assert legible("naïve 日本 👩‍💻") == "naïve 日本 👩‍💻"
    assert legible_lines("a\tb\r\nc\x1b") == ["a   b", "c\\x1b"]
    assert one_line("  a\n\n b ") == "a b"
    assert shortened("abc", 3) == "abc"
