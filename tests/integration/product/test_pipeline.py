"""The whole pipeline is exact while time passes."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.aws.stack import ManualClock, Stack, running, write
from tests.support.awslambda.pollers import LocalStream, StreamPoller
from tests.support.dynamodb.tables import create_tables, engine_with_tables
from tests.support.machine.boards import BOARDS
from tests.support.oracle.comparing import compare_list, compare_members, rankings
from tests.support.oracle.model import METHODS

CHOSEN = ("firsts", "lasts", "league")
"""Boards with windows of every kind: their `points` have no decimals."""
TEXT = "".join(BOARDS[name].toml(name, 1) for name in CHOSEN)


class Pipeline:
    """A stack, the poller of its stream, and a board's model."""

    def __init__(self, shards: Any, stack: Stack, board: str, seed: int) -> None:
        self.stack, self.board, self.rng = stack, board, random.Random(seed)
        self.model = BOARDS[board].model()
        self._stream = StreamPoller(stack.projector, shards, batch_size=self.rng.choice([1, 10, 100]))
        self._posted: list[dict[str, Any]] = []

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(self.stack.clock() / 1000, UTC)

    def live(self, count: int) -> None:
        """Post events of a few busy members and many quiet ones: on time, late, repeated, negative and of 0."""
        rng, sent = self.rng, []
        for _ in range(count):
            busy, quiet = f"m{int(rng.paretovariate(0.7)) % 40}", f"images/{rng.randrange(200)}.jpg"
            member = busy if rng.random() < 0.8 else quiet
            late = rng.choice([0, 0, 0, 0, rng.random() * 30, rng.random() * 24 * 12])
            at = self.now - timedelta(hours=late) + timedelta(minutes=rng.random() * 4)
            amounts = {"points": rng.choice([1, 1, 2, 5, 100, 0, -3])}
            event = {"id": f"{self.board}-{len(self._posted)}", "board": self.board, "member": member}
            self._posted.append({**event, "at": at.isoformat(timespec="milliseconds"), "metrics": amounts})
            sent += [self._posted[-1], *([rng.choice(self._posted[-50:])] if rng.random() < 0.15 else [])]
            self.model.count(event["id"], member, at, amounts, self.now)
        rng.shuffle(sent)
        write(self.stack, sent)
        self._stream.drain()

    def assert_exact(self) -> None:
        """Compare every list, of the current period and of an earlier one, and what members say of themselves."""
        asked = self.stack, self.model, self.board, self.now, self.rng
        for ranking in rankings(*asked):
            compare_list(ranking, METHODS[0])
        compare_members(*asked, METHODS)


@pytest.mark.thorough
def test_every_rank_is_exact_on_dynamodb_local_while_time_passes(local_client: Any) -> None:
    """Alternate activity and time: the end of daylight saving time, of a week and of a month."""
    create_tables(local_client, expire=False)
    clock = ManualClock(int(datetime(2026, 10, 23, 20, 30, tzinfo=UTC).timestamp() * 1000))
    with running(local_client, clock, TEXT) as stack:
        pipeline = Pipeline(LocalStream(local_client, "Scores"), stack, "firsts", 2)
        for _ in range(4):
            pipeline.live(60)
            pipeline.assert_exact()
            clock.milliseconds += int(pipeline.rng.choice([1, 5, 11, 25, 60]) * 3_600_000)


def test_time_alone_changes_ranks_and_writes_nothing() -> None:
    engine = engine_with_tables(shards=2)
    clock = ManualClock(int(datetime(2026, 11, 21, 10, 15, tzinfo=UTC).timestamp() * 1000))
    writes: list[str] = []
    with running(engine, clock, TEXT) as stack:
        for board in CHOSEN:
            pipeline = Pipeline(engine.stream("Scores"), stack, board, 5)
            for _ in range(3):
                pipeline.live(40)
                clock.milliseconds += 26 * 3_600_000
            before = clock()
            engine.before.append(lambda operation, _: writes.append(operation) if "Get" not in operation else None)
            for days in (1, 6, 24, 60):
                clock.milliseconds = before + days * 24 * 3_600_000
                pipeline.assert_exact()
            engine.before.clear()
            assert set(writes) == {"Query"}
