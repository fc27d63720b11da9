"""Answers every read of `standings.calls`, for the query function and for the client.

A competition rank takes two round trips; more where the board's record or the number of a ranking's lanes or logs is
not cached, where a log is folded meanwhile, or for `notes` and `profiles`. These are its four files:

    dispatch.py         member_ranks.py     session.py            rankings/reading.py
    Answers.answer
    _Read.rank -------------------------->  ReadSession.reader    (Scores: the board's record)
          ----------->  rank
                        read_ranks
                     1  ------------------------------------->    entries: the score of the member
                     2  ------------------------------------->    nodes: those on the path of this score
                        entry_ranks: members ahead + 1
          <-----------  {"rank": 211, "score": 50, ...}

`ReadSession.retry` sends each. Rolling windows are read by `rankings/rolling/reading.py`. A page of a list
(`pages.py`) reads its entries and its nodes side by side, in one round trip, or two if one partition has more than its
share. `me` and `around` take one more before it: for the entry of the member.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from standings.aws.dynamodb.profiles import Profiles
from standings.aws.dynamodb.scores import BoardRecords, Scores
from standings.calls import Arguments
from standings.domain import zones
from standings.domain.boards import MAX_MEMBER_BYTES, Boards, Ranking, check_member
from standings.domain.coverage import BOARD_TTL_S, BoardRecord
from standings.domain.errors import InvalidBodyError, bad_argument
from standings.domain.profiles import Profile
from standings.rankings.reading import RankingReads
from standings.read import board_list, member_ranks, pages, profiles, score_statistics
from standings.read.cursors import read_cursor
from standings.read.session import PRIVATE_LIMITS, Limits, RankingReader, ReadSession, method_of
from standings.runtime.clock import RANKING_TTL_S, Clock, TtlCache

Answer = dict[str, Any]


class Answers:
    """Answers reads from the tables. Threads may share it.

    `answer("getRank", {"board": "berlin-2026", "metric": "points", "window": "all"}, arguments)` returns
    `{"board": "berlin-2026", …, "rank": 211, "score": 50, …}`: docs/reference/http.md has every answer.
    With `search_needs_board` a search for names must say on which board.
    """

    def __init__(
        self, boards: Boards, tables: "Tables", limits: Limits = PRIVATE_LIMITS, *, search_needs_board: bool = False
    ) -> None:
        self.boards = boards
        self.limits = limits
        self.reads: Final = _READS  # Every read, by its name in `CALLS`
        self._tables = tables
        self._search_needs_board = search_needs_board

    def answer(
        self, name: str, path: Mapping[str, str], arguments: Arguments, document: Callable[[], Any] = dict
    ) -> Answer:
        """The answer to a read in `CALLS`; `document()` parses its body. Raises RequestError, StoreUnavailableError."""
        return _READS[name](_Read(self.session(), path, arguments, document, self._search_needs_board))

    def session(self) -> ReadSession:
        """A session for one request, which begins now."""
        return ReadSession(self.boards, self._tables, self.limits)


class _Read(NamedTuple):
    """One read. Its methods check which arguments go together; the functions that they call check each by itself."""

    session: ReadSession
    path: Mapping[str, str]
    arguments: Arguments
    document: Callable[[], Any]
    search_needs_board: bool

    def reader(self) -> RankingReader:
        period, method = self.arguments.get("period"), self.arguments.get("method")
        return self.session.reader(**self.path, period=period, method=method)

    def profile(self) -> Answer:
        arguments = self.arguments
        if "name" not in arguments:
            member = arguments.required("id", "say whose profile, or give the beginning of a name")
            self._refuse("is only valid with name", "board", "limit")
            return profiles.profile(self.session, member)
        self._refuse("cannot go with name", "id")
        name, board, limit = arguments["name"], arguments.get("board"), arguments.whole("limit")
        return profiles.search(self.session, name=name, board=board, limit=limit, needs_board=self.search_needs_board)

    def boards(self) -> Answer:
        prefix, cursor = self.arguments.get("prefix", ""), self.arguments.get("cursor")
        return board_list.boards(self.session, prefix=prefix, limit=self.arguments.whole("limit"), cursor=cursor)

    def boards_of(self) -> Answer:
        ranks, arguments = self.arguments.flag("ranks"), self.arguments
        if not ranks:
            self._refuse("is only valid with ranks=true", "window")
        window = arguments.get("window", "all") if ranks else None
        limit, cursor = arguments.whole("limit"), arguments.get("cursor")
        return board_list.boards_of(self.session, member=arguments["id"], limit=limit, cursor=cursor, window=window)

    def member(self) -> Answer:
        ranks = self.arguments.flag("ranks")
        if not ranks:
            self._refuse("is only valid with ranks=true", "method")
        method = method_of(self.arguments.get("method")) if ranks else None
        board, member, noted = self.path["board"], self.arguments["id"], self.arguments.flag("notes")
        return self._shown(member_ranks.card(self.session, board, member, method, notes=noted))

    def page(self) -> Answer:
        """A page of a ranking's list: the first, after a cursor, from a position or a score, or around a member."""
        starts = [name for name in ("cursor", "rank", "score", "around") if name in self.arguments]
        if len(starts) > 1:
            raise bad_argument(starts[1], f"a page begins at one place: it cannot go with {starts[0]}")
        reader, arguments = self.reader(), self.arguments
        noted = self._noted(reader)
        limit, me = arguments.whole("limit"), arguments.get("me")
        if me is not None:
            check_member("me", me)
        if "score" not in arguments:
            self._refuse("is only valid with score", "tie_breaks")
        if "around" not in arguments:
            self._refuse("is only valid with around", "radius")
        elif "limit" in arguments and "radius" in arguments:
            raise bad_argument("limit", "cannot go with radius")
        if "around" in arguments:
            radius = None if "limit" in arguments else arguments.whole("radius")
            page = pages.page_around(reader, member=arguments["around"], radius=radius, limit=limit, me=me)
        elif "rank" in arguments:
            page = pages.page_at(reader, rank=arguments.whole("rank"), limit=limit, me=me)
        elif "score" in arguments:
            tie_breaks = arguments.get("tie_breaks")
            page = pages.page_from(reader, score=arguments["score"], tie_breaks=tie_breaks, limit=limit, me=me)
        else:
            page = pages.page(reader, limit=limit, cursor=arguments.get("cursor"), me=me)
        return self._shown(page, noted)

    def rank(self) -> Answer:
        reader, arguments = self.reader(), self.arguments
        if "score" in arguments:
            self._refuse("cannot go with score", "member", "previous", "profiles", "notes")
            tie_breaks = arguments.get("tie_breaks")
            return score_statistics.score_rank(reader, score=arguments["score"], tie_breaks=tie_breaks)
        self._refuse("is only valid with score", "tie_breaks")
        member = arguments.required("member", "say whose rank, or give a score")
        noted = self._noted(reader)
        return self._shown(member_ranks.rank(reader, member=member, previous=arguments.flag("previous")), noted)

    def group(self) -> Answer:
        reader = self.reader()
        noted = self._noted(reader)
        members = _members(self.document())
        return self._shown(member_ranks.group(reader, members=members, previous=self.arguments.flag("previous")), noted)

    def _refuse(self, detail: str, *names: str) -> None:
        """Raise an error for the first of these arguments that is given."""
        for name in names:
            if name in self.arguments:
                raise bad_argument(name, detail)

    def _noted(self, reader: RankingReader) -> Ranking | None:
        """The ranking whose notes the caller requested, of the cursor's period if there is one; None if none."""
        ranking, cursor = reader.ranking, self.arguments.get("cursor")
        if not self.arguments.flag("notes"):
            return None
        if not ranking.metric.notes:
            detail = f"metric {ranking.metric.name!r} keeps none: boards.toml has no notes = true for it"
            raise bad_argument("notes", detail)
        return ranking if cursor is None else ranking._replace(period=read_cursor(reader, cursor).period)

    def _shown(self, answer: Answer, noted: Ranking | None = None) -> Answer:
        """The answer, with the note of each score and the profile of each member if the caller wants them."""
        if noted is not None:
            answer = profiles.show_notes(self.session, noted, answer)
        return profiles.show_profiles(self.session, answer) if self.arguments.flag("profiles") else answer


def _members(document: Any) -> list[str]:
    if not isinstance(document, dict) or set(document) != {"members"}:
        raise InvalidBodyError('expected an object such as {"members": ["u1", "u2"]}')
    members = document["members"]
    if not isinstance(members, list) or not 1 <= len(members) <= member_ranks.MAX_MEMBERS:
        raise InvalidBodyError(f"members: expected a list of 1 to {member_ranks.MAX_MEMBERS} members")
    if not all(isinstance(member, str) and 1 <= len(member.encode()) <= MAX_MEMBER_BYTES for member in members):
        raise InvalidBodyError(f"members: expected texts of 1 to {MAX_MEMBER_BYTES} bytes of UTF-8")
    return members


_READS: Final[Mapping[str, Callable[[_Read], Answer]]] = {
    "getAbout": lambda _: {"time_zones": zones.VERSION},
    "getProfile": _Read.profile,
    "listBoards": _Read.boards,
    "listMemberBoards": _Read.boards_of,
    "getBoard": lambda read: board_list.definition(read.session, read.path["board"]),
    "getMember": _Read.member,
    "listRanking": _Read.page,
    "getRank": _Read.rank,
    "getHistory": lambda read: member_ranks.history(
        read.reader(), member=read.arguments["member"], periods=read.arguments.whole("periods")
    ),
    "rankGroup": _Read.group,
    "getPercentile": lambda read: score_statistics.percentile(read.reader(), p=read.arguments["p"]),
    "getDistribution": lambda read: score_statistics.distribution(
        read.reader(), buckets=read.arguments.whole("buckets")
    ),
}


PROFILE_TTL_S: Final = 55
"""Seconds for which a process caches a profile: with the delay of eventual consistency a change shows in a minute."""


class Tables:
    """The tables of a stack by name, with caches that requests share: `Tables(client, clock, scores="S1A2", …)`."""

    def __init__(self, client: Any, clock: Clock, *, rankings: str, scores: str, profiles: str) -> None:
        self.clock = clock
        self.rankings = RankingReads(client, rankings, clock)
        self.records = BoardRecords(client, scores, clock)
        self.scores = Scores(client, scores, "", clock)  # It only reads members: no receipts table is needed
        self.profiles = Profiles(client, profiles, clock)
        self.known_records: TtlCache[str, BoardRecord | None] = TtlCache(clock, BOARD_TTL_S)
        self.known_shards: TtlCache[str, int] = TtlCache(clock, RANKING_TTL_S)
        """The shards of rankings, by key, where a root named more than `boards.toml`."""
        self.known_profiles: TtlCache[str, Profile] = TtlCache(clock, PROFILE_TTL_S)
