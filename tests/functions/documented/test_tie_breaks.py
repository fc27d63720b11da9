"""What the pages on tie-breaks say: three tutorials, typed; tables of football beside a sort; lifts; a path of two."""

import csv
import json
import re
import shlex
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import reduce
from itertools import permutations
from pathlib import Path
from random import Random
from string import ascii_lowercase
from typing import Any, Final

import pytest

from standings.domain import tiers
from standings_cli.__main__ import main
from standings_cli.terminal import OK
from tests.support.aws.stack import ManualClock, Stack, apply, running
from tests.support.builders.maintenance import finish
from tests.support.builders.querying import NOW, deployed
from tests.support.cli.command_line import connected
from tests.support.documents.pages import PROJECT, blocks
from tests.support.dynamodb.tables import engine_with_tables

EXAMPLE: Final = PROJECT / "examples" / "tie-breaks"
PAGES: Final = {name: PROJECT / "docs" / "tutorials" / f"{name}.md" for name in ("contest", "football-table", "medals")}
AT: Final = "2026-11-21T10:15:00Z"


def fenced(page: Path, language: str = "") -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [text for kind, text in found if kind == language]


def listed(stack: Stack, board: str, window: str = "all") -> list[list[Any]]:
    """Rank, member, score and tie-breaks of each entry of the board's first metric."""
    (metric, *_) = stack.get(f"/boards/{board}")[1]["metrics"]
    entries = stack.entries(f"/boards/{board}/{metric['metric']}/{window}")
    return [[one["rank"], one["member"], one["score"], *one["tie_breaks"].values()] for one in entries]


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_a_tutorial_can_be_typed_and_its_lists_are_those_of_the_stack(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "examples").symlink_to(PROJECT / "examples")
    local = tmp_path / ".local"
    local.mkdir()
    monkeypatch.chdir(tmp_path)
    lines = [line for block in blocks(page) for line in block.commands]
    tables = iter([block.splitlines() for block in fenced(page) if block.startswith("rank ")])
    shown: dict[str, list[str]] = {}
    with deployed("".join(fenced(page, "toml"))) as stack, connected(stack) as there:
        monkeypatch.setattr("time.time_ns", lambda: stack.clock() * 1_000_000)
        for number, line in enumerate((*lines, *lines)):  # Typed twice, nothing counts twice
            stack.clock.milliseconds += 61_000
            typed(line, there)
            for state in local.glob("*.posted"):
                state.unlink()
            if number < len(lines) and line.startswith("standings top "):
                board = line.split()[2]
                shown[board] = next(tables)
                is_listed(stack, board, shown[board])
        for board, table in shown.items():
            is_listed(stack, board, table)
    assert list(tables) == []
    sent = [json.loads(line) for file in local.glob("*.jsonl") for line in file.read_text("utf-8").splitlines()]
    events = [json.loads(text) for text in fenced(page, "json")]
    assert all({name: value for name, value in event.items() if name != "at"} in sent for event in events)


def is_listed(stack: Stack, board: str, table: list[str]) -> None:
    metric, *others = stack.get(f"/boards/{board}")[1]["metrics"]
    head, *rows = (re.split(r"\s{2,}", line.strip()) for line in table)
    assert head == ["rank", "member", "score", *metric["tie_breaks"]]
    assert metric["tie_breaks"] == [other["metric"] for other in others]
    assert [[str(value) for value in row] for row in listed(stack, board)] == rows


def typed(line: str, there: Any) -> None:
    """Run a line of a tutorial: the command line in this process, a producer in its own."""
    command, _, file = line.partition(" > ")
    words = shlex.split(command)
    if words[0] == "standings":
        assert main([word for word in words[1:] if word != "--local"], lambda _: there) == OK
        there.settle()
    elif words[0] in {"python3", "head"}:
        run = subprocess.run(
            [{"python3": sys.executable}.get(words[0], "head"), *words[1:]], check=True, capture_output=True, text=True
        )
        Path(file).write_text(run.stdout, encoding="utf-8")
    else:
        assert line == "source .venv/bin/activate"


def verdicts(rng: Random) -> Iterator[dict[str, str]]:
    """A contest of few problems and short times, so that many teams are equal."""
    for minute in range(1, 6):
        for team in ascii_lowercase:
            if rng.random() < 0.7:
                yield {
                    "minute": str(minute), "team": team, "problem": rng.choice("ABC"),
                    "verdict": rng.choice(("accepted", "accepted", "wrong answer")),
                }  # fmt: skip


def sorted_contest(submissions: list[dict[str, str]]) -> list[list[Any]]:
    """Solved, penalty and minute of the last problem of each team by a sort that knows nothing but the verdicts."""
    rows = []
    for team in {one["team"] for one in submissions}:
        solved = {}
        for problem in "ABC":
            tries = [one for one in submissions if (one["team"], one["problem"]) == (team, problem)]
            places = [place for place, one in enumerate(tries) if one["verdict"] == "accepted"]
            if places:
                solved[problem] = int(tries[places[0]]["minute"]), 20 * places[0]
        latest = max((minute for minute, _ in solved.values()), default=0)
        rows.append([team, len(solved), sum(map(sum, solved.values())), latest])
    return sorted(rows, key=lambda row: (-row[1], row[2], row[3], row[0]))


def test_after_a_rejudge_both_contests_are_those_of_a_sort() -> None:
    """By the ways of the tutorial: an event of sums by its id; with `latest`, the team's three numbers are set."""
    rng = Random(3)
    before = [*verdicts(rng)]
    after = [
        {**one, "verdict": "wrong answer"} if one["verdict"] == "accepted" and rng.random() < 0.3 else one
        for one in before
    ]
    names: dict[str, Any] = {"__name__": "contest"}
    exec((EXAMPLE / "contest.py").read_text(encoding="utf-8"), names)  # noqa: S102 - the example's own lines
    counted, wanted = ({one["id"]: one for one in names["events"]("contest-1", some)} for some in (before, after))
    expected = sorted_contest(after)
    rejudged = [row for row in expected if row not in sorted_contest(before)]
    with deployed((EXAMPLE / "boards.toml").read_text(encoding="utf-8")) as stack:
        finals = [*names["events"]("finals-1", before, "latest")]
        sent = [{**one, "at": AT} for one in (*counted.values(), *finals)]
        rng.shuffle(sent)
        apply(stack, sent)
        changes = []
        for event_id, one in counted.items():
            if event_id not in wanted:
                changes.append({"id": f"undo {event_id}", "retract": event_id})
            elif one != wanted[event_id]:
                changes.append({**wanted[event_id], "id": f"mend {event_id}", "correct": event_id})
        for team, solved, penalty, latest in rejudged:
            numbers = {"solved": solved, "penalty": penalty, "latest": latest}
            changes.append({**event("finals-1", team, "totals", **numbers), "set": True})
        apply(stack, changes)
        for window in ("all", "day"):
            assert [row[1:] for row in listed(stack, "finals-1", window)] == expected
            assert sorted(row[1:] for row in listed(stack, "contest-1", window)) == sorted(row[:3] for row in expected)
    # Of some equals, a rejudged one goes by an earlier problem than before.
    equals = Counter((solved, penalty) for _, solved, penalty, _ in expected)
    latest = {team: minute for team, *_, minute in sorted_contest(before)}
    assert any(minute < latest[team] and equals[solved, penalty] > 1 for team, solved, penalty, minute in rejudged)


def matches() -> Iterator[dict[str, str]]:
    with (EXAMPLE / "matches.csv").open(encoding="utf-8", newline="") as rows:
        yield from csv.DictReader(rows)


def season(rng: Random) -> list[dict[str, str]]:
    """Every team plays every other one twice."""
    teams = [f"team {number}" for number in range(18)]
    goals = {team: rng.choice((1, 1, 2)) for team in teams}

    def scored(team: str) -> str:
        return str(sum(rng.random() < 0.3 for _ in range(4 * goals[team])))

    return [
        {"board": "table-league", "home": home, "home_goals": scored(home), "away_goals": scored(away), "away": away}
        for home, away in permutations(teams, 2)
    ]


def sorted_table(played: list[dict[str, str]], board: str) -> list[list[Any]]:
    """The table of a board by a sort that knows nothing but the results."""
    sums: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for match in played:
        home, away = int(match["home_goals"]), int(match["away_goals"])
        for team, scored, against in ((match["home"], home, away), (match["away"], away, home)):
            if match["board"] == board:
                points = 3 if scored > against else 1 if scored == against else 0
                sums[team] = [
                    one + other for one, other in zip(sums[team], (points, scored - against, scored), strict=True)
                ]
    order = sorted(sums, key=lambda team: ([-one for one in sums[team]], team))
    return [[1 + sum(other > sums[team] for other in sums.values()), team, *sums[team]] for team in order]


@pytest.mark.parametrize("kind", ["world cups", "a season"])
def test_a_football_table_is_that_of_a_sort(kind: str) -> None:
    rng = Random(6)
    played, window = (list(matches()), "all") if kind == "world cups" else (season(rng), "season")
    names: dict[str, Any] = {"__name__": "matches"}
    exec((EXAMPLE / "matches.py").read_text(encoding="utf-8"), names)  # noqa: S102 - the example's own lines
    events = [{**names["event"](match), "at": AT} for match in played]
    with deployed((EXAMPLE / "boards.toml").read_text(encoding="utf-8")) as stack:
        sent = [*events, *rng.sample(events, len(events) // 3)]
        rng.shuffle(sent)
        for start in range(0, len(sent), 40):
            apply(stack, sent[start : start + 40])
        boards = sorted({match["board"] for match in played})
        tables = {board: listed(stack, board, window) for board in boards}
    assert tables == {board: sorted_table(played, board) for board in boards}
    for last in (3, 4, 5):  # Some teams are equal in points, some in the difference too, and some in all three.
        assert any(len({(*row[2:last],) for row in rows}) < len(rows) for rows in tables.values())


def lift(number: int, member: str, best: float, bodyweight: float) -> dict[str, Any]:
    about = {"id": f"lift-{number}", "board": "lift-2026", "member": member, "at": AT}
    return {**about, "metrics": {"best": best, "bodyweight": bodyweight}}


@pytest.mark.parametrize("order", [*permutations(range(4))])
def test_the_lighter_lifter_is_ahead_by_the_weight_of_the_lift(order: tuple[int, ...]) -> None:
    lifts = [lift(0, "ann", 200, 80.5), lift(1, "bob", 200, 79.5), lift(2, "bob", 190, 70), lift(3, "ann", 200, 79)]
    with deployed((EXAMPLE / "boards.toml").read_text(encoding="utf-8")) as stack:
        for place in order:
            apply(stack, [lifts[place]])
        assert listed(stack, "lift-2026") == [[1, "ann", 200, 79], [2, "bob", 200, 79.5]]


def test_one_is_added_to_a_board_in_use_by_the_steps_of_the_page() -> None:
    definitions = (EXAMPLE / "boards.toml").read_text(encoding="utf-8")
    before = """
        [boards."contest-*"]
        metrics.solved = { aggregate = "sum", windows = ["all"] }
        [boards."lift-*"]
        metrics.best = { aggregate = "max", windows = ["all"] }"""
    engine, clock = engine_with_tables(), ManualClock(round(NOW.timestamp() * 1000))
    with running(engine, clock, before) as stack:
        for member in ("ann", "bob", "cem"):
            apply(stack, [event("contest-1", member, solved=3), event("lift-2026", member, best=200)])
    with running(engine, clock, definitions) as stack:
        clock.milliseconds += 61_000
        boards = {"contest-1": "solved", "lift-2026": "best"}
        for board, metric in boards.items():
            finish(stack, "rebuild", board=board)
            entries = stack.entries(f"/boards/{board}/{metric}/all")
            assert [(one["rank"], one["member"]) for one in entries] == [(1, "ann"), (1, "bob"), (1, "cem")]
        assert listed(stack, "contest-1")[0] == [1, "ann", 3, 0]
        assert listed(stack, "lift-2026")[0] == [1, "ann", 200, None]
        for member, number in (("bob", 90), ("ann", 95)):
            apply(stack, [{**event("contest-1", member, "total", penalty=number), "set": True}])
            apply(stack, [event("lift-2026", member, "again", best=200, bodyweight=number)])
        assert listed(stack, "contest-1") == [[1, "cem", 3, 0], [2, "bob", 3, 90], [3, "ann", 3, 95]]
        assert listed(stack, "lift-2026") == [[1, "bob", 200, 90], [2, "ann", 200, 95], [3, "cem", 200, None]]


def event(board: str, member: str, name: str = "first", **metrics: float) -> dict[str, Any]:
    return {"id": f"{board} {member} {name}", "board": board, "member": member, "at": AT, "metrics": metrics}


def test_countback_in_one_number_goes_by_wins_then_by_second_places() -> None:
    """The page says: an n-th place adds 32^(10 - n), exact for ten places and up to 31 of each."""
    rng = Random(3)
    results = [[rng.choice((0, 1, 2, 31)) for _ in range(10)] for _ in range(300)]
    packed = {
        tuple(counts): reduce(lambda total, place: total + counts[place] * 32 ** (9 - place), range(10), 0)
        for counts in results
    }
    assert sorted(packed, key=lambda counts: packed[counts]) == sorted(packed)
    assert 31 * sum(32**place for place in range(10)) < 2**53


def test_a_path_with_two_components_is_the_one_that_concepts_draws() -> None:
    nodes = tiers.nodes_for((-8, 312))
    assert len(nodes) == 5
    assert tiers.path((-8, 312))[-2:] == (312 // 128, 312 % 128)
    page = (PROJECT / "docs" / "concepts.md").read_text(encoding="utf-8")
    assert "2 × 128 + 56" in page
    assert "Five items were read" in page
    assert [len(tiers.path((number,))) for number in (127, 128, 16_383)] == [2, 3, 3]
