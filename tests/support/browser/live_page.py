"""The live page in a browser, and the board that it shows. Pictures are left in `.local/pictures`."""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final
from uuid import uuid4

from playwright.sync_api import Page, Route, expect

from demo.embedded.stack import LOCAL
from demo.reads import Reader

AXE: Final = LOCAL / "axe-core" / "node_modules" / "axe-core" / "axe.min.js"
PICTURES: Final = LOCAL / "pictures"
BOARD: Final = "demo-page"
HOSTILE: Final = (
    "<img src=x onerror=alert(1)>",
    '"><script>alert(2)</script>',
    "\u202egnp.exe",
    "{{7*7}} &amp; ${x}",
    "用户 مرحبا",
    "a" * 200,
)
PATIENCE_MS: Final = 20_000
SHOWN: Final = 50


def event(member: str, points: int, at: datetime | None = None, board: str = BOARD) -> str:
    when = (at or datetime.now(UTC)).isoformat()
    said = {"id": uuid4().hex, "board": board, "member": member, "at": when, "metrics": {"points": points}}
    return json.dumps(said)


class Shown:
    """An open page, and the errors and warnings of its console but for addresses that are `missing` on purpose."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address
        self.complaints: list[str] = []
        self.missing: set[str] = set()
        page.set_default_timeout(PATIENCE_MS)
        expect.set_options(timeout=PATIENCE_MS)
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog {dialog.message}"))

    def _heard(self, message: Any) -> None:
        if message.type in {"error", "warning"}:
            address = message.location.get("url")
            if address not in self.missing:
                self.complaints.append(f"{message.text} {address}")

    def go(self, **arguments: str) -> None:
        """Open a view, without waiting for it."""
        given = "&".join(f"{name}={value}" for name, value in {"board": BOARD, **arguments}.items())
        self.page.goto(f"{self.address}/?{given}")

    def open(self, **arguments: str) -> None:
        """Open a view, and wait until it is live."""
        self.go(**arguments)
        expect(self.page.locator("#state")).to_have_attribute("data-is", "live")

    def members(self) -> list[str]:
        return self.page.locator("#rows td.who button").all_text_contents()

    def until(self, is_so: Callable[[], bool], what: str, seconds: float = PATIENCE_MS / 1000) -> None:
        began = time.monotonic()
        while not is_so():
            assert time.monotonic() - began < seconds, what
            self.page.wait_for_timeout(50)

    def hold(self, address: str) -> list[Route]:
        """Hold back answers from addresses like this one, until the test continues what is in the list."""
        held: list[Route] = []

        def keep(route: Route) -> None:
            held.append(route)

        self.page.route(address, keep)
        return held

    def picture(self, name: str) -> None:
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{name}.png")


def listed(reader: Reader, window: str = "all") -> list[str]:
    return [entry["member"] for page in reader.pages(window, None) for entry in page["entries"]]
