"""Boards that keep notes, and events that bring them."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import orjson

from tests.faults.judge import Sent
from tests.faults.shapes import LEAGUE, NARROW, Family, Shape
from tests.support.oracle.model import Metric

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

Updates = dict[tuple[str, str], dict[str, int]]


def with_notes(shape: Shape) -> Shape:
    """Return a shape whose league has metrics that keep notes, of each aggregate that can."""
    return replace(
        shape,
        families=tuple(map(_with_notes, shape.families)),
        later=tuple(map(_with_notes, shape.later)),
    )


def _with_notes(family: Family) -> Family:
    if family.name != LEAGUE:
        return family
    rolling = (NARROW,) if "day" in family.metrics["points"].windows else ()
    noted = {
        "best": Metric("max", windows=("all", "day", *rolling), ties="first", notes=True),
        "worst": Metric("min", windows=("all", "day"), descending=False, notes=True),
        "latest": Metric("last", windows=("all", "day"), notes=True),
    }
    return replace(family, metrics={**family.metrics, **noted})


class Notes:
    """Draws the notes of one schedule's events."""

    def __init__(self, shape: Shape, seed: int) -> None:
        self._rng = Random(f"notes {seed}")
        (league,) = (family for family in shape.families if family.name == LEAGUE)
        self._noted = {name for name, metric in league.metrics.items() if metric.notes}

    def sent(self, event_id: str, at: datetime, updates: Updates, *, good: bool) -> Sent:
        """Return an event with its body, with notes where a metric keeps them.

        Where there are notes, many events have the same `at`, so that the id decides which of equals keeps its note.
        """
        if self._noted:
            at = at.replace(second=at.second // 10 * 10, microsecond=0)
        notes = self._drawn(updates)
        shares = [
            {
                "board": board,
                "member": member,
                "metrics": amounts,
                **({"note": notes[board, member]} if (board, member) in notes else {}),
            }
            for (board, member), amounts in updates.items()
        ]
        content = shares[0] if len(shares) == 1 else {"updates": shares}
        text = orjson.dumps({"id": event_id, "at": at.isoformat(), **content}).decode()
        return Sent(event_id, text, at, updates, good, notes)

    def _drawn(self, updates: Updates) -> Mapping[tuple[str, str], Any]:
        """Draw a note for most of the updates that have a metric that keeps one."""
        keeping = [key for key, amounts in updates.items() if key[0] == LEAGUE and self._noted & amounts.keys()]
        return {key: {"n": self._rng.randint(0, 10**6)} for key in keeping if self._rng.random() < 0.8}
