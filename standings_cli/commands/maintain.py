"""`audit`, `rebuild`, `delete`, `settle`, `results`, `dlq` and `parked`: tasks of the maintenance function."""

import argparse
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from standings.stores import SLOTS
from standings_cli.commands import values
from standings_cli.commands.options import Commands, whole_from
from standings_cli.stack.connection import Connection
from standings_cli.stack.errors import InputError
from standings_cli.terminal import DIFFERS, OK, as_json, is_confirmed, members, number, say, shown

_BOARDS: Final = "`standings boards list` shows the boards"


def add(commands: Commands) -> None:
    """Add the tasks of the maintenance function."""
    audit = commands.add("audit")
    audit.add_argument("board", nargs="?", type=values.board, help="the board (all boards)")
    audit.add_argument("--grace", type=whole_from(0), metavar="SECONDS", help="how late the stream may be (900)")
    audit.set_defaults(do=_audit)

    rebuild = commands.add("rebuild")
    rebuild.add_argument(
        "board", type=values.boards, help="a board, or a glob such as 'berlin-*' for all boards that match"
    )
    rebuild.set_defaults(do=_job, task="rebuild")

    delete = commands.add(
        "delete",
        epilog="It takes some eleven minutes, most of them waits for functions that know an older record of the board. "
        "From its first moment until it has ended, the board's events are refused, to the dead-letter queue "
        "(`standings dlq replay` brings them back), and reads answer 404 (being-deleted).",
    )
    delete.add_argument("board", type=values.board)
    delete.add_argument("--yes", action="store_true", help="do not ask")
    delete.set_defaults(do=_delete, task="delete")

    settle = commands.add(
        "settle",
        epilog="A settled period stays as it is; only events that were not sent are sent. A period in which nobody is "
        "ranked, of a board that has members, is settled once you confirm it, or with --yes: its events may still be "
        "missing. Exit status 1 if a period is not settled; the reason is printed.",
    )
    settle.add_argument("board", type=values.board)
    settle.add_argument("--window", type=values.window, required=True, help="a window that boards.toml settles")
    settle.add_argument("--metric", type=values.metric, help="a metric (all that are ranked in the window)")
    settle.add_argument(
        "--period",
        type=values.period,
        help="a day in the period, or its name (the latest final period)",
    )
    settle.add_argument("--again", action="store_true", help="replace the files; send only events that were not sent")
    settle.add_argument("--yes", action="store_true", help="seal also a period without members, and do not ask")
    settle.set_defaults(do=_settle)

    results = commands.add("results")
    results.add_argument("board", type=values.board)
    results.set_defaults(do=_results)

    _add_failures(commands, "dlq", "dead_letters", "ids", "refused messages")
    _add_failures(commands, "parked", "parked", "keys", "stream records that could not be applied")


def _add_failures(commands: Commands, name: str, task: str, argument: str, failures: str) -> None:
    """Add the commands that list and replay messages or records that could not be applied."""
    actions = commands.group(name)
    for action in ("list", "replay"):
        parser = actions.add(action, help=f"{action} {failures}")
        _add_selection(parser, argument, "only these (all)")
        parser.set_defaults(do=_failures, task=task, action=action, argument=argument, limit=None, failures=failures)
        if action == "list":
            parser.add_argument("--limit", type=whole_from(1), help="how many to show (100)")
    if name == "dlq":
        drop = actions.add(
            "drop",
            help="delete refused messages for good",
            epilog="ID is a message's, as `dlq list` shows it, or an event's. With --reason or --board, the question "
            "says how many these are; what is refused from then on stays. To mend an event, post the right one under "
            "its id: nothing of the refused one has counted. Exit status 1 if a message was not deleted.",
        )
        _add_selection(drop, argument, "only these")
        drop.add_argument("--yes", action="store_true", help="do not ask")
        drop.set_defaults(do=_drop)


def _add_selection(parser: argparse.ArgumentParser, argument: str, text: str) -> None:
    parser.add_argument(argument, nargs="*", type=values.text, metavar=argument[:-1].upper(), help=text)
    parser.add_argument("--reason", type=values.text, metavar="TEXT", help="only those with this text in their reason")
    parser.add_argument("--board", type=values.board, help="only those of this board")


def _audit(connection: Connection, options: argparse.Namespace) -> int:
    drift, looked_at = 0, 0
    arguments = {"board": options.board, "grace_seconds": options.grace}

    def progress(answer: Mapping[str, Any]) -> str:
        compared = looked_at + len(answer["boards"])
        return f"{number(compared)} board{'' if compared == 1 else 's'} compared"

    for answer in connection.maintenance.answers("audit", arguments, progress=progress):
        drift += answer["drift"]
        looked_at += len(answer["boards"])
        if options.json:
            print(as_json(answer), flush=True)
            continue
        for board in answer["boards"]:
            counts = ", ".join(f"{count} {kind}" for kind, count in board["found"].items() if count)
            read = f"{board['looked_at']['rows']} rows, {board['looked_at']['entries']} entries"
            print(f"{shown(board['board'])}: {counts or 'no difference'} ({read})")
            for example in board["examples"]:
                print("   ", as_json(example))
    if drift and not options.json:
        print(f"{drift} differences: repair a board with `standings rebuild BOARD`")
    if not looked_at:
        problem = "no board has had an event" if options.board is None else f"board {options.board!r} has had no event"
        say(f"standings: {problem}: {_BOARDS}")
    return DIFFERS if drift or (options.board is not None and not looked_at) else OK


def _settle(connection: Connection, options: argparse.Namespace) -> int:
    arguments = {name: getattr(options, name) or None for name in ("board", "window", "metric", "period", "again")}
    is_settled, empty = _settled(connection, options, {**arguments, "empty": options.yes or None})
    for ranking in empty:
        about = " · ".join(ranking[name] for name in ("board", "metric", "window", "period"))
        question = f"{about}: seal it without members? Nobody is ranked there. Type the period: "
        if not is_confirmed(shown(question), ranking["period"], "it was not settled"):
            is_settled = False
            continue
        chosen = {name: ranking[name] for name in ("metric", "period")}
        is_settled &= _settled(connection, options, {**arguments, **chosen, "empty": True})[0]
    return OK if is_settled else DIFFERS


def _settled(
    connection: Connection, options: argparse.Namespace, arguments: Mapping[str, Any]
) -> tuple[bool, list[Mapping[str, Any]]]:
    """Settle, and print what was: whether all was settled that is not empty, and the rankings that are."""
    is_settled, empty = True, list[Mapping[str, Any]]()
    for answer in connection.maintenance.answers("settle", arguments, progress=_stage):
        if options.json:
            print(as_json(answer), flush=True)
        for ranking in answer["rankings"]:
            is_empty = ranking.get("empty", False)
            empty += [ranking] if is_empty else []
            is_settled = is_settled and (is_empty or ranking["why"] is None)
            if not options.json:
                _print_ranking(ranking)
    return is_settled, empty


def _stage(answer: Mapping[str, Any]) -> str:
    if answer["running"]:
        return "another settlement of this stack is at work"
    under_way = (one for one in answer["rankings"] if one["why"] is None and one["summary"] is None)
    return ", ".join(f"{one['metric']} {one['period']}: {one['stage']}" for one in under_way)


def _print_ranking(ranking: Mapping[str, Any]) -> None:
    about = shown(" · ".join(ranking[name] for name in ("board", "metric", "window", "period")))
    if ranking["why"] is not None:
        print(f"{about}: not settled: {shown(ranking['why'])}")
        for example in ranking["examples"]:
            print("   ", as_json(example))
    elif ranking["summary"] is not None:
        settled = "was settled before" if ranking.get("before") else "settled"
        print(f"{about}: {settled}, {_outcome(ranking['summary'], ranking.get('winners', {}))}")
        print(f"    s3://{ranking['bucket']}/{shown(ranking['prefix'])}")


def _outcome(summary: Mapping[str, Any], winners: Mapping[str, Sequence[str]]) -> str:
    """What a settlement ended with, such as `41 members, gold 1 (m001), silver 12 (m002, m003, …)`."""
    told = [members(summary["members"])]
    for prize in summary["prizes"]:
        ids = [*winners.get(prize["name"], ())]
        named = ", ".join(ids + ["…"] * (len(ids) < prize["winners"]))
        told.append(f"{prize['name']} {prize['winners']}" + (f" ({named})" if ids else ""))
    return shown(", ".join(told))


def _results(connection: Connection, options: argparse.Namespace) -> int:
    cursor, any_yet = None, False
    while True:
        arguments = {"board": options.board, "cursor": cursor}
        (answer,) = connection.maintenance.answers("settlements", arguments, "list")
        any_yet |= bool(answer["results"])
        if options.json:
            print(as_json(answer), flush=True)
        else:
            for summary in answer["results"]:
                about = shown(f"{summary['metric']} · {summary['window']} · {summary['period']}")
                print(
                    f"{about}: {_outcome(summary, summary.get('winners', {}))}, s3://{answer['bucket']}/{shown(summary['prefix'])}"
                )
        cursor = answer["cursor"]
        if answer["done"]:
            if not (any_yet or options.json):
                print(f"no period of board {options.board!r} is settled yet")
            return OK


def _delete(connection: Connection, options: argparse.Namespace) -> int:
    if not options.yes:
        question = (
            f"Delete board {options.board!r}, all its members and their scores? It takes some eleven minutes, and "
            "until it has ended, events of the board are refused. Type its name: "
        )
        if not is_confirmed(question, options.board, "nothing was deleted"):
            return DIFFERS
    return _job(connection, options)


def _job(connection: Connection, options: argparse.Namespace) -> int:
    for answer in connection.maintenance.answers(options.task, {"board": options.board}, progress=_progress):
        if options.json:
            print(as_json(answer), flush=True)
        elif answer["done"] and answer.get("boards") == 0:
            say(f"standings: no board matches {options.board!r}: {_BOARDS}")
            return DIFFERS
    if not options.json:
        print(f"{shown(options.board)}: {options.task} done")
    return OK


def _progress(answer: Mapping[str, Any]) -> str:
    """Return how far a rebuild or a deletion is: `placing, 300 members, 12 of 64 parts`, `announced, waiting 180 s`."""
    if answer["done"]:
        return ""
    if "boards_done" in answer:
        return f"{answer['boards_done']} of {answer['boards']} boards done"
    if answer["wait"]:
        return f"{answer['phase']}, waiting {answer['wait']:.0f} s"
    return f"{answer['phase']}, {members(answer['members'])}, {answer['slot']} of {SLOTS} parts"


def _failures(connection: Connection, options: argparse.Namespace) -> int:
    named = getattr(options, options.argument) or None
    selection = {options.argument: named, "reason": options.reason, "board": options.board}
    incomplete, found = False, 0
    for answer in connection.maintenance.answers(options.task, {**selection, "limit": options.limit}, options.action):
        found += len(answer.get("messages") or answer.get("objects") or ()) + sum(_counts(answer).values())
        incomplete = incomplete or bool(answer.get("problems")) or answer.get("why") is not None
        if options.json:
            print(as_json(answer), flush=True)
        elif options.action == "list":
            _print_list(answer)
        else:
            _print_replay(answer)
    if options.action == "list" and found and not options.json:
        say(f"once the cause is fixed: `standings {options.command} replay`")
        if options.command == "dlq":
            say("if the event itself is wrong: post the right one under its id, then `standings dlq drop ID`")
    elif not (found or options.json or incomplete):
        is_selection = any(value is not None for value in selection.values())
        all_of_them = f" that match: `standings {options.command} list` shows all"
        print(f"there are no {options.failures}{all_of_them if is_selection else ': nothing is to be done'}")
    return DIFFERS if incomplete or (named and not found) else OK


def _drop(connection: Connection, options: argparse.Namespace) -> int:
    ids = list(dict.fromkeys(options.ids))
    selection = {"ids": ids or None, "reason": options.reason, "board": options.board}
    if not any(selection.values()):
        raise InputError("expected ID, --reason or --board: `standings dlq list` shows what there is")
    # What is refused while somebody reads the question is not in its count.
    asked = time.time_ns() // 1_000_000 if not options.yes and (options.reason or options.board) else None
    if not options.yes and not _is_drop_confirmed(connection, selection):
        return DIFFERS
    deleted, missing, failed = 0, set(ids), False
    for answer in connection.maintenance.answers("dead_letters", {**selection, "cursor": asked}, "delete"):
        deleted += answer["deleted"]
        missing &= set(answer["missing"])
        failed = bool(answer["problems"])
        if options.json:
            print(as_json(answer))
        for problem in [] if options.json else answer["problems"]:
            print("   ", shown(f"{problem['id']} {problem['why']}"))
        if not answer["done"] and not answer["deleted"]:
            break  # Calls that delete nothing could go on for ever
    if not options.json:
        print(f"{number(deleted)} deleted")
        if not answer["done"]:
            say(answer["why"] or "not every message was looked at: run the same command again later")
        elif missing:
            names, also = ", ".join(sorted(missing)), " and matches" if options.reason or options.board else ""
            say(shown(f"no message or event there has the id {names}{also}: `standings dlq list` shows all"))
    return DIFFERS if missing or failed or not answer["done"] else OK


def _is_drop_confirmed(connection: Connection, selection: Mapping[str, Any]) -> bool:
    """Ask whether to delete the messages of some ids; of a reason or board, say first how many these are, and why."""
    what = f"the refused messages of {number(len(selection['ids'] or ()))} ids"
    if selection["reason"] or selection["board"]:
        (listed,) = connection.maintenance.answers("dead_letters", {**selection, "limit": 1}, "list")
        for one in listed["reasons"]:
            say(f"{number(one['messages'])} × {one['reason']}")
        count = f"{number(listed['chosen'])} refused message{'' if listed['chosen'] == 1 else 's'}"
        what = count if listed["done"] else f"{count}, and more that were not looked at"
    return is_confirmed(f"Delete {what} for good? Type drop: ", "drop", "nothing was deleted")


def _print_list(answer: Mapping[str, Any]) -> None:
    for reason in answer.get("reasons", []):
        print(f"{reason['messages']} × {shown(reason['reason'])}")
    for message in answer.get("messages", []):
        print(f"{shown(message['id'])}  {message['sent']}  {shown(message['reason'])}\n    {shown(message['body'])}")
    for parked in answer.get("objects", []):
        people = ", ".join(shown(f"{member['board']} {member['member']}") for member in parked["members"])
        print(f"{shown(parked['key'])}  {parked['parked']}  {shown(parked['reason'])}")
        print(f"    {parked['records']} records: {people}")
    if not answer["done"]:
        say(answer.get("why") or "there are more: use --limit, --reason or --board")


def _print_replay(answer: Mapping[str, Any]) -> None:
    print(", ".join(f"{count} {_SAID.get(name, name)}" for name, count in _counts(answer).items()))
    for problem in answer["problems"]:
        print("   ", shown(f"{problem.get('id') or problem.get('key')} {problem['why']}"))
    if answer.get("why"):
        say(answer["why"])
    if answer.get("replayed"):
        say("the writer refuses again what still breaks a rule: `standings dlq list` shows it in a moment")


_SAID: Final = {"replayed": "sent again", "refused": "too old or damaged"}


def _counts(answer: Mapping[str, Any]) -> dict[str, int]:
    """What a replay has done with the messages or records."""
    names = ("replayed", "placed", "removed", "refused", "failed", "left")
    return {name: answer[name] for name in names if name in answer}
