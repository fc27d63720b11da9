"""Safeguards of the projector: changes of members' items become moves in rankings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from standings.domain.windows.calendar import DAY
from standings.ports.errors import CancelReason

from .replacing import Change, Safeguard, becomes, returns

if TYPE_CHECKING:
    from collections.abc import Callable

    from standings.domain.members.moves import Move
    from standings.domain.scoring.sort_order import Place

_BELIEVED: Final[dict[int, tuple[Move, Place | None]]] = {}
"""Where moves began by the images, when a row has said otherwise since."""


def _remembers_images(original: Callable[..., Any]) -> Callable[..., Any]:
    def believe(move: Move, row: Any) -> None:
        _BELIEVED.setdefault(id(move), (move, move.old))
        original(move, row)

    return believe


def _counts_by_images(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda move: original(replace(move, old=_BELIEVED.get(id(move), (move, move.old))[1]))


def _entries_first(original: Callable[..., Any]) -> Callable[..., Any]:
    def write(self: Any, entries: Any, counters: Any) -> Any:
        return original(self, entries, []) or [
            one._replace(position=one.position + len(entries)) for one in (counters and original(self, [], counters))
        ]

    return write


def _there_and_back_left_out(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given: [move for move in original(*given) if move.old != move.new or move.old is None]


def _in_and_out_left_out(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given: [move for move in original(*given) if move.old is not None or move.new is not None]


def _equals_done(original: Callable[..., Any]) -> Callable[..., Any]:
    def resolve(chunk: Any, obstacles: Any, outcome: Any) -> list[Move]:
        left: list[Move] = original(chunk, obstacles, outcome)
        otherwise = [
            id(chunk[each.position])
            for each in obstacles
            if each.position is not None and each.reason is CancelReason.CONDITION
        ]
        equal = [id(move) for move in left if id(move) in otherwise and move.old == move.new]
        outcome.done += [move for move in left if id(move) in equal]
        return [move for move in left if id(move) not in equal]

    return resolve


def _goes_on(original: Callable[..., Any]) -> Callable[..., Any]:
    def project(self: Any, found: Any) -> Any:
        outcome = original(self, found)
        self._failed = False
        return outcome

    return project


def _last_record_named(original: Callable[..., Any]) -> Callable[..., Any]:
    def unfinished(self: Any) -> Any:
        self._positions = {key: positions[::-1] for key, positions in self._positions.items()}
        return original(self)

    return unfinished


def _highest(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self: set(sorted(original(self))[-1:])


def _row_deleted(original: Callable[..., Any]) -> Callable[..., Any]:
    def entry_action(table: str, ranking: Any, move: Move, expiry: int | None) -> Any:
        action = original(table, ranking, move, expiry)
        if move.new is not None:
            return action
        request = {name: value for name, value in action["Put"].items() if name != "Item"}
        return {"Delete": {**request, "Key": {"pk": action["Put"]["Item"]["pk"]}}}

    return entry_action


def _unknown_dropped(original: Callable[..., Any]) -> Callable[..., Any]:
    def park(self: Any, position: int, reason: str) -> None:
        change = self._records[position].change
        if change is None or self._projector.registry.boards.family(change.new.board) is not None:
            original(self, position, reason)

    return park


def _shards_unnamed(original: Callable[..., Any]) -> Callable[..., Any]:
    def commit(self: Any, ranking: Any, moves: Any) -> Any:
        self._named.put((ranking.key, ranking.metric.shards), value=True)
        return original(self, ranking, moves)

    return commit


PROJECTING: Final = (
    Safeguard(
        "a row takes only what is newer than itself",
        "an older record, done late",
        (Change("aws.dynamodb.rankings.ranking_actions:_OLDER", becomes("(v < :v OR v >= :v)")),),
        written="late_on_newer",
    ),
    Safeguard(
        "a row is moved from where it was counted",
        "counters that are off, when a record is missing or half done",
        (
            Change("aws.dynamodb.rankings.ranking_actions:_UNRANKED", becomes("attribute_not_exists(nothing)")),
            Change("aws.dynamodb.rankings.ranking_actions:_RANKED_THERE", becomes("(s = :s OR s <> :s)")),
        ),
    ),
    Safeguard(
        "counters are in the transaction of the entries",
        "a crash between the two: counters that are off for ever",
        (Change("aws.dynamodb.rankings.rankings:DynamoRankings._write", _entries_first),),
    ),
    Safeguard(
        "counters move from where the row says",
        "the same as above, after a gap",
        (
            Change("project.commit_moves:_believe", _remembers_images),
            Change("aws.dynamodb.rankings.ranking_actions:_counted", _counts_by_images),
        ),
    ),
    Safeguard(
        "there and back is a move (10, 12, 10)",
        "the record from in between, done late on a row that looks older",
        (Change("domain.members.moves:moves", _there_and_back_left_out),),
        written="late_on_newer",
    ),
    Safeguard(
        "in and out again is a move (none, 10, none)",
        "the same, with a member that was not ranked",
        (Change("domain.members.moves:moves", _in_and_out_left_out),),
        written="in_and_out_in_a_batch",
    ),
    Safeguard(
        "a gap takes the new version where scores are equal",
        "a record from in between, done after it",
        (Change("project.commit_moves:_resolve", _equals_done),),
        written="equal_after_a_gap",
    ),
    Safeguard(
        "a batch stops at its first failure",
        "a batch that goes on in vain",
        (Change("project.projector:_Batch._project", _goes_on),),
        unneeded="Every move is counted by itself and the lowest unfinished record is named, whatever else was "
        "done. It saves transactions that nobody waits for: a matter of speed.",
    ),
    Safeguard(
        "the lowest unfinished record is named",
        "records that are taken for done",
        (Change("project.projector:_Batch._unfinished_positions", _highest),),
        written="nothing_done",
    ),
    Safeguard(
        "an unfinished member is named by its first record",
        "the first of its records, taken for done",
        (Change("project.projector:_Batch._unfinished_positions", _last_record_named),),
        written="nothing_done_of_two_days",
    ),
    Safeguard(
        "whoever leaves a ranking leaves a row",
        "an older record, which brings it back",
        (Change("aws.dynamodb.rankings.ranking_actions:entry_action", _row_deleted),),
        written="hidden_and_late",
    ),
    Safeguard(
        "such a row stays for 60 days",
        "the same, days later",
        (Change("aws.dynamodb.rankings.ranking_actions:ROW_LIFETIME", becomes(DAY)),),
        unneeded="Records of the stream live for 24 hours, and replays go by the item as it is. Three days would "
        "do; 60 cost next to nothing, and hold should a record ever come later.",
    ),
    Safeguard(
        "a record of an unknown board is parked",
        "events of a new board, while functions of the older definition are at work",
        (Change("project.projector:_Batch._park", _unknown_dropped),),
    ),
    Safeguard(
        "shards are named by the root before an entry is in one",
        "entries that no reader knows of",
        (Change("aws.dynamodb.rankings.rankings:DynamoRankings.commit", _shards_unnamed),),
        written="shards_of_another_definition",
    ),
    Safeguard(
        "lanes are named by the root before one is used",
        "counters that no reader knows of",
        (Change("aws.dynamodb.rankings.rankings:DynamoRankings._name_lanes", returns([])),),
    ),
)
