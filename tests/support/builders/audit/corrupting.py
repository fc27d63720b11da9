"""Corrupts rankings in every way that an audit names: rows of rankings that are not rolling, and tiers of all."""

from typing import Any

from standings.aws.dynamodb.keys import entry_key, index_key, node_key, shard_of
from standings.domain.boards.definitions import Ranking
from standings.domain.scoring.sort_order import Place, decode_sort_key, sort_key
from standings.domain.tiers.tier_path import path, prefixes
from tests.support.builders.audit.auditing import SCORES, Audited
from tests.support.builders.audit.counters import NOW, UNREADABLE, Finding, add_to_counter, nodes_of
from tests.support.builders.checks import rows


class Corrupting:
    """Corrupts what is audited; `expected` holds how an audit must name each thing that is corrupted."""

    def __init__(self, audited: Audited) -> None:
        self._audited = audited
        self._rng = audited.rng
        self.expected: set[Finding] = set()
        self._touched: set[tuple[str, str]] = set()
        self._made = 0

    def corrupt(self, kind: str) -> None:
        getattr(self, f"_{kind}")()

    def _put(self, item: dict[str, Any]) -> None:
        self._audited.engine.put_item(TableName="Rankings", Item=item)


class Corruption(Corrupting):
    """Corrupts rows of rankings, and tiers."""

    def _rankings(self) -> list[Ranking]:
        """The rankings that have a row for each member."""
        return [ranking for ranking in self._audited.rankings() if not ranking.window.rolling]

    def _entry(self) -> tuple[Ranking, str, dict[str, Any]] | None:
        """An entry that is not corrupted yet."""
        found = []
        for ranking in self._rankings():
            prefix = entry_key(ranking.key, "")
            for row in rows(self._audited.engine, "Rankings"):
                key = row["pk"]["S"]
                if key.startswith(f"{prefix}m") and "s" in row and (ranking.key, key) not in self._touched:
                    found.append((ranking, key.removeprefix(prefix), row))
        if not found:
            return None
        chosen = self._rng.choice(found)
        self._touched.add((chosen[0].key, chosen[2]["pk"]["S"]))
        return chosen

    def _expect(self, kind: str, ranking: Ranking, member: str) -> None:
        self.expected.add((kind, ranking.key, member))

    def _deleted(self) -> None:
        if chosen := self._entry():
            ranking, member, row = chosen
            self._audited.engine.delete_item(TableName="Rankings", Key={"pk": row["pk"]})
            self._expect("missing", ranking, member)

    def _emptied(self) -> None:
        if chosen := self._entry():
            ranking, member, row = chosen
            self._put({name: value for name, value in row.items() if name not in "rs"})
            self._expect("missing", ranking, member)

    def _moved(self) -> None:
        if chosen := self._entry():
            ranking, member, row = chosen
            there, _ = decode_sort_key(row["s"]["S"], ties_by_instant=ranking.metric.ties_by_instant)
            other = there._replace(sort_value=there.sort_value + self._rng.choice([-200, -1, 1, 5]))
            if there.since is not None and self._rng.random() < 0.5:
                other = there._replace(since=there.since + 1)
            self._put({**row, "s": {"S": sort_key(other, member)}})
            self._expect("wrong", ranking, member)

    def _unreadable(self) -> None:
        if chosen := self._entry():
            ranking, member, row = chosen
            self._put({**row, "s": {"S": self._rng.choice(UNREADABLE)}})
            self._expect("wrong", ranking, member)

    def _elsewhere(self) -> None:
        """Move an entry to a wrong shard, in use or not."""
        if chosen := self._entry():
            ranking, member, row = chosen
            homes = {0, shard_of(member, ranking.metric.shards)}
            shard = self._rng.choice([shard for shard in (0, 1, 2, 9) if shard not in homes])
            self._put({**row, "r": {"S": index_key(ranking.key, shard)}})
            self._expect("misplaced", ranking, member)

    def _future(self) -> None:
        if chosen := self._entry():
            ranking, member, row = chosen
            self._put({**row, "v": {"N": str(int(row["v"]["N"]) + self._rng.choice([1, 10**9]))}})
            self._expect("version", ranking, member)

    def _ghost(self) -> None:
        """Add an entry of a member that has no item; counted or not."""
        ranking = self._rng.choice(self._rankings())
        self._made += 1
        member = f"ghost-{self._made}"
        sort_value = self._rng.choice(SCORES)
        there = Place(sort_value, NOW if ranking.metric.ties_by_instant else None)
        shard = shard_of(member, ranking.metric.shards)
        row = {
            "pk": {"S": entry_key(ranking.key, member)},
            "v": {"N": "1"},
            "t": {"N": str(NOW)},
            "r": {"S": index_key(ranking.key, shard)},
            "s": {"S": sort_key(there, member)},
        }
        self._put(row)
        if self._rng.random() < 0.5:
            for node in prefixes(path(sort_value)):
                add_to_counter(self._audited.engine, ranking, node, path(sort_value)[len(node)], 1)
        self._expect("phantom", ranking, member)

    def _unhidden(self) -> None:
        """Give a hidden or removed member an entry again."""
        found = []
        for ranking in self._rankings():
            prefix = entry_key(ranking.key, "")
            found += [
                (ranking, row)
                for row in rows(self._audited.engine, "Rankings")
                if row["pk"]["S"].startswith(prefix)
                and row["pk"]["S"].startswith(f"{prefix}m")
                and "s" not in row
                and (ranking.key, row["pk"]["S"]) not in self._touched
            ]
        if found:
            ranking, row = self._rng.choice(found)
            self._touched.add((ranking.key, row["pk"]["S"]))
            member = row["pk"]["S"].removeprefix(entry_key(ranking.key, ""))
            there = Place(self._rng.choice(SCORES), NOW if ranking.metric.ties_by_instant else None)
            shard = shard_of(member, ranking.metric.shards)
            self._put({**row, "r": {"S": index_key(ranking.key, shard)}, "s": {"S": sort_key(there, member)}})
            self._expect("phantom", ranking, member)

    def _counter(self) -> None:
        """Change a counter of the root, an inner node or a leaf."""
        ranking = self._rng.choice(self._audited.rankings())
        nodes = [way for way, counters in nodes_of(self._audited.engine, ranking).items() if counters]
        if nodes:
            node = self._rng.choice(nodes)
            digit = self._rng.choice(sorted(nodes_of(self._audited.engine, ranking)[node]))
            add_to_counter(self._audited.engine, ranking, node, digit, self._rng.choice([-2, -1, 1, 1, 40]))

    def _lost(self) -> None:
        """Delete a node."""
        ranking = self._rng.choice(self._audited.rankings())
        nodes = [way for way, counters in nodes_of(self._audited.engine, ranking).items() if any(counters.values())]
        if nodes:
            key = {"pk": {"S": node_key(ranking.key, self._rng.choice(nodes))}}
            self._audited.engine.delete_item(TableName="Rankings", Key=key)

    def _stray(self) -> None:
        """Add a node with members below a counter of 0."""
        ranking = self._rng.choice(self._audited.rankings())
        sort_value = self._rng.choice([40_000, -40_000, 77, 5_000_000])
        way = path(sort_value)
        length = self._rng.randrange(1, len(way))
        for node in prefixes(way[: length + 1]):
            add_to_counter(self._audited.engine, ranking, node, way[len(node)], 3 if len(node) == length else 0)
