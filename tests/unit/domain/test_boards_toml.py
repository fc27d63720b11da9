"""`boards.toml`: what it says, every mistake with its line, and how large it lets members' items become."""

from pathlib import Path

import pytest

from check_boards import main
from standings.domain.boards import Family, Metric, Prize
from standings.domain.boards_toml import DefinitionError, most_bytes, parse_boards
from standings.domain.windows import DAY
from standings.runtime.environment import BOARDS_FILE

POINTS = 'metrics.points = { aggregate = "sum", windows = ["all", "day", "week", "last-7-days"] }'
RUNS = 'metrics.runs = { aggregate = "sum", windows = ["week"] }'
WEEK = 'settle = ["week"]'
GOLD = '{ ranks = "1", name = "gold" }'


def family(*lines: str) -> str:
    """A family whose first metric is in line 2; these are the lines from 3 on."""
    return "\n".join(('[boards."b*"]', POINTS, *lines))


def metric(keys: str, name: str = "points") -> str:
    """A family of one metric, in line 2."""
    return f'[boards."b*"]\nmetrics.{name} = {{ {keys} }}'


def ties(tie_breaks: str, penalty: str = 'metrics.penalty = { aggregate = "sum", order = "ascending" }') -> str:
    """A family whose metric in line 2 has tie-breaks."""
    best = 'metrics.best = { aggregate = "max" }'
    return "\n".join((total(f'windows = ["all", "day", "last-3-days"], tie_breaks = {tie_breaks}'), penalty, best))


def total(keys: str) -> str:
    return metric(f'aggregate = "sum", {keys}')


def prize(keys: str) -> str:
    """A family with one prize, in line 4."""
    return family(WEEK, f"prizes.week = [{{ {keys} }}]")


def parsed(text: str) -> Family:
    (found,) = parse_boards(text).families
    return found


def points_of(text: str) -> Metric:
    return parsed(text).metrics["points"]


def test_the_shipped_file_has_two_families() -> None:
    boards = parse_boards(BOARDS_FILE.read_text(encoding="utf-8"))
    default, demo = boards.family("anything"), boards.family("demo-run")

    assert default is not None
    assert demo is not None
    assert [w.name for w in default.metrics["points"].windows] == ["all", "day", "last-7-days"]
    assert [w.name for w in demo.metrics["points"].windows] == ["all", "day", "week", "month", "year", "last-7-days"]
    assert demo.timetable.late == 35 * DAY


@pytest.mark.parametrize(
    ("board", "pattern"),
    [
        ("berl-1", "be??-*"),
        ("bern-x", "be??-*"),
        ("be-1", "be*-?"),  # as long as be*-1, and before it
        ("be-10", "b*"),
        ("zurich", None),
    ],
)
def test_the_longest_match_wins_then_the_first_in_the_file(board: str, pattern: str | None) -> None:
    patterns = ["b*", "be*-?", "be*-1", "be??-*"]
    found = parse_boards("\n".join(f'[boards."{one}"]\n{POINTS}' for one in patterns)).family(board)

    assert (found and found.pattern) == pattern


def test_a_family_announces_and_settles_what_it_says() -> None:
    nothing = parsed(family())
    found = parsed(family(RUNS, WEEK, 'prizes.week = [{ ranks = "1", name = "gold", metric = "runs" }]'))

    assert (nothing.announce, nothing.endings.settle, nothing.endings.prizes) == ({}, (), {})
    assert found.endings.prizes == {"week": (Prize("gold", "runs", 1, 1),)}


@pytest.mark.parametrize(("members", "last"), [(0, 0), (1, 1), (10, 1), (11, 2), (20, 2), (1_000_001, 100_001)])
def test_a_share_of_the_members_is_rounded_up(members: int, last: int) -> None:
    assert Prize("top", "points", 1, 0, 10).last_rank(members) == last
    assert Prize("silver", "points", 2, 3).last_rank(members) == 3


SEASONAL = '[boards."b*"]\nmetrics.points = { aggregate = "sum", windows = ["all", "season"] }\n'


def season(name: str = '"winter"', starts: str = '"2026-12-01"', ends: str = '"2027-03-01"', more: str = "") -> str:
    """The five lines of a season; without those whose value is empty."""
    given = (("name", name), ("starts", starts), ("ends", ends))
    said = "".join(f"{key} = {value}\n" for key, value in given if value)
    return f'[[boards."b*".seasons]]\n{said}{more}\n'


WINTER, SPRING = season(), season('"spring"', '"2027-03-01"', '"2027-06-01"')
TOO_EARLY = season('"spring"', '"2027-02-28"', '"2027-06-01"')


def test_a_season_is_its_name_start_and_end() -> None:
    (index,) = parsed(SEASONAL + WINTER).timetable.seasons.indexes

    assert index in parsed(SEASONAL + SPRING + WINTER).timetable.seasons
    for other in (season('"cold"'), season(starts='"2026-12-02"'), season(ends='"2027-03-02"')):
        assert index not in parsed(SEASONAL + other).timetable.seasons


METRIC = "expected a metric's name: a-z, then up to 63 of a-z 0-9 _, got 'Points'"
SPAN = 'expected a span such as "7 days", "36 hours" or "90 minutes", got'
ZONE = 'timezone: expected an IANA time zone such as "Europe/Berlin", got'
RANK = 'a: ranks: expected a rank such as "1" or ranks such as "2-3", got'
PERCENT = "a: percent: expected a whole number from 1 to 100, got"
UNIT = 'unit: expected time, where numbers are seconds, or a text of 1 to 16 characters such as "km", got'
TOP = "top: expected a whole number from 1 to 100, got"
SHARDS = "shards: expected a whole number from 1 to 64, got"
PRECISION = "precision: expected a whole number from 0 to 9, got"
NAME = 'name: expected a name such as "winter-2026": a-z, then up to 31 of a-z 0-9 -, got'
DATE = 'expected a day in quotes such as "2026-12-01", from 1970 to 2999, got'
OVERLAP = "'winter' and 'spring' overlap: expected each season to end by the day on which the next starts"
MISTAKES: list[tuple[str, int, str]] = [
    # Scores that are not ranked.
    (total('windows = ["all"], ranked_from = "1"'), 2, "ranked_from: expected a number, got '1'"),
    (total('windows = ["all"], ranked_from = 0.5'), 2, "ranked_from: expected a whole number, got 0.5"),
    (total("ranked_from = 1"), 2, "ranked_from: expected windows, in which the metric ranks: add them, or remove it"),
    # Families.
    ("", 1, "boards: expected a family of boards"),
    ("# a comment\nboards = 3", 2, "boards: expected a family of boards"),
    ("boards.b = 3", 1, "b: expected a table, got 3"),
    ("\n# a comment\n\nx = 1\n", 4, "x: unknown key, expected families of boards"),
    ('[boards."*"]\nlate = ', 2, "Invalid value"),
    ('[boards."*"]\nmetrics.km = {\n aggregate = "sum" }', 2, "an inline table is one line, from { to }"),
    ('[boards."*"]\nmetrics.km = { aggregate = "sum",  # a comment\n}', 2, "an inline table is one line"),
    (f"{family()}\n{family()}", 3, "Cannot declare"),
    ('[boards."*"]\n', 1, "metrics: expected 1 to 20 metrics, got 0"),
    ('[boards."*"]\nmetrics = {}', 2, "metrics: expected 1 to 20 metrics, got 0"),
    ('[boards."*"]\nmetrics = 3', 2, "metrics: expected 1 to 20 metrics, got 3"),
    ("\n".join(['[boards."*"]', *[POINTS.replace("points", f"m{n}") for n in range(21)]]), 2, "metrics, got 21"),
    (f'[boards."a/b"]\n{POINTS}', 1, "a/b: expected a pattern of letters, digits, . _ : - and * ? [ ] !, got 'a/b'"),
    (family("# a comment", "", "colour = 1"), 5, "colour: unknown key, expected one of announce, expires, keep, late"),
    (family('timezone = "Mars/Olympus"'), 3, f"{ZONE} 'Mars/Olympus'"),
    (family('timezone = "../etc/passwd"'), 3, ZONE),
    (family("timezone = 1"), 3, f"{ZONE} 1"),
    (family('week_start = "someday"'), 3, "week_start: expected one of monday"),
    *((family(f"late = {text}"), 3, f"late: {SPAN} {said}") for text, said in (('"7"', "'7'"), ("7", "7"))),
    (family('late = "401 days"', 'keep = "401 days"'), 3, "expected at most 400 days, got '401 days'"),
    (family('late = "36 days"'), 3, "late: expected keep to be at least as long as late"),
    (family('late = "2 days"', 'keep = "1 day"'), 4, "keep: expected keep to be at least"),
    (family('members = "closed"'), 3, "members: expected one of open, registered, got 'closed'"),
    *((family(f"shards = {text}"), 3, f"{SHARDS} {text.title()}") for text in ("0", "65", "true")),
    # Metrics.
    (metric('aggregate = "sum"', "Points"), 2, METRIC),
    ('[boards."*"]\nmetrics.points = "sum"', 2, "points: expected a table"),
    (metric(""), 2, "aggregate: expected one of sum, max, min, last, got none"),
    (metric('aggregate = "sum", colour = 1'), 2, "colour: unknown key, expected one of aggregate, least"),
    (metric('aggregate = "avg"'), 2, "aggregate: expected one of sum, max, min, last, got 'avg'"),
    *((total(f"precision = {text}"), 2, f"{PRECISION} {text.title()}") for text in ("10", "true", "1.5")),
    (total('order = "up"'), 2, "order: expected one of descending, ascending, got 'up'"),
    (total('ties = "last"'), 2, "ties: expected one of member, first, got 'last'"),
    (total('windows = "all"'), 2, 'windows: expected a list such as ["all", "last-7-days"], got \'all\''),
    (total("windows = [7]"), 2, "windows: expected a list such as"),
    (total('windows = ["all", "all"]'), 2, "windows: expected each window once"),
    (total('windows = [\n  "all",\n  "decade",\n]'), 2, "'decade'"),
    ('[boards."*"]\n[boards."*".metrics.points]\naggregate = "sum"\nwindows = ["x"]', 4, "'x'"),
    (total("least = true"), 2, "least: expected a number, got True"),
    (total('most = "9"'), 2, "most: expected a number, got '9'"),
    (total("most = inf"), 2, "most: expected a number, got Infinity"),
    (total("most = 1.005, precision = 2"), 2, "most: expected at most 2 decimals, got 1.005"),
    (total(f"most = 1.{'0' * 40}1"), 2, "most: expected a whole number, got 1.000"),
    (total("most = 9007199254740992"), 2, "most: expected at most ±(2^53 - 1) units of 0 decimals, got 9007"),
    (total("least = 2, most = 1.5, precision = 1"), 2, "expected least to be no more than most, got 2 and 1.5"),
    (ties('["penalty", "level"]'), 2, "tie_breaks: expected other metrics of this family (penalty, best), got 'level'"),
    (ties('["points"]'), 2, "tie_breaks: expected no circle, got points by points: remove one of these names"),
    (ties('["penalty", "penalty"]'), 2, "tie_breaks: expected each metric once, got ['penalty', 'penalty']"),
    (ties('["a", "b", "c", "d"]'), 2, "tie_breaks: expected at most 3 metrics, got 4: remove the last ones"),
    (ties('"penalty"'), 2, "tie_breaks: expected a list of metrics such as [\"penalty\"], got 'penalty'"),
    (
        ties('["penalty"]', 'metrics.penalty = { aggregate = "sum", tie_breaks = ["points"] }'),
        2,
        "tie_breaks: expected no circle, got points by penalty by points: remove one of these names",
    ),
    (
        ties("[]", 'metrics.penalty = { aggregate = "max", tie_breaks = ["best"] }'),
        3,
        "tie_breaks: of max, expected metrics of the event that made the number, got 'best': define it with",
    ),
    (
        ties('["penalty"]', 'metrics.penalty = { with = "best" }'),
        2,
        "tie_breaks: of a sum, expected metrics with an aggregate of their own, got 'penalty' with 'best'",
    ),
    (
        ties("[]", 'metrics.penalty = { with = "best" }'),
        3,
        "with: expected a tie-break of 'best': add 'penalty' to its",
    ),
    (
        ties("[]", 'metrics.penalty = { with = "points" }'),
        3,
        "with: expected a metric with aggregate max, min or last (best), got 'points': name one of these, or give",
    ),
    (
        ties("[]", 'metrics.penalty = { with = "bast" }'),
        3,
        "with: expected a metric with aggregate max, min or last (best)",
    ),
    (ties("[]", "metrics.penalty = { with = 1 }"), 3, 'with: expected a metric such as "best", got 1'),
    (
        ties("[]", 'metrics.penalty = { with = "best", windows = ["all"] }'),
        3,
        "windows: unknown key, expected one of least, most, order, precision, unit, with",
    ),
    *(
        (total(f"unit = {text}"), 2, f"{UNIT} {text}")
        for text in ("''", "' km'", "'Time'", "'times'", "7", f"'{'k' * 17}'")
    ),
    (metric('aggregate = "max", notes = "yes"'), 2, "notes: expected true or false, got 'yes'"),
    (total("notes = true"), 2, "notes: expected max, min or last: a sum comes from many events"),
    # Announcements.
    (family("announce = 10"), 3, "announce: expected tops by window such as day = { top = 10 }, got 10"),
    (family("announce.day = 10"), 3, "day: expected a length such as { top = 10 }, got 10"),
    (family("announce.month = { top = 10 }"), 3, "month: expected a window that a metric is ranked in"),
    (family("announce.last-7-days = { top = 10 }"), 3, "last-7-days: expected all, a calendar window or season"),
    (family("", "announce.day = { first = 10 }"), 4, "first: unknown key, expected one of top"),
    (family("announce.day = {}"), 3, f"{TOP} none"),
    *((family(f"announce.day = {{ top = {text} }}"), 3, f"{TOP} {text.title()}") for text in ("0", "101", "true")),
    # Settlements and prizes.
    (family('settle = "week"'), 3, "settle: expected a list such as"),
    (family('settle = ["week", "week"]'), 3, "settle: expected a list such as"),
    (family('settle = ["hour"]'), 3, "settle: expected windows of day, week, month, year, season, got 'hour'"),
    (family('settle = ["last-7-days"]'), 3, "settle: expected windows of day"),
    (family("settle = [7]"), 3, "settle: expected windows of day"),
    (family('settle = ["month"]'), 3, "settle: expected a window that a metric is ranked in, got 'month'"),
    (family('late = "3 days"', 'keep = "4 days"', WEEK), 5, "expected keep to be at least 2 days longer than late"),
    (family('expires = "8 days"'), 3, "expected at least late and 2 days, 9 days in all, got 8 days: lengthen it"),
    (family('expires = "15 days"', WEEK), 3, "settled (7 days), late and 2 days, 16 days in all, got 15 days"),
    (family("expires = 60"), 3, "expires: expected a span such as"),
    (family("prizes = 3"), 3, "prizes: expected prizes by window"),
    (family(f"prizes.week = [{GOLD}]"), 3, "week: expected a window that settle names (none)"),
    (family('settle = ["day"]', f"prizes.week = [{GOLD}]"), 4, "week: expected a window that settle names (day)"),
    (family(WEEK, "prizes.week = []"), 4, "week: expected a list of 1 to 20 prizes"),
    (family(WEEK, f"prizes.week = [{', '.join([GOLD] * 21)}]"), 4, "week: expected a list of 1 to 20 prizes"),
    (family(WEEK, "prizes.week = [3]"), 4, 'prizes such as [{ ranks = "1", name = "gold" }], got [3]'),
    (family(WEEK, f"prizes.week = [{GOLD}, {GOLD}]"), 4, "expected each name once for a metric"),
    (family(RUNS, WEEK, f"prizes.week = [{GOLD}]"), 5, 'rank in this window, so add metric = "points"'),
    (prize('rank = "1", name = "a"'), 4, "rank: unknown key"),
    (prize('ranks = "1", name = "a", method = "dense"'), 4, "method: expected one of competition, ordinal"),
    (prize('ranks = "1", name = "Gold"'), 4, "name: expected a-z, then up to 31 of a-z 0-9 -, got 'Gold'"),
    (prize('ranks = "1"'), 4, "name: expected a-z"),
    (prize('name = "a"'), 4, "a: expected either ranks or percent"),
    (prize('ranks = "1", percent = 1, name = "a"'), 4, "a: expected either ranks or percent"),
    (prize('ranks = 1, name = "a"'), 4, f"{RANK} 1"),
    *((prize(f'ranks = "{text}", name = "a"'), 4, f"{RANK} '{text}'") for text in ("3-2", "0")),
    *((prize(f'percent = {text}, name = "a"'), 4, f"{PERCENT} {text}") for text in ("0", "101", "1.5")),
    # Seasons.
    (SEASONAL, 2, 'windows: expected seasons for the window "season": add [[boards."b*".seasons]] with name'),
    (f"{family()}\n{WINTER}", 3, 'seasons: expected a metric with the window "season": add it to its windows'),
    (f"{SEASONAL}seasons = 3", 3, 'seasons: expected tables such as [[boards."b*".seasons]], got 3'),
    (f'{SEASONAL}seasons = ["winter"]', 3, "seasons: expected tables such as"),
    (SEASONAL + season(more='color = "red"'), 7, "color: unknown key, expected one of ends, name, starts"),
    (SEASONAL + season(name=""), 3, f"{NAME} none"),
    (SEASONAL + season(name='"Winter"'), 4, f"{NAME} 'Winter'"),
    (SEASONAL + season(name=f'"{"w" * 33}"'), 4, NAME),
    (SEASONAL + season(name="7"), 4, f"{NAME} 7"),
    (SEASONAL + season(starts=""), 3, f"starts: {DATE} none"),
    (SEASONAL + season(starts="2026-12-01"), 5, f"starts: {DATE} 2026-12-01"),
    *(
        (SEASONAL + season(starts=f'"{text}"'), 5, f"starts: {DATE} '{text}'")
        for text in ("1 December", "2026-02-30", "1969-12-31")
    ),
    (SEASONAL + season(ends='"3000-01-01"'), 6, f"ends: {DATE} '3000-01-01'"),
    (SEASONAL + season(ends='"2026-12-01"'), 6, "ends: expected a day after starts (2026-12-01), got 2026-12-01"),
    (SEASONAL + WINTER + WINTER, 9, "name: expected another name, there is a season 'winter' already"),
    (SEASONAL + WINTER + TOO_EARLY, 10, f"starts: {OVERLAP}"),
    (SEASONAL + TOO_EARLY + WINTER, 10, f"starts: {OVERLAP}"),
    (SEASONAL + WINTER * 101, 3, "seasons: expected at most 100 seasons, got 101: remove the oldest"),
]


@pytest.mark.parametrize(("text", "line", "reason"), MISTAKES, ids=[reason for _, _, reason in MISTAKES])
def test_a_mistake_is_an_error_with_its_line(text: str, line: int, reason: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        parse_boards(text)

    assert reason in caught.value.reason
    assert caught.value.line == line


@pytest.mark.parametrize(
    "text",
    [
        family("shards = 64", 'late = "400 days"', 'keep = "400 days"'),
        family('late = "3 days"', 'keep = "5 days"', WEEK),
        family(WEEK, f"prizes.week = [{', '.join(GOLD.replace('gold', f'gold-{n}') for n in range(20))}]"),
        family(WEEK, 'prizes.week = [{ percent = 100, name = "a" }, { ranks = "999999999", name = "b" }]'),
        total("precision = 9, least = -9007199.254740991, most = 9007199.254740991"),
        total("least = 1, most = 1"),
        "\n".join(['[boards."*"]', *[POINTS.replace("points", f"m{n}") for n in range(20)]]),
        SEASONAL + season(starts='"1970-01-01"', ends='"2999-12-31"'),
        SEASONAL + "".join(season(f'"s{n}"', f'"{2000 + n}-01-01"', f'"{2000 + n}-01-02"') for n in range(100)),
    ],
)
def test_each_bound_is_allowed_itself(text: str) -> None:
    assert len(parse_boards(text).families) == 1


def test_the_command_that_the_build_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "boards.toml"
    file.write_text(f'[boards."*"]\nlate = "soon"\n{family("shards = 0")}\n[boards."c"]\n{POINTS}\n', encoding="utf-8")

    assert main([str(file)]) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert "boards.toml:2: late: expected a span such as" in first
    assert second.startswith("boards.toml:5: shards: expected a whole number")
    assert main([str(tmp_path / "nowhere.toml")]) == 1
    assert main([]) == 0


def test_limits_are_whole_numbers_of_units_and_give_a_number_no_other_name() -> None:
    limited = points_of(total("precision = 2, least = -0.5, most = 12"))

    assert (limited.least, limited.most) == (-50, 1_200)
    assert limited.total() == points_of(total("precision = 2, least = 0")).total()


def test_names_of_numbers_tell_definitions_apart() -> None:
    def codes(lines: str, keys: str = "") -> list[set[str]]:
        windows = 'aggregate = "sum", windows = ["all", "day", "week", "last-7-days"]'
        points = points_of(f'[boards."*"]\n{lines}\nmetrics.points = {{ {windows}{keys} }}')
        return [{points.total()}, {points.bucket("d", 1)}, {points.bucket("w", 1)}, set(points.ranking_codes.values())]

    base = codes("")

    assert codes('late = "1 day"\nkeep = "9 days"') == base
    assert not any(one & other for one, other in zip(codes("", ", precision = 1"), base, strict=True))
    zone = codes('timezone = "Europe/Berlin"')
    assert (zone[0], zone[1] & base[1]) == (base[0], set())
    assert len(zone[3] & base[3]) == 1  # `all` has no zone
    sunday = codes('week_start = "sunday"')
    assert (sunday[0], sunday[1], sunday[2] & base[2]) == (base[0], base[1], set())
    assert not codes("", ', order = "ascending"')[3] & base[3]


def test_metrics_whose_codes_collide_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("standings.domain.boards._code", lambda *_: "a1b")

    with pytest.raises(DefinitionError, match="rename 'b'"):
        parse_boards('[boards."*"]\nmetrics.a = { aggregate = "sum" }\nmetrics.b = { aggregate = "sum" }')


def noted(windows: str, lines: str = "", *, notes: str = "true") -> str:
    return f'[boards."*"]\n{lines}\nmetrics.best = {{ aggregate = "max", notes = {notes}, windows = [{windows}] }}\n'


def lasts(count: int) -> str:
    """Metrics of which each score keeps the id of its event."""
    each = 'aggregate = "last", windows = ["last-90-days", "last-90-hours"]'
    return '[boards."*"]\n' + "".join(f"metrics.m{number} = {{ {each} }}\n" for number in range(count))


DAYS = '"day", "last-90-days"'
LATE = 'late = "90 days"\nkeep = "90 days"'


@pytest.mark.parametrize(
    ("refused", "bound", "size", "accepted"),
    [
        (noted(DAYS, LATE), "100,000", r"1\d\d,\d{3}", noted(DAYS, LATE, notes="false")),
        (lasts(2), "400,000", r"57\d,\d{3}: ", lasts(1)),  # what DynamoDB takes
    ],
)
def test_a_family_whose_items_could_be_too_large_is_refused(refused: str, bound: str, size: str, accepted: str) -> None:
    with pytest.raises(DefinitionError, match=f"expected members' items of at most {bound} bytes, got up to {size}"):
        parse_boards(refused)
    parse_boards(accepted)


def test_an_item_is_as_large_as_its_buckets_make_it() -> None:
    assert most_bytes(parsed(noted('"all", "day"', notes="false")), late=True) < 3_000
    # Some 38 days and the total, each with a value, an event's id of up to 512 bytes, and a note.
    assert 30_000 < most_bytes(parsed(noted('"all", "day"')), late=True) < 40_000


def test_an_item_holds_the_seasons_of_800_days() -> None:
    def bytes_with(*years: int) -> int:
        seasons = (f'{{ name = "s{year}", starts = "{year}-01-01", ends = "{year}-07-01" }}' for year in years)
        return most_bytes(parsed(noted('"all", "season"') + f"seasons = [{', '.join(seasons)}]"), late=True)

    one = bytes_with(2026)
    assert bytes_with(2016, 2026, 2036) == one
    assert bytes_with(2026, 2027) > one
    assert bytes_with(*range(2000, 2090)) == bytes_with(2026, 2027, 2028)


def test_a_tie_break_keeps_buckets_for_the_windows_that_name_it() -> None:
    found = parsed(ties('["penalty"]')).metrics
    penalty = found["penalty"]

    assert (penalty.windows, penalty.bucket_codes.keys()) == ((), found["points"].bucket_codes.keys())
    assert found["best"].bucket_codes == {}
    assert all(
        penalty.expires(unit, index) == found["points"].expires(unit, index)
        for unit in penalty.bucket_codes
        for index in (20_770, 20_778)
    )


@pytest.mark.parametrize(
    "other",
    [
        ties('["best"]'),
        ties('["penalty", "best"]'),
        ties('["penalty"]', 'metrics.penalty = { aggregate = "sum" }'),
        ties('["penalty"]', 'metrics.penalty = { aggregate = "max", order = "ascending" }'),
        ties('["penalty"]', 'metrics.penalty = { aggregate = "sum", order = "ascending", precision = 1 }'),
        ties("[]"),
    ],
)
def test_other_tie_breaks_make_other_rankings_and_the_same_numbers(other: str) -> None:
    here, there = points_of(ties('["penalty"]')), points_of(other)

    assert not set(here.ranking_codes.values()) & set(there.ranking_codes.values())
    assert (here.total(), here.bucket_codes) == (there.total(), there.bucket_codes)


def test_without_tie_breaks_rankings_have_the_codes_that_they_had() -> None:
    # Those of version 0.3, which docs/architecture.md shows.
    assert points_of(metric('aggregate = "sum", windows = ["all", "day", "last-7-days"]')).ranking_codes == {
        "all": "G0Pa",
        "day": "q8Qd",
        "last-7-days": "i4q7d",
    }
    assert points_of(ties('["penalty", "best"]')).ranking_codes["day"][3:] == "..d"
