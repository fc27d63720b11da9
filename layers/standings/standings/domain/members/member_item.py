"""A member's item: its accumulators, and how they change when the member is registered, removed or rewritten."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from standings.domain.boards.definitions import Family
from standings.domain.scoring.aggregates import NO_NOTE, Aggregate
from standings.domain.scoring.ties import NO_TIE_KEY


@dataclass(frozen=True, slots=True)
class Image:
    """One state of a member's item. The member's score in every ranking follows from it.

    - `version` grows by one with every write.
    - `written_at_ms` is the writer's clock in milliseconds. It never goes back on an item.
    - `abs_total` is at least the absolute value of any sum of accumulators.
    - `values` holds the accumulators by attribute name, `tie_keys` the tie keys of those that have one, `notes` their
      notes as JSON.
    - `removed` marks a removed member: the item has a version and no scores.
    - `was_removed` stays when a removed member comes back: its rankings of before no longer follow from the item.
    """

    board: str
    member: str
    version: int
    written_at_ms: int
    abs_total: int
    hidden: bool
    values: Mapping[str, int]
    tie_keys: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    removed: bool = False
    was_removed: bool = False

    def without_scores(self) -> "Image":
        """The image after the item was deleted: the next version, without scores."""
        return replace(self, version=self.version + 1, abs_total=0, values={}, tie_keys={}, notes={}, removed=True)

    def cell(self, name: str) -> Aggregate | None:
        """The aggregate in an accumulator; None if the item has no such accumulator."""
        value = self.values.get(name)
        if value is None:
            return None
        return Aggregate(value, self.tie_keys.get(name, NO_TIE_KEY), self.notes.get(name, NO_NOTE))

    def with_cell(self, name: str, cell: Aggregate) -> "Image":
        """The image with an aggregate in an accumulator."""
        return replace(
            self,
            values={**self.values, name: cell.value},
            tie_keys=_with(self.tie_keys, name, cell.tie_key),
            notes=_with(self.notes, name, cell.note),
        )


def _with(texts: Mapping[str, str], name: str, text: str) -> Mapping[str, str]:
    """Texts by accumulator, with that of one; an empty text is left out."""
    others = {of: value for of, value in texts.items() if of != name}
    return {**others, name: text} if text else others


def new_image(board: str, member: str, written_at_ms: int) -> Image:
    """A new item. Its version starts at the clock, so it is above any earlier item of the same key."""
    return Image(board, member, written_at_ms, written_at_ms, 0, hidden=False, values={})


def rewritten(image: Image, written_at_ms: int, gone: Iterable[str] = ()) -> Image:
    """The image's next version, without the accumulators that are `gone`."""
    dropped = frozenset(gone)
    values = {name: value for name, value in image.values.items() if name not in dropped}
    return replace(
        image,
        version=image.version + 1,
        written_at_ms=written_at_ms,
        abs_total=sum(map(abs, values.values())),
        values=values,
        tie_keys={name: tie_key for name, tie_key in image.tie_keys.items() if name in values},
        notes={name: note for name, note in image.notes.items() if name in values},
        removed=False,
    )


def registered(family: Family, image: Image) -> Image:
    """The image of a registered member. On a board of registered members, every sum starts at 0."""
    sums = [metric.total() for metric in family.metrics.values() if metric.aggregate == "sum"]
    zeros = dict.fromkeys(sums if family.members == "registered" else [], 0)
    return replace(image, values={**zeros, **image.values}, removed=False)


def removed(image: Image, written_at_ms: int) -> Image:
    """The image of a removed member: the next version, without scores."""
    empty = rewritten(replace(image, hidden=False, values={}, tie_keys={}, notes={}), written_at_ms)
    return replace(empty, removed=True, was_removed=True)
