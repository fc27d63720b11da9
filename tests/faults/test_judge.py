"""The judge finds the rankings to compare without the product, so it notices a ranking that the product forgets."""

import re
from datetime import UTC, datetime, timedelta

from standings.aws.dynamodb.scores import encode_record
from standings.domain.coverage import BoardRecord, coverage_of
from tests.faults.aws import Store
from tests.faults.instances import boards_of
from tests.faults.judge import EPOCH, Judge
from tests.faults.safeguards.replacing import Change, always
from tests.faults.script import LEAGUE, Family, Shape
from tests.support.oracle.model import Calendar, Metric

NOW = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
MILLISECONDS = (NOW - EPOCH) // timedelta(milliseconds=1)
TODAY = MILLISECONDS // 86_400_000
OF_A_DAY = Calendar(late=timedelta(days=1), keep=timedelta(days=1))
WIDE = Family({"points": Metric(windows=("all", "day", "last-2-days"))}, OF_A_DAY)
NARROW = Family({"points": Metric(windows=("all", "day"))}, OF_A_DAY)
PERIODS = {"a", f"d{TODAY - 1}", f"d{TODAY}", f"2d{TODAY - 1}", f"2d{TODAY}", f"2d{TODAY + 1}"}


def test_a_ranking_that_the_product_forgets_is_still_compared() -> None:
    """The member was active today and yesterday. A deployment that leaves out a window is still to come."""
    store = Store(NOW.timestamp, 1)
    family = boards_of(WIDE.text()).family(LEAGUE)
    assert family is not None
    record = BoardRecord(LEAGUE, 1, MILLISECONDS, coverage_of(family, MILLISECONDS), family.rankings())
    store.engine.put_item(TableName="Scores", Item=encode_record(record))
    subject = Judge(Shape((WIDE,), (NARROW,)), store, lambda _: None)
    for days in (0, 1):
        subject.models[LEAGUE].add(f"e{days}", "m", NOW - timedelta(days=days), {"points": 5}, NOW)
    with Change("domain.members:open_rankings", always(())).made():
        subject.compare(MILLISECONDS)

    matches = [re.match(r"league#...(\w+): expected m at '.+', got None", one) for one in subject.differences]
    assert {match[1] for match in matches if match is not None} == PERIODS
