"""Answers the reads of `standings.calls`, for the query function and for the client."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from standings.calls import Arguments
from standings.domain import zones
from standings.domain.boards import MAX_MEMBER_BYTES, Ranking, check_member
from standings.domain.errors import InvalidBodyError, bad_argument
from standings.read import board_list, history, member_ranks, notes, pages, score_statistics
from standings.read.profiles import ProfileCache, Search
from standings.read.reader import Question, Reader, Request, method_of

Answer = dict[str, Any]


class Read(NamedTuple):
    """A read with its arguments. `path` has the names in the path, `document()` parses the body."""

    request: Request
    path: Mapping[str, str]
    arguments: Arguments
    document: Callable[[], Any]

    def question(self) -> Question:
        """The question about the ranking that the path and the arguments name."""
        given = self.arguments
        return self.request.question(
            self.path["board"], self.path["metric"], self.path["window"], given.get("period"), given.get("method")
        )


class Answers:
    """Answers reads from the tables. Threads may share it. Raises RequestError and StoreUnavailableError.

    `answer("getRank", {"board": "berlin-2026", "metric": "points", "window": "all"}, arguments)` returns
    `{"board": "berlin-2026", …, "rank": 211, "score": 50, …}`: docs/reference/http.md has every answer.
    """

    def __init__(self, reader: Reader, people: ProfileCache, search: Search, known_notes: notes.Notes) -> None:
        self.reader = reader
        self._people = people
        self._search = search
        self._notes = known_notes
        self.reads: Final[Mapping[str, Callable[[Read], Answer]]] = {
            "getAbout": lambda _: {"time_zones": zones.VERSION},
            "getProfile": self._profile,
            "listBoards": self._boards,
            "getBoard": self._board,
            "getMember": self._member,
            "listRanking": self._page,
            "getRank": self._rank,
            "getHistory": self._history,
            "rankGroup": self._group,
            "getPercentile": self._percentile,
            "getDistribution": self._distribution,
        }
        """Every read that answers from the tables, by its name in `CALLS`."""

    def answer(
        self, name: str, path: Mapping[str, str], arguments: Arguments, document: Callable[[], Any] = dict
    ) -> Answer:
        """The answer to a read, by its name in `CALLS`."""
        return self.reads[name](Read(Request(self.reader), path, arguments, document))

    def _profile(self, read: Read) -> Answer:
        """A member's profile, or the members whose names begin with a text."""
        arguments = read.arguments
        if "name" not in arguments:
            member = arguments.required("id", "say whose profile, or give the beginning of a name")
            for name in ("board", "limit"):
                if name in arguments:
                    raise bad_argument(name, "is only valid with name")
            return self._people.profile(read.request, member)
        if "id" in arguments:
            raise bad_argument("id", "cannot go with name")
        limit = arguments.whole("limit")
        return self._search.search(read.request, name=arguments["name"], board=arguments.get("board"), limit=limit)

    def _boards(self, read: Read) -> Answer:
        """The list of boards."""
        arguments = read.arguments
        prefix, cursor = arguments.get("prefix", ""), arguments.get("cursor")
        return board_list.boards(read.request, prefix=prefix, limit=arguments.whole("limit"), cursor=cursor)

    def _board(self, read: Read) -> Answer:
        """A board's definition."""
        return board_list.definition(read.request, read.path["board"])

    def _member(self, read: Read) -> Answer:
        """A member's scores in every metric and window of a board."""
        arguments = read.arguments
        ranks = arguments.flag("ranks")
        if "method" in arguments and not ranks:
            raise bad_argument("method", "is only valid with ranks=true")
        method = method_of(arguments.get("method")) if ranks else None
        board, member, noted = read.path["board"], arguments["id"], arguments.flag("notes")
        return self._shown(read, member_ranks.card(read.request, board, member, method, notes=noted))

    def _page(self, read: Read) -> Answer:
        """A page of a ranking's list: the first, after a cursor, from a position or a score, or around a member."""
        arguments = read.arguments
        starts = [name for name in ("cursor", "rank", "score", "around") if name in arguments]
        if len(starts) > 1:
            raise bad_argument(starts[1], f"a page begins at one place: it cannot go with {starts[0]}")
        question = read.question()
        noted = _noted(question, arguments)
        return self._shown(read, _page_of(question, arguments), noted)

    def _rank(self, read: Read) -> Answer:
        """A member's rank, or the rank that a score would have."""
        arguments = read.arguments
        question = read.question()
        if "score" not in arguments:
            member = arguments.required("member", "say whose rank, or give a score")
            noted = _noted(question, arguments)
            return self._shown(
                read, member_ranks.rank(question, member=member, previous=arguments.flag("previous")), noted
            )
        for name in ("member", "previous", "profiles", "notes"):
            if name in arguments:
                raise bad_argument(name, "cannot go with score")
        return score_statistics.score_rank(question, score=arguments["score"])

    def _history(self, read: Read) -> Answer:
        """A member's rank in each period that can be read."""
        question, arguments = read.question(), read.arguments
        return history.history(question, member=arguments["member"], periods=arguments.whole("periods"))

    def _group(self, read: Read) -> Answer:
        """The ranks of a group of members."""
        question, arguments = read.question(), read.arguments
        noted = _noted(question, arguments)
        group = member_ranks.group(question, members=_members(read.document()), previous=arguments.flag("previous"))
        return self._shown(read, group, noted)

    def _percentile(self, read: Read) -> Answer:
        """The score at a percentile."""
        return score_statistics.percentile(read.question(), p=read.arguments["p"])

    def _distribution(self, read: Read) -> Answer:
        """The number of members in each range of scores."""
        return score_statistics.distribution(read.question(), buckets=read.arguments.whole("buckets"))

    def _shown(self, read: Read, answer: Answer, noted: Ranking | None = None) -> Answer:
        """The answer, with the profile of each member and the note of each score if the caller wants them."""
        if noted is not None:
            answer = self._notes.show(read.request, noted, answer)
        return self._people.show(read.request, answer) if read.arguments.flag("profiles") else answer


def _page_of(question: Question, arguments: Arguments) -> Answer:
    me = arguments.get("me")
    if me is not None:
        check_member("me", me)
    if "around" in arguments:
        if "limit" in arguments and "radius" in arguments:
            raise bad_argument("limit", "cannot go with radius")
        if "limit" in arguments:
            return pages.page_around(question, member=arguments["around"], limit=arguments.whole("limit"), me=me)
        return pages.page_around(question, member=arguments["around"], radius=arguments.whole("radius"), me=me)
    if "radius" in arguments:
        raise bad_argument("radius", "is only valid with around")
    limit = arguments.whole("limit")
    if "rank" in arguments:
        return pages.page_at(question, rank=arguments.whole("rank"), limit=limit, me=me)
    if "score" in arguments:
        return pages.page_from(question, score=arguments["score"], limit=limit, me=me)
    return pages.page(question, limit=limit, cursor=arguments.get("cursor"), me=me)


def _noted(question: Question, arguments: Arguments) -> Ranking | None:
    """The ranking whose notes the caller requested; None if it requested none."""
    return notes.noted(question, arguments.get("cursor")) if arguments.flag("notes") else None


def _members(document: Any) -> list[str]:
    """The members that a body names."""
    if not isinstance(document, dict) or set(document) != {"members"}:
        raise InvalidBodyError('expected an object such as {"members": ["u1", "u2"]}')
    members = document["members"]
    if not isinstance(members, list) or not 1 <= len(members) <= member_ranks.MAX_MEMBERS:
        raise InvalidBodyError(f"members: expected a list of 1 to {member_ranks.MAX_MEMBERS} members")
    if not all(isinstance(member, str) and 1 <= len(member.encode()) <= MAX_MEMBER_BYTES for member in members):
        raise InvalidBodyError(f"members: expected texts of 1 to {MAX_MEMBER_BYTES} bytes of UTF-8")
    return members
