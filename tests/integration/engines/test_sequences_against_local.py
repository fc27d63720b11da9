"""Random sequences of requests have the same effects on the engine and on DynamoDB Local."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.dynamodb.comparison import contents, engine_changes, index_contents, local_changes, outcome
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import delete_tables
from tests.support.dynamodb.things import THINGS, key, numbers

Request = tuple[str, dict[str, Any]]


NUMBERS = st.one_of(st.integers(-3, 3).map(str), st.sampled_from(["0.5", "-1.25", "1e20", "12345678901234567890"]))
KEYS = st.sampled_from([("k1", "a"), ("k1", "b"), ("k2", "a"), ("k3", "é")])
R = st.sampled_from(["R", "Q"])
S = st.sampled_from(["1", "2", "é", "z", "Z"])
CONDITIONS = st.sampled_from(
    [
        None,
        "attribute_not_exists(pk)",
        "attribute_exists(pk)",
        "attribute_not_exists(pk) OR v < :c",
        "v = :c",
        "NOT v > :c",
        "v BETWEEN :z AND :c",
        "v <> :c AND attribute_exists(r)",
    ]
)
UPDATES = st.sampled_from(
    [
        "ADD v :x",
        "SET v = :x",
        "SET v = if_not_exists(v, :z) + :x",
        "SET v = v - :x",
        "REMOVE v",
        "SET r = :r, s = :s",
        "SET r = :r, s = :s, t = :x ADD v :x",
        "SET s = :s",
        "REMOVE r",
        "SET t = v REMOVE s",
        "ADD v :x, t :x REMOVE w",
        "SET w = :s, n = :x",
        "SET v = :s",
    ]
)


def _values(expressions: str, drawn: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in drawn.items() if name in expressions}


@st.composite
def actions(draw: st.DrawFn, pk_sk: tuple[str, str]) -> dict[str, Any]:
    pk, sk = pk_sk
    drawn = {
        **numbers(x=draw(NUMBERS), c=draw(st.sampled_from(["0", "1", "2"])), z="0"),
        ":r": {"S": draw(R)},
        # Each entry of an index has its own sort key: DynamoDB does not define the order of equal ones.
        ":s": {"S": draw(S) + pk + sk},
    }
    condition = draw(CONDITIONS)
    kind = draw(st.sampled_from(["Put", "Update", "Update", "Update", "Delete", "ConditionCheck"]))
    action: dict[str, Any] = {"TableName": "Things"}
    text = ""
    if kind == "Put":
        names = draw(st.sets(st.sampled_from(["v", "t", "w", "r", "s"])))
        values = {"v": drawn[":x"], "t": drawn[":x"], "w": {"B": b"\x00w"}, "r": drawn[":r"], "s": drawn[":s"]}
        action["Item"] = {**key(pk, sk), **{name: values[name] for name in sorted(names)}}
    else:
        action["Key"] = key(pk, sk)
    if kind == "Update":
        text = action["UpdateExpression"] = draw(UPDATES)
    if kind == "ConditionCheck" and condition is None:
        condition = "attribute_exists(pk)"
    if condition is not None:
        action["ConditionExpression"] = condition
        text += condition
        if draw(st.booleans()):
            action["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    values = _values(text, drawn)
    if values:
        action["ExpressionAttributeValues"] = values
    return {kind: action}


@st.composite
def requests(draw: st.DrawFn) -> Request:
    method = draw(
        st.sampled_from(["transact_write_items", "transact_write_items", "single", "query", "batch_get_item"])
    )
    if method == "transact_write_items":
        chosen = draw(st.lists(KEYS, min_size=1, max_size=4, unique=True))
        return method, {"TransactItems": [draw(actions(pk_sk)) for pk_sk in chosen]}
    if method == "single":
        ((kind, action),) = draw(actions(draw(KEYS))).items()
        if kind == "ConditionCheck":
            return "get_item", {"TableName": "Things", "Key": action["Key"]}
        action["ReturnValues"] = draw(st.sampled_from(["NONE", "ALL_OLD"]))
        return f"{kind.lower()}_item", action
    if method == "batch_get_item":
        return method, {"RequestItems": {"Things": {"Keys": [key("k1", "a"), key("k2", "a"), key("k3", "é")]}}}
    condition = draw(st.sampled_from(["r = :r", "r = :r AND s > :s", "r = :r AND s <= :s"]))
    return "query", {
        "TableName": "Things",
        "IndexName": "places",
        "KeyConditionExpression": condition,
        "ExpressionAttributeValues": _values(condition, {":r": {"S": draw(R)}, ":s": {"S": draw(S)}}),
        "ScanIndexForward": draw(st.booleans()),
        "Limit": draw(st.integers(1, 4)),
    }


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sequence=st.lists(requests(), min_size=1, max_size=25))
def test_a_random_sequence_leaves_the_same_tables_indexes_and_streams(
    local_client: Any, sequence: list[Request]
) -> None:
    delete_tables(local_client)
    engine = Engine(shards=2)
    for client in (engine, local_client):
        client.create_table(**THINGS)

    for method, arguments in sequence:
        assert outcome(engine, method, **arguments) == outcome(local_client, method, **arguments)

    assert contents(engine) == contents(local_client)
    for index in ("places", "bytes"):
        assert index_contents(engine, index) == index_contents(local_client, index)
    assert engine_changes(engine) == local_changes(local_client)
