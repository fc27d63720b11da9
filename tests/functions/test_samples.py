"""Each sample in events/ does what its name says with `sam local invoke`."""

from datetime import UTC, datetime
from typing import Any, Final

import orjson

from tests.e2e.test_lambda_runtime import EVENTS, invoke_all
from tests.support.aws.stack import ManualClock, project, running
from tests.support.awslambda.pollers import Context

NOON: Final = int(datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp() * 1000)


def test_every_sample_does_its_work(engine: Any) -> None:
    with running(engine, ManualClock(NOON)) as stack:

        def catch_up() -> None:
            stack.writer({"Records": stack.activity.records()}, Context())
            project(stack)

        def run(function: str, sample: str) -> dict[str, Any]:
            handler = getattr(stack, function.removesuffix("Function").lower())
            answer: dict[str, Any] = handler(
                orjson.loads((EVENTS / f"{sample}.json").read_bytes()), Context(seconds=900)
            )
            return answer

        invoke_all(catch_up, run)
