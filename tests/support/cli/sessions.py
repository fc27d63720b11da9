"""Sessions in a terminal, as text: what is typed, what it prints, and `[status]` where it is not 0.

A line that begins with `#` names a session; what follows runs one after the other, over the same stack. `cat > FILE`
and `cat >> FILE` write the lines below them. Lines of standard error begin with `! `. `…` is any text of a line, and
alone on a line any lines.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.cli.command_line import Run

SESSIONS = Path(__file__).parents[2] / "functions" / "cli" / "sessions"


class Step(NamedTuple):
    """What is typed, where it stands, and the lines below it."""

    place: str
    typed: str
    lines: list[str]


def sessions(name: str) -> list[Any]:
    """Read the sessions of a file, for `pytest.mark.parametrize`."""
    found: dict[str, list[Step]] = {}
    for number, line in enumerate((SESSIONS / name).read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("# "):
            steps = found[line.removeprefix("# ")] = []
        elif line.startswith("$ "):
            steps.append(Step(f"{name}:{number}", line.removeprefix("$ "), []))
        elif line:
            steps[-1].lines.append(line)
    assert all(found.values()), "a session without a step"
    return [pytest.param(steps, id=title) for title, steps in found.items()]


def replay(run: Run, steps: list[Step]) -> None:
    """Type what a session types, and compare what it prints with what it must."""
    for step in steps:
        text = "".join(f"{line}\n" for line in step.lines)
        program, _, rest = step.typed.partition(" ")
        if program == "cat":
            redirection, name = rest.split(" ")
            with Path(name).open({">": "w", ">>": "a"}[redirection], encoding="utf-8") as file:
                file.write(text)
            continue
        assert program == "standings", step
        shown = run(rest).text
        if not re.fullmatch("".join(map(_pattern, step.lines)), shown):
            raise AssertionError(f"{step.place}: {step.typed} printed\n{shown}instead of\n{text}")


def _pattern(line: str) -> str:
    return r"(?:.*\n)*" if line == "…" else re.escape(line).replace("…", ".*") + r"\n"
