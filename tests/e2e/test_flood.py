"""Readers who ask for more than an account can run do not keep events from being counted.

The embedded AWS runs as many functions as a small account may. It knows no `ReservedConcurrentExecutions` of a
template, so the test sets what the three parameters would set.
"""

import json
import threading
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final

import pytest

from demo import feed
from demo.embedded import stack
from demo.embedded.stack import Deployment, deployed
from demo.reads import Reader
from tests.support.aws.embedded_tools import skip_without_tools

pytestmark = [pytest.mark.e2e, pytest.mark.thorough]

FUNCTIONS: Final = 8
RESERVED: Final = {"WriterFunctionName": 2, "ProjectorFunctionName": 2, "QueryFunctionName": 3}
READERS: Final = 24
MEMBERS: Final = 400
BOARD: Final = "demo-flood"
DENSE: Final = f"boards/{BOARD}/points/all/rank?member=member-0&method=dense"


@pytest.fixture
def deployment() -> Iterator[Deployment]:
    """A stack in a small account."""
    skip_without_tools()
    with deployed(print, functions=FUNCTIONS) as found:
        functions = stack._client("lambda", found.endpoint)
        for output, reserved in RESERVED.items():
            name = found.outputs[output]
            functions.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=reserved)
        yield found


def test_events_are_counted_while_readers_flood_the_api(deployment: Deployment) -> None:
    _post(deployment, "before")
    feed.settle(deployment)
    with _flood(deployment) as answered:
        _post(deployment, "meanwhile")
        feed.drain(deployment, lambda *_: None)
        under_flood = sum(answered.values())
        assert answered.keys() - {HTTPStatus.OK}, f"nobody was turned away: {answered}"
    feed.settle(deployment)

    assert under_flood > READERS, answered
    assert answered[HTTPStatus.OK], answered
    assert feed.refused(deployment) == []
    listed = [entry for page in Reader(deployment.api_url, BOARD).pages("all", None) for entry in page["entries"]]
    expected = sorted(((2 * (number + 1), f"member-{number}") for number in range(MEMBERS)), reverse=True)
    assert [(entry["score"], entry["member"], entry["rank"]) for entry in listed] == [
        (score, member, place) for place, (score, member) in enumerate(expected, start=1)
    ]


def _post(deployment: Deployment, about: str) -> None:
    """Post an event of every member. Each has a score of their own."""
    at = datetime.now(UTC).isoformat()
    said = [
        {"id": f"{about}-{n}", "board": BOARD, "member": f"member-{n}", "at": at, "metrics": {"points": n + 1}}
        for n in range(MEMBERS)
    ]
    feed.post(deployment, [json.dumps(event) for event in said], lambda *_: None)


@contextmanager
def _flood(deployment: Deployment) -> Iterator[Counter[int]]:
    """Ask without a pause for a rank that reads everything ahead of it; yield how many got which status."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    answered: Counter[int] = Counter()
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            try:
                with opener.open(f"{deployment.api_url}/{DENSE}", timeout=60) as answer:
                    status = answer.status
            except urllib.error.HTTPError as error:
                status = error.code
            answered[status] += 1

    readers = [threading.Thread(target=ask) for _ in range(READERS)]
    for reader in readers:
        reader.start()
    try:
        yield answered
    finally:
        over.set()
        for reader in readers:
            reader.join()
