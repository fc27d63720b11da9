"""A change of `boards.toml` is noticed once it is written, and its mistakes are said with their lines."""

from pathlib import Path

import pytest

from demo.definitions import WatchedBoards, mistakes

RIGHT = '[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all"] }\n'
WRONG = f"{RIGHT}colour = 1\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (path := tmp_path / "boards.toml").write_text(RIGHT, encoding="utf-8")
    return path


def looks(watched: WatchedBoards, times: int = 3) -> list[str]:
    return [text for text in (watched.changed() for _ in range(times)) if text is not None]


def test_a_change_is_returned_once_and_not_while_it_is_being_written(path: Path) -> None:
    watched = WatchedBoards(path, RIGHT)
    assert looks(watched) == []
    for part in ("", RIGHT[:20], RIGHT[:30]):
        path.write_text(part, encoding="utf-8")
        assert watched.changed() is None
    path.write_text(WRONG, encoding="utf-8")
    assert looks(watched) == [WRONG]
    path.write_text(RIGHT, encoding="utf-8")
    assert looks(watched) == [RIGHT]


def test_what_changed_before_the_first_look_is_returned(path: Path) -> None:
    assert looks(WatchedBoards(path, "what the functions have")) == [RIGHT]


def test_a_file_that_is_away_for_a_moment_has_not_changed(path: Path) -> None:
    watched = WatchedBoards(path, RIGHT)
    path.unlink()
    assert looks(watched) == []
    path.write_text(RIGHT, encoding="utf-8")
    assert looks(watched) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [(WRONG, "boards.toml:3: colour: "), (RIGHT + "[", "boards.toml:3: "), ("\x00", "boards.toml:1: ")],
)
def test_a_mistake_has_its_line(text: str, line: str) -> None:
    assert mistakes("boards.toml", RIGHT) == []
    (mistake,) = mistakes("boards.toml", text)
    assert mistake.startswith(line)
