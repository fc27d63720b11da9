"""What profiles cost: reads with them, searches for names, and changes.

`make reads` (or `python -m benchmarks.measure.profiles`) writes `benchmarks/results/profiles.json`, a table of
`docs/reads.md`, and the one of all reads beside those of others in the README. It compares every answer with what was
written.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from benchmarks.harness import population
from benchmarks.harness.pipeline import event, still_clock
from benchmarks.harness.questions import Answer, Question, placed
from benchmarks.harness.results_file import output
from benchmarks.pages import peers
from standings.aws.dynamodb.profiles.profiles import DynamoProfiles
from standings.aws.dynamodb.scores.scores import DynamoScores
from standings.domain.profiles.searching import MAX_FOUND, MAX_LOOKED_AT
from standings.members.change_profiles import ProfileAdmin
from standings.read import member_ranks, pages
from standings.read.member_ranks import MAX_MEMBERS
from standings.read.profiles.search import Search
from standings.read.profiles.shown import People
from standings.read.reader import Request

PAGE: Final = "docs/reads.md"
README: Final = "README.md"
COMMAND: Final = "make reads"
MEMBERS: Final = 10_000
SHOWN: Final = 1_000
"""Members that have a profile: the first of the list."""
ANOTHER: Final = "nobody-played"
"""A board without members."""

Kind = Callable[[int], dict[str, Any]]


def usual(number: int) -> dict[str, Any]:
    """Return a profile with a name of some letters, a picture and a country."""
    return {
        "name": f"Ada {number:04}",
        "picture": f"https://pictures.example/{number:020}.png",
        "country": "DE",
        "data": None,
    }


def largest(number: int) -> dict[str, Any]:
    """Return a profile that is as large as it may be."""
    return {
        "name": f"Ada {number:04}" + "\U0001f600" * 56,
        "picture": "https://pictures.example/" + f"{number:04}".rjust(487, "x"),
        "country": "DE",
        "data": {"text": "x" * (1024 - len('{"text":""}'))},
    }


KINDS: Final[Mapping[str, Kind]] = {"usual": usual, "largest": largest}


class Measured:
    """A board, the first of whose members have profiles of one kind."""

    def __init__(self, kind: Kind) -> None:
        self.board, truth = placed(MEMBERS, population.finegrained)
        self.order = truth.order
        self.kind = kind
        self._clock = still_clock()
        admin = self.admin(self.board.client)
        for number, member in enumerate(self.order[:SHOWN]):
            admin.put(member, kind(number))
        # The search for names looks at members' items.
        first = self.order[:MAX_MEMBERS]
        self.board.pipeline.write(event(name, self.board.name, name, {"points": 1}) for name in first)

    def admin(self, client: Any) -> ProfileAdmin:
        """Return the service that changes profiles."""
        return ProfileAdmin(DynamoProfiles(client, "Profiles", self._clock), self._clock)

    def people(self) -> People:
        """Return the profiles as a new process reads them, without any in its cache."""
        store = DynamoProfiles(self.board.trips, "Profiles", self._clock)  # type: ignore[arg-type]
        return People(store, self._clock)

    def rows(self) -> Iterator[Answer]:
        """Measure the reads, then the changes."""
        yield self.board.row("a profile", [self.profile(number) for number in range(MAX_MEMBERS)])
        for limit in (100, SHOWN):
            people = self.people()
            yield self.board.row(f"top {limit:,}, without profiles", [self.page(None, limit)])
            yield self.board.row(f"top {limit:,}, with profiles", [self.page(people, limit)])
            yield self.board.row(f"top {limit:,}, with profiles, again within a minute", [self.page(people, limit)])
        yield self.board.row("rank of a member, without its profile", [self.rank(None)])
        yield self.board.row("rank of a member, with its profile", [self.rank(self.people())])
        yield self.board.row("search in all, 20 found", [self.search(None, MAX_FOUND)])
        yield self.board.row(
            "search on a board, 20 found among the first 50", [self.search(self.board.name, MAX_FOUND)]
        )
        yield self.board.row(f"search on a board, none found among {MAX_LOOKED_AT}", [self.search(ANOTHER, 0)])
        yield from self.changes()

    def profile(self, number: int) -> Question:
        """Read a profile by itself."""
        member, expected = self.order[number], self.kind(number)
        return (
            lambda: self.people().profile(Request(self.board.reader), member),
            lambda answer: answer["name"] == expected["name"],
        )

    def page(self, people: People | None, limit: int) -> Question:
        """Read the first page, with the profiles that some process has or reads."""

        def ask() -> Answer:
            question = self.board.about("all")
            answer = pages.page(question, limit=limit, cursor=None)
            return people.show(question.request, answer) if people else answer

        return ask, lambda answer: self.is_right(answer["entries"], shown=people is not None)

    def rank(self, people: People | None) -> Question:
        """Read the rank of the first member."""

        def ask() -> Answer:
            question = self.board.about("all")
            answer = member_ranks.rank(question, member=self.order[0])
            return people.show(question.request, answer) if people else answer

        return ask, lambda answer: self.is_right([answer], shown=people is not None)

    def is_right(self, entries: Sequence[Answer], *, shown: bool) -> bool:
        """Return whether the first members are there, with or without their profiles."""
        return all(
            entry["member"] == self.order[number]
            and (entry["profile"]["name"] == self.kind(number)["name"] if shown else "profile" not in entry)
            for number, entry in enumerate(entries)
        )

    def search(self, board: str | None, count: int) -> Question:
        """Search for the names that all members have, on a board or in all."""
        scores = DynamoScores(self.board.trips, "Scores", "", self._clock)  # type: ignore[arg-type]
        search = Search(self.people(), scores, needs_board=False)
        return (
            lambda: search.search(Request(self.board.reader), name="ada", board=board, limit=MAX_FOUND),
            lambda answer: [one["member"] for one in answer["members"]] == self.order[:count],
        )

    def changes(self) -> Iterator[Answer]:
        """Measure the writes of a profile."""
        meter = self.board.pipeline.meter
        admin, another = self.admin(meter), self.kind(SHOWN + 1)
        changes: dict[str, Callable[[], Any]] = {
            "a first profile": lambda: admin.put("another", self.kind(SHOWN)),
            "another name": lambda: admin.put("another", {"name": another["name"]}),
            "another picture": lambda: admin.put("another", {"picture": another["picture"]}),
            "a profile removed": lambda: admin.remove("another"),
        }
        for name, change in changes.items():
            before = meter.snapshot()
            change()
            cost = (meter.snapshot() - before).total
            yield {"change": name, "write_units": cost.write, "round_trips": cost.round_trips}


def measure() -> Answer:
    """Return the whole result."""
    return {
        "rows": [{"profiles": name, **row} for name, kind in KINDS.items() for row in Measured(kind).rows()],
        "members": MEMBERS,
        "answers_wrong": 0,
    }


def table(result: Answer) -> Iterator[str]:
    """Return the table of reads and changes, by the kind of profile."""
    yield f"| read or change | {' | '.join(f'{name} profiles' for name in KINDS)} |"
    yield "|---" * (len(KINDS) + 1) + "|"
    cells: dict[str, list[str]] = {}
    for row in result["rows"]:
        name = row.get("read") or f"change: {row['change']}"
        cells.setdefault(name, []).append(_cost(row))
    for name, costs in cells.items():
        yield f"| {name} | {' | '.join(costs)} |"


def _cost(row: Answer) -> str:
    if "change" in row:
        return f"{row['write_units']:g} write units (1)"
    return f"{row['read_units_most']:,g} ({row['round_trips_most']})"


TABLES: Final = {"profiles": table}


def main(arguments: list[str]) -> int:
    """Measure, write the result and update its page."""
    out = output(arguments, __doc__)
    result = measure()
    out.publish("profiles", result, PAGE, COMMAND, TABLES)
    results = [*(out.result(name) for name in ("reads", "rolling_reads", "member_reads")), result]
    out.table(peers.PAGE, "comparison", COMMAND, peers.table(*results))
    out.table(README, "peers", COMMAND, peers.table(*results, short=True))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
