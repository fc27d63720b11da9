"""Schedules written by hand for safeguards that random schedules rarely need. Each fails without its safeguard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from . import boards, cleaning, dying, outages, projecting, replaying, rolling, seasons, writing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

WRITTEN: Final[Mapping[str, Callable[[], None]]] = {
    schedule.__name__: schedule
    for stage in (writing, projecting, rolling, dying, replaying, boards, seasons, cleaning, outages)
    for schedule in stage.SCHEDULES
} | {f"definitions_{seed}": boards.definitions(seed) for seed in (0, 3)}
