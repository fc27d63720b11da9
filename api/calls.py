"""The texts about each call of `standings.calls`, and about its arguments.

Line breaks within a paragraph are dropped. `{default}` stands for the default in `CALLS`.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from api.schemas import ASKED_PERIOD, Schema, either, named, text


class Operation(NamedTuple):
    """The texts about a call, and examples of its bodies.

    - `text`: its title, and below it what the call does. If it names 404, or the problem `not-your-member`, the call
      has that answer.
    - `answer`, `schema`, `example`: of the answer to a call that succeeds. Without a schema it has no content. Several
      examples are a tuple of pairs: an example, and its name and title ("one: One event").
    - `arguments`: texts of arguments that take the place of those in `ARGUMENTS`.
    - `body`, `sent`: the schema of the body, and examples. Unless `needs_body`, a request may come without.
    - `also`: text, schema and example of another answer to a call that succeeds, by its status.
    """

    tag: str
    text: str
    answer: str
    schema: str | Schema | None
    example: Any = None
    arguments: Mapping[str, str] = {}
    body: str = ""
    sent: Any = None
    needs_body: bool = True
    status: int = 200
    also: Mapping[int, tuple[str, str, Any]] = {}


IN_PATH: Final = {
    "board": "The name of a board: 1 to 128 of `A-Z a-z 0-9 . _ : -`, not `.` or `..`.",
    "metric": "One of the board's metrics.",
    "window": """A window in which the metric is ranked: `all`, a calendar window (`hour`, `day`, `week`, `month`,
        `year`), `season`, or up to 90 hours or days (`last-24-hours`, `last-7-days`).""",
}
ARGUMENTS: Final = {
    "period": """A past period that is still kept: a day in it (`2026-11-20`), or for windows of hours an hour
        (`2026-11-20T15`); for rolling windows its last day or hour; a season's name or a day in it; a week
        (`2026-W47`), a month (`2026-11`) or a year (`2026`) by its name too. It is in the board's time zone. If an
        hour occurs twice, it is the first of the two; add the offset for the second (`2026-10-25T02+01:00`, with
        `%2B` for `+`). Not in the future, and not with the window `all`. Answers have the names of their period and of
        those beside it.""",
    "method": """How equal scores share ranks: `competition` (the default) 1 2 2 4, `dense` 1 2 2 3, `ordinal` 1 2 3 4
        (in the order of the list).""",
    "previous": """If `true`, the answer also has `previous_rank`: the rank in the period before; for rolling windows in
        the one that ended a day or hour earlier.""",
    "profiles": """If `true`, each member in the answer also has its `profile`, null if it has none. A profile may be a
        minute old.""",
    "notes": """If `true`, each score in the answer also has the `note` of the event that it came with, null if that had
        none. The metric has to keep notes (`notes = true` in `boards.toml`).""",
    "limit": "The highest number of entries on a page, by default {default}.",
    "cursor": "`next` or `previous` of a page of the same list, unchanged. It is valid while the period is kept.",
}
TEXTS: Final = {
    **named("board metric window method score"),
    **dict.fromkeys(("id", "member", "around", "me"), "Member"),
    "p": "Percentile",
    "cursor": text("", (1, None), pattern="^[A-Za-z0-9_-]+$"),
    "name": text("", (2, None)),
    "tie_breaks": text(pattern="^([-+.0-9eE]+|null)(,([-+.0-9eE]+|null)){0,2}$"),
    "period": text(pattern=ASKED_PERIOD),
    "prefix": text("", (None, 128), pattern="^[A-Za-z0-9._:-]{0,128}$"),
}
"""The schema of an argument that is a text."""
_RANKING: Final = {"board": "berlin-2026", "metric": "points", "window": "all"}
EXAMPLES: Final = {**_RANKING, "id": "u123", "member": "u123", "name": "ad", "p": 90, "prefix": "berlin-"}
"""Values of arguments, which a request may have together."""

_ID: Final = "The member's id: 1 to 256 bytes of UTF-8."
_ON_BOARD: Final = f"{_ID} It is in the query because gateways decode `%2F` in a path."
_NO_RANKING: Final = (
    "404: `no-such-board`, `expired`, `being-deleted`, `no-such-metric`, `no-such-window`, `not-built`, `period-gone`"
)

# Examples.


def _day(day: int, following: str | None) -> dict[str, str | None]:
    """The period of a day in November 2026, in Berlin."""
    before, name, after = (f"2026-11-{day + more}" for more in (-1, 0, 1))
    starts, ends = f"{name}T00:00:00+01:00", f"{after}T00:00:00+01:00"
    instants = {"starts": starts, "ends": ends, "start": starts, "end": ends}
    return {"name": name, **instants, "previous": before, "next": following}


_DAY: Final = _day(21, None)
_DAY_BEFORE: Final = _day(20, "2026-11-21")
_ALWAYS: Final = dict.fromkeys(_DAY)
_OPEN: Final = {"state": "open", "final_at": None, "order": "descending", "method": "competition"}
_ALL: Final = {**_RANKING, "period": _ALWAYS, **_OPEN, "total": 3, "as_of": "2026-11-21T10:15:00.000Z"}
_TODAY: Final = {**_ALL, "window": "day", "period": _DAY, "final_at": "2026-11-28T23:05:00.000Z"}
_FIRST: Final = {"rank": 1, "member": "images/1.jpg", "score": 12}
_SECOND: Final = {"rank": 1, "member": "用户", "score": 12}
_THIRD: Final = {"rank": 3, "member": "u123", "score": 8}
_PAGE: Final = {**_TODAY, "entries": [_FIRST, _SECOND, _THIRD], "next": None, "previous": None}
_ME: Final = {**_THIRD, "percentile": 33.33}
_UNRANKED: Final = {"rank": None, "score": None, "percentile": None}
_HISTORY: Final = [
    {"period": _DAY, "rank": 3, "score": 8, "total": 3},
    {"period": _DAY_BEFORE, "rank": None, "score": None, "total": 2},
]
_GROUP: Final = [
    {**_ME, "group_rank": 2},
    {**_SECOND, "percentile": 100, "group_rank": 1},
    {"member": "nobody", **_UNRANKED, "group_rank": None},
]
_BUCKETS: Final = [{"from": low, "to": low + 1, "members": count} for low, count in ((8, 1), (10, 0), (12, 2))]
_SCORES: Final = [
    {"window": "all", "period": _ALWAYS, "score": 48, "rank": 2, "percentile": 66.66, "total": 3},
    {"window": "day", "period": _DAY, **_UNRANKED, "total": None},
]
_OF_MEMBER: Final = [{"board": "berlin-2026", "hidden": False}, {"board": "germany-2026", "hidden": True}]
_ON_ONE: Final = [{"metric": "points", "score": 48, "windows": _SCORES[:1]}]
_RANKED_ON: Final = [{"board": "berlin-2026", "hidden": False, "metrics": _ON_ONE}]
_HIDDEN: Final = {"board": "berlin-2026", "member": "u123", "hidden": True}
_SUM: Final = {"metric": "points", "aggregate": "sum", "precision": 0, "order": "descending", "ties": "member"}
_WINDOWS: Final = [{"window": "all", "period": _ALWAYS}, {"window": "day", "period": _DAY}]
_METRIC: Final = {**_SUM, "least": 0, "most": None, "notes": False, "windows": _WINDOWS}
_BERLIN: Final = {"board": "berlin-2026", "family": "berlin-*", "timezone": "Europe/Berlin", "week_start": "monday"}
_KEPT: Final = {"members": "open", "late": "7 days", "keep": "35 days", "shards": 1}
_ADA: Final = {"name": "Ada", "picture": "https://pictures.example/ada.png", "country": "DE", "data": {"team": "red"}}
_FOUND: Final = {"members": [{"member": "u123", "profile": _ADA}], "complete": True}
_ID_1, _ID_2, _ID_3 = (f"0197f5a2-6c1e-7d3a-9b40-5f2f6a1c9e0{number}" for number in (1, 2, 3))
_AT: Final = "2026-11-21T10:15:00Z"
_EVENT: Final = {"id": _ID_1, "board": "berlin-2026", "member": "u123", "at": _AT, "metrics": {"points": 5}}
_SHARED: Final = {"id": _ID_2, "board": ["berlin-2026", "germany-2026"], "member": "u123", "metrics": {"points": 3}}
_NOT_REGISTERED: Final = "member: 'u9' is not registered on board 'berlin-2026'"
_SHARES: Final = [
    {"board": "players", "member": "用户", "metrics": {"points": 12}},
    {"board": "clans", "member": "clan#7", "metrics": {"points": 12}},
]
_FOLLOWED: Final = {
    "results": [{"id": _ID_1, "status": "counted", "detail": None}],
    "members": [{**_HIDDEN, "hidden": False, "metrics": [{"metric": "points", "score": 48, "windows": _SCORES}]}],
}
_WRONG: Final = "updates[0].metrics: board 'players' has no metric 'points'; there are: wins"
_RESULTS: Final = [
    {"id": _ID_2, "status": "queued", "detail": None},
    {"id": _ID_3, "status": "refused", "detail": _WRONG},
]

OPERATIONS: Final = {
    "postEvents": Operation(
        "Events",
        """Post events

        Puts one event, or a list of up to 100, on the queue. Each event is checked by itself. The answer has a result
        for each, in the same order. It is always 202, even if every event was refused: check each `status`. Only with
        `wait` it may be 200.

        It is safe to post an event again with the same `id` and content: it counts once. Do so after a 503, and where
        a `status` is `unconfirmed`: the queue may have the event, or not. A queued event can still be
        refused later, for example if its `id` was used with other content, or if a total would leave ±(2^53 − 1) units.
        Then it goes to the dead-letter queue, with the reason.

        On boards whose members are `registered`, an event of anyone else is refused.

        An event with `correct` replaces what another one counted, one with `retract` takes it back. Both have an id of
        their own, and need `standings/admin`: without it the answer is 403 (`not-your-member`), and nothing is queued.

        If the stack has a `JwtMemberClaim`, a token without `standings/admin` posts for the member that it names alone:
        if any event names another, the answer is 403 (`not-your-member`), and nothing is queued. So it is with `wait`
        for a token without `standings/read`, unless reads are open.""",
        "The result of each event, in the order of the request.",
        "EventResults",
        {"results": _RESULTS},
        {
            "dry_run": """If `true`, the events are checked, and none is queued. A result is `refused`, `new`, or
                `known`: that event has counted, and would not count again. The `detail` of a new one says where it
                counts if it is older than `late`.""",
            "wait": """Seconds. With it the answer is 200 once the event counts and every rank of its members follows,
                and 202 as ever if that takes longer. For one event of at most 10 pairs of board and member.""",
            "history": """If `true`, the events also count in periods that have closed, as far as these can still be
                read and are not settled. Needs `standings/admin`. With `dry_run`, which needs it not, `detail` says of
                a known event whether it counted without history, and not in all of these periods.""",
        },
        body="Events",
        sent=(
            (_EVENT, "one: One event"),
            (
                [_SHARED, {"id": _ID_3, "at": "2026-11-21T11:20:00+01:00", "updates": _SHARES}],
                "list: Two events; the second counts for a player and a clan, or for neither",
            ),
        ),
        status=202,
        also={200: ("The event counts, and these are the ranks of its members.", "FollowedEvent", _FOLLOWED)},
    ),
    "getEvent": Operation(
        "Events",
        """What became of an event

        Whether an event was counted or refused, and when. A refused event is in the dead-letter queue. If it is
        replayed and counts, its status becomes `counted`.

        The `reason` of a refusal may name a member. A token without `standings/admin` does not get it.

        404: `no-such-event`. The event is on its way, or it was never sent, or it was counted more than 30 days ago or
        refused more than 14 days ago. A refused event whose id could not be read has no status.""",
        "The status of the event.",
        "EventStatus",
        (
            ({"id": _ID_1, "status": "counted", "at": "2026-11-21T10:15:01.000Z"}, "counted: It counts"),
            ({"id": _ID_2, "status": "refused", "reason": _NOT_REGISTERED, "at": _AT}, "refused: It was refused"),
            (
                {"id": _ID_1, "status": "counted", "at": _AT, "corrected": {"at": _AT, "by": _ID_2}},
                "corrected: Other amounts count in its place",
            ),
        ),
        {"id": "The event's id: 1 to 128 characters."},
    ),
    "getProfile": Operation(
        "Profiles",
        """A profile, or the members with a name

        With `id`: the member's profile, as it is now. With `name`: up to `limit` members whose names begin like that,
        in the order of names, whatever the case and the marks (`AD` finds `Ádám`). Give exactly one of the two.

        With `board`, a search looks at up to 200 profiles that match, and keeps the members of that board that are not
        hidden there. Where anyone may read, a search needs `board`, unless the parameter `OpenSearch` of the stack is
        true.

        404: with `id` `no-such-member`, if it has no profile; with `board` `no-such-board`, `expired`.""",
        "The profile, or the members found.",
        either("Profile", "FoundMembers"),
        ((_ADA, "profile: ?id=u123"), (_FOUND, "found: ?name=ad&board=berlin-2026")),
        {
            "id": f"{_ID} Not with `name`.",
            "name": "The beginning of a name: at least two letters, without their marks. Not with `id`.",
            "board": "Only members of this board that are not hidden there. Only with `name`.",
            "limit": "The highest number of members found, by default {default}. Only with `name`.",
        },
    ),
    "putProfile": Operation(
        "Profiles",
        """Write a profile

        Sets the fields that are given and removes those that are null; others stay. The member needs no board. Reads
        with `profiles=true` show the change within a minute.

        If the stack has a `JwtMemberClaim`, `standings/write` is enough for the profile of the member that the token
        names. For any other the answer is 403 (`not-your-member`).""",
        "The profile as it is now.",
        "Profile",
        _ADA,
        {"id": _ID},
        "ProfileChange",
        ((_ADA, "set: Set every field"), ({"picture": None}, "remove: Remove the picture")),
    ),
    "deleteProfile": Operation(
        "Profiles",
        """Remove a profile

        Removes the member's profile, if it has one. Its scores stay, on every board.""",
        "The member has no profile.",
        None,
        arguments={"id": _ID},
        status=204,
    ),
    "listBoards": Operation(
        "Boards",
        """List boards

        Lists boards in the byte order of their names. A board exists from its first event or registered member on.""",
        "Boards, and the cursor of the next page.",
        "BoardList",
        {"boards": [{"board": "berlin-2026"}, {"board": "berlin-2027"}], "next": None},
        {"prefix": "Only boards whose names begin with this."},
    ),
    "listMemberBoards": Operation(
        "Members",
        """The boards that a member is in

        Lists the boards on which the member is, hidden or not, in the byte order of their names. With `ranks=true` also
        its ranks in the current period of one window, in each metric that a board ranks in that window.

        An index says where to look, and each item is read as it is now. So no board is listed that the member has left,
        and one to which it has just come may be missing for about a second. A page may have fewer boards than `limit`,
        even none: read on until `next` is null. A page with ranks ends after 100 ranks.

        404: `not-built`, as long as DynamoDB builds the index after an upgrade from version 0.3.""",
        "Boards, and the cursor of the next page.",
        "MemberBoards",
        (
            ({"member": "u123", "boards": _OF_MEMBER, "next": None}, "boards: ?id=u123"),
            ({"member": "u123", "boards": _RANKED_ON, "next": None}, "ranks: ?id=u123&ranks=true&window=all"),
        ),
        {
            "id": _ID,
            "limit": "The highest number of boards on a page, by default {default}.",
            "cursor": "`next` of another page of this member's boards, unchanged.",
            "ranks": "If `true`, each board also has the member's scores and ranks.",
            "window": "The window of the ranks, by default `all`. Needs `ranks=true`.",
        },
    ),
    "getBoard": Operation(
        "Boards",
        """A board's definition

        A board's metrics, their windows, and when the current period of each ends. It also answers before the first
        event, for every name that a family in `boards.toml` matches.

        404: `no-such-board`, `expired`, `being-deleted`.""",
        "The board's definition.",
        "BoardDefinition",
        {**_BERLIN, **_KEPT, "metrics": [_METRIC]},
    ),
    "deleteBoard": Operation(
        "Boards",
        """Delete a board

        Begins to delete the board, with all its members and scores. From now on its events are refused, to the
        dead-letter queue, and every read of it answers 404 (`being-deleted`). It takes some eleven minutes, most of
        them waits; a board of millions of members takes longer. `GET /boards/{board}` (`Location`) answers 404 until it
        has ended, and then as for a board without events. Files of settled periods stay.

        A request may be repeated: it goes on with a deletion that has begun.

        404: `no-such-board`, also for a board that has neither events nor members.""",
        "The deletion has begun.",
        "BoardDeletion",
        {"board": "berlin-2026", "status": "deleting"},
        status=202,
    ),
    "getMember": Operation(
        "Members",
        """A member's scores on a board

        The member's score in every metric, ranked or not, and in the current period of every window. With `ranks=true`
        also its ranks. A hidden member has scores but no ranks.

        404: `no-such-board`, `expired`, `no-such-member`. 400 `too-far`: with `method` `ordinal` or `dense`, a rank is
        too deep in the list to be counted.""",
        "The member's scores.",
        "MemberScores",
        {**_HIDDEN, "hidden": False, "metrics": [{"metric": "points", "score": 48, "windows": _SCORES}]},
        {
            "id": _ON_BOARD,
            "ranks": "If `true`, each window also has rank, percentile and total.",
            "method": "How equal scores share ranks. Needs `ranks=true`. See `GET /boards/{board}/{metric}/{window}`.",
        },
    ),
    "putMember": Operation(
        "Members",
        """Register, hide or show a member

        Creates the member if it does not exist, on boards with `open` members too. `hidden` true takes it out of every
        ranking; its scores remain, and its events still count. False puts it back. Without `hidden` nothing changes for
        an existing member, so a registration can be repeated.

        404: `no-such-board`, `expired`, `being-deleted`.""",
        "The member as it is now.",
        "MemberState",
        _HIDDEN,
        {"id": _ON_BOARD},
        "MemberChange",
        (({}, "register: Only register"), ({"hidden": True}, "hide: Hide from every ranking")),
        needs_body=False,
    ),
    "deleteMember": Operation(
        "Members",
        """Remove a member and its scores

        Removes the member and all its scores from this board and its rankings. A later event starts the member again;
        on a board with `registered` members it must be registered first.

        404: `no-such-board`, `expired`, `no-such-member`.""",
        "The member is removed.",
        None,
        arguments={"id": _ON_BOARD},
        status=204,
    ),
    "listRanking": Operation(
        "Lists",
        f"""A page of a ranking

        There are five ways to choose a page. Use at most one:

        - nothing: the first page
        - `cursor`: the page after or before another page, by its `next` or `previous`; leave out `period` and `method`,
          or repeat those of that page
        - `rank`: the page that begins at this position, or, from -1 back, ends at this position from the end
        - `score`: the page that begins at the first entry with this score, or behind it
        - `around`: this member, with `radius` neighbours on each side, or with `limit` entries in all

        Paging never skips or repeats a member that did not move. Beyond the end a page has no entries, and `previous`
        leads back; before the beginning `next` does. A ranking without members is an empty list.

        {_NO_RANKING}; with `around` also `no-such-member`, `not-ranked`. 400 `too-far`: with `method` `ordinal` or
        `dense`, or with `rank`, the page, or the member that `me` names, is too deep in the list to be counted; or,
        where anyone may read, the list has too many shards for all that is asked.""",
        "Entries, in order.",
        "Page",
        ((_PAGE, "page: A page"), ({**_PAGE, "me": {**_ME, "ahead": _SECOND}}, "me: ?me=u123")),
        {
            "rank": """The position at which the page begins, counted from 1. Or the position at which it ends, counted
                from the end: -1 is the last. Not 0; not with `cursor`, `score` or `around`.""",
            "score": """The score at which the page begins, with no more decimals than the metric keeps. Not with
                `cursor`, `rank` or `around`.""",
            "tie_breaks": "With `score`: the tie-breaks at which it begins, with a comma between, such as `312,4`.",
            "around": """The member in the middle of the page: 1 to 256 bytes of UTF-8. Not with `cursor`, `rank` or
                `score`.""",
            "radius": """The number of neighbours on each side, by default {default}. Only with `around`, not with
                `limit`.""",
            "me": """A member: 1 to 256 bytes of UTF-8. The answer then also has `me`: its rank in this period by this
                method, wherever it is in the list, and `ahead`, the entry just before it.""",
        },
    ),
    "getRank": Operation(
        "Members",
        f"""The rank of a member, or of a score

        With `member`: its rank. With `score`: the rank that a new member with this score would have, and the number of
        members ahead, equal and behind. Give exactly one of the two.

        {_NO_RANKING}; with `member` also `no-such-member`; `not-ranked` for a hidden member, one without an event in
        this period, and a score behind the metric's `ranked_from`. 400 `too-far`: with `method` `ordinal` or `dense`,
        the rank is too deep in the list to be counted.""",
        "The rank.",
        either("MemberRank", "ScoreRank"),
        (
            ({**_TODAY, **_ME, "previous_rank": None}, "member: ?member=u123&previous=true"),
            ({**_TODAY, "score": 12, "rank": 1, "above": 0, "at": 2, "below": 1}, "score: ?score=12"),
        ),
        {
            "member": f"{_ID} Not with `score`.",
            "score": """The score, with no more decimals than the metric keeps. Not with `member`, `previous` or
                `profiles`.""",
            "tie_breaks": "With `score`: its tie-breaks, with a comma between, such as `312,4`.",
        },
    ),
    "getHistory": Operation(
        "Members",
        f"""The history of a member's rank

        A member's rank and score in each period that can be read, newest first, from the current period or the one that
        `period` names. There may be fewer periods than asked for: one that is no longer kept, and those before it, are
        left out. `all` has one. Where the member was not ranked, `rank` and `score` are null; a hidden member is ranked
        in none.

        {_NO_RANKING}, `no-such-member`. 400 `too-far`: with `method` `ordinal` or `dense`, a rank is too deep in the
        list to be counted; the periods share what one rank may count.""",
        "The periods, newest first. `period`, `total` and `as_of` of the answer are those of the newest.",
        "History",
        {**_TODAY, "member": "u123", "periods": _HISTORY},
        {"member": _ID, "periods": "The highest number of periods, by default {default}."},
    ),
    "rankGroup": Operation(
        "Members",
        f"""The ranks of a group's members

        The ranks of up to 100 members in the ranking and within the group, such as friends or a team. Entries are in
        the order of the request. A member that is not ranked has null for each number. This is a read; it is a POST
        because a group does not fit into a URL.

        {_NO_RANKING}. 400 `too-far`: with `method` `ordinal` or `dense`, a rank is too deep in the list to be
        counted.""",
        "An entry for each member of the request.",
        "GroupRanks",
        {**_ALL, "entries": _GROUP},
        body="Group",
        sent={"members": ["u123", "用户", "nobody"]},
    ),
    "getPercentile": Operation(
        "Numbers",
        f"""The score at a percentile

        A member's percentile is 100 × the members at or behind it ÷ all ranked members. The answer is the lowest-ranked
        score whose unrounded percentile is at least `p`. `p=50` is the median.

        {_NO_RANKING}.""",
        "The score; null if no member is ranked.",
        "PercentileScore",
        {**_ALL, "p": 90, "score": 12},
        {"p": "0 to 100, with at most 9 decimals. At 0 the answer is the last score."},
    ),
    "getDistribution": Operation(
        "Numbers",
        f"""The distribution of scores

        A histogram: the number of members with a score from `from` to `to`, both included. Buckets are in order, lowest
        first, without gaps; some may be empty. Their width is a power of two of the metric's smallest unit; the two
        next to 0 may be one unit narrower. An empty ranking has no buckets.

        {_NO_RANKING}.""",
        "The histogram.",
        "Distribution",
        {**_ALL, "buckets": _BUCKETS},
        {"buckets": "The highest number of buckets, by default {default}."},
    ),
    "doTask": Operation(
        "Tasks",
        """Do a task of the admin's page

        What the page at `/admin` does beside the other calls, by the function and the code of the command line. A
        stack has it only with the parameter `AdminPage`. A task does as much as it can in 20 seconds. If the answer's
        `done` is false, send the same task again, with the answer's `cursor` if it has one.

        - `boards` `show` (`boards`): what is done to each of up to 100 boards, when it was audited, what is settled
        - `settlements` `list` (`board`, `cursor`): the settled periods of a board
        - `dead_letters` `list` (`ids`, `reason`, `board`, `member`, `limit`): refused messages, with their reasons
        - `dead_letters` `replay` (`ids`, `reason`, `board`, `member`, `cursor`): sends them to the queue again
        - `dead_letters` `delete` (`ids`, `reason`, `board`, `member`, `cursor`; one at least): deletes them for good
        - `merge` (`board`, `old`, `new`): gives all that one member has on a board to another one

        404: `no-such-path` without the parameter; `no-such-board`; with `merge` also `being-deleted`,
        `no-such-member`.""",
        "What was done.",
        "TaskAnswer",
        {"board": "berlin-2026", "old": "u7", "new": "u123", "merged": True, "hidden": False, "done": True},
        body="Task",
        sent=(
            ({"boards": {"show": {"boards": ["berlin-2026"]}}}, "board: How a board is"),
            ({"dead_letters": {"list": {"board": "berlin-2026"}}}, "refused: What was refused of a board"),
            ({"merge": {"board": "berlin-2026", "old": "u7", "new": "u123"}}, "merge: Two ids of one person"),
        ),
    ),
    "getAbout": Operation(
        "Description",
        """About the stack

        The version of the time zones by which days begin. It is that of the stack's layer, whatever zone files the
        machines of AWS have.

        Where anyone may read, a browser gets the live page instead: it accepts `text/html`. The page names the version
        too. A request that accepts `application/json` and no HTML gets this answer from every stack.

        404: `no-such-path`, for the address of a live page (`/?board=berlin-2026`) where there is none.""",
        "About the stack.",
        "About",
        {"time_zones": "2026f"},
    ),
    "getDescription": Operation(
        "Description",
        """This document

        The description of this API.""",
        "An OpenAPI document.",
        "Description",
    ),
}
