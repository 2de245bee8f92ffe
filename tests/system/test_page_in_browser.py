"""The page in a real browser: what scripts add to it, how it looks, and that hostile text stays text."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import NARROW, WIDE, Watched, browser, require_chromium
from tests.contract.command_line import run
from tests.serving import Served, served
from tests.spec import artifact, call, result, turn, user
from turnledger import ConversationStore

HOSTILE = "<script>document.title='got'</script><img src=x onerror=\"document.title='got'\">"
LONG = 1_200

# of each text on the page, how it stands out: its ratio by the rule of WCAG, and what it says
CONTRASTS = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const light = (color) => {
    const part = (v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(color[0]) + 0.7152 * part(color[1]) + 0.0722 * part(color[2]);
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = rgba(getComputedStyle(at).backgroundColor);
      if (color[3] > 250) return color;
    }
    return [255, 255, 255, 255];
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.data.trim();
    if (!text || !element.checkVisibility()) continue;
    const [a, b] = [light(rgba(getComputedStyle(element).color)), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    found.push([Math.round(ratio * 100) / 100, `${element.className} ${text.slice(0, 30)}`]);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    require_chromium()
    with browser() as running:
        yield running


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("browser") / "page.db"
    with ConversationStore(path, durability="normal") as made:
        made.append("story", [user("cats?"), turn(call("c1", {"q": "cats"}))], turn_id="t1")
        made.append("story", user("hello?"))
        made.append("story", result("c1", '{"cats": [{"name": "Tom", "lives": 9}, {"name": "Kit"}]}'))
        made.append("story", {"role": "assistant", "content": "Two: Tom and Kit. " * 80})
        made.hold("story", "run-1", [artifact("link", url="https://example.com")])
        made.write_back("story", "run-1", {"role": "assistant", "content": "Here."})
        made.append("story", [user("and now?"), turn(call("c2", {"q": "dogs"}))])
        made.append("<b>a/b</b>", [user(HOSTILE), turn(call("c1", {"q": HOSTILE}))])
        made.append("<b>a/b</b>", result("c1", HOSTILE))
        made.append("long", [user(f"said {number}") for number in range(LONG)])
    return path


@pytest.fixture(scope="module")
def server(store: Path) -> Iterator[Served]:
    with served(store) as running:
        yield running


@pytest.fixture
def watched(chromium: Browser, server: Served) -> Iterator[Watched]:
    """A page that must have had nothing to complain of."""
    context = chromium.new_context(viewport=WIDE, base_url=server.address, reduced_motion="reduce")
    context.set_default_timeout(8_000)
    found = Watched(context.new_page(), server.address)
    yield found
    context.close()
    assert found.complaints == []


@pytest.fixture
def page(watched: Watched) -> Page:
    return watched.page


def at(page: Page, version: int, tab: str = "buffer", conversation: str = "story") -> None:
    """The page has come to a version: its address, its number, its line, its state."""
    page.wait_for_url(f"**/c/{conversation}/{version}/{tab}")
    expect(page.locator("#at")).to_have_text(str(version))
    expect(page.locator("#state .view-of")).to_have_attribute("data-version", str(version))
    if version:
        expect(page.locator(".line[aria-current]")).to_have_attribute("data-version", str(version))


def test_keys_walk_through_the_versions(page: Page) -> None:
    page.goto("/c/story/4/buffer")
    for key, version in [("ArrowRight", 5), ("ArrowLeft", 4), ("End", 13), ("PageUp", 3), ("Home", 0)]:
        page.keyboard.press(key)
        at(page, version)
    expect(page.locator("#state .empty")).to_have_text("The buffer is empty.")
    page.locator("#scrubber").focus()
    page.keyboard.press("PageDown")
    at(page, 10)
    page.go_back()
    page.wait_for_url("**/c/story/4/buffer")


def test_the_mouse_moves_the_scrubber(page: Page) -> None:
    page.goto("/c/story/13/sendable")
    box = page.locator("#scrubber").bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] - 6, box["y"] + 16)
    page.mouse.down()
    page.mouse.move(box["x"] + 6 + (box["width"] - 12) * 4 / 13, box["y"] + 16, steps=6)
    page.mouse.up()
    at(page, 4, "sendable")


def test_it_plays_until_the_end(page: Page) -> None:
    page.goto("/c/story/11/buffer")
    page.keyboard.press("Space")
    expect(page.locator("#play")).to_have_attribute("aria-pressed", "true")
    at(page, 13)
    expect(page.locator("#play")).to_have_attribute("aria-pressed", "false")


def test_a_line_and_a_tab_lead_to_their_address(page: Page) -> None:
    page.goto("/c/story")
    page.locator(".line", has_text="stands in for it").click()
    at(page, 4)
    page.get_by_role("link", name="Wire").click()
    at(page, 4, "wire")
    expect(page.locator("#state .message.changed")).to_contain_text("placeholder")
    expect(page).to_have_title("story, version 4 · turnledger")
    page.reload()
    at(page, 4, "wire")


def test_the_search_finds_as_one_types(page: Page) -> None:
    page.goto("/c/story/4/buffer")
    box = page.get_by_role("searchbox")
    box.fill("said 77")
    expect(page.locator("#list .rows a")).to_have_count(1)
    expect(page.locator("#list .rows a")).to_have_attribute("href", "/c/long")
    box.fill("no such words")
    expect(page.locator("#list .empty")).to_contain_text("No conversation has")
    box.fill("")
    expect(page.locator("#list .rows a")).to_have_count(3)
    expect(page.locator("#list [aria-current]")).to_have_attribute("href", "/c/story")
    page.locator("#list .rows a", has_text="a/b").click()
    page.wait_for_url("**/c/%3Cb%3Ea%2Fb%3C%2Fb%3E")


def test_two_versions_are_pinned_and_compared(page: Page) -> None:
    page.goto("/c/story/4/buffer")
    page.get_by_role("button", name="Pin").click()
    page.keyboard.press("End")
    at(page, 13)
    expect(page.locator("#a")).to_have_value("4")
    expect(page.locator("#pinned")).to_be_visible()
    page.get_by_role("button", name="Compare").click()
    page.wait_for_url("**/c/story/diff/4..13/sendable")
    expect(page.locator("#state .happened")).to_contain_text("Begun by event 6")
    expect(page.locator(".line.between")).to_have_count(9)
    page.get_by_role("link", name="Buffer", exact=True).click()
    page.wait_for_url("**/c/story/diff/4..13/buffer")
    page.locator("#state .cause a").click()
    at(page, 6)


def test_a_new_event_arrives_while_the_page_is_open(page: Page, store: Path) -> None:
    page.goto("/c/%3Cb%3Ea%2Fb%3C%2Fb%3E")
    expect(page.locator("#at")).to_have_text("4")
    with ConversationStore(store) as writer:
        writer.append("<b>a/b</b>", user("This came just now."))
    expect(page.locator(".line", has_text="This came just now.")).to_be_visible()
    expect(page.locator("#live")).to_have_text("1 new event")
    expect(page.locator("#at")).to_have_text("5")  # it was opened at the newest, and follows
    expect(page.locator("#scrubber")).to_have_attribute("max", "5")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#at")).to_have_text("4")
    with ConversationStore(store) as writer:
        writer.append("<b>a/b</b>", user("And this."))
    expect(page.locator(".line", has_text="And this.")).to_be_visible()
    expect(page.locator("#at")).to_have_text("4")  # who has walked away is left where they are


def test_hostile_text_stays_text(page: Page) -> None:
    for tab in ("buffer", "sendable", "wire", "event"):
        page.goto(f"/c/%3Cb%3Ea%2Fb%3C%2Fb%3E/4/{tab}")
        expect(page.locator("#state")).to_contain_text("<script>document.title=")
        page.keyboard.press("ArrowLeft")
        page.wait_for_url(f"**/3/{tab}")
    assert page.locator("img").count() == 0
    assert page.locator("b", has_text="a/b").count() == 0
    assert "got" not in page.title()


def test_a_long_conversation_is_drawn_only_where_one_looks(page: Page) -> None:
    page.goto("/c/long/600/buffer")
    assert page.locator(".line").count() <= 300
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    at(page, 1, conversation="long")
    expect(page.locator(".line[aria-current]")).to_be_in_viewport()
    page.keyboard.press("End")
    at(page, LONG + 1, conversation="long")
    expect(page.locator(".line[aria-current]")).to_be_in_viewport()
    assert page.locator("#state .message").count() <= 60
    assert page.locator(".line").count() <= 800
    page.get_by_role("link", name="Earlier").click()
    expect(page.locator("#state .message").first).to_contain_text("entry 1081")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_every_text_stands_out_enough(page: Page, size: object, theme: str) -> None:
    page.set_viewport_size(size)  # type: ignore[arg-type]
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    for address in ("4/buffer", "9/held", "6/event", "diff/4..13/buffer"):
        page.goto(f"/c/story/{address}")
        for view in ("list", "events", "state"):
            page.evaluate(f"document.getElementById('view-{view}').checked = true")
            found = page.evaluate(CONTRASTS)
            assert len(found) > 15
            assert [told for told in found if told[0] < 4.5] == []


@pytest.mark.parametrize(
    "address", ["/", "/c/story/6/buffer", "/c/story/6/event", "/c/story/diff/4..13/sendable"]
)
def test_a_narrow_page_is_not_wider_than_its_window(page: Page, address: str) -> None:
    page.set_viewport_size(NARROW)
    page.goto(address)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_a_narrow_page_shows_one_of_three_views(page: Page) -> None:
    page.set_viewport_size(NARROW)
    page.goto("/c/story/6/buffer")
    expect(page.locator("#state")).to_be_visible()
    expect(page.locator("#events")).to_be_hidden()
    page.get_by_text("Events", exact=True).click()
    expect(page.locator("#state")).to_be_hidden()
    page.locator(".line").nth(2).click()
    at(page, 3)
    expect(page.locator("#state")).to_be_visible()


def test_the_theme_is_the_systems_until_one_is_chosen_and_then_that(page: Page) -> None:
    def is_dark() -> bool:
        return bool(
            page.evaluate(
                "parseInt(getComputedStyle(document.documentElement).backgroundColor.slice(4)) < 99"
            )
        )

    page.emulate_media(color_scheme="dark")
    page.goto("/")
    assert is_dark()
    page.get_by_role("button", name="Light or dark").click()
    assert not is_dark()
    page.goto("/c/story/4/buffer")
    assert not is_dark()


def test_it_is_used_by_keyboard_alone(page: Page) -> None:
    page.goto("/c/story/4/buffer")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to the state")
    page.keyboard.press("Enter")
    expect(page.locator("#state")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Buffer")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    at(page, 4, "sendable")
    expect(page.locator(":focus")).to_have_text("Sendable")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.locator(".line[aria-current]").focus()
    page.keyboard.press("ArrowDown")
    at(page, 5, "sendable")
    expect(page.locator(":focus")).to_have_attribute("data-version", "5")


def test_it_can_be_read_without_scripts(chromium: Browser, server: Served) -> None:
    context = chromium.new_context(viewport=WIDE, base_url=server.address, java_script_enabled=False)
    page = context.new_page()
    page.goto("/c/story")
    page.get_by_role("link", name="One version back").click()
    page.wait_for_url("**/c/story/12/buffer")
    page.get_by_role("link", name="Wire").click()
    page.locator(".line", has_text="stands in").click()
    page.wait_for_url("**/c/story/4/wire")
    page.get_by_role("searchbox").fill("said 77")
    page.get_by_role("button", name="Search").click()
    page.locator(".rows a").click()
    page.wait_for_url("**/c/long")
    page.get_by_role("link", name="Events 1 to 100", exact=True).click()
    page.wait_for_url("**/c/long/100/buffer")
    page.locator("#a").fill("3")
    page.get_by_role("button", name="Compare").click()
    page.wait_for_url("**/c/long/diff/3..100/sendable")
    context.close()


def test_a_server_that_ends_is_noticed(chromium: Browser, store: Path) -> None:
    with served(store) as running:
        context = chromium.new_context(base_url=running.address)
        page = context.new_page()
        page.goto("/c/story/4/buffer")
        expect(page.locator("#live")).to_have_text("live")
    expect(page.locator("#live")).to_have_text("not connected", timeout=8_000)
    context.close()


def test_an_exported_file_opens_offline_and_runs_nothing(
    chromium: Browser, store: Path, tmp_path: Path
) -> None:
    file = tmp_path / "hostile.html"
    assert run("export", "<b>a/b</b>", "--format", "html", "--output", file, store=store).code == 0
    context = chromium.new_context(viewport=NARROW, offline=True)
    watched = Watched(context.new_page(), "file:")
    page = watched.page
    page.goto(file.as_uri())
    expect(page).to_have_title("<b>a/b</b> · turnledger")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".event > details[open]")).to_have_count(1)
    page.evaluate("document.querySelectorAll('details').forEach((found) => { found.open = true; })")
    expect(page.locator("main")).to_contain_text("<script>document.title=")
    assert page.evaluate("getComputedStyle(document.querySelector('.line')).display") == "grid"
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert [told for told in page.evaluate(CONTRASTS) if told[0] < 4.5] == []
    assert page.locator("img, script").count() == 0
    assert len(page.pdf()) > 10_000
    context.close()
    assert watched.complaints == []
