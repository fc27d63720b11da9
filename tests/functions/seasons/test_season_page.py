"""The live page turns from season to season, across gaps."""

import shutil
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.gateway import serving
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import running
from tests.support.browser.live_page import Shown
from tests.support.builders.seasons import FOUR, at, milliseconds, post


@pytest.fixture
def shown(engine: Any, clock: ManualClock) -> Iterator[Shown]:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is missing: install Debian's package, or any other on the PATH")
    with (
        mock.patch.dict(ENVIRONMENT, {"OPEN_READS": "true"}),
        running(engine, clock, FOUR) as stack,
        serving(stack) as gateway,
        sync_playwright() as playwright,
    ):
        clock.milliseconds = milliseconds("2026-05-05T10:00")
        post(stack, "2026-05-05T09:00", a=5)
        at(stack, "2026-10-20T10:00")
        post(stack, "2026-10-20T09:00", b=7)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        yield Shown(browser.new_page(), gateway.address)
        browser.close()


def test_seasons_go_back_and_forth(shown: Shown) -> None:
    shown.open(board="b", window="season")
    when, before, after = (shown.page.locator(name) for name in ("#when", "#before", "#after"))

    expect(when).to_contain_text("autumn · ")
    assert shown.members() == ["b"]
    before.click()
    expect(when).to_contain_text("spring · ")
    expect(shown.page.locator("#rows td.who button")).to_have_text(["a"])
    expect(before).to_be_disabled()
    after.click()
    expect(when).to_contain_text("autumn · ")
    expect(after).to_be_disabled()
    expect(before).to_be_enabled()
    assert shown.complaints == []
