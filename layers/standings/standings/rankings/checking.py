"""What audits read of a ranking."""

from collections.abc import Mapping
from typing import NamedTuple

from standings.domain.scoring import Place
from standings.rankings.rolling.steps import Block, Steps


class StoredRow(NamedTuple):
    """A member's row in a ranking, or its item in a list of a rolling window.

    `key` is the sort key of its entry (None: no entry). `at_home` says whether the entry is in an allowed shard.
    """

    key: str | None
    version: int
    at_home: bool = True


class StoredSteps(NamedTuple):
    """A member's row in a rolling window. `steps` is None if they cannot be decoded."""

    version: int
    steps: Steps | None


class Root(NamedTuple):
    """The number of lanes and shards that a ranking's root names."""

    lanes: int
    shards: int


class Snapshot(NamedTuple):
    """A node at one moment: its counters, summed over the lanes that the root names.

    Two snapshots with an equal `state` mean that nobody wrote the node in between.
    """

    root: Root
    counters: Mapping[int, int]
    state: object


class Listed(NamedTuple):
    """An entry of a ranking's sorted index; `place` is None if its key cannot be decoded.

    In a rolling window it is an item of a list. `block` is in its key; None if that is the key of another item.
    """

    key: str
    member: str
    place: Place | None
    block: Block | None = None


class DamagedLog(Exception):
    """A log cannot be read: its key, and why."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(f"{key}: {reason}")
        self.key = key
        self.reason = reason
