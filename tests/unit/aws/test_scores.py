"""What the store of scores makes of the reasons that DynamoDB gives for a cancelled transaction."""

from typing import Any

from botocore.exceptions import ClientError

from standings.aws.dynamodb.scores import Fence, Rewrite, Scores
from standings.domain.members import new_image
from tests.support.aws.stack import ManualClock
from tests.support.builders.maintenance import clock_of


class Cancelling:
    """A client of DynamoDB that cancels every transaction, for one reason an action."""

    def __init__(self, *codes: str) -> None:
        self._reasons = [{"Code": code} for code in codes]

    def transact_write_items(self, **_: Any) -> None:
        error: Any = {"Error": {"Code": "TransactionCanceledException"}, "CancellationReasons": self._reasons}
        raise ClientError(error, "TransactWriteItems")


def test_a_busy_fence_makes_every_change_conflict_once() -> None:
    client: Any = Cancelling("TransactionConflict", "None", "TransactionConflict")
    scores = Scores(client, "Scores", "Receipts", clock_of(ManualClock(0)))
    changes = [Rewrite(new_image("b", member, 1), None) for member in ("u1", "u2")]

    conflicts = scores.apply([], changes, 1, Fence("b", "delete/removing/1"))

    assert [conflict.position for conflict in conflicts] == [0, 1]
