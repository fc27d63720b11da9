"""What all tests share: no way to a real account, and no skip that is not allowed or that nobody hears of."""

import gc
import os
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support.dynamodb.request_checks import checked

settings.register_profile("standings", print_blob=True, deadline=None)
settings.load_profile("standings")

os.environ.update(
    AWS_ACCESS_KEY_ID="testing",
    AWS_SECRET_ACCESS_KEY="testing",  # noqa: S106 - nothing to keep
    AWS_DEFAULT_REGION="us-east-1",
    AWS_EC2_METADATA_DISABLED="true",
    POWERTOOLS_SERVICE_NAME="standings",
    POWERTOOLS_METRICS_NAMESPACE="Standings",
    POWERTOOLS_LOG_LEVEL="WARNING",
    POWERTOOLS_METRICS_DISABLED="true",
    LANGUAGE="C",  # argparse looks for a translation of every word, on the disk
)
os.environ.pop("AWS_PROFILE", None)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage in what is collected: it stays until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True, scope="session")
def _whole_requests() -> Iterator[None]:
    """Let every engine check whole requests as botocore does."""
    with checked():
        yield


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of a run share."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With STANDINGS_NO_SKIPS set, a test that would be skipped fails: CI has all that they need."""
    del item, call
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("STANDINGS_NO_SKIPS"):
        report.outcome = "failed"
        report.longrepr = f"may not be skipped here: {report.longrepr}"
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests were left out, and what would let them run: one line for each thing that is missing."""
    reports = terminalreporter.stats.get("skipped", [])
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in reports)
    for reason, number in sorted(reasons.items()):
        terminalreporter.line(f"left out: {number} {'test' if number == 1 else 'tests'}, since {reason}")
