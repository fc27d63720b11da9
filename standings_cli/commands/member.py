"""`member`: show, register, hide, show again, remove and merge members of a board; a person's boards, name, erasure."""

import argparse
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from standings.client.api import Api
from standings.client.errors import ApiError
from standings_cli.commands import values
from standings_cli.commands.options import Commands
from standings_cli.commands.profiles import File, Row, Words, load_rows
from standings_cli.commands.rankings import forms_of
from standings_cli.post.counted import NotYetError, Waiting
from standings_cli.stack.connection import Connection
from standings_cli.stack.errors import InputError
from standings_cli.terminal import (
    DIFFERS,
    NO_FORMS,
    OK,
    PLAIN,
    UNREACHABLE,
    Forms,
    as_json,
    console,
    is_confirmed,
    number,
    period,
    say,
    shown,
    table,
    tie_breaks_text,
)

if TYPE_CHECKING:
    from rich.table import Table

_MEMBERS: Final = Words("registered", "registered rows", "registering", "registered", "registered", "members")
_UNKNOWN: Final = ": none has this member, and it has no profile; check the id, unless it was erased before"


def add(commands: Commands) -> None:
    """Add the commands about members."""
    actions = commands.group("member")

    _add(actions, "show", _show, "show a member's scores and ranks in everything that a board counts")
    _add_boards(actions)
    _add_list(actions)
    _add_register(actions)
    hide = _add(
        actions,
        "hide",
        _hide,
        "take a member out of every ranking of a board; its scores are kept and its events go on to count",
        "Exit status 1 if there is no such member.",
        on_all_boards=True,
    )
    hide.add_argument("--register", action="store_true", help="register a member that is not there yet, hidden")
    bring_back = partial(_put, hidden=False)
    unhide = _add(actions, "unhide", bring_back, "bring a hidden member back with its scores", on_all_boards=True)
    remove = _add(
        actions,
        "remove",
        _remove,
        "remove a member of a board, with its scores",
        "A later event begins at zero; on a board of registered members after it was registered again. "
        "Exit status 1 if there is no such member.",
    )
    remove.add_argument("--yes", action="store_true", help="do not ask")
    for parser in (hide, unhide, remove, _add_merge(actions)):
        parser.add_argument("--wait", action="store_true", help="wait until the ranks have followed, up to a minute")

    name = actions.add("name", help="give a member a name, which every board shows")
    name.add_argument("member", type=values.member, metavar="ID")
    name.add_argument("name", type=values.name, metavar="NAME")
    name.set_defaults(do=_name, resumes=False)

    erase = actions.add(
        "erase",
        help="remove a person from every board",
        description="Remove a person from every board, with all scores. Settled files that hold the person are named "
        "and left as they are. Stop what posts for that person first: an event that is still to be counted brings the "
        "member back.",
        epilog="It may be run again at any time. docs/how-to/ban-and-erase.md says what is left for a while. Exit "
        "status 1 if a board has to be looked at again.",
    )
    erase.add_argument("member", type=values.member, metavar="ID")
    erase.add_argument("--yes", action="store_true", help="do not ask")
    _add_every_board(erase)
    erase.set_defaults(do=_erase)


def _add_boards(actions: Commands) -> None:
    boards = actions.add("boards", help="list the boards that a member is in")
    boards.add_argument("member", type=values.member, metavar="ID")
    boards.add_argument("--ranks", action="store_true", help="with its scores and ranks")
    boards.add_argument("--window", type=values.window, help="the window of the ranks, by default all")
    boards.set_defaults(do=_boards, resumes=False)


def _add_list(actions: Commands) -> None:
    listed = actions.add(
        "list",
        help="list the members of a board, also those that no ranking shows",
        epilog="It reads the item of each member, and lists them in no order.",
    )
    listed.add_argument("board", type=values.board)
    listed.add_argument("--hidden", action="store_true", help="only those that are hidden")
    listed.set_defaults(do=_list, resumes=False)


def _add_merge(actions: Commands) -> argparse.ArgumentParser:
    merge = actions.add(
        "merge",
        help="give all that a member of a board has to another one; the first is gone then",
        epilog="For two ids of one person: docs/how-to/merge-two-ids.md. With --all-boards leave BOARD out; after an "
        "interruption, the same command continues. Exit status 1 if there is no member OLD, or a board refuses it.",
    )
    merge.add_argument("board", type=values.board, metavar="BOARD", nargs="?")
    merge.add_argument("old", type=values.member, metavar="OLD")
    merge.add_argument("new", type=values.member, metavar="NEW")
    merge.add_argument("--all-boards", action="store_true", help="on each board that OLD is in")
    _add_every_board(merge)
    merge.set_defaults(do=_merge, resumes=False)
    return merge


def _add_every_board(parser: argparse.ArgumentParser) -> None:
    text = "look at all boards, not only at those that the index of members' boards names: slow where there are many"
    parser.add_argument("--every-board", action="store_true", help=text)


_REGISTERS: Final = """
A member that is there stays as it is, also if it is hidden.

--csv FILE (.gz too; - is standard input) registers a member for each row of CSV with a header: the column
member, and for profiles name, picture, country and data (a JSON object), if you have them. Empty cells stay
as they are in the profile. A row that is refused is named and skipped. FILE.registered (or --state) records
the progress: after an interruption, or once rows were appended, run the same command again.
"""


def _add_register(actions: Commands) -> None:
    register = actions.add(
        "register",
        help="register a member, unless it is there, or the members of a file",
        epilog=_REGISTERS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    register.add_argument("board", type=values.board)
    register.add_argument("member", type=values.member, metavar="ID", nargs="?")
    register.add_argument("--csv", type=values.file, metavar="FILE", help="register the members of a file of CSV")
    register.add_argument("--state", type=values.file, metavar="FILE", help="where to record the progress of --csv")
    register.add_argument("--again", action="store_true", help="with --csv: write all rows, also those done before")
    register.set_defaults(do=_register)


def _add(
    actions: Commands,
    name: str,
    do: Callable[..., int],
    text: str,
    epilog: str | None = None,
    *,
    on_all_boards: bool = False,
) -> argparse.ArgumentParser:
    parser = actions.add(name, help=text, epilog=epilog)
    parser.add_argument("board", type=values.board, nargs="?" if on_all_boards else None)
    parser.add_argument("member", type=values.member, metavar="ID")
    if on_all_boards:
        parser.add_argument("--all-boards", action="store_true", help="on each board that it is in; leave BOARD out")
    parser.set_defaults(do=partial(_on_boards, do) if on_all_boards else do, resumes=False)
    return parser


def _show(connection: Connection, options: argparse.Namespace) -> int:
    answer = connection.api.read("boards", options.board, "member", id=options.member, ranks="true")
    if options.json:
        print(as_json(answer))
        return OK
    screen, forms = console(), forms_of(connection.api.read("boards", options.board))
    screen.print(f"{_named(answer)} · {'hidden' if answer['hidden'] else 'not hidden'}")
    any_ties = any("tie_breaks" in window for metric in answer["metrics"] for window in metric["windows"])
    ties = ["tie-breaks"] * any_ties
    rows = table("metric", "window", "period", "score", *ties, "rank", "of", right=("score", "rank", "of"))
    for metric in answer["metrics"]:
        form = forms.get(metric["metric"], PLAIN)
        if not metric["windows"]:
            rows.add_row(metric["metric"], "not ranked", "", form.in_words(metric["score"]))
        for window in metric["windows"]:
            more = [form.in_words(window["score"]), *[tie_breaks_text(window, forms)] * any_ties]
            ranked = (number(window[name]) for name in ("rank", "total"))
            rows.add_row(metric["metric"], window["window"], period(window), *more, *ranked)
    screen.print(rows)
    return OK


def _boards(connection: Connection, options: argparse.Namespace) -> int:
    ranks = options.ranks or options.window is not None
    window = (options.window or "all") if ranks else None
    found = list[dict[str, Any]]()
    for answer in _pages(connection, id=options.member, ranks="true" if ranks else None, window=window):
        if options.json:
            print(as_json(answer), flush=True)
        found += answer["boards"]
    if options.json:
        return OK
    if not found:
        say(f"{shown(options.member)}: in no board")
        return OK
    if ranks:
        console().print(_ranked_boards(found, {board["board"]: _forms(connection, board["board"]) for board in found}))
        return OK
    for board in found:
        print(shown(board["board"]) + (" (hidden)" if board["hidden"] else ""))
    return OK


def _list(connection: Connection, options: argparse.Namespace) -> int:
    looked_at, found, problems = 0, 0, list[str]()

    def progress(answer: Mapping[str, Any]) -> str:
        return f"{number(looked_at + answer['looked_at'])} members looked at"

    arguments = {"board": options.board, "hidden": options.hidden or None}
    for answer in connection.maintenance.answers("members", arguments, progress=progress):
        looked_at += answer["looked_at"]
        found += len(answer["members"])
        problems += answer["problems"]
        if options.json:
            print(as_json(answer), flush=True)
        for one in () if options.json else answer["members"]:
            print(shown(one["member"]) + (" (hidden)" if one["hidden"] and not options.hidden else ""), flush=True)
    for problem in problems:
        say(f"standings: {problem}")
    if not (found or problems or options.json):
        say(f"{options.board}: {'no member is hidden' if options.hidden else 'no members'}")
    return DIFFERS if problems else OK


def _pages(connection: Connection, **given: str | None) -> Iterator[dict[str, Any]]:
    """The answers that list a member's boards."""
    cursor = None
    while True:
        yield (answer := connection.api.read("members", "boards", **given, cursor=cursor))
        if (cursor := answer["next"]) is None:
            return


def _on_boards(
    do: Callable[[Connection, argparse.Namespace], int], connection: Connection, options: argparse.Namespace
) -> int:
    """Do it on the board, or with `--all-boards` on each that the member is in. Return the exit status."""
    if options.all_boards == (options.board is not None):
        raise InputError("expected BOARD ID, or --all-boards ID" + (", not both" if options.board else ""))
    if not options.all_boards:
        return do(connection, options)
    boards = [board["board"] for page in _pages(connection, id=options.member) for board in page["boards"]]
    if not boards:
        say(f"standings: no board has a member {options.member!r}: check the id")
        return DIFFERS
    statuses = []
    for board in boards:
        options.board = board
        statuses.append(do(connection, options))
    return max(statuses)


def _forms(connection: Connection, board: str) -> Forms:
    """How people see the numbers of a board; as they are if it has just ended, or is being deleted."""
    try:
        return forms_of(connection.api.read("boards", board))
    except ApiError:
        return NO_FORMS


def _ranked_boards(boards: Sequence[Mapping[str, Any]], forms: Mapping[str, Forms]) -> "Table":
    any_ties = any("tie_breaks" in metric["windows"][0] for board in boards for metric in board["metrics"])
    ties = ["tie-breaks"] * any_ties
    rows = table("board", "", "metric", "period", "score", *ties, "rank", "of", right=("score", "rank", "of"))
    for board in boards:
        name, state = shown(board["board"]), "hidden" if board["hidden"] else ""
        if not board["metrics"]:
            rows.add_row(name, state, "not ranked in this window")
        for metric in board["metrics"]:
            (window,) = metric["windows"]
            of_board = forms[board["board"]]
            score = of_board.get(metric["metric"], PLAIN).in_words(window["score"])
            more = [tie_breaks_text(window, of_board)] * any_ties
            ranked = (number(window[one]) for one in ("rank", "total"))
            rows.add_row(name, state, metric["metric"], period(window), score, *more, *ranked)
    return rows


def _register(connection: Connection, options: argparse.Namespace) -> int:
    if (options.member is None) == (options.csv is None):
        raise InputError("expected the ID of a member, or --csv FILE" + ("" if options.csv is None else ", not both"))
    if options.csv is None:
        return _put(connection, options)

    def write(api: Api, row: Row) -> None:
        api.put("boards", options.board, "member", id=row.member)
        if row.fields:
            api.put("members", body=row.fields, id=row.member)

    file = File(options.csv, is_csv=True, needs_fields=False)
    return load_rows(connection, options, file, _MEMBERS, write, f"#{options.board}")


def _hide(connection: Connection, options: argparse.Namespace) -> int:
    if not options.register:
        try:
            connection.api.read("boards", options.board, "member", id=options.member)
        except ApiError as error:
            if error.kind != "no-such-member":
                raise
            say(f"standings: {shown(str(error))}: check the id, or register it hidden with --register")
            return DIFFERS
    return _put(connection, options, hidden=True)


def _put(connection: Connection, options: argparse.Namespace, *, hidden: bool | None = None) -> int:
    body = None if hidden is None else {"hidden": hidden}
    answer = connection.api.put("boards", options.board, "member", body=body, id=options.member)
    if options.json:
        print(as_json(answer))
    elif answer["hidden"]:
        print(f"{_named(answer)}: hidden, in no ranking; scores are kept and events go on to count")
    elif hidden is None:
        print(f"{_named(answer)}: registered")
    else:
        print(f"{_named(answer)}: not hidden, ranked with its scores")
    return OK if hidden is None else _wait(connection, options, {options.member: not hidden})


def _remove(connection: Connection, options: argparse.Namespace) -> int:
    if not options.yes:
        question = f"Remove {options.member!r} from board {options.board!r}, with all scores? Type the id: "
        if not is_confirmed(question, options.member, "nothing was removed"):
            return DIFFERS
    connection.api.delete("boards", options.board, "member", id=options.member)
    answer = {"board": options.board, "member": options.member}
    print(as_json({**answer, "removed": True}) if options.json else f"{_named(answer)}: removed, with its scores")
    return _wait(connection, options, {options.member: False})


def _merge(connection: Connection, options: argparse.Namespace) -> int:
    if options.all_boards == (options.board is not None):
        raise InputError("expected BOARD OLD NEW, or --all-boards OLD NEW" + (", not both" if options.board else ""))
    if options.all_boards:
        return _merge_everywhere(connection, options)
    if options.every_board:
        raise InputError("--every-board needs --all-boards")
    arguments = {"board": options.board, "old": options.old, "new": options.new}
    try:
        (answer,) = connection.maintenance.answers("merge", arguments)
    except InputError as error:
        if "has no member" not in str(error):
            raise
        problem = str(error).partition(": `standings boards")[0]
        say(f"standings: {problem}: check the id")
        return DIFFERS
    if options.json:
        print(as_json(answer))
    at = datetime.fromtimestamp(answer["merged_at"] // 1000, UTC)
    if not answer["merged"]:
        say(f"{_named({**answer, 'member': options.old})}: was merged before, at {at:%Y-%m-%d %H:%M:%S} UTC")
        return DIFFERS
    if not options.json:
        also = f"; {shown(options.new)} is hidden" if answer["hidden"] else ""
        print(
            f"{_named({**answer, 'member': options.old})}: merged into {shown(options.new)}, with all its scores{also}"
        )
    return _wait(connection, options, {options.old: False, options.new: not answer["hidden"]})


def _merge_everywhere(connection: Connection, options: argparse.Namespace) -> int:
    merged, before, problems = list[Mapping[str, Any]](), 0, 0
    arguments = {"old": options.old, "new": options.new, "all_boards": True, "every_board": options.every_board}
    for answer in _answers(connection, options, "merge", arguments):
        merged += answer["merged"]
        before += answer["before"]
        problems += len(answer["problems"])
        for one in () if options.json else answer["merged"]:
            print(f"merged on {shown(one['board'])}{': hidden there' if one['hidden'] else ''}", flush=True)
    if not (merged or before or problems):
        say(f"standings: no board has a member {options.old!r}: check the id")
        return DIFFERS
    if not options.json:
        also = f"; on {number(before)} before" if before else ""
        print(f"{shown(options.old)}: merged into {shown(options.new)} on {_boards_text(len(merged))}{also}")
    statuses = [DIFFERS if problems else OK]
    for one in merged if options.wait else ():
        options.board = one["board"]
        statuses.append(_wait(connection, options, {options.old: False, options.new: not one["hidden"]}))
    return max(statuses)


def _answers(
    connection: Connection, options: argparse.Namespace, task: str, arguments: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    """Yield the answers of a task that goes through the boards of a member; print them with --json.

    Says once that it goes through all boards though nobody wanted that, and at the end which boards have a problem.
    """
    problems, is_told = list[Mapping[str, Any]](), options.json or options.every_board
    for answer in connection.maintenance.answers(task, arguments):
        problems += answer["problems"]
        if options.json:
            print(as_json(answer), flush=True)
        if answer["every_board"] and not is_told:
            say("standings: the index of members' boards is being built: every board is looked at instead")
            is_told = True
        yield answer
    for problem in problems:
        say(f"{problem['board']}: {problem['why']}")


def _boards_text(count: int) -> str:
    return f"{number(count)} board{'' if count == 1 else 's'}"


def _wait(connection: Connection, options: argparse.Namespace, are_ranked: Mapping[str, bool]) -> int:
    """With `--wait`, wait until the ranks of members have followed: they are ranked, or not. Return the exit status."""
    waiting = Waiting(connection.api, time.sleep, time.monotonic, random.random)
    try:
        for member, is_ranked in are_ranked.items() if options.wait else ():
            waiting.followed(options.board, member, is_ranked=is_ranked)
    except NotYetError as error:
        say(f"standings: it is done, but {error}: `standings doctor` looks for the reason")
        return UNREACHABLE
    return OK


def _name(connection: Connection, options: argparse.Namespace) -> int:
    profile = connection.api.put("members", body={"name": options.name}, id=options.member)
    answer = {"member": options.member, "profile": profile}
    print(as_json(answer) if options.json else f"{shown(options.member)}: is shown as {shown(profile['name'])}")
    return OK


def _erase(connection: Connection, options: argparse.Namespace) -> int:
    if not options.yes:
        question = f"Remove {options.member!r} from every board, with all scores? Type the id: "
        if not is_confirmed(question, options.member, "nothing was removed"):
            return DIFFERS
    boards, problems, files, profile = 0, 0, list[str](), False
    arguments = {"member": options.member, "every_board": options.every_board or None}
    for answer in _answers(connection, options, "erase", arguments):
        boards += len(answer["boards"])
        problems += len(answer["problems"])
        files += answer["files"]
        profile = profile or answer["profile"]
        for board in () if options.json else answer["boards"]:
            print(f"removed from {shown(board)}", flush=True)
    if files and not options.json:
        print(f"{shown(options.member)} is still in these settled files (docs/how-to/ban-and-erase.md):")
        for key in files:
            print(f"    {shown(key)}")
    if not options.json:
        is_known = bool(boards or profile or files or problems)
        also = ", and the profile" if profile else "" if is_known else _UNKNOWN
        print(f"{shown(options.member)}: removed from {_boards_text(boards)}{also}")
    return DIFFERS if problems else OK


def _named(answer: Mapping[str, Any]) -> str:
    return f"{shown(answer['board'])} · {shown(answer['member'])}"
