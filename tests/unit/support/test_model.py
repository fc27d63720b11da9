"""The judge itself, by examples small enough to check by eye."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest

from tests.support.oracle.model import BoardModel, Listing, Metric

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


def test_neighbours(tied: Listing) -> None:
    assert tied.around("c", 1) == [(2, "b", 7), (2, "c", 7), (4, "d", 5)]
    assert tied.around("a", 1) == [(1, "a", 9), (2, "b", 7)]
    assert tied.around("c", 0) == [(2, "c", 7)]
    assert tied.around("b", 9) == tied.lines()


def test_ranks_within_a_group(tied: Listing) -> None:
    assert tied.among(["d", "c", "nobody", "b"]) == {"b": 1, "c": 1, "d": 3}
    assert tied.among(["d", "c", "b"], "ordinal") == {"b": 1, "c": 2, "d": 3}
    assert tied.among(["d", "c", "b"], "dense") == {"b": 1, "c": 1, "d": 2}


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


def test_the_lowest_leads() -> None:
    model = board(points=Metric(descending=False))
    post(model, ("1", "a", 0, 9), ("2", "c", 0, -7), ("3", "b", 0, 9))
    assert order(model) == [("c", -7), ("a", 9), ("b", 9)]
    assert listing(model).of_score(0) == (2, 1, 0, 2)
    assert listing(model).percentile(9) == Decimal("66.67")
    assert listing(model).between(-7, 8) == 1


def test_equals_by_member_go_by_their_bytes() -> None:
    model = board(points=Metric())
    members = ["\U0001f600", "\uffff", "é", "z", "Z", "a#", "a"]
    post(model, *((str(n), member, n, 1) for n, member in enumerate(members)))
    assert [member for member, _ in order(model)] == ["Z", "a", "a#", "z", "é", "\uffff", "\U0001f600"]


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


def test_the_last_of_one_instant_goes_by_id() -> None:
    model = board(points=Metric("last"))
    post(model, ("\U0001f600", "a", 5, 1), ("\uffff", "a", 5, 2), ("10", "b", 5, 3), ("9", "b", 5, 4), ("0", "c", 5, 5))
    assert order(model) == [("c", 5), ("b", 4), ("a", 1)]


def test_instants_are_of_whole_milliseconds() -> None:
    model = board(points=Metric("last"))
    for event_id, microseconds, units in (("2", 1100, 1), ("1", 1900, 2)):
        at = NOW.replace(minute=0, microsecond=microseconds)
        assert model.add(event_id, "a", at, {"points": units}, NOW)
    assert order(model) == [("a", 1)]


def test_an_event_counts_once_and_nothing_is_something() -> None:
    model = board(points=Metric(windows=("all", "day")), runs=Metric())
    post(model, ("1", "a", 0, 5), ("1", "a", 0, 5), ("1", "b", 0, 6), ("2", "c", 0, 0), ("3", "d", 0, 2))
    post(model, ("4", "d", 0, -2))
    assert order(model) == order(model, window="day") == [("a", 5), ("c", 0), ("d", 0)]
    assert order(model, "runs") == []
    assert "b" not in model.members


def test_hidden_members_go_on_counting() -> None:
    model = board(points=Metric())
    post(model, ("1", "a", 0, 5), ("2", "b", 0, 4))
    model.put("a", hidden=True)
    model.put("a")
    model.put("early", hidden=True)
    post(model, ("3", "a", 0, 2), ("4", "early", 0, 9))
    assert order(model) == [("b", 4)]
    model.put("a", hidden=False)
    assert order(model) == [("a", 7), ("b", 4)]
    score = model.score("points", "all", NOW, "early")
    assert score is not None
    assert score.score == 9


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


def test_an_event_for_several_counts_for_all_or_none() -> None:
    model = board(registered=True, points=Metric())
    model.put("a")
    assert not model.add_all("1", NOW, {"a": {"points": 1}, "b": {"points": 2}}, NOW)
    assert order(model) == [("a", 0)]
    model.put("b")
    assert model.add_all("1", NOW, {"a": {"points": 1}, "b": {"points": 2}}, NOW)
    assert order(model) == [("b", 2), ("a", 1)]
