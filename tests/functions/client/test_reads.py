"""The client's reads: from the tables the same answers, errors and requests as over the API."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from unittest import mock

import pytest

from standings.calls import CALLS
from standings.client import (
    ApiError,
    BadArgument,
    NotAllowed,
    NotFound,
    StackError,
    StaleBoards,
    Standings,
    Unavailable,
    connect,
)
from standings.stores import StoreUnavailableError
from tests.functions.client.conftest import Clients, Connect
from tests.support.aws.client import TABLES
from tests.support.aws.gateway import serving
from tests.support.aws.stack import Stack, apply, count
from tests.support.cli.signing import KEYS, answering
from tests.support.documents.openapi import OPERATIONS, assert_valid
from tests.support.documents.pages import PROJECT

BOARDS = """
[boards."*"]
metrics.points = { aggregate = "sum", windows = ["all", "day", "last-7-days"] }
[boards."golf"]
metrics.strokes = { aggregate = "max", order = "ascending", precision = 2, notes = true, windows = ["day"] }
metrics.rounds = { aggregate = "sum" }
[boards."icpc"]
metrics.solved = { aggregate = "sum", windows = ["all"], tie_breaks = ["penalty", "level"] }
metrics.penalty = { aggregate = "sum", order = "ascending", precision = 1 }
metrics.level = { aggregate = "last" }
[boards."unranked"]
metrics.runs = { aggregate = "sum" }
"""
NOW: Final = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
MEMBERS: Final = ("a", "b", "images/1.jpg", "用户", "a,b & c")

Call = Callable[[Standings], Any]
READS: Final[list[Call]] = [
    lambda client: client.about(),
    lambda client: client.boards(),
    lambda client: client.boards("go", limit=1),
    lambda client: client.boards(cursor=client.boards(limit=1)["next"]),
    lambda client: client.member_boards("a", limit=1, cursor=client.member_boards("a", limit=1)["next"]),
    lambda client: client.member_boards("a", ranks=True, window="last-7-days"),
    lambda client: client.profile("b"),
    lambda client: client.search("ad"),
    lambda client: client.search("ad", board="b", limit=1),
    lambda client: client.board("golf").definition(),
    lambda client: client.board("b").member("用户"),
    lambda client: client.board("golf").member("a", ranks=True, method="dense", profiles=True, notes=True),
    lambda client: client.board("b").rank("images/1.jpg"),
    lambda client: client.board("b").rank("a", metric="points", window="day", previous=True, profiles=True),
    lambda client: client.board("b").rank("a", window="day", period="2026-11-20", method="ordinal"),
    lambda client: client.board("b").rank("a", window="day", period=date(2026, 11, 20)),
    lambda client: client.board("golf").rank("a", notes=True),
    lambda client: client.board("b").rank_of_score(2, window="last-7-days"),
    lambda client: client.board("golf").rank_of_score(Decimal("0.25")),
    lambda client: client.board("icpc").rank_of_score(2, tie_breaks=[Decimal("0.5"), 4]),
    lambda client: client.board("b").ranks(["a,b & c", "nobody", "a", "a"], previous=True, window="day", profiles=True),
    lambda client: client.board("golf").ranks(member for member in MEMBERS),
    lambda client: client.board("golf").ranks(["a"], notes=True, period="2026-11-20", method="ordinal"),
    lambda client: client.board("b").top(),
    lambda client: client.board("b").top(2, me="b", profiles=True, method="dense"),
    lambda client: client.board("b").top(me="nobody"),
    lambda client: client.board("nobody").top(),
    lambda client: client.board("nobody").percentile(90),
    lambda client: client.board("nobody").distribution(),
    lambda client: client.board("golf").top(notes=True),
    lambda client: client.board("b").page(rank=-1, limit=2, window="day", period="2026-11-20"),
    lambda client: client.board("b").page(score=1, window="last-7-days"),
    lambda client: client.board("icpc").page(score="2", tie_breaks=("0.5", None)),
    lambda client: client.board("icpc").member("a", ranks=True),
    lambda client: client.board("b").page(limit=1, cursor=client.board("b").top(2)["next"]),
    lambda client: client.board("b").around("a", limit=3, me="b"),
    lambda client: client.board("b").around("a", radius=1),
    lambda client: client.board("b").history("a", 2, window="day", period="2026-11-20", method="dense"),
    lambda client: client.board("b").percentile(90),
    lambda client: client.board("b").percentile(Decimal("0.5"), window="day", period="2026-11-20", method="dense"),
    lambda client: client.board("golf").distribution(),
    lambda client: client.board("b").distribution(2, window="day", period="2026-11-20", method="dense"),
]
STATUSES: Final[list[Call]] = [lambda client: client.event("b-0-0"), lambda client: client.event("nobody-knows")]
"""What needs the rights of those who post."""


def rank_of_a_throttled_store(client: Standings) -> Any:
    fails = mock.Mock(side_effect=StoreUnavailableError("Rankings is throttled"))
    with mock.patch.multiple("standings.aws.dynamodb.tables", batch_get=fails, get_item=fails):
        return client.board("b").rank("a")


ERRORS: Final[list[tuple[type[ApiError], str, Call]]] = [
    (NotFound, "no-such-board", lambda client: client.board("no board").top()),
    (NotFound, "no-such-board", lambda client: client.board("../boards").definition()),
    (NotFound, "no-such-metric", lambda client: client.board("unranked").top()),
    (NotFound, "no-such-metric", lambda client: client.board("b").rank("a", metric="a/b", window="all")),
    (NotFound, "no-such-window", lambda client: client.board("b").rank("a", window="week")),
    (NotFound, "no-such-window", lambda client: client.board("b").rank("a", window="")),
    (NotFound, "no-such-member", lambda client: client.board("b").member("nobody")),
    (NotFound, "no-such-member", lambda client: client.profile("a")),
    (NotFound, "not-ranked", lambda client: client.board("b").rank("a", window="day", period="2026-11-19")),
    (NotFound, "period-gone", lambda client: client.board("b").top(window="day", period="2020-01-01")),
    (BadArgument, "bad-argument", lambda client: client.board("b").top(0)),
    (BadArgument, "bad-argument", lambda client: client.board("b").page(rank=1, score=2)),
    (BadArgument, "bad-argument", lambda client: client.board("b").page(cursor="none of ours")),
    (BadArgument, "bad-argument", lambda client: client.board("b").rank("")),
    (BadArgument, "bad-argument", lambda client: client.board("b").rank("a", method="olympic")),  # type: ignore[arg-type]
    (BadArgument, "bad-argument", lambda client: client.board("b").rank_of_score("much")),
    (BadArgument, "bad-argument", lambda client: client.board("b").rank_of_score(2, tie_breaks=[1])),
    (BadArgument, "bad-argument", lambda client: client.board("icpc").page(tie_breaks=[1, 2])),
    (BadArgument, "bad-argument", lambda client: client.board("icpc").page(score=2, tie_breaks=[1])),
    (BadArgument, "bad-argument", lambda client: client.board("icpc").page(score=2, tie_breaks=[])),
    (BadArgument, "bad-argument", lambda client: client.board("icpc").rank_of_score(2, tie_breaks=[None, 1])),
    (BadArgument, "bad-argument", lambda client: client.board("icpc").rank_of_score(2, tie_breaks="1,2")),
    (BadArgument, "bad-argument", lambda client: client.board("b").percentile(101)),
    (BadArgument, "bad-argument", lambda client: client.search("a")),
    (BadArgument, "bad-argument", lambda client: client.event("")),
    (BadArgument, "bad-body", lambda client: client.board("b").ranks([])),
    (Unavailable, "unavailable", rank_of_a_throttled_store),
]


def events() -> Iterator[dict[str, Any]]:
    for number, member in enumerate(MEMBERS):
        for days_ago in (0, 1):
            at = (NOW - timedelta(days=days_ago)).isoformat()
            said = {"id": f"b-{number}-{days_ago}", "board": "b", "member": member, "at": at}
            yield {**said, "metrics": {"points": number % 3}}
            said = {**said, "id": f"golf-{number}-{days_ago}", "board": "golf"}
            yield {**said, "metrics": {"strokes": number + 0.25, "rounds": 1}, "note": {"hole": number}}
            said = {**said, "id": f"icpc-{number}-{days_ago}", "board": "icpc"}
            yield {**said, "metrics": {"solved": 1, "penalty": number / 4 // 0.5, "level": number % 3}}


@pytest.fixture(autouse=True)
def _played(stack: Stack) -> None:
    apply(stack, [*events()])
    stack.put("/members", {"name": "Ada", "country": "HU"}, id="b")


def test_both_read_the_same_with_the_same_requests(clients: Clients) -> None:
    for read in [*READS, *STATUSES]:
        clients.requests.take()
        answers, requests = [], []
        for client in (clients.tables, clients.api):
            answers.append(read(client))
            requests.append(clients.requests.take())
        assert answers[0] == answers[1]
        assert requests[0] == requests[1], answers
    assert clients.tables.board("golf").rank("a")["score"] == 0.25
    assert clients.tables.board("icpc").rank("a,b & c")["tie_breaks"] == {"penalty": 4, "level": 1}


OUTPUTS: Final = {
    "FunctionUrlEndpoint": "https://a1b2.lambda-url.eu-central-1.on.aws/",
    "ApiUrl": "https://ab12.execute-api.eu-central-1.amazonaws.com",
    "ApiId": "ab12",
}


def test_at_the_function_url_it_reads_the_same(
    clients: Clients, stack: Stack, connected: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Signed, though there is a token: that goes to the API, which alone has the status of an event."""
    given = {"reads": "url", "credentials": KEYS, "token": "a.b.c"}
    with serving(stack) as gateway:
        by_address = connected(**given, api_url=f"{gateway.address}/_aws/lambda-url/a1b2")
        monkeypatch.setenv("AWS_ENDPOINT_URL", gateway.address)
        by_name = connected(**given, stack="standings", outputs=OUTPUTS)
        for read in READS:
            assert read(by_name) == read(by_address) == read(clients.tables)
        assert [status(by_name) for status in STATUSES] == [status(clients.tables) for status in STATUSES]
        with pytest.raises(NotFound, match=r"does not take GET /events: send it to the stack's API \(ApiUrl\)"):
            by_address.event("b-0-0")
        with pytest.raises(NotAllowed, match=r"Forbidden: this call needs an AWS IAM signature .*FunctionUrlPolicyArn"):
            connected(**{**given, "credentials": None}, stack="standings", outputs=OUTPUTS).board("b").top()
        with pytest.raises(StackError, match=r"no output FunctionUrlEndpoint: .*, or deploy it with FunctionUrl=iam"):
            connected(**given, stack="standings").board("b").top()
        assert gateway.raised == []


def test_every_read_and_argument_is_answered_as_described(clients: Clients, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: dict[str, set[str]] = {}
    answer = Standings._answer

    def noted(client: Standings, call: str, path: Any, body: Any = None, /, **arguments: Any) -> Any:
        tried.setdefault(call, set()).update(each for each, value in arguments.items() if value not in (None, False))
        found = answer(client, call, path, body, **arguments)
        described = OPERATIONS[call].definition["responses"]["200"]["content"]["application/json"]["schema"]
        assert_valid(described, found, f"{call} {path} {arguments}")
        return found

    monkeypatch.setattr(Standings, "_answer", noted)
    fresh = clients._replace(tables=Standings(clients.tables._reads, clients.tables._queue, clients.tables._api))
    for read in [*READS, *STATUSES]:
        read(fresh.tables)

    assert tried == {
        name: {*call.arguments}
        for name, call in CALLS.items()
        if name.startswith(("get", "list", "rank")) and name != "getDescription"
    }


@pytest.mark.parametrize(("kind", "type_", "read"), ERRORS)
def test_both_raise_the_same(clients: Clients, kind: type[ApiError], type_: str, read: Call) -> None:
    raised = []
    for client in (clients.tables, clients.api):
        with pytest.raises(ApiError) as found:
            read(client)
        raised.append((type(found.value), found.value.type, found.value.status, found.value.detail))
    assert raised[0] == raised[1]
    assert raised[0][:2] == (kind, f"urn:standings:{type_}")


def test_a_store_that_does_not_say_whether_definitions_are_stale_is_unavailable(clients: Clients) -> None:
    fails = mock.Mock(side_effect=StoreUnavailableError("Scores is throttled"))
    with mock.patch("standings.read.session.ReadSession.record", fails), pytest.raises(Unavailable):
        clients.tables.board("b").top(metric="points", window="last-9-days")


def test_without_an_answer_the_api_is_unavailable_and_without_rights_not_allowed(connected: Connect) -> None:
    with answering((403, '{"message":"Forbidden"}')) as server:
        client = connected(reads="api", api_url=server.address, token=server.address)
        with pytest.raises(NotAllowed, match="the token that was given was not accepted"):
            client.board("b").top(metric="points", window="all")
    with pytest.raises(Unavailable, match="no answer from"):
        client.board("b").top(metric="points", window="all")


@pytest.mark.parametrize(
    ("boards", "read"),
    [
        (BOARDS.replace('"last-7-days"', '"last-8-days"'), lambda board: board.top(window="last-7-days")),
        (BOARDS.replace('["all", "day", "last-7-days"]', '["all"], order = "ascending"'), lambda board: board.top()),
        (BOARDS.replace("metrics.points", "metrics.score"), lambda board: board.top(metric="points")),
        ('[boards."a"]\nmetrics.points = { aggregate = "sum", windows = ["all"] }', lambda board: board.definition()),
    ],
)
def test_definitions_of_another_stack_are_stale(connected: Connect, boards: str, read: Callable[[Any], Any]) -> None:
    with pytest.raises(StaleBoards, match=r"'b'.*give the client the boards\.toml of the stack"):
        read(connected(boards=boards).board("b"))
    with pytest.raises(NotFound) as found:
        connected().board("b").top(window="last-9-days")
    assert not isinstance(found.value, StaleBoards)
    assert found.value.__suppress_context__  # a traceback ends with the caller's line and this error


def test_threads_share_a_client(clients: Clients) -> None:
    expected = [read(clients.tables) for read in READS]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            assert list(pool.map(lambda read: read(clients.tables), READS)) == expected


def test_what_is_missing_is_named(stack: Stack, connected: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    del stack
    monkeypatch.setattr("standings.client.stack.BOARDS_FILE", Path("none"))
    for given, missing in (
        ({"tables": {"scores": "Scores"}}, r"tables\['rankings'\]: is missing"),
        ({"reads": "api"}, "api_url: is missing"),
        ({"tables": {"score": "Scores"}}, "tables: expected scores, rankings, profiles, receipts, got score"),
        ({"reads": "url"}, "api_url: is missing"),
        ({"reads": "cache"}, "reads: expected tables, api or url, got 'cache'"),
        ({"boards": None}, "api_url: is missing: .* path of the stack's boards.toml as boards"),
    ):
        with pytest.raises(BadArgument, match=missing):
            connected(**given).board("b").rank("a")


@pytest.mark.parametrize("sends", [lambda one: one.board("b").rank("a"), lambda one: one.post("b", "a", points=1)])
def test_without_a_region_it_says_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sends: Callable[[Standings], object]
) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "none")
    file = tmp_path / "boards.toml"
    file.write_text(BOARDS)
    with pytest.raises(BadArgument, match="set AWS_DEFAULT_REGION=eu-central-1, for example, or") as raised:
        sends(connect(queue_url="https://queue.invalid", tables=TABLES, boards=file))
    assert raised.value.__suppress_context__


def test_importing_it_imports_neither_aws_nor_what_a_call_needs() -> None:
    program = "import sys, standings.client; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert {*done.stdout.split()}.isdisjoint({"boto3", "botocore", "urllib3", "orjson", "aws_lambda_powertools"})


def test_the_program_of_the_readme_prints_ranks(
    stack: Stack, clients: Clients, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (program,) = re.findall(r"(?ms)^```python\n(.*?)^```$", (PROJECT / "README.md").read_text(encoding="utf-8"))
    assert len(program.splitlines()) <= 8
    monkeypatch.setattr("standings.client.connect", lambda _: clients.tables)
    about = {"board": "berlin-2026", "member": "u7", "at": NOW.isoformat()}
    apply(stack, [{"id": "0", **about, "metrics": {"points": 5}}])
    with pytest.raises(NotFound):  # Its event is on its way
        exec(program, {})  # noqa: S102 - of the page
    count(stack)
    exec(program, {})  # noqa: S102 - of the page
    assert capsys.readouterr().out == "2\n1 u7 5\n2 u123 3\n"
