"""The deployed live page while events come. `tests/functions/live_page` shows all that it does."""

from http import HTTPStatus
from typing import Final

import pytest
from playwright.sync_api import Route, expect

from demo.embedded.stack import Deployment
from tests.support.aws.deployed_api import answer_of, count, event
from tests.support.browser.chromium import chromium_or_skip
from tests.support.browser.live_page import HOSTILE

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.xdist_group("deployment")]

BOARD: Final = "demo-page"
ADA: Final = {"name": "Ada Nagy", "picture": "https://pictures.example/ada.png"}


def test_it_shows_the_list_of_the_api_and_who_overtakes(deployment: Deployment) -> None:
    assert answer_of(deployment, "PUT", "/members?id=ada", ADA)[0] == HTTPStatus.OK
    members = [*HOSTILE, "ada", *(f"member-{number}" for number in range(60))]
    count(deployment, [event(BOARD, member, 900 - 10 * place) for place, member in enumerate(members)])
    listed = answer_of(deployment, "GET", f"/boards/{BOARD}/points/all?limit=50")[1]["entries"]
    outside, complaints = list[str](), list[str]()

    def refuse(route: Route) -> None:
        outside.append(route.request.url)
        route.abort()

    with chromium_or_skip() as browser:
        page = browser.new_page(reduced_motion="reduce")
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        expect.set_options(timeout=30_000)
        page.route("https://*/**", refuse)
        page.goto(f"{deployment.api_url}/?board={BOARD}")
        rows = page.locator("#rows td.who button")
        expect(rows).to_have_text([ADA["name"] if one["member"] == "ada" else one["member"] for one in listed])
        page.fill("#member", "ad")
        expect(page.locator("#offers li")).to_have_text(["Ada Nagy"])
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page.locator("#found-rank strong")).to_have_text("7th")
        count(deployment, [event(BOARD, "member-0", 5_000)])
        page.click("#first")
        expect(rows.first).to_have_text("member-0")
        expect(page.locator("#state")).to_have_attribute("data-is", "live")
    assert set(outside) == {ADA["picture"]}
    assert complaints == []
