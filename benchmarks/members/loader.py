"""Loads members with their histories into a board: every window at once, with the product's own builders of items."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from benchmarks.harness.population import Tree, entry, expiry_of, member, nodes
from benchmarks.members.histories import Histories
from standings.aws.dynamodb.rolling import EXPIRY_MARGIN, list_item, row_item
from standings.aws.dynamodb.scores import encode_image
from standings.aws.dynamodb.tables import log_key
from standings.domain.boards import Metric, Ranking
from standings.domain.members import Image, Move, place
from standings.domain.rolling import LogEntry, RollingRankings, encode_entry, steps_of
from standings.domain.tiers import Path, path, prefixes
from standings.domain.windows import MINUTE, SECOND, Window
from standings.stores import ListItem, RollingRow, RowChange
from tests.support.dynamodb.engine import Engine

BEFORE: Final = MINUTE
"""How long ago the loaded members were written."""
Item = dict[str, Any]


class Loader:
    """Loads a board as it is at an instant. The counts are those of all members; rows are there for some of them."""

    def __init__(self, client: Engine, board: str, metric: Metric, now: int) -> None:
        self._client = client
        self._board = board
        self._metric = metric
        self._now = now
        self._written_at = now - BEFORE

    def load(
        self,
        histories: Histories,
        chosen: Mapping[int, Mapping[int, int]],
        *,
        offsets: Collection[int],
        log: Sequence[LogEntry] = (),
    ) -> None:
        """Load every window. The members in `chosen` get items and rows, by their sums of each age.

        Of rolling windows only the periods with these offsets get nodes, and of every tree those alone that lie on the
        way to the chosen members.
        """
        images = [self._image(number, sums) for number, sums in chosen.items()]
        self._client.load("Scores", map(encode_image, images))
        for window in self._metric.windows:
            if window.rolling:
                rankings = RollingRankings(self._board, self._metric, window)
                self._client.load("Rankings", self._log(rankings, log))
                self._client.load("Rankings", self._rolling_nodes(rankings, histories, images, offsets))
                self._client.load("Rankings", self._rolling_rows(rankings, images))
            else:
                self._client.load("Rankings", self._calendar(window, histories, images))

    def _image(self, number: int, sums: Mapping[int, int]) -> Image:
        metric = self._metric
        values = {metric.total(): sum(sums.values())}
        for unit in metric.bucket_codes:
            today = metric.timetable.index(unit, self._now)
            values |= {metric.bucket(unit, today - age): points for age, points in sums.items()}
        written = self._written_at
        return Image(self._board, member(number), written, written, values[metric.total()], hidden=False, values=values)

    def _calendar(self, window: Window, histories: Histories, images: Sequence[Image]) -> Iterator[Item]:
        ranking = Ranking(self._board, self._metric, window, self._metric.timetable.current(window, self._now))
        trees = histories.nodes(1 if window.unit else None, {0: _on_the_way(ranking, images)})
        yield from self._nodes(ranking, trees[0], "v", ranking.readable_until)
        for image in images:
            if (found := place(image, ranking)) is not None:
                move = Move(ranking, image.member, None, found, image.version, image.written_at_ms)
                yield entry(ranking, move, ranking.readable_until)

    def _log(self, rankings: RollingRankings, entries: Iterable[LogEntry]) -> Iterator[Item]:
        texts = [encode_entry(entry) for entry in entries]
        yield {
            "pk": {"S": log_key(rankings.key, 0)},
            "b": {"N": str(self._written_at)},
            "l": {"L": [{"S": text} for text in texts]},
            "z": {"N": str(sum(map(len, texts)))},
            "n": {"NS": [str(self._metric.shards)]},
        }

    def _rolling_nodes(
        self, rankings: RollingRankings, histories: Histories, images: Sequence[Image], offsets: Collection[int]
    ) -> Iterator[Item]:
        today = self._metric.timetable.index(rankings.unit, self._now)
        size = rankings.window.size
        trees = histories.nodes(size, {one: _on_the_way(rankings.at(today + one), images) for one in offsets})
        for offset, tree in trees.items():
            ranking = rankings.at(today + offset)
            yield from self._nodes(ranking, tree, "p0", rankings.readable_until(ranking.period))

    def _nodes(self, ranking: Ranking, tree: Tree, mark: str, until: int | None) -> Iterator[Item]:
        """Yield the nodes of a tree; the attribute `mark` says up to when they count."""
        return nodes(ranking, tree, {mark: self._written_at, "t": self._written_at} | expiry_of(until))

    def _rolling_rows(self, rankings: RollingRankings, images: Iterable[Image]) -> Iterator[Item]:
        for image in images:
            steps = steps_of(image, rankings, self._now)
            row = RollingRow(image.version, steps)
            yield row_item(rankings, RowChange(image.member, row, image.written_at_ms, None))
            # List items stay until TTL removes them, longer than the steps of rows.
            listed = steps_of(image, rankings, self._now - EXPIRY_MARGIN)
            for block, there in listed.by_block(rankings.window, listed.low).items():
                item = list_item(rankings, ListItem(image.member, block, there, image.version, image.written_at_ms))
                if int(item["e"]["N"]) * SECOND > self._now:
                    yield item


def _on_the_way(ranking: Ranking, images: Iterable[Image]) -> set[Path]:
    """The nodes that a reader passes on the way to these members."""
    places = (place(image, ranking) for image in images)
    return {node for found in places if found is not None for node in prefixes(path(found.sort_value))}
