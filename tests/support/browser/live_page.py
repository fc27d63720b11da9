"""The live page in a browser over functions in this process: what tests do there, and what its console may say."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

from playwright.sync_api import Browser

from demo.embedded.stack import LOCAL
from tests.support.aws.stack import Stack
from tests.support.browser.tab import Tab

AXE: Final = LOCAL / "axe-core" / "node_modules" / "axe-core" / "axe.min.js"
HOSTILE: Final = (
    "<img src=x onerror=alert(1)>",
    '"><script>alert(2)</script>',
    "\u202egnp.exe",
    "{{7*7}} &amp; ${x}",
    "用户 مرحبا",
    "a" * 200,
)
HIDE: Final = (
    "Object.defineProperty(document, 'hidden', {get: () => true, configurable: true});"
    "document.dispatchEvent(new Event('visibilitychange'))"
)
SHOW: Final = "delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))"
_MEASURES: Final = Path(__file__).with_name("measures.js")
_RUN_AXE: Final = """tags => {
    window.violations = null;
    axe.run(tags.length ? {runOnly: tags} : {}).then(found => {
        window.violations = found.violations.map(one => `${one.id}: ${one.nodes.map(node => node.html)}`);
    });
}"""
PHONE: Final = {"width": 390, "height": 844}
DESK: Final = {"width": 1280, "height": 900}
WALL: Final = {"width": 1920, "height": 1080}


class View(Tab):
    """An open page."""

    def members(self) -> list[str]:
        return self.page.locator("#rows td.who button").all_text_contents()

    def find(self, member: str) -> None:
        self.page.fill("#member", member)
        self.page.keyboard.press("Enter")
        self.settle()

    def in_next(self, seconds: float, meanwhile: Callable[[float], None] = lambda _: None) -> "View":
        """Let time pass, and keep of all requests those of that time."""
        for kept in (self.lists, self.paths, self.asked):
            kept.clear()
        self.pass_seconds(seconds, meanwhile)
        return self

    def pixels_beyond(self) -> int:
        """How much wider the page is than its window."""
        beyond: int = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        return beyond

    def measured(self, what: str) -> Any:
        """What a function of `measures.js` says of the page."""
        return self.page.evaluate(f"{_MEASURES.read_text(encoding='utf-8')};{what}()")

    def violations(self, tags: Sequence[str] = ()) -> list[str]:
        """The rules of axe that the page breaks now, of any severity, each with the elements that break it.

        `tags` choose the rules, such as `cat.color`. Without tags, all are looked at. The browser itself runs axe: the
        page's policy would block a script. Axe waits by the page's clock.
        """
        self.page.evaluate(f"{AXE.read_text(encoding='utf-8')};({_RUN_AXE})({[*tags]})")
        while (found := self.page.evaluate("window.violations")) is None:
            self.pass_seconds(0.5)
        return list(found)


class Opener(Protocol):
    """Opens a page: `missing` is a pattern of what its console may say, `script` runs before the page's own.

    `instead` and `held` are those of the tab from the beginning.
    """

    def __call__(self, arguments: str, script: str = "", missing: str = "", **context: Any) -> View: ...


@contextmanager
def opener(browser: Browser, stack: Stack) -> Iterator[Opener]:
    """Open pages of a stack. At the end they are closed, and none may have complained."""
    views: list[View] = []
    complaints: list[str] = []

    def open_(arguments: str, script: str = "", missing: str = "", **context: Any) -> View:
        view = View(browser, stack, script=script, **context)
        views.append(view)

        def heard(kind: str, text: str) -> None:
            if kind in {"error", "warning"} and not (missing and re.search(missing, text)):
                complaints.append(text)

        view.page.on("console", lambda message: heard(message.type, message.text))
        view.page.on("pageerror", lambda error: heard("error", str(error)))
        view.page.on("dialog", lambda dialog: complaints.append(dialog.message))
        view.open(arguments)
        return view

    yield open_
    for view in views:
        view.close()
    assert complaints == []
