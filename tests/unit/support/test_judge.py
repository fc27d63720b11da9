"""The judge itself, and its calendar, by examples small enough to check by eye."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest

from tests.support.oracle.model import BoardModel, Calendar, Listing, Metric

NOW = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)


def board(registered: bool = False, **metrics: Metric) -> BoardModel:
    return BoardModel(metrics, registered=registered)


def post(model: BoardModel, *events: tuple[str, str, int, int], metric: str = "points") -> None:
    """Events as (id, member, minutes ago, units)."""
    for event_id, member, ago, units in events:
        assert model.add(event_id, member, NOW - timedelta(minutes=ago), {metric: units}, NOW)


def listing(model: BoardModel, metric: str = "points", window: str = "all") -> Listing:
    return model.listing(metric, window, NOW)


def order(model: BoardModel, metric: str = "points", window: str = "all") -> list[tuple[str, int]]:
    return [(one.member, one.score) for one in listing(model, metric, window).placed]


@pytest.fixture
def tied() -> Listing:
    """Scores 9, 7, 7, 5 of a, b, c, d."""
    model = board(points=Metric())
    post(model, ("1", "d", 0, 5), ("2", "c", 0, 7), ("3", "a", 0, 9), ("4", "b", 0, 7))
    return listing(model)


@pytest.mark.parametrize(
    ("method", "ranks"), [("competition", [1, 2, 2, 4]), ("ordinal", [1, 2, 3, 4]), ("dense", [1, 2, 2, 3])]
)
def test_each_method_of_numbering(tied: Listing, method: str, ranks: list[int]) -> None:
    assert tied.lines(method) == list(zip(ranks, "abcd", [9, 7, 7, 5], strict=True))
    assert tied.page(2, 2, method) == [(ranks[1], "b", 7), (ranks[2], "c", 7)]
    assert tied.page(5, 2, method) == []
    assert tied.line("d", method) == (ranks[3], "d", 5)
    assert tied.line("e", method) is None


@pytest.mark.parametrize(("method", "at_seven", "at_six"), [("competition", 2, 4), ("ordinal", 4, 4), ("dense", 2, 3)])
def test_where_a_score_would_stand(tied: Listing, method: str, at_seven: int, at_six: int) -> None:
    assert tied.of_score(7, method) == (at_seven, 1, 2, 1)
    assert tied.of_score(6, method) == (at_six, 3, 0, 1)
    assert tied.of_score(10, method) == (1, 0, 0, 4)


def test_percentiles(tied: Listing) -> None:
    assert [tied.percentile(score) for score in (9, 7, 5)] == [100, 75, 25]
    assert [tied.score_at(Decimal(p)) for p in ("0.000000001", "25", "25.000000001", "75", "75.1", "100")] == [
        5,
        5,
        7,
        7,
        9,
        9,
    ]
    assert Listing([], descending=True).score_at(Decimal(50)) is None


def test_percentiles_are_rounded_half_up_and_compared_unrounded() -> None:
    model = board(points=Metric())
    post(model, *((str(n), f"m{n}", 0, n) for n in range(32)))
    assert listing(model).percentile(0) == Decimal("3.13")  # 3.125
    post(model, *((str(n), f"m{n}", 0, n) for n in range(32, 48)))
    assert listing(model).percentile(15) == Decimal("33.33")
    assert listing(model).score_at(Decimal("33.34")) == 16
    assert Fraction(100 * 16, 48) >= Fraction(Decimal("33.333333333"))
    assert listing(model).score_at(Decimal("33.333333333")) == 15


@pytest.mark.parametrize(
    ("aggregate", "descending", "expected"),
    [
        # a: 3 at 50, 5 at 40, 5 at 10 minutes ago, 1 at 5; b: 5 at 45, 4 at 20
        ("sum", True, [("a", 14), ("b", 9)]),
        ("max", True, [("b", 5), ("a", 5)]),
        ("min", False, [("a", 1), ("b", 4)]),
        ("last", True, [("b", 4), ("a", 1)]),
    ],
)
def test_each_aggregate(aggregate: str, descending: bool, expected: list[tuple[str, int]]) -> None:
    model = board(points=Metric(aggregate, descending=descending, ties="first"))
    post(model, ("1", "a", 10, 5), ("2", "a", 50, 3), ("3", "a", 5, 1), ("4", "a", 40, 5))
    post(model, ("5", "b", 20, 4), ("6", "b", 45, 5))
    assert order(model) == expected


def test_the_first_among_equals_by_aggregate() -> None:
    for aggregate, expected in (("sum", "cba"), ("last", "abc"), ("max", "bac")):
        model = board(points=Metric(aggregate, ties="first"))
        if aggregate == "sum":  # the latest event of each: a now, b 1 minute ago, c 2
            post(model, ("1", "a", 0, 4), ("2", "b", 1, 4), ("3", "c", 2, 2), ("4", "c", 9, 2))
        elif aggregate == "last":  # what each says last: a 9 minutes ago, b and c 5
            post(model, ("1", "c", 5, 4), ("2", "b", 5, 4), ("3", "a", 9, 4), ("4", "a", 10, 8))
        else:  # the first to reach 4: b 9 minutes ago; a and c 8
            post(model, ("1", "a", 8, 4), ("2", "b", 9, 4), ("3", "b", 1, 4), ("4", "c", 8, 4), ("5", "c", 20, 3))
        assert "".join(member for member, _ in order(model)) == expected


def test_removed_members_start_anew() -> None:
    model = board(points=Metric())
    post(model, ("1", "a", 0, 5))
    model.put("a", hidden=True)
    assert model.remove("a")
    assert not model.remove("a")
    post(model, ("1", "a", 0, 5))
    assert (order(model), model.members) == ([], {})
    post(model, ("2", "a", 0, 1))
    assert order(model) == [("a", 1)]


def test_registered_boards() -> None:
    model = board(registered=True, points=Metric(ties="first", windows=("all", "day")), best=Metric("max"))
    assert not model.add("1", "a", NOW, {"points": 5}, NOW)
    model.put("z")
    model.put("y", hidden=True)
    assert order(model) == [("z", 0)]
    post(model, ("1", "z", 0, 5), ("2", "y", 0, 7))
    model.put("x")
    model.put("a")
    post(model, ("3", "a", 90, 0))
    assert order(model) == [("z", 5), ("x", 0), ("a", 0)]  # x has stood at 0 before anything happened
    assert order(model, window="day") == [("z", 5), ("a", 0)]
    assert order(model, "best") == []
    assert model.remove("z")
    assert not model.add("4", "z", NOW, {"points": 5}, NOW)
    model.put("z")
    post(model, ("4", "z", 0, 1))
    assert order(model) == [("z", 1), ("x", 0), ("a", 0)]


def test_windows_in_a_time_zone() -> None:
    berlin = Calendar(ZoneInfo("Europe/Berlin"), 6, timedelta(days=2), timedelta(days=3))
    windows = ("all", "day", "week", "last-2-days", "last-2-hours")
    model = BoardModel({"points": Metric(windows=windows)}, berlin)
    now = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)  # Sunday, half past two, for the first time
    for number, hours in enumerate((0, 1, 2, 3, 25, 49, 75, 24 * 9)):
        assert model.add(str(number), "m", now - timedelta(hours=hours), {"points": 10**number}, now)

    def score(window: str, on: datetime) -> int:
        placed = model.score("points", window, on, "m")
        return placed.score if placed else 0

    assert score("all", now) == 11111111
    assert score("day", now) == 111  # begun at 22:00 UTC: 0, 1 and 2 hours ago
    assert score("last-2-days", now) == 11111
    assert score("week", now) == 111  # since Sunday; the week before holds the days before
    assert score("week", now - timedelta(days=1)) == 1111000
    assert score("day", now - timedelta(hours=75)) == 0  # that day ended more than `late` ago
    assert score("last-2-hours", now) == 11
    assert score("last-2-hours", now + timedelta(hours=1)) == 1
    assert berlin.bounds("day", now) == (
        datetime(2026, 10, 24, 22, tzinfo=UTC),
        datetime(2026, 10, 25, 23, tzinfo=UTC),
    )
    assert berlin.named("last-2-hours", now) == "2026-10-25T02+02:00"
    assert berlin.named("day", now) == "2026-10-25"
