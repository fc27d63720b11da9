"""`post`: post one event, or the events of a CSV or JSON lines file, to the stack's queue."""

import argparse
import json
import random
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import orjson

from standings.client.decimals import Decimals
from standings.domain.boards import Boards
from standings.domain.boards_toml import METRIC_NAME, METRIC_RULE, DefinitionError, parse_boards
from standings.domain.events import RefusedEvent
from standings.domain.events import shown as short
from standings.runtime.clock import real_clock
from standings_cli.commands import values
from standings_cli.commands.options import Commands
from standings_cli.commands.rankings import forms_of, show_rank
from standings_cli.files import STDIN
from standings_cli.post.cells import USUAL, Notation
from standings_cli.post.counted import NotYetError, RefusedError, Status, Waiting
from standings_cli.post.known import Known
from standings_cli.post.late_rows import LateRows, definitions
from standings_cli.post.outbox import NotTakenError, Outbox, Outgoing
from standings_cli.post.post_file import FilePosting, RowReader, event_text, message
from standings_cli.post.rounding import Rounding
from standings_cli.stack.connection import Connection
from standings_cli.stack.errors import InputError
from standings_cli.terminal import DIFFERS, INTERRUPTED, OK, UNREACHABLE, WRONG, shown
from standings_cli.terminal import as_json as dumped

_USED: Final = "an event with the id {} was counted before. It counts once; other content with this id is refused"
_EXPLANATION: Final = """
One event: `standings post BOARD MEMBER points=3 distance=11.2` prints the event's id. Posted again
with --id it counts once. --wait waits until the event is counted, and prints the member's rank; if it
is refused, the reason, with exit status 1. It asks the API: with a token, that needs the scopes
standings/read and standings/write, and standings/admin for the reason.

With --set the numbers are new totals (sum) or bests (max, min), whatever was there: `points=0 --set`; in
a file, those of every row that does not say so itself. With last, each event sets the score.

Files (.gz too; - is standard input):
  --jsonl  Each line is an event, as in docs/reference/events.md, or a row as tools write it:
           {"member": "u1", "at": 1795255200, "points": 3}. `id` and `at` may be absent.
  --csv    The first line names the columns id, board, member and at. Every other column is a metric.
           --column member=user_id reads the member from the column user_id, --column points=#7 the
           points from the seventh. --only member,at,points takes these columns and no others.
           METRIC=AMOUNT adds the same amount to every row. An empty cell is absent. The header shows
           the delimiter (, ; | or a tab); --delimiter names another.
  Numbers are 3, -2, 11.25 or 1e+2, with --decimal , also 11,25. A time such as 1:02:33.4 or 02:33 is its
  seconds. --round rounds to the decimals that the metric keeps.
  `at` is an instant as pandas, polars, duckdb, sqlite and JavaScript write it, or seconds or milliseconds
  since 1970. --zone Europe/Berlin is for instants without an offset; --dates day-first reads 03.01.2026.

A row without `at` happened now, or at --at: totals from elsewhere belong only in `all`, where
--at 2000-01-01T00:00:00Z puts them, and not in today's windows. Such rows keep their order: each counts
a millisecond after the one before. So without --at, 1,000 of them take a second. With --at, they stay in
its quarter of an hour; where that has no room for all, the last ones share an instant, and `post` says so.

A row without `id` gets an id from the file's name (or --source), its content and the count of equal
rows before it: posted again it counts once. A corrected row is a new event. If another file of the same
name has equal rows for other activity, give it another --source. The id of a total that is set, without
an `at` of its own, is also made from --at, or from when the run began: another run, or another --at,
sets it again.

FILE.posted (or --state) records what the queue has accepted. After an interruption, or once rows were
appended, run the same command again. If earlier rows or options have changed, it posts all: a row that says
the same counts once, and one without an id that says something else counts beside what it counted before.
--again posts all rows once more. The end says how many of them were known: they had counted before.
(It asks the API for that.) Rows whose members were removed or erased, or whose board was deleted, count
again, if you wait a minute. Another --source gives the rows other ids: then all of them count.
A last line of CSV without a line end may be half-written: it waits until it has one.

Rows that are older than the board's `late` count in `all` alone; `post` says how many before it sends
them. With --history they count in each period that contains them and can still be read, but in no settled
one. A row that counted without it stays known, and --correct --history counts it there.

--correct goes by the ids of rows: a new id counts, a row that has changed replaces what its id counted, a
row that is known stays, and what is gone from the file stays counted (`standings retract ID`). It asks the
API. A row whose id counted on another board is refused: with --anyway it leaves that board for its own.
How to correct what, and what that moves: docs/how-to/correct-a-score.md.

A row that is not an event is printed (FILE:LINE: reason) and skipped; the exit status then is 1. So is it
if the API says that the writer would refuse a row, which is printed and sent; --dry-run asks it about the
first 10,000 rows. If each of the first 100 rows of a file is refused, nothing is sent, unless with --anyway.
The writer sends events that it refuses to the dead-letter queue: `standings dlq list`.
"""


def add(commands: Commands) -> None:
    """Add `post`."""
    parser = commands.add(
        "post",
        description="Post events to the queue. Each counts once, even if you post it again.",
        epilog=_EXPLANATION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("event", nargs="*", metavar="BOARD MEMBER METRIC=AMOUNT", help="one event")
    files = parser.add_mutually_exclusive_group()
    files.add_argument("--jsonl", type=values.file, metavar="FILE", help="events as JSON lines")
    files.add_argument("--csv", type=values.file, metavar="FILE", help="events as CSV with a header")
    parser.add_argument("--id", help="the id of the one event (random)")
    parser.add_argument("--set", action="store_true", help="the numbers are the members' new totals, or bests")
    parser.add_argument("--note", metavar="JSON", help='a JSON object about the one event: {"video": "v1"}')
    parser.add_argument("--at", metavar="TIME", help="when the one event happened, or rows without a time (now)")
    parser.add_argument("--board", type=values.board, help="the board of rows that name none")
    parser.add_argument(
        "--member",
        dest="member_of_rows",
        type=values.member,
        metavar="MEMBER",
        help="the member of rows that name none",
    )
    parser.add_argument("--wait", action="store_true", help="wait until the one event is counted; print the rank")
    parser.add_argument(
        "--column",
        action="append",
        type=values.pair,
        default=[],
        metavar="NAME=COLUMN",
        help="read it from a column",
    )
    parser.add_argument("--ignore", action="append", default=[], metavar="COLUMN", help="skip a column")
    parser.add_argument("--only", action="append", default=[], metavar="COLUMN", help="take this column, skip others")
    parser.add_argument("--delimiter", type=values.delimiter, metavar="CHARACTER", help="what stands between columns")
    parser.add_argument("--decimal", choices=[".", ","], default=".", help="the decimal point of numbers (.)")
    parser.add_argument("--zone", type=values.zone, metavar="ZONE", help="the time zone of instants without an offset")
    parser.add_argument("--dates", choices=["day-first", "month-first"], help="how 3/1/2026 and 03.01.2026 are read")
    parser.add_argument("--round", action="store_true", help="round numbers to the decimals that their metric keeps")
    parser.add_argument(
        "--source",
        type=values.text,
        metavar="NAME",
        help="make ids from this, not the file's name: rows of another one count too",
    )
    parser.add_argument(
        "--state", type=values.file, metavar="FILE", help="where to record what is posted (FILE.posted)"
    )
    parser.add_argument("--again", action="store_true", help="post all rows again: what was removed counts again")
    parser.add_argument(
        "--anyway", action="store_true", help="go on where receipts may be gone, or rows are refused or change boards"
    )
    parser.add_argument(
        "--boards", type=values.file, metavar="FILE", help="check every event by the rules of this boards.toml"
    )
    parser.add_argument(
        "--history", action="store_true", help="count also in periods that have closed, as far as they can be read"
    )
    parser.add_argument(
        "--correct", action="store_true", help="a file's rows replace what their ids counted with other content"
    )
    parser.add_argument("--dry-run", action="store_true", help="print the events; send and record nothing")
    parser.set_defaults(do=_post)


def _post(connection: Connection, options: argparse.Namespace) -> int:
    try:
        if options.csv is None and options.jsonl is None:
            return _one(connection, options)
        name = options.csv if options.csv is not None else options.jsonl
        reader = _row_reader(connection, options, name)
        posting = FilePosting(name, reader, options.state, options.again, options.anyway, options.json)
        return posting.print(connection) if options.dry_run else posting.post(connection)
    except (InputError, RefusedEvent) as error:
        print(f"standings: {shown(str(error))}", file=sys.stderr)
        return WRONG


def _one(connection: Connection, options: argparse.Namespace) -> int:
    of_files = (
        "board",
        "member_of_rows",
        "column",
        "ignore",
        "only",
        "delimiter",
        "source",
        "state",
        "again",
        "anyway",
        "correct",
    )
    _reject(options, "one event", *of_files)
    if len(options.event) < 3:  # noqa: PLR2004 - board, member and an amount
        raise InputError("expected BOARD MEMBER METRIC=AMOUNT, --csv FILE or --jsonl FILE")
    board, member, *numbers = options.event
    event_id = options.id if options.id is not None else uuid.uuid4().hex
    at = {} if options.at is None else {"at": _notation(options).instant(options.at)}
    fields = {"id": event_id, "board": board, "member": member, **at}
    note = None if options.note is None else _note(options.note)
    boards, added = boards_of(options.boards), amounts(numbers, _notation(options))
    if (rounding := _rounding(connection, options, boards)) is not None:
        added = {name: rounding.amount(amount, [board], name) for name, amount in added.items()}
    event = event_text(fields, added, sets=options.set, note=note)
    now = time.time_ns() // 1_000_000
    outgoing = message(event, now, boards, history=options.history)
    late = None if options.history else LateRows(definitions(connection, boards), now).warning_of_one(outgoing)
    if late is not None:
        print(f"standings: {late}", file=sys.stderr)
    if options.dry_run:
        print(outgoing.body)
        return OK
    waiting = Waiting(connection.api, time.sleep, time.monotonic, random.random) if options.wait else None
    before = waiting.status(event_id) if waiting is not None else None
    known = Known(lambda: connection.api, options.id is not None and connection.knows_api)
    result = next(iter(known.results([outgoing])), {"status": "", "detail": ""})
    is_known = result["status"] == "known"
    has_counted = before is not None and before["status"] == "counted"
    refusal = str(result["detail"]) if has_counted and result["status"] == "refused" else ""
    if is_known or (has_counted and not known.is_asked):
        print(f"standings: {shown(_USED.format(event_id))}", file=sys.stderr)
        before = None  # Its status will not change
    outbox = Outbox(connection.client("sqs"), connection.queue_url)
    try:
        (((_, refused),),) = outbox.delivered([outgoing], Outgoing)
    except (NotTakenError, KeyboardInterrupt) as error:
        advice = f"run the same command again with --id {event_id}: the event counts once"
        print(f"standings: the event may not be posted ({error!s:.200}); {advice}", file=sys.stderr)
        return INTERRUPTED if isinstance(error, KeyboardInterrupt) else UNREACHABLE
    if refused:
        raise InputError(f"the queue refuses the event: {refused}")
    said = {"id": event_id, "posted": 0, "known": 1} if is_known else {"id": event_id, "posted": 1}
    if waiting is not None:
        return _wait(waiting, said, before, refusal, event.fields, as_json=options.json)
    print(json.dumps(said) if options.json else event_id)
    return OK


def _wait(
    waiting: Waiting,
    said: dict[str, Any],
    before: Status | None,
    refusal: str,
    fields: Mapping[str, Any],
    *,
    as_json: bool,
) -> int:
    """Wait until an event is counted, and print its member's rank. Return the exit status.

    `refusal` says why an event is refused that will have no status, since another one has its id.
    """
    event_id = said["id"]
    if not as_json:
        print(event_id, flush=True)
    said = {**said, "counted": False}
    status, problem, answer = OK, "", None
    try:
        if refusal:
            raise RefusedError(refusal)
        if waiting.counted(event_id, before).get("superseded"):
            problem = "another one was set with a later time: this one changes nothing in the window all"
            said["superseded"] = True
        said["counted"] = True
        answer = waiting.rank(fields["board"], fields["member"], fields["metrics"])
    except RefusedError as error:
        advice = "Correct it, or deploy a boards.toml that takes it, and post it again"
        status, problem = DIFFERS, f"the event is refused: {error}. {advice}"
        said["refused"] = str(error)
    except NotYetError as error:
        status = UNREACHABLE
        problem = f"{error}: `standings doctor` looks for the reason; with --id {event_id} it may be posted again"
    if as_json:
        print(dumped({**said, "rank": answer}))
    elif answer is not None:
        show_rank(answer, forms_of(waiting.api.read("boards", fields["board"])))
    elif not problem:
        problem = "the event is counted; its member is hidden, or has no score in a ranking of these metrics"
    if problem:
        print(f"standings: {shown(problem)}", file=sys.stderr)
    return status


def _row_reader(connection: Connection, options: argparse.Namespace, name: str) -> RowReader:
    _reject(options, "a file", "id", "note", "wait")
    source = options.source or (None if name == STDIN else Path(name).name.removesuffix(".gz"))
    if name == STDIN:
        _reject(options, "standard input", "state", "again", "anyway")
    if options.csv is None:
        _reject(options, "--jsonl", "delimiter")
    boards, notation = boards_of(options.boards), _notation(options)
    return RowReader(
        "jsonl" if options.csv is None else "csv",
        source,
        options.board,
        {column: field for field, column in options.column},
        frozenset(options.ignore),
        amounts(options.event, notation),
        boards,
        None if options.at is None else notation.instant(options.at),
        options.set,
        frozenset(options.only),
        notation,
        options.delimiter,
        _rounding(connection, options, boards),
        options.member_of_rows,
        options.history,
        options.correct,
    )


def _notation(options: argparse.Namespace) -> Notation:
    return Notation(options.zone, options.decimal, options.dates)


def _rounding(connection: Connection, options: argparse.Namespace, boards: Boards | None) -> Rounding | None:
    """What rounds numbers, if they shall be rounded: by `--boards`, or by what the API says of a board."""
    if not options.round:
        return None
    if boards is None and not connection.knows_api:
        raise InputError("--round needs to know how many decimals a metric keeps: give --boards FILE, or --api-url")
    return Rounding(Decimals(lambda: boards, lambda board: connection.api.read("boards", board), real_clock()))


def _reject(options: argparse.Namespace, posted: str, *names: str) -> None:
    """Raise InputError for an option that does not apply to what is posted."""
    for name in names:
        if getattr(options, name) not in (None, False, []):
            option = {"event": "BOARD MEMBER METRIC=AMOUNT", "member_of_rows": "--member"}.get(name, f"--{name}")
            raise InputError(f"{option} does not apply to {posted}")


def _note(text: str) -> str:
    try:
        is_object = isinstance(orjson.loads(text), dict)
    except orjson.JSONDecodeError:
        is_object = False
    if not is_object:
        raise InputError(f'--note: expected a JSON object such as {{"video": "v1"}}, got {text[:80]!r}')
    return text


def amounts(texts: Sequence[str], notation: Notation = USUAL) -> dict[str, str]:
    """The amounts by metric in such as `["points=3"]`. Raises InputError and RefusedEvent."""
    found = dict(map(_amount, texts))
    if len(found) < len(texts):
        raise InputError(f"expected each metric once, got {' '.join(texts)}")
    for name in found:
        if not METRIC_NAME.fullmatch(name):
            raise RefusedEvent("metrics", f"metrics: expected {METRIC_RULE}, got {name!r}")
    return {name: notation.amount(name, amount) for name, amount in found.items()}


def _amount(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputError(f"expected METRIC=AMOUNT such as points=3, got {short(text)}")
    return name, value


def boards_of(file: str | None) -> Boards | None:
    """The boards that a file defines; None for no file. Raises InputError."""
    if file is None:
        return None
    try:
        return parse_boards(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError, DefinitionError) as error:
        raise InputError(f"--boards {file}: {error}") from error
