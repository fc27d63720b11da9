"""Corrupts rolling windows in every way that an audit names: members' rows and the list."""

from typing import Any, NamedTuple

from standings.aws.dynamodb.keys import entry_key, index_key, shard_of
from standings.aws.dynamodb.rankings.rolling_items import decode_steps, encode_steps, list_key
from standings.domain.rolling.rolling_rankings import RollingRankings, rolling_of
from standings.domain.rolling.steps import Step, Steps
from standings.domain.scoring.sort_order import Place, decode_sort_key, sort_key
from standings.domain.tiers.tier_path import path, prefixes
from tests.support.builders.audit.auditing import SCORES
from tests.support.builders.audit.corrupting import Corrupting
from tests.support.builders.audit.counters import NOW, UNREADABLE, add_to_counter
from tests.support.builders.checks import rows

Item = dict[str, Any]


class Row(NamedTuple):
    """A member's row in a rolling window, and the first period that can be read."""

    rankings: RollingRankings
    low: int
    member: str
    item: Item
    steps: Steps

    @property
    def shown(self) -> list[Step]:
        """The steps that can be read."""
        return [step for step in self.steps.steps if step.until > self.low]

    def first(self, step: Step) -> int:
        """The first period of a step that can be read."""
        return max(self.low, step.first)


class WindowCorruption(Corrupting):
    """Corrupts rows of rolling windows, and items of the list."""

    def windows(self) -> list[tuple[RollingRankings, list[int]]]:
        """The rolling windows, each with its periods that can be read."""
        periods: dict[RollingRankings, list[int]] = {}
        for ranking in self._audited.rankings():
            if ranking.window.rolling:
                periods.setdefault(rolling_of(ranking), []).append(ranking.period)
        return [(rankings, sorted(found)) for rankings, found in periods.items()]

    def _items(self) -> dict[str, Item]:
        return {row["pk"]["S"]: row for row in rows(self._audited.engine, "Rankings")}

    def _row(self, *, shown: bool = True) -> Row | None:
        """A row that is not corrupted yet, with or without steps that can be read."""
        found = []
        for rankings, periods in self.windows():
            prefix = entry_key(rankings.key, "")
            for key, item in self._items().items():
                member = key.removeprefix(prefix)
                if key.startswith(f"{prefix}m") and (rankings.key, member) not in self._touched:
                    row = Row(rankings, periods[0], member, item, decode_steps(item["p"]["S"]))
                    found += [row] if bool(row.shown) is shown else []
        if not found:
            return None
        chosen = self._rng.choice(found)
        self._touched.add((chosen.rankings.key, chosen.member))
        return chosen

    def _listed(self) -> tuple[Row, Step, Item] | None:
        """An item of the list that is not corrupted yet, with its row and step."""
        row = self._row()
        if row is None:
            return None
        step = self._rng.choice(row.shown)
        return row, step, self._items()[entry_key(row.rankings.at(step.first).key, row.member)]

    def _delete(self, item: Item) -> None:
        self._audited.engine.delete_item(TableName="Rankings", Key={"pk": item["pk"]})

    def _put_steps(self, row: Row, *steps: Step) -> None:
        self._put({**row.item, "p": {"S": encode_steps(Steps(row.steps.low, steps))}})

    def _expect(self, kind: str, row: Row, period: int) -> None:
        self.expected.add((kind, row.rankings.at(period).key, row.member))

    def _row_deleted(self) -> None:
        if row := self._row():
            self._delete(row.item)
            self._expect("missing", row, row.first(row.shown[0]))

    def _step_dropped(self) -> None:
        if row := self._row():
            dropped = self._rng.choice(row.shown)
            self._put_steps(row, *(step for step in row.steps.steps if step != dropped))
            self._expect("missing", row, row.first(dropped))

    def _step_moved(self) -> None:
        if row := self._row():
            moved = self._rng.choice(row.shown)
            place = moved.place._replace(sort_value=moved.place.sort_value + self._rng.choice([-200, -1, 1, 5]))
            other = moved._replace(place=place)
            self._put_steps(row, *(other if step == moved else step for step in row.steps.steps))
            self._expect("wrong", row, row.first(moved))

    def _step_added(self) -> None:
        if row := self._row():
            end = row.steps.steps[-1].until
            self._put_steps(row, *row.steps.steps, Step(end, end + 1, self._place(row.rankings)))
            self._expect("phantom", row, end)

    def _row_damaged(self) -> None:
        if row := self._row():
            self._put({**row.item, "p": {"S": self._rng.choice(["", "[", "[1,2]", '[0,["a",1,1]]', '[0,[0,1,"a"]]'])}})
            self._expect("wrong", row, row.first(row.shown[0]))

    def _row_future(self) -> None:
        if row := self._row():
            self._put({**row.item, "v": {"N": str(int(row.item["v"]["N"]) + self._rng.choice([1, 10**9]))}})
            self._expect("version", row, row.low)

    def _steps_unhidden(self) -> None:
        """Give a hidden or removed member, or one without recent events, steps again."""
        if row := self._row(shown=False):
            self._put_steps(row, Step(row.low, row.low + 2, self._place(row.rankings)))
            self._expect("phantom", row, row.low)

    def _unlisted(self) -> None:
        if chosen := self._listed():
            row, step, item = chosen
            if self._rng.random() < 0.5:
                self._delete(item)
            else:
                self._put({name: value for name, value in item.items() if name not in "rst"})
            self._expect("listed", row, step.first)

    def _relisted(self) -> None:
        if chosen := self._listed():
            row, step, item = chosen
            ties = row.rankings.metric.ties_by_instant
            place, _ = decode_sort_key(item["s"]["S"], ties_by_instant=ties)
            other = place._replace(sort_value=place.sort_value + self._rng.choice([-200, -1, 1, 5]))
            self._put({**item, "s": {"S": sort_key(other, row.member)}})
            self._expect("listed", row, step.first)

    def _stretched(self) -> None:
        """Let an item of the list end elsewhere."""
        if chosen := self._listed():
            row, step, item = chosen
            periods = int(item["t"]["N"])
            self._put({**item, "t": {"N": str(periods + self._rng.choice([-1, 1]))}})
            self._expect("listed", row, step.first)

    def _garbled(self) -> None:
        if chosen := self._listed():
            row, step, item = chosen
            name, value = self._rng.choice([("s", {"S": self._rng.choice(UNREADABLE)}), ("t", {"S": "1"})])
            self._put({**item, name: value})
            self._expect("listed", row, step.first)

    def _listed_elsewhere(self) -> None:
        """Move an item of the list to a wrong shard, in use or not."""
        if chosen := self._listed():
            row, step, item = chosen
            homes = {0, shard_of(row.member, row.rankings.metric.shards)}
            shard = self._rng.choice([shard for shard in (0, 1, 2, 9) if shard not in homes])
            self._put({**item, "r": {"S": index_key(list_key(row.rankings, step.first), shard)}})
            self._expect("misplaced", row, step.first)

    def _listed_in_future(self) -> None:
        if chosen := self._listed():
            row, step, item = chosen
            self._put({**item, "v": {"N": str(int(row.item["v"]["N"]) + 10**9)}})
            self._expect("listed", row, step.first)

    def _surplus(self) -> None:
        """Add an item to the list that no step leads to."""
        if row := self._row():
            (periods,) = (periods for rankings, periods in self.windows() if rankings == row.rankings)
            free = [period for period in periods if period not in {step.first for step in row.steps.steps}]
            period = self._rng.choice(free)
            until = period + self._rng.randint(1, 3)
            self._list(row.rankings, row.member, Step(period, until, self._place(row.rankings)))
            self._expect("listed", row, period)

    def _ghost_listed(self, *, placed: bool = False) -> None:
        """Add an item of a member that has no item to the list, with or without a row; counted or not."""
        rankings, periods = self._rng.choice(self.windows())
        self._made += 1
        member = f"ghost-{self._made}"
        step = Step(period := self._rng.choice(periods), period + 1, self._place(rankings))
        self._list(rankings, member, step)
        if self._rng.random() < 0.5:
            for node in prefixes(path(step.place.sort_value)):
                digit = path(step.place.sort_value)[len(node)]
                add_to_counter(self._audited.engine, rankings.at(period), node, digit, 1)
        if placed:
            row = {"pk": {"S": entry_key(rankings.key, member)}, "v": {"N": "1"}, "t": {"N": str(NOW)}}
            self._put({**row, "p": {"S": encode_steps(Steps(period, (step,)))}})
        self.expected.add(("phantom" if placed else "listed", rankings.at(period).key, member))

    def _ghost_placed(self) -> None:
        self._ghost_listed(placed=True)

    def _list(self, rankings: RollingRankings, member: str, step: Step) -> None:
        self._put(
            {
                "pk": {"S": entry_key(rankings.at(step.first).key, member)},
                "v": {"N": "1"},
                "r": {"S": index_key(list_key(rankings, step.first), shard_of(member, rankings.metric.shards))},
                "s": {"S": sort_key(step.place, member)},
                "t": {"N": str(step.until - step.first)},
            }
        )

    def _place(self, rankings: RollingRankings) -> Place:
        return Place(self._rng.choice(SCORES), NOW if rankings.metric.ties_by_instant else None)
