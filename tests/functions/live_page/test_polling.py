"""How often the live page asks: less often while nothing happens or nobody uses it, and never more than it may."""

import re
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from tests.functions.live_page.conftest import Score
from tests.support.browser.live_page import HIDE, PHONE, SHOW, Opener
from tests.support.browser.tab import Tab

pytestmark = [pytest.mark.thorough]

LIST = r"/boards/b/points/[^/]+\?"
UNFOCUSED = "document.hasFocus = () => false;"
ME = "localStorage.setItem('standings-me', 'm030');"


def waits(tab: Tab) -> list[float]:
    """Seconds between one request for the list and the next, to half a second."""
    return [later - earlier for (earlier, _), (later, _) in pairwise(tab.lists)]


def test_it_asks_ever_less_while_nothing_changes_and_soon_again_after_a_change(opened: Opener, score: Score) -> None:
    tab = opened("board=b", "Math.random = () => 0;")
    tab.pass_seconds(80)
    quiet = waits(tab)[1:]
    assert quiet[0] <= 3.5
    # The steps of the clock are half seconds.
    assert all(later >= earlier - 0.5 for earlier, later in pairwise(quiet))
    assert 14 < quiet[-1] <= 16
    score({"m003": 500})
    tab.pass_seconds(19)
    expect(tab.page.locator("#rows td.who").first).to_have_text("m003")
    expect(tab.page.locator("#said")).to_have_text("m003 leads now")
    assert min(waits(tab)[len(quiet) + 1 :]) <= 3


def test_it_asks_at_once_when_somebody_uses_it_again(opened: Opener) -> None:
    tab = opened("board=b")
    for use in (partial(tab.page.keyboard.press, "Shift"), partial(tab.page.mouse.click, 5, 5)):
        tab.pass_seconds(60)
        # Not within two seconds of a request: the next one would wait.
        while tab.page.evaluate("Date.now()") / 1000 < tab.lists[-1][0] + 3:
            tab.pass_seconds(1)
        asked = len(tab.lists)
        use()
        tab.pass_seconds(1)
        assert len(tab.lists) == asked + 1


def test_it_asks_while_the_list_changes(opened: Opener, score: Score) -> None:
    """Also in a window without the focus, which a screen on a wall never has, and where a clock is put back."""
    back = "Date.now = () => 0;"
    for query, script, seconds, least, most in (
        *(("", UNFOCUSED, 60, 7, 10), ("&kiosk", UNFOCUSED, 30, 12, 15), ("", back, 30, 8, 15)),
    ):
        tab = opened(f"board=b{query}")
        tab.page.evaluate(script)
        asked = tab.in_next(seconds, lambda _: score({"m000": 1})).lists
        assert least <= len(asked) <= most, (query, script)


@pytest.mark.parametrize("query", ["board=b&window=day", ""], ids=["board", "home"])
def test_nothing_is_asked_while_nobody_looks(opened: Opener, query: str) -> None:
    tab = opened(query)
    tab.drawn()
    tab.pass_seconds(5)
    # The home page: the list of boards, and the first of the one board. Its definition is known.
    paths = tab.in_next(31).paths
    assert paths == ["/boards", "/boards/b/points/all"] if not query else len(paths) > 3
    tab.page.evaluate(HIDE)
    assert tab.in_next(120).paths == []
    tab.page.evaluate(SHOW)
    tab.pass_seconds(1)
    assert tab.paths


def test_tabs_that_began_together_do_not_go_on_together(opened: Opener, score: Score) -> None:
    found = []
    for chance in (0, 0.999):
        tab = opened("board=b", f"Math.random = () => {chance};")
        found.append(len(tab.in_next(60, lambda _: score({"m000": 1})).lists))
    early, late = found
    assert early >= late + 4


def test_one_request_tells_the_list_and_the_card(opened: Opener, score: Score) -> None:
    tab = opened("board=b&window=day&member=m040")
    tab.in_next(30, lambda _: score({"m040": 1})).pass_seconds(3)
    assert tab.asked["rank"] == 0
    assert all("me=m040" in query for _, query in tab.lists)
    assert tab.asked.total() - tab.asked["page"] <= 1
    expect(tab.page.locator("#found-rank")).to_contain_text("9,660 points")
    # The bar of the member follows its score, though the distribution is read once a minute.
    expect(tab.page.locator("#picture rect.here")).to_have_count(1)


def test_who_was_found_and_who_looks_come_in_turns(opened: Opener, score: Score) -> None:
    tab = opened("board=b&member=m040", ME)
    tab.pass_seconds(1)
    expect(tab.page.locator("#mine")).to_contain_text("31st")
    expect(tab.page.locator("#found-rank")).to_contain_text("41st")
    score({"m040": 105, "m030": 105})
    asked = [re.search("me=(m[0-9]+)", query) for _, query in tab.in_next(7).lists]
    names = [one[1] for one in asked if one]
    assert len(names) == len(tab.lists) <= 4
    assert all(one != other for one, other in pairwise(names))
    expect(tab.page.locator("#mine")).to_contain_text("20th")
    expect(tab.page.locator("#found-rank")).to_contain_text("31st of 120 · 10,745 points")


def test_movement_is_read_once_for_each_member(opened: Opener) -> None:
    tab = opened("board=b&window=day&member=m119")
    expect(tab.page.locator("#rows .moved span")).to_have_count(50)
    expect(tab.page.locator("#found-rank")).to_contain_text("▼ 119")
    assert tab.asked["ranks"] == 1
    # Not within ten seconds of the last time.
    tab.pass_seconds(10)
    tab.page.click("#next")
    tab.settle()
    tab.page.click("#first")
    tab.pass_seconds(1)
    expect(tab.page.locator("#rows .moved span")).to_have_count(50)
    assert tab.asked["ranks"] == 2
    assert (tab.asked["history"], tab.asked["distribution"]) == (1, 1)


@pytest.mark.parametrize(("seconds", "least"), [("10", 10), ("30", 30)])
def test_a_refusal_says_when_to_come_back(opened: Opener, seconds: str, least: int) -> None:
    tab = opened("board=b", missing="429")
    tab.instead[LIST] = {"status": 429, "headers": {"Retry-After": seconds}, "json": {"message": "Too Many Requests"}}
    assert all(wait >= least for wait in waits(tab.in_next(60)))
    expect(tab.page.locator("#state")).to_have_attribute("data-is", "offline")
    assert len(tab.lists) >= 2
    # Not even who is impatient gets through earlier.
    asked = len(tab.lists)
    tab.page.keyboard.press("Shift")
    tab.pass_seconds(least - max(1, tab.page.evaluate("(performance.now() - heard) / 1000")) - 1)
    assert len(tab.lists) == asked


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"status": 503, "json": {"message": "not now"}}, "The API does not answer just now. Trying again."),
        ({"status": 403, "json": {"message": "not now"}}, ""),
        # What a network answers in place of the API is no bug of the page.
        ({"body": "<h1>Welcome to the hotel</h1>", "content_type": "text/html"}, "The API cannot be reached."),
        (None, "The API cannot be reached."),
    ],
    ids=["busy", "refusing", "in a hotel", "away"],
)
@pytest.mark.parametrize(
    ("query", "part"),
    [("", r"/boards\?"), ("board=b&window=day", "/boards/b$"), ("board=b&member=m001", LIST)],
    ids=["home", "board", "list"],
)
def test_what_was_never_there_is_asked_for_ever_less_and_need_not_stay_away(
    opened: Opener, query: str, part: str, answer: Any, said: str
) -> None:
    tab = opened(query, ME, missing="status of|ERR_FAILED", instead={part: answer})
    expect(tab.page.locator("#note")).to_contain_text(said)
    expect(tab.page.locator("#wrong")).to_be_visible(visible=not said)
    assert 2 <= len(tab.in_next(60).paths) <= 7
    tab.instead.clear()
    tab.pass_seconds(20)
    expect(tab.page.locator("#state")).to_have_attribute("data-is", "live")
    expect(tab.page.locator("#note")).to_be_hidden()
    expect(tab.page.locator("#wrong")).to_be_hidden()
    expect(tab.page.locator("#rows tr[data-rank]" if query else "#boards-there li").first).to_be_visible()


def test_what_was_there_stays_while_the_api_is_away_and_nobody_hurries_it(opened: Opener) -> None:
    tab = opened("board=b", missing="503")
    before = tab.members()
    tab.instead[LIST] = {"status": 503, "json": {}}
    assert 4 <= len(tab.in_next(60).lists) <= 7
    expect(tab.page.locator("#note")).to_contain_text("These are the standings of ")
    assert tab.members() == before
    tab.lists.clear()
    for _ in range(30):
        tab.page.mouse.wheel(0, 100)
        tab.page.keyboard.press("Shift")
        tab.pass_seconds(1)
    assert len(tab.lists) <= 3
    # A clock that is put back makes nothing live.
    tab.page.evaluate("Date.now = () => 0")
    tab.pass_seconds(10)
    expect(tab.page.locator("#state")).to_have_attribute("data-is", "offline")


def test_boards_that_cannot_be_read_just_now_are_asked_for_ever_less(open_page: Opener) -> None:
    busy, low = {r"/all\?": {"status": 503, "json": {}}}, {"width": PHONE["width"], "height": 200}
    tab = open_page("", missing="status of", viewport=low, instead=busy)
    tab.drawn()

    def asked() -> int:
        return len([path for path in tab.paths if path.endswith("/all")])

    # Scrolling does not ask a busy API sooner.
    for by in (300, -300) * 5:
        tab.page.mouse.wheel(0, by)
        tab.drawn()
        tab.pass_seconds(1)
    assert asked() <= 3 * 5
    tab.pass_seconds(50)
    expect(tab.page.locator("#state")).to_have_attribute("data-is", "offline")
    # Three at once, and none after the first refusal.
    assert 3 <= asked() <= 3 * 8
    tab.instead.clear()
    tab.page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    tab.drawn()
    tab.pass_seconds(20)
    expect(tab.page.locator("#boards-there li .leader").last).not_to_be_empty()
    expect(tab.page.locator("#state")).to_have_attribute("data-is", "live")


def test_caches_may_answer_and_what_may_be_kept_is_not_asked_for_again(opened: Opener, score: Score) -> None:
    tab, sent = opened("board=b"), list[dict[str, str]]()
    tab.page.on("request", lambda request: sent.append(request.headers))

    def keep(route: Route) -> dict[str, Any]:
        found = tab.answer(route)
        return {**found, "headers": {**found["headers"], "Cache-Control": "public, max-age=10"}}

    tab.instead[LIST] = keep
    tab.pass_seconds(5)
    assert all(wait >= 10 for wait in waits(tab.in_next(45, lambda _: score({"m000": 1}))))
    assert len(tab.lists) >= 3
    # A request that says so goes past every cache; the browser adds If-None-Match itself.
    assert not any({"cache-control", "pragma", "if-none-match"} & headers.keys() for headers in sent)


@pytest.mark.parametrize(
    ("member", "said", "asked"), [("x" * 2000, "expected 1 to", 0), ("nobody", "nobody", 1)], ids=["too long", "nobody"]
)
def test_why_a_member_has_no_rank_is_asked_once(opened: Opener, member: str, said: str, asked: int) -> None:
    tab = opened(f"board=b&window=day&member={member}", missing="40[04]")
    expect(tab.page.locator("#rows td.who")).to_have_count(50)
    expect(tab.page.locator("#found-rank")).to_contain_text(said)
    expect(tab.page.locator("#found-gap")).to_be_hidden()
    tab.pass_seconds(20)
    assert tab.asked["rank"] == asked
    # Of a member that cannot be, no later list is asked for a place.
    assert any("me=" in query for _, query in tab.lists[2:]) == bool(asked)


def test_a_bug_of_the_page_is_no_outage_and_the_console_hears_of_it(opened: Opener, score: Score) -> None:
    tab = opened("board=b", missing="planted")
    tab.page.evaluate("() => { window.rightRows = rows; rows = () => { throw new Error('planted'); }; }")
    score({"m003": 1})
    tab.pass_seconds(20)
    expect(tab.page.locator("#note")).to_have_text("This page has a bug: planted. It tries again.")
    tab.page.evaluate("() => { rows = rightRows; }")
    tab.pass_seconds(20)
    expect(tab.page.locator("#note")).to_be_hidden()


def test_a_tour_comes_back_when_the_api_says(opened: Opener) -> None:
    tab = opened("kiosk&every=5&boards=b,b:points:day,b:points:week", missing="429")
    tab.instead["/boards/"] = {"status": 429, "headers": {"Retry-After": "30"}, "json": {}}
    tab.pass_seconds(10)
    assert tab.in_next(20).paths == []
    tab.instead.clear()
    tab.pass_seconds(30)
    expect(tab.page.locator("#state")).to_have_attribute("data-is", "live")


def test_a_picture_that_failed_is_asked_for_again_some_minutes_later(opened: Opener) -> None:
    tab = opened("board=b", missing="pictures.example|ERR_")
    shown = "() => { hosts.push('a.example'); return !!face('Ada', 'https://a.example/1.png').querySelector('img'); }"
    assert tab.page.evaluate(shown)
    tab.page.wait_for_function("() => broken.size")
    assert not tab.page.evaluate(shown)
    tab.pass_seconds(301)
    assert tab.page.evaluate(shown)
