"""The real template in the embedded AWS: ranks are right, stacks do not disturb each other, the page follows events."""

import socket
from datetime import UTC, datetime
from http import HTTPStatus
from random import Random
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Route, expect

from demo import check, feed
from demo.activity import generate
from demo.embedded.stack import Deployment, deployed
from demo.reads import Reader
from tests.support.aws.deployed_api import answer_of, count, event, scores_of
from tests.support.browser.chromium import chromium_or_skip

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("deployment")]


@pytest.mark.parametrize("members", [50, pytest.param(200, marks=pytest.mark.thorough)])
def test_every_rank_is_right_whatever_the_order_and_the_duplicates(deployment: Deployment, members: int) -> None:
    rng = Random(9)
    applied = datetime.now(UTC)
    board = f"demo-shuffled-{members}"
    activity = generate(9, board, applied, members)
    messages = [*activity.messages, *rng.choices(activity.messages, k=30)]
    rng.shuffle(messages)
    count(deployment, messages)

    reader, now = Reader(deployment.api_url, board), datetime.now(UTC)
    report = check.check_rankings(reader, activity.events, applied, now)
    report.merge(check.check_members(reader, activity.events, applied, now, lambda *_: None))
    assert report.differences == []
    assert report.rankings == len(check.periods(now))
    assert report.ranks > 3 * members
    assert [one for one in feed.refused(deployment) if board in one] == []


@pytest.mark.thorough
def test_a_second_stack_has_a_life_of_its_own(deployment: Deployment) -> None:
    with deployed(print) as other:
        count(other, [event("demo-beside", "only-there")])
        assert (scores_of(other, "demo-beside"), scores_of(deployment, "demo-beside")) == ({"only-there": 1}, {})
    with socket.socket() as probe:
        address = urlsplit(other.endpoint)
        assert probe.connect_ex((str(address.hostname), int(address.port or 0))) != 0
    assert not other.log.parent.exists()
    assert feed.lag(deployment) > 0


@pytest.mark.thorough
def test_the_live_page_shows_the_list_of_the_api_and_who_overtakes(deployment: Deployment) -> None:
    """`tests/functions/live_page` shows all that it does."""
    ada = {"name": "Ada Nagy", "picture": "https://pictures.example/ada.png"}
    assert answer_of(deployment, "PUT", "/members?id=ada", ada)[0] == HTTPStatus.OK
    members = ["ada", *(f"member-{number}" for number in range(60))]
    count(deployment, [event("demo-page", member, 900 - 10 * place) for place, member in enumerate(members)])
    listed = answer_of(deployment, "GET", "/boards/demo-page/points/all?limit=50")[1]["entries"]
    outside, complaints = list[str](), list[str]()

    def refuse(route: Route) -> None:
        outside.append(route.request.url)
        route.abort()

    with chromium_or_skip() as browser:
        page = browser.new_page(reduced_motion="reduce")
        page.on("pageerror", lambda error: complaints.append(str(error)))
        expect.set_options(timeout=30_000)
        page.route("https://*/**", refuse)
        page.goto(f"{deployment.api_url}/?board=demo-page")
        rows = page.locator("#rows td.who button")
        expect(rows).to_have_text([ada["name"] if one["member"] == "ada" else one["member"] for one in listed])
        count(deployment, [event("demo-page", "member-0", 5_000)])
        expect(rows.first).to_have_text("member-0")
        expect(page.locator("#state")).to_have_attribute("data-is", "live")
    assert set(outside) == {ada["picture"]}
    assert complaints == []
