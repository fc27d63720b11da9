"""A full board on the deployed stack while events flow, and a browser that shows its live page."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from playwright.sync_api import Browser

from demo import feed
from demo.embedded.stack import Deployment
from demo.reads import Reader
from tests.support.browser.chromium import chromium_or_skip
from tests.support.browser.live_page import AXE, BOARD, HOSTILE, Shown, event


@pytest.fixture(scope="module", autouse=True)
def _activity(deployment: Deployment) -> Iterator[None]:
    """Fill the board, and post an event of a low-ranked member now and then while the tests run."""
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
    with chromium_or_skip() as started:
        yield started


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
