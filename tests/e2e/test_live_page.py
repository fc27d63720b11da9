"""The deployed live page while events come, and the page of examples/web-page from an origin of its own.

`tests/functions/live_page` shows what both pages do, on a clock that does not wait.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, Request, Route, expect

from demo.embedded.stack import PROJECT, Deployment
from tests.support.aws.deployed_api import answer_of, count, event
from tests.support.browser.chromium import chromium_or_skip
from tests.support.browser.live_page import HOSTILE
from tests.template.expansion import deployed

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.xdist_group("deployment")]

BOARD: Final = "demo-page"
ADA: Final = {"name": "Ada Nagy", "picture": "https://pictures.example/ada.png"}


@pytest.fixture
def page() -> Iterator[Page]:
    with chromium_or_skip() as browser:
        page = browser.new_page(reduced_motion="reduce")
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        expect.set_options(timeout=30_000)
        yield page
        assert complaints == []


@pytest.fixture(scope="module", autouse=True)
def _members(deployment: Deployment) -> None:
    assert answer_of(deployment, "PUT", "/members?id=ada", ADA)[0] == HTTPStatus.OK
    members = [*HOSTILE, "ada", *(f"member-{number}" for number in range(60))]
    count(deployment, [event(BOARD, member, 900 - 10 * place) for place, member in enumerate(members)])


def test_the_deployed_page_shows_the_list_of_the_api_and_who_overtakes(page: Page, deployment: Deployment) -> None:
    outside: list[str] = []

    def refuse(route: Route) -> None:
        outside.append(route.request.url)
        route.abort()

    page.route("https://*/**", refuse)
    page.goto(f"{deployment.api_url}/?board={BOARD}")
    rows = page.locator("#rows td.who button")
    listed = answer_of(deployment, "GET", f"/boards/{BOARD}/points/all?limit=50")[1]["entries"]
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


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the name that it has there
        """Say nothing."""


@contextmanager
def served() -> Iterator[str]:
    """Serve the example page, and yield its origin."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(PROJECT / "examples" / "web-page")))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_example_page_reads_the_api_from_an_origin_that_is_named_alone(page: Page, deployment: Deployment) -> None:
    """ministack 1.5.33 keeps a template's CorsConfiguration under names that it does not look for. It takes it here."""
    # A second is ten of the page, so that nobody waits for it to ask again.
    page.add_init_script("const slow = setTimeout; setTimeout = (run, after) => slow(run, after / 10);")
    gateway, api = deployment.client("apigatewayv2"), deployment.outputs["ApiId"]
    asked: list[Request] = []
    page.on("request", lambda request: asked.append(request) if request.url.startswith(deployment.api_url) else None)
    where = urlencode({"api": deployment.api_url, "board": BOARD, "me": "member-59"})

    with served() as named, served() as other:
        said: Any = deployed(CorsOrigins=named).properties("Api")["CorsConfiguration"]
        gateway.update_api(ApiId=api, CorsConfiguration=said)
        page.goto(f"{named}/?{where}")
        expect(page.locator("#top tr")).to_have_count(10)
        expect(page.locator("#mine")).to_contain_text("member-59: rank 67 of 67")
        with page.expect_request(f"{deployment.api_url}/**") as again:
            pass
        # It asks whether the answer has changed, and needs no preflight.
        assert again.value.all_headers()["if-none-match"]
        assert {request.method for request in asked} == {"GET"}

        asked.clear()
        page.goto(f"{other}/?{where}")
        expect(page.locator("#state")).to_contain_text("No new standings")
        expect(page.locator("#top tr")).to_have_count(0)
        assert HTTPStatus.OK not in {answer.status for request in asked if (answer := request.response())}
    gateway.delete_cors_configuration(ApiId=api)
