"""Watch the reads and writes of the tables, and record the traps that they meet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from standings.aws.dynamodb.keys import BOARDS, board_of
from tests.faults.aws.stream import Batch
from tests.faults.clockwork import SECOND
from tests.faults.judge import Edit
from tests.support.dynamodb.items import encode_item

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.faults.aws.calls import Call
    from tests.faults.aws.tables import Write
    from tests.faults.clockwork import Process

    from .world import World

STALE: Final = 2 * SECOND
"""How old an eventually consistent read can be at most, in microseconds."""


class Watch:
    """Passes commits to the judge and the poller, and records traps."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._expired: set[tuple[str, str]] = set()
        self._definitions: dict[tuple[str, str], str] = {}
        self._stale: dict[tuple[str, str], tuple[int, Any]] = {}

    def expired(self, key: tuple[str, str]) -> None:
        """Take note that TTL has deleted a member's item."""
        self._world.trap("REMOVE record")
        self._expired.add(key)

    def met(self, call: Call, others: Sequence[Call]) -> None:
        """Record the traps of a transaction that conflicts with others."""
        kinds = {call.process.kind, *(other.process.kind for other in others)}
        if kinds == {"writer"}:
            self._world.trap("writers meet on an item")
        elif kinds == {"projector"}:
            self._world.trap("projectors meet on an item")

    def committed(self, call: Call, writes: Sequence[Write]) -> None:
        """Pass the writes of a call to the judge and the poller."""
        process = call.process
        self._world.judge.projected(writes)
        if process.kind == "writer":
            self._world.judge.committed(call, writes, process.detail.events)
        for table, old, new in writes:
            if table == "Rankings":
                self._record_ranking_traps(process, new)
            elif table == "Scores" and (item := new or old) is not None and item["pk"] != BOARDS:
                self._edited(process, item, new)
                self._record_item_traps(call, (item["pk"], item["sk"]), old, new)
        if any(table == "Scores" for table, _, _ in writes):
            self._world.poller.take(self._world.store.stream)

    def _edited(self, process: Process, item: Any, new: Any) -> None:
        """Pass a member's change by an administrator or by the deletion of its board to the judge."""
        if process.kind == "care":
            self._world.judge.edited(process.detail)
        elif process.kind == "maintenance" and new is not None and "x" in new:
            self._world.judge.edited(Edit(board_of(item["pk"]), item["sk"], remove=True))

    def _record_ranking_traps(self, process: Process, new: Any) -> None:
        """Record the traps that a write to Rankings meets."""
        if isinstance(process.detail, Batch):
            process.detail.commits += 1
            if new is None:
                self._world.trap("cleaned")
        if new is not None and "+" in new["pk"] and "s" not in new:
            self._world.trap("another lane")

    def _record_item_traps(self, call: Call, key: tuple[str, str], old: Any, new: Any) -> None:
        """Record the traps that a write of a member's item meets."""
        process = call.process
        self._stale[key] = self._world.clock.now, old
        if new is None:
            return
        if old is not None:
            if new["t"] > call.reading:
                self._world.trap("clocks: the item's stamp is ahead of the writer's")
            if "x" not in new and not old.keys() <= new.keys() | {"x", "e", "h"}:
                self._world.trap("trimmed")
            if "x" in old and "x" not in new:
                self._world.trap("removed and back" + (" within seconds" if new["t"] - old["t"] < 60_000 else ""))
        elif key in self._expired:
            self._expired.discard(key)
            self._world.trap("removed and back after its item has expired")
        definition = process.name.partition("/")[2]
        if self._definitions.setdefault(key, definition) != definition:
            self._world.trap("definition changed between two images")
        self._definitions[key] = definition

    def make_stale(self, answer: Any) -> None:
        """Replace some items in the answer of an eventually consistent read by their old images."""
        items = answer["Responses"].get("Scores")
        if not items:
            return
        returned = []
        for item in items:
            at, old = self._stale.get((item["pk"]["S"], item["sk"]["S"]), (0, None))
            if self._world.clock.now - at < STALE and self._world.rng.random() < 0.3:
                self._world.trap("stale read")
                if old is not None:
                    returned.append(encode_item(old))
            else:
                returned.append(item)
        answer["Responses"]["Scores"] = returned
