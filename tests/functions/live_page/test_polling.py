"""How often the live page asks: less often while nothing happens or nobody uses it, and never more than it may."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from playwright.sync_api import Route, expect

from benchmarks.measure.live_page.tab import Tab

pytestmark = [pytest.mark.thorough]

LIST = re.compile(r"/boards/b/points/[^/]+\?")
HIDE = (
    "Object.defineProperty(document, 'hidden', {get: () => true, configurable: true});"
    "document.dispatchEvent(new Event('visibilitychange'))"
)
SHOW = "delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))"
UNFOCUSED = "document.hasFocus = () => false;"
ME = "localStorage.setItem('standings-me', 'm030');"

Open = Callable[..., Tab]
Score = Callable[..., None]


def waits(tab: Tab) -> list[float]:
    """Seconds between one request for the list and the next, to half a second."""
    return [later - earlier for (earlier, _), (later, _) in pairwise(tab.lists)]


def test_it_asks_ever_less_while_nothing_changes_and_soon_again_after_a_change(opened: Open, score: Score) -> None:
    tab = opened("board=b", "Math.random = () => 0;")
    tab.pass_seconds(80)
    # The clock stands still only from the moment at which the first list is there.
    quiet = waits(tab)[1:]
    assert quiet[0] <= 3.5
    # The steps of the clock are half seconds.
    assert all(later >= earlier - 0.5 for earlier, later in pairwise(quiet))
    assert 14 < quiet[-1] <= 16
    score({"m003": 500})
    tab.pass_seconds(19)
    expect(tab.page.locator("#rows td.who").first).to_have_text("m003")
    assert min(waits(tab)[len(quiet) + 1 :]) <= 3


@pytest.mark.parametrize("sign", ["key", "click"])
def test_it_asks_at_once_when_somebody_uses_it_again(opened: Open, sign: str) -> None:
    tab = opened("board=b")
    tab.pass_seconds(60)
    # Not within two seconds of a request: the next one would wait.
    while tab.page.evaluate("Date.now()") / 1000 < tab.lists[-1][0] + 3:
        tab.pass_seconds(1)
    asked = len(tab.lists)
    if sign == "key":
        tab.page.keyboard.press("Shift")
    else:
        tab.page.mouse.click(5, 5)
    tab.pass_seconds(1)
    assert len(tab.lists) == asked + 1


def test_a_window_without_the_focus_asks_every_six_seconds_and_a_hidden_tab_not_at_all(
    opened: Open, score: Score
) -> None:
    tab = opened("board=b", UNFOCUSED)
    tab.lists.clear()
    tab.pass_seconds(60, lambda _: score({"m000": 1}))
    assert 7 <= len(tab.lists) <= 10
    tab.page.evaluate(HIDE)
    tab.asked.clear()
    tab.pass_seconds(60, lambda _: score({"m000": 1}))
    assert tab.asked.total() == 0
    tab.page.evaluate(SHOW)
    tab.pass_seconds(1)
    assert tab.asked["page"] == 1


def test_a_screen_on_a_wall_never_has_the_focus_and_asks_all_the_same(opened: Open, score: Score) -> None:
    tab = opened("board=b&kiosk", UNFOCUSED)
    tab.lists.clear()
    tab.pass_seconds(30, lambda _: score({"m000": 1}))
    assert len(tab.lists) >= 12


def test_tabs_that_began_together_do_not_go_on_together(opened: Open, score: Score) -> None:
    found = []
    for chance in (0, 0.999):
        tab = opened("board=b", f"Math.random = () => {chance};")
        tab.lists.clear()
        tab.pass_seconds(60, lambda _: score({"m000": 1}))
        found.append(len(tab.lists))
    early, late = found
    assert early >= late + 4


def test_one_request_tells_the_list_and_the_card(opened: Open, score: Score) -> None:
    tab = opened("board=b&window=day&member=m040")
    tab.asked.clear()
    tab.pass_seconds(30, lambda _: score({"m040": 1}))
    tab.pass_seconds(3)
    assert tab.asked["rank"] == 0
    assert all("me=m040" in query for _, query in tab.lists)
    assert tab.asked.total() - tab.asked["page"] <= 1
    expect(tab.page.locator("#found-rank")).to_contain_text("9,660 points")
    # The bar of the member follows its score, though the distribution is read once a minute.
    expect(tab.page.locator("#picture rect.here")).to_have_count(1)


def test_who_was_found_and_who_looks_come_in_turns(opened: Open, score: Score) -> None:
    tab = opened("board=b&member=m040", ME)
    tab.pass_seconds(1)
    expect(tab.page.locator("#mine")).to_contain_text("31st")
    expect(tab.page.locator("#found-rank")).to_contain_text("41st")
    tab.lists.clear()
    score({"m040": 105, "m030": 105})
    tab.pass_seconds(7)
    asked = [re.search("me=(m[0-9]+)", query) for _, query in tab.lists]
    names = [one[1] for one in asked if one]
    assert len(names) == len(tab.lists) <= 4
    assert all(one != other for one, other in pairwise(names))
    expect(tab.page.locator("#mine")).to_contain_text("20th")
    expect(tab.page.locator("#found-rank")).to_contain_text("31st of 120 · 10,745 points")


def test_movement_is_read_once_for_each_member(opened: Open) -> None:
    tab = opened("board=b&window=day&member=m119")
    tab.pass_seconds(1)
    expect(tab.page.locator("#rows .moved span")).to_have_count(50)
    expect(tab.page.locator("#found-rank")).to_contain_text("▼ 119")
    assert tab.asked["ranks"] == 1
    tab.page.click("#next")
    tab.settle()
    tab.page.click("#first")
    tab.pass_seconds(1)
    expect(tab.page.locator("#rows .moved span")).to_have_count(50)
    assert tab.asked["ranks"] == 2
    assert (tab.asked["history"], tab.asked["distribution"]) == (1, 1)


@pytest.mark.parametrize(("seconds", "least"), [("10", 10), ("30", 30)])
def test_a_refusal_says_when_to_come_back(opened: Open, seconds: str, least: int) -> None:
    tab = opened("board=b", missing="429")

    def refuse(route: Route) -> None:
        route.fulfill(status=429, headers={"Retry-After": seconds}, json={"message": "Too Many Requests"})

    tab.page.route(LIST, refuse)
    tab.lists.clear()
    tab.pass_seconds(60)
    expect(tab.page.locator("#state")).to_have_attribute("data-is", "offline")
    assert all(wait >= least for wait in waits(tab))
    assert len(tab.lists) >= 2
    # Not even who is impatient gets through earlier.
    asked = len(tab.lists)
    tab.page.keyboard.press("Shift")
    tab.pass_seconds(least - max(1, tab.page.evaluate("(performance.now() - heard) / 1000")) - 1)
    assert len(tab.lists) == asked


def test_it_asks_a_busy_api_ever_less(opened: Open) -> None:
    tab = opened("board=b&member=m001", ME, missing="503")
    tab.page.route(LIST, lambda route: route.fulfill(status=503, json={}))
    tab.lists.clear()
    tab.pass_seconds(60)
    assert 4 <= len(tab.lists) <= 7


def test_what_may_be_kept_is_not_asked_for_again(opened: Open, score: Score) -> None:
    tab = opened("board=b")

    def keep(route: Route) -> None:
        found = tab.answer(route)
        route.fulfill(**{**found, "headers": {**found["headers"], "Cache-Control": "public, max-age=10"}})

    tab.page.route(LIST, keep)
    tab.pass_seconds(5)
    tab.lists.clear()
    tab.pass_seconds(45, lambda _: score({"m000": 1}))
    assert all(wait >= 10 for wait in waits(tab))
    assert len(tab.lists) >= 3


def test_caches_may_answer(opened: Open) -> None:
    sent: list[dict[str, str]] = []
    tab = opened("board=b")
    tab.page.on("request", lambda request: sent.append(request.headers))
    tab.pass_seconds(5)
    assert sent
    # A request that says so goes past every cache; the browser adds If-None-Match itself.
    assert not any({"cache-control", "pragma", "if-none-match"} & headers.keys() for headers in sent)


def test_a_member_that_cannot_be_does_not_hide_the_list(opened: Open, board: Sequence[str]) -> None:
    tab = opened(f"board=b&member={'x' * 2000}", missing="400")
    expect(tab.page.locator("#rows td.who")).to_have_count(50)
    expect(tab.page.locator("#found-rank")).to_contain_text("expected 1 to")
    assert len(board) == 120
    tab.pass_seconds(10)
    assert not any("me=" in query for _, query in tab.lists[1:])


def test_why_a_member_has_no_rank_is_asked_once(opened: Open) -> None:
    tab = opened("board=b&window=day&member=nobody", missing="404")
    expect(tab.page.locator("#found-rank")).to_contain_text("nobody")
    tab.pass_seconds(20)
    assert tab.asked["rank"] == 1
    expect(tab.page.locator("#found-gap")).to_be_hidden()


def test_a_bug_of_the_page_is_no_outage_and_the_console_hears_of_it(opened: Open, score: Score) -> None:
    tab = opened("board=b", missing="planted")
    tab.page.evaluate("() => { window.rightRows = rows; rows = () => { throw new Error('planted'); }; }")
    score({"m003": 1})
    tab.pass_seconds(20)
    expect(tab.page.locator("#note")).to_have_text("This page has a bug: planted. It tries again.")
    tab.page.evaluate("() => { rows = rightRows; }")
    tab.pass_seconds(20)
    expect(tab.page.locator("#note")).to_be_hidden()


def test_a_clock_that_is_put_back_does_not_stop_it(opened: Open, score: Score) -> None:
    tab = opened("board=b")
    tab.page.evaluate("() => { const now = Date.now; Date.now = () => now.call(Date) - 3_600_000; }")
    tab.lists.clear()
    tab.pass_seconds(30, lambda _: score({"m000": 1}))
    assert len(tab.lists) >= 8
