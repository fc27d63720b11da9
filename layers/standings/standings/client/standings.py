"""The client of a stack, and of its boards: every call."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, tzinfo
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack
from uuid import uuid4

import orjson

from standings.client import values
from standings.client.decimals import Decimals
from standings.client.errors import BadArgument, NotFound, PostError, Unavailable, Unsent
from standings.client.posts import Batch, Event, Followed, Number, Poster, Queue, json_of
from standings.client.progress import Progress
from standings.client.reads import ApiReads, Reads, TableReads, arguments_of, checked, ranked
from standings.client.stack import Stack
from standings.domain import zones
from standings.domain.coverage import BOARD_TTL_S
from standings.domain.errors import InvalidBodyError
from standings.domain.profiles import changes_of
from standings.runtime.clock import Clock, TtlCache, real_clock

if TYPE_CHECKING:
    from standings.client import answer_types

Method = Literal["competition", "ordinal", "dense"]
TieBreaks = Iterable[Number | str | None]


class Ranking(TypedDict, total=False):
    """Which ranking of a board is read, and how it is numbered.

    - `metric`, `window`: by default the board's first metric, and the metric's first window, such as `last-7-days`.
    - `period`: a past one: a day in it (`date(2026, 11, 20)`), an hour (`2026-11-20T15`), a month (`2026-11`), a season
      (`winter-2026`), or a name that an answer gives, such as `answer["period"]["previous"]`.
    - `method`: `competition` (1224, the default), `ordinal` (1234) or `dense` (1223).
    """

    metric: str
    window: str
    period: str | date
    method: Method


class Shown(Ranking, total=False):
    """The same, and what is shown with each member: its profile, and the note of each score."""

    profiles: bool
    notes: bool


class ProfileFields(TypedDict, total=False):
    """Fields of a profile: `name`, `picture` (an https address), `country` (two capitals), `data` (an object)."""

    name: str | None
    picture: str | None
    country: str | None
    data: Mapping[str, Any] | None


def connect(
    stack: str | None = None,
    *,
    queue_url: str | None = None,
    tables: Mapping[str, str] | None = None,
    boards: str | Path | None = None,
    api_url: str | None = None,
    token: str | None = None,
    reads: Literal["tables", "api", "url"] | None = None,
    session: Any = None,
    clock: Clock | None = None,
    new_id: Callable[[], str] = lambda: uuid4().hex,
) -> "Standings":
    """Make a client of a stack. It sends no request before the first call.

    - `stack`: the name of the CloudFormation stack. Its outputs give all that you leave out, which needs the permission
      `cloudformation:DescribeStacks`. Without a name, give what your calls need:
    - `queue_url` to post; `tables` to read and for `event`, such as `{"scores": …, "rankings": …, "profiles": …,
      "receipts": …}`; or `api_url` to read over the API or at the function URL, whichever address it is. What changes
      members, such as `register`, goes to the API in any case.
    - `boards`: the path of the stack's `boards.toml`. A function with the stack's layer has it already.
    - `reads`: `tables`, the default where there are definitions; `api`; or `url`, the function URL. Requests to the API
      carry the `token` if there is one. Others, and all to a function URL, are signed with the session's credentials.
    - `session`: of botocore or of boto3, by default a new one, with the environment's credentials and region.

    Threads may share a client. It caches what the query function does. BadArgument for a wrong `reads` or `new_id`.
    """
    if reads is not None and values.text("reads", reads) not in ("tables", "api", "url"):
        raise values.refused("reads", "tables, api or url", reads)
    if not callable(new_id):
        raise values.refused("new_id", "a function that makes a new id", new_id)
    given: Any = real_clock() if clock is None else clock
    if not isinstance(given, Clock):
        raise values.refused("clock", "a Clock", given)
    found = Stack(stack, queue_url, tables, boards, api_url, token, session, given, by_url=reads == "url")
    api = ApiReads(found.api)
    reads_tables = reads == "tables" or (reads is None and found.has_boards)
    source: Reads = TableReads(found.answers, found.scores, given) if reads_tables else api
    decimals = Decimals(found.boards_if_any, partial(_definition, source), given)
    return Standings(source, Queue(found.sqs, found.queue_url, found.boards_if_any, given, new_id, decimals), api)


def _definition(source: Reads, board: str) -> Mapping[str, Any]:
    return source.answer("getBoard", checked({"board": board}), arguments_of("getBoard", {}))


def time_zone(name: str) -> tzinfo:
    """The time zone `Europe/Berlin`, for example, by the rules of the stack's days. Raises BadArgument if unknown."""
    try:
        return zones.time_zone(values.text("name", name))
    except ValueError as error:
        raise BadArgument(400, "bad-argument", f"name: {error}") from error


class Standings(Poster):
    """A client of a stack; `connect` makes one."""

    def __init__(self, reads: Reads, queue: Queue, api: ApiReads) -> None:
        self._reads = reads
        self._queue = queue
        self._api = api
        self._definitions: TtlCache[str, Mapping[str, Any]] = TtlCache(queue.clock, BOARD_TTL_S)

    def _post_and_wait(self, event: Event, wait: int, /, *, rounds: bool, history: bool) -> Followed:
        ready = self._queue.prepare(event, self._queue.clock.now(), rounds=values.flag("round", rounds))
        given = {"wait": values.whole("wait", wait), "history": values.flag("history", history)}
        try:
            answer = self._change("postEvents", {}, orjson.Fragment(json_of(ready.event)), **given)
        except Unavailable as error:
            # The event may be on the queue all the same. Who posts it again needs its id.
            raise PostError([Unsent(ready.event, str(error))], 1) from error
        (result,) = answer["results"]
        if result["status"] == "refused":
            raise BadArgument(400, "bad-body", result["detail"])
        return Followed(str(ready.event["id"]), answer.get("members"))

    def post_event(self, event: Event, *, round: bool = False, history: bool = False) -> str:  # noqa: A002 - as there
        """Post an event in the form of docs/reference/events.md, and return its id. Raises as `post` does."""
        flags = {"rounds": values.flag("round", round), "history": values.flag("history", history)}
        ready = self._queue.prepare(event, self._queue.clock.now(), **flags)
        for reason in self._queue.send([ready.message]).failed.values():
            raise PostError([Unsent(ready.event, reason)], 1)
        return str(ready.event["id"])

    def batch(self, total: int | None = None, *, progress: bool = True) -> Batch:
        """Post many events: `with standings.batch() as batch: batch.post("berlin-2026", "u7", points=1)`.

        They are sent ten with each request, several requests at a time. At the end of `with`, all are on the queue, or
        PostError names those that are not. A person at a terminal sees after two seconds how many are sent, and a bar
        if the `total` is given; without `progress` nothing.
        """
        count = None if total is None else values.whole("total", total)
        is_shown = values.flag("progress", progress)
        return Batch(self._queue, Progress(self._queue.clock.monotonic, count) if is_shown else None)

    def event(self, event_id: str) -> "answer_types.EventStatus | None":
        """What became of an event: `{"id": "0197f2c4", "status": "counted", "at": "2026-11-21T10:15:01.000Z"}`.

        None if nothing is known of it: it is on its way, or was counted more than 30 days ago.
        """
        try:
            return self._answer("getEvent", {}, id=values.event_id("event_id", event_id))
        except NotFound as error:
            if error.kind != "no-such-event":
                raise
            return None

    def about(self) -> "answer_types.About":
        """The version of the time zones by which days begin, the stack's or its own: `{"time_zones": "2026f"}`."""
        return self._answer("getAbout", {})

    def board(self, name: str) -> "Board":
        """A board, whose rankings can be read. This sends no request."""
        return Board(values.text("name", name), self._answer, self._ranked, self._change)

    def boards(self, prefix: str = "", limit: int = 100, cursor: str | None = None) -> "answer_types.BoardList":
        """The boards that had an event, by name: `{"boards": [{"board": "berlin-2026"}], "next": None}`."""
        return self._answer("listBoards", {}, prefix=prefix, limit=limit, cursor=cursor)

    def member_boards(
        self,
        member: str,
        *,
        ranks: bool = False,
        window: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> "answer_types.MemberBoards":
        """The boards that a member is in: `{…, "boards": [{"board": "club", "hidden": False}], "next": None}`.

        With `ranks` each board also has the member's scores and ranks in one window, by default `all`. A page may have
        fewer boards than `limit`: read on while there is a `next`. Raises NotFound with kind `not-built` as long as the
        index of a stack that was upgraded from 0.3 is being built.
        """
        found = values.member("member", member)
        return self._answer("listMemberBoards", {}, id=found, ranks=ranks, window=window, limit=limit, cursor=cursor)

    def profile(self, member: str) -> "answer_types.Profile":
        """A member's profile: `{"name": "Ádám", "picture": None, "country": "HU", "data": None}`. Raises NotFound."""
        return self._answer("getProfile", {}, id=values.member("member", member))

    def put_profile(self, member: str, **fields: Unpack[ProfileFields]) -> "answer_types.Profile":
        """Set fields of a member's profile, and return it: `put_profile("u7", name="Ada", picture=None)`.

        None removes a field; those that are left out stay. It goes to the API, as `Board.register` does.
        """
        found = values.member("member", member)
        return self._change("putProfile", {}, _profile_of(fields), id=found)

    def search(self, name: str, board: str | None = None, limit: int = 20) -> "answer_types.FoundMembers":
        """Members whose names begin like `name`, of a board or of all."""
        return self._answer("getProfile", {}, name=values.text("name", name), board=board, limit=limit)

    def _answer(self, call: str, path: Mapping[str, str], body: Any = None, /, **arguments: Any) -> Any:
        return self._reads.answer(call, checked(path), arguments_of(call, arguments), body)

    def _change(self, call: str, path: Mapping[str, str], body: Any = None, /, **arguments: Any) -> Any:
        return self._api.answer(call, checked(path), arguments_of(call, arguments), body)

    def _ranked(self, board: str, metric: str | None, window: str | None) -> Mapping[str, str]:
        """The names of a ranking. Those that are not given are in the board's definition."""
        if metric is None or window is None:
            definition = self._definitions.get_or_read(board, lambda: self._answer("getBoard", {"board": board}))
            metric, window = ranked(definition, metric, window)
        return {"board": board, "metric": metric, "window": window}


@dataclass(eq=False, repr=False)
class Board:
    """The reads of one board, and changes of its members; `Standings.board` makes one.

    Raises NotFound where there is no such board, metric, window, member or period, or it cannot be read any more;
    BadArgument; Unavailable; and NotAllowed. Changes go to the API, also where reads go to the tables: they need a
    signature, or a token with the scope `standings/admin`.
    """

    name: str
    _answer: Callable[..., Any]
    _names: Callable[[str, str | None, str | None], Mapping[str, str]]
    _change: Callable[..., Any]

    def definition(self) -> "answer_types.BoardDefinition":
        """What the board counts and ranks, by `boards.toml`."""
        return self._answer("getBoard", {"board": self.name})

    def member(
        self,
        member: str,
        *,
        ranks: bool = False,
        method: Method | None = None,
        profiles: bool = False,
        notes: bool = False,
    ) -> "answer_types.MemberScores":
        """A member's scores in all metrics and windows; with `ranks` also its ranks."""
        given = {"ranks": ranks, "method": method, "profiles": profiles, "notes": notes}
        return self._answer("getMember", {"board": self.name}, id=values.member("member", member), **given)

    def register(self, member: str) -> "answer_types.MemberState":
        """Register a member, unless it is there: `{"board": "club", "member": "u7", "hidden": False}`."""
        return self._put(member, {})

    def hide(self, member: str) -> "answer_types.MemberState":
        """Take a member out of every ranking; its scores stay, and events count on. A new one is registered, hidden."""
        return self._put(member, {"hidden": True})

    def show(self, member: str) -> "answer_types.MemberState":
        """Bring a hidden member back with its scores. One that is not there is registered."""
        return self._put(member, {"hidden": False})

    def remove(self, member: str) -> None:
        """Remove a member with its scores. Raises NotFound with kind `no-such-member`, and others."""
        self._change("deleteMember", {"board": self.name}, id=values.member("member", member))

    def delete(self) -> "answer_types.BoardDeletion":
        """Begin to delete the board, with all members and scores: `{"board": "club", "status": "deleting"}`.

        It takes some eleven minutes, or longer. Until it has ended, events are refused, and reads raise NotFound with
        kind `being-deleted`. Raises NotFound with kind `no-such-board` for a board without events and members.
        """
        return self._change("deleteBoard", {"board": self.name})

    def _put(self, member: str, body: Mapping[str, bool]) -> Any:
        return self._change("putMember", {"board": self.name}, body, id=values.member("member", member))

    def rank(self, member: str, *, previous: bool = False, **ranking: Unpack[Shown]) -> "answer_types.MemberRank":
        """A member's rank: `{…, "rank": 211, "total": 1539, "score": 50, "percentile": 86.35}`.

        `previous`: also its rank in the period before. Raises NotFound with kind `not-ranked`, and others.
        """
        return self._read("getRank", ranking, member=values.member("member", member), previous=previous)

    def rank_of_score(
        self, score: Number | str, tie_breaks: TieBreaks | None = None, **ranking: Unpack[Ranking]
    ) -> "answer_types.ScoreRank":
        """The rank that a score would have: `{…, "rank": 12, "above": 11, "at": 2, "below": 288}`.

        `tie_breaks`: and these, in the order of the definition, such as `[312]`. None is a number that nobody posted.
        """
        return self._read("getRank", ranking, score=_number("score", score), tie_breaks=_numbers(tie_breaks))

    def ranks(
        self, members: Iterable[str], *, previous: bool = False, **ranking: Unpack[Shown]
    ) -> "answer_types.GroupRanks":
        """The ranks of up to 100 members, in their order, each also within the group."""
        listed = values.listed("members", members)
        body = {"members": [values.member(f"members[{position}]", one) for position, one in enumerate(listed)]}
        return self._read("rankGroup", ranking, body, previous=previous)

    def top(self, limit: int = 10, *, me: str | None = None, **ranking: Unpack[Shown]) -> "answer_types.Page":
        """The first entries: `{…, "entries": [{"rank": 1, "member": "u9", "score": 912}, …], "next": "AbC…"}`."""
        return self.page(limit=limit, me=me, **ranking)

    def page(
        self,
        *,
        rank: int | None = None,
        score: Number | str | None = None,
        tie_breaks: TieBreaks | None = None,
        cursor: str | None = None,
        limit: int = 100,
        me: str | None = None,
        **ranking: Unpack[Shown],
    ) -> "answer_types.Page":
        """A page of the list: from a position (-1 is the last: the page ends there), a score, or a page's cursor.

        With `score` also `tie_breaks`, in the definition's order: `[312]`. `me` adds the rank of that member.
        """
        start = {"rank": rank, "score": score, "tie_breaks": _numbers(tie_breaks), "cursor": cursor}
        return self._read("listRanking", ranking, **start, limit=limit, me=me)

    def pages(self, limit: int = 100, **ranking: Unpack[Shown]) -> "Iterator[answer_types.Page]":
        """The whole list, page by page, each of `limit` entries: `for page in board.pages(): …`.

        While others move, no member that did not move is missing or comes twice.
        """
        cursor = None
        while True:
            page = self.page(cursor=cursor, limit=limit, **ranking)
            yield page
            cursor = page["next"]
            if cursor is None:
                return

    def around(
        self,
        member: str,
        *,
        limit: int | None = None,
        radius: int | None = None,
        me: str | None = None,
        **ranking: Unpack[Shown],
    ) -> "answer_types.Page":
        """The page around a member: `limit` entries in all, or `radius` (5) on each side."""
        around = values.member("member", member)
        return self._read("listRanking", ranking, around=around, limit=limit, radius=radius, me=me)

    def history(self, member: str, periods: int = 14, **ranking: Unpack[Ranking]) -> "answer_types.History":
        """A member's rank in the last periods of a window, the latest first."""
        return self._read("getHistory", ranking, member=values.member("member", member), periods=periods)

    def percentile(self, p: Number | str, **ranking: Unpack[Ranking]) -> "answer_types.PercentileScore":
        """The score at a percentile: `{…, "p": 90, "score": 61}`."""
        return self._read("getPercentile", ranking, p=_number("p", p))

    def distribution(self, buckets: int = 50, **ranking: Unpack[Ranking]) -> "answer_types.Distribution":
        """The number of members in each range of scores: `{…, "buckets": [{"from": 0, "to": 9, "members": 41}, …]}`."""
        return self._read("getDistribution", ranking, buckets=buckets)

    def _read(self, name: str, ranking: Mapping[str, Any], body: Any = None, **arguments: Any) -> Any:
        shown = {each: value for each, value in ranking.items() if each not in ("metric", "window")}
        metric, window = (_name(each, ranking.get(each)) for each in ("metric", "window"))
        names = self._names(self.name, metric, window)
        return self._answer(name, names, body, **(arguments | shown))


def _profile_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a profile as the API takes them. Raises BadArgument, which names the wrong one."""
    given: dict[str, Any] = {}
    for name, value in fields.items():
        of = values.plain if name == "data" else values.text
        given[name] = None if value is None else of(name, value)
    try:
        # orjson knows no decimals: this writes all their digits, and reads them as the API does.
        body: dict[str, Any] = orjson.loads(orjson.dumps(given, default=lambda one: orjson.Fragment(str(one))))
    except orjson.JSONDecodeError as error:
        raise values.refused("data", "numbers that JSON can hold", fields.get("data")) from error
    try:
        changes_of(body)
    except InvalidBodyError as error:
        raise values.as_api_error(error) from None
    return body


def _name(field: str, value: str | None) -> str | None:
    return None if value is None else values.text(field, value)


def _numbers(given: TieBreaks | None) -> str | None:
    """Tie-breaks as the API takes them: `312,null`. None for None."""
    if given is None:
        return None
    expected = "a list with a number for each tie-break, such as [312]"
    listed = values.listed("tie_breaks", given, expected)
    if not listed:
        raise values.refused("tie_breaks", expected, given)
    numbered = enumerate(listed)
    return ",".join("null" if one is None else _number(f"tie_breaks[{position}]", one) for position, one in numbered)


def _number(field: str, value: Number | str) -> str:
    return values.text(field, value) if isinstance(value, str) else str(values.number(field, value))
