"""The command line, over the real maintenance function."""

import io
import json
from collections.abc import Container, Iterator
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from standings.ports.errors import StoreUnavailableError
from standings.project.outcome import one_by_one
from standings.wiring import projector
from standings_cli.__main__ import main, parser
from standings_cli.stack.connection import Connection
from standings_cli.stack.errors import StackError
from standings_cli.stack.maintenance_function import Maintenance
from standings_cli.terminal.exit_status import DIFFERS, OK, UNREACHABLE, WRONG
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.checks import rows
from tests.support.builders.stages.streaming import apply, event

NOW = 1_795_256_100_000


class Lambda:
    """Invokes a function as the service does: JSON in and out, errors as content.

    In the calls whose numbers, from 0, are in `unavailable`, the store fails after the function has worked.
    """

    def __init__(self, stack: Stack, unavailable: Container[int] = ()) -> None:
        self._stack = stack
        self._unavailable = unavailable
        self.payloads: list[dict[str, Any]] = []

    def invoke(self, FunctionName: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803
        assert FunctionName == "maintenance"
        self.payloads.append(json.loads(Payload))
        try:
            answer = self._stack.maintenance(self.payloads[-1], Context(seconds=900))
            if len(self.payloads) - 1 in self._unavailable:
                raise StoreUnavailableError("Rankings is throttled")
        except Exception as error:  # noqa: BLE001 - as Lambda does
            content = {"errorType": type(error).__name__, "errorMessage": str(error)}
            return {"FunctionError": "Unhandled", "Payload": io.BytesIO(orjson.dumps(content))}
        return {"Payload": io.BytesIO(json.dumps(answer).encode())}


class Nobody(io.StringIO):
    """A terminal at which nobody sits: it ends at once."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def stack(engine: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    clock = ManualClock(NOW)
    monkeypatch.setattr(projector, "run_parallel", lambda: one_by_one)
    monkeypatch.setattr("time.monotonic", lambda: clock() / 1000)
    monkeypatch.setattr("time.sleep", lambda seconds: setattr(clock, "milliseconds", clock() + round(seconds * 1000)))
    with running(engine, clock) as deployed:
        apply(deployed, [event(f"m{n}", n) for n in range(20)])
        yield deployed


def run(stack: Stack, *arguments: str, client: Any = None, naps: list[float] | None = None) -> int:
    def pass_time(seconds: float) -> None:
        stack.clock.milliseconds += round(seconds * 1000)
        if naps is not None:
            naps.append(seconds)

    client = client or Lambda(stack)
    maintenance = Maintenance(client, "maintenance", pass_time, chance=lambda: 1.0)
    return main(list(arguments), lambda _: SimpleNamespace(maintenance=maintenance))


def test_an_audit_a_rebuild_and_an_audit(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    stack.clock.milliseconds += 3_600_000
    assert run(stack, "audit") == OK
    assert "b: no difference" in capsys.readouterr().out

    gone = next(row for row in rows(stack.dynamodb, "Rankings") if row["pk"]["S"].endswith("a#m7"))
    stack.dynamodb.delete_item(TableName="Rankings", Key={"pk": gone["pk"]})
    assert run(stack, "audit", "b") == DIFFERS
    out = capsys.readouterr().out
    assert "b: 1 missing" in out
    assert '"member": "m7"' in out

    assert run(stack, "rebuild", "b") == OK
    printed = capsys.readouterr()
    assert printed.out == "b: rebuild done\n"
    assert "announced: waiting 180 s" in printed.err
    assert run(stack, "audit", "b", "--grace", "60") == OK


def test_dead_letters(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    bodies = [orjson.dumps(event("m1", points)).decode() for points in ("5", 1.5)]
    records = [{"messageId": str(n), "body": body, "messageAttributes": {}} for n, body in enumerate(bodies)]
    assert stack.writer({"Records": records}, Context()) == {"batchItemFailures": []}
    stack.clock.milliseconds += 1_000

    assert run(stack, "dlq", "list") == OK
    seen = capsys.readouterr()
    assert "1 × metrics.points: expected a number, got '5'" in seen.out
    assert seen.err == "once the cause is fixed: `standings dlq replay`\n"
    assert run(stack, "--json", "dlq", "list", "--reason", "decimals") == OK
    (listed,) = json.loads(capsys.readouterr().out)["messages"]
    assert run(stack, "dlq", "replay", listed["id"]) == OK
    assert capsys.readouterr().out.startswith("1 replayed, 0 refused, 0 failed")
    assert [message["MessageBody"] for message in stack.activity.messages] == [bodies[1]]


def test_parked_records(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    (record,) = stack.dynamodb.stream("Scores")[0][1:2]
    stack.bucket.put_object(
        Bucket="failures",
        Key="parked/2026-11-21/1.json",
        Body=orjson.dumps({"reason": "no bucket", "record": record}),
        ContentType="application/json",
    )

    assert run(stack, "parked", "list") == OK
    assert "no bucket\n    1 records: b m0" in capsys.readouterr().out
    assert run(stack, "parked", "replay") == OK
    assert capsys.readouterr().out == "1 placed, 1 removed, 0 left\n"
    assert stack.bucket.objects == {}


def test_a_board_is_deleted_once_its_name_is_typed(
    stack: Stack, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins.input", lambda _: "c")
    assert run(stack, "delete", "b") == DIFFERS
    assert capsys.readouterr().err == "nothing was deleted\n"
    assert stack.get("/boards")[1]["boards"] == [{"board": "b"}]

    assert run(stack, "delete", "b", "--yes") == OK
    assert stack.get("/boards")[1]["boards"] == []


@pytest.mark.parametrize("command", [("delete", "b"), ("member", "erase", "m1")])
def test_where_nobody_answers_nothing_is_deleted(
    stack: Stack, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setattr("sys.stdin", Nobody())
    assert run(stack, *command) == DIFFERS
    assert capsys.readouterr().err.endswith("ed: nobody answers here; use --yes\n")
    assert stack.get("/boards/b/member", id="m1")[0] == 200


@pytest.mark.parametrize(
    ("command", "failures"), [("dlq", "refused messages"), ("parked", "stream records that could not be applied")]
)
def test_an_empty_list_says_so(stack: Stack, capsys: pytest.CaptureFixture[str], command: str, failures: str) -> None:
    assert run(stack, command, "list") == OK
    assert capsys.readouterr().out == f"there are no {failures}: nothing is to be done\n"
    assert run(stack, command, "list", "--board", "b") == OK
    assert capsys.readouterr().out == f"there are no {failures} that match: `standings {command} list` shows all\n"
    assert run(stack, command, "list", "--json") == OK
    assert json.loads(capsys.readouterr().out)["done"]


def test_a_store_that_is_unavailable_for_a_moment_does_not_end_a_rebuild(
    stack: Stack, capsys: pytest.CaptureFixture[str]
) -> None:
    naps: list[float] = []
    client = Lambda(stack, unavailable={0, 2, 3})
    assert run(stack, "rebuild", "b", client=client, naps=naps) == OK

    begun = {"rebuild": {"board": "b"}}
    continued = {"rebuild": {"board": "b", "begin": False}}
    assert client.payloads[:2] == [begun, begun]
    assert client.payloads[2:] == [continued] * (len(client.payloads) - 2)
    # 1 s for the first failure; after an answer 1 s and 2 s for two in a row; beside them the waits of the rebuild.
    assert [nap for nap in naps if nap < 20] == [1.0, 1.0, 2.0]
    printed = capsys.readouterr()
    assert printed.out == "b: rebuild done\n"
    assert "StoreUnavailableError: Rankings is throttled; trying again in 1.0 s (attempt 2 of 6)\n" in printed.err
    assert "trying again in 2.0 s (attempt 3 of 6)\n" in printed.err


@pytest.mark.parametrize("command", [("rebuild", "b"), ("audit",), ("dlq", "list"), ("parked", "replay")])
def test_a_store_that_stays_unavailable_ends_it_with_what_to_do(
    stack: Stack, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    naps: list[float] = []
    client = Lambda(stack, unavailable=range(100))
    assert run(stack, *command, client=client, naps=naps) == UNREACHABLE

    assert len(client.payloads) == 6
    assert naps == [1.0, 2.0, 4.0, 8.0, 16.0]
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == (
        "standings: StoreUnavailableError: Rankings is throttled; the function failed 6 times in a row: "
        "run the same command again later"
    )


def test_any_other_error_of_the_function_ends_it_at_once(stack: Stack) -> None:
    client = Lambda(stack)
    assert run(stack, "rebuild", "nobody", client=client) == WRONG
    assert len(client.payloads) == 1


def test_errors_say_what_they_are(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(stack, "rebuild", "nobody") == WRONG
    hint = "`standings boards list` shows the boards"
    assert capsys.readouterr().err == f"standings: board 'nobody' has had no event: {hint}\n"
    assert run(stack, "rebuild", "no*") == DIFFERS
    assert capsys.readouterr() == ("", f"standings: no board matches 'no*': {hint}\n")
    assert run(stack, "audit", "nobody") == DIFFERS
    assert capsys.readouterr().err == f"standings: board 'nobody' has had no event: {hint}\n"
    with running(stack.dynamodb, stack.clock, '[boards."c"]\nmetrics.points = { aggregate = "sum" }') as other:
        for command in ("audit", "rebuild"):
            assert run(other, command, "b") == WRONG
            assert "no family in boards.toml matches 'b'" in capsys.readouterr().err
    with pytest.raises(SystemExit) as wrong:
        run(stack, "audit", "b", "c")
    assert wrong.value.code == 2


def test_a_stack_that_is_none_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    class Formation:
        def describe_stacks(self, StackName: str) -> dict[str, Any]:  # noqa: N803
            return {"Stacks": [{"StackName": StackName, "Outputs": [{"OutputKey": "Other", "OutputValue": "x"}]}]}

    monkeypatch.setattr(Connection, "client", lambda _self, _service: Formation())
    with pytest.raises(StackError, match="'mine' has no output MaintenanceFunctionName"):
        Connection(parser().parse_args(["--stack", "mine", "audit"])).maintenance  # noqa: B018
