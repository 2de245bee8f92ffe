"""The page, asked as a browser without scripts asks it: addresses, statuses, refusals, and what is shown."""

import http.client
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.contract.command_line import damage
from tests.serving import Served, served
from tests.spec import assistant, call, result, turn, user
from turnledger import ConversationStore
from turnledger.web.addresses import TABS, Addresses
from turnledger.web.security import POLICY

ODD_IDS = [
    "a/b/c",
    "..",
    ".",
    "~",
    "~..",
    "sp ace  two",
    "émoji 🐈 猫",
    "quo\"te's",
    "<script>alert(1)</script>",
    "%2F..%2f",
    "c?x=1#frag",
    "diff",
    "news",
    "a;b&c=d+e",
    "\u202eabc",
    "x" * 255,
    "\\back\\slash",
]
HOSTILE = "<script>document.title='got'</script><img src=x onerror=alert(1)>{{ 1234 * 5678 }}"


class Tags(HTMLParser):
    """The tags of a page, with the text between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def links(self) -> list[str]:
        return [attributes["href"] or "" for tag, attributes in self.tags if tag == "a"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "page.db"
    with ConversationStore(path) as made:
        for conversation_id in ODD_IDS:
            made.append(conversation_id, [user(f"I am {conversation_id}"), turn("c1")])
        made.append("story", [user("cats?"), turn(call("c1", {"q": "cats"}))], turn_id="t1")
        made.append("story", user("hello?"))
        made.append("story", result("c1", '{"cats": [{"name": "Tom", "lives": 9}, {"name": "Kit"}]}'))
        made.hold("story", "run-1", [{"type": "link", "payload": {"url": "u"}, "tool_call_id": "c1"}])
        made.append("hostile", [user(HOSTILE), turn(call("c1", {"q": HOSTILE}, name=HOSTILE))])
        made.append("hostile", result("c1", HOSTILE))
        made.append("long text", [user("word " * 5_000)])
    return path


@pytest.fixture(scope="module")
def page(store: Path) -> Iterator[Served]:
    with served(store) as running:
        yield running


@pytest.mark.parametrize("conversation_id", ODD_IDS)
def test_a_conversation_of_any_id_has_an_address(page: Served, conversation_id: str) -> None:
    here = Addresses(conversation_id)
    for address in (here.newest, here.at(2, "buffer"), here.diff(1, 2)):
        answer = page.get(address)
        assert answer.status == 200, address
        assert here.at(1, "buffer") in Tags(answer.text).links()
    assert page.get(here.json(2, "buffer")).json[0]["content"] == f"I am {conversation_id}"
    assert page.get(here.news).json == {"version": 3}


@pytest.mark.parametrize("tab", TABS)
def test_every_version_can_be_seen_through_every_tab(page: Served, tab: str) -> None:
    for version in range(8):
        answer = page.get(f"/c/story/{version}/{tab}")
        assert answer.status == 200
        assert answer.headers["content-type"] == "text/html; charset=utf-8"


def test_a_healed_entry_says_so_and_so_does_one_that_was_replaced(page: Served) -> None:
    healed = page.get("/c/story/4/buffer").text
    assert "stands in for search c1" in healed
    assert "c1 behind entry 2: entry 3 stands in for it" in healed
    assert 'class="mark m-healed">placeholder<' in healed
    assert "placeholder since version 4" in page.get("/c/story/5/buffer").text
    assert 'class="mark m-replaced">real result<' in page.get("/c/story/6/buffer").text
    assert "real result since version 6" in page.get("/c/story/7/sendable").text


def test_what_the_last_event_changed_is_marked_and_told(page: Served) -> None:
    text = Tags(page.get("/c/story/4/buffer").text).text
    assert text.count("new here") == 1
    assert "Entry 3 added." in text
    assert "1 artifact joined the held list." in Tags(page.get("/c/story/7/held").text).text


def test_a_result_that_is_json_is_shown_by_its_structure(page: Served) -> None:
    tags = Tags(page.get("/c/story/6/buffer").text)
    assert ("details", {"class": "j", "open": None}) in tags.tags
    assert '"lives": 9' in tags.text


def test_long_text_is_folded_and_whole(page: Served) -> None:
    tags = Tags(page.get("/c/long%20text/2/buffer").text)
    assert ("details", {"class": "fold"}) in tags.tags
    assert "Show all 25,000 characters" in tags.text
    assert tags.text.count("word") > 5_000


def test_hostile_text_is_text_in_every_view(page: Served) -> None:
    views = [f"/c/hostile/{version}/{tab}" for version in range(5) for tab in TABS]
    for address in [*views, "/c/hostile/diff/1..4/sendable", "/?q=%3Cscript%3E", "/c/%3Cscript%3E"]:
        answer = page.get(address)
        tags = Tags(answer.text)
        assert [dict(attributes) for tag, attributes in tags.tags if tag == "img"] == []
        scripts = [attributes for tag, attributes in tags.tags if tag == "script"]
        assert all((script["src"] or "").startswith("/static/") for script in scripts), address
        assert not any(name.startswith("on") or name == "style" for _, found in tags.tags for name in found)
        assert "7006652" not in tags.text


def test_there_is_nothing_inline_and_nothing_from_elsewhere(page: Served) -> None:
    for address in ("/", "/c/story/6/wire", "/c/story/diff/1..6/buffer", "/c/nobody"):
        for tag, attributes in Tags(page.get(address).text).tags:
            assert tag != "style"
            for name in ("src", "href", "action"):
                if attributes.get(name):
                    assert (attributes[name] or "")[:1] in ("/", "#"), (tag, attributes)


@pytest.mark.parametrize(
    "address", ["/", "/c/story", "/c/story/2/buffer.json", "/static/page.css", "/nowhere"]
)
def test_every_answer_carries_the_policy(page: Served, address: str) -> None:
    headers = page.get(address).headers
    assert headers["content-security-policy"] == POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cache-control"] in ("no-store", "no-cache")
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8300", "LOCALHOST:1", "localhost.", "[::1]:8300", "[::1]"]
)
def test_it_answers_under_its_own_names(page: Served, host: str) -> None:
    assert page.get("/", host=host).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "192.168.1.5",
        "[::2]",
        "",
        "a:b",
        "[::1",
    ],
)
def test_it_refuses_any_other_name(page: Served, host: str) -> None:
    answer = page.get("/c/story", host=host)
    assert answer.status in (400, 421)
    assert "cats" not in answer.text


def test_a_request_that_names_no_host_is_refused(page: Served) -> None:
    place = urlsplit(page.address)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=20)
    connection._http_vsn, connection._http_vsn_str = 10, "HTTP/1.0"  # type: ignore[attr-defined]
    connection.putrequest("GET", "/c/story", skip_host=True)
    connection.endheaders()
    assert connection.getresponse().status == 400
    connection.close()


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_it_only_reads(page: Served, method: str) -> None:
    answer = page.get("/c/story", method=method)
    assert answer.status == 405
    assert answer.headers["allow"] == "GET, HEAD"


def test_head_gives_the_headers_alone(page: Served) -> None:
    answer = page.get("/c/story", method="HEAD")
    assert (answer.status, answer.text) == (200, "")


@pytest.mark.parametrize(
    ("address", "status", "said"),
    [
        ("/c/nobody", 404, "There is no conversation 'nobody'"),
        ("/c/nobody/news", 404, "There is no conversation"),
        ("/c/%00", 404, "control character"),
        ("/c/%FF", 404, "There is no conversation"),
        ("/c/story/99/buffer", 404, "it goes up to 7"),
        ("/c/story/99/event", 404, "it goes up to 7"),
        ("/c/story/-1/buffer", 400, "is no version"),
        ("/c/story/x/buffer", 400, "is no version"),
        ("/c/story/2/buffer?from=x", 400, "is no version"),
        ("/c/story/2/spam", 404, "There is no tab"),
        ("/c/story/2/spam.json", 404, "There is no tab"),
        ("/c/story/diff/1..99/sendable", 404, "has no version 99"),
        ("/c/story/diff/1..2/spam", 404, "There is no comparison"),
        ("/c/story/diff?a=1&b=", 400, "is no version"),
        ("/static/..%2Fapp.py", 404, "no such file"),
        ("/static/../app.py", 404, "no page"),
        ("/nowhere", 404, "no page"),
    ],
)
def test_what_is_not_there_is_a_clear_page(page: Served, address: str, status: int, said: str) -> None:
    answer = page.get(address)
    assert answer.status == status
    assert said in Tags(answer.text).text
    assert "Traceback" not in answer.text
    assert "/" in Tags(answer.text).links()


def test_the_form_leads_to_the_address_of_a_comparison(page: Served) -> None:
    answer = page.get("/c/a%2Fb%2Fc/diff?a=1&b=3&of=buffer")
    assert answer.status == 303
    assert answer.headers["location"] == "/c/a%2Fb%2Fc/diff/1..3/buffer"


def test_a_comparison_names_the_first_changed_position_and_its_cause(page: Served) -> None:
    text = Tags(page.get("/c/story/diff/5..6/sendable").text).text
    assert "differs from position 2 on: 1 replaced" in text
    assert "stops matching at position 2" in text
    assert "event 6" in text
    assert "only goes on" in Tags(page.get("/c/story/diff/2..3/sendable").text).text
    assert "is the same" in Tags(page.get("/c/story/diff/6..7/sendable").text).text


def test_the_list_is_searched_by_id_and_by_what_was_said(page: Served) -> None:
    def found(query: str) -> list[str]:
        return [link for link in Tags(page.get(f"/?q={query}").text).links() if link.startswith("/c/")]

    assert found("STORY") == ["/c/story"]
    assert found("tom") == ["/c/story"]
    assert found("%F0%9F%90%88") == [Addresses("émoji 🐈 猫").newest]
    assert found("nothing-says-this") == []


def test_the_list_says_what_waits_in_a_conversation(page: Served) -> None:
    text = Tags(page.get("/?q=story").text).text
    assert "7 events, 4 entries" in text
    assert "1 held" in text
    assert "1 open call" in Tags(page.get("/?q=sp%20ace").text).text


def test_the_list_goes_on_page_by_page(tmp_path: Path) -> None:
    names = [f"n{number:03}" for number in range(120)]
    with ConversationStore(tmp_path / "many.db", durability="normal") as store:
        for name in names:
            store.append(name, user())
    seen: list[str] = []
    with served(tmp_path / "many.db") as page:
        address: str | None = "/"
        while address:
            links = Tags(page.get(address).text).links()
            seen += [link.removeprefix("/c/") for link in links if link.startswith("/c/")]
            address = next((link for link in links if "after=" in link), None)
    assert seen == names


def test_an_empty_store_says_how_to_begin(tmp_path: Path) -> None:
    ConversationStore(tmp_path / "empty.db").close()
    with served(tmp_path / "empty.db") as page:
        answer = page.get("/")
    assert answer.status == 200
    assert "There are no conversations in this store" in Tags(answer.text).text


def test_a_damaged_conversation_is_shown_as_far_as_it_goes(cats: Path) -> None:
    with ConversationStore(cats) as store:
        store.append("dogs", user("dogs?"))
    damage(cats, "cats", 4)
    with served(cats) as page:
        whole, broken, event = (page.get(f"/c/cats/{at}") for at in ("2/buffer", "6/buffer", "6/event"))
        assert page.get("/c/dogs").status == 200
        assert page.get("/c/cats/4/event").status == 500
        assert page.get("/c/cats").status == 500
        assert "damaged" in Tags(page.get("/").text).text
        assert page.get("/c/cats/diff/1..6/buffer").status == 500
    assert whole.status == 200
    assert "damaged" in Tags(whole.text).text
    assert broken.status == 500
    assert "cannot be rebuilt" in Tags(broken.text).text
    assert "/c/cats/3/buffer" in Tags(broken.text).links()
    assert event.status == 200
    assert "PlaceholderReplaced" in Tags(event.text).text


def test_what_a_living_writer_records_is_seen_at_once(tmp_path: Path) -> None:
    path = tmp_path / "live.db"
    with ConversationStore(path) as writer:
        writer.append("c", user("one"))
        with served(path) as page:
            assert page.get("/c/c/news").json == {"version": 2}
            assert path.with_name("live.db-wal").stat().st_size
            writer.append("c", assistant("two"))
            assert page.get("/c/c/news").json == {"version": 3}
            assert "two" in Tags(page.get("/c/c").text).text
            writer.append("new", user("three"))
            assert "three" in Tags(page.get("/c/new/2/wire").text).text


def test_a_page_that_is_looked_at_changes_nothing(store: Path, page: Served) -> None:
    def rows() -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as database:
            names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            return [row for (name,) in names for row in database.execute(f"SELECT * FROM {name}")]

    before = rows()
    for address in ("/", "/c/story", "/c/story/diff/1..6/held", "/c/story/3/wire?part=events"):
        assert page.get(address).status == 200
    assert rows() == before


def test_a_list_of_many_entries_is_shown_in_windows(tmp_path: Path) -> None:
    with ConversationStore(tmp_path / "long.db", durability="normal") as store:
        store.append("c", [user(f"said {number}") for number in range(300)])
    with served(tmp_path / "long.db") as page:
        end = Tags(page.get("/c/c/301/buffer").text)
        assert "entry 300" in end.text
        assert "entry 100" not in end.text.split("JSON")[1]
        earlier = next(link for link in end.links() if "from=" in link)
        assert "said 185" in page.get(earlier).text
        middle = Tags(page.get("/c/c/150/sendable").text).text
        assert "position 148" in middle
        assert len(page.get("/c/c/150/buffer?part=events").text) < 100_000


def test_a_file_of_the_page_is_sent_once(page: Served) -> None:
    first = page.get("/static/page.js")
    assert first.headers["content-type"] == "text/javascript; charset=utf-8"
    assert page.get("/static/page.js", if_none_match=first.headers["etag"]).status == 304


def test_on_another_address_it_answers_under_that_and_under_digits(store: Path) -> None:
    with served(store, host="0.0.0.0") as page:
        assert page.get("/", host="192.168.1.5:8300").status == 200
        assert page.get("/", host="localhost").status == 200
        assert page.get("/", host="evil.example").status == 421
