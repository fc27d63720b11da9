"""Upkeep: `audit`, `rebuild`, `delete`, `dlq` and `parked`, which the maintenance function of a stack does."""

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from standings.ports.scores import SLOTS
from standings_cli.commands.options import Commands
from standings_cli.stack.connection import Connection
from standings_cli.terminal.exit_status import DIFFERS, OK
from standings_cli.terminal.progress import Meter
from standings_cli.terminal.text import as_json, shown


def add(commands: Commands) -> None:
    """Add the commands of upkeep."""
    audit = commands.add("audit", help="compare rankings with scores")
    audit.add_argument("board", nargs="?", help="one board; all of them without")
    audit.add_argument("--grace", type=int, metavar="SECONDS", help="how late the stream may be (900)")
    audit.set_defaults(do=_audit)

    rebuild = commands.add("rebuild", help="make a board's rankings anew from its scores, while it goes on")
    rebuild.add_argument("board", help="its name, or a glob such as 'berlin-*' for all boards that match")
    rebuild.set_defaults(do=_job, task="rebuild")

    delete = commands.add("delete", help="delete a board, all its members and their scores")
    delete.add_argument("board")
    delete.add_argument("--yes", action="store_true", help="do not ask")
    delete.set_defaults(do=_delete, task="delete")

    _add_care(commands, "dlq", "dead_letters", "ids", "messages that were refused")
    _add_care(commands, "parked", "parked", "keys", "records of the stream that could not be applied")


def _add_care(commands: Commands, name: str, task: str, chosen: str, what: str) -> None:
    """The commands that list and replay what could not be applied."""
    actions = commands.group(name, help=f"list or replay {what}")
    for action in ("list", "replay"):
        parser = actions.add(action, help=f"{action} {what}")
        parser.add_argument(chosen, nargs="*", metavar=chosen[:-1].upper(), help="these alone; all of them without")
        parser.add_argument("--reason", metavar="TEXT", help="those with this text in their reason")
        parser.add_argument("--board", help="those of a board")
        parser.set_defaults(do=_care, task=task, action=action, chosen=chosen, limit=None)
        if action == "list":
            parser.add_argument("--limit", type=int, help="how many to show (100)")


def _audit(connection: Connection, given: argparse.Namespace) -> int:
    drift = 0
    for answer in connection.maintenance.answers("audit", _without_none(board=given.board, grace_seconds=given.grace)):
        drift += answer["drift"]
        if given.json:
            _say(answer)
            continue
        for board in answer["boards"]:
            found = ", ".join(f"{count} {kind}" for kind, count in board["found"].items() if count)
            seen = board["looked_at"]
            print(
                f"{shown(board['board'])}: {found or 'no difference'} ({seen['rows']} rows, {seen['entries']} entries)"
            )
            for example in board["examples"]:
                print("   ", as_json(example))
    if drift and not given.json:
        print(f"{drift} differences: `rebuild` makes a board's rankings anew")
    return DIFFERS if drift else OK


def _delete(connection: Connection, given: argparse.Namespace) -> int:
    if not given.yes:
        question = f"Delete board {given.board!r}, all its members and their scores? Type its name: "
        if input(question) != given.board:
            print("nothing was deleted", file=sys.stderr)
            return DIFFERS
    return _job(connection, given)


def _job(connection: Connection, given: argparse.Namespace) -> int:
    # The function answers every few minutes at most: each answer is a line.
    with Meter(f"{given.task} {shown(given.board)}", 1, pause=0) as meter:
        for answer in connection.maintenance.answers(given.task, {"board": given.board}):
            if given.json:
                _say(answer)
            elif not answer["done"]:
                meter.move(*_progress(answer))
    if not given.json:
        print(f"{shown(given.board)}: {given.task} done")
    return OK


def _progress(answer: Mapping[str, Any]) -> tuple[float, str]:
    """How much of a job is done, and where it is."""
    if "boards_done" in answer:
        share = answer["boards_done"] / max(1, answer["boards"])
        where = f"{answer['boards_done']} of {answer['boards']} boards done"
    else:
        share = 0.0 if answer["wait"] else answer["slot"] / SLOTS
        where = shown(f"{answer['board']}: {answer['phase']}")
        if not answer["wait"]:
            where += f": {answer['members']} members, {answer['slot']} of {SLOTS} parts"
    return share, where + (f": nothing to do for {answer['wait']:.0f} s" if answer["wait"] else "")


def _care(connection: Connection, given: argparse.Namespace) -> int:
    chosen = getattr(given, given.chosen) or None
    asked = _without_none(**{given.chosen: chosen}, reason=given.reason, board=given.board, limit=given.limit)
    left = False
    for answer in connection.maintenance.answers(given.task, asked, given.action):
        left = left or bool(answer.get("problems")) or answer.get("why") is not None
        if given.json:
            _say(answer)
        elif given.action == "list":
            _listed(answer)
        else:
            _replayed(answer)
    return DIFFERS if left else OK


def _listed(answer: Mapping[str, Any]) -> None:
    for reason in answer.get("reasons", []):
        print(f"{reason['messages']} × {shown(reason['reason'])}")
    for message in answer.get("messages", []):
        print(f"{shown(message['id'])}  {message['sent']}  {shown(message['reason'])}\n    {shown(message['body'])}")
    for parked in answer.get("objects", []):
        who = ", ".join(shown(f"{member['board']} {member['member']}") for member in parked["members"])
        print(f"{shown(parked['key'])}  {parked['parked']}  {shown(parked['reason'])}")
        print(f"    {parked['records']} records: {who}")
    if not answer["done"]:
        print(answer.get("why") or "there are more: --limit, --reason and --board choose", file=sys.stderr)


def _replayed(answer: Mapping[str, Any]) -> None:
    counted = ("replayed", "placed", "removed", "refused", "failed", "left")
    print(", ".join(f"{answer[what]} {what}" for what in counted if what in answer))
    for problem in answer["problems"]:
        print("   ", shown(f"{problem.get('id') or problem.get('key')} {problem['why']}"))
    if answer.get("why"):
        print(answer["why"], file=sys.stderr)


def _say(answer: Mapping[str, Any]) -> None:
    print(as_json(answer), flush=True)


def _without_none(**arguments: Any) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}
