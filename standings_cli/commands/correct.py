"""`correct` and `retract`: replace what an event counted, or take it back, by its id."""

import argparse
import json
import random
import sys
import time
import uuid
from functools import partial
from typing import Final

from standings.domain.boards import Boards
from standings.domain.events import RefusedEvent
from standings_cli.commands import values
from standings_cli.commands.options import Commands
from standings_cli.commands.post import amounts, boards_of
from standings_cli.post.cells import Notation
from standings_cli.post.counted import NO_REASON, NotYetError, RefusedError, Waiting
from standings_cli.post.outbox import NotTakenError, Outbox, Outgoing
from standings_cli.post.post_file import EventText, event_text, message
from standings_cli.stack.connection import Connection
from standings_cli.stack.errors import InputError
from standings_cli.terminal import DIFFERS, INTERRUPTED, OK, UNREACHABLE, WRONG, say, shown

_CORRECT: Final = """
`standings correct a200 club-berlin ada km=12.5`: what the event a200 counted is replaced by this, in every
window, in one step. It stays at its time, unless --at gives another. Name all that the event should have
said: also its member and its other metrics. seconds=22:05 is 1325.

It prints the id of the correction, which counts once: if the queue did not answer, run the same command
again with --id. --wait waits until it counts, or prints why it is refused, with exit status 1.
"""
_RETRACT: Final = """
`standings retract a200`: what the event a200 counted is taken back, in every window, in one step. The
event stays known: sent again, it does not count. Its member stays in the list, with what is left.
"""
_BOTH: Final = """
For events that counted less than 30 days ago and name metrics with aggregate sum. What cannot be
corrected so, and what to do instead: docs/how-to/correct-a-score.md.
"""


def add(commands: Commands) -> None:
    """Add `correct` and `retract`."""
    for name, text in (("correct", _CORRECT), ("retract", _RETRACT)):
        says = {"correct": "Replace what an event counted, by its id.", "retract": "Take back what an event counted."}
        parser = commands.add(
            name,
            description=says[name],
            epilog=text + _BOTH,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser.add_argument("of", type=values.event_id, metavar="EVENT", help="the id of the event")
        if name == "correct":
            parser.add_argument("board", type=values.board, metavar="BOARD")
            parser.add_argument("member", type=values.member, metavar="MEMBER")
            parser.add_argument("amounts", nargs="+", metavar="METRIC=AMOUNT", help="what it should have counted")
            parser.add_argument("--at", metavar="TIME", help="when it happened (as the event says)")
            parser.add_argument("--zone", type=values.zone, help="the time zone of --at without an offset")
            parser.add_argument("--boards", type=values.file, metavar="FILE", help="check it by this boards.toml")
        parser.add_argument("--id", type=values.event_id, help="the id of the correction (random)")
        parser.add_argument(
            "--history", action="store_true", help="also in periods that have closed, but in no settled one"
        )
        parser.add_argument("--wait", action="store_true", help="wait until it counts, or say why it is refused")
        parser.set_defaults(do=_correct if name == "correct" else _retract, resumes=False)


def _correct(connection: Connection, options: argparse.Namespace) -> int:
    own = options.id if options.id is not None else uuid.uuid4().hex
    try:
        at = {} if options.at is None else {"at": Notation(options.zone).instant(options.at)}
        fields = {"id": own, "board": options.board, "member": options.member, **at}
        event = event_text(fields, amounts(options.amounts)).having("correct", options.of)
        return _send(connection, options, own, event, boards_of(options.boards))
    except (InputError, RefusedEvent) as error:
        print(f"standings: {shown(str(error))}", file=sys.stderr)
        return WRONG


def _retract(connection: Connection, options: argparse.Namespace) -> int:
    own = options.id if options.id is not None else uuid.uuid4().hex
    try:
        fields = {"id": own, "retract": options.of}
        return _send(connection, options, own, EventText(json.dumps(fields), fields), None)
    except (InputError, RefusedEvent) as error:
        print(f"standings: {shown(str(error))}", file=sys.stderr)
        return WRONG


def _send(
    connection: Connection, options: argparse.Namespace, own: str, event: EventText, boards: Boards | None
) -> int:
    """Send a correction, and wait for it if asked to. Returns the exit status."""
    outgoing = message(event, time.time_ns() // 1_000_000, boards, history=options.history)
    waiting = Waiting(connection.api, time.sleep, time.monotonic, random.random) if options.wait else None
    before = waiting.status(own) if waiting is not None else None
    event_status = waiting.status(options.of) if waiting is not None else None
    if event_status is not None and event_status["status"] == "refused":
        why = f"{options.of!r} was refused, so there is nothing to correct: {event_status.get('reason', NO_REASON)}"
        advice = "Nothing was sent: post the right event under its id, or replay it first: `standings dlq replay`"
        print(f"standings: the event {shown(f'{why}. {advice}')}", file=sys.stderr)
        if options.json:
            print(json.dumps({"id": own, "event": options.of, "refused": why}))
        return DIFFERS
    outbox = Outbox(connection.client("sqs"), connection.queue_url)
    try:
        (((_, refused),),) = outbox.delivered([outgoing], Outgoing)
    except (NotTakenError, KeyboardInterrupt) as error:
        advice = f"run the same command again with --id {own}: it counts once"
        print(f"standings: it may not be sent ({error!s:.200}); {advice}", file=sys.stderr)
        return INTERRUPTED if isinstance(error, KeyboardInterrupt) else UNREACHABLE
    if refused:
        raise InputError(f"the queue refuses it: {refused}")
    status, said = OK, {"id": own, "event": options.of}
    try:
        if waiting is not None:
            before = None if before is not None and before["status"] == "counted" else before
            waiting.counted(own, before, partial(_say_if_unknown, waiting, options.of))
            done = "is taken back" if "retract" in event.fields else "is replaced"
            if not options.json:
                say(f"it counts: what the event {options.of!r} counted {done}; the ranks follow within a moment")
    except RefusedError as error:
        status, said["refused"] = DIFFERS, str(error)
        print(f"standings: it is refused: {shown(str(error))}", file=sys.stderr)
    except NotYetError as error:
        status = UNREACHABLE
        why = (
            f"{error}: if {options.of!r} does not count within 15 minutes, the writer refuses it: `standings dlq list`"
        )
        print(f"standings: {shown(why)}", file=sys.stderr)
    print(json.dumps(said) if options.json else own)
    return status


def _say_if_unknown(waiting: Waiting, event_id: str) -> None:
    if waiting.status(event_id) is None:
        say(f"no event with the id {event_id!r} has counted yet: is it right? This waits for it, up to a minute")
