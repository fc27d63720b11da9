"""The maintenance function: audits, settlements, rebuilds, deletions, erasures, merges and replays.

Each call does as much as its time allows. With `AdminPage=true` the API passes it `POST /tasks`, for some of the tasks.
An event names one task, such as `{"rebuild": {"board": "b"}}` (or `"berlin-*"` for all boards that match) or
`{"dead_letters": {"replay": {"reason": "metrics"}}}`.
The answer says whether the task is `done`. If it is not, send the same event again, with the answer's `cursor` if it
has one, and with `"begin": false` for a rebuild or deletion.
"""

import platform
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final

import botocore
import urllib3
from aws_lambda_powertools.metrics import MetricUnit

from standings import http
from standings.authorization import check_admin
from standings.aws.dynamodb.profiles import Profiles
from standings.aws.dynamodb.scores import Scores
from standings.aws.dynamodb.tables import AUDIT, SETTLE, items_by_key
from standings.aws.dynamodb.versioned_items import TurnRecord
from standings.aws.eventbridge import EventBus
from standings.aws.functions import Invoker
from standings.aws.s3 import ResultsBucket
from standings.aws.sqs import DeadLetterQueue, Sender
from standings.domain import zones
from standings.domain.boards import Family, family_of
from standings.domain.coverage import DELETE, REBUILD
from standings.domain.errors import InvalidBodyError
from standings.domain.events import MAX_SHOWN_LENGTH
from standings.maintain import board_states, deletion
from standings.maintain.audit import AuditPosition, Audits
from standings.maintain.erase import Erase
from standings.maintain.failures import DeadLetterTasks, ParkedRecords, Selection
from standings.maintain.merge_everywhere import MergeEverywhere
from standings.maintain.rebuild import Rebuild
from standings.maintain.settlements import Settlements
from standings.maintain.task_arguments import Task, Tasks, task_of
from standings.maintain.turns import Lease, Position
from standings.members import MemberAdmin
from standings.rankings.findings import AuditReads
from standings.rankings.reading import CalendarReads
from standings.rankings.storing import Purging
from standings.runtime.bytecode import is_compiled
from standings.runtime.environment import given, required
from standings.runtime.logs import logger, metrics, stack_of
from standings.wiring import building_blocks, rankings


def _report(bug: Exception) -> None:
    logger.error("parked record not read", exc_info=stack_of(bug))


def _report_board(problem: str, board: str, tries: int) -> None:
    logger.error(problem, extra={"board": board, "tries": tries})


# The services share clients and caches.
_clock, _boards = building_blocks.real_clock(), building_blocks.boards()
_dynamodb = building_blocks.client("dynamodb")
_scores_table, _rankings_table = required("SCORES_TABLE"), required("RANKINGS_TABLE")
_sqs = cache(lambda: building_blocks.client("sqs"))
_bucket, _looks = building_blocks.failure_bucket(), rankings.looks()
_catalog = building_blocks.board_catalog(_dynamodb, _clock)
_scores = Scores(_dynamodb, _scores_table, required("RECEIPTS_TABLE"), _clock)
_rankings = rankings.store(_dynamodb, _clock)
_evidence = AuditReads(_dynamodb, _scores_table, _rankings_table, _clock)
_turn = partial(TurnRecord, _dynamodb, _rankings_table)
_audit_lease = Lease(_turn(AUDIT), AuditPosition.decode, _clock, partial(_report_board, "board not audited"))
_audits = Audits(_catalog, _evidence, _audit_lease, _clock)
_settle_lease = Lease(_turn(SETTLE), Position, _clock, partial(_report_board, "board not settled"))
_named = given("RESULTS_BUCKET")  # A stack without it settles nothing
_results = None if _named is None else ResultsBucket(lambda: building_blocks.client("s3"), _named)
_bus = EventBus(lambda: building_blocks.client("events"))
_settlements: Settlements | None = None
if _results is not None:
    _settlements = Settlements(_catalog, _evidence, _settle_lease, _clock, _bus, _results, required("STACK_NAME"))
_states = partial(board_states.show, _catalog, _audit_lease, _clock)
_entries = CalendarReads(partial(items_by_key, _dynamodb, _rankings_table, clock=_clock), _clock)
_purging = Purging(_dynamodb, _rankings_table, _clock)
_rebuilds = Rebuild(_catalog, _scores, _rankings, _entries, _purging, _clock, _looks)
_profiles = Profiles(_dynamodb, required("PROFILES_TABLE"), _clock)
_erase = Erase(_catalog, _scores, _clock, _profiles, _results)
_members = MemberAdmin(_catalog, _scores, _clock)
_merges = MergeEverywhere(_catalog, _scores, _clock, _members)
_activity = Sender(_sqs, required("ACTIVITY_QUEUE_URL"))
_dead_letters = DeadLetterTasks(DeadLetterQueue(_sqs, required("DEAD_LETTER_QUEUE_URL"), _activity, _bucket), _clock)
_parked = ParkedRecords(_catalog, _scores, _rankings, _bucket, _clock, _report, _looks)

_GLOB: Final = frozenset("*?[")
_LOGGED: Final = ("board", "metric", "window", "period", "why", "drift", "found")


def _audit(deadline: float, **arguments: Any) -> dict[str, Any]:
    answer = _audits.audit(deadline, **arguments)
    _report_drift(answer["boards"])
    return answer


def _audit_next(deadline: float, *, read_units: int) -> dict[str, Any]:
    boards: list[dict[str, Any]] = []
    try:
        answer = _audits.continue_turn(deadline, read_units, boards.append)
    finally:
        # What was found before an error counts as well.
        _report_drift(boards)
    return {**answer, "drift": sum(board["drift"] for board in boards), "boards": boards}


def _report_drift(boards: list[dict[str, Any]]) -> None:
    """Count the differences that audits have found, and log them."""
    metrics.add_metric("Drift", MetricUnit.Count, sum(board["drift"] for board in boards))
    for board in boards:
        if board["drift"]:
            logger.error("rankings differ from scores", extra=board)


def _settling(do: Callable[..., dict[str, Any]], deadline: float, **arguments: Any) -> dict[str, Any]:
    """Log what could not be settled, and count the differences that its audit found."""
    answer = _on_settlements(do, deadline, **arguments)
    metrics.add_metric("Drift", MetricUnit.Count, sum(ranking["drift"] for ranking in answer["rankings"]))
    for period in answer.get("left", ()):
        logger.warning("empty period left unsealed", extra=period)
    for ranking in answer["rankings"]:
        if ranking["why"] is not None and not ranking.get("empty"):
            logger.error("period not settled", extra={name: ranking[name] for name in _LOGGED})
    return answer


def _on_settlements(do: Callable[..., dict[str, Any]], deadline: float, **arguments: Any) -> dict[str, Any]:
    if _settlements is None:
        raise ValueError("this stack settles nothing: deploy it with Settlements=true")
    return do(_settlements, deadline, **arguments)


def _rebuild(deadline: float, *, board: str, begin: bool = True, cursor: int | None = None) -> dict[str, Any]:
    if _GLOB.intersection(board):
        return _rebuilds.continue_all(board, cursor, deadline)
    return _rebuilds.continue_job(board, REBUILD, deadline, begin=begin)


def _delete(deadline: float, *, board: str, begin: bool = True, calls: int = 0) -> dict[str, Any]:
    if calls:
        return deletion.finish(_rebuilds, _clock, deadline, board=board, calls=calls)
    return _rebuilds.continue_job(board, DELETE, deadline, begin=begin)


def _merge(
    deadline: float, *, board: str | None = None, all_boards: bool = False, old: str = "", new: str = "", **more: Any
) -> dict[str, Any]:
    if board is None and not all_boards:
        raise ValueError("merge: board is missing")
    if board is not None and (all_boards or more):
        raise ValueError("merge: board cannot go with all_boards, every_board or cursor")
    if board is None:
        return _merges.merge(deadline, old=old, new=new, **more)
    return {**_members.merge(board, old, new), "done": True}


def _runtime(_deadline: float) -> dict[str, Any]:
    """What the functions run on. AWS updates its runtimes, and the SDK in them, at any time."""
    return {
        "python": platform.python_version(),
        "botocore": botocore.__version__,
        "urllib3": urllib3.__version__,  # type: ignore[attr-defined]  # its type stubs do not export it
        "sdk_compiled": is_compiled("botocore"),
        "dynamodb_client": building_blocks.dynamodb_client(),
        "time_zones": zones.VERSION,
        "system_zones": zones.of_system(),
        "done": True,
    }


def _show(of: Callable[[Family], Any], name: str, does: object, _: float) -> dict[str, Any]:
    """The patterns of the families that settle, or announce, and whether this stack does."""
    families = [family.pattern for family in _boards.families if of(family)]
    return {"done": True, "families": families, name: does is not None}


def _choosing(names: str, do: Callable[..., dict[str, Any]], **types: type) -> Task:
    """A task on those dead letters or parked objects that `names`, `reason` and `board` choose."""

    def call(deadline: float, **arguments: Any) -> dict[str, Any]:
        chosen = Selection(*(arguments.pop(name, None) for name in (names, "reason", "board", "member")))
        return do(deadline, chosen=chosen, **arguments)

    return Task(call, {names: list, "reason": str, "board": str, **types})


def _settled_or_none(deadline: float, *, board: str, cursor: str = "") -> dict[str, Any]:
    """The settled periods of a board; none where the stack settles nothing, or the board has had no event."""
    family_of(_boards, board)
    if _settlements is None:
        return {"done": True, "cursor": None, "bucket": None, "results": []}
    return _settlements.settled(deadline, board=board, cursor=cursor)


_TASKS: Final[Tasks] = {
    "audit": Task(_audit, {"board": str, "cursor": dict, "grace_seconds": int}),
    "audits": {
        "next": Task(_audit_next, {"read_units": int}, required="read_units"),
        "show": Task(lambda _: _audits.show(), {}),
    },
    "rebuild": Task(_rebuild, {"board": str, "begin": bool, "cursor": int}, required="board"),
    "delete": Task(_delete, {"board": str, "begin": bool, "calls": int}, required="board"),
    "erase": Task(_erase.erase, {"member": str, "cursor": str, "every_board": bool}, required="member"),
    "merge": Task(
        _merge, {"board": str, "old": str, "new": str, "all_boards": bool, "every_board": bool, "cursor": str}
    ),
    "members": Task(_members.list, {"board": str, "hidden": bool, "cursor": dict}, required="board"),
    "settle": Task(
        partial(_settling, Settlements.settle),
        {"board": str, "window": str, "metric": str, "period": str, "again": bool, "empty": bool, "cursor": dict},
        required="board",
    ),
    "settlements": {
        "next": Task(partial(_settling, Settlements.settle_due), {}),
        "show": Task(partial(_show, lambda family: family.endings.settle, "settles", _settlements), {}),
        "list": Task(partial(_on_settlements, Settlements.settled), {"board": str, "cursor": str}, required="board"),
    },
    "announcements": {"show": Task(partial(_show, lambda family: family.announce, "announces", _looks), {})},
    "boards": {"show": Task(_states, {"boards": list}, required="boards")},
    "runtime": Task(_runtime, {}),
    "dead_letters": {
        "list": _choosing("ids", _dead_letters.list, member=str, limit=int),
        "replay": _choosing("ids", _dead_letters.replay, member=str, cursor=int),
        "delete": _choosing("ids", _dead_letters.delete, member=str, cursor=int),
    },
    "parked": {
        "list": _choosing("keys", _parked.list, limit=int, cursor=str),
        "replay": _choosing("keys", _parked.replay, cursor=dict),
    },
}


OVER_HTTP_S: Final = 20.0
"""Seconds that a task may take for a request. The API waits for 30; a call to AWS that began in time may still end."""
_OVER_HTTP: Final[Tasks] = {
    **{name: _TASKS[name] for name in ("boards", "dead_letters")},
    "merge": Task(_merge, {"board": str, "old": str, "new": str}, required="board"),
    "settlements": {"list": Task(_settled_or_none, {"board": str, "cursor": str}, required="board")},
}
_api = http.Api()


@_api.route("doTask")
def do_task() -> http.Response:
    """Do one of the tasks of the admin's page, as far as it comes while the API waits."""
    check_admin(_api.event)
    document = _api.document()
    try:
        task, arguments = task_of(document, _OVER_HTTP)
    except ValueError as error:
        raise InvalidBodyError(str(error)[: 3 * MAX_SHOWN_LENGTH]) from error
    return http.json(task.do(_clock.after(OVER_HTTP_S), **arguments))


@metrics.log_metrics
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Do one task until it is done or the function's time is over; ValueError says what is wrong with the event.

    An event with a `requestContext` is a request to the API, which gets a response.
    """
    if isinstance(event, dict) and "requestContext" in event:
        return _api.handle(event, context)
    deadline = _clock.after(context.get_remaining_time_in_millis() / 1000 - building_blocks.REPORTING_RESERVE)
    task, arguments = task_of(event, _TASKS)
    answer = task.do(deadline, **arguments)
    if "again" in answer:
        itself = Invoker(lambda: building_blocks.client("lambda"), context.invoked_function_arn)
        _clock.retry(itself.call_later, answer["again"])
    # The log would keep the id of a member that is gone longer than the tables do.
    named = next((name for name in ("erase", "merge") if name in event), None)
    logger.info("task", extra={"task": event if named is None else {named: {}}, "done": answer["done"]})
    return answer
