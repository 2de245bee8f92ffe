"""Parts of the page by themselves: addresses, windows, the rail, JSON as markup, what an entry was."""

import json
from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.spec import CID, Given, assistant, call, result, system, turn, user
from tests.strategies import json_values
from turnledger import ConversationStore
from turnledger.projections.consequences import consequences
from turnledger.projections.moment import Moment
from turnledger.projections.timeline import timeline
from turnledger.web.addresses import id_of, segment
from turnledger.web.rendering import TEMPLATES
from turnledger.web.security import Guard
from turnledger.web.shown import shown, text
from turnledger.web.states import WINDOW, Window, entries_of
from turnledger.web.timelines import CELLS_MAX, css_class, rail
from turnledger.web.trees import tree, tree_of_text


@given(st.text(min_size=1))
def test_an_id_is_one_segment_and_comes_back_from_it(conversation_id: str) -> None:
    found = segment(conversation_id.encode("utf-8", "replace").decode())
    assert "/" not in found
    assert found not in (".", "..")
    assert id_of(found) == conversation_id.encode("utf-8", "replace").decode()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8:1", "localhost:80", "[::1]:80", "LocalHost"])
def test_a_loopback_server_owns_loopback_names(host: str) -> None:
    assert Guard(_nothing, "127.0.0.1").owns(host)


@pytest.mark.parametrize("host", ["10.0.0.1", "example.org", "localhost:x", "::1", "[::1]x", "[", "", ":80"])
def test_a_loopback_server_owns_no_other_name(host: str) -> None:
    assert not Guard(_nothing, "127.0.0.1").owns(host)


def test_a_server_elsewhere_owns_the_name_that_it_was_given() -> None:
    assert Guard(_nothing, "Devbox.lan").owns("devbox.lan:8300")
    assert Guard(_nothing, "0.0.0.0").owns("10.1.2.3")
    assert not Guard(_nothing, "0.0.0.0").owns("rebound.example")


async def _nothing(*given: object) -> None:
    raise AssertionError(given)


class _Text(HTMLParser):
    def __init__(self, markup: str) -> None:
        super().__init__()
        self.said, self.tags = "", set[str]()
        self.feed(str(markup))

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.said += data


@given(json_values)
def test_any_json_value_becomes_markup_of_known_tags_only(value: Any) -> None:
    assert _Text(tree(value)).tags <= {"details", "summary", "span", "div"}


def test_markup_in_json_is_text() -> None:
    hostile = {"<b>": ["</span><script>x</script>", "&amp;"]}
    read = _Text(tree(hostile))
    assert "script" not in read.tags
    assert '"</span><script>x</script>"' in read.said
    assert '"&amp;"' in read.said


def test_endless_json_is_cut_and_says_so() -> None:
    assert "cut here" in tree([[number] * 40 for number in range(5_000)])
    deep: Any = 1
    for _ in range(200):
        deep = [deep, [[1, 2], [3]]]
    assert "cut here" in tree(deep)
    assert len(tree([{"n": [number] * 40} for number in range(5_000)])) < 2_000_000


@pytest.mark.parametrize("plain", ["", "hello", "{not json", "7", "[]", "{}", "[" * 5_000])
def test_text_that_is_no_structure_is_text(plain: str) -> None:
    assert tree_of_text(plain) is None


def test_numbers_in_json_text_are_shown_exactly() -> None:
    assert "0.1000000000000000055511151231257827" in str(
        tree_of_text('{"n": 0.1000000000000000055511151231257827}')
    )


def test_what_commands_a_terminal_or_hides_itself_is_spelled_out() -> None:
    assert text("a\x1b[31m\u202e").whole == "a\\x1b[31m\\u202e"
    assert "\\u202e" in tree({"k": "\u202e"})


def test_a_long_text_is_folded_at_a_word() -> None:
    found = text("word " * 1_000)
    assert found.preview.endswith("word")
    assert len(found.preview) < 500
    assert text("word " * 50).preview == ""


def test_a_window_holds_what_changed_or_the_end_or_what_was_asked_for() -> None:
    assert Window.around(10, None, None) == Window(0, 10, 10)
    end = Window.around(1_000, None, None)
    assert (end.first, end.end, end.earlier, end.later) == (940, 1_000, 880, None)
    middle = Window.around(1_000, 500, None)
    assert middle.first < 500 < middle.end
    assert middle.end - middle.first == WINDOW
    asked = Window.around(1_000, 500, 20)
    assert (asked.first, asked.end, asked.earlier, asked.later) == (20, 80, 0, 80)
    assert Window.around(10, None, 99) == Window(10, 10, 10)


def lines(count: int) -> Any:
    given_ = Given([[user(), turn("c1")], user()] if count > 3 else [user()])
    given_.when([assistant(str(number)) for number in range(count)])
    return list(timeline(given_.store.events(CID)))


@pytest.mark.parametrize("count", [1, 30, 399, 1_000])
def test_the_rail_covers_every_version_once(count: int) -> None:
    told = lines(count)
    cells = rail(told)
    assert len(cells) <= CELLS_MAX
    place = 0
    for cell in cells:
        assert cell.start == place
        place += cell.width
    assert place == len(told)


def test_the_rail_shows_what_is_notable_among_much_else() -> None:
    assert "healed" in {cell.kind for cell in rail(lines(2_000))}


def test_no_foreign_word_becomes_a_class() -> None:
    assert css_class("put back") == "k-put-back"
    assert css_class('x" onload="') == "k-other"


def moment_of(store: ConversationStore, to: int | None = None) -> Moment:
    moment = Moment()
    events = list(store.events(CID, to=to))
    for event in events:
        moment.apply(event, last=event is events[-1])
    return moment


def test_a_moment_is_what_the_store_reads_at_that_version() -> None:
    given_ = Given([[system(), user(), turn("c1", "c2")], user(), result("c1", "late"), assistant()])
    given_.hold({"type": "link", "payload": {}, "tool_call_id": "c1"})
    for version in range(1, given_.version + 1):
        moment = moment_of(given_.store, version)
        assert [row.stored for row in moment.buffer.rows()] == given_.store.buffer(CID, at=version)
        assert moment.sendable()[0] == given_.store.sendable(CID, at=version).messages
        assert moment.artifacts.held() == given_.store.held(CID, at=version)


def test_each_sendable_message_knows_the_entry_that_it_was() -> None:
    given_ = Given(
        [[user("a"), turn("c1", "c2"), system("late"), turn({"name": "lost"})], result("c2", "two")]
    )
    moment = moment_of(given_.store)
    messages, drops = moment.sendable()
    rows = moment.buffer.rows()
    by_number: dict[int | None, Mapping[str, Any]] = {row.number: row.stored for row in rows}
    told = [
        (message["role"], entry)
        for message, entry in zip(messages, entries_of(messages, rows, drops), strict=True)
    ]
    assert told == [("system", 3), ("user", 1), ("assistant", 2), ("tool", None), ("tool", 5)]
    assert by_number[5]["content"] == "two"


def sentences(past: list[Any], messages: Any) -> list[tuple[str, str, str]]:
    given_ = Given(past).when(messages)
    return [consequences(row) for row in given_.store.history(CID) if row.event in given_.events]


def test_what_an_event_changed_is_told_in_sentences() -> None:
    healed, said = sentences([[user(), turn("c1"), assistant()]], user())
    assert healed[0] == "Entry 4 inserted; entry 3 moved back."
    assert healed[2] == "The same 4 messages."
    assert said[2] == "1 more at the end, 5 messages now: a prompt cache still matches."
    (late,) = sentences([[user(), turn("c1")], user()], result("c1"))
    assert late[0] == "Entry 3 now holds the real result."
    assert late[2].startswith("Changed from position 2 on (1 gone, 1 new), 4 messages now")


def test_a_template_that_lacks_a_value_is_a_fault() -> None:
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError):
        TEMPLATES.from_string("{{ nowhere }}").render()


def test_arguments_given_as_json_text_are_shown_by_their_structure() -> None:
    turn_ = {
        "role": "assistant",
        "content": "",
        "tool_calls": [call("c1", json.dumps({"a": {"b": [1, {}]}}))],
    }
    (found,) = shown(turn_, "").calls
    assert "details" in _Text(found.arguments or "").tags
