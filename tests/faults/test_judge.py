"""The judge finds the rankings to compare without the product, so it notices a ranking that the product forgets."""

import re
from datetime import UTC, datetime, timedelta

from standings.aws.dynamodb.scores import encode_record
from standings.domain.boards import BoardRecord, coverage_of
from tests.faults.aws import Store
from tests.faults.instances import boards_of
from tests.faults.judge import EPOCH, Judge
from tests.faults.safeguards.replacing import Change, always
from tests.faults.script import LEAGUE, Family, Shape
from tests.support.oracle.model import Metric

NOW = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
MILLISECONDS = (NOW - EPOCH) // timedelta(milliseconds=1)
TODAY = MILLISECONDS // 86_400_000
WIDE = Family(LEAGUE, {"points": Metric(windows=("all", "day", "last-2-days"))})
NARROW = Family(LEAGUE, {"points": Metric(windows=("all", "day"))})
IN_ALL = {"a"}
IN_DAYS = {f"d{TODAY - 1}", f"d{TODAY}"}
IN_TWO_DAYS = {f"2d{TODAY - 1}", f"2d{TODAY}", f"2d{TODAY + 1}"}


def judge(shape: Shape, *, recorded: bool = True) -> Judge:
    """Return the judge of a board whose member was active today and yesterday and whose rankings are all empty."""
    store = Store(NOW.timestamp, 1)
    family = boards_of(shape.text).family(LEAGUE)
    assert family is not None
    if recorded:
        record = BoardRecord(LEAGUE, 1, MILLISECONDS, coverage_of(family, MILLISECONDS), family.rankings())
        store.engine.put_item(TableName="Scores", Item=encode_record(record))
    subject = Judge(shape, store, lambda _: None)
    for days in (0, 1):
        subject.models[LEAGUE].add(f"e{days}", "m", NOW - timedelta(days=days), {"points": 5}, NOW)
    return subject


def missed(subject: Judge) -> set[str]:
    """Return the windows and periods in which the judge misses the member."""
    matches = [
        re.match(r"league#...(\w+): expected m at '.+', got None", difference) for difference in subject.differences
    ]
    return {match[1] for match in matches if match is not None}


def test_a_ranking_that_the_product_forgets_is_still_compared() -> None:
    subject = judge(Shape((WIDE,)))
    with Change("domain.members:open_rankings", always(())).made():
        subject.compare(MILLISECONDS)

    assert missed(subject) == IN_ALL | IN_DAYS | IN_TWO_DAYS


def test_a_ranking_that_the_record_forgets_is_a_difference() -> None:
    subject = judge(Shape((WIDE,)))
    with Change("domain.boards:Coverage.holds", always(False)).made():
        subject.compare(MILLISECONDS)

    matches = [re.match(r"league#...(\w+): is not complete", difference) for difference in subject.differences]
    assert {match[1] for match in matches if match is not None} >= IN_ALL | IN_DAYS | IN_TWO_DAYS


def test_before_a_deployment_the_rankings_of_the_first_definition_are_compared() -> None:
    subject = judge(Shape((WIDE,), (NARROW,)))
    subject.compare(MILLISECONDS)

    assert missed(subject) == IN_ALL | IN_DAYS | IN_TWO_DAYS


def test_a_board_with_events_has_a_record() -> None:
    subject = judge(Shape((WIDE,)), recorded=False)
    subject.compare(MILLISECONDS)

    assert subject.differences == ["league: has events but no board record"]
