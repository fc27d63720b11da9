"""`make faults` ends with a status that a script can test."""

from collections import Counter

import pytest

from tests.faults import __main__ as command
from tests.faults.world import Options, Outcome


def outcome(seed: int, *differences: str) -> Outcome:
    """Return an empty outcome of a schedule with these differences."""
    return Outcome(
        seed,
        differences=list(differences),
        faults=Counter(),
        traps=Counter(),
        events=0,
        workers=0,
        calls=0,
        compared=1,
        digest="",
    )


def test_the_status_is_0_when_all_schedules_are_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "run", lambda seed, _: outcome(seed))

    assert command.main(["7", "3"]) == 0


@pytest.mark.parametrize("arguments", [["8"], ["7", "3"]])
def test_the_status_is_1_when_a_schedule_is_wrong(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(seed: int, _: Options) -> Outcome:
        return outcome(seed, "counters are off") if seed == 8 else outcome(seed)

    monkeypatch.setattr(command, "run", run)

    assert command.main(arguments) == 1
    assert "wrong: counters are off" in capsys.readouterr().out
