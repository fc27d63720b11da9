"""The list on a phone: it starts high, the controls fold away, and nothing takes room that says nothing."""

import pytest
from playwright.sync_api import expect

from tests.functions.page_views.conftest import Opener, Site
from tests.support.browser.axe import violations

ROWS = """() => [...document.querySelectorAll("#rows tr[data-rank]")].map(row => row.getBoundingClientRect())
    .filter(box => box.bottom <= innerHeight).map(box => box.top)"""


@pytest.mark.parametrize("window", ["all", "day"])
def test_the_first_screen_of_a_phone_is_the_list(site: Site, open_page: Opener, window: str) -> None:
    shown = open_page(site, f"?board=run-berlin&window={window}")
    expect(shown.page.locator("#rows tr[data-rank]")).to_have_count(50)

    tops = shown.page.evaluate(ROWS)
    assert tops[0] < 200
    assert len(tops) >= 11
    assert shown.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shown.picture(f"phone-{window}")


def test_the_controls_fold_away_and_the_choice_stays_readable(site: Site, open_page: Opener) -> None:
    page = open_page(site, "?board=run-berlin&window=day").page
    fold, controls = page.locator("#fold"), page.locator("#controls")
    expect(fold).to_contain_text("day")
    expect(fold).to_contain_text("20")
    expect(page.locator("#title")).to_have_text("run-berlin · points")
    expect(controls).to_be_hidden()
    expect(fold).to_have_attribute("aria-expanded", "false")
    fold.focus()
    page.keyboard.press("Enter")
    expect(fold).to_have_attribute("aria-expanded", "true")
    for name in ("#metric", "#windows", "#periods", "#find"):
        expect(page.locator(name)).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name="last 7 days", exact=True).click()
    expect(fold).to_contain_text("last 7 days")
    fold.focus()
    page.keyboard.press("Space")
    expect(controls).to_be_hidden()
    assert violations(page) == []


def test_the_key_that_searches_unfolds_the_controls(site: Site, open_page: Opener) -> None:
    page = open_page(site, "?board=run-berlin").page
    expect(page.locator("#rows tr[data-rank]")).to_have_count(50)
    page.keyboard.press("/")
    expect(page.locator("#member")).to_be_focused()


@pytest.mark.parametrize("width", [390, 1280])
def test_movement_takes_no_room_where_nothing_moves(site: Site, open_page: Opener, width: int) -> None:
    page = open_page(site, "?board=run-berlin&window=all", width).page
    moved = page.locator("#rows tr[data-rank] .moved")
    expect(moved).to_have_count(50)
    expect(moved.first).to_be_hidden()
    page.goto(f"{site.address}/?board=run-berlin&window=day")
    expect(moved.first).to_be_visible()


def test_a_desk_has_the_controls_open(site: Site, open_page: Opener) -> None:
    page = open_page(site, "?board=run-berlin&window=day", 1280, 800).page
    expect(page.locator("#controls")).to_be_visible()
    expect(page.locator("#fold")).to_be_hidden()
    expect(page.get_by_role("combobox", name="Find a member")).to_be_visible()
    expect(page.locator("#rows tr[data-rank]")).to_have_count(50)
    assert len(page.evaluate(ROWS)) >= 13
    assert violations(page) == []
