"""Traffic on a board while an audit or a rebuild runs, and a sorted index that lags."""

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.support.builders.audit.auditing import Audited
from tests.support.faults import faulty_client


def lag(audited: Audited, milliseconds: int) -> None:
    """Delay each change of a row in the sorted index."""
    index = audited.engine._tables["Rankings"].indexes["places"]
    index.bring_in()
    index.clock = lambda: audited.clock() / 1000
    index.behind = milliseconds / 1000


@dataclass
class Busy:
    """A client during whose calls events happen at random: seldom, once there were many."""

    audited: Audited
    chance: float
    members: int = 8
    prefix: str = "x"
    step: int = 30
    much: int = 300
    calls: Counter[str] = field(default_factory=Counter)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.audited.engine, name)

        def call(**request: Any) -> Any:
            self.calls[name] += 1
            self.happen()
            if name == "transact_get_items" and self.audited.rng.random() < self.chance / 4:
                raise faulty_client.cancelled(["TransactionConflict", *["None"] * (len(request["TransactItems"]) - 1)])
            return method(**request)

        return call

    def happen(self) -> None:
        audited, rng = self.audited, self.audited.rng
        audited.clock.milliseconds += rng.randrange(self.step)
        if rng.random() < (self.chance if audited.posted < self.much else min(self.chance, 0.02)):
            for _ in range(rng.randint(1, 3)):
                audited.happen(f"{self.prefix}{rng.randrange(self.members)}")
            if rng.random() < 0.8:
                audited.project(rng.choice([1, 2, 10_000]))


class Load:
    """Makes events on the board before other calls to the store, and projects them now and then."""

    def __init__(self, audited: Audited, chance: float = 0.02) -> None:
        self.events = 0
        self._audited = audited
        self._chance = chance
        self._at_it = threading.Lock()

    def start(self) -> None:
        self._audited.engine.before.append(self._before)

    def stop(self) -> None:
        self._audited.engine.before.remove(self._before)

    def _before(self, *_: Any) -> None:
        audited, rng = self._audited, self._audited.rng
        # The calls of these events make no further events.
        if not self._at_it.acquire(blocking=False):
            return
        try:
            if rng.random() < self._chance:
                self.events += 1
                audited.clock.milliseconds += rng.randrange(50)
                audited.happen(f"m{rng.randrange(25)}")
                if rng.random() < 0.5:
                    audited.project(rng.randint(1, 9))
        finally:
            self._at_it.release()
