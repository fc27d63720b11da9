"""`standings export`: a whole list, exact on a quiet board, and nobody twice on a moving one."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from standings_cli.terminal.exit_status import DIFFERS, INTERRUPTED, OK, WRONG
from tests.functions.cli.export.conftest import PAGE_SIZE, Session
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack
from tests.support.builders.stages.streaming import apply
from tests.support.thoroughness import seeds

Run = Callable[..., int]
HOSTILE = ('a"b', "a,b", "a\nb", "a\rb", "a\r\nb", "\x1b[31mred", " 用户 ", "=1+1", "\ufeffm")


class Scores:
    """Applies events, and knows each member's sum in hundredths."""

    def __init__(self, stack: Stack, rng: Random) -> None:
        self._stack = stack
        self._rng = rng
        self._count = 0
        self.sums: dict[str, int] = {}

    def move(self, members: list[str]) -> None:
        events = []
        for member in members:
            hundredths = self._rng.choice([100, 200, 250, self._rng.randrange(-500, 5_000)])
            self.sums[member] = self.sums.get(member, 0) + hundredths
            self._count += 1
            at = "2026-11-21T10:00:00Z"
            metrics = {"points": hundredths / 100}
            events.append({"id": str(self._count), "board": "b", "member": member, "at": at, "metrics": metrics})
        apply(self._stack, events)

    def lines(self) -> list[tuple[int, str, float]]:
        """Return the list, by a sort."""
        ordered = sorted(self.sums.items(), key=lambda item: (-item[1], item[0].encode()))
        ranks = {score: 1 + sum(other > score for other in self.sums.values()) for score in self.sums.values()}
        return [(ranks[score], member, score / 100) for member, score in ordered]


def read_csv(text: str) -> list[tuple[int, str, float]]:
    header, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    assert header == ["rank", "member", "score"]
    return [(int(rank), member, float(score)) for rank, member, score in rows]


def read_jsonl(text: str) -> list[tuple[int, str, float]]:
    rows = [json.loads(line) for line in text.removesuffix("\n").split("\n")]
    assert all(list(row) == ["rank", "member", "score"] for row in rows)
    return [tuple(row.values()) for row in rows]


READ = {"csv": read_csv, "jsonl": read_jsonl}


@pytest.fixture
def scores(stack: Stack) -> Scores:
    scores = Scores(stack, Random(7))
    scores.move([*(f"m{n}" for n in range(40)), *HOSTILE])
    return scores


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_on_a_quiet_board_it_is_the_sorted_list(
    run: Run, scores: Scores, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("export", "b", "--format", form) == OK
    printed = capsys.readouterr()
    assert READ[form](printed.out) == scores.lines()
    assert printed.err == ""

    file = tmp_path / "list"
    assert (
        run("export", "b", "--format", form, "--output", str(file), "--window", "day", "--period", "2026-11-21") == OK
    )
    assert READ[form](file.read_bytes().decode()) == scores.lines()
    assert capsys.readouterr().out == f"{file}: 49 members\n"
    assert [path.name for path in tmp_path.iterdir()] == ["list"]


def test_a_board_with_nobody_is_a_header(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("export", "empty") == DIFFERS
    printed = capsys.readouterr()
    assert printed.out == "rank,member,score\n"
    assert "board 'empty' has had no event" in printed.err
    assert run("export", "empty", "--format", "jsonl", "--output", str(tmp_path / "x"), "--json") == DIFFERS
    assert json.loads(capsys.readouterr().out) == {"file": str(tmp_path / "x"), "lines": 0}
    assert (tmp_path / "x").read_bytes() == b""


def test_a_terminal_gets_no_character_that_it_would_interpret(
    run: Run, scores: Scores, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert run("export", "b") == OK
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert len(out.splitlines()) == 1 + len(scores.sums)


@pytest.mark.parametrize("seed", seeds(6, 60))
def test_on_a_moving_board_nobody_stands_twice_and_who_rests_stands_once(
    run: Run, session: Session, stack: Stack, seed: int, tmp_path: Path
) -> None:
    """Members move between pages, and the command is stopped between pages, its file cut or made longer by half a
    line: the lines that count are those of members that never moved, each there once."""
    rng = Random(seed)
    scores = Scores(stack, rng)
    members = [*(f"m{n}" for n in range(rng.randrange(1, 60))), *HOSTILE]
    scores.move(members)
    moved: set[str] = set()
    form = rng.choice(["csv", "jsonl"])
    file = tmp_path / "list"

    def before() -> None:
        if rng.random() < 0.5:
            some = rng.sample(members, rng.randrange(1, 4))
            moved.update(some)
            scores.move(some)
        if rng.random() < 0.3:
            raise KeyboardInterrupt

    session.before = before
    while (status := run("export", "b", "--window", "all", "--format", form, "--output", str(file))) != OK:
        assert status == INTERRUPTED, seed
        if file.exists() and rng.random() < 0.5:
            with file.open("ab") as opened:
                opened.write(rng.choice([b'7,"ha', b'{"rank": 7, "mem', b"1,m0,5\n", b"\xe7\x94"]))

    lines = READ[form](file.read_bytes().decode())
    listed = [member for _, member, _ in lines]
    assert len(set(listed)) == len(listed), seed
    assert set(listed) <= set(members), seed
    resting = [line[1:] for line in scores.lines() if line[1] not in moved]
    assert [line[1:] for line in lines if line[1] not in moved] == resting, seed


def test_a_day_that_was_begun_goes_on_after_midnight(
    run: Run, session: Session, scores: Scores, clock: ManualClock, tmp_path: Path
) -> None:
    file = tmp_path / "list"
    requests = iter(range(99))

    def before() -> None:
        if next(requests) == 4:
            raise KeyboardInterrupt

    session.before = before
    assert run("export", "b", "--window", "day", "--output", str(file)) == INTERRUPTED
    assert len(read_csv(file.read_bytes().decode())) == 3 * PAGE_SIZE
    clock.milliseconds += 86_400_000
    assert run("export", "b", "--window", "day", "--output", str(file)) == OK
    assert read_csv(file.read_bytes().decode()) == scores.lines()


def test_a_file_is_not_overwritten_and_another_list_is_not_mixed_in(
    run: Run, session: Session, scores: Scores, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "list"
    file.write_text("mine")
    where = ("--output", str(file))
    assert run("export", "b", *where) == WRONG
    assert "exists already: name another file, or write it anew with --again" in capsys.readouterr().err
    assert file.read_text() == "mine"

    requests = iter(range(99))

    def before() -> None:
        if next(requests) == 3:
            raise KeyboardInterrupt

    session.before = before
    assert run("export", "b", "--window", "all", "--again", *where) == INTERRUPTED
    assert capsys.readouterr().err == "stopped; run the same command again to continue\n"
    assert run("export", "b", "--window", "day", *where) == WRONG
    assert "was begun as b points all csv, not b points day csv: use the same options" in capsys.readouterr().err
    file.write_text("rank,")
    assert run("export", "b", "--window", "all", *where) == WRONG
    assert "was cut since it was begun: write it anew with --again" in capsys.readouterr().err
    assert run("export", "b", "--window", "all", "--again", *where) == OK
    assert read_csv(file.read_bytes().decode()) == scores.lines()
    assert run("export", "b", "--output", str(tmp_path / "no" / "folder")) == WRONG
    assert "cannot be written" in capsys.readouterr().err
