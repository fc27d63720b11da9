"""Schedules of seasons."""

from __future__ import annotations

from typing import Final

from standings.domain.windows.calendar import DAY, MINUTE, SECOND

from .rig import NOW, rig

AUTUMN: Final = '{ name = "autumn", starts = "2026-11-01", ends = "2026-11-23" }'
ADVENT: Final = '{ name = "advent", starts = "2026-11-23", ends = "2026-12-20" }'
ADVENT_BEGINS: Final = NOW - 15 * MINUTE + DAY
"""In milliseconds: a day begins at 10:00 UTC where clocks are 14 hours ahead of it."""


def _boards(*seasons: str) -> str:
    return (
        f'[boards."*"]\ntimezone = "Etc/GMT-14"\nseasons = [{", ".join(seasons)}]\n'
        'metrics.points = { aggregate = "sum", windows = ["all", "season"] }\n'
    )


def a_season_that_old_functions_do_not_know() -> None:
    """A season is added a minute before it begins. A writer that does not know it counts its first event.

    The writer has read the board's record before that. A projector dies on the way.
    """
    with rig() as pipeline:
        old, new = pipeline.functions(_boards(AUTUMN)), pipeline.functions(_boards(AUTUMN, ADVENT))
        pipeline.clock.milliseconds = ADVENT_BEGINS - 30 * SECOND
        pipeline.send(old, "a", 5)
        pipeline.send(new, "a", 1)
        pipeline.clock.milliseconds = ADVENT_BEGINS + 10 * SECOND
        pipeline.send(old, "b", 3, at=NOW + DAY)
        pipeline.send(new, "b", 4, at=NOW + DAY)
        records = pipeline.records()
        pipeline.project_halfway(old, *records)
        pipeline.project(new, *records)
        reader = pipeline.functions(_boards(AUTUMN, ADVENT))
        assert pipeline.scores(reader) == {"a": 6, "b": 7}
        assert pipeline.scores(reader, "season", "autumn") == {"a": 6}
        assert reader.get("/boards/b/points/season")[1].get("type") == "urn:standings:not-built"


SCHEDULES: Final = (a_season_that_old_functions_do_not_know,)
