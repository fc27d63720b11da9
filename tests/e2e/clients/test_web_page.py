"""The page of examples/web-page in a browser, served from an origin of its own, reads the deployed stack."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Final
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, Request, expect

from demo import feed
from demo.embedded.stack import PROJECT, Deployment
from tests.support.browser.chromium import chromium_or_skip
from tests.support.browser.live_page import AXE, HOSTILE, PATIENCE_MS, event
from tests.template.expansion import deployed

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.xdist_group("deployment")]

BOARD: Final = "demo-web-page"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the name that it has there
        """Say nothing."""


@contextmanager
def served() -> Iterator[str]:
    """Serve the page, and yield its origin."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(PROJECT / "examples" / "web-page")))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def named() -> Iterator[str]:
    """The origin that the stack's parameter `CorsOrigins` names."""
    with served() as origin:
        yield origin


@pytest.fixture(scope="module", autouse=True)
def _open_to_the_page(deployment: Deployment, named: str) -> Iterator[None]:
    """Give the deployed API what the template makes of `CorsOrigins`.

    ministack 1.5.33 keeps a template's CorsConfiguration under names that it does not look for, but takes it here.
    """
    gateway, api = deployment.client("apigatewayv2"), deployment.outputs["ApiId"]
    said = deployed(CorsOrigins=named).properties("Api")["CorsConfiguration"]
    gateway.update_api(ApiId=api, CorsConfiguration=said)
    yield
    gateway.delete_cors_configuration(ApiId=api)


@pytest.fixture(scope="module", autouse=True)
def _twelve_members(deployment: Deployment) -> None:
    members = [HOSTILE[0], *(f"member-{number}" for number in range(11))]
    _count(deployment, [event(member, 120 - 10 * place, board=BOARD) for place, member in enumerate(members)])


@pytest.fixture
def page() -> Iterator[Page]:
    if not AXE.exists():
        pytest.skip(f"{AXE} is missing, `make setup` installs it")
    with chromium_or_skip() as browser:
        yield _quick(browser)


def _quick(browser: Browser) -> Page:
    """A page that counts a second as ten of its own, so that nobody waits for it to ask again."""
    found = browser.new_page()
    found.set_default_timeout(PATIENCE_MS)
    found.add_init_script("const slow = setTimeout; setTimeout = (run, after) => slow(run, after / 10);")
    return found


def _count(deployment: Deployment, messages: list[str]) -> None:
    feed.post(deployment, messages, lambda *_: None)
    feed.drain(deployment, lambda *_: None)
    feed.settle(deployment)


def _opened(page: Page, origin: str, deployment: Deployment, **arguments: str) -> list[Request]:
    """Open the page. The requests to the API appear in the list."""
    asked: list[Request] = []
    page.on("request", lambda request: asked.append(request) if request.url.startswith(deployment.api_url) else None)
    page.goto(f"{origin}/?{urlencode({'api': deployment.api_url, 'board': BOARD, **arguments})}")
    return asked


def _rows(page: Page) -> list[list[str]]:
    return [row.locator("td").all_text_contents() for row in page.locator("#top tr").all()]


def test_it_shows_the_top_ten_and_me_and_follows_changes(page: Page, named: str, deployment: Deployment) -> None:
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    asked = _opened(page, named, deployment, me="member-10")

    expect(page.locator("#top tr")).to_have_count(10)
    assert _rows(page)[:2] == [["1", HOSTILE[0], "120"], ["2", "member-0", "110"]]
    expect(page.locator("#mine")).to_have_text("member-10: rank 12 of 12 with 10")
    expect(page.locator("#state")).to_have_text("")
    page.add_script_tag(content=AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run().then(found => found.violations.map(one => [one.id, one.impact]))")
    assert found == []

    _count(deployment, [event("member-10", 500, board=BOARD)])
    expect(page.locator("#mine")).to_have_text("member-10: rank 1 of 12 with 510")
    expect(page.locator("#top tr.me")).to_have_text(["1member-10510"])
    # One request for the list and `me`, and no preflight.
    assert {request.method for request in asked} == {"GET"}
    assert len({request.url for request in asked}) == 1
    assert complaints == []


def test_it_asks_politely(page: Page, named: str, deployment: Deployment) -> None:
    asked = _opened(page, named, deployment)
    expect(page.locator("#top tr")).to_have_count(10)
    with page.expect_request(f"{deployment.api_url}/**") as again:
        pass
    etag = page.evaluate(
        "(url) => fetch(url, {cache: 'no-store'}).then((answer) => answer.headers.get('etag'))", asked[0].url
    )
    assert again.value.all_headers()["if-none-match"] == etag

    _hide(page, "true")
    page.wait_for_timeout(3000)
    before = len(asked)
    page.wait_for_timeout(3000)
    assert len(asked) == before, "nobody looks"
    _hide(page, "false")
    page.wait_for_timeout(300)
    assert len(asked) > before


def _hide(page: Page, hidden: str) -> None:
    page.evaluate(f"Object.defineProperty(document, 'hidden', {{value: {hidden}, configurable: true}})")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def test_it_says_what_is_wrong(page: Page, named: str, deployment: Deployment) -> None:
    _opened(page, named, deployment, metric="beauty")
    expect(page.locator("#state")).to_contain_text("has no metric 'beauty'")


def test_an_origin_that_is_not_named_reads_nothing(page: Page, deployment: Deployment) -> None:
    with served() as other:
        asked = _opened(page, other, deployment)
        expect(page.locator("#state")).to_contain_text("No new standings")
        assert _rows(page) == []
    assert HTTPStatus.OK not in {answer.status for request in asked if (answer := request.response())}
