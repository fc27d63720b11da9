"""Calls of maintenance that stop at any request, while other calls and events go on: what is left is right."""

import random
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count, product
from pathlib import Path
from typing import Any, Final
from unittest import mock

import pytest

from standings.domain.coverage import PROPAGATION_WAIT
from standings.domain.windows import SECOND, instant
from standings.stores import StoreUnavailableError
from tests.support.aws.stack import ManualClock, Stack, deliver, project, running
from tests.support.awslambda.context import Killed
from tests.support.builders.checks import assert_tiers_count_the_entries, entries
from tests.support.builders.maintenance import apart, call, finish
from tests.support.builders.settling.leagues import (
    BOARD,
    BOARDS,
    FINAL,
    lines_in,
    play,
    settle,
    settle_whole,
    sorted_lines,
)
from tests.support.thoroughness import assert_all_met, seeds, thorough_seeds

DELETED: Final = "league-2"
TASKS: Final = ("audit", "rebuild", "delete", "erase", "settle")
SEEDS: Final = (4, 40)
JOBS: Final = ("rebuild", "delete")
KILLED: Final = "a call that Lambda ends"
WHOLE: Final = [f"a whole job within {other}" for other in TASKS]
TRAPS: Final = [*(f"{one} within {other}" for one, other in product(TASKS, TASKS)), *WHOLE, KILLED]
LAMBDA: Final = 900 * SECOND
"""Milliseconds after which Lambda ends a call of maintenance."""


class Together:
    """Two boards, one of which is deleted now and then, beside what a dict says of their members."""

    def __init__(self, stack: Stack, rng: random.Random) -> None:
        self.stack, self.rng = stack, rng
        self.days = {board: play(stack, rng.randrange(99), 12, board) for board in (BOARD, DELETED)}
        self.totals = {board: dict(scores) for board, scores in self.days.items()}
        self.erased: set[str] = set()
        self.begun: set[str] = set()
        """Boards whose deletion has begun, and of which no event has counted since."""
        self.working: list[str] = []
        self.ends: list[int] = []
        """When Lambda ends each call that is at work, in milliseconds; the innermost is last."""
        self.met: set[str] = set()
        self.numbers = count()
        self.cursors: dict[tuple[str, str], Any] = {}
        stack.clock.milliseconds = FINAL
        stack.dynamodb.before.append(self.before)

    def before(self, *request: Any) -> None:
        del request
        self.die()
        often = {"event": 0, "erase": 1, "delete": 0.5}  # An erasure makes few requests
        if self.working and self.rng.random() < often.get(self.working[-1], 0.15) / 6 ** len(self.working):
            with apart():
                for _ in range(self.rng.choice([1, 1, 15])):
                    self.happen()
            self.die()

    def die(self) -> None:
        """End the innermost call of maintenance if its time is over."""
        if self.working and self.working[-1] != "event" and self.stack.clock() >= self.ends[-1]:
            self.met.add(KILLED)
            raise Killed

    def happen(self) -> None:
        later = self.rng.choice([1, 1, 2 * SECOND, PROPAGATION_WAIT])
        if later == PROPAGATION_WAIT:  # A projector is at most seconds behind
            self.project()
        self.stack.clock.milliseconds += later
        task = self.rng.choice([*TASKS, "rebuild", "event", "event", "event"])
        is_whole = task in JOBS and self.rng.random() < 0.1
        names = [f"{task} within {other}" for other in self.working]
        self.met |= {*names, *(f"a whole job within {other}" for other in self.working if is_whole)} & set(TRAPS)
        self.working.append(task)
        try:
            if task == "event":
                self.event()
            elif task in JOBS:
                self.job(task, is_whole=is_whole)
            else:
                self.task(task)
        finally:
            self.working.pop()

    def project(self) -> None:
        self.working.append("event")
        project(self.stack)
        self.working.pop()

    def event(self) -> None:
        """An event of later than the day. Boards that are being deleted refuse it."""
        board, member = self.rng.choice([BOARD, DELETED]), f"m{self.rng.randrange(16):03}"
        if member in self.erased or (board == DELETED and "delete" in self.working and board not in self.begun):
            return
        about = {"board": board, "member": member, "at": instant(self.stack.clock())}
        deliver(self.stack, [{"id": f"later-{next(self.numbers)}", **about, "metrics": {"points": 3}}])
        if self.rng.random() < 0.7:
            project(self.stack)
        if self.stack.dead_letters.messages:
            self.stack.dead_letters.messages.clear()
            assert board in self.begun
            return
        if board in self.begun:
            self.emptied(board)
        self.totals[board][member] = self.totals[board].get(member, 0) + 3

    def emptied(self, board: str) -> None:
        self.begun.discard(board)
        self.totals[board], self.days[board] = {}, {}

    def task(self, task: str) -> None:
        """One call, of little time or much. It begins, or goes on from where a call of its kind has come."""
        if task == "settle":
            self.ended(partial(settle, self.stack, again=self.rng.random() < 0.5))
            return
        of = self.rng.choice([BOARD, DELETED])
        if task == "erase":
            others = [f"m{self.rng.randrange(12):03}"]
            of = self.rng.choice(sorted(self.erased) if self.erased and self.rng.random() < 0.7 else others)
            self.erased.add(of)
        about: dict[str, Any] = {"member" if task == "erase" else "board": of, "cursor": self.cursors.get((task, of))}
        answer = self.ended(partial(call, self.stack, task, **about))
        if answer is not None:
            self.cursors[task, of] = None if answer["done"] else answer.get("cursor")
        if answer is not None and task == "audit":
            assert answer["drift"] == 0, answer

    def job(self, task: str, *, is_whole: bool) -> None:
        """One call of a job, or all calls, as a command makes them while others wait. Some begin the job."""
        board = DELETED if task == "delete" else self.rng.choice([BOARD, DELETED])
        begin = self.rng.random() < (0.4 if task == "rebuild" else 0.2)
        answer = None
        while answer is None or (is_whole and not answer["done"]):
            answer = self.ended(partial(call, self.stack, task, board=board, begin=begin))
            if answer is not None:
                self.begun |= {board} if task == "delete" and begin else set()
                begin = False
                self.project()
                self.stack.clock.milliseconds += round(answer.get("wait", 0) * SECOND) if is_whole else 0

    def ended(self, do: Callable[..., dict[str, Any]]) -> dict[str, Any] | None:
        """The answer of a call; None if it has none, because the store failed or Lambda ended the call."""
        self.ends.append(self.stack.clock() + LAMBDA)
        try:
            return do(seconds=self.rng.choice([0.5, 30, 800]))
        except (StoreUnavailableError, Killed):
            return None
        finally:
            self.ends.pop()

    def end(self) -> None:
        """Let everything come to its end, and compare."""
        self.stack.dynamodb.before.remove(self.before)
        for board in (BOARD, DELETED):
            project(self.stack)
            finish(self.stack, "rebuild", board=board, begin=False)
        for member in self.erased:
            assert finish(self.stack, "erase", member=member)["problems"] == []
        project(self.stack)
        self.stack.clock.milliseconds += PROPAGATION_WAIT
        for board in set(self.begun):
            self.emptied(board)
        for board in (BOARD, DELETED):
            for window, scores in (("all", self.totals), ("day", self.days)):
                left = {member: points for member, points in scores[board].items() if member not in self.erased}
                period = "2026-11-20" if window == "day" else None
                assert self.stack.entries(f"/boards/{board}/points/{window}", period=period) == sorted_lines(left)
        assert finish(self.stack, "audit", grace_seconds=0)["drift"] == 0
        assert_tiers_count_the_entries(self.stack.dynamodb)
        copies = {(key.partition("#")[0], key.partition("~")[2]) for key in entries(self.stack.dynamodb)}
        assert len(copies) == len({board for board, _ in copies}), "a copy of rankings that nobody reads is left"
        settle_whole(self.stack, again=True)
        left = {member: points for member, points in self.days[BOARD].items() if member not in self.erased}
        assert lines_in(self.stack.bucket.results) == sorted_lines(left)


@pytest.fixture
def stack(engine: Any, clock: ManualClock) -> Iterator[Stack]:
    """Requests come one after the other."""
    with mock.patch("random.random", return_value=0.5), running(engine, clock, BOARDS) as deployed:
        yield deployed


@pytest.mark.parametrize("seed", seeds(*SEEDS))
def test_boards_are_right_whatever_calls_are_at_work_together(stack: Stack, seed: int, shared_folder: Path) -> None:
    together = Together(stack, random.Random(seed))
    for _ in range(25):
        together.happen()
    together.end()
    assert_all_met(shared_folder, "together", seed, thorough_seeds(*SEEDS), together.met, TRAPS)
