"""The rules of a league: periods, boards, and who rises and falls. Plain Python, without AWS."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any, NamedTuple


class Seat(NamedTuple):
    """A place in a group: `Seat("bronze", date(2026, 11, 16), 3)` is that of the board `league-bronze-2026-11-16-3`."""

    division: str
    period: date
    group: int


@dataclass(frozen=True)
class League:
    """Divisions from the lowest on, and groups of `size`: the first `rise` of a group rise, the last `fall` fall.

    A period is a `week` or a `day` in the time zone, as in the family. Whoever had a seat in an earlier period
    is enrolled once that is settled, once it is final without a score in the group, or `patience` after its end.
    """

    divisions: tuple[str, ...]
    size: int
    rise: int
    fall: int
    window: str
    timezone: tzinfo
    prefix: str
    patience: timedelta

    def period(self, at: datetime) -> date:
        """The first day of the period that contains a time."""
        day = at.astimezone(self.timezone).date()
        return day - timedelta(days=day.weekday()) if self.window == "week" else day

    def end(self, period: date) -> datetime:
        """When a period ends."""
        after = period + timedelta(days=7 if self.window == "week" else 1)
        return datetime(after.year, after.month, after.day, tzinfo=self.timezone).astimezone(UTC)

    def board(self, seat: Seat) -> str:
        """The name of a group's board."""
        return f"{self.prefix}-{seat.division}-{seat.period}-{seat.group}"

    def seat(self, board: str) -> Seat | None:
        """The division, the period and the number of a group, by its board; None if it is none of this league."""
        division, *rest = board.removeprefix(f"{self.prefix}-").split("-", 1)
        day, _, group = (rest or [""])[0].rpartition("-")
        try:
            seat = Seat(division, date.fromisoformat(day), int(group))
        except ValueError:
            return None
        return seat if self.board(seat) == board and division in self.divisions else None

    def line(self, division: str, members: int) -> tuple[int, int]:
        """How many rise from a group of so many members, and how many fall.

        If not both fit, one stays between, and the others move in proportion, rather up than down.
        """
        rise = self.rise if division != self.divisions[-1] else 0
        fall = self.fall if division != self.divisions[0] else 0
        if rise + fall >= members:
            room = max(members - 1, 0)
            both = max(rise + fall, 1)
            rise, fall = -(-room * rise // both), room * fall // both
        return rise, fall

    def next_divisions(
        self, division: str, seats: Collection[str], ranked: Iterable[Mapping[str, Any]]
    ) -> dict[str, str]:
        """The next division of everybody with a seat in a group, by what its list ended with: `{"u1": "silver", …}`.

        Ties at the line all rise, and none of a tie falls that reaches above the line. Who is not in the list stays.
        """
        scores = [(one["member"], one["score"]) for one in ranked if one["member"] in seats]
        rise, fall = self.line(division, len(scores))
        place = self.divisions.index(division)
        moved = dict.fromkeys(seats, division)
        for member, score in scores:
            first = next(number for number, (_, other) in enumerate(scores) if other == score)
            if first < rise:
                moved[member] = self.divisions[place + 1]
            elif first >= len(scores) - fall:
                moved[member] = self.divisions[place - 1]
        return moved

    def after(self, seat: str, now: str, to: str) -> str:
        """The division after a result that says `to` of a member with a seat in `seat`, which is in `now` by now.

        `now` differs from `seat` where an earlier result came after the member had gone on. Both results together move
        it by at most one: two rises from bronze lead to silver, and a rise stays where the next result moves nobody.
        """
        first, *others = (self.divisions.index(one) for one in (seat, now, to) if one in self.divisions)
        return self.divisions[first + max(-1, min(1, sum(other - first for other in others)))]
