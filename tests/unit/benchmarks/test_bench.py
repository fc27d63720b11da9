"""`make bench`: all that can run here runs; what cannot is said first, and fails at the end."""

import pytest

from benchmarks import __main__ as bench
from benchmarks.harness.results_file import REPOSITORY
from benchmarks.measure.speed import starts


def test_a_benchmark_that_fails_or_lacks_a_program_is_named_and_the_others_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[str] = []
    monkeypatch.setattr(bench, "run", lambda name, _: ran.append(name) or name == "reads")  # type: ignore[func-returns-value]
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/chromium")
    monkeypatch.setattr(starts, "BUILDER", REPOSITORY / "missing")

    assert bench.main(["--size", "small"]) == 1
    assert ran == [name for name in (*bench.MODULES, "safeguards") if name != "speed"]
    printed = capsys.readouterr()
    first = printed.out.splitlines()[0]
    assert first.startswith("speed will be left out: expected ")
    assert printed.err.splitlines() == ["failed: reads", first.replace("will be", "was")]
    assert bench.main(["--size", "small", "units", "lanes"]) == 0
