"""A call to a service that is throttled fails in time, whatever the service would like the SDK to wait."""

from typing import Any, Final

import pytest
from botocore.exceptions import ClientError
from botocore.retries.standard import RetryHandler

from standings.wiring import building_blocks
from tests.support.aws.stack import ManualClock
from tests.support.aws.throttling import HUGE, LIGHT, Throttled

WISHES: Final = [None, "0", "1000", "6000", HUGE, "9" * 5000, "-1", "1e9", "soon", ""]
"""What an answer may say of the milliseconds to wait."""
TOKENS: Final = 500 // 5
"""Throttled calls after which the SDK tries once: a second try of a throttled call costs 5 of a client's 500 tokens."""


def tries(throttled: Throttled, clock: ManualClock, operation: str, request: dict[str, Any]) -> int:
    """Make a call, which fails in time. Returns how often the SDK tried."""
    before, began = throttled.attempts, clock.monotonic()
    with pytest.raises(ClientError):
        getattr(throttled.client, operation)(**request)
    assert clock.monotonic() - began <= building_blocks.MAX_CALL_S
    return throttled.attempts - before


@pytest.mark.parametrize(
    ("service", "operation", "request_"),
    [
        (LIGHT, "get_item", {"TableName": "t", "Key": {"pk": {"S": "x"}}}),
        ("dynamodb", "get_item", {"TableName": "t", "Key": {"pk": {"S": "x"}}}),
        ("sqs", "receive_message", {"QueueUrl": "https://sqs.invalid/0/q"}),
        ("s3", "delete_object", {"Bucket": "bucket", "Key": "key"}),
        ("events", "put_events", {"Entries": [{}]}),
    ],
)
def test_a_call_fails_in_time_whatever_the_service_asks_for(
    service: str, operation: str, request_: dict[str, Any], clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RetryHandler.__init__, "__defaults__", (None, clock.sleep))  # after a poll of a queue
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "9")
    for wish in WISHES:
        throttled = Throttled(service, clock, wish)
        made = [tries(throttled, clock, operation, request_) for _ in range(TOKENS if wish == HUGE else 2)]
        assert set(made) == {building_blocks.ATTEMPTS}, wish
        if wish == HUGE:
            assert tries(throttled, clock, operation, request_) == 1
