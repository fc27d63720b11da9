"""One tab of the live page in a real browser, over the functions in this process, on a clock that does not wait.

Every request of the page is answered by the query function and counted. The browser's clock and that of the functions
go on together, step by step, each step when all answers are there: so the counts are exact, however busy this machine
is. A browser whose requests are answered like this keeps no answers itself.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, Request, Route

from tests.support.aws.stack import Stack, http_event

ORIGIN: Final = "https://live.invalid"
STEP_MS: Final = 500
_NAMES_OF_A_LIST: Final = 3
_SETTLED_MS: Final = 5


class Tab:
    """A tab that shows a document as the live page of a stack."""

    def __init__(self, browser: Browser, stack: Stack, document: str, script: str = "", **context: Any) -> None:
        self._stack = stack
        self._open = 0
        self.asked: Counter[str] = Counter()
        """Requests by what they ask: the last part of the path, or `page` for a list."""
        self.lists: list[tuple[float, str]] = []
        """When lists were asked for, in seconds of the clock, and with which query."""
        self.context = browser.new_context(
            **{"reduced_motion": "reduce", "viewport": {"width": 1100, "height": 900}, **context}
        )
        self.context.add_init_script(script)
        self.page: Page = self.context.new_page()
        self.page.clock.install(time=stack.clock() / 1000)
        self.page.on("request", self._began)
        self.page.on("requestfinished", self._ended)
        self.page.on("requestfailed", self._ended)

        self._document = document
        self.page.route("**/*", lambda route: route.fulfill(**self.answer(route)))

    def answer(self, route: Route) -> dict[str, Any]:
        """Return the answer to a request, as the arguments of `route.fulfill`."""
        parts = urlsplit(route.request.url)
        if parts.path == "/":
            return {"body": self._document, "content_type": "text/html; charset=utf-8"}
        event = http_event(parts.path, parts.query, route.request.method, route.request.post_data)
        event["headers"] |= route.request.headers
        found = self._stack.query(event, None)
        return {"status": found["statusCode"], "headers": found["headers"], "body": found["body"]}

    def _began(self, request: Request) -> None:
        self._open += 1
        address = urlsplit(request.url)
        if address.path == "/":
            return
        _, _, *names = address.path.split("/")
        if len(names) == _NAMES_OF_A_LIST:
            self.lists.append((self._stack.clock() / 1000, address.query))
        self.asked["page" if len(names) == _NAMES_OF_A_LIST else address.path.rpartition("/")[2]] += 1

    def _ended(self, _: Any) -> None:
        self._open -= 1

    def open(self, arguments: str) -> None:
        """Open a view, and wait until it stands there. From then on time passes only with `pass_seconds`."""
        self.page.goto(f"{ORIGIN}/?{arguments}")
        self.page.wait_for_selector("#rows tr[data-rank]")
        self.settle()
        # A second ahead: the browser's clock goes on until it is told.
        now = self.page.evaluate("Date.now()") / 1000 + 1
        self.page.clock.pause_at(now)
        self._stack.clock.sleep(now - self._stack.clock() / 1000)
        self.settle()

    def pass_seconds(self, seconds: float, meanwhile: Callable[[float], None] = lambda _: None) -> None:
        """Let time pass; `meanwhile` is called before each step with the seconds since the beginning."""
        for step in range(round(seconds * 1000 / STEP_MS)):
            meanwhile(step * STEP_MS / 1000)
            self._stack.clock.sleep(STEP_MS / 1000)
            self.page.clock.run_for(STEP_MS)
            self.settle()

    def settle(self) -> None:
        while True:
            self.page.wait_for_timeout(_SETTLED_MS)
            if not self._open:
                self.page.wait_for_timeout(_SETTLED_MS)
                if not self._open:
                    return

    def close(self) -> None:
        self.context.close()
