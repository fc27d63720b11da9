"""The page of examples/web-page, over the functions and before an API that does not answer as it should."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.functions.live_page.conftest import Score
from tests.support.browser.live_page import AXE, HIDE, HOSTILE, SHOW, Opener, View
from tests.support.browser.tab import ORIGIN

pytestmark = pytest.mark.thorough

EXAMPLE = Path(__file__).parents[3] / "examples" / "web-page" / "index.html"


@pytest.fixture
def example(opened: Opener, score: Score) -> View:
    """The page, with a hostile member at the top."""
    score({HOSTILE[0]: 20_000})
    tab = opened("board=nowhere", missing="status of|ERR_FAILED")
    tab.instead[r"/\?"] = {"body": EXAMPLE.read_text(encoding="utf-8"), "content_type": "text/html"}
    return tab


def test_it_shows_the_top_ten_and_me_and_follows_changes(example: View, score: Score) -> None:
    page, top, mine = example.page, example.page.locator("#top tr"), example.page.locator("#mine")
    example.open(f"api={ORIGIN}&board=b&window=day&me=m100")
    expect(top).to_have_count(10)
    shown = [row.locator("td").all_text_contents() for row in top.all()]
    assert shown[:2] == [["1", HOSTILE[0], "20,000"], ["2", "m000", "10,000"]]
    expect(mine).to_have_text("m100: rank 102 of 121 with 9,000")
    expect(page.locator("#state")).to_have_text("")
    if AXE.exists():
        assert example.violations() == []
    example.lists.clear()
    sent: list[dict[str, str]] = []
    page.on("request", lambda request: sent.append(request.headers))
    score({"m100": 50_000})
    example.pass_seconds(6)
    expect(mine).to_have_text("m100: rank 1 of 121 with 59,000")
    expect(page.locator("#top tr.me")).to_have_text(["1m10059,000"])
    # One request tells the list and `me`.
    assert [query for _, query in example.lists] == ["limit=10&me=m100"]
    # From another origin it needs no preflight, and it goes past no cache.
    assert not any({"cache-control", "content-type", "pragma", "if-none-match"} & one.keys() for one in sent)


def test_it_asks_ever_less_and_not_at_all_while_nobody_looks(example: View) -> None:
    example.open(f"api={ORIGIN}&board=b")
    expect(example.page.locator("#top tr")).to_have_count(10)
    example.pass_seconds(60)
    assert 4 <= len(example.lists) <= 6
    example.page.evaluate(HIDE)
    example.lists.clear()
    example.pass_seconds(120)
    assert example.lists == []
    with example.page.expect_request("**/points/all?*"):
        example.page.evaluate(SHOW)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        # What the firewall of examples/cdn answers beyond its limits, and what a proxy may answer.
        ({"status": 429, "body": ""}, "The API answered 429."),
        ({"status": 502, "body": "<h1>Bad gateway</h1>"}, "The API answered 502."),
        ({"status": 503, "body": '{"message": "Service Unavailable"}'}, "The API answered 503."),
        ({"status": 404, "body": '{"detail": "no such board"}'}, "no such board"),
        ({"status": 500, "body": "null"}, "The API answered 500."),
        # What a browser does not tell apart names both causes.
        (None, f"The API cannot be reached, or its parameter CorsOrigins does not name {ORIGIN}."),
    ],
)
def test_it_says_what_is_wrong(example: View, answer: dict[str, Any] | None, said: str) -> None:
    example.instead["/points/all"] = answer
    example.open(f"api={ORIGIN}&board=b")
    expect(example.page.locator("#state")).to_have_text(f"No new standings: {said}")
