"""Load tests: `load` posts made-up events to a stack's queue, at a rate that does not wait for the queue."""

import argparse
import json
import math
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from random import Random
from secrets import token_hex
from typing import Any, Final, TypeVar

from standings.aws.sqs.activity_queue import message_of
from standings.aws.sqs.sender import MAX_ENTRIES, OutgoingMessage
from standings.domain.boards.boards_toml import read_span
from standings.domain.boards.names import BOARD_NAME
from standings.domain.events.event import RefusedEvent
from standings.domain.events.instants import instant
from standings.ingest.post_events import Posted
from standings_cli.commands.options import Commands
from standings_cli.load.traffic import Activity, Plan, activities
from standings_cli.post.outbox import NotTakenError, Outbox
from standings_cli.post.rows import Reading
from standings_cli.stack.connection import Connection
from standings_cli.terminal.exit_status import DIFFERS, INTERRUPTED, OK, UNREACHABLE, WRONG
from standings_cli.terminal.progress import Meter

_TICK_S: Final = 0.05
_KEPT_UP_S: Final = 1.0
"""How late events may be sent before it is said."""

_MAX_MEMBERS: Final = 10_000_000
_AMOUNTS: Final = re.compile(r"(-?[0-9]{1,15})(?::(-?[0-9]{1,15}))?", re.ASCII)
_RUN: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_T = TypeVar("_T")


def add(commands: Commands) -> None:
    """Add `load`."""
    parser = commands.add(
        "load",
        help="post made-up events at a rate, for load tests",
        description="Post made-up events to the queue at a rate: that many each second are due, whether or not the "
        "queue has taken those before; the summary says if that could not be kept up. The same --seed makes the same "
        "activity; the same --run makes it the same events, which count once.",
    )
    parser.add_argument("board")
    parser.add_argument("--rate", type=_number(0.001), default=100.0, metavar="N", help="events a second (100)")
    parser.add_argument("--seconds", type=_number(0.001), metavar="S", help="how long (60, unless --events)")
    parser.add_argument("--events", type=_whole(1), metavar="N", help="how many")
    parser.add_argument("--boards", type=_whole(1), default=1, metavar="N", help="over BOARD-1 to BOARD-N (BOARD)")
    parser.add_argument(
        "--members", type=_whole(1, _MAX_MEMBERS), default=10_000, metavar="N", help="how many there are (10000)"
    )
    parser.add_argument(
        "--skew", type=_number(0.0), default=1.0, metavar="S", help="member k is as active as 1/k^S (1.0); 0: all alike"
    )
    parser.add_argument(
        "--duplicates", type=_number(0, 1), default=0.0, metavar="SHARE", help="of events that come a second time (0)"
    )
    parser.add_argument(
        "--late", type=_number(0, 1), default=0.0, metavar="SHARE", help="of events that happened before (0)"
    )
    parser.add_argument(
        "--late-by", type=_span, default="1 day", metavar="SPAN", help='how long before, at most ("1 day")'
    )
    parser.add_argument("--metric", default="points", help="what they count in (points)")
    parser.add_argument(
        "--amounts", type=_amounts, default="1", metavar="LEAST:MOST", help="whole numbers from one to the other (1)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the activity (1)")
    parser.add_argument("--run", metavar="ID", help="what ids begin with; random without")
    parser.set_defaults(do=_load)


@dataclass
class _Summary:
    """What was sent; times in seconds. `rate` is that of what the queue has taken."""

    run: str
    asked: float
    due: int
    sent: int = 0
    distinct: int = 0
    duplicates: int = 0
    late: int = 0
    seconds: float = 0.0
    rate: float = 0.0
    most_behind: float = 0.0

    @property
    def kept_up(self) -> bool:
        """Whether all was sent when it was due."""
        return self.most_behind <= _KEPT_UP_S and self.sent == self.due


@dataclass
class Schedule:
    """When events are due: `rate` each second, whether or not those before are through.

    `most_behind` is how many seconds after it was due one was sent, at most. After `seconds` no more are sent.
    """

    rate: float
    events: int
    seconds: float
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Any] = time.sleep
    most_behind: float = 0.0

    def batches(self, things: Iterator[_T]) -> Iterator[list[tuple[int, _T]]]:
        """Things with their numbers when they are due, at most ten at a time."""
        begun = self.clock()
        sent = 0
        while sent < self.events and (now := self.clock() - begun) < self.seconds + _KEPT_UP_S:
            due = min(math.floor(now * self.rate), self.events) - sent
            if not due:
                self.sleep(max(_TICK_S, (sent + 1) / self.rate - now))
                continue
            self.most_behind = max(self.most_behind, now - (sent + 1) / self.rate)
            batch = list(enumerate(islice(things, min(due, MAX_ENTRIES)), sent))
            sent += len(batch)
            yield batch


def _load(connection: Connection, given: argparse.Namespace) -> int:
    seconds = given.seconds or (math.inf if given.events else 60.0)
    events = min(given.events or math.inf, math.floor(given.rate * seconds) if seconds < math.inf else math.inf)
    plan = _plan(given)
    run = given.run or token_hex(4)
    why = _wrong(given, plan, run) if events else f"no event is due in {seconds:g} seconds"
    if why:
        print(f"standings: {why}", file=sys.stderr)
        return WRONG
    summary = _Summary(run, given.rate, int(events))
    return _send(connection, given, plan, Schedule(given.rate, int(events), seconds), summary)


def _send(connection: Connection, given: argparse.Namespace, plan: Plan, schedule: Schedule, summary: _Summary) -> int:
    outbox = Outbox(connection.client("sqs"), connection.queue_url)
    begun, first = time.monotonic(), time.time_ns() // 1_000_000
    stream = activities(plan, Random(given.seed))  # noqa: S311 - not for secrets
    message = partial(_message, summary.run, given.metric, first, given.rate)
    status, said = None, False
    with Meter(f"load of {given.rate:g} events/s", summary.due) as meter:
        sending = outbox.delivered(schedule.batches(stream), lambda batch: [message(*one) for one in batch])
        try:
            with closing(sending):
                for batch, refused in sending:
                    if refused:
                        raise NotTakenError(next(iter(refused.values())))
                    _count(summary, batch)
                    if schedule.most_behind > _KEPT_UP_S and not said:
                        said = True
                        meter.say(f"the queue takes less than {given.rate:g} events/s from here: not kept up")
                    rate = summary.sent / max(time.monotonic() - begun, _TICK_S)
                    meter.move(summary.sent, f"{summary.sent:,} sent, {rate:,.0f}/s")
        except NotTakenError as error:
            status = UNREACHABLE
            meter.say(f"standings: the queue has not taken all: {error}")
        except KeyboardInterrupt:
            status = INTERRUPTED
            meter.say("stopped")
    summary.seconds = round(time.monotonic() - begun, 2)
    summary.rate = round(summary.sent / summary.seconds, 1) if summary.seconds else 0.0
    summary.most_behind = round(schedule.most_behind, 2)
    _say(summary, as_json=given.json)
    return status if status is not None else OK if summary.kept_up else DIFFERS


def _count(summary: _Summary, batch: Sequence[tuple[int, Activity]]) -> None:
    for _, activity in batch:
        summary.sent += 1
        # Numbers come in order, but for those that come again.
        if activity.number < summary.distinct:
            summary.duplicates += 1
        else:
            summary.distinct += 1
            summary.late += activity.behind > 0


def _say(summary: _Summary, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(asdict(summary) | {"kept_up": summary.kept_up}))
        return
    print(
        f"sent {summary.sent:,} events in {summary.seconds:.1f} s, {summary.rate:,.1f} a second: "
        f"{summary.distinct:,} distinct, {summary.duplicates:,} duplicates, {summary.late:,} late (run {summary.run})"
    )
    if not summary.kept_up:
        behind = f"up to {summary.most_behind:.1f} s after they were due"
        left = (
            f"; {summary.due - summary.sent:,} of {summary.due:,} were not sent" if summary.sent < summary.due else ""
        )
        print(f"not kept up: {summary.asked:g} events a second were asked for; sent {behind}{left}")


def _message(run: str, metric: str, first: int, rate: float, number: int, activity: Activity) -> OutgoingMessage:
    """An event's message. Its `at` is no part of what it says: a run can be repeated."""
    at = first + round(number / rate * 1000) - activity.behind
    event = {
        "id": f"load-{run}-{activity.number}",
        "board": activity.board,
        "member": activity.member,
        "at": instant(at),
        "metrics": {metric: activity.amount},
    }
    return message_of(Posted(json.dumps(event), at_filled_in=True, board=activity.board))


def _plan(given: argparse.Namespace) -> Plan:
    numbered = [f"{given.board}-{number}" for number in range(1, given.boards + 1)]
    least, most = given.amounts
    return Plan(
        numbered if given.boards > 1 else [given.board],
        given.members,
        given.skew,
        given.duplicates,
        given.late,
        given.late_by,
        least,
        most,
    )


def _wrong(given: argparse.Namespace, plan: Plan, run: str) -> str | None:
    """What is wrong with the options together."""
    if not _RUN.fullmatch(run):
        return f"--run: must be 1 to 64 of A-Z a-z 0-9 . _ -, is {run!r}"
    if given.duplicates + given.late > 1:
        return "--duplicates and --late are shares of one whole"
    try:
        said = {"id": run, "board": plan.boards[-1], "member": "m"}
        Reading("csv", None).event(said, {given.metric: "1"}, 0)
    except RefusedEvent as refused:
        return str(refused)
    return None if all(map(BOARD_NAME.fullmatch, plan.boards)) else f"{given.board!r} is no board's name"


def _number(least: float, most: float = math.inf) -> Callable[[str], float]:
    def number(text: str) -> float:
        value = float(text)
        if not least <= value <= most or value == math.inf:
            raise argparse.ArgumentTypeError(f"must be from {least:g} to {most:g}, is {text}")
        return value

    return number


def _whole(least: int, most: float = math.inf) -> Callable[[str], int]:
    number = _number(least, most)

    def whole(text: str) -> int:
        number(text)
        return int(text)

    return whole


def _span(text: str) -> int:
    span = read_span(text)
    if not span:
        raise argparse.ArgumentTypeError(f'must be a span such as "7 days", "36 hours" or "90 minutes", is {text!r}')
    return span


def _amounts(text: str) -> tuple[int, int]:
    match = _AMOUNTS.fullmatch(text)
    least, most = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
    if least > most:
        raise argparse.ArgumentTypeError(f"must be LEAST:MOST, such as 1:100, is {text!r}")
    return least, most
