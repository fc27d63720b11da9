"""An API that is busy or away: the page asks ever less, on the home page too, and goes on by itself afterwards."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Route, expect

from tests.functions.page_views.conftest import Opener, Site
from tests.support.browser.live_page import Shown

pytestmark = pytest.mark.thorough

LISTS = "**/all?*"
DEFINITION = "**/boards/run-berlin"
BOARDS = "**/boards?*"


class Watched:
    """A page on a clock that does not wait, and the paths that it asked for."""

    def __init__(self, shown: Shown) -> None:
        self.shown = shown
        self.page = shown.page
        self.paths: list[str] = []
        self.page.on("request", lambda request: self.paths.append(urlsplit(request.url).path))

    def refuse(self, addresses: str, status: int = 503) -> None:
        def answer(route: Route) -> None:
            route.fulfill(status=status, json={"message": "not now"})

        self.page.route(addresses, answer)

    def reload(self) -> None:
        self.page.clock.install()
        self.page.reload()
        self.pass_seconds(1)
        self.paths.clear()

    def pass_seconds(self, seconds: int) -> None:
        for _ in range(2 * seconds):
            self.page.clock.run_for(500)
            self.page.wait_for_timeout(15)


@pytest.fixture
def watched(site: Site, open_page: Opener) -> Iterator[Watched]:
    """The home page."""
    shown = open_page(site)
    expect(shown.page.locator("#boards-there li .leader").first).not_to_be_empty()
    yield Watched(shown)
    shown.complaints = [one for one in shown.complaints if "the server responded with a status of" not in one]


def test_boards_that_cannot_be_read_just_now_are_asked_for_ever_less(watched: Watched) -> None:
    watched.refuse(LISTS)
    watched.reload()
    watched.pass_seconds(60)
    expect(watched.page.locator("#state")).to_have_attribute("data-is", "offline")
    # Three at once, and none after the first refusal.
    assert 3 <= len([path for path in watched.paths if path.endswith("/all")]) <= 3 * 7
    watched.page.unroute(LISTS)
    watched.pass_seconds(20)
    expect(watched.page.locator("#boards-there li .leader").last).not_to_be_empty()
    expect(watched.page.locator("#state")).to_have_attribute("data-is", "live")


def test_scrolling_does_not_ask_a_busy_api_sooner(watched: Watched) -> None:
    watched.refuse(LISTS)
    watched.page.set_viewport_size({"width": 390, "height": 200})
    watched.reload()
    for _ in range(5):
        watched.page.mouse.wheel(0, 300)
        watched.pass_seconds(1)
        watched.page.mouse.wheel(0, -300)
        watched.pass_seconds(1)
    assert len([path for path in watched.paths if path.endswith("/all")]) <= 3 * 5


@pytest.mark.parametrize(
    ("query", "addresses"), [("", BOARDS), ("?board=run-berlin", DEFINITION)], ids=["home", "board"]
)
def test_what_was_never_there_is_asked_for_ever_less(watched: Watched, query: str, addresses: str) -> None:
    watched.page.goto(f"{watched.shown.address}/{query}")
    watched.refuse(addresses)
    watched.reload()
    watched.pass_seconds(60)
    assert 3 <= len(watched.paths) <= 7


@pytest.mark.parametrize(
    ("query", "addresses", "there"),
    [("", BOARDS, "#boards-there li"), ("?board=run-berlin&window=day", DEFINITION, "#rows tr[data-rank]")],
    ids=["home", "board"],
)
def test_a_refusal_need_not_last(watched: Watched, query: str, addresses: str, there: str) -> None:
    watched.page.goto(f"{watched.shown.address}/{query}")
    watched.refuse(addresses, 403)
    watched.reload()
    expect(watched.page.locator("#wrong")).to_be_visible()
    watched.pass_seconds(60)
    assert 2 <= len(watched.paths) <= 7
    watched.page.unroute(addresses)
    watched.pass_seconds(20)
    expect(watched.page.locator(there).first).to_be_visible()
    expect(watched.page.locator("#wrong")).to_be_hidden()


@pytest.mark.parametrize(("query", "addresses"), [("", BOARDS), ("?board=run-berlin", LISTS)], ids=["home", "board"])
def test_what_a_network_answers_in_place_of_the_api_is_no_bug_of_the_page(
    watched: Watched, query: str, addresses: str
) -> None:
    watched.page.goto(f"{watched.shown.address}/{query}")

    def sign_in(route: Route) -> None:
        route.fulfill(body="<h1>Welcome to the hotel</h1>", content_type="text/html")

    watched.page.route(addresses, sign_in)
    watched.reload()
    expect(watched.page.locator("#note")).to_contain_text("The API cannot be reached.")
    watched.page.unroute(addresses)
    watched.pass_seconds(20)
    expect(watched.page.locator("#state")).to_have_attribute("data-is", "live")
    expect(watched.page.locator("#note")).to_be_hidden()
