"""Ranks of members and scores, histories, cards and boards over HTTP: exact up to a bound on reads, also in motion."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from random import Random
from typing import Any, Final

import pytest

from benchmarks.harness import population
from benchmarks.harness.meter import Meter
from standings.domain.boards import Ranking
from standings.domain.boards_toml import parse_boards
from standings.read import member_ranks
from standings.read.dispatch import Answers
from standings.read.session import PRIVATE_LIMITS, PUBLIC_LIMITS, Limits
from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.stack import ManualClock, Stack, project, running
from tests.support.builders.maintenance import before
from tests.support.builders.querying import ALL, BOARDS, DAY, MEMBER, post
from tests.support.dynamodb.requests import Requests, metered
from tests.support.faults.faulty_client import ItemByItem
from tests.support.thoroughness import seeds

ANOTHER: Final = "ask for another method"


def _answers(stack: Stack) -> Answers:
    """What answers the reads of a stack's query function."""
    api: Any = stack.query
    answers: Answers = api.__self__.answers
    return answers


def test_the_list_of_boards_and_a_definition(stack: Stack) -> None:
    for board in ("b", "b-2", "b-3", "golf-1"):
        post(stack, {"a": 1}, board=board, metric="strokes" if board == "golf-1" else "points")
    first = stack.get("/boards", prefix="b", limit=2)[1]
    second = stack.get("/boards", prefix="b", limit=2, cursor=first["next"])[1]

    assert [board["board"] for board in first["boards"] + second["boards"]] == ["b", "b-2", "b-3"]
    assert second["next"] is None
    assert stack.get("/boards", prefix="g", limit=2, cursor=first["next"])[0] == 400
    definition = stack.get("/boards/golf-nobody")[1]
    about = {"family": "golf-*", "timezone": "Europe/Berlin", "members": "open", "late": "7 days", "keep": "35 days"}
    assert definition.items() >= {**about, "shards": 1}.items()
    starts, ends = "2026-11-21T00:00:00+01:00", "2026-11-22T00:00:00+01:00"
    instants = {"starts": starts, "ends": ends, "start": starts, "end": ends}
    day = {"name": "2026-11-21", **instants, "previous": "2026-11-20", "next": None}
    windows = [{"window": "all", "period": dict.fromkeys(day)}, {"window": "day", "period": day}]
    rules = {"aggregate": "sum", "precision": 2, "order": "ascending", "ties": "member", "least": -99.99, "most": None}
    assert definition["metrics"][0] == {"metric": "strokes", **rules, "notes": False, "windows": windows}


class Placed:
    """Questions about a board whose members are placed at once."""

    path: Final = f"/boards/{population.BOARD}/points/all"

    def __init__(self, stack: Stack) -> None:
        self.stack = stack

    def place(self, scores: Mapping[str, int]) -> list[str]:
        """Store members with their scores; return them in the order of the list."""
        population.place_members(self.stack.dynamodb, population.ranking_of(population.family()), scores)
        return sorted(scores, key=lambda name: (-scores[name], name))

    def limit(self, limits: Limits) -> None:
        _answers(self.stack).limits = limits

    def rank(self, method: str, **of: Any) -> tuple[int, Any]:
        """The status, and the rank of a member or a score or what the problem says."""
        status, answer = self.stack.get(f"{self.path}/rank", method=method, **of)
        return status, answer.get("rank", answer.get("detail"))

    def page(self, method: str, **arguments: Any) -> Any:
        """The ranks and members of a page, or the status and what the problem says."""
        status, answer = self.stack.get(self.path, method=method, **arguments)
        if status != 200:
            return status, answer["detail"]
        return [(entry["rank"], entry["member"]) for entry in answer["entries"]]


@pytest.fixture
def board(engine: Any) -> Iterator[Placed]:
    """Requests and read units are counted."""
    with running(metered(engine), ManualClock(population.NOW), population.BOARDS) as stack:
        yield Placed(stack)


@pytest.mark.parametrize(
    "bound", [PUBLIC_LIMITS.equals, pytest.param(PRIVATE_LIMITS.equals, marks=pytest.mark.thorough)]
)
def test_ordinal_ranks_pass_equals_up_to_a_bound(board: Placed, bound: int) -> None:
    board.limit(Limits(equals=bound))
    names = board.place({"leader": 9, **{f"m{n:05}": 5 for n in range(bound + 2)}, "last": 1})

    for position in (1, 2, bound, bound + 1, bound + 2):
        assert board.rank("ordinal", member=names[position - 1]) == (200, position)
        assert board.page("ordinal", rank=position, limit=3) == [
            (position + n, names[position - 1 + n]) for n in range(3)
        ]
    too_far = f"method: more than {bound:,} equals stand ahead of {names[bound + 2]!r}: {ANOTHER}"
    assert board.rank("ordinal", member=names[bound + 2]) == (400, too_far)
    too_far = f"rank: more than {bound:,} members of equal score stand ahead of it: page on from them"
    assert board.page("ordinal", rank=bound + 3, limit=3) == (400, too_far)
    # The last member has another score, so no equals are passed.
    assert board.rank("ordinal", member="last") == (200, bound + 4)
    assert board.page("ordinal", rank=bound + 4, limit=3) == [(bound + 4, "last")]
    assert board.rank("competition", member=names[bound + 2]) == (200, 2)
    around = board.page("ordinal", around=names[bound // 2], radius=2)
    assert [rank for rank, _ in around] == list(range(bound // 2 - 1, bound // 2 + 4))


@pytest.mark.parametrize(
    ("open_reads", "limits"),
    [("true", Limits(1_000, 5_000, 5_000, 400, 1_300)), ("", Limits(10_000, 100_000, 200_000, 100_000, 100_000))],
)
def test_anyone_may_read_less(engine: Any, monkeypatch: pytest.MonkeyPatch, open_reads: str, limits: Limits) -> None:
    monkeypatch.setitem(ENVIRONMENT, "OPEN_READS", open_reads)
    with running(engine, ManualClock(population.NOW), population.BOARDS) as stack:
        assert _answers(stack).limits == limits == (PUBLIC_LIMITS if open_reads else PRIVATE_LIMITS)


@pytest.mark.parametrize("step", [2**20, *(pytest.param(step, marks=pytest.mark.thorough) for step in (1, 128))])
def test_a_dense_rank_where_anyone_may_read_costs_at_most_a_hundred_units(board: Placed, step: int) -> None:
    """With the widest step, each score ahead is in another leaf of the tiers."""
    board.limit(PUBLIC_LIMITS)
    names = board.place({f"m{n:04}": n * step for n in range(PUBLIC_LIMITS.scores + 2)})
    before = board.stack.dynamodb.snapshot()
    assert board.rank("dense", member=names[PUBLIC_LIMITS.scores]) == (200, PUBLIC_LIMITS.scores + 1)

    assert (board.stack.dynamodb.snapshot() - before).total.read <= 100


@pytest.mark.parametrize(("shards", "equals"), [(1, 2), (16, 2), (16, 60), (1, 3_000)])
def test_no_rank_where_anyone_may_read_costs_over_some_hundred_units(engine: Any, shards: int, equals: int) -> None:
    """The limits are those of a request, whatever the members, the scores and the shards."""
    definitions = population.sharded(shards)
    meter = Meter(engine)
    with running(meter, ManualClock(population.NOW), definitions) as stack:
        board = Placed(stack)
        board.limit(PUBLIC_LIMITS)
        scores = {f"m{number:05}": -(number // equals) * 2**20 for number in range(6_000)}
        population.place_members(engine, population.ranking_of(population.family(definitions)), scores)
        costs: dict[str, float] = {}
        for method in ("ordinal", "dense"):
            for count in (1, 100):
                before = meter.snapshot()
                group = [f"m{number:05}" for number in range(5_999, 0, -60)][:count]
                status, _ = stack.post(f"{board.path}/ranks", {"members": group}, method=method)
                assert status in (200, 400)
                costs[f"{method} {count}"] = (meter.snapshot() - before).total.read
    # A query of one entry costs half a unit.
    assert max(costs.values()) <= PUBLIC_LIMITS.equals / 2 + 150, costs


@pytest.mark.parametrize("source", ["tiers", "entries"])
@pytest.mark.parametrize("seed", seeds(5, 15))
def test_dense_ranks_are_exact(board: Placed, monkeypatch: pytest.MonkeyPatch, seed: int, source: str) -> None:
    print(f"seed {seed}")
    rng = Random(seed)
    monkeypatch.setattr(member_ranks, "ENTRIES_OF_A_NODE", 0 if source == "tiers" else 10**9)
    monkeypatch.setattr(member_ranks, "_PAGE_SIZE", rng.choice([1, 7, 10_000]))
    width = rng.choice([3, 200, 20_000, 2**50])
    scores = {f"m{n}": rng.randrange(-width, width) // rng.choice([1, 1, 50]) for n in range(120)}
    names = board.place(scores)
    ordered = sorted(set(scores.values()), reverse=True)
    rank = {member: ordered.index(scores[member]) + 1 for member in names}

    for member in rng.sample(names, 10):
        assert board.rank("dense", member=member) == (200, rank[member])
    between = rng.randrange(-width, width)
    assert board.rank("dense", score=between) == (200, sum(score > between for score in ordered) + 1)
    assert board.page("dense", rank=60, limit=20) == [(rank[member], member) for member in names[59:79]]
    group = [names[0], *rng.sample(names, 20), names[0]]
    answered = board.stack.post(f"{board.path}/ranks", {"members": group}, method="dense")[1]["entries"]
    assert [entry["rank"] for entry in answered] == [rank[member] for member in group]


@pytest.mark.parametrize("entries_of_a_node", [0, 36, 10**9])
def test_too_many_scores_are_too_far(board: Placed, monkeypatch: pytest.MonkeyPatch, entries_of_a_node: int) -> None:
    board.limit(Limits(scores=100))
    monkeypatch.setattr(member_ranks, "ENTRIES_OF_A_NODE", entries_of_a_node)
    names = board.place({f"m{n:03}": -n // 2 * 128 for n in range(210)})

    assert board.rank("dense", member=names[0]) == (200, 1)
    ranks = [board.rank("dense", member=name) for name in names[190:]]
    last = ranks.index((400, f"method: more than 100 different scores stand ahead: {ANOTHER}"))
    assert ranks[last - 1] == (200, 101)


def test_ordinal_ranks_of_a_group_of_equals_read_each_of_them_once(board: Placed) -> None:
    """If each member counted all equals ahead of it, 100 of 10,000 would read a million entries."""
    names = board.place(dict.fromkeys((f"m{number:03}" for number in range(300)), 7))
    status, answer = board.stack.post(f"{board.path}/ranks", {"members": names[200:]}, method="ordinal")

    assert (status, [entry["rank"] for entry in answer["entries"]]) == (200, list(range(201, 301)))
    assert board.stack.dynamodb.listed.total() <= 300 + 2 * 100
    assert board.stack.dynamodb.spans <= 120


def test_a_dense_rank_reads_no_more_entries_than_stand_ahead(board: Placed) -> None:
    """The tiers give the number of entries to read."""
    board.place({f"m{number:04}": 1_000 * number for number in range(1_000)})
    _, page = board.stack.get(board.path, limit=100, method="dense")
    board.stack.dynamodb.take()
    status, page = board.stack.get(board.path, limit=100, cursor=page["next"])

    assert (status, page["entries"][0]["rank"]) == (200, 101)
    assert board.stack.dynamodb.listed.total() <= 101 + 200


def test_the_count_behind_a_score_is_never_negative(stack: Stack, engine: Any, clock: ManualClock) -> None:
    """Items of a batch are read at different moments: the leaf may count a member that the root does not."""
    post(stack, {"a": 5})
    client = ItemByItem(engine, lambda place: post(stack, {"b": 5}) if place == (1, 1) else None, is_consistent=False)
    with running(client, clock, BOARDS) as reading:
        status, answer = reading.get(f"{ALL}/rank", score=5)

    assert (status, answer["below"] >= 0) == (200, True)
    assert answer["above"] + answer["at"] + answer["below"] == answer["total"]


def test_a_row_that_names_another_member_ranks_nobody(stack: Stack, engine: Any) -> None:
    post(stack, {"a": 1})
    (row,) = (row for row in engine.scan(TableName="Rankings")["Items"] if row["pk"]["S"].endswith("Pa#a"))
    engine.put_item(TableName="Rankings", Item={**row, "s": {"S": row["s"]["S"][:-1] + "b"}})
    assert stack.get(f"{ALL}/rank", member="a")[0] == 404


def test_a_percentile_has_a_score_if_anyone_is_ranked(stack: Stack, engine: Any) -> None:
    """A member leaves after the total was read, so the position is beyond the end."""

    def hide() -> None:
        stack.put(MEMBER, {"hidden": True}, id="a")
        project(stack)

    post(stack, {"a": 5, "b": 5_000})
    with before(engine, hide, "GetItem", "Rankings", "#G0Pa/3"):
        status, answer = stack.get(f"{ALL}/percentile", p=50)

    assert (status, answer["total"] > 0) == (200, True)
    assert answer["score"] is not None


def test_a_percentile_is_the_ascending_cume_dist_of_sql(stack: Stack) -> None:
    """As the page on moving from Redis says. Of 16 members every share has two decimals."""
    scores = {f"m{number}": score for number, score in enumerate([9, 7, 7, 7, 4, 4, 3, 3, 3, 3, 2, 1, 0, 0, -5, -5])}
    post(stack, scores)
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE scores (member, score)")
        database.executemany("INSERT INTO scores VALUES (?, ?)", scores.items())
        rows = database.execute("SELECT member, 100 * cume_dist() OVER (ORDER BY score) FROM scores").fetchall()
    assert {member: stack.get(f"{ALL}/rank", member=member)[1]["percentile"] for member in scores} == dict(rows)


def test_a_member_that_moves_is_not_its_own_neighbour(stack: Stack, engine: Any) -> None:
    """Its entry is read before its neighbours, and by then it may be one of them."""
    post(stack, {"a": 5, "b": 3, "c": 1})
    with before(engine, lambda: post(stack, {"a": -3}), "Query", "places"):
        status, page = stack.get(ALL, around="a")

    assert status == 200
    assert sorted(entry["member"] for entry in page["entries"]) == ["a", "b", "c"]


ROLLING = "/boards/b/points/last-7-days"
LONG = '[boards."*"]\nlate = "100 days"\nkeep = "200 days"\nmetrics.points = { aggregate = "sum", windows = ["%s"] }'
Row = tuple[str, int | None, int | None, int]
"""The first day or hour of a period, the member's rank and score, and how many members are ranked."""


def rows(stack: Stack, path: str, member: str = "a", **arguments: Any) -> list[Row]:
    status, answer = stack.get(f"{path}/history", member=member, **arguments)
    assert status == 200, answer
    return [(each["period"]["start"], each["rank"], each["score"], each["total"]) for each in answer["periods"]]


def test_a_calendar_window_costs_three_units_a_period(engine: Any) -> None:
    """Scores are below 2^28 units and few members share one, so each rank takes as many nodes as any."""
    text = LONG % "day"
    family = parse_boards(text).family("b")
    assert family is not None
    (metric,) = family.metrics.values()
    today = metric.timetable.current(metric.windows[0], population.NOW)
    for day in range(100):
        scores = population.finegrained(Random(day), 50)
        population.place_members(engine, Ranking("b", metric, metric.windows[0], today - day), scores)
    meter = Meter(engine)
    with running(meter, ManualClock(population.NOW), text) as stack:
        stack.get(DAY)  # the board's record is read once a minute
        for periods in (1, 2, 14, 100):
            for number in range(5):
                before = meter.snapshot()
                found = rows(stack, DAY, population.member(number), periods=periods)
                assert (meter.snapshot() - before).total.read <= 3 * periods
                assert len([row for row in found if row[1] is not None]) == periods


@pytest.mark.parametrize("window", ["day", "last-7-days"])
def test_dense_ranks_of_many_periods_go_down_the_tiers_together(
    engine: Any, monkeypatch: pytest.MonkeyPatch, window: str
) -> None:
    """Sixty periods take the rounds of one: only more nodes, a hundred of them in a request."""
    monkeypatch.setattr(member_ranks, "ENTRIES_OF_A_NODE", 0)
    sent = Requests(engine)
    with running(sent, ManualClock(population.NOW), LONG % window) as stack:
        for days_ago in range(0, 60, 3):
            post(stack, population.finegrained(Random(days_ago), 20), days_ago=days_ago)
        sent.take()
        path, member = f"/boards/b/points/{window}", population.member(7)
        found = rows(stack, path, member, periods=60, method="dense")
        assert len([row for row in found if row[1] is not None]) > 10
        assert sum(sent.take().values()) <= 8


def test_a_rolling_window_costs_six_units_a_period(engine: Any) -> None:
    """One period costs what a rank costs; the row and the log are read once for all periods."""
    meter = Meter(engine)
    with running(meter, ManualClock(population.NOW), LONG % "last-7-days") as stack:
        for days_ago in (0, 3, 40):
            post(stack, population.finegrained(Random(1), 70), days_ago=days_ago)
        member = population.member(7)
        for periods in (2, 14, 100):
            stack.get(ROLLING)
            before = meter.snapshot()
            assert len(rows(stack, ROLLING, member, periods=periods)) == periods
            assert (meter.snapshot() - before).total.read <= 6 * periods
        before = meter.snapshot()
        stack.get(f"{ROLLING}/rank", member=member)
        rank = meter.snapshot()
        rows(stack, ROLLING, member, periods=1)
        assert meter.snapshot() - rank == rank - before


def test_the_periods_share_the_limits_of_a_request(stack: Stack) -> None:
    """Else a history of a hundred periods would read a hundred times what one rank may."""
    post(stack, {f"m{n:02}": 5 for n in range(31)})
    _answers(stack).limits = Limits(equals=60, scores=60, entries=60)

    status, problem = stack.get(f"{DAY}/history", member="m30", method="ordinal", periods=3)
    assert (status, problem["type"]) == (400, "urn:standings:too-far")
    assert rows(stack, DAY, "m30", method="ordinal", periods=2)[0][1] == 31
    assert PUBLIC_LIMITS.shared(100) == Limits(10, 50, 50, 4, 1_300)
