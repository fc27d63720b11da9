"""The home page: the boards there are, with leader, members and last change of those in view."""

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.support.aws.stack import Stack
from tests.support.browser.live_page import DESK, PHONE, Opener
from tests.support.browser.tab import ORIGIN
from tests.support.builders.querying import post_amounts

MANY = 120


def names(page: Page) -> list[str]:
    return page.locator("#boards-there a").all_text_contents()


def test_each_board_has_leader_members_and_last_change(open_page: Opener) -> None:
    tab = open_page("", viewport=PHONE)
    tab.drawn()
    tab.pass_seconds(1)
    row = tab.page.locator("#boards-there li", has_text="run-berlin")
    expect(row.locator(".leader")).to_have_text("Ádám Nagy1,005 points")
    expect(row.locator(".face")).to_have_attribute("data-initials", "ÁN")
    expect(row.locator(".members")).to_have_text("120 members")
    expect(row.locator(".changed")).to_have_text(re.compile(r"^changed .+ ago$"))
    expect(tab.page.locator("#boards-there li .leader", has_text="dee")).to_have_text("dee3 goals")
    expect(tab.page.locator("#state")).to_have_attribute("data-is", "live")
    assert names(tab.page) == ["league-a", "run-berlin", "run-paris", "run-rome"]


def test_a_phone_cuts_names_and_never_scores(open_bare: Opener, stack: Stack) -> None:
    for place, score in enumerate((7, 1_005, 999_999_999_999)):
        post_amounts(stack, f"run-{place}", {"ada": {"points": score}})
    assert stack.put("/members", {"name": "A person whose name goes on for quite a while"}, id="ada")[0] == 200
    tab = open_bare("", viewport=PHONE)
    tab.drawn()
    tab.pass_seconds(1)
    expect(tab.page.locator(".points")).to_have_text(["7 points", "1,005 points", "999,999,999,999 points"])
    assert tab.measured("scoresBeyond") == []


@pytest.mark.parametrize("viewport", [PHONE, DESK])
def test_boards_and_back(open_page: Opener, viewport: dict[str, int]) -> None:
    tab = open_page("", viewport=viewport)
    page = tab.page
    page.get_by_role("link", name="run-berlin").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#rows tr[data-rank]")).to_have_count(50)
    expect(page.locator("#home")).to_be_hidden()
    expect(page.locator("#title")).to_be_focused()
    page.go_back()
    expect(page.locator("#boards-there li").first).to_be_visible()
    expect(page.locator("#ranking")).to_be_hidden()
    assert page.title() == "Standings"
    page.go_forward()
    expect(page.locator("#rows tr[data-rank]")).to_have_count(50)
    page.get_by_role("link", name="All boards").click()
    expect(page.locator("#title")).to_have_text("All boards")
    assert urlsplit(page.url).query == ""
    assert tab.pixels_beyond() <= 0


def test_boards_are_found_by_the_beginning_of_their_names(open_page: Opener) -> None:
    tab = open_page("", missing="400")
    page = tab.page
    box, found = page.get_by_role("searchbox", name="Find a board"), page.locator("#boards-there a")
    page.keyboard.press("/")
    for typed, there in (("run-", ["run-berlin", "run-paris", "run-rome"]), ("p", ["run-paris"])):
        box.press_sequentially(typed)
        tab.pass_seconds(1)
        expect(found).to_have_text(there)
    assert page.url.endswith("?prefix=run-p")
    page.reload()
    tab.settle()
    expect(found).to_have_text(["run-paris"])
    expect(box).to_have_value("run-p")
    nothing = page.locator("#no-boards")
    for typed, said in (
        ("Run", "No board's name begins with “Run”. Small and capital letters differ."),
        ("a b", "prefix: no name of a board begins with 'a b'"),
    ):
        box.fill(typed)
        tab.pass_seconds(1)
        expect(nothing).to_have_text(said)
    box.fill("")
    tab.pass_seconds(1)
    expect(found.first).to_have_text("league-a")
    expect(nothing).to_be_hidden()


def test_more_boards_come_page_by_page_and_only_those_in_view_are_read(open_bare: Opener, stack: Stack) -> None:
    for number in range(MANY):
        post_amounts(stack, f"run-{number:03}", {"ada": {"points": number}})
    tab = open_bare("", viewport=PHONE)
    rows, more = tab.page.locator("#boards-there li"), tab.page.get_by_role("button", name="More boards")
    expect(rows).to_have_count(50)
    tab.held = "cursor="
    # More come once, however often somebody clicks.
    more.dblclick()
    tab.release()
    expect(rows).to_have_count(100)
    more.click()
    expect(rows).to_have_count(MANY)
    expect(more).to_be_hidden()
    assert names(tab.page) == [f"run-{number:03}" for number in range(MANY)]
    tab.drawn()
    tab.pass_seconds(1)
    assert tab.measured("allInViewAreRead")
    tab.paths.clear()
    rows.last.scroll_into_view_if_needed()
    tab.drawn()
    tab.pass_seconds(1)
    expect(rows.locator(".leader").last).to_have_text(f"ada{MANY - 1} points")
    # Two reads for each board in view: its definition, and the first of its list.
    in_view = PHONE["height"] // 55 + 1
    assert 2 <= len(tab.paths) <= 2 * in_view
    assert not any(path.startswith("/boards/run-06") for path in tab.paths)
    tab.page.get_by_role("link", name="run-119").click()
    expect(tab.page.locator("#rows tr[data-rank]")).to_have_count(1)
    tab.page.go_back()
    expect(rows).to_have_count(MANY)


def test_no_board_says_how_to_begin_and_the_one_beyond_a_full_page_can_be_had(open_bare: Opener, stack: Stack) -> None:
    tab = open_bare("")
    expect(tab.page.locator("#begin")).to_contain_text("No board yet")
    expect(tab.page.locator("#example")).to_contain_text(f"curl {ORIGIN}/events -d")
    expect(tab.page.locator("#boards-there li")).to_have_count(0)
    for number in range(50):
        post_amounts(stack, f"run-{number:03}", {"ada": {"points": number}})
    tab.open("")
    expect(tab.page.locator("#boards-there li")).to_have_count(50)
    expect(tab.page.locator("#more")).to_be_hidden()
    post_amounts(stack, "run-late", {"ada": {"points": 1}})
    tab.page.evaluate("void choose(false)")
    tab.page.get_by_role("button", name="More boards").click()
    expect(tab.page.locator("#boards-there li")).to_have_count(51)
    # A new one takes the focus from none.
    tab.page.get_by_role("link", name="run-001").focus()
    post_amounts(stack, "run-000-new", {"ada": {"points": 1}})
    tab.page.evaluate("void choose(false)")
    expect(tab.page.get_by_role("link", name="run-000-new")).to_be_visible()
    expect(tab.page.get_by_role("link", name="run-001")).to_be_focused()
