"""A member's item: its accumulators, what an event changes in them, and the places that follow from one image."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from standings.domain.boards.definitions import Family
from standings.domain.scoring import ties
from standings.domain.scoring.aggregates import Aggregate


@dataclass(frozen=True, slots=True)
class Image:
    """One state of a member's item, from which its score in every ranking follows.

    `version` is one more at every write. `stamp` is the writer's clock in milliseconds, which never goes back on an
    item. `magnitude` bounds every sum of accumulators. `values` holds the accumulators by attribute name, `marks` the
    marks of those that have one. A member that was `removed` leaves an image with its version and no scores.
    """

    board: str
    member: str
    version: int
    written_at_ms: int
    abs_total: int
    hidden: bool
    values: Mapping[str, int]
    tie_keys: Mapping[str, str] = field(default_factory=dict)
    removed: bool = False

    def without_scores(self) -> "Image":
        """The image after the item was deleted: a version more, and no scores."""
        return replace(self, version=self.version + 1, abs_total=0, values={}, tie_keys={}, removed=True)

    def cell(self, name: str) -> Aggregate | None:
        """What an accumulator holds; None where it is not there."""
        value = self.values.get(name)
        return None if value is None else Aggregate(value, self.tie_keys.get(name, ties.NO_TIE_KEY))


def new_image(board: str, member: str, written_at_ms: int) -> Image:
    """An item that is not there yet: its version starts at the clock, above whatever was there under its key."""
    return Image(board, member, written_at_ms, written_at_ms, 0, hidden=False, values={})


def rewritten(image: Image, written_at_ms: int, gone: Iterable[str] = ()) -> Image:
    """The image as its next version, without some accumulators."""
    dropped = frozenset(gone)
    values = {name: value for name, value in image.values.items() if name not in dropped}
    return replace(
        image,
        version=image.version + 1,
        written_at_ms=written_at_ms,
        abs_total=sum(map(abs, values.values())),
        values=values,
        tie_keys={name: tie_key for name, tie_key in image.tie_keys.items() if name in values},
        removed=False,
    )


def registered(family: Family, image: Image) -> Image:
    """The image of a member that is registered: on a board of registered members it begins with 0 in every sum."""
    values = dict(image.values)
    if family.members == "registered":
        for metric in family.metrics.values():
            if metric.aggregate == "sum":
                values.setdefault(metric.total(), 0)
    return replace(image, values=values, removed=False)


def removed(image: Image, written_at_ms: int) -> Image:
    """The image of a member that is removed: its next version, and no scores."""
    return replace(rewritten(replace(image, hidden=False, values={}, tie_keys={}), written_at_ms), removed=True)
