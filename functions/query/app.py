"""The query function: answers HTTP reads. It cannot write."""

from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from aws_lambda_powertools.event_handler import Response

from standings.domain.boards.names import MAX_MEMBER_BYTES
from standings.domain.errors import bad_argument, bad_body
from standings.http import api, responses
from standings.http.arguments import Arguments
from standings.read.board_list import Directory
from standings.read.query import MAX_MEMBERS, Asked, Query
from standings.runtime.environment import Config
from standings.runtime.logs import logger
from standings.wiring import building_blocks, query

_config = Config.from_environment()
_reader = query.reader(_config, building_blocks.pacing())
_query = Query(_reader)
_directory = Directory(_reader)
_api = api.Api()

_DESCRIPTION: Final = Path(__file__).with_name("openapi.json")
_PAGE: Final = Path(__file__).with_name("page.html")
_DEFAULT_LIMIT: Final = 100
_DEFAULT_RADIUS: Final = 5
_DEFAULT_BUCKETS: Final = 50


@_api.route("GET", "/boards")
def boards() -> Response[str]:
    """The boards that there are."""
    given = _api.arguments("prefix", "limit", "cursor")
    limit = given.whole("limit", _DEFAULT_LIMIT)
    return responses.json(_directory.boards(prefix=given.get("prefix", ""), limit=limit, cursor=given.get("cursor")))


@_api.route("GET", "/boards/<board>")
def board_(board: str) -> Response[str]:
    """What a board counts and ranks."""
    _api.arguments()
    return responses.json(_directory.board(board))


@_api.route("GET", api.MEMBER)
def member_(board: str) -> Response[str]:
    """A member in everything that a board counts."""
    given = _api.arguments("id", "ranks", "method")
    ranks = given.flag("ranks")
    if "method" in given and not ranks:
        raise bad_argument("method", "says how ranks are numbered: it needs ranks=true")
    member = given.required("id", "say which member")
    return responses.json(_directory.member(board, member, ranks=ranks, method=given.get("method")))


@_api.route("GET", api.RANKING)
def page(board: str, metric: str, window: str) -> Response[str]:
    """A page of a ranking's list: the first, after a cursor, at a position, or around a member."""
    given = _api.arguments("period", "method", "limit", "cursor", "rank", "around", "radius")
    starts = [name for name in ("cursor", "rank", "around") if name in given]
    if len(starts) > 1:
        raise bad_argument(starts[1], f"a page begins at one place: it cannot go with {starts[0]}")
    asked = _asked(board, metric, window, given)
    if "around" in given:
        if "limit" in given:
            raise bad_argument("limit", "around a member it is the radius that says how many")
        radius = given.whole("radius", _DEFAULT_RADIUS)
        return responses.json(_query.page_around(asked, member=given["around"], radius=radius))
    if "radius" in given:
        raise bad_argument("radius", "is that of the neighbours of a member: it needs around")
    limit = given.whole("limit", _DEFAULT_LIMIT)
    if "rank" in given:
        rank = given.whole("rank", 1)
        return responses.json(_query.page_at(asked, rank=rank, limit=limit))
    return responses.json(_query.page(asked, limit=limit, cursor=given.get("cursor")))


@_api.route("GET", api.RANKING + "/rank")
def rank_(board: str, metric: str, window: str) -> Response[str]:
    """A member's rank in a ranking, or the rank that a score would have."""
    given = _api.arguments("period", "method", "member", "score", "previous")
    asked = _asked(board, metric, window, given)
    if "score" not in given:
        member = given.required("member", "say whose rank, or give a score")
        previous = given.flag("previous")
        return responses.json(_query.rank(asked, member=member, previous=previous))
    for name in ("member", "previous"):
        if name in given:
            raise bad_argument(name, "cannot go with score")
    return responses.json(_query.score_rank(asked, score=given["score"]))


@_api.route("POST", api.RANKING + "/ranks")
def ranks_(board: str, metric: str, window: str) -> Response[str]:
    """The ranks of a group."""
    given = _api.arguments("period", "method", "previous")
    asked = _asked(board, metric, window, given)
    previous = given.flag("previous")
    return responses.json(_query.group(asked, members=_members(), previous=previous))


@_api.route("GET", api.RANKING + "/percentile")
def percentile_(board: str, metric: str, window: str) -> Response[str]:
    """The score at a percentile."""
    given = _api.arguments("period", "method", "p")
    asked = _asked(board, metric, window, given)
    p = given.required("p", "say which percentile, such as 90")
    return responses.json(_query.percentile(asked, p=p))


@_api.route("GET", api.RANKING + "/distribution")
def distribution_(board: str, metric: str, window: str) -> Response[str]:
    """How many members have a score in each of some ranges."""
    given = _api.arguments("period", "method", "buckets")
    asked = _asked(board, metric, window, given)
    buckets = given.whole("buckets", _DEFAULT_BUCKETS)
    return responses.json(_query.distribution(asked, buckets=buckets))


@_api.route("GET", "/openapi.json")
def openapi() -> Response[str]:
    """The description of the API, for people and for generators of clients."""
    _api.arguments()
    return Response(status_code=200, content_type="application/json", body=_description())


@lru_cache(maxsize=1)
def _description() -> str:
    """Read when it is first asked for: most instances of this function never are."""
    return _DESCRIPTION.read_text(encoding="utf-8")


def page_() -> Response[str]:
    """The live page: one document, which asks this API for everything that it shows."""
    return _live_page()


if _config.open_reads:
    _api.route("GET", "/")(page_)


@lru_cache(maxsize=1)
def _live_page() -> Response[str]:
    return responses.html(_PAGE.read_text(encoding="utf-8"))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answer an HTTP request in API Gateway's payload format 2.0."""
    logger.debug("read", extra={"path": event.get("rawPath")})
    return _api.resolve(event, context)


def _asked(board: str, metric: str, window: str, given: Arguments) -> Asked:
    return _query.asked(board, metric, window, period=given.get("period"), method=given.get("method"))


def _members() -> list[str]:
    """The group that a body names."""
    document = _api.document()
    if not isinstance(document, dict) or set(document) != {"members"}:
        raise bad_body('must be an object such as {"members": ["u1", "u2"]}')
    members = document["members"]
    if not isinstance(members, list) or not 1 <= len(members) <= MAX_MEMBERS:
        raise bad_body(f"members: must be a list of 1 to {MAX_MEMBERS} members")
    if not all(isinstance(member, str) and 1 <= len(member.encode()) <= MAX_MEMBER_BYTES for member in members):
        raise bad_body(f"members: each must be text of 1 to {MAX_MEMBER_BYTES} bytes of UTF-8")
    if len(set(members)) < len(members):
        raise bad_body("members: one of them stands there twice")
    return members
