"""`boards.toml`: what it says, and every mistake with its line."""

from pathlib import Path

import pytest

from check_boards import main
from standings.domain.boards.boards_toml import DefinitionError, parse_boards
from standings.runtime.environment import BOARDS_FILE

GOOD = 'metrics.points = { aggregate = "sum", windows = ["all"] }'


def test_the_shipped_file_has_two_families() -> None:
    boards = parse_boards(BOARDS_FILE.read_text(encoding="utf-8"))
    default, demo = boards.family("anything"), boards.family("demo-run")

    assert default is not None
    assert demo is not None
    assert [w.name for w in default.metrics["points"].windows] == ["all", "day", "last-7-days"]
    assert [w.name for w in demo.metrics["points"].windows] == ["all", "day", "week", "month", "year", "last-7-days"]
    assert demo.timetable.late == 35 * 24 * 3600 * 1000


def test_the_longest_match_wins_then_the_first_in_the_file() -> None:
    patterns = ["*", "be*-?", "be*-1", "be??-*"]
    text = "\n".join(f'[boards."{pattern}"]\n{GOOD}' for pattern in patterns)
    boards = parse_boards(text)

    def pattern(board: str) -> str:
        family = boards.family(board)
        return family.pattern if family else ""

    assert pattern("berl-1") == "be??-*"
    assert pattern("bern-x") == "be??-*"
    assert pattern("be-1") == "be*-?"  # as long as be*-1, and before it
    assert pattern("be-10") == "*"
    assert pattern("zurich") == "*"
    assert parse_boards(f'[boards."a-*"]\n{GOOD}').family("b") is None


def limited(keys: str) -> str:
    return f'[boards."*"]\nmetrics.points = {{ aggregate = "sum", {keys} }}'


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("", 1, "boards: expected a family of boards"),
        ("boards = 3", 1, "boards: expected a family of boards"),
        ("# a comment\nboards = 3", 2, "boards: expected a family of boards"),
        ("\n# a comment\n\nx = 1\n", 4, "x: unknown key"),
        ("x = 1\n", 1, "x: unknown key, expected families of boards"),
        ('[boards."*"]\nlate = ', 2, "Invalid value"),
        ('[boards."*"]\n' + GOOD + '\n[boards."*"]\n', 3, "Cannot declare"),
        ('[boards."*"]\n', 1, "metrics: expected 1 to 20 metrics, got 0"),
        ('[boards."*"]\nmetrics = {}', 2, "metrics: expected 1 to 20 metrics, got 0"),
        (f'[boards."a/b"]\n{GOOD}', 1, "a/b: expected a pattern of letters"),
        (
            f'[boards."*"]\n# a comment\n\ncolour = 1\n{GOOD}',
            4,
            "colour: unknown key, expected one of announce, keep, late, members",
        ),
        (
            f'[boards."*"]\n{GOOD}\ntimezone = "Mars/Olympus"',
            3,
            "timezone: expected an IANA time zone such as \"Europe/Berlin\", got 'Mars/Olympus'",
        ),
        (f'[boards."*"]\n{GOOD}\ntimezone = "../etc/passwd"', 3, "expected an IANA time zone"),
        (f'[boards."*"]\n{GOOD}\ntimezone = 1', 3, "expected an IANA time zone"),
        (f'[boards."*"]\n{GOOD}\nweek_start = "someday"', 3, "week_start: expected one of monday"),
        (
            f'[boards."*"]\n{GOOD}\nlate = "7"',
            3,
            'late: expected a span such as "7 days", "36 hours" or "90 minutes", got \'7\'',
        ),
        (f'[boards."*"]\n{GOOD}\nlate = 7', 3, "got 7"),
        (f'[boards."*"]\n{GOOD}\nlate = "401 days"\nkeep = "401 days"', 3, "expected at most 400 days, got '401 days'"),
        (f'[boards."*"]\n{GOOD}\nlate = "36 days"', 3, "late: expected keep to be at least as long as late"),
        (f'[boards."*"]\n{GOOD}\nlate = "2 days"\nkeep = "1 day"', 4, "keep: expected keep to be at least"),
        (f'[boards."*"]\n{GOOD}\nmembers = "closed"', 3, "members: expected one of open, registered, got 'closed'"),
        (f'[boards."*"]\n{GOOD}\nshards = 0', 3, "shards: expected a whole number from 1 to 64, got 0"),
        (f'[boards."*"]\n{GOOD}\nshards = 65', 3, "from 1 to 64, got 65"),
        (f'[boards."*"]\n{GOOD}\nshards = true', 3, "from 1 to 64, got True"),
        (
            '[boards."*"]\nmetrics.Points = { aggregate = "sum" }',
            2,
            "expected a metric's name: a-z, then up to 63 of a-z 0-9 _, got 'Points'",
        ),
        ('[boards."*"]\nmetrics.points = "sum"', 2, "points: expected a table"),
        ('[boards."*"]\nmetrics.points = { }', 2, "points: expected an aggregate"),
        (
            '[boards."*"]\nmetrics.points = { aggregate = "avg" }',
            2,
            "aggregate: expected one of sum, max, min, last, got 'avg'",
        ),
        (
            '[boards."*"]\nmetrics.points = { aggregate = "sum", precision = 10 }',
            2,
            "precision: expected a whole number from 0 to 9, got 10",
        ),
        ('[boards."*"]\nmetrics.points = { aggregate = "sum", precision = true }', 2, "from 0 to 9, got True"),
        (
            '[boards."*"]\nmetrics.points = { aggregate = "sum", order = "up" }',
            2,
            "expected one of descending, ascending, got 'up'",
        ),
        (
            '[boards."*"]\nmetrics.points = { aggregate = "sum", ties = "last" }',
            2,
            "expected one of member, first, got 'last'",
        ),
        ('[boards."*"]\nmetrics.points = { aggregate = "sum", windows = "all" }', 2, "windows: expected a list"),
        (limited("least = true"), 2, "least: expected a number, got True"),
        (limited('most = "9"'), 2, "most: expected a number, got '9'"),
        (limited("most = inf"), 2, "most: expected a number, got Infinity"),
        (limited("most = 1.005, precision = 2"), 2, "most: expected at most 2 decimals, got 1.005"),
        (limited(f"most = 1.{'0' * 40}1"), 2, "most: expected at most 0 decimals, got 1.000"),
        (limited("most = 9007199254740992"), 2, "most: expected at most ±(2^53 - 1) units, got 9007199254740992"),
        (limited("least = 2, most = 1.5, precision = 1"), 2, "expected least to be no more than most, got 2 and 1.5"),
        (limited("precision = 1.5"), 2, "precision: expected a whole number from 0 to 9, got 1.5"),
        (
            '[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all", "all"] }',
            2,
            "windows: expected each window once",
        ),
        ('[boards."*"]\nmetrics.points = { aggregate = "sum", windows = [\n  "all",\n  "decade",\n] }', 2, "'decade'"),
        ('[boards."*"]\n[boards."*".metrics.points]\naggregate = "sum"\nwindows = ["x"]', 4, "'x'"),
    ],
)
def test_a_mistake_is_told_with_its_line(text: str, line: int, reason: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        parse_boards(text)

    assert reason in caught.value.reason
    assert caught.value.line == line


def test_limits_are_whole_numbers_of_units() -> None:
    (family,) = parse_boards(limited("precision = 2, least = -0.5, most = 12")).families

    metric = family.metrics["points"]
    assert (metric.least, metric.most) == (-50, 1_200)


def test_the_command_that_the_build_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "boards.toml"
    file.write_text('[boards."*"]\nlate = "soon"\n', encoding="utf-8")

    assert main([str(file)]) == 1
    assert "boards.toml:2: late: expected a span such as" in capsys.readouterr().err
    assert main([str(tmp_path / "nowhere.toml")]) == 1
    assert main([]) == 0


def test_limits_give_a_number_no_other_name() -> None:
    (limited_family,) = parse_boards(limited("least = 1, most = 2")).families
    (family,) = parse_boards(limited("least = 0")).families

    assert limited_family.metrics["points"].total() == family.metrics["points"].total()


def test_names_of_numbers_tell_definitions_apart() -> None:
    def codes(family: str, metric: str) -> list[set[str]]:
        parsed = parse_boards(f'[boards."*"]\n{family}\nmetrics.points = {{ aggregate = "sum", {metric} }}').family("b")
        assert parsed is not None
        points = parsed.metrics["points"]
        return [{points.total()}, {points.bucket("d", 1)}, {points.bucket("w", 1)}, set(points.ranking_codes.values())]

    windows = 'windows = ["all", "day", "week", "last-7-days"]'
    base = codes("", windows)

    assert base == codes('late = "1 day"\nkeep = "9 days"', windows)
    for same, one in zip((False, False, False), codes("", f"{windows}, precision = 1"), strict=False):
        assert same is bool(one & base[0] or one & base[1] or one & base[2])
    zone = codes('timezone = "Europe/Berlin"', windows)
    assert zone[0] == base[0]
    assert zone[1] != base[1]
    assert len(zone[3] & base[3]) == 1  # `all` has no zone
    sunday = codes('week_start = "sunday"', windows)
    assert (sunday[0], sunday[1]) == (base[0], base[1])
    assert sunday[2] != base[2]
    assert not codes("", f'{windows}, order = "ascending"')[3] & base[3]


def test_metrics_whose_codes_collide_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("standings.domain.boards.definitions._code", lambda *_: "a1b")

    with pytest.raises(DefinitionError, match="rename 'b'"):
        parse_boards('[boards."*"]\nmetrics.a = { aggregate = "sum" }\nmetrics.b = { aggregate = "sum" }')
