"""Transactions whose items the server writes one by one."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

    from tests.faults.clockwork import Clockwork
    from tests.support.dynamodb.engine import Transaction

    from .calls import Identity
    from .tables import EngineStore, Write


class Begun:
    """A transaction that has arrived. It is decided when its first item is written, or at its end."""

    def __init__(self, store: EngineStore, request: Mapping[str, Any], identities: Sequence[Identity]) -> None:
        self._store = store
        self._request = request
        self._written: dict[int, list[Write]] = {}
        self.identities = frozenset(identities)

    @cached_property
    def _decided(self) -> Transaction | ClientError:
        try:
            return self._store.engine.begin(**self._request)
        except ClientError as error:
            return error

    def _left(self) -> list[int]:
        return [] if isinstance(self._decided, ClientError) else self._decided.left

    @property
    def is_halfway(self) -> bool:
        """Whether some items are written and some are not."""
        return bool(self._written and self._left())

    def _write(self, places: Sequence[int]) -> None:
        """Write the items of those of some actions that are left."""
        for place in places:
            if not isinstance(self._decided, ClientError) and place in self._decided.left:
                self._decided.write(place)
                self._written[place] = self._store.writes()

    def write_some(self, rng: Random) -> None:
        """Write any number of the items that are left, in random order."""
        left = self._left()
        self._write(rng.sample(left, rng.randint(0, len(left))))

    def spread(self, rng: Random, clock: Clockwork, end: int) -> None:
        """Decide now, and write each item at one of a few random instants before the end."""
        instants = [rng.randint(clock.now, end - 1) for _ in range(rng.randint(1, 5))]
        places: dict[int, list[int]] = {}
        for place in self._left():
            places.setdefault(rng.choice(instants), []).append(place)
        for instant, some in places.items():
            clock.at(instant, self._write, some)

    def finish(self) -> Any:
        """Write the items that are left; return the answer or the error. The store then tells of all writes at once."""
        self._write(self._left())
        if isinstance(self._decided, ClientError):
            return self._decided
        self._decided.finish()
        self._store.tell(write for _, writes in sorted(self._written.items()) for write in writes)
        return {}
