"""Coverage: what stays complete of a board when its definition changes."""

from standings.domain.boards import Family, Ranking
from standings.domain.boards_toml import parse_boards
from standings.domain.coverage import coverage_of
from standings.domain.windows import DAY, parse_window

NOW = 1_789_000_000_000


def family(*metrics: str) -> Family:
    (found,) = parse_boards("\n".join(('[boards."b*"]', *(f"metrics.{one}" for one in metrics)))).families
    return found


def test_a_lost_total_leaves_the_others_complete() -> None:
    board = family(
        'points = { aggregate = "sum", windows = ["all", "day"] }', 'runs = { aggregate = "sum", windows = ["all"] }'
    )
    points, runs = board.metrics["points"], board.metrics["runs"]
    code = runs.ranking_code(parse_window("all"))

    left = coverage_of(board, NOW).without({points.total()})

    assert left.totals == {code: runs.total()}
    assert left.rankings == {code, points.ranking_code(parse_window("day"))}
    assert left.lost == {points.total()}


def test_a_window_that_is_added_is_complete_from_the_first_day_that_the_earlier_definition_still_keeps() -> None:
    old = family('points = { aggregate = "sum", windows = ["last-7-days"] }')
    new = family('points = { aggregate = "sum", windows = ["day"] }')
    points, today, week = old.metrics["points"], NOW // DAY, parse_window("last-7-days")
    weeks = [Ranking("b", points, week, period) for period in range(today - 500, today + 1)]
    first = next(one.period for one in weeks if (one.readable_until or 0) > NOW) - 6  # The oldest that can be read

    coverage = coverage_of(old, NOW).after_rebuild(new, NOW)

    assert coverage.buckets[points.bucket_codes["d"]].first == first
    assert coverage.holds(Ranking("b", new.metrics["points"], parse_window("day"), first))
    assert not coverage.holds(Ranking("b", new.metrics["points"], parse_window("day"), first - 1))


PLAIN = 'points = { aggregate = "sum", windows = ["all", "day"] }'
TIED = 'points = { aggregate = "sum", windows = ["all", "day"], tie_breaks = ["goals"] }'
GOALS = 'goals = { aggregate = "sum" }'


def test_a_new_tie_break_is_complete_from_where_its_own_numbers_are() -> None:
    before, after = family(PLAIN, GOALS), family(TIED, GOALS)
    points, goals, today = after.metrics["points"], after.metrics["goals"], NOW // DAY
    days = [Ranking("b", points, parse_window("day"), period) for period in (today, today + 1)]
    all_time = Ranking("b", points, parse_window("all"), 0)

    # While both are at work, nothing that they rank in two ways is complete.
    both = coverage_of(before, NOW).intersect(coverage_of(after, NOW))
    assert not any(map(both.holds, (*days, all_time)))

    # Goals had a total, and no days.
    rebuilt = both.after_rebuild(after, NOW)
    assert [*map(rebuilt.holds, (*days, all_time))] == [False, True, True]
    assert rebuilt.buckets[points.bucket_codes["d"]].first != rebuilt.buckets[goals.bucket_codes["d"]].first


def test_a_ranking_without_the_total_of_its_tie_break_is_lost_with_it() -> None:
    tied, without = family(TIED, GOALS), family(PLAIN)
    points, goals = tied.metrics["points"], tied.metrics["goals"]
    all_time = Ranking("b", points, parse_window("all"), 0)

    left = coverage_of(tied, NOW).after_event_by(without)

    assert left.lost == {goals.total()}
    assert not left.intersect(coverage_of(without, NOW)).after_rebuild(tied, NOW).holds(all_time)
