"""`make bench`: all that can run here runs, what cannot is said first and fails at the end; tables and plots."""

from xml.etree import ElementTree as ET

import pytest

from benchmarks import __main__ as bench
from benchmarks.harness.results_file import REPOSITORY
from benchmarks.measure.speed import starts
from benchmarks.pages.plots import COLOURS, DASHES, plot
from benchmarks.pages.tables import Table, crossed


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace the run of a benchmark; return the names of those that were to run."""
    names: list[str] = []

    def run(name: str, size: str) -> int:
        assert size == "small"
        names.append(name)
        return int(name == "reads")

    monkeypatch.setattr(bench, "run", run)
    monkeypatch.setattr(starts, "BUILDER", REPOSITORY)
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/chromium")
    return names


def test_all_benchmarks_run_but_the_one_that_has_to_be_named(
    ran: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench.main(["--size", "small"]) == 1
    assert ran == [*bench.MODULES, "safeguards"]
    assert capsys.readouterr().err == "failed: reads\n"


def test_a_benchmark_that_lacks_a_program_is_named_before_the_others_run_and_after(
    ran: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(starts, "BUILDER", REPOSITORY / "missing")

    assert bench.main(["--size", "small", "units", "speed", "lanes"]) == 1

    assert ran == ["units", "lanes"]
    printed = capsys.readouterr()
    first = printed.out.splitlines()[0]
    assert first.startswith("speed will be left out: expected ")
    assert printed.err.splitlines() == [first.replace("will be", "was")]
    assert bench.main(["--size", "small", "units", "lanes"]) == 0


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main(["unit"])
    assert "got unit" in capsys.readouterr().err


def test_a_table_has_a_line_for_each_row_or_cells_by_line_and_column() -> None:
    table = Table("what | share", "{name} | {of[all]:.1%}", "rows")
    cells = [("a", "x", "1"), ("a", "y", "2"), ("b", "y", "3")]

    assert list(table({"rows": [{"name": "one", "of": {"all": 0.125}}]})) == [
        "| what | share |",
        "|---|---|",
        "| one | 12.5 % |",
    ]
    assert list(crossed("of", cells)) == ["| of | x | y |", "|---|---|---|", "| a | 1 | 2 |", "| b |  | 3 |"]


def test_a_plot_has_logarithmic_axes_and_lines_that_look_different() -> None:
    root = ET.fromstring(plot("A & B", "members", "units", {"<1>": [(1, 1), (10, 10), (100, 100), (7, 0)]}))  # noqa: S314
    name = "{http://www.w3.org/2000/svg}"
    line = next(path.get("d", "") for path in root.iter(f"{name}path") if path.get("stroke"))
    xs = [float(one) for one in line.removeprefix("M").split()[::2]]

    assert len(xs) == 3
    assert xs[2] - xs[1] == xs[1] - xs[0]
    assert {"A & B", "members", "units", "<1>"} <= {text.text for text in root.iter(f"{name}text")}
    assert len(set(COLOURS)) == len(set(DASHES)) == len(COLOURS)
