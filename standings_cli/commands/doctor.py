"""`doctor`: look whether a stack is deployed as it should be, and prove its ranks."""

import argparse
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from secrets import token_hex
from typing import Final

from standings_cli.commands.options import Commands
from standings_cli.doctor.checks import Deployed, Finding, Verdict, look
from standings_cli.doctor.exercise import Tools, exercise
from standings_cli.doctor.recording import Recording
from standings_cli.stack.connection import Connection
from standings_cli.terminal import DIFFERS, OK, as_json, say, shown

_RINGS: Final = "one event is refused on purpose, so the alarm on dead letters may ring"


def add(commands: Commands) -> None:
    """Add `doctor`."""
    parser = commands.add(
        "doctor",
        description="Look whether the stack is deployed as it should be, without changing anything. Each check says "
        "ok, note or failed; a note is what a parameter or a local AWS explains. With --exercise, also post some 2,000 "
        "events to a board of its own, compare every rank with a sort, and delete the board.",
    )
    parser.add_argument("--exercise", action="store_true", help="prove the ranks on a throw-away board")
    parser.add_argument("--board", help="the board to exercise: one without members, whose rules are used (doctor-…)")
    parser.add_argument(
        "--record", type=Path, metavar="DIR", help="save what AWS answers in this directory, without account numbers"
    )
    parser.set_defaults(do=_doctor, resumes=False)


def _doctor(connection: Connection, options: argparse.Namespace) -> int:
    counts = dict.fromkeys(Verdict, 0)
    for finding in _findings(connection, options):
        counts[finding.verdict] += 1
        if options.json:
            print(as_json(finding._asdict()), flush=True)
        else:
            print(f"{finding.verdict:<6}  {shown(finding.about)}: {shown(finding.detail)}", flush=True)
    if not options.json:
        print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return DIFFERS if counts[Verdict.FAILED] else OK


def _findings(connection: Connection, options: argparse.Namespace) -> Iterator[Finding]:
    deployed = Deployed(connection, now)
    recording = Recording(deployed, options.record) if options.record else None
    yield from look(deployed)
    if recording:
        yield from recording.of_stack()
    if not options.exercise:
        return
    say(f"standings: {_RINGS}")
    board = options.board or f"doctor-{token_hex(4)}"
    tools = Tools(connection, now, Random(board))  # noqa: S311 - not for secrets
    if recording:
        yield from recording.watch()
        yield from exercise(tools, board, recording.of_board)
    else:
        yield from exercise(tools, board)


def now() -> datetime:
    """The time of this machine."""
    return datetime.now(UTC)
