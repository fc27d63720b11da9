"""Delays of minutes and hours: a mapping that somebody disables, and a sorted index that falls behind."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from tests.faults.aws.tables import EngineStore
from tests.faults.clockwork import HOUR, SECOND

if TYPE_CHECKING:
    from tests.support.dynamodb.table import Index

    from .world import World


class Delays:
    """Draws the delays of a schedule. It has its own random numbers, so that the other draws stay as they are."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.rng = rng = Random(f"{world.seed} delays")
        self._disabled = rng.randint(HOUR, 23 * HOUR) if rng.random() < 0.12 else 0
        # A rebuild purges what the index lists after three minutes. What it lists later stays, and nobody reads it.
        longest = 60 if world.rebuilt else 6000
        self._behind = rng.randint(longest // 10, longest) if rng.random() < 0.2 else 0

    @property
    def are_long(self) -> bool:
        """Whether an audit must take what is on its way for a difference."""
        return bool(self._disabled or self._behind)

    @property
    def index(self) -> Index | None:
        """The sorted index, or None if it is not the engine's."""
        store = self._world.store
        return store.engine._tables["Rankings"].indexes["places"] if isinstance(store, EngineStore) else None

    def begin(self) -> None:
        """Put the delays on the agenda."""
        if self._disabled:
            self._world.clock.after(self.rng.randint(0, 3 * SECOND), self._disable)
        if self.index is not None:
            self.index.behind = self._behind

    def _disable(self) -> None:
        """Disable the mapping for hours, but less than the 24 for which the stream keeps its records."""
        self._world.trap("disabled for hours")
        self._world.poller.paused_until = self._world.clock.now + self._disabled
