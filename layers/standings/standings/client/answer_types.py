"""The answers of the API. `make openapi` writes this file."""

from typing import Any, Literal, NotRequired, TypedDict


class Period(TypedDict):
    """A span of time from `starts` to `ends`, which is excluded, in the board's time zone.

    All fields are null for `all`, and of a season before the first one. `start` and `end` are `starts` and `ends` as
    0.3 named them.
    """

    name: str | None
    starts: str | None
    ends: str | None
    start: str | None
    end: str | None
    previous: str | None
    next: str | None


class RankingAnswer(TypedDict):
    """What every answer about a ranking has."""

    board: str
    metric: str
    window: str
    period: Period
    state: Literal["open", "closing", "final"]
    final_at: str | None
    order: Literal["descending", "ascending"]
    method: Literal["competition", "ordinal", "dense"]
    total: int
    as_of: str | None


class EventResult(TypedDict):
    """The result of an event."""

    id: str | None
    status: Literal["queued", "refused", "unconfirmed", "known", "new", "counted"]
    detail: str | None


class WindowScore(TypedDict):
    """A member's score in the current period of a window.

    With `ranks=true` also its rank, percentile and total, null if it is not ranked.
    """

    window: str
    period: Period
    score: float | None
    tie_breaks: NotRequired[dict[str, float | None] | None]
    note: NotRequired[dict[str, Any] | None]
    rank: NotRequired[int | None]
    percentile: NotRequired[float | None]
    total: NotRequired[int | None]


class MetricScore(TypedDict):
    """A member's score in a metric, and in each window in which the metric is ranked."""

    metric: str
    score: float | None
    note: NotRequired[dict[str, Any] | None]
    windows: list[WindowScore]


class Profile(TypedDict):
    """What people see of a member; null for what is not known."""

    name: str | None
    picture: str | None
    country: str | None
    data: dict[str, Any] | None


class MemberState(TypedDict):
    """A member as it is now."""

    board: str
    member: str
    hidden: bool


class MemberScores(MemberState):
    """A member's scores in all metrics and windows."""

    metrics: list[MetricScore]
    profile: NotRequired[Profile | None]


class FollowedEvent(TypedDict):
    """An event that counts, and its members' scores with the ranks that follow, in the order of its updates."""

    results: list[EventResult]
    members: list[MemberScores]


class CorrectedBy(TypedDict):
    """When the event was last corrected or taken back, and by the event with which id."""

    at: str
    by: str


class EventStatus(TypedDict):
    """What became of an event."""

    id: str
    status: Literal["counted", "refused"]
    reason: NotRequired[str]
    at: str
    superseded: NotRequired[bool]
    corrected: NotRequired[CorrectedBy]
    retracted: NotRequired[CorrectedBy]
    corrects: NotRequired[str]


class FoundMember(TypedDict):
    """A member that a search found, and its profile."""

    member: str
    profile: Profile


class FoundMembers(TypedDict):
    """Members whose names begin like the name asked for. `complete` says that there are no others."""

    members: list[FoundMember]
    complete: bool


class MemberBoard(TypedDict):
    """A board that a member is in. With `ranks=true` also its scores in each metric that is ranked in the window."""

    board: str
    hidden: bool
    metrics: NotRequired[list[MetricScore]]


class MemberBoards(TypedDict):
    """The boards that a member is in, by name."""

    member: str
    boards: list[MemberBoard]
    next: str | None


class ListedBoard(TypedDict):
    """A board in a list."""

    board: str


class BoardList(TypedDict):
    """Boards, by name."""

    boards: list[ListedBoard]
    next: str | None


class Season(TypedDict):
    """A season, from the first day to the first that no longer belongs to it, in the board's time zone."""

    name: str
    starts: str
    ends: str


class Prize(TypedDict):
    """A prize of each period of a window: for `ranks`, or for the first `percent` of the members, rounded up."""

    name: str
    method: Literal["competition", "ordinal"]
    ranks: NotRequired[str]
    percent: NotRequired[int]


class WindowDefinition(TypedDict):
    """A window in which a metric is ranked, and its current period."""

    window: str
    period: Period
    prizes: NotRequired[list[Prize]]


MetricDefinition = TypedDict(
    "MetricDefinition",
    {
        "metric": str,
        "aggregate": Literal["sum", "max", "min", "last"],
        "precision": int,
        "order": Literal["descending", "ascending"],
        "ties": Literal["member", "first"],
        "least": float | None,
        "most": float | None,
        "notes": bool,
        "ranked_from": NotRequired[float],
        "unit": NotRequired[str],
        "with": NotRequired[str],
        "tie_breaks": NotRequired[list[str]],
        "windows": list[WindowDefinition],
    },
)
"""A metric's definition, and the windows in which it is ranked. Without windows it is stored but not ranked."""


class BoardDefinition(TypedDict):
    """A board's definition in `boards.toml`."""

    board: str
    family: str
    timezone: str
    week_start: Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
    members: Literal["open", "registered"]
    late: str
    keep: str
    shards: int
    seasons: NotRequired[list[Season]]
    settle: NotRequired[list[str]]
    expires: NotRequired[str | None]
    expires_at: NotRequired[str | None]
    metrics: list[MetricDefinition]


class BoardDeletion(TypedDict):
    """A board whose deletion has begun."""

    board: str
    status: Literal["deleting"]


class Entry(TypedDict):
    """A member's entry in a ranking."""

    rank: int
    member: str
    score: float
    tie_breaks: NotRequired[dict[str, float | None] | None]
    note: NotRequired[dict[str, Any] | None]
    profile: NotRequired[Profile | None]


class Me(Entry):
    """With `me`: the rank of that member, and the entry just before it in the list (null for the first)."""

    percentile: float
    ahead: Entry | None


class Page(RankingAnswer):
    """A page of a ranking."""

    entries: list[Entry]
    next: str | None
    previous: str | None
    me: NotRequired[Me | None]


class MemberRank(RankingAnswer, Entry):
    """A member's rank."""

    percentile: float
    previous_rank: NotRequired[int | None]


class ScoreRank(RankingAnswer):
    """The rank that a score would have.

    `rank` depends on the method: `competition` 1 + `above`; `dense` 1 + the different scores above; `ordinal` 1 +
    `above` + `at`, because a new member comes behind its equals.
    """

    score: float
    rank: int
    tie_breaks: NotRequired[dict[str, float | None] | None]
    above: int
    at: int
    below: int


class HistoryPeriod(TypedDict):
    """A period of a member's history: its rank and score, null where it was not ranked, and how many members were."""

    period: Period
    rank: int | None
    score: float | None
    tie_breaks: NotRequired[dict[str, float | None] | None]
    total: int


class History(RankingAnswer):
    """A member's rank in several periods of a window."""

    member: str
    periods: list[HistoryPeriod]


class GroupEntry(TypedDict):
    """A member of the group. If it is not ranked, each number is null."""

    member: str
    rank: int | None
    score: float | None
    tie_breaks: NotRequired[dict[str, float | None] | None]
    percentile: float | None
    group_rank: int | None
    previous_rank: NotRequired[int | None]
    note: NotRequired[dict[str, Any] | None]
    profile: NotRequired[Profile | None]


class GroupRanks(RankingAnswer):
    """The ranks of a group's members, in the order of the request."""

    entries: list[GroupEntry]


class PercentileScore(RankingAnswer):
    """The score at a percentile."""

    p: float
    score: float | None
    tie_breaks: NotRequired[dict[str, float | None] | None]


Bucket = TypedDict("Bucket", {"from": float, "to": float, "members": int})
"""Members with a score from `from` to `to`, both included."""


class Distribution(RankingAnswer):
    """The number of members by score."""

    buckets: list[Bucket]


class About(TypedDict):
    """About a stack."""

    time_zones: str
