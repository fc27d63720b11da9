"""A transaction that is sent as it was built equals the request that botocore would make of it, in any protocol."""

import re
from dataclasses import replace
from io import BytesIO
from random import Random
from typing import Any

import orjson
import pytest
from botocore.awsrequest import AWSResponse
from botocore.session import get_session

from benchmarks.harness import population
from standings.aws.dynamodb.as_built import send_as_built
from standings.aws.dynamodb.scores import Addition, NewReceipt, Receipt, Rewrite, Scores
from standings.domain.members import Image, Move
from standings.domain.scoring import Place
from standings.rankings.calendar.storing import CalendarStorage
from standings.stores import StoreRefusedError
from tests.support.aws.stack import ManualClock
from tests.support.builders.maintenance import clock_of

NOW = population.NOW
CREDENTIALS: dict[str, Any] = {"aws_access_key_id": "none", "aws_secret_access_key": "none"}
RECEIPTS = [
    NewReceipt("e1", bytes(range(12)), NOW),
    NewReceipt("é 用户 😀", b"\xff" * 12, NOW, is_superseded=True, replaces=Receipt(b"", 5, ("t", 5))),
]
ADDITION = Addition(population.BOARD, "clan#7", {"a0a": -3}, ["b1bd20778"], ([], [], []), NOW, 3, known=False)
IMAGE = Image(population.BOARD, 'a "b" \\ \n', 7, NOW, 5, hidden=True, values={"a0a": 5}, tie_keys={"a0a": "~é"})


BEFORE_CALL = "before-call.dynamodb.TransactWriteItems"
TOKEN = re.compile(rb"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
EMPTY = {"json": b"{}", "smithy-rpc-v2-cbor": b"\xa0"}
"""An empty answer in each protocol."""


class Wire:
    """The stores on a client that sends nothing and keeps its requests."""

    def __init__(self, *, as_built: bool, protocol: str = "json") -> None:
        self.bodies: list[bytes] = []
        self.sent: list[dict[str, Any]] = []
        self._protocol = protocol
        session = get_session()
        # A botocore of its own: another may prefer another of the protocols that DynamoDB speaks.
        model = session.get_component("data_loader").load_service_model("dynamodb", "service-2")
        model["metadata"] |= {"protocol": protocol, "protocols": [protocol]}
        client: Any = session.create_client("dynamodb", region_name="eu-central-1", **CREDENTIALS)
        if as_built:
            send_as_built(client)
        self.events = client.meta.events
        self.events.register("before-send.dynamodb", self._answer)
        self.scores = Scores(client, "Scores", "Receipts", clock_of(ManualClock(NOW)))
        self.rankings = CalendarStorage(client, "Rankings", clock_of(ManualClock(NOW)))

    def apply(self) -> list[Any]:
        return list(
            self.scores.apply(
                RECEIPTS, [ADDITION, Rewrite(IMAGE, replace(IMAGE, version=6)), Rewrite(IMAGE, IMAGE)], NOW
            )
        )

    def _answer(self, request: Any, **_: Any) -> AWSResponse:
        assert int(request.headers["Content-Length"]) == len(request.body)
        self.bodies.append(request.body)
        if self._protocol == "json":
            self.sent.append(orjson.loads(request.body))
        body = EMPTY[self._protocol]
        raw: Any = BytesIO(body)
        raw.stream = lambda: [body]
        return AWSResponse(request.url, 200, {}, raw)  # type: ignore[arg-type]


def test_the_request_is_the_one_that_botocore_would_make() -> None:
    wires = [Wire(as_built=True), Wire(as_built=False)]
    rng = Random(1)
    ranking = population.ranking_of(population.family())
    moves = [
        Move(ranking, population.member(number), Place(-rng.randrange(900)), Place(-rng.randrange(900)), 2, NOW)
        for number in range(40)
    ]
    for wire in wires:
        assert wire.apply() == []
        assert wire.rankings.move(ranking, moves) == []

    tokens = [request.pop("ClientRequestToken") for wire in wires for request in wire.sent]
    assert wires[0].sent == wires[1].sent
    assert len(set(tokens)) == 4
    assert len(wires[0].sent[0]["TransactItems"]) == 5


def test_a_request_with_invalid_text_or_bytes_is_refused() -> None:
    wire = Wire(as_built=True)
    for receipts in (RECEIPTS, []):  # The second time the first action has it.
        with pytest.raises(StoreRefusedError):
            wire.scores.apply(receipts, [ADDITION._replace(removes=["half \ud800"])], NOW)
    with pytest.raises(StoreRefusedError):
        wire.scores.apply([NewReceipt("e1", None, NOW)], [], NOW)  # type: ignore[arg-type]
    assert wire.sent == []


def test_where_botocore_does_not_speak_json_the_request_is_its_own() -> None:
    wires = [Wire(as_built=as_built, protocol="smithy-rpc-v2-cbor") for as_built in (True, False)]
    for wire in wires:
        assert wire.apply() == []
        assert wire.apply() == []

    bodies = [[TOKEN.sub(b"", body) for body in wire.bodies] for wire in wires]
    assert bodies[0] == bodies[1]
    assert len({body for wire in wires for body in wire.bodies}) == 4


def test_what_botocore_makes_of_the_first_action_is_never_what_is_sent_and_would_be_refused() -> None:
    """DynamoDB refuses two actions on one item, so a botocore that skips our event does no harm."""
    wire = Wire(as_built=True)
    made: list[dict[str, Any]] = []
    wire.events.register_first(BEFORE_CALL, lambda params, **_: made.append(orjson.loads(params["body"])))

    assert wire.apply() == []
    one, same = made[0]["TransactItems"]
    assert one == same == wire.sent[0]["TransactItems"][0]


@pytest.mark.parametrize("text", ["[]", '{"transactItems": []}', '{"TransactItems": [{}, {}]}'])
def test_where_botocore_makes_other_json_the_request_is_its_own(text: str) -> None:
    wire = Wire(as_built=True)
    wire.events.register_first(BEFORE_CALL, lambda params, **_: params.update(body=text.encode()))

    assert wire.apply() == []
    assert wire.bodies == [text.encode()]
