"""`top`, `rank`, `around` and `history`: reads of a ranking."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from standings.client.api import Api
from standings.client.errors import ApiError
from standings.client.reads import ranked
from standings.domain.boards import column_of
from standings.domain.profiles import search_form
from standings_cli.commands import values
from standings_cli.commands.options import Commands, add_csv, position, whole_from
from standings_cli.stack.connection import Connection
from standings_cli.stack.errors import InputError, unknown_status
from standings_cli.terminal import (
    DIFFERS,
    NO_FORMS,
    OK,
    PLAIN,
    Form,
    Forms,
    Working,
    as_json,
    console,
    members,
    named,
    number,
    number_columns,
    period,
    plain,
    print_csv,
    ranking,
    scored,
    shown,
    standings,
    table,
    tie_break_cells,
    tie_breaks_of,
)

Answer = TypeVar("Answer")

TOP: Final = 10
RADIUS: Final = 5
_MOST_RADIUS: Final = 100
_PAGE_SIZE: Final = 1_000  # the most entries that the API returns at once
COLUMNS: Final = ("rank", "member", "score")


def add(commands: Commands) -> None:
    """Add the reads of a ranking."""
    top = commands.add("top", epilog="--json prints one line for each page of up to 1000 entries.")
    add_ranking(top)
    top.add_argument("--limit", type=whole_from(1), default=TOP, metavar="N", help="how many entries (%(default)s)")
    begin = top.add_mutually_exclusive_group()
    begin.add_argument(
        "--from", type=position, dest="start", metavar="RANK", help="begin at this position; from -1 back: end there"
    )
    begin.add_argument(
        "--score", type=values.score, metavar="SCORE", help="begin at the first with this score, or behind it"
    )
    _add_tie_breaks(top)
    add_csv(top)
    _add_ids(top)
    top.set_defaults(do=partial(_top, top), resumes=False)

    rank = commands.add("rank", epilog="Exit status 1 if the member is not ranked.")
    add_ranking(rank)
    rank.add_argument("member", nargs="?", type=values.member, help="the member to rank: its id, or its whole name")
    rank.add_argument(
        "--score", type=values.score, metavar="SCORE", help="instead of a member: the rank that this score would have"
    )
    _add_tie_breaks(rank)
    rank.add_argument("--previous", action="store_true", help="also show the member's rank in the period before")
    _add_ids(rank)
    rank.set_defaults(do=partial(_rank, rank), resumes=False)

    around = commands.add("around", epilog="Exit status 1 if the member is not ranked.")
    add_ranking(around)
    around.add_argument("member", type=values.member, help="the member in the middle: its id, or its whole name")
    size = around.add_mutually_exclusive_group()
    radius, limit = whole_from(0, _MOST_RADIUS), whole_from(1, _PAGE_SIZE)
    size.add_argument("--radius", type=radius, metavar="N", help=f"neighbours on each side ({RADIUS})")
    size.add_argument("--limit", type=limit, metavar="N", help="how many entries in all, the member among them")
    add_csv(around)
    _add_ids(around)
    around.set_defaults(do=_around, resumes=False)
    _add_history(commands)


def add_ranking(parser: argparse.ArgumentParser) -> None:
    """Add the board and the options that name one of its rankings."""
    parser.add_argument("board", type=values.board)
    parser.add_argument("--metric", type=values.metric, help="the ranked metric (the board's first)")
    parser.add_argument("--window", type=values.window, help="all, day, last-7-days, … (the metric's first)")
    parser.add_argument(
        "--period",
        type=values.period,
        help="a past period: a day in it (2026-11-20), an hour (2026-11-20T15), a week (2026-W47), a month (2026-11), "
        "a year or a season (winter-2026)",
    )
    methods = {"competition": "1224, the default", "ordinal": "1234", "dense": "1223"}
    numbered = ", ".join(f"{name} ({ranks})" for name, ranks in methods.items())
    parser.add_argument("--method", choices=list(methods), help=f"how ties are numbered: {numbered}")


def _add_ids(parser: argparse.ArgumentParser) -> None:
    text = "show ids alone, and take no name for a member; names come from profiles, half a read unit each"
    parser.add_argument("--ids", action="store_true", help=text)


def _add_tie_breaks(parser: argparse.ArgumentParser) -> None:
    text = "with --score: its tie-breaks in the order of boards.toml, with a comma between, such as 312,4"
    parser.add_argument("--tie-breaks", type=values.scores, metavar="NUMBERS", help=text)


def ranking_path(api: Api, options: argparse.Namespace) -> tuple[tuple[str, ...], dict[str, str | None]]:
    """Return the path in the API of the ranking that the options name, and the arguments of every read of it.

    Reads the board's definition if they leave out metric or window.
    """
    path, arguments, _ = _chosen(api, options, is_shown=False)
    return path, arguments


def _chosen(
    api: Api, options: argparse.Namespace, *, is_shown: bool
) -> tuple[tuple[str, ...], dict[str, str | None], Forms]:
    """Return the path and the arguments, and the forms of the board's metrics if its numbers are to be shown."""
    metric, window, forms = options.metric, options.window, NO_FORMS
    if is_shown or metric is None or window is None:
        definition = api.read("boards", options.board)
        metric, window = ranked(definition, metric, window)
        forms = forms_of(definition)
    path = ("boards", options.board, metric, window)
    return path, {"period": options.period, "method": options.method}, forms


def forms_of(definition: Mapping[str, Any]) -> Forms:
    """Return how people see the numbers of each metric of a board's definition."""
    return {metric["metric"]: Form(metric["precision"], metric.get("unit")) for metric in definition["metrics"]}


def of_member(
    api: Api, options: argparse.Namespace, read: Callable[[str], Answer], *, takes_names: bool = True
) -> Answer:
    """Return what `read` answers of the member whose id the options give, or whose whole name that is.

    A name is looked for where the board has no such id. Case and marks do not matter. Raises InputError if
    several members have the name, and ApiError.
    """
    try:
        return read(options.member)
    except ApiError as error:
        if error.kind != "no-such-member" or not takes_names:
            raise
        try:
            found = api.read("members", name=options.member, board=options.board, limit=_MOST_NAMESAKES)["members"]
        except ApiError:  # It may not be searched, or no name can be like that
            raise error from None
        wanted = search_form(options.member)
        ids = [one["member"] for one in found if search_form(one["profile"]["name"]) == wanted]
        if not ids:
            raise
    if len(ids) > 1:
        raise InputError(f"{len(ids)} members are called {options.member!r}: give an id, one of {', '.join(ids)}")
    return read(ids[0])


_MOST_NAMESAKES: Final = 20


def board_status(api: Api, answer: Mapping[str, Any]) -> int:
    """Return the exit status of an answer. If nobody is ranked, check whether the board is mistyped, and report it."""
    return OK if answer["total"] else unknown_status(api, answer["board"])


def tie_breaks(api: Api, path: Sequence[str], entries: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the names of a ranking's tie-breaks. If no entry has a score, they are read from the board's definition.

    `path` is that of the ranking in the API. There are none of a metric that the board does not have.
    """
    if found := tie_breaks_of(entries):
        return found
    if any("tie_breaks" not in entry for entry in entries):
        return ()
    _, board, name, _ = path
    metrics = {metric["metric"]: metric for metric in api.read("boards", board)["metrics"]}
    return tuple(metrics.get(name, {}).get("tie_breaks", ()))


def columns(names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of a list with these tie-breaks."""
    return (*COLUMNS, *map(column_of, names))


def cells(entry: Mapping[str, Any], names: Sequence[str]) -> tuple[object, ...]:
    """Return the cells of an entry, in the order of the columns."""
    return entry["rank"], entry["member"], plain(entry["score"]), *(plain(entry["tie_breaks"][name]) for name in names)


def _heading(answer: Mapping[str, Any]) -> str:
    none = "no change" if _is_over(answer) else "no change yet"
    changed = f"last change {answer['as_of'][:19].replace('T', ' ')} UTC" if answer["as_of"] else none
    state = {"closing": " · takes late events", "final": " · final"}.get(answer.get("state", "open"), "")
    return f"{ranking(answer)} · {members(answer['total'])} · {changed}{state}"


def _is_over(answer: Mapping[str, Any]) -> bool:
    """Whether an answer's period has ended. A rolling one is never final, but the next one has begun."""
    return answer.get("state", "open") != "open" or answer["period"].get("next") is not None


def _top(parser: argparse.ArgumentParser, connection: Connection, options: argparse.Namespace) -> int:
    _check_tie_breaks(parser, options)
    api, entries = connection.api, list[dict[str, Any]]()
    place = {"rank": options.start, "score": options.score, "tie_breaks": options.tie_breaks}
    turn = "previous" if (options.start or 1) < 0 else "next"
    is_shown, working = not (options.csv or options.json), Working(f"top {options.board}")
    path, arguments, forms = _chosen(api, options, is_shown=is_shown)
    arguments |= _with_names(options, is_shown=is_shown)
    while True:
        working.text = members(len(entries))
        with working:
            answer = api.read(*path, **arguments, limit=min(options.limit - len(entries), _PAGE_SIZE), **place)
        entries = [*answer["entries"], *entries] if turn == "previous" else [*entries, *answer["entries"]]
        if options.json and not options.csv:
            print(as_json(answer), flush=True)
        if len(entries) >= options.limit or answer[turn] is None:
            break
        place = {"cursor": answer[turn]}
    if options.csv:
        _print_csv(api, path, entries)
    elif not options.json:
        _show(answer, entries, forms)
    return board_status(api, answer)


def _with_names(options: argparse.Namespace, *, is_shown: bool) -> dict[str, str | None]:
    """Return the argument with which answers have profiles, if names are to be shown."""
    return {"profiles": "true"} if is_shown and not options.ids else {}


def _around(connection: Connection, options: argparse.Namespace) -> int:
    is_shown = not (options.csv or options.json)
    path, arguments, forms = _chosen(connection.api, options, is_shown=is_shown)
    arguments |= _with_names(options, is_shown=is_shown)

    def read(member: str) -> tuple[str, dict[str, Any]]:
        size = {"radius": options.radius, "limit": options.limit}
        return member, connection.api.read(*path, **arguments, around=member, **size)

    member, answer = of_member(connection.api, options, read, takes_names=not options.ids)
    if options.csv:
        _print_csv(connection.api, path, answer["entries"])
    elif options.json:
        print(as_json(answer))
    else:
        _show(answer, answer["entries"], forms, member)
    return OK


def _print_csv(api: Api, path: Sequence[str], entries: Sequence[Mapping[str, Any]]) -> None:
    names = tie_breaks(api, path, entries)
    print_csv(columns(names), (cells(entry, names) for entry in entries))


def _check_tie_breaks(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if options.tie_breaks is not None and options.score is None:
        parser.error("--tie-breaks needs --score SCORE")


def _show(answer: Mapping[str, Any], entries: list[dict[str, Any]], forms: Forms, member: str | None = None) -> None:
    screen = console()
    screen.print(_heading(answer))
    nobody = "no member is ranked in it" if _is_over(answer) else "no member is ranked yet"
    if entries:
        screen.print(standings(entries, answer["metric"], forms, member))
    else:
        screen.print("no member is at this place" if answer["total"] else nobody)


def _rank(parser: argparse.ArgumentParser, connection: Connection, options: argparse.Namespace) -> int:
    if (options.member is None) == (options.score is None):
        parser.error("expected either MEMBER or --score SCORE")
    _check_tie_breaks(parser, options)
    if options.score is not None and options.previous:
        parser.error("--previous needs a MEMBER")
    path, arguments, forms = _chosen(connection.api, options, is_shown=not options.json)
    arguments |= {"score": options.score, "tie_breaks": options.tie_breaks}
    arguments |= {"previous": "true" if options.previous else None}
    if options.member is None:
        answer = connection.api.read(*path, "rank", **arguments)
    else:
        arguments |= _with_names(options, is_shown=not options.json)
        read = partial(_rank_of, connection.api, path, arguments)
        answer = of_member(connection.api, options, read, takes_names=not options.ids)
    if options.json:
        print(as_json(answer))
    elif options.member is not None:
        show_rank(answer, forms)
    else:
        screen = console()
        screen.print(_heading(answer))
        rank, above = number(answer["rank"]), number(answer["above"])
        beside = f"{number(answer['at'])} equal, {number(answer['below'])} behind"
        screen.print(f"{scored(answer, forms)} would be rank {rank}: {above} ahead, {beside}")
    return board_status(connection.api, answer)


def _rank_of(api: Api, path: Sequence[str], arguments: Mapping[str, str | None], member: str) -> dict[str, Any]:
    return api.read(*path, "rank", member=member, **arguments)


def show_rank(answer: Mapping[str, Any], forms: Forms) -> None:
    """Print a member's rank."""
    screen = console()
    screen.print(_heading(answer))
    # The API rounds it down.
    percentile = number(answer["percentile"]) if answer["percentile"] else "below 0.01"
    text = (
        f"{named(answer)}: rank {number(answer['rank'])} of {number(answer['total'])}, "
        f"score {scored(answer, forms)}, percentile {percentile}"
    )
    before = answer.get("previous_rank")
    if before is not None:
        by = before - answer["rank"]
        moved = f"{number(abs(by))} {'up' if by > 0 else 'down'} from {number(before)}" if by else "as"
        text += f", {moved} in the period before"
    elif "previous_rank" in answer:
        text += ", not ranked in the period before"
    screen.print(text)


PERIODS: Final = 14
_MOST: Final = 100  # the most periods that the API answers


def _add_history(commands: Commands) -> None:
    """Add `history`."""
    history = commands.add("history", epilog="Exit status 1 if the member is ranked in none of them.")
    add_ranking(history)
    history.add_argument("member", type=values.member)
    history.add_argument(
        "--periods", type=whole_from(1, _MOST), default=PERIODS, metavar="N", help="how many periods (%(default)s)"
    )
    add_csv(history)
    history.set_defaults(do=_history, resumes=False)


def _history(connection: Connection, options: argparse.Namespace) -> int:
    is_shown = not (options.csv or options.json)
    path, arguments, forms = _chosen(connection.api, options, is_shown=is_shown)

    def read(member: str) -> dict[str, Any]:
        return connection.api.read(*path, "history", **arguments, member=member, periods=options.periods)

    answer = of_member(connection.api, options, read)
    if options.csv:
        names = tie_breaks(connection.api, path, answer["periods"])
        header = ("period", "rank", "total", "score", *map(column_of, names))
        print_csv(header, (_period_cells(each, names) for each in answer["periods"]))
    elif options.json:
        print(as_json(answer))
    else:
        _show_history(answer, forms)
    return OK if any(each["rank"] is not None for each in answer["periods"]) else DIFFERS


def _period_cells(each: Mapping[str, Any], names: Sequence[str]) -> tuple[object, ...]:
    more = ((each["tie_breaks"] or {}).get(name) for name in names)
    return each["period"]["start"] or "all", each["rank"], each["total"], plain(each["score"]), *map(plain, more)


def _show_history(answer: Mapping[str, Any], forms: Forms) -> None:
    screen = console()
    names = (answer["board"], answer["metric"], answer["window"], answer["member"])
    screen.print(" · ".join(shown(name) for name in names))
    ties = tie_breaks_of(answer["periods"])
    numbered = ("rank", "of", *number_columns(answer["metric"], ties, forms))
    rows = table("period", *numbered, right=numbered)
    for each in answer["periods"]:
        numbers = [number(each["rank"]) or "not ranked", number(each["total"])]
        score = forms.get(answer["metric"], PLAIN).in_column(each["score"])
        numbers += [score, *tie_break_cells(each, ties, forms)]
        rows.add_row(period({**answer, **each}) or "all", *numbers)
    screen.print(rows)
