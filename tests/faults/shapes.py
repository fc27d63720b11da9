"""Random board definitions, each as the text of a `boards.toml` and as a model for the judge."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from tests.support.oracle.model import BoardModel, Calendar, Metric

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

LEAGUE = "league"
CLANS = "clans"
CUP = "cup"
"""A board that only the later definition has."""
NARROW = "last-2-days"


@dataclass(frozen=True)
class Family:
    """One family of `boards.toml`, which here is one board."""

    name: str
    metrics: Mapping[str, Metric]
    timezone: str = "UTC"
    late: str = "1 day"
    keep: str = "1 day"
    registered: bool = False
    shards: int = 1

    def text(self) -> str:
        """Return the family as TOML."""
        lines = [
            f'[boards."{self.name}"]',
            f'timezone = "{self.timezone}"',
            f'late = "{self.late}"',
            f'keep = "{self.keep}"',
            f"shards = {self.shards}",
            f'members = "{"registered" if self.registered else "open"}"',
        ]
        for name, metric in self.metrics.items():
            windows = ", ".join(f'"{window}"' for window in metric.windows)
            order = "descending" if metric.descending else "ascending"
            lines.append(
                f'metrics.{name} = {{ aggregate = "{metric.aggregate}", order = "{order}", '
                f'ties = "{metric.ties}", windows = [{windows}]{", notes = true" if metric.notes else ""} }}'
            )
        return "\n".join(lines)

    def with_rolling(self, window: str) -> Family:
        """Return the family with another rolling window in place of `NARROW`."""
        metrics = {
            name: replace(metric, windows=tuple(window if each == NARROW else each for each in metric.windows))
            for name, metric in self.metrics.items()
        }
        return replace(self, metrics=metrics)

    @property
    def ranked(self) -> set[tuple[str, str]]:
        """Pairs of a metric and a window in which it is ranked."""
        return {(name, window) for name, metric in self.metrics.items() for window in metric.windows}

    def model(self) -> BoardModel:
        """Return an empty model of the board."""
        zone = UTC if self.timezone == "UTC" else ZoneInfo(self.timezone)
        return BoardModel(self.metrics, Calendar(zone, 0, _span(self.late), _span(self.keep)), self.registered)


@dataclass(frozen=True)
class Shape:
    """The boards of a schedule. `later` holds them after a deployment; it is empty if there is no deployment."""

    families: tuple[Family, ...]
    later: tuple[Family, ...] = field(default=())
    width: float = 0
    """A number from 0 to 1 that decides how wide the rolling window may be."""

    def wider(self, fault_rate: float) -> Shape:
        """Return the shape with a wider rolling window, for some shapes.

        A change of a wider window takes more calls. If too many fail, no batch ever comes to its end.
        """
        if self.width > 0.85 and fault_rate <= 0.05:
            return self._with("last-30-days")
        return self._with("last-7-days") if self.width > 0.7 and fault_rate <= 0.1 else self

    def _with(self, window: str) -> Shape:
        families, later = (
            tuple(family.with_rolling(window) for family in some) for some in (self.families, self.later)
        )
        return replace(self, families=families, later=later)

    @property
    def text(self) -> str:
        return "\n".join(family.text() for family in self.families) + "\n"

    @property
    def later_text(self) -> str:
        return "\n".join(family.text() for family in self.later or self.families) + "\n"

    @property
    def all_families(self) -> tuple[Family, ...]:
        """The families of the first definition, then those that only the later one has."""
        names = {family.name for family in self.families}
        return (*self.families, *(family for family in self.later if family.name not in names))

    def common(self, board: str) -> set[tuple[str, str]]:
        """Return the pairs of metric and window that every definition of a board ranks."""
        ranked = [
            family.ranked for families in (self.families, self.later) for family in families if family.name == board
        ]
        return set.intersection(*ranked)


def shape(rng: Random, *, changed: bool) -> Shape:
    """Draw boards. Each league has a calendar and a rolling window; other features are drawn at random."""
    width = rng.random()
    hours = width < 0.2
    windows = ("all", "hour", "last-2-hours") if hours else ("all", "day", NARROW)
    points = Metric("sum", windows=windows, ties=rng.choice(["member", "member", "first"]))
    metrics = {"points": points}
    other = rng.choice(["", "", "best", "latest", "unranked"])
    if other == "best":
        best = rng.choice(["max", "min"])
        metrics["best"] = Metric(
            best, windows=("all", windows[1]), descending=best == "max", ties=rng.choice(["member", "first"])
        )
    elif other == "latest":
        metrics["latest"] = Metric("last", windows=("all",))
    elif other == "unranked":
        metrics["runs"] = Metric("sum", windows=())
    zone = rng.choice(["Europe/Berlin", "UTC"])
    league = Family(
        LEAGUE,
        metrics,
        zone,
        late="30 minutes" if hours else rng.choice(["2 hours", "1 day"]),
        keep="30 minutes" if hours else rng.choice(["1 day", "36 hours"]),
        registered=rng.random() < 0.2,
        shards=rng.choice([1, 1, 1, 2]),
    )
    clans = Family(CLANS, {"points": Metric("sum", windows=("all", "day") if rng.random() < 0.4 else ("all",))}, zone)
    if not changed:
        return Shape((league, clans), width=width)
    added = rng.choice(["last-3-days", "week", "day", "month"])
    wider = {
        name: replace(metric, windows=(*metric.windows, added))
        if added not in metric.windows and metric.windows
        else metric
        for name, metric in metrics.items()
    }
    if rng.random() < 0.5:
        wider["extra"] = Metric("sum", windows=("all", "day"))
    if rng.random() < 0.3 and not hours:
        wider["points"] = replace(wider["points"], windows=tuple(w for w in wider["points"].windows if w != NARROW))
    later = [replace(league, metrics=wider), clans]
    if rng.random() < 0.6:
        later.append(Family(CUP, {"points": Metric("sum", windows=("all", "day"))}, zone))
    return Shape((league, clans), tuple(later), width)


def _span(text: str) -> timedelta:
    number, unit = text.split()
    return timedelta(**{unit if unit.endswith("s") else f"{unit}s": int(number)})
