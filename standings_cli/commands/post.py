"""Posts events to a stack's queue: `post`, of the command line, of CSV or of JSON lines."""

import argparse
import json
import sys
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import orjson

from standings.domain.boards.boards_toml import DefinitionError, parse_boards
from standings.domain.boards.definitions import Boards
from standings.domain.events.event import RefusedEvent
from standings_cli.commands.options import Commands
from standings_cli.post.outbox import NotTakenError, Outbox
from standings_cli.post.post_file import STDIN, FilePosting
from standings_cli.post.rows import InputError, Reading, check_amount
from standings_cli.stack.connection import Connection
from standings_cli.terminal.exit_status import INTERRUPTED, OK, UNREACHABLE, WRONG

_FORMS: Final = """
One event:
  standings post BOARD MEMBER points=3 distance=11.2
  What is printed is its id; given again with --id it counts once.

Files (.gz too, - is standard input):
  --jsonl  each line an event, as the README's section Events says; `id` and `at` may be absent
  --csv    the first line names the columns id, board, member and at; every other column is a metric.
           --column member=user_id says that `user_id` is the member, --ignore leaves a column out,
           --board names the board of all rows, METRIC=AMOUNT gives every row the same amount.
           An empty cell is absent; an amount is written plainly (3, -2, 11.25); `at` is RFC 3339, or
           seconds since 1970, or milliseconds (12 digits and more).

A row without `at` happened now. A row without `id` gets one made from the file's name (or --source),
what stands in the row, and how many rows like it stand before it: posted again it counts once, also
after rows were added anywhere. A corrected row is a new event. Files of one name are one source:
where another file of the same name has rows alike that are not the same activity, say --source.

FILE.posted beside the file (or --state) remembers what the queue has taken. After an interruption the
same command goes on there; later it posts the rows that were appended; a file that changed before is
posted from the start, where the ids keep what was counted from counting twice.

A row that is no event is named (FILE:LINE: why) and left out; the exit status then is 1. What only the
writer can tell goes to the dead-letter queue: `standings dlq list`. With --boards what boards.toml
does not allow is told beforehand.
"""


def add(commands: Commands) -> None:
    """Add `post`."""
    parser = commands.add(
        "post",
        help="post events: one, or those of a file; again where it was interrupted",
        description="Post events to the queue, each counted once however often this is repeated.",
        epilog=_FORMS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("event", nargs="*", metavar="BOARD MEMBER METRIC=AMOUNT", help="one event")
    files = parser.add_mutually_exclusive_group()
    files.add_argument("--jsonl", metavar="FILE", help="events as JSON lines")
    files.add_argument("--csv", metavar="FILE", help="events as CSV with a header")
    parser.add_argument("--id", help="the one event's id; random without")
    parser.add_argument("--at", metavar="TIME", help="when the one event happened; now without")
    parser.add_argument("--board", help="the board of rows that name none")
    parser.add_argument("--column", action="append", default=[], metavar="NAME=COLUMN", help="which column it is")
    parser.add_argument("--ignore", action="append", default=[], metavar="COLUMN", help="a column that says nothing")
    parser.add_argument("--source", metavar="NAME", help="what ids are made from, in place of the file's name")
    parser.add_argument("--state", metavar="FILE", help="where to remember what was posted (FILE.posted)")
    parser.add_argument("--again", action="store_true", help="post from the start, whatever was posted before")
    parser.add_argument("--anyway", action="store_true", help="go on although receipts may be gone")
    parser.add_argument("--boards", metavar="FILE", help="look at every event by this boards.toml first")
    parser.add_argument("--dry-run", action="store_true", help="print the events, send nothing, remember nothing")
    parser.set_defaults(do=_post)


def _post(connection: Connection, given: argparse.Namespace) -> int:
    try:
        if given.csv is None and given.jsonl is None:
            return _one(connection, given)
        name = given.csv if given.csv is not None else given.jsonl
        posting = FilePosting(name, _reading(given, name), given.state, given.again, given.anyway, given.json)
        return posting.print() if given.dry_run else posting.post(connection)
    except InputError as error:
        print(f"standings: {error}", file=sys.stderr)
        return WRONG


def _one(connection: Connection, given: argparse.Namespace) -> int:
    _absent(given, "one event", "board", "column", "ignore", "source", "state", "again", "anyway")
    if len(given.event) < 3:  # noqa: PLR2004 - board, member and an amount
        raise InputError("BOARD MEMBER METRIC=AMOUNT, or --csv FILE, or --jsonl FILE")
    board, member, *amounts = given.event
    event_id = given.id if given.id is not None else uuid.uuid4().hex
    said = {"id": event_id, "board": board, "member": member} | ({} if given.at is None else {"at": given.at})
    try:
        reading = Reading("csv", None, boards=_boards(given.boards))
        message = reading.event(said, _amounts(amounts), _now())
    except (RefusedEvent, orjson.JSONEncodeError) as error:
        raise InputError(str(error)) from error
    if given.dry_run:
        print(message.body)
        return OK
    outbox = Outbox(connection.client("sqs"), connection.queue_url)
    try:
        ((_, refused),) = outbox.delivered([[message]], lambda batch: batch)
    except (NotTakenError, KeyboardInterrupt) as error:
        print(f"standings: perhaps not posted ({error!s:.200}); the same with --id {event_id} does", file=sys.stderr)
        return INTERRUPTED if isinstance(error, KeyboardInterrupt) else UNREACHABLE
    if refused:
        raise InputError(f"the queue refuses it: {refused[0]}")
    print(json.dumps({"id": event_id, "posted": 1}) if given.json else event_id)
    return OK


def _reading(given: argparse.Namespace, name: str) -> Reading:
    _absent(given, "a file", "id", "at")
    source = given.source or (None if name == STDIN else Path(name).name.removesuffix(".gz"))
    if name == STDIN:
        _absent(given, "standard input", "state", "again", "anyway")
    boards = _boards(given.boards)
    if given.csv is None:
        _absent(given, "--jsonl", "event", "column", "ignore")
        return Reading("jsonl", source, given.board, boards=boards)
    columns = {column: field for field, column in map(_pair, given.column)}
    try:
        amounts = _amounts(given.event)
    except RefusedEvent as refused:
        raise InputError(str(refused)) from refused
    return Reading("csv", source, given.board, columns, frozenset(given.ignore), amounts, boards)


def _absent(given: argparse.Namespace, what: str, *options: str) -> None:
    """InputError for an option that says nothing about what is posted."""
    for option in options:
        if getattr(given, option):
            name = "BOARD MEMBER METRIC=AMOUNT" if option == "event" else f"--{option}"
            raise InputError(f"{name} is nothing for {what}")


def _amounts(texts: Sequence[str]) -> dict[str, str]:
    amounts = dict(map(_pair, texts))
    if len(amounts) < len(texts):
        raise InputError("a metric is given twice")
    for name, amount in amounts.items():
        check_amount(name, amount)
    return amounts


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputError(f"{text!r} is no NAME=VALUE")
    return name, value


def _boards(file: str | None) -> Boards | None:
    if file is None:
        return None
    try:
        return parse_boards(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError, DefinitionError) as error:
        raise InputError(f"{file}: {error}") from error


def _now() -> int:
    return time.time_ns() // 1_000_000
