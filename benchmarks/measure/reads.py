"""What every kind of read costs: read units, round trips, entries read.

`make reads` writes `benchmarks/results/reads.json`, tables of `docs/performance.md` and
`docs/performance-tables.md`, and those of our reads beside the answers of others (`docs/comparison.md`, README). It
compares every answer with a sorted list, or with what was written.

Boards are of four kinds: of one calendar ranking at ten thousand members and at a million, of a rolling window up to
ten million, of the histories of members, and of members with profiles.
"""

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from random import Random
from typing import Any, Final, TypeVar

from benchmarks.harness import population, rolling_board
from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.pipeline import event, still_clock
from benchmarks.harness.questions import SAMPLE, Answer, Board, Draw, Question, Questions, placed
from benchmarks.harness.results_file import Output
from benchmarks.harness.rolling_board import AROUND, ENDED, NOON, TWO_OF_SEVEN, RollingBoard
from benchmarks.harness.truth import Truth
from benchmarks.measure.units import MONTH, QUARTER, SHIPPED
from benchmarks.pages.tables import Lines, Result, Row, Table, crossed, of_peers
from standings.aws.dynamodb.profiles import Profiles
from standings.aws.dynamodb.scores import Scores
from standings.calls import CALLS
from standings.domain.boards_toml import parse_boards
from standings.domain.profiles import MAX_LOOKED_AT
from standings.domain.windows import DAY
from standings.ingest import event_status
from standings.members import ProfileAdmin
from standings.read import board_list, member_ranks, pages, profiles
from standings.read.dispatch import PROFILE_TTL_S
from standings.read.member_ranks import MAX_MEMBERS, history
from standings.read.session import PRIVATE_LIMITS
from standings.runtime.clock import TtlCache

SIZES: Final = (10_000, 1_000_000)
SMALL: Final = (2_500,)
GROUPS: Final = 5
SHARDS: Final = 10
DENSE: Final = (1_000, 10_000, 100_000)
FEW: Final = "few equals"
MANY: Final = "many equals"
POPULATIONS: Final[dict[str, Draw]] = {FEW: population.finegrained, MANY: population.lognormal}
EQUALS: Final = 10_000
MAX_PERIODS: Final = CALLS["getHistory"].arguments["periods"].most
MAX_FOUND: Final = CALLS["getProfile"].arguments["limit"].most


# ---- one ranking


def _dense(count: int, ask: Questions) -> Iterable[Question]:
    member = ask.truth.with_distinct_ahead(count)
    return [] if member is None else [ask.rank(member, "dense")]


def _groups(method: str, ask: Questions) -> Iterable[Question]:
    """Ask for the ranks of groups, if each may be asked for: ordinal ranks count the equals before a member."""
    groups = [ask.sample(MAX_MEMBERS) for _ in range(GROUPS)]
    few = method == "competition" or max(map(ask.truth.equals_ahead, groups)) <= PRIVATE_LIMITS.equals
    return [ask.group(group, method) for group in groups] if few else []


READS: Final[dict[str, Callable[[Questions], Iterable[Question]]]] = {
    "top 100": lambda ask: [ask.page(1)],
    "top 1,000": lambda ask: [ask.page(1, limit=1_000)],
    "next page of 100": lambda ask: [ask.turned(first, back=False) for first in (1, 1_000, ask.middle)],
    "page of 100 back": lambda ask: [ask.turned(first, back=True) for first in (101, 1_000, ask.middle)],
    "100 at position 1,000": lambda ask: [ask.at(1_000)],
    "100 at the middle": lambda ask: [ask.at(ask.middle)],
    "the last 100": lambda ask: [ask.last()],
    "100 from a score": lambda ask: map(ask.from_score, ask.truth.order[: ask.middle : ask.middle // SAMPLE]),
    "around a member, 5 on each side": lambda ask: map(ask.around, ask.sample()),
    "11 around a member": lambda ask: map(ask.eleven_around, (*ask.ends, *ask.sample())),
    "rank of a member": lambda ask: map(ask.rank, ask.sample()),
    "rank of a member, ordinal": lambda ask: (ask.rank(member, "ordinal") for member in ask.sample()),
    "rank of a score": lambda ask: (ask.score(ask.truth.scores[member] + 1) for member in ask.sample()),
    f"ranks of a group of {MAX_MEMBERS}": partial(_groups, "competition"),
    f"ranks of a group of {MAX_MEMBERS}, ordinal": partial(_groups, "ordinal"),
    "score at a percentile": lambda ask: map(ask.percentile, (1, 10, 50, 90, 99)),
    "distribution, 50 buckets": lambda ask: [ask.distribution(50)],
    **{f"rank of a member, dense, {count:,} different scores ahead": partial(_dense, count) for count in DENSE},
}
"""The reads of one ranking, by what a table calls them."""
OF_SHARDS: Final = (
    *("top 100", "top 1,000", "next page of 100", "100 at the middle"),
    *("around a member, 5 on each side", "11 around a member", "rank of a member"),
)
"""Those of a board with shards."""


def usual(board: Board, truth: Truth, names: Iterable[str] = READS) -> Iterator[Answer]:
    ask = Questions(board, truth, Random(1))
    for name in names:
        if questions := list(READS[name](ask)):
            yield board.row(name, questions)


def sharded(count: int) -> Iterator[Answer]:
    yield from usual(*placed(count, POPULATIONS[MANY], SHARDS), OF_SHARDS)


def periods(count: int) -> Iterator[Answer]:
    """Measure reads of members on a board that ranks over `all` and `day`."""
    board = Board(parse_boards(population.BOARDS.replace('["all"]', '["all", "day"]')))
    rng = Random(count)
    scores = population.finegrained(rng, count)
    earlier = dict(zip(scores, rng.sample(list(scores.values()), count), strict=True))
    now, before = Truth(scores), Truth(earlier)
    members = rng.sample(now.order, SAMPLE)
    _load(board, members, scores, earlier)
    ask = Questions(board, now, rng, "day")

    def card(member: str) -> Question:
        def is_right(answer: Answer) -> bool:
            windows = answer["metrics"][0]["windows"]
            return len(windows) == 2 and all(one["score"] == scores[member] for one in windows)

        return lambda: member_ranks.card(board.answers.session(), board.name, member, None), is_right

    group = members[:MAX_MEMBERS]
    ranks = [(now.rank(member), before.rank(member)) for member in group]
    of_group: Question = (
        lambda: member_ranks.group(board.about("day"), members=group, previous=True),
        lambda answer: [(one["rank"], one["previous_rank"]) for one in answer["entries"]] == ranks,
    )
    yield board.row("rank of a member with the previous rank", (ask.with_previous(name, before) for name in members))
    yield board.row(f"ranks of a group of {MAX_MEMBERS} with previous ranks", [of_group])
    yield board.row("a member's scores", map(card, members))


def _load(board: Board, members: Sequence[str], scores: Mapping[str, int], earlier: Mapping[str, int]) -> None:
    """Load the current periods and the previous day; these members get entries and items."""
    for window in ("all", "day"):
        population.place_members(board.client, board.ranking(window), scores, entries=set(members))
    population.place_members(board.client, board.ranking("day", 1), earlier, entries=set(members))
    board.pipeline.write(event(name, board.name, name, {"points": scores[name]}) for name in members)
    board.read_record()


def equals() -> Iterator[Answer]:
    """Measure reads in a group of 10,000 equals, at its end and in its middle."""
    board = Board(population.boards())
    rng = Random(1)
    scores = {population.member(n): 500 if n < EQUALS else rng.randint(1, 1_000) for n in range(2 * EQUALS)}
    scores = {name: 501 if score == 500 and n >= EQUALS else score for n, (name, score) in enumerate(scores.items())}
    population.place_members(board.client, board.ranking("all"), scores)
    board.read_record()
    truth = Truth(scores)
    ask = Questions(board, truth, rng)
    last = truth.ahead(500) + EQUALS
    half = last - EQUALS // 2
    at_end, in_middle = truth.order[last - 1], truth.order[half - 1]
    for read, question in {
        "rank of a member": ask.rank(at_end),
        "rank of a member, ordinal, the last of 10,000 equals": ask.rank(at_end, "ordinal"),
        "rank of a member, ordinal, in the middle of 10,000 equals": ask.rank(in_middle, "ordinal"),
        "100 at the last position of 10,000 equals": ask.at(last),
        "100 at the middle of 10,000 equals": ask.at(half),
        "next page of 100, from the middle of 10,000 equals": ask.turned(half, back=False),
    }.items():
        yield board.row(read, [question])


def directory() -> Iterator[Answer]:
    board = Board(population.boards())
    names = [f"board-{number:04}" for number in range(2_000)]
    board.pipeline.catalog.register(names)

    def boards(limit: int) -> Question:
        expected = [{"board": name} for name in names[:limit]]
        return (
            lambda: board_list.boards(board.answers.session(), prefix="board-", limit=limit, cursor=None),
            lambda answer: answer["boards"] == expected,
        )

    one: Question = (
        lambda: board_list.definition(board.answers.session(), board.name),
        lambda answer: answer["board"] == board.name,
    )
    yield board.row("list of 100 boards", [boards(100)])
    yield board.row("list of 1,000 boards", [boards(1_000)])
    yield board.row("a board", [one])


def statuses() -> Iterator[Answer]:
    """Measure what it costs to ask what became of an event."""
    board = Board(parse_boards(population.BOARDS))
    board.pipeline.write([event("counted", board.name, "m", {"points": 1})])
    clients: tuple[Any, ...] = (board.pipeline.meter, board.trips)
    refusing, scores = (Scores(client, "", "Receipts", still_clock()) for client in clients)
    refusing.refuse("refused", "metrics: the board has no such metric")

    def status(name: str) -> Question:
        ask = partial(event_status, scores, still_clock(), name, with_reason=True)
        return ask, lambda answer: answer["id"] == answer["status"] == name

    yield board.row("status of an event", map(status, ("counted", "refused")))


# ---- a rolling window

LARGEST: Final = 10_000_000
"""The members of one board more, which takes gigabytes and many minutes."""
SMALLEST: Final = 1_000
MIDNIGHT: Final = NOON + DAY // 2 + 500
"""In the first second of the next day. Nothing has been written since noon."""
SCENES: Final = (
    *((SHIPPED, life) for life in rolling_board.LIVES),
    (MONTH, TWO_OF_SEVEN),
    (QUARTER, TWO_OF_SEVEN),
)
KINDS: Final = {f"`{settings.windows[-1]}`, {life}": (settings, life) for settings, life in SCENES}
"""The boards, by what a table calls them."""
LARGE: Final = list(KINDS)[1]
"""The board that is also measured with the most members."""
WHEN: Final = ("at noon", "in the first second", "ended period")


def rolling(count: int, kind: str) -> Iterator[Answer]:
    """Measure reads of a rolling window on a board with so many members."""
    settings, life = KINDS[kind]
    of = RollingBoard(settings.toml, settings.windows[-1], life, count)
    noon, first_second, ended = WHEN
    of.at(NOON)
    yield from _in_period(of, 0, noon)
    if settings == SHIPPED:
        cards = (_card(of, name) for name in of.members[: rolling_board.SAMPLE])
        yield of.board.row(f"a member's scores and ranks in 3 windows, {noon}", cards)
    if of.truths[ENDED].total:
        yield from _in_period(of, ENDED, ended)
    of.at(MIDNIGHT)
    yield from _in_period(of, 1, first_second)


def _in_period(of: RollingBoard, offset: int, when: str) -> Iterator[Answer]:
    """Measure reads of one period."""
    ask, truth = of.ask(offset, named=offset == ENDED), of.truths[offset]
    single, group = (
        [name for name in names if name in truth.scores] for names in (of.members[: rolling_board.SAMPLE], of.members)
    )
    around, middle = single[:AROUND], truth.order[ask.middle - 1]
    # A page at a position also reads the equals that it skips.
    few_skipped = truth.position(middle) - truth.rank(middle) < MAX_MEMBERS
    asked: dict[str, Iterable[Question]] = {
        "top 100": [ask.page(1)],
        "the first alone": [ask.page(1, limit=1)],
        "100 at the middle": [ask.at(ask.middle)] if few_skipped else [],
        "rank of a member": map(ask.rank, single),
        "around a member, 5 on each side": map(ask.around, around),
        "11 around a member": map(ask.eleven_around, (truth.order[0], *around) if single else ()),
        "top 100 with `me`": map(ask.page_with, around),
    }
    if offset != ENDED:
        before = of.truths[offset - 1]
        asked[f"ranks of a group of {MAX_MEMBERS}"] = [ask.group(group[-MAX_MEMBERS:])]
        asked["rank of a member with the previous rank"] = (ask.with_previous(name, before) for name in single)
    for read, questions in asked.items():
        if listed := list(questions):
            yield of.board.row(f"{read}, {when}", listed)


def _card(of: RollingBoard, name: str) -> Question:
    truth = of.truths[0]
    expected = (truth.scores[name], truth.rank(name), truth.total)

    def is_right(answer: Answer) -> bool:
        (one,) = (one for one in answer["metrics"][0]["windows"] if one["window"] == of.window)
        return (one["score"], one["rank"], one["total"]) == expected

    return lambda: member_ranks.card(of.board.answers.session(), of.board.name, name, "competition"), is_right


# ---- members, one by one

HISTORIES: Final = (10_000, 100_000)
FEW_DAYS: Final = 14
ROLLING_PERIODS: Final = 8
"""Periods of `last-7-days` that can be read as shipped: today's, and those that still take late events."""
DAYS: Final = 'keep = "120 days"\nmetrics.points = { aggregate = "sum", windows = ["day"] }'
CALENDAR: Final = "`day`"
ROLLING: Final = f"`{SHIPPED.windows[-1]}`"
WITH_ME: Final = {"`all`": 1, "`all`, 4 shards": 4}
"""Boards whose pages are read with `me`, and their shards."""


def history_of_days(count: int, most: int) -> Iterator[Answer]:
    """Measure histories over days; few members share a score."""
    board = Board(parse_boards(f'[boards."*"]\n{DAYS}'))
    scores = population.finegrained(Random(count), count)
    members = Random(1).sample(sorted(scores), rolling_board.SAMPLE)
    truths = []
    for ago in range(most):
        values = list(scores.values())
        Random(ago).shuffle(values)
        of_day = dict(zip(scores, values, strict=True))
        population.place_members(board.client, board.ranking("day", ago), of_day, entries=set(members))
        truths.append(Truth(of_day))
    board.pipeline.write([event("idle", board.name, "idle", {"points": 1}, population.NOW)])
    board.read_record("day")
    for periods in dict.fromkeys((1, FEW_DAYS, most)):
        some = [_history(board, "day", member, truths[:periods]) for member in members]
        yield board.row(f"history of {_count(periods)}", some)
    yield board.row(
        f"history of {_count(FEW_DAYS)}, ranked in none", [_history(board, "day", "idle", truths[:FEW_DAYS])]
    )


def history_of_a_window(count: int) -> Iterator[Answer]:
    """Measure histories over the periods of a rolling window, on a board as shipped."""
    offsets = range(1 - ROLLING_PERIODS, 2)
    of = RollingBoard(SHIPPED.toml, SHIPPED.windows[-1], TWO_OF_SEVEN, count, offsets)
    of.at(NOON)
    for periods in (1, 2, ROLLING_PERIODS):
        truths = [of.truths[-ago] for ago in range(periods)]
        some = [_history(of.board, of.window, member, truths) for member in of.members[: rolling_board.SAMPLE]]
        yield of.board.row(f"history of {_count(periods)}", some)
    yield from _with_me(of.ask(0), of.members[: rolling_board.SAMPLE])


def beside_pages(count: int, shards: int) -> Iterator[Answer]:
    """Measure a member's rank beside a page of a board that ranks `all` alone; few members share a score."""
    board, truth = placed(count, population.finegrained, shards)
    ask = Questions(board, truth, Random(1))
    yield from _with_me(ask, ask.sample(rolling_board.SAMPLE))


def _with_me(ask: Questions, members: Sequence[str]) -> Iterator[Answer]:
    yield ask.board.row("top 100", [ask.page(1)])
    yield ask.board.row("rank of a member", map(ask.rank, members))
    yield ask.board.row("top 100 with `me`", map(ask.page_with, members))


def _count(periods: int) -> str:
    return f"{periods} period{'' if periods == 1 else 's'}"


def _history(board: Board, window: str, member: str, truths: Sequence[Truth]) -> Question:
    expected = [
        (truth.rank(member), truth.scores[member], truth.total) if member in truth.scores else (None, None, truth.total)
        for truth in truths
    ]

    def is_right(answer: Answer) -> bool:
        return [(one["rank"], one["score"], one["total"]) for one in answer["periods"]] == expected

    return lambda: history(board.about(window), member=member, periods=len(truths)), is_right


# ---- profiles

MEMBERS: Final = 10_000
SHOWN: Final = 1_000
"""Members that have a profile: the first of the list."""
ANOTHER: Final = "nobody-played"
"""A board without members."""

Kind = Callable[[int], dict[str, Any]]
PROFILES: Final[Mapping[str, Kind]] = {
    "usual profiles": lambda number: {
        "name": f"Ada {number:04}",
        "picture": f"https://pictures.example/{number:020}.png",
        "country": "DE",
        "data": None,
    },
    "largest profiles": lambda number: {
        "name": f"Ada {number:04}" + "\U0001f600" * 56,
        "picture": "https://pictures.example/" + f"{number:04}".rjust(487, "x"),
        "country": "DE",
        "data": {"text": "x" * (1024 - len('{"text":""}'))},
    },
}
"""The profile of a member by its number: with a name of some letters, and as large as it may be."""


class WithProfiles:
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
        return ProfileAdmin(Profiles(client, "Profiles", self._clock), self._clock)

    def forget(self) -> None:
        """Read profiles as a new process does, without any in its cache."""
        self.board.tables.known_profiles = TtlCache(self._clock, PROFILE_TTL_S)

    def rows(self) -> Iterator[Answer]:
        row = self.board.row
        yield row("a profile", map(self.profile, range(MAX_MEMBERS)))
        for limit in (100, SHOWN):
            self.forget()
            top = partial(pages.page, limit=limit, cursor=None)
            yield row(f"top {limit:,}, without profiles", [self.read(top, shown=False)])
            yield row(f"top {limit:,}, with profiles", [self.read(top)])
            yield row(f"top {limit:,}, with profiles, again within a minute", [self.read(top)])
        self.forget()
        rank = partial(member_ranks.rank, member=self.order[0])
        yield row("rank of a member, without its profile", [self.read(rank, shown=False)])
        yield row("rank of a member, with its profile", [self.read(rank)])
        yield row("search in all, 20 found", [self.search(None, MAX_FOUND)])
        yield row("search on a board, 20 found among the first 50", [self.search(self.board.name, MAX_FOUND)])
        yield row(f"search on a board, none found among {MAX_LOOKED_AT}", [self.search(ANOTHER, 0)])
        yield from self.changes()

    def profile(self, number: int) -> Question:
        member, expected = self.order[number], self.kind(number)
        return (
            lambda: profiles.profile(self.board.answers.session(), member),
            lambda answer: answer["name"] == expected["name"],
        )

    def read(self, read: Callable[..., Answer], *, shown: bool = True) -> Question:
        """Read a page or a rank, with the profiles that the process has or reads."""

        def ask() -> Answer:
            reader = self.board.about("all")
            answer = read(reader)
            return profiles.show_profiles(reader.session, answer) if shown else answer

        return ask, lambda answer: self.is_right(answer.get("entries", [answer]), shown=shown)

    def is_right(self, entries: Sequence[Answer], *, shown: bool) -> bool:
        """Return whether the first members are there, with or without their profiles."""
        return all(
            entry["member"] == self.order[number]
            and (entry["profile"]["name"] == self.kind(number)["name"] if shown else "profile" not in entry)
            for number, entry in enumerate(entries)
        )

    def search(self, board: str | None, count: int) -> Question:
        """Search for the names that all members have, on a board or in all."""
        return (
            lambda: profiles.search(self.board.answers.session(), name="ada", board=board, limit=MAX_FOUND),
            lambda answer: [one["member"] for one in answer["members"]] == self.order[:count],
        )

    def changes(self) -> Iterator[Answer]:
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


# ---- the result and its tables


def boards(*, small: bool) -> Iterator[tuple[int, str, Callable[[], Iterable[Answer]]]]:
    """Yield the members and the name of each board whose reads are rows of one form, and what measures them."""
    for count in SMALL if small else SIZES:
        yield count, f"{SHARDS} shards", partial(sharded, count)
        yield count, "`all` and `day`", partial(periods, count)
    yield 2 * EQUALS, "equals", equals
    yield 0, "boards", directory
    yield 0, "events", statuses
    for count, kind in product((SMALLEST,), KINDS) if small else (*product(SIZES, KINDS), (LARGEST, LARGE)):
        yield count, kind, partial(rolling, count, kind)
    histories = SMALL if small else HISTORIES
    for count in histories:
        most = MAX_PERIODS if count == min(histories) and not small else FEW_DAYS
        yield count, CALENDAR, partial(history_of_days, count, most)
        yield count, ROLLING, partial(history_of_a_window, count)
        for board, shards in WITH_ME.items():
            yield count, board, partial(beside_pages, count, shards)
    for board, profile in PROFILES.items():
        yield MEMBERS, board, WithProfiles(profile).rows


def measure(out: Output) -> Answer:
    gc.disable()  # it would search a million rows for cycles again and again
    result: Answer = {"reads": [], "changes": []}

    def keep(members: int, board: str, rows: Iterable[Answer]) -> None:
        for row in rows:
            print(members, board, row, flush=True)
            result["changes" if "change" in row else "reads"].append({"members": members, "board": board, **row})
        gc.collect()  # A board takes gigabytes

    for count in SMALL if out.small else SIZES:
        for kind, draw in POPULATIONS.items():
            keep(count, kind, usual(*placed(count, draw)))
    for count, name, rows in boards(small=out.small):
        keep(count, name, rows())
    return {**result, "answers_checked": sum(row["asked"] for row in result["reads"]), "answers_wrong": 0}


def of_boards(result: Result, names: Iterable[str]) -> list[Mapping[str, Any]]:
    return [row for name in names for row in result["reads"] if row["board"] == name]


def _cost(row: Mapping[str, Any]) -> str:
    return f"{row['read_units_most']:,g} ({row['round_trips_most']})"


def of_rankings(result: Result) -> Iterator[str]:
    rows = (row for row in of_boards(result, POPULATIONS) if row["read"] not in ALIKE)
    return crossed("read", ((row["read"], f"{row['board']}, {row['members']:,}", _cost(row)) for row in rows))


def of_short(result: Result) -> Iterator[str]:
    """Return the table of the reads that people ask for most, in a calendar and in a rolling window."""
    window = f"`{SHIPPED.windows[-1]}`"
    rolling = [(read, cost) for board, read, cost in of_kinds(result) if board.startswith(window)]
    cells = (
        *((row["read"], f"{row['members']:,} members", _cost(row)) for row in of_boards(result, [FEW])),
        *((read, f"{window}, up to {LARGEST:,} members", f"{cost[0]:g} ({cost[1]})") for read, cost in _most(rolling)),
    )
    return crossed("read", sorted((cell for cell in cells if cell[0] in USUAL), key=lambda cell: USUAL.index(cell[0])))


Cost = tuple[float, int, int]
"""Units, round trips and entries."""
_Name = TypeVar("_Name")


def of_kinds(result: Result) -> Iterator[tuple[str, str, Cost]]:
    """Yield the board, the read and the cost of each read of a rolling window, whatever the moment."""
    for row in of_boards(result, KINDS):
        read = next(row["read"].removesuffix(f", {when}") for when in WHEN if row["read"].endswith(f", {when}"))
        yield row["board"], read, (row["read_units_most"], row["round_trips_most"], row["entries_most"])


def _most(costs: Iterable[tuple[_Name, Cost]]) -> Iterable[tuple[_Name, Cost]]:
    """Return the most units, round trips and entries by name."""
    most: dict[_Name, Cost] = {}
    for name, (units, trips, entries) in costs:
        before = most.get(name, (0.0, 0, 0))
        most[name] = (max(before[0], units), max(before[1], trips), max(before[2], entries))
    return most.items()


def of_windows(result: Result) -> Iterator[str]:
    """Return the table of rolling windows: the most of all sizes and moments, with the list items that are read."""
    costs = _most(((board, read), cost) for board, read, cost in of_kinds(result))
    return crossed(
        "board",
        (
            (board, read, f"{units:g} ({trips}{f', {entries:,}' if entries else ''})")
            for (board, read), (units, trips, entries) in costs
        ),
    )


def of_profiles(result: Result) -> Iterator[str]:
    reads = (
        (row["read"], row["board"], _cost(row))
        for row in of_boards(result, PROFILES)
        if "without" not in row["read"] and "1,000" not in row["read"]
    )
    changes = (
        (f"change: {row['change']}", row["board"], f"{row['write_units']:g} write units (1)")
        for row in result["changes"]
        if row["change"] in ("a first profile", "another name")
    )
    return crossed("read or change", (*reads, *changes))


def of_others(result: Result) -> Iterator[Row]:
    """Return the reads of other boards, on the largest board on which each was measured."""
    largest = {(row["board"], row["read"]): row for row in sorted(of_boards(result, OTHERS), key=_members)}
    for name in OTHERS:
        for (board, read), row in largest.items():
            if board == name and (board in MANY_READS or read not in USUAL) and read not in ALIKE:
                yield {**row, "cost": _cost(row)}


def _members(row: Row) -> int:
    return int(row["members"])


USUAL: Final = (
    *("rank of a member", "top 100", "around a member, 5 on each side", "100 at the middle"),
    "ranks of a group of 100",
)
"""The reads of the short table."""
ALIKE: Final = (
    *("11 around a member", "100 at position 1,000", "history of 2 periods", "list of 100 boards"),
    *(f"{read} {EQUALS:,} equals" for read in ("rank of a member, ordinal, in the middle of", "100 at the middle of")),
)
"""Reads that the tables leave out, because another one is like it."""
MANY_READS: Final = (f"{SHARDS} shards",)
"""The other boards whose usual reads are in the table too."""
OTHERS: Final = (*MANY_READS, "`all` and `day`", "equals", CALENDAR, ROLLING, *WITH_ME, "boards", "events")
TABLES: Final[dict[str, Lines]] = {
    "reads": of_rankings,
    "others": Table(
        "board | read | members | units (round trips) | entries",
        "{board} | {read} | {members:,} | {cost} | {entries}",
        lambda result: (
            {**row, "entries": f"{row['entries_most']:,}" if row["entries_most"] else ""} for row in of_others(result)
        ),
    ),
    "rolling": of_windows,
    "profiles": of_profiles,
}
BENCHMARK: Final = Benchmark(
    "reads",
    measure,
    {
        "docs/performance.md": {"reads": of_short},
        "docs/performance-tables.md": TABLES,
        "docs/comparison.md": {"comparison": of_peers},
        "README.md": {"peers": partial(of_peers, short=True)},
    },
    "make reads",
)
