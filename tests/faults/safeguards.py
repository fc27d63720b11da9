"""The rules that keep rankings exact, each with the change of the code that takes it away.

    make safeguards SAFEGUARDS_ARGS="NAME ..."

takes away each safeguard (or those named), runs schedules until some are noticed to be wrong, and writes
`benchmarks/results/safeguards.json` and the tables of `docs/safeguards.md`, as `make bench` does. What chance seldom
meets has a schedule written for it.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from functools import _lru_cache_wrapper
from textwrap import dedent
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

import tests.conftest  # noqa: F401 - the environment that tests have, before anything of the functions is loaded
from benchmarks.output import SIZES, Output

from .world import run, uncollected

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import FunctionType


@dataclass(frozen=True)
class Edit:
    """Another text in the place of one in a function of the product, as `services.moving:_resolve` names it."""

    where: str
    changes: Mapping[str, str]
    """What is there exactly once, and what takes its place."""
    names: Mapping[str, Any] = field(default_factory=dict)
    """What the new text needs besides."""

    @contextmanager
    def made(self) -> Iterator[None]:
        """Have the function behave so, for whoever holds it; LookupError for a text that is not there exactly once."""
        found, module = self._found()
        function: FunctionType = inspect.unwrap(found)
        text = dedent(inspect.getsource(function))
        for old, new in self.changes.items():
            if text.count(old) != 1:
                raise LookupError(f"{self.where} has {old!r} {text.count(old)} times")
            text = text.replace(old, new)
        defined: dict[str, Any] = {}
        code = compile(text, f"<another {self.where}>", "exec", dont_inherit=True)
        exec(code, vars(module), defined)  # noqa: S102 - our own text
        before, after = function.__code__, inspect.unwrap(defined[function.__name__]).__code__
        with mock.patch.dict(vars(module), self.names):
            function.__code__ = after
            _forget(found)
            try:
                yield
            finally:
                function.__code__ = before
                _forget(found)

    def _found(self) -> tuple[Any, Any]:
        name, _, way = self.where.partition(":")
        module = importlib.import_module(f"standings.{name}")
        found: Any = module
        for part in way.split("."):
            found = getattr(found, part)
        return found, module


def _forget(function: Any) -> None:
    if isinstance(function, _lru_cache_wrapper):
        function.cache_clear()


@dataclass(frozen=True)
class Safeguard:
    """A rule of the product: what happens without it, and what takes it away."""

    name: str
    without: str
    edits: tuple[Edit, ...]
    written: str = ""
    """The schedule of `written` that was made for it, where chance seldom meets it."""
    unneeded: str = ""
    """Why all is right without it, where nothing notices that it is gone."""

    @contextmanager
    def removed(self) -> Iterator[None]:
        """Take it away for a while."""
        with ExitStack() as edits:
            for edit in self.edits:
                edits.enter_context(edit.made())
            yield


_NOWHERE: Final[dict[int, Any]] = {}
_ALWAYS_V: Final = "v = :v OR v <> :v OR attribute_not_exists(v)"

_WRITING: Final = (
    Safeguard(
        "a receipt is written only where there is none",
        "an event that counts twice",
        (Edit("dynamodb.scores:DynamoScores._receipt", {"attribute_not_exists(pk)": "attribute_not_exists(nothing)"}),),
    ),
    Safeguard(
        "receipts are in the transaction of the change",
        "a crash between the two: an event that is lost, or counts twice",
        (
            Edit(
                "dynamodb.scores:DynamoScores.apply",
                {
                    "in transact(self._client, actions)": "in (receipts and"
                    " transact(self._client, actions[: len(receipts)])) or"
                    " [one._replace(position=one.position + len(receipts))"
                    " for one in transact(self._client, actions[len(receipts) :])]"
                },
            ),
        ),
    ),
    Safeguard(
        "a receipt's digest is compared",
        "an event that is dropped in silence, since its id was another's",
        (
            Edit("services.writer:_Transaction._known_id", {"digest != work.event.digest": "False"}),
            Edit("services.writer:Writer.write", {"twin.event.digest == event.digest": "True"}),
        ),
        written="other_content",
    ),
    Safeguard(
        "receipts live for 30 days",
        "a message that comes again weeks later",
        (Edit("dynamodb.scores:DynamoScores.apply", {"RECEIPT_LIFETIME": "DAY"}),),
    ),
    Safeguard(
        "a message that came too long ago is refused",
        "one that is replayed when its receipt is gone",
        (Edit("services.writer:_check_age", {"message.refused_since is not None": "False"}),),
        written="received_long_ago",
    ),
    Safeguard(
        "a stamp never goes back on an item",
        "a slow clock that counts where a faster one has closed a period",
        (
            Edit("services.changes:_change", {"max(now, image.stamp) if image is not None else now": "now"}),
            Edit("dynamodb.scores:DynamoScores._addition", {"t <= :t AND ": ""}),
        ),
    ),
    Safeguard(
        "an addition is made on condition of the stamp",
        "the same, where the writer does not know of the faster clock",
        (Edit("dynamodb.scores:DynamoScores._addition", {"t <= :t AND ": ""}),),
    ),
    Safeguard(
        "an item is rewritten on condition of its version",
        "a best, or a hide, over what was counted meanwhile",
        (
            Edit(
                "dynamodb.scores:DynamoScores._rewrite",
                {
                    '"attribute_not_exists(v)"': '"attribute_not_exists(nothing)"',
                    '"v = :v"': f'"{_ALWAYS_V}"',
                },
            ),
        ),
    ),
    Safeguard(
        "what changes nothing checks the version all the same",
        "a best that is not counted, going by an item of a moment ago",
        (
            Edit(
                "dynamodb.scores:DynamoScores._rewrite",
                {
                    '{"ConditionCheck": {**request,': '{"ConditionCheck": {**request, "ConditionExpression": '
                    f'"{_ALWAYS_V}",'
                },
            ),
        ),
        written="best_of_somebody_removed",
    ),
    Safeguard(
        "accumulators go a day after reading has ended",
        "one that goes while other clocks still read the period",
        (Edit("domain.members:expired", {"now - REMOVAL_MARGIN": "now"}),),
        written="read_by_a_slower_clock",
    ),
    Safeguard(
        "a period is moved no more an hour after reading has ended",
        "accumulators that were taken off, which look like scores that fell",
        (Edit("domain.members:touched", {"and (until is None or new.stamp < until + SKIP_MARGIN)": ""}),),
    ),
    Safeguard(
        "a removed member leaves its version",
        "records of the time before, which bring it back",
        (
            Edit(
                "dynamodb.scores:DynamoScores._rewrite",
                {
                    'return {"Put": {**request, "Item": encode_image(change.image)}}': "key = member_item_key("
                    "change.board, change.member)\n"
                    '    put = {"Put": {**request, "Item": encode_image(change.image)}}\n'
                    '    return {"Delete": {**request, "Key": key}} if change.image.removed else put'
                },
            ),
        ),
    ),
    Safeguard(
        "a removed member's version stays for 60 days",
        "the same, days later",
        (Edit("dynamodb.scores:encode_image", {"REMOVED_LIFETIME": "DAY"}),),
        unneeded="Records of the stream live for 24 hours: later no older one comes, and a new version begins at a"
        " clock that is further on. Three days would do.",
    ),
    Safeguard(
        "versions start at the clock",
        "a member that comes back below the version of its rows",
        (
            Edit("domain.members:new_image", {"Image(board, member, stamp, stamp,": "Image(board, member, 0, stamp,"}),
            Edit("dynamodb.scores:_addition_expression", {"if_not_exists(v, :t)": "if_not_exists(v, :i)"}),
        ),
    ),
    Safeguard(
        "an item that is gone counts as a version more",
        "a member deleted by hand that stays in its rankings",
        (Edit("domain.members:Image.without_scores", {"self.version + 1": "self.version"}),),
        written="deleted_by_hand",
    ),
)

_MOVING: Final = (
    Safeguard(
        "a row takes only what is newer than itself",
        "an older record, done late",
        (
            Edit(
                "dynamodb.rankings:entry_action",
                {
                    '"(attribute_not_exists(v) OR v < :v) AND': '"(attribute_not_exists(v) OR v < :v OR v >= :v) AND',
                    '"v < :v AND s = :s"': '"(v < :v OR v >= :v) AND s = :s"',
                },
            ),
        ),
        written="late_on_newer",
    ),
    Safeguard(
        "a row is moved from where it was counted",
        "counters that are off, when a record is missing or half done",
        (
            Edit(
                "dynamodb.rankings:entry_action",
                {" AND attribute_not_exists(s)": "", '"v < :v AND s = :s"': '"v < :v AND (s = :s OR s <> :s)"'},
            ),
        ),
    ),
    Safeguard(
        "counters are in the transaction of the entries",
        "a crash between the two: counters that are off for ever",
        (
            Edit(
                "dynamodb.rankings:DynamoRankings.commit",
                {
                    "in transact(self._client, actions)": "in transact(self._client, actions[: len(moves)]) or"
                    " [one._replace(position=one.position + len(moves)) for one in"
                    " (actions[len(moves) :] and transact(self._client, actions[len(moves) :]))]"
                },
            ),
        ),
    ),
    Safeguard(
        "counters move from where the row says",
        "the same as above, after a gap",
        (
            Edit(
                "services.moving:_resolve",
                {"move.old = found": "BELIEVED.setdefault(id(move), (move, move.old))\n            move.old = found"},
                {"BELIEVED": _NOWHERE},
            ),
            Edit(
                "dynamodb.rankings:node_actions",
                {"(_ordinal(move.old), ": "(_ordinal(BELIEVED.get(id(move), (move, move.old))[1]), "},
                {"BELIEVED": _NOWHERE},
            ),
        ),
    ),
    Safeguard(
        "there and back is a move (10, 12, 10)",
        "the record from in between, done late on a row that looks older",
        (
            Edit(
                "domain.moves:moves",
                {
                    "if place(change.old, ranking) != place(change.new, ranking)": "if place(first, ranking)"
                    " != place(last, ranking) or (place(first, ranking) is None and"
                    " place(change.old, ranking) != place(change.new, ranking))"
                },
            ),
        ),
        written="late_on_newer",
    ),
    Safeguard(
        "in and out again is a move (none, 10, none)",
        "the same, with a member that was not ranked",
        (
            Edit(
                "domain.moves:moves",
                {
                    "if place(change.old, ranking) != place(change.new, ranking)": "if place(change.old, ranking)"
                    " != place(change.new, ranking) and not (place(first, ranking) is place(last, ranking) is None)"
                },
            ),
        ),
        written="in_and_out_in_a_batch",
    ),
    Safeguard(
        "a gap takes the new version where scores are equal",
        "a record from in between, done after it",
        (
            Edit(
                "services.moving:_resolve",
                {
                    "else None\n    return": "else None\n"
                    "            if move.old == move.new:\n"
                    "                del left[id(move)]\n"
                    "                outcome.done.append(move)\n    return"
                },
            ),
        ),
        written="equal_after_a_gap",
    ),
    Safeguard(
        "a batch stops at its first failure",
        "a batch that goes on in vain",
        (
            Edit("services.moving:move_in_ranking", {"stopped() or backoff.expired": "backoff.expired"}),
            Edit("services.projector:_Batch.run", {"if self._failed:": "if False:"}),
        ),
        unneeded="Every move is counted by itself and the lowest unfinished record is named, whatever else was "
        "done. It saves transactions that nobody waits for: a matter of speed.",
    ),
    Safeguard(
        "the lowest unfinished record is named",
        "records that are taken for done",
        (Edit("services.projector:_Batch._report", {"min(unfinished)": "max(unfinished)"}),),
        written="nothing_done",
    ),
    Safeguard(
        "an unfinished member is named by its first record",
        "the first of its records, taken for done",
        (Edit("services.projector:_Batch._report", {"self._positions[key][0]": "self._positions[key][-1]"}),),
        written="nothing_done_of_two_days",
    ),
    Safeguard(
        "whoever leaves a ranking leaves a row",
        "an older record, which brings it back",
        (
            Edit(
                "dynamodb.rankings:entry_action",
                {
                    'return {\n        "Put"': 'if move.new is None:\n        return {"Delete": {"TableName": table,'
                    ' "Key": {"pk": item["pk"]}, "ConditionExpression": condition,'
                    ' "ExpressionAttributeValues": values,'
                    ' "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}}\n    return {\n        "Put"'
                },
            ),
        ),
        written="hidden_and_late",
    ),
    Safeguard(
        "such a row stays for 60 days",
        "the same, days later",
        (Edit("dynamodb.rankings:entry_action", {"ROW_LIFETIME": "DAY"}),),
        unneeded="Records of the stream live for 24 hours, and replays go by the item as it is. Three days would "
        "do; 60 cost next to nothing, and hold should a record ever come later.",
    ),
    Safeguard(
        "a record of an unknown board is parked",
        "events of a new board, while functions of the older definition are at work",
        (
            Edit(
                "services.projector:_Batch._read",
                {'self._park(position, f"no family in boards.toml matches {new.board!r}")': "pass"},
            ),
        ),
    ),
    Safeguard(
        "shards are named by the root before an entry is in one",
        "entries that no reader knows of",
        (Edit("dynamodb.rankings:DynamoRankings.commit", {"named = shards == 1 or": "named = True or"}),),
        written="shards_of_another_definition",
    ),
    Safeguard(
        "lanes are named by the root before one is used",
        "counters that no reader knows of",
        (
            Edit(
                "dynamodb.rankings:DynamoRankings._change_lane",
                {"if wanted > lane.of:": "lane.of = wanted\n    if wanted > lane.of:"},
            ),
        ),
    ),
)

_CLEANING: Final = (
    Safeguard(
        "a node is removed on condition of its version",
        "one that goes with whom it counts since it was read",
        (
            Edit(
                "dynamodb.trees:DynamoTrees.remove",
                {'"ConditionExpression": "v = :v"': f'"ConditionExpression": "{_ALWAYS_V}"'},
            ),
        ),
        written="a_node_that_was_in_use",
    ),
    Safeguard(
        "a counter is removed on condition of its value",
        "the same of a counter",
        (
            Edit(
                "dynamodb.trees:DynamoTrees._counters_out",
                {'f"{name} = :{name}"': 'f"({name} = :{name} OR {name} <> :{name} OR attribute_not_exists({name}))"'},
            ),
        ),
        written="a_counter_in_use_again",
    ),
    Safeguard(
        "a node goes only if the counter that leads to it is 0",
        "a node and a counter that were read at two moments",
        (Edit("services.pruning:_dead", {" or _sums(found[way[:-1]]).get(way[-1])": ""}),),
        written="a_counter_of_a_later_moment",
    ),
    Safeguard(
        "nothing is left below a node that goes",
        "nodes that are out of reach",
        (Edit("services.pruning:_dead", {"any((*way, digit) not in gone for digit in sums)": "False"}),),
        written="a_node_with_something_below",
    ),
    Safeguard(
        "versions of nodes start at the clock",
        "a node that was removed and made anew, and looks like the one that was read",
        (Edit("dynamodb.rankings:_node_update", {'":v": {"N": str(now)}': '":v": {"N": "0"}'}),),
        written="a_node_made_anew",
    ),
)

_REPLAYING: Final = (
    Safeguard(
        "a replay places a member everywhere",
        "rankings in which it has no place any more",
        (
            Edit(
                "services.parked:ParkedCare._moves",
                {
                    "yield from placings(": "yield from (move for move in placings(",
                    "for ranking in rankings])": "for ranking in rankings]) if move.new is not None)",
                },
            ),
        ),
        written="parked_and_hidden",
    ),
    Safeguard(
        "a replay reads the item as it is now",
        "a member placed as it was before the record",
        (
            Edit(
                "services.parked:ParkedCare._moves",
                {
                    "partial(self._scores.image, (named.board, named.member))": "lambda: self._scores.images("
                    "[(named.board, named.member)]).get((named.board, named.member))"
                },
            ),
        ),
        written="parked_a_moment_ago",
    ),
    Safeguard(
        "a replay places in every generation that is written",
        "a rebuilt board that lacks what was parked",
        (
            Edit(
                "services.parked:ParkedCare._moves",
                {"in self._written(named.board):": "in self._written(named.board)[:1]:"},
            ),
        ),
        written="parked_beside_a_rebuild",
    ),
    Safeguard(
        "a parked record that is too old is left",
        "an item that is gone, placed above what has come back since",
        (Edit("services.parked:ParkedCare._problem", {"named.made is not None": "False"}),),
        unneeded="A replay takes from a record only whom to place. Whether the item is there or gone, it is "
        "placed as it is now, and a row takes nothing older. Its age could be ignored.",
    ),
)

_BOARDS: Final = (
    Safeguard(
        "projectors write both generations",
        "changes beside a rebuild that it does not see",
        (Edit("services.projector:_Batch._parts", {"written[key[0]]": "written[key[0]][:1]"}),),
    ),
    Safeguard(
        "a rebuild waits before it places",
        "projectors that know just the old generation",
        (Edit("services.rebuild:_Run._wait", {"not in _WAITING": "not in _WAITING - {ANNOUNCED}"}),),
        written="projected_by_who_knows_the_old",
    ),
    Safeguard(
        "a rebuild places every member",
        "members that do not change meanwhile",
        (
            Edit(
                "services.rebuild:_Run._step",
                {"self._through_members(record, self._place, self._switch)": "self._save(record, self._switch)"},
            ),
        ),
    ),
    Safeguard(
        "a member is placed with its item's version",
        "the scan, over what a projector has brought meanwhile",
        (Edit("services.placing:placings", {"image.version, image.stamp": "image.version + 1, image.stamp"}),),
    ),
    Safeguard(
        "a rebuild waits before it retires the old generation",
        "readers that know just the old one",
        (Edit("services.rebuild:_Run._wait", {"not in _WAITING": "not in _WAITING - {SWITCHED}"}),),
        written="read_by_who_knows_the_old",
    ),
    Safeguard(
        "a rebuild waits before it purges",
        "projectors that still write what is purged",
        (Edit("services.rebuild:_Run._wait", {"not in _WAITING": "not in _WAITING - {RETIRED}"}),),
        written="written_by_who_knows_the_old",
    ),
    Safeguard(
        "a deletion waits before it removes members",
        "writers that do not know that the board is going",
        (Edit("services.rebuild:_Run._wait", {"not in _WAITING": "not in _WAITING - {LEAVING}"}),),
        written="counted_while_a_board_goes",
    ),
    Safeguard(
        "an event on a board that is being deleted is seen",
        "a board that has members and is on no list",
        (Edit("services.registry:Registry._registered", {"return replace(record, again=True)": "return record"}),),
        written="counted_while_a_board_goes",
    ),
    Safeguard(
        "what is known of boards is asked again after a minute",
        "projectors that write what is no longer read",
        (
            Edit(
                "services.ttl_cache:TtlCache._fresh",
                {"if by_monotonic and by_wall": "if True or (by_monotonic and by_wall)"},
            ),
        ),
    ),
    Safeguard(
        "a board's record is written on condition of its version",
        "two that change it, of whom one is forgotten",
        (
            Edit(
                "dynamodb.boards:DynamoBoards.put",
                {'"attribute_not_exists(pk)"': '"attribute_not_exists(nothing)"', '"v = :v"': f'"{_ALWAYS_V}"'},
            ),
        ),
        written="two_at_one_record",
    ),
    Safeguard(
        "what another definition leaves out is no longer whole",
        "a ranking that lacks what came in beside it",
        (Edit("services.registry:Registry._settled", {"record = _within(family, record)": "pass"}),),
        written="definitions_0",
    ),
    Safeguard(
        "a period is whole from its first complete bucket on",
        "one whose activity was kept only in part",
        (Edit("domain.coverage:Coverage.renewed", {"self._first(metric, unit, since)": "None"}),),
        written="definitions_0",
    ),
    Safeguard(
        "the limits of before hold until a rebuild",
        "periods that were closed, and are read again",
        (
            Edit(
                "domain.coverage:Coverage._limited",
                {"return timetable.limited(": "return timetable or timetable.limited("},
            ),
        ),
        written="definitions_7",
    ),
)

SAFEGUARDS: Final = (*_WRITING, *_MOVING, *_CLEANING, *_REPLAYING, *_BOARDS)


NAME: Final = "safeguards"
PAGE: Final = "docs/safeguards.md"
COMMAND: Final = "make safeguards"
MOST: Final = {"full": 30, "small": 1}
"""Schedules that are tried until one notices."""
LEAST: Final = 20
"""Schedules that are tried at least."""


@dataclass
class Found:
    """How many schedules, from seed 0 on, were tried without a safeguard, and the first of how many to notice."""

    tried: int = 0
    noticed: int = 0
    first: int | None = None

    def search(self, safeguard: Safeguard, most: int) -> None:
        """Go on until enough is known."""
        with safeguard.removed(), uncollected():
            while self.tried < (most if self.first is None else min(LEAST, most)):
                if run(self.tried).differences:
                    self.noticed += 1
                    self.first = self.tried if self.first is None else self.first
                self.tried += 1


def read(out: Output) -> dict[str, Found]:
    """What was found, by the name of the safeguard."""
    return {name: Found(**each) for name, each in out.result(NAME).items()}


def write(found: Mapping[str, Found], out: Output) -> None:
    """Keep what was found, and put it in the page."""
    out.keep(NAME, {each.name: asdict(found[each.name]) for each in SAFEGUARDS if each.name in found})
    out.table(PAGE, "noticed", COMMAND, noticed(found))
    out.table(PAGE, "unneeded", COMMAND, unneeded(found))


def noticed(found: Mapping[str, Found]) -> Iterator[str]:
    """The table of what is noticed, and by what."""
    yield "| safeguard | without it | noticed by schedule | schedules that notice it | written for it | where |"
    yield "|---|---|---|---|---|---|"
    for each in SAFEGUARDS:
        if not each.unneeded:
            one = found.get(each.name, Found())
            first = "–" if one.first is None else one.first + 1
            schedule = f"`{each.written}`" if each.written else ""
            ways = ", ".join(f"`{edit.where}`" for edit in each.edits)
            yield (f"| {each.name} | {each.without} | {first} | {one.noticed} of {one.tried} | {schedule} | {ways} |")


def unneeded(found: Mapping[str, Found]) -> Iterator[str]:
    """The table of what nothing notices, and why."""
    yield "| rule | why all is right without it | schedules that were right | where |"
    yield "|---|---|---|---|"
    for each in SAFEGUARDS:
        if each.unneeded:
            ways = ", ".join(f"`{edit.where}`" for edit in each.edits)
            one = found.get(each.name, Found())
            yield f"| {each.name} | {each.unneeded} | {one.tried - one.noticed} of {one.tried} | {ways} |"


def _searched(safeguard: str, most: int) -> Found:
    found = Found()
    found.search(next(each for each in SAFEGUARDS if each.name == safeguard), most)
    return found


def main() -> None:
    """Search for all safeguards, or for those named."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--most", type=int, help="schedules that are tried until one notices (30)")
    parser.add_argument("--size", choices=SIZES, default=SIZES[0], help="small writes below .local/bench only")
    given = parser.parse_args()
    out = Output(small=given.size == "small")
    most = given.most or MOST[given.size]
    found = read(out) if given.names else {}
    with ProcessPoolExecutor() as pool:
        searches = {
            pool.submit(_searched, each.name, most): each.name
            for each in SAFEGUARDS
            if not given.names or each.name in given.names
        }
        for search in as_completed(searches):
            found[searches[search]] = search.result()
            print(searches[search], search.result(), flush=True)
    write(found, out)


if __name__ == "__main__":
    main()
