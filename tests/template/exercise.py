"""Makes the functions do everything that they can do, so that tests see every call to AWS that they can make."""

from copy import deepcopy
from itertools import count
from typing import Any, Final

from standings.domain.windows import DAY
from tests.support.aws.fakes import delivered
from tests.support.aws.stack import Stack, deliver, project
from tests.support.awslambda.pollers import Context
from tests.support.builders.checks import rows
from tests.support.builders.maintenance import call, finish

BOARDS: Final = """
[boards."*"]
late = "1 day"
settle = ["day"]
announce.day = { top = 3 }
metrics.points = { aggregate = "sum", windows = ["all", "day"] }
metrics.best = { aggregate = "max", windows = ["all"] }
"""
RANKING: Final = "/boards/b/points/all"
MOST: Final = 999_999_999_999_999
AT: Final = "2026-11-21T10:15:00Z"
READS: Final[list[tuple[str, dict[str, Any]]]] = [
    ("/boards", {}),
    ("/boards/b", {}),
    ("/boards/b/member", {"id": "m6", "ranks": "true"}),
    (RANKING, {"limit": 2}),
    (RANKING, {"rank": 5, "limit": 2}),
    (RANKING, {"around": "m6"}),
    (RANKING, {"method": "dense"}),
    (f"{RANKING}/rank", {"member": "m6"}),
    (f"{RANKING}/rank", {"score": 5}),
    (RANKING, {"profiles": "true"}),
    ("/members", {"id": "m6"}),
    ("/events", {"id": "e1"}),
    ("/members", {"name": "ad"}),
    ("/members", {"name": "ad", "board": "b"}),
    (f"{RANKING}/percentile", {"p": 50}),
    (f"{RANKING}/distribution", {}),
]


def everything(stack: Stack, engine: Any) -> None:
    """Call every function for everything that it does, including its failures."""
    numbers = count()

    def write(*events: dict[str, Any]) -> None:
        deliver(stack, [{"id": f"e{next(numbers)}", "board": "b", "at": AT, **event} for event in events])
        project(stack)

    write(*({"member": f"m{n}", "metrics": {"points": n * 200, "best": n}} for n in range(1, 40)))
    write({"member": "m2", "metrics": {"best": 0}}, {"member": "m1", "metrics": {"points": MOST}})
    change_over_http(stack)
    # Refused: a total out of bounds, an unknown metric, and a body that the dead-letter queue cannot hold.
    write(*[{"member": "m1", "metrics": {"points": MOST}}] * 9)
    write({"member": "m3", "metrics": {"beauty": 1}})
    unfit = delivered(0, {"MessageBody": "SQS does not accept this: \x00", "MessageAttributes": {}})
    assert stack.writer({"Records": [unfit]}, Context()) == {"batchItemFailures": []}
    damaged = deepcopy(engine.stream("Scores")[0][-1])
    damaged["dynamodb"]["NewImage"]["v"] = {"S": "?"}
    stack.projector({"Records": [damaged]}, Context())
    for path, arguments in READS:
        assert stack.get(path, **arguments)[0] == 200, path
    assert stack.post(f"{RANKING}/ranks", {"members": ["m6", "m7"]})[0] == 200
    # The second look at a top is too soon, and asks for another one.
    for _ in range(2):
        assert stack.announcer({"Records": stack.looks.take()}, Context()) == {"batchItemFailures": []}
        write({"member": "m9", "metrics": {"points": 1}})
    # The audit finds a missing row, and the rebuild restores it.
    row = next(row for row in rows(engine, "Rankings") if row["pk"]["S"].endswith("#m7"))
    engine.delete_item(TableName="Rankings", Key={"pk": row["pk"]})
    stack.clock.milliseconds += 3_600_000
    maintain(stack)


def change_over_http(stack: Stack) -> None:
    assert stack.post("/events", {"id": "posted", "board": "b", "member": "m1", "metrics": {"points": 1}})[0] == 202
    for member, body in (("m4", {"hidden": True}), ("m4", {"hidden": False}), ("new", None)):
        assert stack.put("/boards/b/member", body, id=member)[0] == 200
    for member in ("m5", "m39", "new"):
        assert stack.delete("/boards/b/member", id=member)[0] == 204
    for profile in ({"name": "Ada"}, {"name": None, "country": "DE"}, {"name": "Ada"}):
        assert stack.put("/members", profile, id="m6")[0] == 200
    assert stack.put("/members", {"name": "Bob"}, id="m7")[0] == 200
    assert stack.delete("/members", id="m7")[0] == 204
    project(stack)


def maintain(stack: Stack) -> None:
    finish(stack, "audit", board="b")
    while not call(stack, "audits", "next", read_units=100)["done"]:
        pass
    finish(stack, "audits", "show")
    finish(stack, "rebuild", board="b")
    stack.clock.milliseconds += 3 * DAY
    finish(stack, "settlements", "next")
    finish(stack, "settle", board="b", window="day", again=True)
    finish(stack, "erase", member="m8")
    letters = finish(stack, "dead_letters", "list")["messages"]
    finish(stack, "dead_letters", "delete", ids=[letters[0]["id"]])
    finish(stack, "dead_letters", "replay")
    finish(stack, "parked", "list")
    finish(stack, "parked", "replay")
