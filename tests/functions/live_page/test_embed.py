"""A list in a frame of another page, and how people get there: a link and a snippet to copy."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from benchmarks.measure.live_page.tab import ORIGIN, Tab
from tests.support.browser.axe import violations

pytestmark = [pytest.mark.thorough]

LOCKED = "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no', 'SecurityError'); }});"
ME = "localStorage.setItem('standings-me', 'm030');"

Open = Callable[..., Tab]
Score = Callable[..., None]


def test_a_frame_shows_the_list_alone(opened: Open) -> None:
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


def test_its_links_open_the_whole_page_beside(opened: Open) -> None:
    tab = opened("board=b&window=day&embed")
    title = tab.page.locator("#title a")
    expect(title).to_have_text("b · points · day")
    member = tab.page.locator("#rows td.who a").nth(2)
    expect(member).to_have_text("m002")
    for link, arguments in ((title, ""), (member, "&member=m002")):
        expect(link).to_have_attribute("href", f"{ORIGIN}/?board=b&metric=points&window=day{arguments}")
        expect(link).to_have_attribute("target", "_blank")
        expect(link).to_have_attribute("rel", "noopener")


def test_it_works_where_a_browser_stores_nothing(opened: Open, score: Score) -> None:
    tab = opened("board=b&window=day&embed", LOCKED)
    score({"m007": 500})
    tab.pass_seconds(5)
    expect(tab.page.locator("#rows td.who").first).to_have_text("m007")


def test_the_address_says_how_many_rows(opened: Open) -> None:
    tab = opened("board=b&embed=25")
    expect(tab.page.locator("#rows td.who")).to_have_count(25)
    tab = opened("board=b&embed=900")
    expect(tab.page.locator("#rows td.who")).to_have_count(50)
    for unfit in ("-5", "0", "many"):
        tab = opened(f"board=b&embed={unfit}")
        expect(tab.page.locator("#rows td.who")).to_have_count(10)


def test_a_frame_that_is_scrolled_out_of_sight_asks_nothing(opened: Open, score: Score) -> None:
    tab = opened("board=b&embed")
    tab.page.route(
        "https://elsewhere.invalid/",
        lambda route: route.fulfill(
            content_type="text/html",
            body=f'<!doctype html><iframe src="{ORIGIN}/?board=b&embed" height="500"></iframe><p>' + "text<br>" * 400,
        ),
    )
    tab.page.goto("https://elsewhere.invalid/")
    list_ = tab.page.frame_locator("iframe").locator("#rows td.who")
    expect(list_).to_have_count(10)
    tab.settle()
    tab.page.evaluate("scrollTo(0, 5000)")
    tab.page.wait_for_timeout(300)
    tab.lists.clear()
    tab.pass_seconds(30, lambda _: score({"m000": 1}))
    assert tab.lists == []
    tab.page.evaluate("scrollTo(0, 0)")
    tab.page.wait_for_timeout(300)
    tab.pass_seconds(3)
    assert tab.lists


def test_the_snippet_can_be_copied(opened: Open) -> None:
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


def test_what_a_browser_does_not_copy_stands_there_to_be_copied(opened: Open) -> None:
    tab = opened("board=b&window=day", "Object.defineProperty(navigator, 'clipboard', {value: undefined});")
    tab.page.get_by_role("button", name="Copy link").click()
    dialog = tab.page.get_by_role("dialog", name="A link to this view")
    expect(dialog.get_by_role("textbox")).to_have_value(tab.page.url)
    assert tab.page.evaluate("getSelection().toString()") == tab.page.url


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_of_it_is_fit_for_everyone(opened: Open, scheme: Any) -> None:
    tab = opened("board=b&window=day&embed", color_scheme=scheme, viewport={"width": 360, "height": 500})
    tab.page.clock.resume()
    assert violations(tab.page) == []
    assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tab = opened("board=b&window=day", color_scheme=scheme, viewport={"width": 390, "height": 800})
    tab.page.get_by_role("button", name="Embed").click()
    tab.page.clock.resume()
    assert violations(tab.page) == []
    assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
