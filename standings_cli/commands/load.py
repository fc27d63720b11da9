"""`load`: post random events to the stack's queue at a steady rate."""

import argparse
import json
import math
import re
import sys
import time
from contextlib import closing
from functools import partial
from random import Random
from secrets import token_hex
from typing import Final

from standings.aws.sqs.messages import OutgoingMessage, message_of
from standings.domain.boards.boards_toml import read_span
from standings.domain.events.event import RefusedEvent
from standings.domain.events.instants import instant
from standings.ingest.post_events import Posted
from standings_cli.commands.options import Commands, number_from, whole_from
from standings_cli.load.schedule import TOLERANCE_S, Schedule, Summary
from standings_cli.load.traffic import Activity, Plan, activities
from standings_cli.post.event_text import event_text
from standings_cli.post.event_text import message as checked_message
from standings_cli.post.outbox import NotTakenError, Outbox
from standings_cli.stack.connection import Connection
from standings_cli.terminal.exit_status import DIFFERS, INTERRUPTED, OK, UNREACHABLE, WRONG
from standings_cli.terminal.progress import Meter

_MIN_ELAPSED_S: Final = 0.05
_MAX_MEMBERS: Final = 10_000_000
_AMOUNTS: Final = re.compile(r"(-?[0-9]{1,15})(?::(-?[0-9]{1,15}))?", re.ASCII)
_RUN: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")


def add(commands: Commands) -> None:
    """Add `load`."""
    parser = commands.add(
        "load",
        description="Post random events at a steady rate, for load tests. Events are sent when they are due, even if "
        "the queue has not accepted earlier ones; the summary tells whether the rate was reached. The same --seed "
        "makes the same activity. With the same --run as well, the events are the same and count once.",
    )
    parser.add_argument("board")
    add = parser.add_argument
    add("--rate", type=number_from(0.001), default=100.0, metavar="N", help="events a second (100)")
    add("--seconds", type=number_from(0.001), metavar="S", help="how long (60, or until all --events are sent)")
    add("--events", type=whole_from(1), metavar="N", help="how many events")
    add("--boards", type=whole_from(1), default=1, metavar="N", help="use the boards BOARD-1 to BOARD-N (BOARD alone)")
    add("--members", type=whole_from(1, _MAX_MEMBERS), default=10_000, metavar="N", help="how many members (10000)")
    add(
        "--skew",
        type=number_from(0),
        default=1.0,
        metavar="S",
        help="member k is as active as 1/k^S (1.0); 0: all equal",
    )
    add("--duplicates", type=number_from(0, 1), default=0.0, metavar="SHARE", help="the share of duplicates (0)")
    add("--late", type=number_from(0, 1), default=0.0, metavar="SHARE", help="the share of late events (0)")
    add("--late-by", type=_span, default="1 day", metavar="SPAN", help='how late events are at most ("1 day")')
    add("--metric", default="points", help="the metric (points)")
    add("--amounts", type=_amounts, default="1", metavar="LEAST:MOST", help="the range of whole amounts (1)")
    add("--seed", type=int, default=1, help="the seed of the activity (1)")
    add("--run", metavar="ID", help="the prefix of event ids (random)")
    parser.set_defaults(do=_load)


def _load(connection: Connection, options: argparse.Namespace) -> int:
    seconds = options.seconds or (math.inf if options.events else 60.0)
    events = min(options.events or math.inf, options.rate * seconds)
    boards = [f"{options.board}-{k}" for k in range(1, options.boards + 1)] if options.boards > 1 else [options.board]
    shares = (options.skew, options.duplicates, options.late)
    plan = Plan(boards, options.members, *shares, options.late_by, *options.amounts)
    run = options.run or token_hex(4)
    problem = (
        _problem(options, plan, run)
        if events >= 1
        else f"no event is due in {seconds:g} seconds: raise --rate or --seconds"
    )
    if problem:
        print(f"standings: {problem}", file=sys.stderr)
        return WRONG
    schedule = Schedule(options.rate, math.floor(events), seconds)
    return _send(connection, options, plan, schedule, Summary(run, options.rate, schedule.events))


def _send(connection: Connection, options: argparse.Namespace, plan: Plan, schedule: Schedule, summary: Summary) -> int:
    outbox = Outbox(connection.client("sqs"), connection.queue_url)
    begun, first = time.monotonic(), time.time_ns() // 1_000_000
    stream = activities(plan, Random(options.seed))  # noqa: S311 - not for secrets
    message = partial(_message, summary.run, options.metric, first, options.rate)
    status, is_late = None, False
    with Meter(f"load of {options.rate:g} events/s", summary.due) as meter:
        sending = outbox.delivered(schedule.batches(stream), lambda batch: [message(*item) for item in batch])
        try:
            with closing(sending):
                for batch, refused in sending:
                    if refused:
                        raise NotTakenError(next(iter(refused.values())))
                    summary.count(batch)
                    if schedule.most_behind > TOLERANCE_S and not is_late:
                        is_late = True
                        meter.say(f"the queue accepts less than {options.rate:g} events/s")
                    rate = summary.sent / max(time.monotonic() - begun, _MIN_ELAPSED_S)
                    meter.move(summary.sent, f"{summary.sent:,} sent, {rate:,.0f}/s")
        except NotTakenError as error:
            status = UNREACHABLE
            meter.say(f"standings: the queue did not accept all events: {error}")
        except KeyboardInterrupt:
            status = INTERRUPTED
            meter.say("stopped")
    summary.finish(time.monotonic() - begun, schedule.most_behind)
    summary.print(as_json=options.json)
    return status if status is not None else OK if summary.kept_up else DIFFERS


def _message(run: str, metric: str, first: int, rate: float, number: int, activity: Activity) -> OutgoingMessage:
    """Make an event's message. Its `at` counts as filled in, so that a run can be repeated at another time."""
    at = first + round(number / rate * 1000) - activity.behind
    event = {
        "id": f"load-{run}-{activity.number}",
        "board": activity.board,
        "member": activity.member,
        "at": instant(at),
        "metrics": {metric: activity.amount},
    }
    return message_of(Posted(json.dumps(event), at_filled_in=True, board=activity.board))


def _problem(options: argparse.Namespace, plan: Plan, run: str) -> str | None:
    """Return what is wrong with the options together."""
    if not _RUN.fullmatch(run):
        return f"--run: expected 1 to 64 of A-Z a-z 0-9 . _ -, got {run!r}"
    if options.duplicates + options.late > 1:
        return f"expected --duplicates and --late to be at most 1 together, got {options.duplicates + options.late:g}"
    try:
        # The last board has the longest name.
        event = event_text({"id": run, "board": plan.boards[-1], "member": "m"}, {options.metric: "1"})
        checked_message(event, 0, None)
    except RefusedEvent as refused:
        return str(refused)
    return None


def _span(text: str) -> int:
    span = read_span(text)
    if not span:
        raise argparse.ArgumentTypeError(f'expected a span such as "7 days", "36 hours" or "90 minutes", got {text!r}')
    return span


def _amounts(text: str) -> tuple[int, int]:
    match = _AMOUNTS.fullmatch(text)
    least, most = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
    if least > most:
        raise argparse.ArgumentTypeError(f"expected LEAST:MOST, such as 1:100, got {text!r}")
    return least, most
