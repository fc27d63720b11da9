"""The Chromium on the PATH, without a window."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

_QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
_QUIET += ["--disable-background-networking", "--disable-component-update"]


def unavailable() -> str | None:
    """Say why no browser can be started here; None if one can."""
    if shutil.which("chromium") is None:
        return "chromium is missing: apt-get install chromium"
    return None


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the browser. Check `unavailable` first."""
    path = shutil.which("chromium")
    if path is None:
        raise RuntimeError(unavailable())
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=_QUIET)
        try:
            yield started
        finally:
            started.close()


@contextmanager
def chromium_or_skip() -> Iterator[Browser]:
    """Start the browser; skip the test if there is none."""
    reason = unavailable()
    if reason is not None:
        pytest.skip(reason)
    with chromium() as started:
        yield started
