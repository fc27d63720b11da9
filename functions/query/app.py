"""The query function answers HTTP reads. It cannot write."""

import os
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from aws_lambda_powertools.event_handler import Response

from standings import http
from standings.domain.boards import MAX_MEMBER_BYTES, Ranking, check_member
from standings.domain.errors import InvalidBodyError, bad_argument
from standings.read import board_list, history, member_ranks, notes, pages, score_statistics
from standings.read.reader import Question, Request, method_of
from standings.runtime.logs import logger
from standings.wiring import building_blocks, query

_reader, _people, _search, _notes = query.services(building_blocks.real_clock())
_OPEN_READS: Final = os.environ.get("OPEN_READS") == "true"
# A cache that anyone may ask must not keep what only some may read.
_api = http.Api(rankings_max_age=int(os.environ.get("READS_MAX_AGE", "0")) if _OPEN_READS else 0)

_DESCRIPTION: Final = Path(__file__).with_name("openapi.json")
_PAGE: Final = Path(__file__).with_name("page")


@_api.route("getProfile")
def profile_() -> Response[str]:
    """A member's profile, or the members whose names have a beginning."""
    arguments = _api.arguments
    if "name" not in arguments:
        member = arguments.required("id", "say whose profile, or give the beginning of a name")
        for name in ("board", "limit"):
            if name in arguments:
                raise bad_argument(name, "is only valid with name")
        return http.json(_people.profile(Request(_reader), member))
    if "id" in arguments:
        raise bad_argument("id", "cannot go with name")
    limit = arguments.whole("limit")
    found = _search.search(Request(_reader), name=arguments["name"], board=arguments.get("board"), limit=limit)
    return http.json(found)


@_api.route("listBoards")
def boards() -> Response[str]:
    """The list of boards."""
    arguments = _api.arguments
    prefix, cursor = arguments.get("prefix", ""), arguments.get("cursor")
    return http.json(board_list.boards(Request(_reader), prefix=prefix, limit=arguments.whole("limit"), cursor=cursor))


@_api.route("getBoard")
def board_(board: str) -> Response[str]:
    """A board's definition."""
    return http.json(board_list.definition(Request(_reader), board))


@_api.route("getMember")
def member_(board: str) -> Response[str]:
    """A member's scores in every metric and window of a board."""
    arguments = _api.arguments
    ranks, profiles = arguments.flag("ranks"), arguments.flag("profiles")
    if "method" in arguments and not ranks:
        raise bad_argument("method", "says how ranks are numbered: it needs ranks=true")
    method = method_of(arguments.get("method")) if ranks else None
    request = Request(_reader)
    card = member_ranks.card(request, board, arguments["id"], method, notes=arguments.flag("notes"))
    return _shown(request, card, profiles=profiles)


@_api.route("listRanking")
def page(board: str, metric: str, window: str) -> Response[str]:
    """A page of a ranking's list: the first, after a cursor, from a position or a score, or around a member."""
    arguments = _api.arguments
    starts = [name for name in ("cursor", "rank", "score", "around") if name in arguments]
    if len(starts) > 1:
        raise bad_argument(starts[1], f"a page begins at one place: it cannot go with {starts[0]}")
    profiles = arguments.flag("profiles")
    question = _question(board, metric, window, arguments)
    noted = _noted(question, arguments)
    return _shown(question.request, _page_of(question, arguments), profiles=profiles, noted=noted)


def _page_of(question: Question, arguments: http.Arguments) -> dict[str, Any]:
    me = arguments.get("me")
    if me is not None:
        check_member("me", me)
    if "around" in arguments:
        if "limit" in arguments and "radius" in arguments:
            raise bad_argument("limit", "says how many there are, and so does radius: give one of them")
        if "limit" in arguments:
            return pages.page_around(question, member=arguments["around"], limit=arguments.whole("limit"), me=me)
        return pages.page_around(question, member=arguments["around"], radius=arguments.whole("radius"), me=me)
    if "radius" in arguments:
        raise bad_argument("radius", "is that of the neighbours of a member: it needs around")
    limit = arguments.whole("limit")
    if "rank" in arguments:
        return pages.page_at(question, rank=arguments.whole("rank"), limit=limit, me=me)
    if "score" in arguments:
        return pages.page_from(question, score=arguments["score"], limit=limit, me=me)
    return pages.page(question, limit=limit, cursor=arguments.get("cursor"), me=me)


@_api.route("getRank")
def rank_(board: str, metric: str, window: str) -> Response[str]:
    """A member's rank, or the rank that a score would have."""
    arguments = _api.arguments
    profiles = arguments.flag("profiles")
    question = _question(board, metric, window, arguments)
    if "score" not in arguments:
        member = arguments.required("member", "say whose rank, or give a score")
        noted = _noted(question, arguments)
        rank = member_ranks.rank(question, member=member, previous=arguments.flag("previous"))
        return _shown(question.request, rank, profiles=profiles, noted=noted)
    for name in ("member", "previous", "profiles", "notes"):
        if name in arguments:
            raise bad_argument(name, "cannot go with score")
    return http.json(score_statistics.score_rank(question, score=arguments["score"]))


@_api.route("getHistory")
def history_(board: str, metric: str, window: str) -> Response[str]:
    """A member's rank in each period that can be read."""
    arguments = _api.arguments
    question = _question(board, metric, window, arguments)
    return http.json(history.history(question, member=arguments["member"], periods=arguments.whole("periods")))


@_api.route("rankGroup")
def ranks_(board: str, metric: str, window: str) -> Response[str]:
    """The ranks of a group of members."""
    arguments = _api.arguments
    previous, profiles = arguments.flag("previous"), arguments.flag("profiles")
    question = _question(board, metric, window, arguments)
    noted = _noted(question, arguments)
    group = member_ranks.group(question, members=_members(), previous=previous)
    return _shown(question.request, group, profiles=profiles, noted=noted)


@_api.route("getPercentile")
def percentile_(board: str, metric: str, window: str) -> Response[str]:
    """The score at a percentile."""
    arguments = _api.arguments
    question = _question(board, metric, window, arguments)
    return http.json(score_statistics.percentile(question, p=arguments["p"]))


@_api.route("getDistribution")
def distribution_(board: str, metric: str, window: str) -> Response[str]:
    """The number of members in each range of scores."""
    arguments = _api.arguments
    question = _question(board, metric, window, arguments)
    return http.json(score_statistics.distribution(question, buckets=arguments.whole("buckets")))


@_api.route("getDescription")
def openapi() -> Response[str]:
    """The OpenAPI description of this API."""
    return _description()


@lru_cache(maxsize=1)
def _description() -> Response[str]:
    """Read on first use: most instances of this function never need it."""
    return Response(status_code=200, content_type="application/json", body=_DESCRIPTION.read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def live_page_() -> Response[str]:
    """The live page: one HTML document, which requests everything from this API but members' pictures."""
    hosts, frames = _listed("PICTURE_ORIGINS"), _listed("EMBED_ORIGINS")
    return http.html(http.document(_PAGE, hosts), hosts, frames)


def _listed(name: str) -> list[str]:
    """What an environment variable names, with commas between."""
    return [one for one in os.environ.get(name, "").split(",") if one]


if _OPEN_READS:
    _api.page(live_page_)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answer an HTTP request in API Gateway's payload format 2.0."""
    logger.debug("read", extra={"path": event.get("rawPath")})
    return _api.resolve(event, context)


def _question(board: str, metric: str, window: str, arguments: http.Arguments) -> Question:
    return Request(_reader).question(board, metric, window, arguments.get("period"), arguments.get("method"))


def _noted(question: Question, arguments: http.Arguments) -> Ranking | None:
    """The ranking whose notes the client asked for; None if it asked for none."""
    return notes.noted(question, arguments.get("cursor")) if arguments.flag("notes") else None


def _shown(request: Request, answer: dict[str, Any], *, profiles: bool, noted: Ranking | None = None) -> Response[str]:
    """The answer, with the profile of each member in it, and the note of each score, if the client asked for them."""
    if noted is not None:
        answer = _notes.show(request, noted, answer)
    return http.json(_people.show(request, answer) if profiles else answer)


def _members() -> list[str]:
    """The members that the body names."""
    document = _api.document()
    if not isinstance(document, dict) or set(document) != {"members"}:
        raise InvalidBodyError('expected an object such as {"members": ["u1", "u2"]}')
    members = document["members"]
    if not isinstance(members, list) or not 1 <= len(members) <= member_ranks.MAX_MEMBERS:
        raise InvalidBodyError(f"members: expected a list of 1 to {member_ranks.MAX_MEMBERS} members")
    if not all(isinstance(member, str) and 1 <= len(member.encode()) <= MAX_MEMBER_BYTES for member in members):
        raise InvalidBodyError(f"members: expected texts of 1 to {MAX_MEMBER_BYTES} bytes of UTF-8")
    return members
