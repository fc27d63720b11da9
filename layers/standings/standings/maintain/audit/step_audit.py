"""Compares the rows and the lists of a rolling window with members' items."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from standings.domain.boards.coverage import Coverage
from standings.domain.members.member_item import Image
from standings.domain.rolling.blocks import Block
from standings.domain.rolling.rolling_rankings import RollingRankings
from standings.domain.rolling.steps import Steps, steps_of
from standings.domain.scoring.sort_order import Place
from standings.maintain.audit.member_steps import Finding, MemberSteps
from standings.maintain.audit.report import AuditCall, Listed, StoredSteps
from standings.ports.scores import SLOTS, DamagedItem

MAX_ITEMS: Final = 90  # List items that are read at one moment, beside the member's item, its row and a log
PAGE_SIZE: Final = 1000  # Members that are listed together to find those that have changed lately
NO_STEPS: Final = Steps(0)


class StepAudit:
    """Audits the rows and the lists of one rolling window. `coverage` says what the board is whole for."""

    def __init__(self, call: AuditCall, rankings: RollingRankings, coverage: Coverage) -> None:
        self._call = call
        self._rankings = rankings
        self._coverage = coverage

    def members(self, images: Sequence[Image]) -> None:
        """Compare the rows of members with their items, and the list items that both lead to."""
        call = self._call
        rows = call.reads.steps(self._rankings, [image.member for image in images])
        members = [self._member(image.member, image, rows.get(image.member)) for image in images]
        keys = [(block, member.member) for member in members for block in sorted(member.blocks)]
        items = call.reads.listed(self._rankings, keys)
        call.read["rows"] += len(images)
        call.read["list_items"] += len(keys)
        doubts: dict[str, list[Block]] = {}
        by_name = {member.member: member for member in members}
        for block, name in keys:
            if by_name[name].of_item(call, block, items.get((block, name))) is not None:
                doubts.setdefault(name, []).append(block)
        for name, member in by_name.items():
            if name in doubts or member.of_row(call) is not None:
                self._compare(name, doubts.get(name, []))

    def surplus(self, period: int, entries: Iterable[Listed]) -> None:
        """Compare list items to which no row and no item leads. `entries` are those of a period.

        Each is compared in the first of its periods that can be read. The others are compared with their rows
        (`members`).
        """
        now, low = self._call.clock.now(), self._readable()
        new = [
            (entry.block, entry.member)
            for entry in entries
            if entry.block is not None and period == max(entry.block.first, low)
        ]
        names = list(dict.fromkeys(member for _, member in new))
        images = self._call.reads.images(self._rankings.board, names)
        window = self._rankings.window
        expected = {name: steps_of(images.get(name), self._rankings, now).by_block(window, low) for name in names}
        for block, name in new:
            if name not in images or block not in expected[name]:
                self._compare(name, [block], surplus=True)

    def moving(self, period: int) -> dict[str, Place | None] | None:
        """Where rows have the members in a period whose items have changed within `grace`; None if the time was over.

        Of these members, a list may say already what their rows do not say yet, and the index may not say it yet.
        """
        places: dict[str, Place | None] = {}
        for images in self._recent():
            names = [image.member for image in images]
            rows = self._call.reads.steps(self._rankings, names)
            found = {name: rows[name].steps if name in rows else NO_STEPS for name in names}
            places |= {name: steps.place(period) for name, steps in found.items() if steps is not None}
            if self._call.clock.monotonic() >= self._call.deadline:
                return None
        return places

    def _recent(self) -> Iterator[list[Image]]:
        """The members of the board whose items have changed within `grace`, a part at a time."""
        for slot in range(SLOTS):
            page: list[Image | DamagedItem] = []
            while not page or len(page) == PAGE_SIZE:
                after = page[-1].member if page else None
                page = self._call.reads.members(self._rankings.board, slot, after, PAGE_SIZE)
                yield [image for image in page if isinstance(image, Image) and self._call.is_recent(image)]
                if not page:
                    break

    def _compare(self, name: str, blocks: Sequence[Block], *, surplus: bool = False) -> None:
        """Compare a member's row and some list items at one moment, and report differences. `surplus`: see there."""
        call = self._call
        for start in range(0, max(1, len(blocks)), MAX_ITEMS):
            some = blocks[start : start + MAX_ITEMS]
            moment = call.moment(partial(call.store.moment, self._rankings, name, some))
            if moment is None:
                continue
            image, row, items = moment
            member = self._member(name, image, row)
            if start == 0 and not surplus:
                self._report(member, member.of_row(call))
            for block in some:
                if not surplus or image is None or block not in member.blocks:
                    self._report(member, member.of_item(call, block, items.get(block)))

    def _report(self, member: MemberSteps, finding: Finding | None) -> None:
        if finding is not None:
            image, row = member.image, member.row
            self._call.add(
                finding.kind,
                ranking=finding.ranking,
                member=member.member,
                expected=finding.expected,
                found=finding.found,
                item_version=image.version if image is not None else None,
                row_version=row.version if row is not None else None,
            )

    def _member(self, name: str, image: Image | None, row: StoredSteps | None) -> MemberSteps:
        expected = steps_of(image, self._rankings, self._call.clock.now())
        return MemberSteps(self._rankings, name, image, row, expected, self._readable())

    def _readable(self) -> int:
        """The first period that can be read now."""
        now = self._call.clock.now()
        period = self._rankings.first_open(now)
        while now >= (self._coverage.readable_until(self._rankings.at(period)) or 0):
            period += 1
        return period
