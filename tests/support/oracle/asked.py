"""One ranking in one period that is compared, and how its answers are read."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from tests.support.aws.stack import Stack
from tests.support.oracle.listing import Line, Listing, Metric
from tests.support.oracle.model import BoardModel

SAMPLE: Final = 3
"""How many members, positions or scores each comparison tries."""
MAX_GROUP: Final = 100
"""The most members that one request may name, and the largest radius."""
FURTHEST: Final = 10**15 - 1
"""The largest score tried, in units. As a float it is exact with any number of decimals."""
FIELDS: Final = {
    "": ("entries", "next", "previous"),
    "/rank": ("rank", "score"),
    "/history": ("member", "periods"),
    "/ranks": ("entries",),
    "/percentile": ("p", "score"),
    "/distribution": ("buckets",),
}
"""The fields that an answer must have, by the end of its path. More fields are allowed."""
STRANGERS: Final = ("nobody", "m\U0001f600")
"""Members that no board has."""


@dataclass(frozen=True)
class Asked:
    """One period of one ranking, and the product and the judge that are compared on it."""

    stack: Stack
    model: BoardModel
    board: str
    metric: str
    window: str
    on: datetime
    now: datetime
    rng: random.Random
    listing: Listing

    @property
    def rules(self) -> Metric:
        return self.model.metrics[self.metric]

    @property
    def path(self) -> str:
        return f"/boards/{self.board}/{self.metric}/{self.window}"

    @property
    def period(self) -> str | None:
        """The `period` argument. For the current period it is sometimes left out."""
        named = self.model.calendar.named(self.window, self.on)
        return self.rng.choice([None, named]) if self.on == self.now else named

    @property
    def previous(self) -> Listing | None:
        """The list of the period before, or None if there is none that can be read."""
        before = self.model.calendar.before(self.window, self.on)
        if before is None or not self.model.calendar.is_readable(self.window, before, self.now):
            return None
        return self.model.listing(self.metric, self.window, before)

    def exact(self, units: int) -> Decimal:
        return Decimal(units).scaleb(-self.rules.precision)

    def lines(self, lines: Sequence[Line]) -> list[tuple[int, str, Decimal]]:
        return [(rank, member, self.exact(score)) for rank, member, score in lines]

    def members(self, most: int = SAMPLE) -> list[str]:
        """Return up to `most` random ranked members."""
        ranked = [one.member for one in self.listing.placed]
        return self.rng.sample(ranked, min(most, len(ranked)))

    def unranked(self) -> dict[str, str]:
        """Return some members that are not ranked, each with the type of the problem that the API must answer."""
        ranked = {one.member for one in self.listing.placed}
        missing = [member for member in self.model.members if member not in ranked]
        some = self.rng.sample(missing, min(SAMPLE, len(missing)))
        removed = sorted(self.model.removed - self.model.members.keys())
        return {
            **dict.fromkeys(some, "not-ranked"),
            **dict.fromkeys(
                [*self.rng.sample(removed, min(1, len(removed))), self.rng.choice(STRANGERS)], "no-such-member"
            ),
        }

    def note(self, member: str) -> Any:
        """Return the note of a ranked member's score."""
        return self.model.note(self.metric, self.window, self.on, member)

    def scores(self) -> list[int]:
        """Return some scores that members have, some scores near those, and 0 or a largest or smallest score."""
        held = [one.score for one in self.listing.placed]
        some = self.rng.sample(held, min(SAMPLE, len(held)))
        near = [score + self.rng.choice([-128, -1, 1, 2, 127]) for score in some]
        return [*some, *near, self.rng.choice([0, FURTHEST, -FURTHEST])]

    def read(self, rest: str = "", **arguments: Any) -> tuple[str, dict[str, Any]]:
        """Send a GET request. Return the request in words and the answer, after `checked`."""
        arguments.setdefault("period", self.period)
        what = describe("GET", self.path + rest, arguments, self.now)
        status, answer = self.stack.get(self.path + rest, **arguments)
        return what, self.checked(what, rest, status, answer, arguments["method"])

    def checked(self, what: str, rest: str, status: int, answer: dict[str, Any], method: str) -> dict[str, Any]:
        """Assert that an answer is 200, has every field of its kind and is about this ranking. Return it."""
        same(what, 200, status, answer)
        same(f"{what}: missing fields", [], [name for name in FIELDS[rest] if name not in answer], answer)
        bounds = self.model.calendar.bounds(self.window, self.on)
        expected = {
            "board": self.board,
            "metric": self.metric,
            "window": self.window,
            "period": bounds,
            "state": self.model.calendar.state(self.window, self.on, self.now),
            "final_at": self.model.calendar.final_at(self.window, self.on),
            "order": "descending" if self.rules.descending else "ascending",
            "method": method,
            "total": self.listing.total,
        }
        actual = {
            **{name: answer.get(name, "(missing)") for name in expected},
            "period": instants_of(answer.get("period")),
            "final_at": datetime.fromisoformat(final) if (final := answer.get("final_at")) else final,
        }
        same(what, expected, actual)
        as_of = answer.get("as_of", 0)
        same(f"{what}: as_of is text or null", True, as_of is None or isinstance(as_of, str), answer)
        return answer

    def refused(self, kind: str, rest: str = "", **arguments: Any) -> None:
        """Send a GET request and assert that the answer is 404 with a problem of this type."""
        arguments.setdefault("period", self.period)
        status, answer = self.stack.get(self.path + rest, **arguments)
        what = describe("GET", self.path + rest, arguments, self.now)
        same(what, (404, f"urn:standings:{kind}"), (status, answer.get("type")), answer)


def exact(number: Any) -> Any:
    """Return a JSON number as a decimal. The shortest text of a float equals the text of the answer."""
    return Decimal(str(number)) if isinstance(number, int | float) and not isinstance(number, bool) else number


def instants_of(period: Any) -> Any:
    """Return start and end of an answer's period as instants in UTC."""
    if not isinstance(period, dict) or period.keys() - {"name"} != {"start", "end"}:
        return period
    return tuple(
        datetime.fromisoformat(period[end]).astimezone(UTC) if period[end] else None for end in ("start", "end")
    )


def describe(method: str, path: str, arguments: Mapping[str, Any], now: datetime) -> str:
    query = "&".join(f"{name}={value}" for name, value in arguments.items() if value is not None)
    return f"{method} {path}?{query} at {now.isoformat()}"


def same(what: str, expected: object, actual: object, answer: object = None) -> None:
    """Fail with both values if they differ. `what` is the request or what is compared."""
    if expected != actual:
        more = f"\n  answer:  {answer!r}" if answer is not None else ""
        raise AssertionError(f"{what}\n  judge:   {expected!r}\n  product: {actual!r}{more}")
