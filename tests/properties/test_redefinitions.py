"""Definitions and seasons that change and change back, two at work at once, rebuilds: what can be read is right."""

import random
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from tests.support.aws.stack import project
from tests.support.builders.redefining import TRAPS, Deployments, live, one_clock
from tests.support.oracle.model import BoardModel, Calendar, Metric, Season
from tests.support.thoroughness import assert_all_met, seeds, thorough_seeds

SEEDS: Final = (5, 25)


@pytest.mark.parametrize("seed", seeds(*SEEDS))
def test_what_can_be_read_is_right_whatever_definitions_there_were(
    seed: int, monkeypatch: pytest.MonkeyPatch, shared_folder: Path
) -> None:
    history = live(seed, monkeypatch)
    assert history.read > 5  # it is not all refused
    assert_all_met(shared_folder, "redefinitions", seed, thorough_seeds(*SEEDS), history.met, TRAPS)


FIRST_DAY = date(2026, 10, 1)
START = datetime(2026, 10, 1, 22, tzinfo=UTC)
LATE = timedelta(days=2)
KEEP = timedelta(days=5)
CLOCKS = timedelta(minutes=15)
"""How long before a season begins the last function that does not know it must have been at work."""
Deployed = tuple[Season, ...]


def drawn(rng: random.Random) -> Deployed:
    """Seasons of some days, with and without gaps."""
    day, seasons = FIRST_DAY + timedelta(days=rng.randint(0, 3)), []
    for _ in range(rng.randint(4, 12)):
        ends = day + timedelta(days=rng.randint(1, 4))
        seasons.append(Season(rng.choice("abcde") + f"-{day:%m%d}", day, ends))
        day = ends + timedelta(days=rng.choice([0, 0, 1, 3]))
    return tuple(seasons)


@dataclass
class SeasonHistory(Deployments):
    """Deployments of other seasons. It keeps all events, and which seasons functions knew that were at work."""

    events: list[tuple[datetime, datetime, str, int]] = field(default_factory=list)
    at_work: list[tuple[datetime, Deployed]] = field(default_factory=list)
    must: int = 0
    """How many seasons could have been read but for changes."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.plan = drawn(self.rng)
        self.before = self.seasons = self.plan[:2]
        self.deployed()
        self.event()

    def deployed(self) -> None:
        seasons = ", ".join(f'{{ name = "{s.name}", starts = "{s.starts}", ends = "{s.ends}" }}' for s in self.seasons)
        self.start(
            f'[boards."b"]\nlate = "{LATE.days} days"\nkeep = "{KEEP.days} days"\nseasons = [{seasons}]\n'
            'metrics.points = { aggregate = "sum", windows = ["all", "season"] }\n'
        )

    def deploy(self) -> None:
        """Add seasons that are to come, or now and then take others."""
        self.before = self.seasons
        if self.rng.random() < 0.7:
            known = {season.starts for season in self.seasons}
            ends = max(season.ends for season in self.seasons)
            added = [season for season in self.plan if season.starts >= ends and season.starts not in known]
            self.seasons = (*self.seasons, *added[: self.rng.randint(1, 2)])
        else:
            self.plan = drawn(self.rng)
            self.seasons = self.plan[: self.rng.randint(1, len(self.plan))]
        self.deployed()

    def event(self) -> None:
        """One event, by functions of either definition while both are there."""
        stack = self.one_at_work()
        at = self.now - timedelta(minutes=self.rng.choice([0, 0, -4, 10, 300, 30 * 60, 60 * 60, 90 * 60]))
        member, points = f"m{self.rng.randrange(4)}", self.rng.choice([0, 1, 5, 130])
        self.post(stack, member, at, points=points)
        self.events.append((at, self.now, member, points))
        project(stack)
        self.at_work.append((self.now, self.before if stack is self.old else self.seasons))

    def check(self) -> None:
        """Every season that can be read is what a sort says, and one that was known whenever it ran can be read."""
        self.clock.milliseconds += 61_000  # whatever is remembered of boards is asked again
        model = BoardModel({"points": Metric()}, Calendar(late=LATE, keep=KEEP, seasons=self.seasons))
        for number, (at, now, member, points) in enumerate(self.events):
            model.count(str(number), member, at, {"points": points}, now)
        for season in self.seasons:
            status, page = self.stack.get("/boards/b/points/season", period=season.name, limit=1000)
            begins = model.calendar.start(season.starts)
            if self.now < begins:
                assert (status, page["type"]) in {
                    (400, "urn:standings:bad-argument"),
                    (404, "urn:standings:no-season-yet"),
                }
                continue
            readable = model.calendar.is_readable("season", begins, self.now)
            if status == 200:
                assert readable, season
                found = [(line["rank"], line["member"], line["score"]) for line in page["entries"]]
                assert found == [line[:3] for line in model.listing("points", "season", begins).lines()], season
                assert page["period"]["name"] == season.name
            else:
                assert page["type"].rpartition(":")[2] == ("not-built" if readable else "period-gone"), page
                missed = [when for when, known in self.at_work if season not in known]
                assert not readable or (missed and (missed[-1] + CLOCKS).date() >= season.starts), season
            self.must += readable


@pytest.mark.parametrize("seed", seeds(5, 40))
def test_seasons_that_can_be_read_are_right_and_those_added_in_time_can_be(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with one_clock(START, monkeypatch) as (stacks, clock):
        history = SeasonHistory(seed, stacks, clock)
        for _ in range(20):
            if history.rng.random() < 0.35:
                history.deploy()
            if history.rng.random() < 0.7:  # At other times nobody is active.
                for _ in range(history.rng.randint(1, 5)):
                    history.event()
            history.old = None
            if history.rng.random() < 0.1:
                history.rebuild(history.event)
                history.at_work.append((history.now, history.seasons))
            history.check()
            clock.milliseconds += history.rng.choice([1, 7, 20, 33, 60]) * 3_600_000
        assert history.must > 5
