"""Addresses that name what is not there: the page says what is wrong, and links to what there is."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.support.aws.stack import Stack
from tests.support.browser.live_page import PHONE, Opener
from tests.support.builders.querying import post_amounts
from tests.support.builders.seasons import FOUR, at

pytestmark = pytest.mark.thorough


def links(page: Page) -> list[str]:
    return page.locator("#wrong-links a").all_text_contents()


def expect_nothing_alive(page: Page) -> None:
    for name in ("#controls", "#fold", "#list", "#state"):
        expect(page.locator(name)).to_be_hidden()


@pytest.mark.parametrize("board", ["rum-berlin", "run berlin", "..", "<b>run-berlin</b>"])
def test_a_board_that_cannot_exist(open_page: Opener, board: str) -> None:
    tab = open_page(f"board={board}", missing="40")
    page = tab.page
    said = f"There is no board “{board}”."
    expect(page.locator("#wrong-said")).to_have_text(said)
    expect(page.locator("#wrong-why")).not_to_be_empty()
    expect_nothing_alive(page)
    assert sorted(links(page)) == ["league-a", "run-berlin", "run-paris", "run-rome"]
    if board != "..":
        assert links(page)[0] == "run-berlin"
    # It stays while the page asks again.
    again = "document.dispatchEvent(new Event('visibilitychange')); document.documentElement.dataset.scene"
    assert page.evaluate(again) == "wrong"
    tab.settle()
    expect(page.locator("#wrong-said")).to_have_text(said)
    page.get_by_role("link", name="run-berlin").click()
    expect(page.locator("#rows tr[data-rank]")).to_have_count(50)
    page.go_back()
    expect(page.locator("#wrong-said")).to_have_text(said)
    page.get_by_role("link", name="All boards").click()
    expect(page.locator("#boards-there li")).to_have_count(4)


def test_a_board_without_an_event_becomes_a_list_with_the_first(open_page: Opener, site: Stack) -> None:
    tab = open_page("board=run-oslo", missing="40")
    page = tab.page
    expect(page.locator("#wrong-said")).to_have_text("No event has come for the board “run-oslo” yet.")
    expect_nothing_alive(page)
    assert links(page)[0] == "run-rome"
    tab.pass_seconds(3)
    expect_nothing_alive(page)
    post_amounts(site, "run-oslo", {"eve": {"points": 1}})
    tab.pass_seconds(20)
    expect(page.locator("#rows td.who button")).to_have_text(["eve"])
    expect(page.locator("#wrong")).to_be_hidden()
    expect(page.locator("#state")).to_have_attribute("data-is", "live")
    assert site.delete("/boards/run-oslo/member", id="eve")[0] in {202, 204}


def test_a_list_of_nobody_loads_until_the_page_knows_why(open_page: Opener) -> None:
    no_event, nobody = "No event has come for the board “run-lima” yet.", "Nobody is ranked in this period yet."
    for query, where, said in (
        ("board=run-lima", "#wrong-said", no_event),
        ("board=run-lima&embed", "#wrong-said", no_event),
        ("board=run-rome&window=day", "#empty", nobody),
    ):
        tab = open_page(query, missing="40", held=r"/boards\?prefix=[^&]*&limit=1$")
        expect(tab.page.locator("#state")).to_have_attribute("data-is", "waiting")
        expect(tab.page.locator("#rows .ghost")).to_have_count(8)
        expect(tab.page.locator("#empty")).to_be_hidden()
        tab.release()
        expect(tab.page.locator(where)).to_have_text(said)
        expect(tab.page.locator("#wrong")).to_be_visible(visible=where != "#empty")


@pytest.mark.parametrize(
    ("given", "said", "offered", "then"),
    [
        ("metric=piont", "This board has no metric “piont”.", ["points", "best_km"], "metric=points"),
        ("metric=breaks", "The metric “breaks” is stored, but not ranked.", ["points", "best_km"], "metric=best_km"),
        ("window=days", "“points” is not ranked by “days”.", ["day", "all time", "last 7 days"], "window=last-7-days"),
    ],
)
def test_a_mistyped_metric_or_window(open_page: Opener, given: str, said: str, offered: list[str], then: str) -> None:
    page = open_page(f"board=run-berlin&{given}", missing="40").page
    expect(page.locator("#wrong-said")).to_have_text(said)
    assert given in page.url
    assert links(page) == offered
    expect_nothing_alive(page)
    page.locator(f"#wrong-links a[href*='{then}']").click()
    expect(page.locator("#rows tr[data-rank]")).to_have_count(50)
    assert then in page.url


@pytest.mark.parametrize(
    ("query", "said", "offered"),
    [
        ("run-berlin&window=day&period=2001-01-01", "This period is no longer kept.", ["The current period"]),
        ("run-berlin&window=day&period=tuesday", "There is no period “tuesday” here.", ["The current period"]),
        ("league-a&window=season", "No season has begun yet.", []),
        ("run-berlin&rank=9999999999999999", "Nothing to show.", ["From the first rank"]),
    ],
)
def test_a_period_that_is_gone_leads_to_others(open_page: Opener, query: str, said: str, offered: list[str]) -> None:
    page = open_page(f"board={query}", missing="40", viewport=PHONE).page
    expect(page.locator("#wrong-said")).to_have_text(said)
    expect(page.locator("#list")).to_be_hidden()
    expect(page.locator("#state")).to_be_hidden()
    expect(page.locator("#fold")).to_be_visible()
    assert links(page) == offered
    if offered:
        page.get_by_role("link", name=offered[0]).click()
    else:
        page.click("#fold")
        page.get_by_role("button", name="all time", exact=True).click()
    expect(page.locator("#rows tr[data-rank]").first).to_be_visible()
    expect(page.locator("#wrong")).to_be_hidden()


@pytest.mark.parametrize("stack", [FOUR], indirect=True)
def test_a_season_that_cannot_be_read_is_not_offered(
    open_bare: Opener, stack: Stack, score: Callable[..., None]
) -> None:
    for moment, member in (("2026-05-05T10:00", "a"), ("2026-10-20T10:00", "b")):
        at(stack, moment)
        score({member: 5})
    problem = {"type": "urn:standings:not-built", "detail": "board 'b' does not have all scores for this period"}
    instead = {r"season\?(?!.*spring)": {"status": 404, "json": problem}}
    for address in ("", "&period=autumn"):
        tab = open_bare(f"board=b&window=season{address}", missing="404", instead=instead)
        expect(tab.page.locator("#wrong-said")).to_have_text("This ranking is not built yet.")
        assert links(tab.page) == ["spring"]
    tab.page.get_by_role("link", name="spring").click()
    expect(tab.page.locator("#rows td.who button")).to_have_text(["a"])
