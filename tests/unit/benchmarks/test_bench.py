"""`make bench` on a machine that lacks a program: it says so first, runs the rest, and fails at the end."""

from importlib.util import find_spec

import pytest

from benchmarks import __main__ as bench
from benchmarks.harness.results_file import REPOSITORY
from benchmarks.measure.speed import startup
from tests.support.aws import redis_server


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace the run of a benchmark; return the names of those that were to run."""
    names: list[str] = []

    def run(name: str, size: str) -> int:
        assert size == "small"
        print(f"running {name}")
        names.append(name)
        return 0

    monkeypatch.setattr(bench, "run", run)
    monkeypatch.setattr(redis_server, "find_server", lambda: "/usr/bin/redis-server")
    monkeypatch.setattr(startup, "BUILDER", REPOSITORY)
    return names


@pytest.mark.parametrize("module", bench.MODULES.values(), ids=bench.MODULES)
def test_every_benchmark_is_a_module(module: str) -> None:
    assert find_spec(module) is not None


def test_all_benchmarks_run_where_nothing_is_missing(ran: list[str]) -> None:
    assert bench.main(["--size", "small"]) == 0
    assert ran == [*bench.MODULES]


def test_without_redis_the_rest_runs_and_the_status_is_1(
    ran: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(redis_server, "find_server", lambda: None)

    assert bench.main(["--size", "small"]) == 1

    assert ran == [name for name in bench.MODULES if name != "compared"]
    printed = capsys.readouterr()
    first = printed.out.splitlines()[0]
    assert first.startswith("compared will be left out: ")
    assert "redis-server" in first
    assert printed.err.splitlines()[-1] == first.replace("will be", "was")


def test_failed_and_left_out_benchmarks_are_both_named(
    ran: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(startup, "BUILDER", REPOSITORY / "missing")
    monkeypatch.setattr(bench, "run", lambda name, _: int(name == "reads"))

    assert bench.main(["--size", "small", "reads", "speed", "units"]) == 1

    assert ran == []
    printed = capsys.readouterr()
    assert printed.out.splitlines()[0].startswith("speed will be left out: ")
    failed, left_out = printed.err.splitlines()
    assert failed == "failed: reads"
    assert left_out.startswith("speed was left out: ")


def test_a_benchmark_that_was_not_named_is_not_missing(ran: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_server, "find_server", lambda: None)

    assert bench.main(["--size", "small", "units"]) == 0
    assert ran == ["units"]
