"""Compare the tables with the model once nothing is going on."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from standings.aws.dynamodb.keys import BOARDS
from tests.faults.clockwork import MINUTE
from tests.faults.judge import EPOCH
from tests.support.aws.fakes.bucket import Bucket
from tests.support.aws.fakes.queues import ActivityQueue, DeadLetterQueue
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack
from tests.support.oracle.comparing import compare_every_read, compare_ranks, rankings

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.oracle.model import BoardModel

    from .world import World

METHOD = "competition"


class Comparison:
    """Compares the tables, and sometimes the answers over HTTP."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.compared = 0
        """The number of comparisons so far."""

    @property
    def is_quiet(self) -> bool:
        """Whether no event, record, parked object, task, invocation or transaction is left."""
        busy = self._world.people.chores or self._world.live or not self._world.parked.is_empty
        idle = self._world.queue.is_empty and self._world.poller.is_drained and self._world.server.is_idle
        return idle and not busy

    def compare(self, tries: int = 0) -> None:
        """Compare now if all is quiet, else try again every ten minutes, at most `tries` times."""
        if self.is_quiet:
            self.compared += 1
            self._world.judge.compare(self._world.clock.now // 1000, later=self._world.deployed > 0)
            index = self._world.delays.index
            if not self._world.shape.later and index is not None and index.is_behind:
                self._world.trap("ranks while the index is behind")
                self._over_http(self._ranks)
            if self._world.rng.random() < 0.03 and not self._world.shape.later and not self._world.judge.differences:
                self._world.trap("read over HTTP")
                if index is not None:
                    index.behind = 0.0
                self._over_http(self._every_read)
        elif tries:
            self._world.clock.after(10 * MINUTE, self.compare, tries - 1)

    def _ranks(self, stack: Stack, model: BoardModel, board: str, at: datetime) -> None:
        for ranking in rankings(stack, model, board, at, self._world.delays.rng, most=2):
            compare_ranks(ranking, METHOD)

    def _every_read(self, stack: Stack, model: BoardModel, board: str, at: datetime) -> None:
        compare_every_read(stack, model, board, at, self._world.rng, methods=(METHOD,), most=2)

    def _over_http(self, compare: Callable[[Stack, BoardModel, str, datetime], None]) -> None:
        """Compare answers over HTTP for some rankings and the members of each board."""
        query = self._world.instances.load("query", self._world.shape.text).handle
        now = ManualClock(self._world.clock.now // 1000)
        queues = ActivityQueue(), DeadLetterQueue(), Bucket()
        stack = Stack(now, self._world.sdk, query, query, query, query, query, *queues)
        for board, model in self._world.judge.models.items():
            at = EPOCH + timedelta(milliseconds=now.milliseconds)
            if self._world.store.item("Scores", pk=BOARDS, sk=board) is not None:
                try:
                    compare(stack, model, board, at)
                except AssertionError as error:
                    self._world.judge.differ(str(error))
