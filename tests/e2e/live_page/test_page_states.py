"""The live page when the API is unreachable, a ranking is empty or the tab is hidden; its accessibility."""

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from demo.embedded.stack import Deployment
from tests.support.browser.axe import violations
from tests.support.browser.live_page import Shown

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.xdist_group("deployment")]


def test_it_says_so_when_the_api_is_away_and_goes_on_when_it_is_back(shown: Shown) -> None:
    shown.open()
    before = shown.members()
    shown.page.context.set_offline(True)
    expect(shown.page.locator("#state")).to_have_attribute("data-is", "offline")
    expect(shown.page.locator("#note")).to_contain_text("cannot be reached")
    assert shown.members() == before
    shown.picture("offline")
    shown.page.context.set_offline(False)
    expect(shown.page.locator("#state")).to_have_attribute("data-is", "live")
    expect(shown.page.locator("#note")).to_be_hidden()
    shown.complaints = [one for one in shown.complaints if "ERR_INTERNET_DISCONNECTED" not in one]


def test_nobody_and_nothing_are_said_as_such(shown: Shown) -> None:
    shown.go(board="demo-nobody")
    expect(shown.page.locator("#wrong-said")).to_have_text("No event has come for the board “demo-nobody” yet.")
    shown.picture("empty")
    shown.go(window="day", period="2001-01-01")
    expect(shown.page.locator("#wrong-said")).to_have_text("This period is no longer kept.")
    shown.picture("gone")
    shown.complaints = [one for one in shown.complaints if "404" not in one]


def test_it_asks_no_more_while_nobody_looks(shown: Shown) -> None:
    shown.open()
    asked: list[str] = []
    shown.page.on("request", lambda request: asked.append(request.url))
    shown.page.evaluate(
        "Object.defineProperty(document, 'hidden', {get: () => true, configurable: true});"
        "document.dispatchEvent(new Event('visibilitychange'))"
    )
    shown.page.wait_for_timeout(500)
    asked.clear()
    shown.page.wait_for_timeout(5_000)
    assert asked == []
    shown.page.evaluate("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
    shown.until(lambda: bool(asked), "asks again")


def test_a_late_answer_does_not_bring_back_a_member_who_was_closed(shown: Shown) -> None:
    shown.open(window="day")
    held = shown.hold("**/distribution*")
    shown.page.fill("#member", "member-7")
    shown.page.keyboard.press("Enter")
    shown.until(lambda: bool(held), "asks for the distribution")
    shown.page.click("#forget")
    held[0].continue_()
    shown.page.wait_for_timeout(1_000)
    expect(shown.page.locator("#found")).to_be_hidden()


def test_a_late_answer_about_a_member_is_not_shown_for_another(shown: Shown) -> None:
    shown.open(window="day")
    held = shown.hold("**/points/day?*me=member-7")
    shown.page.fill("#member", "member-7")
    shown.page.keyboard.press("Enter")
    shown.until(lambda: bool(held), "asks for the place")
    shown.page.fill("#member", "member-3")
    shown.page.keyboard.press("Enter")
    expect(shown.page.locator("#found-rank strong")).not_to_be_empty()
    expect(shown.page.locator("#found-name")).to_have_text("member-3")
    for route in held:
        route.continue_()
    shown.page.wait_for_timeout(1_000)
    expect(shown.page.locator("#found-name")).to_have_text("member-3")
    expect(shown.page.locator("#rows td.who button", has_text=re.compile("^member-3$"))).to_be_visible()


def test_ranks_of_the_period_before_that_come_late_are_shown(shown: Shown) -> None:
    held = shown.hold("**/points/day/ranks*")
    shown.open(window="day")
    shown.until(lambda: bool(held), "asks for the ranks before")
    shown.page.locator("#rows td.who button").first.click()
    expect(shown.page.locator("#rows tr.me")).to_have_count(1)
    held[0].continue_()
    expect(shown.page.locator("#rows tr.me .moved span")).to_have_count(1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("name", "width", "height"), [("desk", 1100, 900), ("phone", 390, 800), ("wall", 1920, 1080)])
def test_it_is_fit_for_everyone(
    browser: Browser, deployment: Deployment, scheme: Any, name: str, width: int, height: int
) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
    )
    shown = Shown(context.new_page(), deployment.api_url)
    if name == "wall":
        shown.open(window="day", kiosk="")
    else:
        shown.open(window="day", member="member-7")
        expect(shown.page.locator("#picture rect.here")).to_have_count(1)
    shown.picture(f"{name}-{scheme}")
    assert shown.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert violations(shown.page) == []
    context.close()
