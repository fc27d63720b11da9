"""Readers who ask for more than an account can run do not keep events from being counted.

The embedded AWS runs as many functions as a small account may. It knows no `ReservedConcurrentExecutions` of a
template, so the test sets what the three parameters would set.
"""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Final

import pytest

from demo import feed
from demo.embedded.stack import Deployment, deployed
from demo.reads import Reader
from tests.support.aws.deployed_api import answer_of, count, event
from tests.support.aws.embedded_tools import skip_without_tools

pytestmark = [pytest.mark.e2e, pytest.mark.thorough]

FUNCTIONS: Final = 8
RESERVED: Final = {"WriterFunctionName": 2, "ProjectorFunctionName": 2, "QueryFunctionName": 3}
READERS: Final = 24
MEMBERS: Final = 400
BOARD: Final = "demo-flood"
DENSE: Final = f"/boards/{BOARD}/points/all/rank?member=member-0&method=dense"


def test_events_are_counted_while_readers_flood_the_api() -> None:
    skip_without_tools()
    events = [event(BOARD, f"member-{number}", number + 1) for number in range(MEMBERS)]
    again = [event(BOARD, f"member-{number}", number + 1) for number in range(MEMBERS)]
    with deployed(print, functions=FUNCTIONS) as deployment:
        for output, reserved in RESERVED.items():
            deployment.client("lambda").put_function_concurrency(
                FunctionName=deployment.outputs[output], ReservedConcurrentExecutions=reserved
            )
        count(deployment, events)
        with _flood(deployment) as answered:
            feed.post(deployment, again, lambda *_: None)
            feed.drain(deployment, lambda *_: None)
            under_flood = answered.total()
            assert answered.keys() - {HTTPStatus.OK}, f"nobody was turned away: {answered}"
        feed.settle(deployment)

        assert under_flood > READERS, answered
        assert answered[HTTPStatus.OK], answered
        assert feed.refused(deployment) == []
        listed = [one for page in Reader(deployment.api_url, BOARD).pages("all", None) for one in page["entries"]]
        assert [(one["score"], one["member"], one["rank"]) for one in listed] == [
            (2 * (number + 1), f"member-{number}", MEMBERS - number) for number in reversed(range(MEMBERS))
        ]


@contextmanager
def _flood(deployment: Deployment) -> Iterator[Counter[int]]:
    """Ask without a pause for a rank that reads everything ahead of it; yield how many got which status."""
    answered: Counter[int] = Counter()
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            answered[answer_of(deployment, "GET", DENSE)[0]] += 1

    readers = [threading.Thread(target=ask) for _ in range(READERS)]
    for reader in readers:
        reader.start()
    try:
        yield answered
    finally:
        over.set()
        for reader in readers:
            reader.join()
