"""The live page in a real browser, served by the real template in the embedded AWS, while events flow.

Pictures of every state are left in `.local/pictures`.
"""

import json
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from demo import feed
from demo.embedded.stack import LOCAL, Deployment
from demo.reads import Reader

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.xdist_group("deployment")]

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


def event(member: str, points: int, at: datetime | None = None) -> str:
    when = (at or datetime.now(UTC)).isoformat()
    said = {"id": uuid4().hex, "board": BOARD, "member": member, "at": when, "metrics": {"points": points}}
    return json.dumps(said)


@pytest.fixture(scope="module", autouse=True)
def _activity(deployment: Deployment) -> Iterator[None]:
    """A full board, and an event of someone far down now and then, for as long as the tests look."""
    if not AXE.exists():
        pytest.skip(f"{AXE} is missing, `make setup` installs it")
    rng, now = Random(1), datetime.now(UTC)
    members = [*HOSTILE, *(f"member-{number}" for number in range(150))]
    messages = [event(member, rng.randint(1, 900)) for member in members]
    messages += [event(member, rng.randint(1, 900), now - timedelta(days=1)) for member in members[:60]]
    feed.post(deployment, messages, lambda *_: None)
    feed.drain(deployment, lambda *_: None)
    feed.settle(deployment)
    over = threading.Event()

    def trickle() -> None:
        sqs, rng = deployment.sqs(), Random(2)
        while not over.wait(0.7):
            sqs.send_message(
                QueueUrl=deployment.queue_url, MessageBody=event(f"member-{rng.randrange(100, 150)}", rng.randint(1, 5))
            )

    thread = threading.Thread(target=trickle)
    thread.start()
    yield
    over.set()
    thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is missing: install Debian's package, or any other on the PATH")
    quiet = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
    quiet += ["--disable-background-networking", "--disable-component-update"]
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=quiet)
        yield started
        started.close()


class Shown:
    """A page that is looked at, and what it complained about."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address
        self.complaints: list[str] = []
        page.set_default_timeout(PATIENCE_MS)
        expect.set_options(timeout=PATIENCE_MS)
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog {dialog.message}"))

    def _heard(self, message: Any) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)

    def open(self, **arguments: str) -> None:
        given = "&".join(f"{name}={value}" for name, value in {"board": BOARD, **arguments}.items())
        self.page.goto(f"{self.address}/?{given}")
        expect(self.page.locator("#state")).to_have_attribute("data-is", "live")

    def members(self) -> list[str]:
        return self.page.locator("#rows td.who button").all_text_contents()

    def until(self, is_so: Callable[[], bool], what: str, seconds: float = PATIENCE_MS / 1000) -> None:
        began = time.monotonic()
        while not is_so():
            assert time.monotonic() - began < seconds, what
            self.page.wait_for_timeout(50)

    def picture(self, name: str) -> None:
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{name}.png")


@pytest.fixture
def shown(deployment: Deployment, browser: Browser) -> Iterator[Shown]:
    context = browser.new_context(viewport={"width": 1100, "height": 900}, reduced_motion="reduce")
    found = Shown(context.new_page(), deployment.api_url)
    yield found
    context.close()
    assert found.complaints == []


@pytest.fixture
def reader(deployment: Deployment) -> Reader:
    return Reader(deployment.api_url, BOARD)


def listed(reader: Reader, window: str = "all") -> list[str]:
    return [entry["member"] for page in reader.pages(window, None) for entry in page["entries"]]


def test_the_order_is_that_of_the_api_and_hostile_names_are_text(shown: Shown, reader: Reader) -> None:
    shown.open()
    expect(shown.page.locator("#rows td.who button")).to_have_count(SHOWN)

    shown.until(lambda: shown.members() == listed(reader)[:SHOWN], "the API's order")
    for member in HOSTILE:
        shown.page.fill("#member", member)
        shown.page.keyboard.press("Enter")
        expect(shown.page.locator("#found-name")).to_have_text(member)
        expect(shown.page.locator("#rows tr.me td.who")).to_have_text(member)
    assert shown.page.locator("#rows img, #rows script, #found img, #found script").count() == 0
    shown.picture("hostile")


def test_an_overtaking_is_seen_soon_after_its_event(shown: Shown, reader: Reader, deployment: Deployment) -> None:
    shown.open()
    second = shown.members()[1]
    posted = time.monotonic()
    feed.post(deployment, [event(second, 50_000)], lambda *_: None)
    shown.until(lambda: listed(reader)[0] == second, "the API's new order", 60)
    counted = time.monotonic()
    asked: list[str] = []
    shown.page.on("request", lambda request: asked.append(request.url))
    shown.until(lambda: shown.members()[0] == second, "the new order on the page")

    # It asks every two seconds: the first answer that has it may just have been asked for before.
    assert len([url for url in asked if "/points/all?" in url]) <= 2
    print(f"seen {time.monotonic() - posted:.2f} s after the event, counted {counted - posted:.2f} s after it")
    expect(shown.page.locator("#said")).to_have_text(f"{second} leads now")


def test_a_member_is_found_with_neighbours_and_place(shown: Shown, reader: Reader) -> None:
    shown.open(window="day")
    member = listed(reader, "day")[70]
    shown.page.keyboard.press("/")
    shown.page.keyboard.type(member)
    shown.page.keyboard.press("Enter")
    expect(shown.page.locator("#rows tr.me")).to_have_count(1)

    shown.until(lambda: 0 < shown.members().index(member) <= 6, "neighbours on both sides")
    standing = reader.rank("day", member)
    assert standing is not None
    expect(shown.page.locator("#found-rank strong")).to_contain_text(str(standing["rank"]))
    expect(shown.page.locator("#found-rank")).to_have_text(
        re.compile(
            r"^\d+(st|nd|rd|th) of \d+ · \d+ points · ahead of or level with [\d.]+ % · (new|as before|[▲▼] \d+)$"
        )
    )
    expect(shown.page.locator("#picture rect.here")).to_have_count(1)
    shown.picture("found")
    shown.page.reload()
    expect(shown.page.locator("#found-name")).to_have_text(member)
    shown.page.click("#forget")
    expect(shown.page.locator("#found")).to_be_hidden()


def test_any_rank_can_be_paged_to(shown: Shown, reader: Reader) -> None:
    shown.open()
    shown.page.click("#next")
    shown.until(lambda: shown.members() == listed(reader)[SHOWN : 2 * SHOWN], "the second page")
    shown.page.fill("#jump", "120")
    shown.page.keyboard.press("Enter")
    shown.until(lambda: shown.members() == listed(reader)[119 : 119 + SHOWN], "from rank 120")
    shown.page.go_back()
    shown.until(lambda: shown.members() == listed(reader)[SHOWN : 2 * SHOWN], "the second page again")
    shown.page.fill("#jump", "100000")
    shown.page.keyboard.press("Enter")
    expect(shown.page.locator("#empty")).to_have_text("Nobody stands this far down.")


@pytest.mark.parametrize("window", ["day", "week", "month", "last 7 days"])
def test_periods_go_back_and_forth(shown: Shown, window: str) -> None:
    shown.open()
    shown.page.get_by_role("button", name=window, exact=True).click()
    expect(shown.page.locator("#periods")).to_be_visible()
    expect(shown.page.locator("#after")).to_be_disabled()
    now = shown.page.locator("#when").inner_text()
    shown.page.click("#before")
    expect(shown.page.locator("#when")).not_to_have_text(now)
    assert "period=" in shown.page.url
    shown.page.click("#after")
    expect(shown.page.locator("#when")).to_have_text(now)
    assert "period=" not in shown.page.url


def test_movement_is_against_the_period_before(shown: Shown, reader: Reader) -> None:
    shown.open(window="day")
    member = HOSTILE[4]
    shown.page.fill("#member", member)
    shown.page.keyboard.press("Enter")

    here, before = reader.rank("day", member), reader.rank("last-7-days", member)
    assert here is not None
    assert before is not None
    expect(shown.page.locator("#rows tr.me .moved span")).to_have_count(1)
    expect(shown.page.locator("#rows tr.me .moved span")).not_to_have_text("new")


def test_it_says_so_when_the_api_is_away_and_goes_on_when_it_is_back(shown: Shown) -> None:
    shown.open()
    before = shown.members()
    shown.page.context.set_offline(True)
    expect(shown.page.locator("#state")).to_have_attribute("data-is", "offline")
    expect(shown.page.locator("#note")).to_contain_text("cannot be reached")
    assert shown.members() == before
    shown.picture("offline")
    shown.page.context.set_offline(False)
    expect(shown.page.locator("#state")).to_have_attribute("data-is", "live")
    expect(shown.page.locator("#note")).to_be_hidden()
    shown.complaints = [one for one in shown.complaints if "ERR_INTERNET_DISCONNECTED" not in one]


def test_nobody_and_nothing_are_said_as_such(shown: Shown) -> None:
    shown.open(board="demo-nobody")
    expect(shown.page.locator("#empty")).to_have_text("Nobody is ranked in this period yet.")
    shown.picture("empty")
    shown.open(window="day", period="2001-01-01")
    expect(shown.page.locator("#empty")).to_have_text("No longer kept.")
    shown.picture("gone")
    shown.complaints = [one for one in shown.complaints if "404" not in one]


def test_it_asks_no_more_while_nobody_looks(shown: Shown) -> None:
    shown.open()
    asked: list[str] = []
    shown.page.on("request", lambda request: asked.append(request.url))
    shown.page.evaluate(
        "Object.defineProperty(document, 'hidden', {get: () => true, configurable: true});"
        "document.dispatchEvent(new Event('visibilitychange'))"
    )
    shown.page.wait_for_timeout(500)
    asked.clear()
    shown.page.wait_for_timeout(5_000)
    assert asked == []
    shown.page.evaluate("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
    shown.until(lambda: bool(asked), "asks again")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("name", "width", "height"), [("desk", 1100, 900), ("phone", 390, 800), ("wall", 1920, 1080)])
def test_it_is_fit_for_everyone(
    browser: Browser, deployment: Deployment, scheme: Any, name: str, width: int, height: int
) -> None:
    # The policy would keep the checker out as well.
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, bypass_csp=True, reduced_motion="reduce"
    )
    shown = Shown(context.new_page(), deployment.api_url)
    if name == "wall":
        shown.open(window="day", kiosk="")
    else:
        shown.open(window="day", member="member-7")
        expect(shown.page.locator("#picture rect.here")).to_have_count(1)
    shown.picture(f"{name}-{scheme}")
    assert shown.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shown.page.add_script_tag(content=AXE.read_text(encoding="utf-8"))
    found = shown.page.evaluate("axe.run().then(found => found.violations.map(one => [one.id, one.impact]))")
    assert [rule for rule, impact in found if impact in {"serious", "critical"}] == []
    context.close()
