"""Builds what lists and replays dead letters and parked records, over the clients of a stack."""

import random
from collections.abc import Callable, Sequence
from typing import Any

from standings.aws.dynamodb.rankings.rankings import DynamoRankings
from standings.aws.dynamodb.scores.member_items import decode_parked
from standings.aws.dynamodb.scores.scores import DynamoScores
from standings.aws.s3.failure_bucket import FailureBucket
from standings.aws.sqs.dead_letter_queue import DeadLetterQueue
from standings.aws.sqs.messages import Sender
from standings.domain.boards.boards_toml import parse_boards
from standings.maintain.failures.dead_letters import DeadLetterCare
from standings.maintain.failures.parked import ParkedCare
from standings.project.backfill import Backfill
from standings.runtime.retry import Clock
from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.fakes.queues import Sqs
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack


def soon(clock: ManualClock, seconds: float = 60.0) -> float:
    """A deadline on the test's clock."""
    return clock.monotonic() + seconds


def clock_of(clock: ManualClock) -> Clock:
    """A `Clock` on the test's clock: nothing really waits."""
    return Clock(clock, clock.monotonic, clock.sleep, random.Random(1).random)


def dead_letter_care(stack: Stack) -> DeadLetterCare:
    sqs: Any = Sqs(stack.activity, stack.dead_letters)
    queue = DeadLetterQueue(
        lambda: sqs,
        ENVIRONMENT["DEAD_LETTER_QUEUE_URL"],
        Sender(lambda: sqs, ENVIRONMENT["ACTIVITY_QUEUE_URL"]),
        bucket(stack),
    )
    return DeadLetterCare(queue, clock_of(stack.clock))


def parked_care(
    stack: Stack,
    boards: str,
    written: Callable[[str], Sequence[int]] = lambda _: (0,),
    client: Any = None,
    tools: Clock | None = None,
) -> ParkedCare:
    dynamodb = client if client is not None else stack.dynamodb
    tools = tools or clock_of(stack.clock)
    return ParkedCare(
        parse_boards(boards),
        DynamoScores(dynamodb, "Scores", "Receipts", tools),
        Backfill(DynamoRankings(dynamodb, "Rankings", tools), tools),
        bucket(stack),
        decode_parked,
        tools,
        report=_fail,
        written=written,
    )


def _fail(bug: Exception) -> None:
    raise bug


def bucket(stack: Stack) -> FailureBucket:
    s3: Any = stack.bucket
    return FailureBucket(lambda: s3, ENVIRONMENT["FAILURE_BUCKET"])
