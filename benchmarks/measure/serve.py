"""Measures the time from `make serve` to the first standings on the live page, and takes the pictures of that page.

Everything that `make serve` needs is installed before. The browser is the Chromium on the PATH; it runs already, and
opens the page as soon as its address is printed. The seconds are this machine's; `load_before` is its load average.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import IO, Any, Final

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.harness.results_file import REPOSITORY, Output, output
from demo import people
from demo.demo import BOARD
from demo.reads import Reader
from demo.serve import READY, UP

PICTURES: Final = {"light": "docs/pictures/live-page.png", "dark": "docs/pictures/live-page-dark.png"}
_ROUNDS: Final = 3
_PATIENCE_MS: Final = 300_000
_SHOWN: Final = {"width": 1000, "height": 819}
_WINDOW: Final = "last-7-days"
_PLACE: Final = 3
"""The place from which on the pictures show the first member with a name."""
_ONE_MOMENT: Final = """() => {
    const all = [...document.querySelectorAll("#rows tr")], mine = document.querySelector("#rows tr.me .rank");
    const words = document.querySelector("#found-rank").textContent.split(" ");
    const total = document.querySelector("#total").textContent.split(" ")[0];
    return mine && parseInt(words[0]) == mine.textContent && words[2] == total
        && all.every(row => row.querySelector(".moved span"));
}"""


def main(arguments: list[str]) -> None:
    """Serve some times; write the seconds of all rounds, and the pictures of the first."""
    out = output(arguments, __doc__)
    rounds = []
    with _browser() as browser:
        for number in range(1 if out.small else _ROUNDS):
            rounds.append(_round(browser, out if number == 0 else None))
            print(rounds[-1], flush=True)
    typical = {name: round(median(one[name] for one in rounds), 1) for name in rounds[0]}
    out.keep("serve", {"processors": os.cpu_count(), "rounds": rounds, "median": typical})


def _round(browser: Browser, out: Output | None) -> dict[str, float]:
    """Run `make serve` once; return the seconds from its start. With `out`, take the pictures."""
    timings = {"load_before": round(os.getloadavg()[0], 1)}
    began = time.monotonic()

    def seconds() -> float:
        return round(time.monotonic() - began, 1)

    with _serving() as lines:
        address = _line_with(lines, UP).partition(UP)[2].strip()
        timings["page_is_up_s"] = seconds()
        page = browser.new_page()
        page.goto(address)
        page.wait_for_selector("#rows tr[data-rank]", timeout=_PATIENCE_MS)
        timings["first_standings_s"] = seconds()
        page.close()
        _line_with(lines, READY)
        timings["all_activity_counted_s"] = seconds()
        if out is not None:
            for scheme, path in PICTURES.items():
                _picture(browser, address, scheme, out.place(path))
    return timings


def _picture(browser: Browser, address: str, scheme: Any, path: Any) -> None:
    """Take a picture of the page of the week, as one of its first members sees it."""
    entries = next(Reader(address.rstrip("/"), BOARD).pages(_WINDOW, None))["entries"][_PLACE - 1 :]
    member = next(entry["member"] for entry in entries if people.profile(entry["member"]) is not None)
    size: Any = _SHOWN
    context = browser.new_context(viewport=size, color_scheme=scheme, reduced_motion="reduce", device_scale_factor=1.5)
    context.add_init_script(f"localStorage.setItem('standings-me', {json.dumps(member)})")
    page: Page = context.new_page()
    page.goto(f"{address}?board={BOARD}&window={_WINDOW}&member={member}")
    page.wait_for_selector("#picture rect.here", timeout=_PATIENCE_MS)
    page.wait_for_selector("#past path", state="attached", timeout=_PATIENCE_MS)
    page.wait_for_selector("#mine strong", timeout=_PATIENCE_MS)
    # List, member and movement are three reads; scores may change between them.
    page.wait_for_function(_ONE_MOMENT, timeout=_PATIENCE_MS)
    page.screenshot(path=path)
    context.close()


@contextmanager
def _serving() -> Iterator[IO[str]]:
    """Start `make serve` and yield its output; stop it like Ctrl-C at the end."""
    process = subprocess.Popen(
        ["make", "serve"],  # noqa: S607
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        yield process.stdout
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=60)


def _line_with(lines: IO[str], text: str) -> str:
    """Return the next line with this text; RuntimeError if the output ends before."""
    read = []
    for line in lines:
        read.append(line)
        if text in line:
            return line
    raise RuntimeError(f"expected a line with {text!r}, but `make serve` ended:\n{''.join(read)}")


@contextmanager
def _browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("expected chromium on the PATH, found none: install Debian's package `chromium`, or any other")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield started
        finally:
            started.close()


if __name__ == "__main__":
    main(sys.argv[1:])
