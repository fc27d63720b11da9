"""A screen on a wall that nobody looks after: it begins before the network does, and boards change under it."""

from urllib.parse import quote

import pytest
from playwright.sync_api import Route, expect

from tests.functions.page_views.conftest import Opener, Site
from tests.support.browser.live_page import Shown
from tests.support.builders.page_boards import post

pytestmark = pytest.mark.thorough


def on_a_wall(open_page: Opener, site: Site, query: str) -> Shown:
    shown = open_page(site, "?board=nowhere", 1280, 720)
    shown.page.clock.install()
    shown.page.goto(f"{site.address}/?kiosk&{query}")
    return shown


def pass_seconds(shown: Shown, seconds: int) -> None:
    for _ in range(2 * seconds):
        shown.page.clock.run_for(500)
        shown.page.wait_for_timeout(15)


def refuse(shown: Shown, addresses: str, status: int, kind: str = "") -> None:
    def answer(route: Route) -> None:
        route.fulfill(status=status, json={"type": f"urn:standings:{kind}", "detail": "not now"})

    shown.page.route(addresses, answer)


def test_it_shows_no_board_but_its_own_after_it_began_without_a_network(site: Site, open_page: Opener) -> None:
    shown = open_page(site, "?board=nowhere", 1280, 720)
    shown.page.clock.install()
    refuse(shown, "**/boards/run-*", 503)
    shown.page.goto(f"{site.address}/?kiosk&boards=run-paris,run-rome&every=600")
    pass_seconds(shown, 10)
    assert "league-a" not in shown.page.locator("#title").inner_text()
    shown.page.unroute("**/boards/run-*")
    pass_seconds(shown, 20)
    expect(shown.page.locator("#title")).to_have_text("run-paris")
    shown.complaints = [one for one in shown.complaints if "status of 503" not in one]


def test_a_list_that_cannot_be_read_any_more_leaves_nobody_on_the_podium(site: Site, open_page: Opener) -> None:
    shown = on_a_wall(open_page, site, "board=run-berlin")
    expect(shown.page.locator("#podium li")).to_have_count(3)
    refuse(shown, "**/points/all?*", 404, "not-built")
    pass_seconds(shown, 10)
    expect(shown.page.locator("#wrong-said")).to_have_text("This ranking is not built yet.")
    expect(shown.page.locator("#podium")).to_be_hidden()
    shown.page.unroute("**/points/all?*")
    pass_seconds(shown, 20)
    expect(shown.page.locator("#podium li")).to_have_count(3)
    expect(shown.page.locator("#podium")).to_be_visible()
    expect(shown.page.locator("#wrong")).to_be_hidden()


@pytest.mark.parametrize(
    ("stop", "title", "facts"),
    [
        ("run-x:2026", "run-x:2026", "points · all time"),
        ("run-x:2026:best_km", "run-x:2026", "best km · all time"),
        ("run-x:red:points:day", "run-x:red", "points · day"),
        ("run-paris:best_km", "run-paris", "best km · all time"),
        ("run-paris::last-7-days", "run-paris", "points · last 7 days"),
    ],
)
def test_a_boards_name_may_have_a_colon(site: Site, open_page: Opener, stop: str, title: str, facts: str) -> None:
    for board in ("run-x:2026", "run-x:red"):
        post(site.stack, board, {"ada": {"points": 1, "best_km": 3}})
    shown = on_a_wall(open_page, site, f"boards={quote(stop)}")
    expect(shown.page.locator("#title")).to_have_text(title)
    expect(shown.page.locator("#facts")).to_contain_text(facts)


def test_turns_that_are_longer_than_a_timer_holds_are_a_day(site: Site, open_page: Opener) -> None:
    shown = open_page(site, "?kiosk&boards=run-paris,run-rome&every=3000000", 1280, 720)
    expect(shown.page.locator("#podium li").first).to_be_visible()
    asked: list[str] = []
    shown.page.on("request", lambda request: asked.append(request.url))
    shown.page.wait_for_timeout(1_500)
    assert not any("run-rome" in address for address in asked)
