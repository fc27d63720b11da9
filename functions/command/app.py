"""The command function answers HTTP writes: it queues events, changes members and profiles, and has boards deleted.

It also has the status of events, for callers who may post events.
"""

import os
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

from standings import http
from standings.authorization import check_admin, check_profile, check_reads, is_admin, own_member
from standings.aws.dynamodb.profiles import Profiles
from standings.aws.dynamodb.scores import BoardRecords, Scores
from standings.aws.sqs import MAX_BODY_BYTES, Sender, Taken, message_of
from standings.domain.errors import InvalidBodyError, bad_argument
from standings.ingest import CountedEvents, Posting, event_status
from standings.members import MemberAdmin, ProfileAdmin
from standings.runtime.environment import required
from standings.runtime.logs import logger, stack_of
from standings.stores import Posted
from standings.wiring import building_blocks

if TYPE_CHECKING:
    from standings.following import Following

_clock = building_blocks.real_clock()
_MEMBER_CLAIM: Final = os.environ.get("JWT_MEMBER_CLAIM", "")
_OPEN_READS: Final = os.environ.get("OPEN_READS") == "true"
_api = http.Api()
handler = _api.handle


# Each is made with the first request that needs it: most processes need only some.
_dynamodb = cache(lambda: building_blocks.client("dynamodb"))


@cache
def _posting() -> Posting:
    queue = Sender(lambda: building_blocks.client("sqs"), required("ACTIVITY_QUEUE_URL"))

    def send(events: Sequence[Posted]) -> Taken:
        return queue.send(list(map(message_of, events)))

    def report(bug: Exception) -> None:
        logger.error("event refused", extra={"rule": "internal"}, exc_info=stack_of(bug))

    return Posting(building_blocks.boards(), send, MAX_BODY_BYTES, _clock, report)


@cache
def _scores() -> Scores:
    return Scores(_dynamodb(), required("SCORES_TABLE"), required("RECEIPTS_TABLE"), _clock)


@cache
def _counted() -> CountedEvents:
    return CountedEvents(_scores(), BoardRecords(_dynamodb(), required("SCORES_TABLE"), _clock))


@cache
def _following() -> "Following":
    from standings.following import Following  # noqa: PLC0415 - it imports all reads
    from standings.read.dispatch import Answers, Tables  # noqa: PLC0415
    from standings.read.session import PRIVATE_LIMITS, PUBLIC_LIMITS  # noqa: PLC0415

    names = {name: required(f"{name.upper()}_TABLE") for name in ("rankings", "scores", "profiles")}
    tables = Tables(_dynamodb(), _clock, **names)
    limits = PUBLIC_LIMITS if _OPEN_READS else PRIVATE_LIMITS
    return Following(_posting(), _counted(), Answers(building_blocks.boards(), tables, limits), _clock)


@cache
def _members() -> MemberAdmin:
    return MemberAdmin(building_blocks.board_catalog(_dynamodb(), _clock), _scores(), _clock)


@cache
def _profiles() -> ProfileAdmin:
    return ProfileAdmin(Profiles(_dynamodb(), required("PROFILES_TABLE"), _clock), _clock)


@_api.route("postEvents")
def post() -> http.Response:
    """Queue events, or only check them. The answer has the outcome of each; with `wait` also the ranks that follow."""
    own, admin = own_member(_api.event, _MEMBER_CLAIM), is_admin(_api.event)
    body, wait, history = _api.body(), _api.arguments.whole("wait"), _api.arguments.flag("history")
    is_dry_run = _api.arguments.flag("dry_run")
    if is_dry_run and wait:
        raise bad_argument("wait", "cannot go with dry_run: nothing is posted")
    if wait and not _OPEN_READS:
        check_reads(_api.event)
    checked = _posting().check(body, own, is_admin=admin, history=history)
    if is_dry_run:
        return http.json({"results": _posting().dry_run(checked, _counted())}, 202)
    if not wait:
        return http.json({"results": _posting().post(checked)}, 202)
    results, members = _following().post(checked, wait)
    if members is None:
        return http.json({"results": results}, 202)
    return http.json({"results": results, "members": members})


@_api.route("getEvent")
def status() -> http.Response:
    """Whether an event was counted or refused. A reason may name a member, so it is not for everyone."""
    event_id, with_reason = _api.arguments["id"], is_admin(_api.event)
    return http.json(event_status(_scores(), _clock, event_id, with_reason=with_reason))


@_api.route("putMember")
def put(board: str) -> http.Response:
    """Register a member. The body may hide it or show it again."""
    check_admin(_api.event)
    return http.json(_members().put(board, _api.arguments["id"], _hidden()))


@_api.route("deleteMember")
def delete(board: str) -> http.Response:
    """Remove a member with its scores."""
    check_admin(_api.event)
    _members().remove(board, _api.arguments["id"])
    return http.Response(204)


@_api.route("deleteBoard")
def delete_board(board: str) -> http.Response:
    """Begin the deletion of a board, which takes minutes. The board's own address says when it has ended."""
    from standings.aws.functions import Invoker  # noqa: PLC0415 - few requests need it
    from standings.maintain import deletion  # noqa: PLC0415 - it imports all that rebuilds

    check_admin(_api.event)
    catalog = building_blocks.board_catalog(_dynamodb(), _clock)
    maintenance = Invoker(lambda: building_blocks.client("lambda"), required("MAINTENANCE_FUNCTION"))
    answer = http.json(deletion.request(catalog, _clock, maintenance.call_later, board), 202)
    answer.headers["Location"] = f"/boards/{board}"
    return answer


@_api.route("putProfile")
def put_profile() -> http.Response:
    """Set and remove fields of a member's profile."""
    member = _api.arguments["id"]
    check_profile(_api.event, _MEMBER_CLAIM, member)
    return http.json(_profiles().put(member, _api.document()))


@_api.route("deleteProfile")
def delete_profile() -> http.Response:
    """Remove a member's profile."""
    check_admin(_api.event)
    _profiles().remove(_api.arguments["id"])
    return http.Response(204)


def _hidden() -> bool | None:
    if not _api.body():
        return None
    document = _api.document()
    if not isinstance(document, dict):
        raise InvalidBodyError('expected an object such as {"hidden": true}, or nothing')
    for name in document:
        if name != "hidden":
            raise InvalidBodyError(f"{ascii(name[:80])[1:-1]}: no such field; there is hidden")
    hidden = document.get("hidden")
    if "hidden" in document and not isinstance(hidden, bool):
        raise InvalidBodyError("hidden: expected true or false")
    return hidden
