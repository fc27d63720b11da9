"""`settle` and `prizes` of `boards.toml`: what they say, and every mistake with its line."""

import pytest

from standings.domain.boards.boards_toml import DefinitionError, parse_boards
from standings.domain.boards.endings import Prize

METRICS = 'metrics.points = { aggregate = "sum", windows = ["all", "day", "week"] }'
TWO = f'{METRICS}\nmetrics.runs = {{ aggregate = "sum", windows = ["week"] }}'
GOLD = '{ ranks = "1", name = "gold" }'


def family(*lines: str, metrics: str = METRICS) -> str:
    return "\n".join(('[boards."league-*"]', metrics, *lines))


def test_a_family_settles_windows_and_gives_prizes() -> None:
    text = family(
        'settle = ["week", "day"]',
        f'prizes.week = [{GOLD}, {{ ranks = "2-3", name = "silver" }}, {{ percent = 10, name = "top-10" }}]',
    )
    found = parse_boards(text).family("league-1")

    assert found is not None
    assert found.endings.settle == ("week", "day")
    assert [(prize.name, prize.first, prize.last_rank(101)) for prize in found.endings.prizes_of("week", "points")] == [
        ("gold", 1, 1),
        ("silver", 2, 3),
        ("top-10", 1, 11),
    ]
    assert found.endings.prizes_of("day", "points") == ()


def test_where_several_metrics_rank_a_prize_names_one() -> None:
    text = family('settle = ["week"]', 'prizes.week = [{ ranks = "1", name = "gold", metric = "runs" }]', metrics=TWO)
    found = parse_boards(text).family("league-1")

    assert found is not None
    assert found.endings.prizes == {"week": (Prize("gold", "runs", 1, 1),)}


@pytest.mark.parametrize(("total", "last"), [(0, 0), (1, 1), (10, 1), (11, 2), (20, 2), (1_000_001, 100_001)])
def test_a_share_of_the_members_is_rounded_up(total: int, last: int) -> None:
    assert Prize("top", "points", 1, 0, 10).last_rank(total) == last


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (family('settle = "week"'), 3, "settle: expected a list such as"),
        (family('settle = ["week", "week"]'), 3, "settle: expected a list such as"),
        (family('settle = ["hour"]'), 3, "settle: expected windows of day, week, month, year, season, got 'hour'"),
        (family('settle = ["last-7-days"]'), 3, "settle: expected windows of day"),
        (family("settle = [7]"), 3, "settle: expected windows of day"),
        (family('settle = ["month"]'), 3, "settle: expected a window that a metric is ranked in, got 'month'"),
        (family('late = "3 days"', 'keep = "4 days"', 'settle = ["week"]'), 5, "expected keep to be at least 2 days"),
        (family("prizes = 3"), 3, "prizes: expected prizes by window"),
        (family(f"prizes.week = [{GOLD}]"), 3, "week: expected a window that settle names (none)"),
        (family('settle = ["day"]', f"prizes.week = [{GOLD}]"), 4, "week: expected a window that settle names (day)"),
        (family('settle = ["week"]', "prizes.week = []"), 4, "week: expected a list of 1 to 20 prizes"),
        (family('settle = ["week"]', "prizes.week = [3]"), 4, "week: expected prizes such as"),
        (family('settle = ["week"]', 'prizes.week = [{ rank = "1", name = "a" }]'), 4, "rank: unknown key"),
        (family('settle = ["week"]', 'prizes.week = [{ ranks = "1", name = "Gold" }]'), 4, "name: expected a-z"),
        (family('settle = ["week"]', 'prizes.week = [{ ranks = "1" }]'), 4, "name: expected a-z"),
        (family('settle = ["week"]', 'prizes.week = [{ name = "a" }]'), 4, "a: expected either ranks or percent"),
        (family('settle = ["week"]', 'prizes.week = [{ ranks = 1, name = "a" }]'), 4, "a: ranks: expected a rank"),
        (family('settle = ["week"]', 'prizes.week = [{ ranks = "3-2", name = "a" }]'), 4, "a: ranks: expected a rank"),
        (family('settle = ["week"]', 'prizes.week = [{ ranks = "0", name = "a" }]'), 4, "a: ranks: expected a rank"),
        (family('settle = ["week"]', 'prizes.week = [{ percent = 0, name = "a" }]'), 4, "a: percent: expected"),
        (family('settle = ["week"]', 'prizes.week = [{ percent = 1.5, name = "a" }]'), 4, "a: percent: expected"),
        (family('settle = ["week"]', f"prizes.week = [{GOLD}, {GOLD}]"), 4, "expected each name once for a metric"),
        (
            family('settle = ["week"]', f"prizes.week = [{GOLD}]", metrics=TWO),
            5,
            "metric: expected one of points, runs",
        ),
    ],
)
def test_a_mistake_is_an_error_with_its_line(text: str, line: int, reason: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        parse_boards(text)

    assert caught.value.line == line
    assert reason in caught.value.reason
