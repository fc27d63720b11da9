"""A list in a frame of another page, and how people get there: a link and a snippet to copy."""

import re

import pytest
from playwright.sync_api import FrameLocator, expect

from benchmarks.measure.live_page.tab import ORIGIN
from tests.functions.live_page.conftest import Score
from tests.support.browser.live_page import Opener, View

pytestmark = [pytest.mark.thorough]

LOCKED = "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no', 'SecurityError'); }});"
ME = "localStorage.setItem('standings-me', 'm030');"
ELSEWHERE = "https://elsewhere.invalid/"
FRAME = f'<iframe src="{ORIGIN}/?board=b&embed" height="500"></iframe>'
OBSERVED = """
    window.IntersectionObserver = class {
        constructor(tell) { this.tell = tell; window.observers = [...(window.observers || []), this]; }
        observe() {}
        disconnect() {}
    };"""


def test_a_frame_shows_the_list_alone(opened: Opener) -> None:
    tab = opened("board=b&window=day&member=m003&embed", ME)
    tab.pass_seconds(1)
    expect(tab.page.locator("#rows td.who")).to_have_count(10)
    for control in ("#controls", "#list .pager", "#found", "#mine", "#share"):
        expect(tab.page.locator(control)).to_be_hidden()
    assert tab.page.locator("button:visible, input:visible, select:visible").count() == 0
    expect(tab.page.locator("#rows tr.me")).to_have_text(re.compile("m003"))
    # Nobody's place is read, and nobody's row is shown.
    assert not any("me=" in query for _, query in tab.lists)
    assert tab.asked["distribution"] == tab.asked["history"] == 0
    assert tab.page.url.endswith("embed")


def test_its_links_open_the_whole_page_beside(opened: Opener) -> None:
    tab = opened("board=b&window=day&embed")
    title = tab.page.locator("#title a")
    expect(title).to_have_text("b · points · day")
    member = tab.page.locator("#rows td.who a").nth(2)
    expect(member).to_have_text("m002")
    for link, arguments in ((title, ""), (member, "&member=m002")):
        expect(link).to_have_attribute("href", f"{ORIGIN}/?board=b&metric=points&window=day{arguments}")
        expect(link).to_have_attribute("target", "_blank")
        expect(link).to_have_attribute("rel", "noopener")


def test_it_works_where_a_browser_stores_nothing(opened: Opener, score: Score) -> None:
    tab = opened("board=b&window=day&embed", LOCKED)
    score({"m007": 500})
    tab.pass_seconds(5)
    expect(tab.page.locator("#rows td.who").first).to_have_text("m007")


def test_the_address_says_how_many_rows(opened: Opener) -> None:
    tab = opened("board=b&embed=25")
    expect(tab.page.locator("#rows td.who")).to_have_count(25)
    for given, rows in (("900", 50), ("-5", 10), ("0", 10), ("many", 10)):
        tab.open(f"board=b&embed={given}")
        expect(tab.page.locator("#rows td.who")).to_have_count(rows)


def elsewhere(tab: View, body: str) -> FrameLocator:
    """Another page with the frame in it."""
    tab.instead[f"^{ELSEWHERE}$"] = {"content_type": "text/html", "body": f"<!doctype html>{body}"}
    tab.page.goto(ELSEWHERE)
    tab.settle()
    return tab.page.frame_locator("iframe")


def scroll(tab: View, to: int, seen: bool) -> None:
    tab.page.evaluate("to => scrollTo(0, to)", to)
    expect(tab.page.frame_locator("iframe").locator("body")).to_be_in_viewport() if seen else None
    while tab.page.frames[1].evaluate("unseen") == seen:
        tab.drawn()


def test_a_frame_that_is_scrolled_out_of_sight_asks_nothing(opened: Opener, score: Score) -> None:
    tab = opened("board=b&embed")
    expect(elsewhere(tab, f"{FRAME}<p>{'text<br>' * 400}").locator("#rows td.who")).to_have_count(10)
    scroll(tab, 5000, seen=False)
    tab.lists.clear()
    tab.pass_seconds(30, lambda _: score({"m000": 1}))
    assert tab.lists == []
    scroll(tab, 0, seen=True)
    tab.pass_seconds(3)
    assert tab.lists


def test_one_whose_first_read_failed_out_of_sight_reads_when_it_is_seen(opened: Opener) -> None:
    tab = opened("board=b", missing="503")
    tab.instead["/boards/b$"] = {"status": 503, "json": {}}
    frame = elsewhere(tab, f'<div style="height: 9000px"></div>{FRAME}')
    expect(frame.locator("#state")).to_have_attribute("data-is", "offline")
    scroll(tab, 0, seen=False)
    del tab.instead["/boards/b$"]
    tab.pass_seconds(5)
    scroll(tab, 9000, seen=True)
    tab.pass_seconds(10)
    expect(frame.locator("#rows td.who")).to_have_count(10)


def test_what_was_seen_last_counts(opened: Opener, score: Score) -> None:
    tab = opened("board=b&embed", OBSERVED)
    tell = "seen => observers.at(-1).tell(seen.map(isIntersecting => ({isIntersecting})))"
    for seen, asks in (([True, False], False), ([False, True], True)):
        tab.page.evaluate(tell, seen)
        tab.settle()
        tab.lists.clear()
        tab.pass_seconds(20, lambda _: score({"m000": 1}))
        assert bool(tab.lists) == asks


def test_the_snippet_can_be_copied(opened: Opener) -> None:
    tab = opened("board=b&window=day", permissions=["clipboard-read", "clipboard-write"])
    tab.page.get_by_role("button", name="Embed").click()
    dialog = tab.page.get_by_role("dialog", name="Embed this list")
    snippet = dialog.get_by_role("textbox").input_value()
    assert re.fullmatch(
        rf'<iframe src="{ORIGIN}/\?board=b&amp;metric=points&amp;window=day&amp;embed" title="b · points" '
        r'width="100%" height="\d+" loading="lazy" style="border: 0px;"></iframe>',
        snippet,
    )
    dialog.get_by_role("button", name="Copy").click()
    expect(tab.page.locator("#copy")).to_have_text("Copied")
    assert tab.page.evaluate("navigator.clipboard.readText()") == snippet
    tab.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    tab.page.get_by_role("button", name="Copy link").click()
    expect(tab.page.locator("#link")).to_have_text("Copied")
    assert tab.page.evaluate("navigator.clipboard.readText()") == tab.page.url


def test_what_a_browser_does_not_copy_stands_there_to_be_copied(opened: Opener) -> None:
    tab = opened("board=b&window=day", "Object.defineProperty(navigator, 'clipboard', {value: undefined});")
    tab.page.get_by_role("button", name="Copy link").click()
    dialog = tab.page.get_by_role("dialog", name="A link to this view")
    expect(dialog.get_by_role("textbox")).to_have_value(tab.page.url)
    assert tab.page.evaluate("getSelection().toString()") == tab.page.url
