"""The home page: the boards there are, with leader, members and last change of those in view."""

import json
import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.functions.page_views.conftest import Opener, Site
from tests.support.browser.axe import violations
from tests.support.browser.live_page import Shown
from tests.support.builders.page_boards import post

MANY = 120
ALL_IN_VIEW_ARE_READ = """() => [...document.querySelectorAll("#boards-there li")].every(row => {
    const box = row.getBoundingClientRect();
    return box.bottom <= 0 || box.top >= innerHeight || row.querySelector(".leader").textContent;
})"""

SCORES_BEYOND = """() => [...document.querySelectorAll(".points")].filter(score => {
    const digits = document.createRange();
    digits.selectNodeContents(score.firstChild);
    const ends = [".points", ".leader"].map(box => score.closest(box).getBoundingClientRect().right);
    return digits.getBoundingClientRect().right > Math.min(...ends);
}).map(score => score.textContent)"""


def names(page: Page) -> list[str]:
    return page.locator("#boards-there a").all_text_contents()


def asked(shown: Shown) -> list[str]:
    """The paths that the page asks for from now on."""
    paths: list[str] = []
    shown.page.on("request", lambda request: paths.append(urlsplit(request.url).path))
    return paths


@pytest.fixture
def many(empty_site: Site) -> Site:
    for number in range(MANY):
        post(empty_site.stack, f"run-{number:03}", {"ada": {"points": number}})
    return empty_site


def test_each_board_has_leader_members_and_last_change(site: Site, open_page: Opener) -> None:
    shown = open_page(site)
    row = shown.page.locator("#boards-there li", has_text="run-berlin")
    expect(row.locator(".leader")).to_have_text("Ádám Nagy1,005 points")
    expect(row.locator(".face")).to_have_attribute("data-initials", "ÁN")
    expect(row.locator(".members")).to_have_text("120 members")
    expect(row.locator(".changed")).to_have_text(re.compile(r"^changed \d+ s ago$"))
    expect(shown.page.locator("#boards-there li .leader", has_text="dee")).to_have_text("dee3 goals")
    expect(shown.page.locator("#state")).to_have_attribute("data-is", "live")
    assert names(shown.page)[:2] == ["league-a", "run-berlin"]
    shown.picture("home-phone")
    assert violations(shown.page) == []


@pytest.mark.parametrize("name", ["Ádám Nagy", "A person whose name goes on for quite a while"])
def test_a_phone_cuts_names_and_never_scores(empty_site: Site, open_page: Opener, name: str) -> None:
    for place, score in enumerate((7, 1_005, 999_999_999_999)):
        post(empty_site.stack, f"run-{place}", {"ada": {"points": score}})
    assert empty_site.stack.put("/members", json.dumps({"name": name}), id="ada")[0] == 200
    shown = open_page(empty_site)
    expect(shown.page.locator(".points")).to_have_text(["7 points", "1,005 points", "999,999,999,999 points"])
    assert shown.page.evaluate(SCORES_BEYOND) == []
    shown.picture("home-scores")


@pytest.mark.parametrize("width", [390, 1280])
def test_boards_and_back(site: Site, open_page: Opener, width: int) -> None:
    shown = open_page(site, "", width)
    page = shown.page
    page.get_by_role("link", name="run-berlin").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#rows tr[data-rank]")).to_have_count(50)
    expect(page.locator("#home")).to_be_hidden()
    expect(page.locator("#title")).to_be_focused()
    page.go_back()
    expect(page.locator("#boards-there li .leader").first).to_be_visible()
    expect(page.locator("#ranking")).to_be_hidden()
    assert page.title() == "Standings"
    page.go_forward()
    expect(page.locator("#rows tr[data-rank]")).to_have_count(50)
    page.get_by_role("link", name="All boards").click()
    expect(page.locator("#title")).to_have_text("All boards")
    assert urlsplit(page.url).query == ""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_boards_are_found_by_the_beginning_of_their_names(site: Site, open_page: Opener) -> None:
    page = open_page(site).page
    box = page.get_by_role("searchbox", name="Find a board")
    page.keyboard.press("/")
    box.press_sequentially("run-")
    expect(page.locator("#boards-there a").first).to_have_text("run-berlin")
    box.press_sequentially("p")
    expect(page.locator("#boards-there a")).to_have_text(["run-paris"])
    assert page.url.endswith("?prefix=run-p")
    page.reload()
    expect(page.locator("#boards-there a")).to_have_text(["run-paris"])
    expect(box).to_have_value("run-p")
    box.fill("Run")
    expect(page.locator("#no-boards")).to_have_text(
        "No board's name begins with “Run”. Small and capital letters differ."
    )
    assert violations(page) == []
    box.fill("a b")
    expect(page.locator("#no-boards")).to_have_text("prefix: no name of a board begins with 'a b'")
    box.fill("")
    expect(page.locator("#boards-there a").first).to_have_text("league-a")
    expect(page.locator("#no-boards")).to_be_hidden()


def test_more_boards_come_page_by_page_and_only_those_in_view_are_read(many: Site, open_page: Opener) -> None:
    shown = open_page(many)
    page = shown.page
    expect(page.locator("#boards-there li")).to_have_count(50)
    expect(page.locator("#boards-there li .leader").nth(3)).to_contain_text("ada")
    paths = asked(shown)
    page.get_by_role("button", name="More boards").click()
    expect(page.locator("#boards-there li")).to_have_count(100)
    page.get_by_role("button", name="More boards").click()
    expect(page.locator("#boards-there li")).to_have_count(MANY)
    expect(page.locator("#more")).to_be_hidden()
    assert names(page) == [f"run-{number:03}" for number in range(MANY)]
    page.wait_for_function(ALL_IN_VIEW_ARE_READ)
    paths.clear()
    page.locator("#boards-there li").last.scroll_into_view_if_needed()
    expect(page.locator("#boards-there li .leader").last).to_have_text(f"ada{MANY - 1} points")
    # Two reads for each board in view: its definition, and the first of its list.
    in_view = 844 // 55 + 1
    assert 2 <= len(paths) <= 2 * in_view
    assert not any(path.startswith("/boards/run-06") for path in paths)
    page.get_by_role("link", name="run-119").click()
    expect(page.locator("#rows tr[data-rank]")).to_have_count(1)
    page.go_back()
    expect(page.locator("#boards-there li")).to_have_count(MANY)


def test_reads_stop_while_nobody_looks(site: Site, open_page: Opener) -> None:
    shown = open_page(site)
    page = shown.page
    page.clock.install()
    page.reload()
    expect(page.locator("#boards-there li .leader").first).not_to_be_empty()
    page.clock.run_for(1_000)
    paths = asked(shown)
    page.clock.run_for(31_000)
    shown.page.wait_for_timeout(500)
    # A round: the list of boards, and the first of each. The definitions are known.
    assert paths.count("/boards") == 1
    assert len([path for path in paths if path.endswith("/all")]) == 4
    assert len(paths) == 5
    page.evaluate(
        "Object.defineProperty(document, 'hidden', {get: () => true, configurable: true});"
        "document.dispatchEvent(new Event('visibilitychange'))"
    )
    paths.clear()
    page.clock.run_for(120_000)
    page.wait_for_timeout(300)
    assert paths == []
    page.evaluate("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
    page.clock.run_for(1_000)
    page.wait_for_timeout(500)
    assert "/boards" in paths


def test_a_stack_without_a_board_says_how_to_begin(empty_site: Site, open_page: Opener) -> None:
    shown = open_page(empty_site)
    expect(shown.page.locator("#begin")).to_contain_text("No board yet")
    expect(shown.page.locator("#example")).to_contain_text(f"curl {empty_site.address}/events -d")
    expect(shown.page.locator("#boards-there li")).to_have_count(0)
    shown.picture("home-empty")
    assert violations(shown.page) == []


def test_it_says_so_when_the_api_is_away_and_goes_on_when_it_is_back(site: Site, open_page: Opener) -> None:
    shown = open_page(site)
    expect(shown.page.locator("#boards-there li .leader").first).not_to_be_empty()
    shown.page.context.set_offline(True)
    shown.page.fill("#prefix", "run-b")
    expect(shown.page.locator("#state")).to_have_attribute("data-is", "offline")
    expect(shown.page.locator("#note")).to_contain_text("cannot be reached")
    shown.page.context.set_offline(False)
    expect(shown.page.locator("#boards-there a")).to_have_text(["run-berlin"])
    expect(shown.page.locator("#note")).to_be_hidden()
    shown.complaints = [one for one in shown.complaints if "ERR_INTERNET_DISCONNECTED" not in one]


def test_more_boards_come_once_however_often_somebody_clicks(many: Site, open_page: Opener) -> None:
    shown = open_page(many)
    held = shown.hold("**/boards?*cursor=*")
    shown.page.get_by_role("button", name="More boards").dblclick()
    shown.until(lambda: len(held) == 2, "asks twice")
    for route in held:
        route.continue_()
    expect(shown.page.locator("#boards-there li")).to_have_count(100)
    shown.page.wait_for_timeout(300)
    assert names(shown.page) == [f"run-{number:03}" for number in range(100)]


def test_the_board_beyond_a_full_page_can_be_had(empty_site: Site, open_page: Opener) -> None:
    for number in range(50):
        post(empty_site.stack, f"run-{number:03}", {"ada": {"points": number}})
    page = open_page(empty_site).page
    expect(page.locator("#boards-there li")).to_have_count(50)
    expect(page.locator("#more")).to_be_hidden()
    post(empty_site.stack, "run-late", {"ada": {"points": 1}})
    page.evaluate("void choose(false)")
    page.get_by_role("button", name="More boards").click()
    expect(page.locator("#boards-there li")).to_have_count(51)
