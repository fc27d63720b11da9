"""Whoever uses the keyboard stays where they are, or goes on where the page does."""

import pytest
from playwright.sync_api import Page, expect

from tests.functions.page_views.conftest import Opener, Site
from tests.support.builders.page_boards import post

pytestmark = pytest.mark.thorough


@pytest.fixture
def page(site: Site, open_page: Opener) -> Page:
    page = open_page(site, "?board=run-berlin&metric=points&window=day", 1280, 900).page
    expect(page.locator("#rows tr[data-rank]")).to_have_count(50)
    return page


def test_a_chosen_window_keeps_the_focus(page: Page) -> None:
    page.get_by_role("button", name="last 7 days").focus()
    page.keyboard.press("Enter")
    chosen = page.get_by_role("button", name="last 7 days")
    expect(chosen).to_have_attribute("aria-pressed", "true")
    expect(chosen).to_be_focused()


def test_a_chosen_member_is_read_on_at_the_card_and_closing_it_leads_back(page: Page) -> None:
    row = page.locator("#rows td.who button").nth(4)
    member = row.text_content() or ""
    row.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#rows tr.me")).to_have_count(1)
    expect(page.locator("#found-name")).to_have_text(member)
    expect(page.locator("#found-name")).to_be_focused()
    page.get_by_role("button", name="Close").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#found")).to_be_hidden()
    expect(page.locator("#title")).to_be_focused()


def test_who_is_not_me_any_more_goes_on_at_the_title(page: Page) -> None:
    page.locator("#rows td.who button").nth(4).click()
    page.get_by_role("button", name="This is me").click()
    page.get_by_role("button", name="Not me").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#mine")).to_be_hidden()
    expect(page.locator("#title")).to_be_focused()


@pytest.mark.parametrize(("button", "other"), [("Later period", "Earlier period"), ("First", "Next")])
def test_a_button_that_has_nothing_left_to_do_hands_the_focus_on(page: Page, button: str, other: str) -> None:
    exact = page.get_by_role("button", name=other, exact=True)
    exact.click()
    control = page.get_by_role("button", name=button, exact=True)
    expect(control).to_be_enabled()
    control.focus()
    page.keyboard.press("Enter")
    expect(control).to_be_disabled()
    expect(page.locator("#rows tr[data-rank]").first).to_be_visible()
    assert page.evaluate("document.activeElement !== document.body")


def test_a_new_board_takes_the_focus_from_none(site: Site, open_page: Opener) -> None:
    page = open_page(site).page
    page.get_by_role("link", name="run-paris").focus()
    post(site.stack, "run-aachen", {"ada": {"points": 1}})
    page.evaluate("void choose(false)")
    expect(page.locator("#boards-there li")).to_have_count(5)
    expect(page.get_by_role("link", name="run-paris")).to_be_focused()
