"""An audit names each corruption by its kind and nothing else, whatever happens while it reads."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import orjson
import pytest

from standings.maintain.audit import report
from standings.project.outcome import one_by_one
from standings.wiring import projector
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import running
from tests.support.awslambda.pollers import Context
from tests.support.builders.audit.auditing import BOARD, Audited, family, findings, populate
from tests.support.builders.audit.corrupting import Corruption
from tests.support.builders.audit.corrupting_logs import LogCorruption
from tests.support.builders.audit.corrupting_windows import WindowCorruption
from tests.support.builders.audit.counters import NOW, Finding
from tests.support.builders.audit.traffic import Busy, Load, lag
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables
from tests.support.thoroughness import seeds

KINDS = (
    *("deleted", "emptied", "moved", "unreadable", "elsewhere", "future", "ghost", "unhidden"),
    *("counter", "lost", "stray"),
)
OF_WINDOWS = (
    *("row_deleted", "step_dropped", "step_moved", "step_added", "row_damaged", "row_future", "steps_unhidden"),
    *("unlisted", "relisted", "stretched", "garbled", "listed_elsewhere", "listed_in_future", "surplus"),
    *("ghost_listed", "ghost_placed"),
)


@contextmanager
def board(seed: int, members: int = 25, events: int = 80, clock: ManualClock | None = None) -> Iterator[Audited]:
    """A board of 1 or 3 shards, with ties of either kind, that has come to rest.

    Answers have all examples, and calls run one after the other, so that the seed decides everything.
    """
    print(f"seed {seed}")
    engine = Engine(shards=2)
    create_tables(engine)
    rng = random.Random(seed)
    text, boards = family(rng.choice([1, 3]), rng.choice(["member", "first"]))
    with (
        mock.patch.object(report, "MAX_EXAMPLES", 10_000),
        mock.patch.object(projector, "run_parallel", return_value=one_by_one),
        running(engine, clock or ManualClock(NOW), text) as stack,
    ):
        audited = Audited(stack, rng, boards)
        populate(audited, members, events)
        yield audited


def corrupt(audited: Audited) -> set[Finding]:
    """Corrupt rankings in a few ways. Returns how an audit must name the rows and list items."""
    corruption, of_windows = Corruption(audited), WindowCorruption(audited)
    for kind in audited.rng.choices((*KINDS, *OF_WINDOWS), k=audited.rng.randint(1, 12)):
        (corruption if kind in KINDS else of_windows).corrupt(kind)
    return corruption.expected | of_windows.expected


def found(answers: list[dict[str, Any]], kind: str) -> int:
    return sum(answer["found"][kind] for answer in answers)


@pytest.mark.parametrize("seed", seeds(3, 10))
def test_a_board_at_rest_has_no_difference(seed: int) -> None:
    with board(seed) as audited:
        answers = audited.audit(seconds=audited.rng.choice([0, 1000]))

    assert {kind: found(answers, kind) for kind in answers[0]["found"] if found(answers, kind)} == {}
    assert sum(answer["looked_at"]["members"] for answer in answers) >= 20


@pytest.mark.parametrize("seed", seeds(8, 40))
def test_each_corruption_is_named_and_nothing_else(seed: int) -> None:
    with board(seed) as audited:
        expected = corrupt(audited) | audited.counters_off()
        # One long call, or many short ones.
        slow = Busy(audited, 0, step=audited.rng.choice([2, 300]))
        answers = audited.audit(slow, seconds=60)

    assert sorted(findings(answers)) == sorted(expected)
    assert found(answers, "unsettled") + found(answers, "behind") == 0
    for answer in answers:
        assert len(orjson.dumps(answer["cursor"])) < 2_000


@pytest.mark.parametrize("seed", seeds(8, 60))
def test_no_false_alarm_while_events_flow(seed: int) -> None:
    with board(seed, 20, 40) as audited:
        lag(audited, 3_000)
        busy = Busy(audited, audited.rng.choice([0.05, 0.3, 0.9]), prefix=audited.rng.choice("mx"))
        answers = audited.audit(busy, seconds=audited.rng.choice([5, 60, 10_000]))

    assert findings(answers) == []
    assert busy.calls["transact_get_items"]


@pytest.mark.parametrize("seed", seeds(6, 30))
def test_each_corruption_is_named_while_events_flow(seed: int) -> None:
    with board(seed) as audited:
        lag(audited, 3_000)
        expected = corrupt(audited)
        audited.clock.milliseconds += 60_000
        busy = Busy(audited, audited.rng.choice([0.02, 0.1, 0.3]))
        # Moves between two cheap reads can hide a wrong counter by chance: the next audit names it.
        for _ in range(4):
            answers = audited.audit(busy, seconds=1_000)
            named = findings(answers)
            off = {one for one in named if one[0] == "counter"}
            # Moves do not change how far a counter is off.
            counters = audited.counters_off()
            assert sorted(one for one in named if one[0] != "counter") == sorted(expected)
            assert {one[1] for one in off} <= {one[1] for one in counters}
            if off == counters:
                break

    assert off == counters


def _mend_while_events_flow(seed: int, clock: ManualClock) -> None:
    with board(seed, clock=clock) as audited:
        corruption, of_windows = Corruption(audited), WindowCorruption(audited)
        for kind in KINDS:
            corruption.corrupt(kind)
        for kind in OF_WINDOWS:
            of_windows.corrupt(kind)
        assert audited.counters_off()
        assert corruption.expected | of_windows.expected
        ((window, _),) = of_windows.windows()
        LogCorruption(audited, window).corrupt(audited.rng.choice(["cut_short", "wrong", "twice"]))
        load = Load(audited, 0.1)
        load.start()
        begin = True
        while True:
            answer = audited.stack.maintenance({"rebuild": {"board": BOARD, "begin": begin}}, Context())
            if answer["done"]:
                break
            begin = False
            audited.clock.milliseconds += round(answer["wait"] * 1000)
        load.stop()
        audited.project()
        audited.clock.milliseconds += 3_600_000
        audit = audited.stack.maintenance({"audit": {}}, Context(seconds=10_000))
        (of_board,) = audit["boards"]
        off = audited.counters_off(generation=1)

    assert load.events > 20
    assert (audit["done"], audit["drift"], of_board["board"]) == (True, 0, BOARD)
    assert {kind: count for kind, count in of_board["found"].items() if count} == {}
    assert of_board["looked_at"]["entries"] > 20
    assert off == set()


@pytest.mark.parametrize("seed", seeds(3, 15))
def test_a_rebuild_mends_all_that_is_corrupted_while_events_flow(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock(NOW)
    # Only this clock counts: the seed decides everything.
    monkeypatch.setattr("time.monotonic", lambda: clock() / 1000)
    monkeypatch.setattr("time.sleep", lambda seconds: setattr(clock, "milliseconds", clock() + round(seconds * 1000)))
    _mend_while_events_flow(seed, clock)
