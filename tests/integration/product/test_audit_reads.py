"""Reads of an audit: what they consume by the numbers of DynamoDB, and one that meets a transaction."""

from collections.abc import Callable
from typing import Any

import pytest

from standings.aws.dynamodb.rankings.audit_reads import DynamoAuditReads
from standings.aws.dynamodb.rankings.rankings import DynamoRankings
from standings.domain.boards.definitions import Ranking
from standings.domain.members.moves import Move
from standings.domain.scoring.sort_order import Place
from standings.ports.errors import StoreUnavailableError
from tests.support.builders.points import NOW, family
from tests.support.dynamodb.tables import create_tables
from tests.support.faults import faulty_client

METRIC = family("b").metrics["points"]
RANKING = Ranking("b", METRIC, METRIC.windows[0], 0)
CLOCK = faulty_client.Time(NOW).clock()


def test_a_cancelled_picture_can_be_tried_again() -> None:
    class Conflict:
        def transact_get_items(self, **_: Any) -> Any:
            raise faulty_client.cancelled(["TransactionConflict"])

    busy = DynamoAuditReads(Conflict(), "Scores", "Rankings", CLOCK)  # type: ignore[arg-type]
    with pytest.raises(StoreUnavailableError, match="TransactionConflict"):
        busy.pair(RANKING, "m")


@pytest.mark.thorough
def test_read_units_are_those_that_dynamodb_names(local_client: Any) -> None:
    create_tables(local_client)
    evidence = DynamoAuditReads(local_client, "Scores", "Rankings", CLOCK)
    moves = [Move(RANKING, member, None, Place(value), 1, NOW) for member, value in (("m", -5), ("n", 300))]
    assert DynamoRankings(local_client, "Rankings", CLOCK).commit(RANKING, moves) == []

    def units(read: Callable[[], Any]) -> float:
        before = evidence.units
        read()
        return evidence.units - before

    assert units(lambda: evidence.rows([(RANKING, "m"), (RANKING, "n")])) == 1
    assert units(lambda: evidence.pair(RANKING, "m")) == 6
    assert units(lambda: evidence.entries(RANKING, 0, " ", None, 10)) == 0.5
