"""Schedules audit and settle all boards in turn, on from where they were, whatever happens to their runs."""

import random
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final
from unittest import mock

import orjson
import pytest

from benchmarks.harness.meter import Meter
from standings.aws.dynamodb.tables import AUDIT
from standings.maintain.turns import LEASE_MARGIN
from standings.runtime.logs import metrics
from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.stack import ManualClock, Stack, apply, event, project, running, write
from tests.support.awslambda.pollers import Context, Killed
from tests.support.builders.maintenance import before, call, finish
from tests.support.builders.settling import leagues
from tests.support.builders.settling.leagues import FINAL, lines_in, lose_a_row, play, sorted_lines
from tests.support.thoroughness import seeds

BOARDS: Final = """
[boards."*"]
metrics.points = { aggregate = "sum", windows = ["all", "last-3-days"] }
"""
PLENTY: Final = 1_000_000  # Read units: more than a turn takes
TRIFLING: Final = 10  # Read units: less than a board takes
A_STEP: Final = 60  # Read units: more than any page of members or leaf here takes
Drift = Callable[[], float]
RECORDS: Final = 5  # Read units of a run beside the audit: names and records of boards, and the turn
CLIENT = Meter  # read units are counted


@pytest.fixture
def settling(engine: Any, clock: ManualClock) -> Iterator[Stack]:
    """A stack that settles, before anything is final."""
    with running(engine, clock, leagues.BOARDS) as deployed:
        yield deployed


@pytest.fixture
def drift(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Drift:
    """Returns the sum of the metric since the last call."""
    monkeypatch.setenv("POWERTOOLS_METRICS_DISABLED", "false")
    metrics.clear_metrics()

    def read() -> float:
        lines = [orjson.loads(line) for line in capsys.readouterr().out.splitlines() if '"_aws"' in line]
        return sum(sum(line.get("Drift", [])) for line in lines)

    return read


def fill(stack: Stack, *boards: str, members: int = 5) -> None:
    """Give boards some members, and let an hour pass."""
    given = [(board, n) for board in boards for n in range(members)]
    apply(stack, [{**event(f"m{n}", 7 * n), "board": board, "id": f"{board}-{n}"} for board, n in given])
    stack.clock.milliseconds += 3_600_000


def audit(stack: Stack, read_units: int = PLENTY, seconds: float = 800) -> dict[str, Any]:
    """Do one run of the audits."""
    return call(stack, "audits", "next", read_units=read_units, seconds=seconds)


def settle(stack: Stack, seconds: float = 800) -> dict[str, Any]:
    """Do one run of the settlements."""
    return call(stack, "settlements", "next", seconds=seconds)


def shown(stack: Stack) -> dict[str, Any]:
    """Where the turn of the audits is."""
    return call(stack, "audits", "show")


def names(answer: dict[str, Any]) -> list[str]:
    """The boards that a run audited, or parts of them."""
    return [board["board"] for board in answer["boards"]]


def settled(answer: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(one["board"], one["window"], one["period"]) for one in answer["rankings"] if one["settled"]]


def logged(caplog: pytest.LogCaptureFixture, message: str) -> list[dict[str, Any]]:
    """The lines of the log with a message, as records."""
    return [vars(record) for record in caplog.records if record.message == message]


# ---- audits in turn


def test_a_run_with_plenty_audits_each_board_once_and_the_next_run_begins_again(stack: Stack) -> None:
    assert shown(stack)["ran_at"] is None
    without_boards = audit(stack)
    assert (without_boards["boards"], without_boards["done"], without_boards["read_units"]) == ([], True, 0)
    assert shown(stack)["ran_at"] == stack.clock()

    fill(stack, "a", "b", "c")
    for _ in range(2):
        answer = audit(stack)
        assert (names(answer), answer["done"], answer["drift"]) == (["a", "b", "c"], True, 0)
        assert 0 < max(board["read_units"] for board in answer["boards"]) < answer["read_units"]
    last = shown(stack)["last"]
    assert (last["boards"], last["drift"], last["failed"], last["until"]) == (3, 0, [], stack.clock())
    assert last["read_units"] == answer["read_units"]


@pytest.mark.parametrize("read_units", [1, 70, 300])
def test_a_run_spends_no_more_than_its_units_and_a_step(stack: Stack, read_units: int) -> None:
    fill(stack, "large", "small", members=120)
    looked_at, runs, done = 0, 0, False
    while not done:
        runs += 1
        start = stack.dynamodb.snapshot()
        answer = audit(stack, read_units)
        used = (stack.dynamodb.snapshot() - start).total.read
        assert used <= read_units + A_STEP + RECORDS
        assert answer["read_units"] <= used <= answer["read_units"] + RECORDS
        assert answer["drift"] == 0
        looked_at += sum(board["looked_at"]["members"] for board in answer["boards"])
        done = answer["done"]

    assert runs > 600 // (read_units + A_STEP)
    assert looked_at == 240
    assert shown(stack)["last"]["boards"] == 2


def test_a_run_ends_when_its_time_does(stack: Stack) -> None:
    fill(stack, "a", "b")

    answer = audit(stack, seconds=0)

    assert (answer["done"], answer["board"], answer["read_units"]) == (False, "a", 1)
    assert names(audit(stack)) == ["a", "b"]


@pytest.mark.parametrize("seed", seeds(3, 15))
def test_what_happens_between_runs_is_no_difference(stack: Stack, seed: int) -> None:
    """Members move, come and go, and some changes have not come through the stream yet."""
    rng = random.Random(seed)
    fill(stack, "a", members=60)
    drift = 0
    for number in range(1000):
        answer = audit(stack, TRIFLING)
        drift += answer["drift"]
        if answer["done"]:
            break
        member = f"m{rng.randrange(80)}"
        if rng.random() < 0.2:
            stack.delete("/boards/a/member", id=member)
        else:
            body = {**event(member, rng.randrange(-300, 20_000)), "board": "a", "id": f"later-{number}"}
            write(stack, [{**body, "at": "2026-11-21T11:00:00Z"}])
        if rng.random() < 0.5:
            project(stack)
        stack.clock.milliseconds += 20_000

    assert answer["done"]
    assert number > 20
    assert drift == 0


def test_a_difference_is_counted_in_the_metric_and_named_in_the_log(
    stack: Stack, drift: Drift, caplog: pytest.LogCaptureFixture
) -> None:
    fill(stack, "a", "b", "c")
    lose_a_row(stack, "b#", "#m3")
    drift()

    answers = [audit(stack, TRIFLING)]
    while not answers[-1]["done"]:
        answers.append(audit(stack, TRIFLING))

    assert drift() == sum(answer["drift"] for answer in answers) == shown(stack)["last"]["drift"] > 0
    lines = logged(caplog, "rankings differ from scores")
    assert {line["board"] for line in lines} == {"b"}
    assert "m3" in {example.get("member") for line in lines for example in line["examples"]}


def test_boards_come_and_go_between_runs(stack: Stack, clock: ManualClock) -> None:
    fill(stack, "a", "c", "z", members=2)
    first = audit(stack, TRIFLING)
    assert (first["board"], first["done"]) == ("a", False)

    # The turn is in the middle of the board that goes. A board that is being rebuilt is audited, one that goes is not.
    call(stack, "rebuild", board="c")
    call(stack, "delete", board="a")
    assert names(audit(stack)) == ["c", "z"]
    finish(stack, "rebuild", board="c")
    finish(stack, "delete", board="a")
    fill(stack, "b", members=2)
    answer = audit(stack)

    assert (names(answer), answer["done"]) == (["b", "c", "z"], True)
    assert audit(stack, TRIFLING)["board"] == "b"
    with running(stack.dynamodb, clock, BOARDS.replace('"*"', '"z*"')) as narrower:
        answer = audit(narrower)
    assert (names(answer), answer["done"]) == (["z"], True)


# ---- runs that meet, fail or die


def test_an_audit_beside_another_does_nothing(stack: Stack, engine: Any) -> None:
    fill(stack, "a", "b")
    lose_a_row(stack, "b#", "#m3")

    beside = cache(lambda: audit(stack))
    with before(engine, beside, "Query ", "'b#"):
        answer = audit(stack)

    assert beside() == {"done": False, "running": True, "board": None, "read_units": 0, "drift": 0, "boards": []}
    assert shown(stack)["last"]["drift"] == answer["drift"] > 0


def test_a_command_beside_a_run_of_settlements_waits(settling: Stack, engine: Any) -> None:
    play(settling, 5)
    settling.clock.milliseconds = FINAL

    beside = cache(lambda: leagues.settle(settling))
    with before(engine, beside, "Query "):
        settle(settling)

    assert beside()["running"]


def test_of_two_runs_that_begin_at_once_one_does_the_work(stack: Stack, engine: Any) -> None:
    fill(stack, "a")

    first = cache(lambda: audit(stack))
    with before(engine, first, "PutItem", f"'{AUDIT}'"):
        late = audit(stack)

    assert (first()["done"], names(first())) == (True, ["a"])
    assert (late["running"], late["boards"]) == (True, [])


def test_a_board_that_fails_twice_is_left_out_and_what_was_found_before_counts(
    stack: Stack, engine: Any, drift: Drift, caplog: pytest.LogCaptureFixture
) -> None:
    fill(stack, "a", "b", "c")
    lose_a_row(stack, "a#", "#m3")
    drift()

    with before(engine, mock.Mock(side_effect=KeyError("b")), "Query ", "'b#"):
        with pytest.raises(KeyError):
            audit(stack)
        assert drift() == shown(stack)["turn"]["drift"] > 0
        with pytest.raises(KeyError):
            audit(stack)
        answer = audit(stack)

    assert (names(answer), answer["done"]) == (["c"], True)
    assert shown(stack)["last"]["failed"] == ["b"]
    lines = logged(caplog, "board not audited")
    assert [(line["board"], line["tries"]) for line in lines] == [("b", 1), ("b", 2)]


def die_twice(stack: Stack, engine: Any, run: Callable[[Stack], dict[str, Any]], board: str) -> dict[str, Any]:
    """Let two runs die at a board; returns the answer of the third one."""
    with before(engine, mock.Mock(side_effect=Killed), "Query ", f"'{board}#"):
        for _ in range(2):
            with pytest.raises(Killed):
                run(stack)
            # It might be at work until its 800 seconds are over.
            stack.clock.milliseconds += 800_000
            assert run(stack)["running"]
            stack.clock.milliseconds += 100_000 + LEASE_MARGIN
        return run(stack)


@pytest.mark.parametrize("board", ["a", "b"])
def test_an_audit_that_dies_twice_at_a_board_holds_up_no_other(stack: Stack, engine: Any, board: str) -> None:
    fill(stack, "a", "b", "c")

    answer = die_twice(stack, engine, audit, board)

    assert names(answer) == [name for name in "abc" if name > board]
    assert answer["done"]
    assert shown(stack)["last"]["failed"] == [board]


def test_a_settlement_that_dies_twice_at_a_board_holds_up_no_other(
    settling: Stack, engine: Any, caplog: pytest.LogCaptureFixture
) -> None:
    for board in ("league-1", "league-2"):
        play(settling, 4, board=board)
    settling.clock.milliseconds = FINAL

    answer = die_twice(settling, engine, settle, "league-1")

    assert {board for board, *_ in settled(answer)} == {"league-2"}
    lines = logged(caplog, "board not settled")
    assert [(line["board"], line["tries"]) for line in lines] == [("league-1", 1), ("league-1", 2)]


# ---- settlements in turn


def test_what_is_due_is_settled_once(settling: Stack) -> None:
    """A day, and a season under its name; nothing of a time when there was no board, and not each board settles."""
    scores = {
        board: play(settling, n, board=board) for n, board in enumerate(("league-1", "league-2", "other", "cup-1"))
    }
    settling.clock.milliseconds = FINAL

    first = settle(settling)
    files, events = dict(settling.bucket.results), list(settling.bus.events)

    assert (first["done"], first["running"]) == (True, False)
    assert settled(first) == [
        ("cup-1", "season", "autumn-2026"),
        ("league-1", "day", "2026-11-20"),
        ("league-2", "day", "2026-11-20"),
    ]
    for board in ("league-1", "league-2"):
        assert lines_in(files, f"results/{board}/points/day/2026-11-20/") == sorted_lines(scores[board])
    second = settle(settling)
    assert (second["done"], second["rankings"]) == (True, [])
    assert (settling.bucket.results, settling.bus.events) == (files, events)


def test_an_empty_period_is_left_and_told_once_until_its_history_comes(
    settling: Stack, caplog: pytest.LogCaptureFixture
) -> None:
    """The 21st has no events: it stays unsealed, and is not audited again."""
    play(settling, 1)
    settling.clock.milliseconds = FINAL + 86_400_000
    period = {"board": "league-1", "metric": "points", "window": "day", "period": "2026-11-21"}

    first = settle(settling)
    assert (settled(first), first["left"]) == ([("league-1", "day", "2026-11-20")], [period])
    assert [{name: line[name] for name in period} for line in logged(caplog, "empty period left unsealed")] == [period]
    second = settle(settling)
    assert (second["rankings"], second["left"]) == ([], [])
    # As history would, by a writer whose clock is behind.
    settling.clock.milliseconds -= 86_400_000
    apply(
        settling,
        [{"id": "x", "board": "league-1", "member": "z", "at": "2026-11-21T10:00:00Z", "metrics": {"points": 5}}],
    )
    settling.clock.milliseconds += 86_400_000
    assert settled(settle(settling)) == [("league-1", "day", "2026-11-21")]


def test_a_week_is_due_once_it_is_final(settling: Stack) -> None:
    play(settling, 1)
    settling.clock.milliseconds = FINAL + 2 * 86_400_000 - 1
    assert ("league-1", "week", "2026-11-16") not in settled(settle(settling))
    settling.clock.milliseconds += 1

    assert ("league-1", "week", "2026-11-16") in settled(settle(settling))


def test_a_ranking_that_differs_is_counted_in_the_metric_and_holds_up_no_other(settling: Stack, drift: Drift) -> None:
    for board in ("league-1", "league-2"):
        play(settling, 2, board=board)
    settling.clock.milliseconds = FINAL
    lose_a_row(settling)
    drift()

    answer = settle(settling)

    (told,) = (one for one in answer["rankings"] if not one["settled"])
    assert (told["board"], drift()) == ("league-1", told["drift"])
    assert told["drift"] > 0
    assert ("league-2", "day", "2026-11-20") in settled(answer)
    assert answer["done"]


def test_a_run_goes_on_where_the_time_of_the_last_one_was_over(settling: Stack) -> None:
    for board in ("league-1", "league-2", "league-3"):
        play(settling, 3, board=board)
    settling.clock.milliseconds = FINAL
    found, answer = [], settle(settling, seconds=0)
    for _ in range(400):
        found += settled(answer)
        if answer["done"]:
            break
        answer = settle(settling, seconds=0)

    assert answer["done"]
    assert sorted(board for board, _, period in found if period == "2026-11-20") == ["league-1", "league-2", "league-3"]
    assert len(found) == len(set(found))


def test_a_stack_without_settlements_says_which_parameter_to_set(
    engine: Any, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(ENVIRONMENT, "RESULTS_BUCKET")
    with running(engine, clock, leagues.BOARDS) as stack:
        families = ["league-*", "race-*", "table-*", "cup-*", "later-*"]
        assert call(stack, "settlements", "show") == {"done": True, "families": families, "settles": False}
        tasks: tuple[dict[str, Any], ...] = (
            {"settle": {"board": "league-1", "window": "day"}},
            {"settlements": {"next": {}}},
            {"settlements": {"list": {"board": "league-1"}}},
        )
        for task in tasks:
            with pytest.raises(ValueError, match="deploy it with Settlements=true"):
                stack.maintenance(task, Context())
        assert call(stack, "erase", member="m")["files"] == []
