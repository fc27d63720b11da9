"""One tab of the live page in a real browser, over the functions in this process, on a clock that does not wait.

Every request of the page is answered by the query function and counted. The browser's clock and that of the functions
stand still but for `pass_seconds`. It goes on step by step: answers come between two steps, and the next step waits
until the page has all of them. So the counts are exact, however busy this machine is. A browser whose requests are
answered like this keeps no answers itself.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from playwright.sync_api import Browser, Page, Request, Route

from tests.support.aws.stack import Stack, http_event

ORIGIN: Final = "https://live.invalid"
STEP_MS: Final = 500
_NAMES_OF_A_LIST: Final = 3
_HOUR_S: Final = 3600
_NO_CHANCE: Final = "Math.random = () => 0.5;"
_FLYING: Final = "typeof flying === 'undefined' ? 0 : flying"
"""How many answers the page waits for. It counts them itself, so none is in between."""
_DRAWN: Final = """() => new Promise(done => new IntersectionObserver((_, one) => { one.disconnect(); done(); })
    .observe(document.documentElement))"""

Answer = Mapping[str, Any] | Callable[[Route], Mapping[str, Any]] | None


class Tab:
    """A tab that shows a document as the live page of a stack; without a document, what the stack answers to `/`."""

    def __init__(self, browser: Browser, stack: Stack, document: str = "", script: str = "", **context: Any) -> None:
        self._stack = stack
        self._document = document
        self._stepping = False
        self._routes: list[Route] = []
        self.asked: Counter[str] = Counter()
        """Requests by what they ask: the last part of the path, or `page` for a list."""
        self.lists: list[tuple[float, str]] = []
        """When lists were asked for, in seconds of the clock, and with which query."""
        self.paths: list[str] = []
        self.instead: dict[str, Answer] = context.pop("instead", {})
        """What requests get whose addresses have such a part (a regular expression). None: they fail."""
        self.held: str = context.pop("held", "(?!)")
        """Requests with such an address get no answer for now."""
        self.context = browser.new_context(
            **{"reduced_motion": "reduce", "viewport": {"width": 1100, "height": 900}, **context}
        )
        self.context.add_init_script(_NO_CHANCE + script)
        self.page: Page = self.context.new_page()
        # The clock of a browser goes on until it is told to stand still.
        now = stack.clock() / 1000
        self.page.clock.install(time=now - _HOUR_S)
        self.page.clock.pause_at(now)
        self.page.on("request", self._asked)
        self.page.route("**/*", self._route)

    def answer(self, route: Route) -> dict[str, Any]:
        """Return the stack's answer to a request, as the arguments of `route.fulfill`."""
        parts = urlsplit(route.request.url)
        if parts.path == "/" and self._document:
            return {"body": self._document, "content_type": "text/html; charset=utf-8"}
        # API Gateway decodes the path before it calls a function.
        event = http_event(unquote(parts.path), parts.query, route.request.method, route.request.post_data)
        event["headers"] |= route.request.headers
        found = self._stack.function(route.request.method, unquote(parts.path))(event, None)
        return {"status": found["statusCode"], "headers": found["headers"], "body": found["body"]}

    def _route(self, route: Route) -> None:
        if route.request.resource_type == "fetch" and (self._stepping or self._is_held(route)):
            self._routes.append(route)
        else:
            self._give(route)

    def _is_held(self, route: Route) -> bool:
        return re.search(self.held, route.request.url) is not None

    def _give(self, route: Route) -> None:
        (instead,) = [one for part, one in self.instead.items() if re.search(part, route.request.url)] or [self.answer]
        if instead is None:
            route.abort()
        else:
            route.fulfill(**(instead(route) if callable(instead) else instead))

    def _asked(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.path == "/":
            return
        _, _, *names = address.path.split("/")
        if len(names) == _NAMES_OF_A_LIST:
            self.lists.append((self._stack.clock() / 1000, address.query))
        self.asked["page" if len(names) == _NAMES_OF_A_LIST else address.path.rpartition("/")[2]] += 1
        self.paths.append(address.path)

    def open(self, arguments: str) -> None:
        """Open a view, and wait until all that it asks for is there."""
        self.page.goto(f"{ORIGIN}/?{arguments}")
        self.settle()

    def pass_seconds(self, seconds: float, meanwhile: Callable[[float], None] = lambda _: None) -> None:
        """Let time pass; `meanwhile` is called before each step with the seconds since the beginning."""
        for step in range(round(seconds * 1000 / STEP_MS)):
            meanwhile(step * STEP_MS / 1000)
            self._stack.clock.sleep(STEP_MS / 1000)
            self._stepping = True
            self.page.clock.run_for(STEP_MS)
            self._stepping = False
            self.settle()

    def sleep(self, seconds: int) -> None:
        """Let much time pass at once, as where a machine sleeps."""
        self._stack.clock.sleep(seconds)
        self.page.clock.fast_forward(seconds * 1000)
        self.settle()

    def settle(self) -> None:
        """Give answers until the page waits for none but those that are held."""
        while True:
            flying = sum(frame.evaluate(_FLYING) for frame in self.page.frames)
            due = [route for route in self._routes if not self._is_held(route)]
            if not due and flying <= len(self._routes):
                return
            for route in due:
                self._routes.remove(route)
                self._give(route)

    def release(self) -> None:
        """Give the answers that are held."""
        self.held = "(?!)"
        self.settle()

    def drawn(self) -> None:
        """Wait until the browser has drawn the page: then the page knows what is in view, and how large it is."""
        self.page.evaluate(_DRAWN)
        self.settle()

    def close(self) -> None:
        self.context.close()
