"""The schemas of bodies and answers, by name. A text in place of a schema is the name of one."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, get_args

from standings.calls import CALLS
from standings.domain.boards import MAX_MEMBER_BYTES, MAX_UNITS, AggregateFunction, Members, Order, PrizeMethod, Ties
from standings.domain.boards_toml import MAX_DECIMALS, MAX_METRICS, MAX_TIE_BREAKS, METRIC_NAME
from standings.domain.events import MAX_BOARDS, MAX_ID_LENGTH, MAX_UPDATES
from standings.domain.profiles import MAX_NAME_LENGTH, MAX_PICTURE_LENGTH
from standings.domain.windows import WEEKDAYS, State
from standings.following import MAX_PAIRS
from standings.ingest import MAX_EVENTS
from standings.read.member_ranks import MAX_MEMBERS
from standings.read.session import METHODS

Schema = dict[str, Any]


Bounds = tuple[int | None, int | None]
"""The least and the most, both included: of a number, of a text's characters, of a list's or an object's members."""


def text(says: str = "", bounds: Bounds = (None, None), **rules: Any) -> Schema:
    """A text. Here and below, `null=True` allows null too."""
    return _typed("string", says, bounds, **rules)


def whole(says: str = "", bounds: Bounds = (None, None), **rules: Any) -> Schema:
    """A whole number."""
    return _typed("integer", says, bounds, **rules)


def number(says: str = "", bounds: Bounds = (None, None), **rules: Any) -> Schema:
    """Any number."""
    return _typed("number", says, bounds, **rules)


def flag(says: str = "") -> Schema:
    """True or false."""
    return _typed("boolean", says)


def choice(values: Iterable[str], says: str = "") -> Schema:
    """One of some texts."""
    return _typed("string", says, enum=[*values])


def listed(of: str | Schema, bounds: Bounds = (None, None), says: str = "", **rules: Any) -> Schema:
    """A list of values of one schema."""
    return _typed("array", says, bounds, items=schema_of(of), **rules)


def either(*schemas: str | Schema, says: str = "") -> Schema:
    """A value of exactly one of some schemas."""
    return {**_said(says), "oneOf": [schema_of(one) for one in schemas]}


def record(says: str, fields: Mapping[str, str | Schema], *, closed: bool = True, **rules: Any) -> Schema:
    """An object. A `?` after a field's name: not every object has it. `closed`: there are no other fields."""
    # Where an object does not say what it may have, openapi-typescript takes it for one without content.
    properties = {name.removesuffix("?"): schema_of(schema) for name, schema in fields.items()}
    required = [name for name in fields if not name.endswith("?")]
    if required:
        rules["required"] = required
    if closed:
        rules["additionalProperties"] = False
    return _typed("object", says, **rules, properties=properties)


def named(names: str) -> dict[str, str | Schema]:
    """Fields that are called as their schemas are: `final_at` has the schema `FinalAt`."""
    return {name: name.removesuffix("?").title().replace("_", "") for name in names.split()}


def anything(says: str = "", bounds: Bounds = (None, None), **rules: Any) -> Schema:
    """An object with any fields."""
    return {**_typed("object", says, bounds, additionalProperties=True), **rules}


def schema_of(schema: str | Schema) -> Schema:
    """A schema, or a reference to the one with that name."""
    return {"$ref": f"#/components/schemas/{schema}"} if isinstance(schema, str) else schema


def _typed(kind: str, says: str, bounds: Bounds = (None, None), *, null: bool = False, **rules: Any) -> Schema:
    of = {"string": "Length", "array": "Items", "object": "Properties"}.get(kind, "imum")
    limits = {f"{end}{of}": bound for end, bound in zip(("min", "max"), bounds, strict=True) if bound is not None}
    return {**_said(says), "type": [kind, "null"] if null else kind, **limits, **rules}


def _said(says: str) -> Schema:
    return {"description": says} if says else {}


def _problem(says: str, status: int, kinds: str) -> Schema:
    """A problem document (RFC 9457) of one of some kinds, with spaces between."""
    types = [f"urn:standings:{kind}" for kind in kinds.split()]
    names = kinds.upper().replace("-", "_").split()
    kind = {**choice(types), "x-enum-varnames": names} if len(types) > 1 else {"const": types[0]}
    said = text("", (1, None))
    return record(says, {"type": kind, "title": said, "status": {"const": status}, "detail": said})


def _most(call: str, argument: str) -> Bounds:
    """The bounds of a list that an argument limits."""
    return None, CALLS[call].arguments[argument].most


NULL: Final[Schema] = {"type": "null"}
_UNITS: Final = (-MAX_UNITS, MAX_UNITS)
_SHARE: Final = (0, 100)
_SPAN: Final = "^[0-9]+ [a-z]+$"
_CURSOR: Final = "^[A-Za-z0-9_-]+$"
_SEASON: Final = "^[a-z][a-z0-9-]{0,31}$"
PERIOD: Final = "^([0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2})?)?|[a-z][a-z0-9-]{0,31})$"
ASKED_PERIOD: Final = f"^([0-9]{{4}}(-W?[0-9]{{2}})?|{PERIOD[2:]}"
"""A period in a request: a week, a month and a year have names of their own there."""
_METRIC: Final = f"^{METRIC_NAME.pattern}$"
_RANK: Final = whole("", (1, None), null=True)
_SCORE: Final = number("", _UNITS, null=True)
_PERCENTILE: Final = number("", _SHARE, null=True)
_COUNT: Final = whole("", (0, None))
_WINDOWS: Final = "all|hour|day|week|month|year|season|last-([1-9]|[1-8][0-9]|90)-(hours|days)"

# What every answer of a ranking has, and what a member has in one.
HEAD: Final = named("board metric window period state final_at order method total as_of")
_SHOWN: Final = {"note?": "ShownNote", "profile?": "ShownProfile"}
_TIES: Final[Mapping[str, str | Schema]] = {"tie_breaks?": "TieBreaks"}
_RANKED: Final = {**named("member rank score"), **_TIES, "percentile": "MemberPercentile"}
_PROFILE: Final[Mapping[str, Schema]] = {
    "name": text(
        "1 to 64 characters (after NFC and trimming), without control and bidirectional-override characters, and not "
        "beginning with a combining mark.",
        (1, MAX_NAME_LENGTH),
        null=True,
        pattern=r"^[^\u0000-\u001F\u007F-\u009F\u2028\u2029\u202A-\u202E\u2066-\u2069]*$",
    ),
    "picture": text(
        "An `https` address of at most 512 characters, without a user.",
        (None, MAX_PICTURE_LENGTH),
        null=True,
        pattern=r"^https://[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?"
        r"([/?#][A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]*)?$",
    ),
    "country": text("Two capital letters.", null=True, pattern="^[A-Z]{2}$"),
    "data": either("ProfileData", NULL),
}
_TOGETHER: Final = ("rank", "percentile", "total")
_EVENT: Final = {"id": "EventId", "at?": "EventTime", "correct?": "OtherEventId"}
_UPDATE: Final = {"board": "EventBoards", "member": "Member", "metrics": "Amounts", "set?": "Set", "note?": "Note"}

SCHEMAS: Final[Mapping[str, Schema]] = {
    # Names, numbers and times.
    "Board": text(
        "The name of a board: 1 to 128 of `A-Z a-z 0-9 . _ : -`, not `.` or `..`.",
        (1, 128),
        pattern=r"^(\.{0,2}[A-Za-z0-9_:-][A-Za-z0-9._:-]*|\.{3}[A-Za-z0-9._:-]*)$",
    ),
    "Member": text(
        "A member's id: 1 to 256 bytes of UTF-8, any Unicode, such as `images/1.jpg`, `clan#7` or `用户`.",
        (1, MAX_MEMBER_BYTES),
    ),
    "Metric": text("The name of a metric.", pattern=_METRIC),
    "Window": text("The name of a window of time.", pattern=f"^({_WINDOWS})$"),
    "Method": choice(METHODS, "How equal scores share ranks."),
    "Order": choice(get_args(Order), "Whether the highest score leads (`descending`) or the lowest (`ascending`)."),
    "Score": number(
        "A score: at most as many decimals as the metric keeps, within ±(2^53 − 1) of its smallest units.", _UNITS
    ),
    "Percentile": number("100 × the members at or behind ÷ all ranked members.", _SHARE),
    "MemberPercentile": number(
        "100 × the members at or behind this one ÷ all ranked members, rounded down to two decimals: 100 only for the "
        "members of the first score, and 0 below a hundredth.",
        _SHARE,
    ),
    "Rank": whole("1 is the best.", (1, None)),
    "PreviousRank": whole(
        "With `previous=true`: the rank in the period before; null for `all`, and if the member was not ranked then.",
        (1, None),
        null=True,
    ),
    "Total": whole("The number of ranked members.", (0, None)),
    "Cursor": text(
        "Pass it as `cursor` to read on; null at the end of the list.", (1, None), null=True, pattern=_CURSOR
    ),
    "AsOf": text(
        "The time of the latest event that the answer is known to contain; null if there is none.",
        null=True,
        format="date-time",
    ),
    "State": {
        "description": "`open`: the period is running. `closing`: it has ended and still takes late events. `final`: "
        "no event can change its scores any more. `all` and rolling windows are always `open`.",
        "enum": [*get_args(State)],
    },
    "FinalAt": text(
        "The time from which the period is final: its end, the time for late events and five minutes; null if it is "
        "always open.",
        null=True,
        format="date-time",
    ),
    "Period": record(
        "A span of time from `starts` to `ends`, which is excluded, in the board's time zone. All fields are null for "
        "`all`, and of a season before the first one. `start` and `end` are `starts` and `ends` as 0.3 named them.",
        {
            "name": text(
                "What `period` in a request takes: the first day or the hour, of rolling windows the last one, or a "
                "season's name. An hour has its offset where the clocks show it twice.",
                null=True,
                pattern=PERIOD,
            ),
            "starts": text(null=True, format="date-time"),
            "ends": text(null=True, format="date-time"),
            "start": text(null=True, format="date-time"),
            "end": text(null=True, format="date-time"),
            "previous": text(
                "The name of the period before; of rolling windows, of the one that ended an hour or a day earlier. "
                "Null where it cannot be read.",
                null=True,
                pattern=PERIOD,
            ),
            "next": text("The name of the period after; null where it has not begun.", null=True, pattern=PERIOD),
        },
    ),
    # Rankings.
    "Page": record(
        "A page of a ranking.",
        {
            **HEAD,
            "entries": listed("Entry", _most("listRanking", "limit")),
            "next": "Cursor",
            "previous": "Cursor",
            "me?": either("Me", NULL, says="Only with `me`; null if the member is not ranked in this period."),
        },
    ),
    "Me": record(
        "With `me`: the rank of that member, and the entry just before it in the list (null for the first).",
        {**_RANKED, **_SHOWN, "ahead": either("Entry", NULL)},
    ),
    "Entry": record("A member's entry in a ranking.", {**named("rank member score"), **_TIES, **_SHOWN}),
    "TieBreaks": {
        **_typed(
            "object", "The number of each tie-break by metric, null where the member has none; null without a score."
        ),
        "type": ["object", "null"],
        "additionalProperties": number("", _UNITS, null=True),
    },
    "MemberRank": record("A member's rank.", {**HEAD, **_RANKED, **named("previous_rank?"), **_SHOWN}),
    "ScoreRank": record(
        "The rank that a score would have. `rank` depends on the method: `competition` 1 + `above`; `dense` 1 + the "
        "different scores above; `ordinal` 1 + `above` + `at`, because a new member comes behind its equals.",
        {
            **HEAD,
            **named("score rank"),
            **_TIES,
            "above": whole("Members ranked ahead of it.", (0, None)),
            "at": whole("Members with this score.", (0, None)),
            "below": whole("Members ranked behind it.", (0, None)),
        },
    ),
    "History": record(
        "A member's rank in several periods of a window.",
        {**HEAD, "member": "Member", "periods": listed("HistoryPeriod", (1, _most("getHistory", "periods")[1]))},
    ),
    "HistoryPeriod": record(
        "A period of a member's history: its rank and score, null where it was not ranked, and how many members were.",
        {"period": "Period", "rank": _RANK, "score": _SCORE, **_TIES, "total": "Total"},
    ),
    "Group": record(
        "Members to rank together. One that is named twice is answered twice, and counts once in the group.",
        {"members": listed("Member", (1, MAX_MEMBERS))},
    ),
    "GroupRanks": record(
        "The ranks of a group's members, in the order of the request.",
        {**HEAD, "entries": listed("GroupEntry", (1, MAX_MEMBERS))},
    ),
    "GroupEntry": record(
        "A member of the group. If it is not ranked, each number is null.",
        {
            "member": "Member",
            "rank": _RANK,
            "score": _SCORE,
            **_TIES,
            "percentile": _PERCENTILE,
            "group_rank": whole(
                "The rank among the ranked members of the group, by the same method.", (1, MAX_MEMBERS), null=True
            ),
            "previous_rank?": "PreviousRank",
            **_SHOWN,
        },
    ),
    "PercentileScore": record(
        "The score at a percentile.",
        {**HEAD, "p": "Percentile", "score": number("Null if no member is ranked.", _UNITS, null=True), **_TIES},
    ),
    "Distribution": record(
        "The number of members by score.", {**HEAD, "buckets": listed("Bucket", _most("getDistribution", "buckets"))}
    ),
    "Bucket": record(
        "Members with a score from `from` to `to`, both included.",
        {"from": number(), "to": number(), "members": _COUNT},
    ),
    # The stack and its boards.
    "About": record(
        "About a stack.",
        {
            "time_zones": text(
                "The version of the IANA time zone database, such as `2026f`.", pattern="^[0-9]{4}[a-z]+$"
            )
        },
    ),
    "BoardList": record(
        "Boards, by name.", {"boards": listed("ListedBoard", _most("listBoards", "limit")), "next": "Cursor"}
    ),
    "ListedBoard": record("A board in a list.", named("board")),
    "BoardDeletion": record("A board whose deletion has begun.", {"board": "Board", "status": choice(("deleting",))}),
    "BoardDefinition": record(
        "A board's definition in `boards.toml`.",
        {
            "board": "Board",
            "family": text("The pattern that the board's name matches.", (1, None)),
            "timezone": text("The time zone in which days begin, from the IANA database.", (1, None)),
            "week_start": choice(WEEKDAYS),
            "members": choice(
                get_args(Members),
                "`open`: the first event creates a member. `registered`: a member must be registered first.",
            ),
            "late": text("How long after a period has ended its events still count in it.", pattern=_SPAN),
            "keep": text("How long an ended calendar period can be read.", pattern=_SPAN),
            "shards": whole("", (1, None)),
            "seasons?": listed(
                "Season", (1, None), "The seasons, by start. Only boards that have some have this field."
            ),
            "settle?": listed(
                "Window", (1, None), "The windows that are settled. Only boards that settle some have this field."
            ),
            "expires?": text(
                "How long boards of this family last; null if they no longer end.", pattern=_SPAN, null=True
            ),
            "expires_at?": text(
                "When this board ends; null before its first event. Only boards that end have this field.",
                format="date-time",
                null=True,
            ),
            "metrics": listed("MetricDefinition"),
        },
    ),
    "Season": record(
        "A season, from the first day to the first that no longer belongs to it, in the board's time zone.",
        {"name": text(pattern=_SEASON), "starts": text(format="date"), "ends": text(format="date")},
    ),
    "MetricDefinition": record(
        "A metric's definition, and the windows in which it is ranked. Without windows it is stored but not ranked.",
        {
            "metric": "Metric",
            "aggregate": choice(get_args(AggregateFunction)),
            "precision": whole("The decimals that are kept.", (0, MAX_DECIMALS)),
            "order": "Order",
            "ties": choice(
                get_args(Ties), "The order of equal scores: by id (`member`), or by who reached the score `first`."
            ),
            "least": number("The least amount of an event; null if there is no such limit.", null=True),
            "most": number("The most; null if there is no such limit.", null=True),
            "notes": flag("Whether a score keeps the note of the event that it came with."),
            "ranked_from?": number("Scores behind it, by `order`, are counted and not ranked."),
            "unit?": text(
                "What the numbers are: `time` for seconds, which people read as `22:05`; else a text beside them, such "
                "as `km`. Only metrics that have one have this field.",
                (1, 16),
            ),
            "with?": text("The metric with whose number it is kept: of the same event.", pattern=_METRIC),
            "tie_breaks?": listed("Metric", (1, MAX_TIE_BREAKS), "The metrics that order equal scores."),
            "windows": listed("WindowDefinition"),
        },
    ),
    "WindowDefinition": record(
        "A window in which a metric is ranked, and its current period.",
        {
            **named("window period"),
            "prizes?": listed(
                "Prize", (1, None), "The prizes of a period. Only windows that have some have this field."
            ),
        },
    ),
    "Prize": record(
        "A prize of each period of a window: for `ranks`, or for the first `percent` of the members, rounded up.",
        {
            "name": text(pattern=_SEASON),
            "method": choice(
                get_args(PrizeMethod), "By `competition` equals all win; by `ordinal` ranks are positions of the list."
            ),
            "ranks?": text("A rank or a range of ranks, such as `2-3`.", pattern="^[1-9][0-9]*(-[1-9][0-9]*)?$"),
            "percent?": whole("", (1, 100)),
        },
    ),
    # Members and profiles.
    "MemberScores": record(
        "A member's scores in all metrics and windows.",
        {
            **named("board member"),
            "hidden": flag("Whether the member is hidden from every ranking."),
            "metrics": listed("MetricScore"),
            "profile?": "ShownProfile",
        },
    ),
    "MemberBoards": record(
        "The boards that a member is in, by name.",
        {"member": "Member", "boards": listed("MemberBoard", _most("listMemberBoards", "limit")), "next": "Cursor"},
    ),
    "MemberBoard": record(
        "A board that a member is in. With `ranks=true` also its scores in each metric that is ranked in the window.",
        {
            "board": "Board",
            "hidden": flag("Whether the member is hidden from every ranking of the board."),
            "metrics?": listed("MetricScore"),
        },
    ),
    "MetricScore": record(
        "A member's score in a metric, and in each window in which the metric is ranked.",
        {
            "metric": "Metric",
            "score": number("The score over all time; null without events.", _UNITS, null=True),
            "note?": "ShownNote",
            "windows": listed("WindowScore"),
        },
    ),
    "WindowScore": record(
        "A member's score in the current period of a window. With `ranks=true` also its rank, percentile and total, "
        "null if it is not ranked.",
        {
            **named("window period"),
            "score": number("Null without events in this period.", _UNITS, null=True),
            **_TIES,
            "note?": "ShownNote",
            "rank?": _RANK,
            "percentile?": _PERCENTILE,
            "total?": whole("", (0, None), null=True),
        },
        dependentRequired={one: [other for other in _TOGETHER if other != one] for one in _TOGETHER},
    ),
    "MemberChange": record(
        "A change of a member. An empty object only registers it.",
        {"hidden?": flag("True hides the member from every ranking, false shows it again.")},
    ),
    "MemberState": record("A member as it is now.", {**named("board member"), "hidden": flag()}),
    "Profile": record("What people see of a member; null for what is not known.", _PROFILE),
    "ProfileChange": record(
        "Fields to set, and fields to remove (null).",
        {f"{name}?": schema for name, schema in _PROFILE.items()},
        bounds=(1, None),
    ),
    "ProfileData": anything("An object of at most 1 KB of JSON, replaced as a whole."),
    "ShownProfile": either("Profile", NULL, says="With `profiles=true`: the member's profile, or null."),
    "FoundMembers": record(
        "Members whose names begin like the name asked for. `complete` says that there are no others.",
        {"members": listed("FoundMember", _most("getProfile", "limit")), "complete": flag()},
    ),
    "FoundMember": record("A member that a search found, and its profile.", named("member profile")),
    # Events.
    "Events": either(
        "PlainEvent",
        "UpdatesEvent",
        "Retraction",
        listed("Event", (1, MAX_EVENTS)),
        says="One event, or a list of 1 to 100.",
    ),
    "Event": either(
        "PlainEvent",
        "UpdatesEvent",
        "Retraction",
        says="An event of one member, one of several updates, or one that takes another back. With `correct` the first "
        "two replace what another one counted. Unknown fields are rejected.",
    ),
    "PlainEvent": record("An event of one member, on one or more boards.", {**_EVENT, **_UPDATE}),
    "UpdatesEvent": record(
        "Several updates, such as a player's and a clan's. All of them count, or none. They may name up to 50 "
        "different pairs of board and member. Repeated pairs are combined by the metric's aggregate.",
        {**_EVENT, "updates": listed("Update", (1, MAX_UPDATES))},
    ),
    "Retraction": record(
        "Takes back what another event counted. Needs `standings/admin`.", {"id": "EventId", "retract": "OtherEventId"}
    ),
    "OtherEventId": text(
        "The id of an event that counted less than 30 days ago. With `correct`, the amounts replace what that event "
        "counted; without `at` it stays at its time. Only events of metrics that add up. Needs `standings/admin`.",
        (1, MAX_ID_LENGTH),
    ),
    "Update": record("An update of an event.", _UPDATE),
    "ShownNote": either(
        "Note",
        NULL,
        says="The note of the event that the score came with, as it was sent; null if that had none. Only with "
        "`notes=true`.",
    ),
    "Note": anything(
        "An object about the event, of at most 256 bytes of JSON. A metric with `notes = true` keeps it with the "
        "score that comes from this event."
    ),
    "Set": flag(
        "Whether the numbers are the new totals or bests, by default false. Of a metric that adds up, `least` and "
        "`most` then bound the change. A `max` or `min` is replaced in `all` and in the open periods that contain "
        "`at`. A `last` cannot be set. A pair of board and member may stand once in an event that sets its numbers."
    ),
    "EventId": text(
        "A unique id. An event that is posted again with the same id and content counts once; with other content it "
        "is refused.",
        (1, MAX_ID_LENGTH),
    ),
    "EventTime": text(
        "The time of the event: RFC 3339 with an offset, by default the time of the request. More than 5 minutes in "
        "the future is refused. A late event always counts in `all`. It also counts in each period that contains it, "
        "until the board's `late` after the period's end.",
        format="date-time",
    ),
    "EventBoards": either(
        "Board",
        listed("Board", (1, MAX_BOARDS), uniqueItems=True),
        says="The board, or up to 10 different boards. The event counts on all of them, or on none.",
    ),
    "Amounts": anything(
        "1 to 20 numbers by metric, which may be negative. The board must have each metric. A number has no more "
        "decimals than its metric keeps, at most 15 significant digits, and is within ±(2^53 − 1) of the metric's "
        "smallest units.",
        (1, MAX_METRICS),
        propertyNames={"pattern": _METRIC},
        additionalProperties=number("", _UNITS),
    ),
    "EventResults": record(
        "The result of each event, in the order of the request.", {"results": listed("EventResult", (1, MAX_EVENTS))}
    ),
    "FollowedEvent": record(
        "An event that counts, and its members' scores with the ranks that follow, in the order of its updates.",
        {"results": listed("EventResult", (1, 1)), "members": listed("MemberScores", (1, MAX_PAIRS))},
    ),
    "EventStatus": record(
        "What became of an event.",
        {
            "id": "EventId",
            "status": choice(("counted", "refused")),
            "reason?": text("Why it was refused: the first 450 bytes. Not for a token without `standings/admin`."),
            "at": text("When it was counted or refused.", format="date-time"),
            "superseded?": flag(
                "True if a number that it sets was older than one that had counted, which stays in `all`."
            ),
            "corrected?": "CorrectedBy",
            "retracted?": "CorrectedBy",
            "corrects?": text("Of a correction or retraction: the event that it changed."),
        },
    ),
    "CorrectedBy": record(
        "When the event was last corrected or taken back, and by the event with which id.",
        {"at": text(format="date-time"), "by": "EventId"},
    ),
    "EventResult": record(
        "The result of an event.",
        {
            "id": text("The event's id; null if it has none, or one that is not a string.", null=True),
            "status": choice(
                ("queued", "refused", "unconfirmed", "known", "new", "counted"),
                "An `unconfirmed` event may be on the queue, or not: post it again with the same id, it counts once."
                " `known` and `new` are those of a dry run: a known event has counted, and would not count again."
                " `counted` comes with `wait`.",
            ),
            "detail": text(
                "Why the event was refused or is unconfirmed, that other content counts in the place of a known one, or"
                " where a late event counts; else null.",
                null=True,
            ),
        },
    ),
    # Tasks.
    "Task": record(
        "One task, by its name, with its arguments.",
        {f"{name}?": anything() for name in ("boards", "settlements", "dead_letters", "merge")},
        bounds=(1, 1),
    ),
    "TaskAnswer": record("What a task did. `done` says that nothing is left to do.", {"done": flag()}, closed=False),
    # Problems, and answers of the gateway.
    "BadRequest": _problem("An invalid request.", 400, "bad-argument bad-body too-far"),
    "NotYourMember": _problem("A member that the caller's token is not for.", 403, "not-your-member"),
    "NotFound": _problem(
        "Something that does not exist.",
        404,
        "no-such-path no-such-event no-such-board no-such-metric no-such-window no-such-member not-ranked period-gone "
        "no-season-yet expired being-deleted not-built",
    ),
    "MethodNotAllowed": _problem("A method that the path does not have.", 405, "method-not-allowed"),
    "Unavailable": _problem("The store does not answer now.", 503, "unavailable"),
    "GatewayMessage": record("An answer of the gateway.", {"message": text(null=True)}, closed=False),
    "Description": record(
        "An OpenAPI document.", {"openapi": {"const": "3.1.0"}, "info": anything(), "paths": anything()}, closed=False
    ),
}
