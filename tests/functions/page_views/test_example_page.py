"""The page of examples/web-page, before an API that does not answer as it should."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect

pytestmark = pytest.mark.thorough

EXAMPLE = Path(__file__).parents[3] / "examples" / "web-page" / "index.html"
ORIGIN = "https://club.invalid"


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        # What the firewall of examples/cdn answers beyond its limits, and what a proxy may answer.
        (429, "", "The API answered 429."),
        (502, "<h1>Bad gateway</h1>", "The API answered 502."),
        (503, '{"message": "Service Unavailable"}', "The API answered 503."),
        (404, '{"detail": "no such board"}', "no such board"),
        (500, "null", "The API answered 500."),
    ],
)
def test_it_says_what_is_wrong(browser: Browser, status: int, body: str, said: str) -> None:
    def answer(route: Route) -> None:
        if route.request.url.startswith(f"{ORIGIN}/?"):
            route.fulfill(body=EXAMPLE.read_text(encoding="utf-8"), content_type="text/html")
        else:
            route.fulfill(status=status, body=body)

    with browser.new_context() as context:
        page = context.new_page()
        page.route("**/*", answer)
        page.goto(f"{ORIGIN}/?api={ORIGIN}/api")
        expect(page.locator("#state")).to_have_text(f"No new standings: {said}")
