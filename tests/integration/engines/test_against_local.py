"""The engine answers as DynamoDB Local does: single requests at the limits, and random sequences of requests."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import delete_tables
from tests.support.dynamodb.things import (
    THINGS,
    contents,
    engine_changes,
    index_contents,
    key,
    local_changes,
    numbers,
    outcome,
    put,
    texts,
    update,
)

pytestmark = pytest.mark.thorough
Request = tuple[str, dict[str, Any]]
Pair = tuple[Engine, Any]

A: dict[str, Any] = {
    **key("a"),
    "n": {"N": "1"},
    "t": {"S": "text"},
    "f": {"BOOL": False},
    "by": {"B": b"\x00\xff"},
    "tags": {"NS": ["1", "2"]},
    "li": {"L": [{"N": "1"}, {"S": "two"}]},
}
FULL = {**key("full"), "x": {"S": "x" * (409_600 - 11)}}
SOME: dict[str, Any] = {**numbers(v=1, w=2, o=5), **texts(a="te", b="S")}
SOME |= {
    ":by": {"B": b"\x01"},
    ":no": {"BOOL": False},
    ":yes": {"BOOL": True},
    ":l": {"L": [{"N": "3"}, {"B": b"\x01"}]},
    ":ns": {"NS": ["2", "3"]},
}

CONDITIONS = """
    n = :v AND NOT n = :w
    n < :w AND n >= :v
    NOT (n < :v) AND n < :w
    gone = :v OR gone < :w
    NOT gone = :v AND n > :v
    (n = :v) AND (attribute_exists(pk) OR n > :w)
    n = :v OR n = :w AND attribute_exists(gone)
    t < :w OR f = :v
    attribute_exists(by) AND n < :w AND n >= :v
    attribute_not_exists(gone) OR n <= :v AND n > :w
    n = :unknown
    status = :v
    NOT contains(tags, :w) OR contains(tags, :v)
    t > :a AND t < :b
    by < :by
    attribute_not_exists(by) OR by <= :by
    gone < :by OR n < :by
    f < :yes
    f = :no AND by = :by
    """.strip().splitlines()

UPDATES = """
    SET n = :o
    SET n = n + :o
    SET n = if_not_exists(n, :o), m = if_not_exists(m, :o)
    SET m = if_not_exists(m, :o) + :o
    SET m = n, n = :o
    SET m = tags, k = li, j = :o
    SET m = n + :o REMOVE n ADD gone :ns
    SET m = gone, n = :o
    SET n = gone + :o
    SET n = t + :o
    SET n = n + :a
    SET n = :o, n = :o
    SET n = :o REMOVE n
    SET pk = :o
    SET status = :o
    SET n = :unknown
    ADD n :o, m :o
    ADD t :o
    ADD tags :o
    ADD n :a
    ADD tags :ns
    REMOVE n, gone ADD m :o
    SET li = list_append(li, :l)
    SET li = list_append(t, :l)
    SET li = list_append(li, :o)
    SET li = list_append(gone, :l)
    SET k = list_append(li, :l) REMOVE li[0]
    SET li = list_append(li, :l) REMOVE li[0]
    REMOVE li[0], li[1]
    REMOVE li[1], li[7], n
    REMOVE li[7]
    REMOVE li[0], li[0]
    REMOVE li[0], li
    REMOVE li, li[0]
    REMOVE t[0]
    REMOVE gone[0], n
    REMOVE tags[0]
    REMOVE li[0] ADD n :o
    SET r = :a, s = :a
    SET r = :o
    """.strip().splitlines()

NUMBERS = ("0", "-0", "00012", "1e3", "1.0", "5.", "9" * 38, "abc", "", " 1", "1_0", "NaN", "1e")


def _update(expression: str | None, values: dict[str, Any] | None = None, **more: Any) -> Request:
    request: dict[str, Any] = {"TableName": "Things", "Key": key("a"), "ReturnValues": "ALL_NEW", **more}
    if expression is not None:
        request["UpdateExpression"] = expression
    if values is not None:
        request["ExpressionAttributeValues"] = values
    return "update_item", request


def _used(text: str) -> dict[str, Any] | None:
    words = set(text.replace(",", " ").replace("(", " ").replace(")", " ").split())
    return {name: value for name, value in SOME.items() if name in words} or None


def _tx(*actions: dict[str, Any], **more: Any) -> Request:
    return "transact_write_items", {"TransactItems": list(actions), **more}


def _put(**more: Any) -> Request:
    return "put_item", {"TableName": "Things", "Item": key("a"), **more}


def _keyed(method: str, **more: Any) -> Request:
    return method, {"TableName": "Things", "Key": key("a"), **more}


def _batch(*keys: Any, **more: Any) -> Request:
    return "batch_get_item", {"RequestItems": {"Things": {"Keys": list(keys), **more}}}


def _gets(*keys: Any) -> Request:
    gets = [{"Get": {"TableName": "Things", "Key": each}} for each in keys]
    return "transact_get_items", {"TransactItems": gets}


def _writes(*entries: dict[str, Any]) -> Request:
    return "batch_write_item", {"RequestItems": {"Things": list(entries)}}


MANY = [key(str(number)) for number in range(101)]
OLD: Any = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
WITHOUT_N: Any = {"ConditionExpression": "attribute_not_exists(n)"}
REQUESTS: list[Request] = [
    *(_update("REMOVE nothing", _used(text), ConditionExpression=text) for text in map(str.strip, CONDITIONS)),
    *(_update(text, _used(text)) for text in map(str.strip, UPDATES)),
    *(_update(text, {":v": {"N": number}}) for text in ("SET c = :v", "ADD c :v") for number in NUMBERS),
    # what a request may hold
    _update("REMOVE nothing", numbers(v=1), ConditionExpression=" OR ".join(["n = :v"] * 200)),
    _update("SET n = :v" + " " * 4100, numbers(v=1)),
    _update("SET n = :n", numbers(n=1, m=2)),
    _update("REMOVE n", {}),
    _update("REMOVE n", numbers(n=2), ConditionExpression="n = :n", **OLD),
    _update("REMOVE n", Key=key("none"), ConditionExpression="attribute_exists(pk)", **OLD),
    *(_update(text, Key=key("none")) for text in ("REMOVE li[0]", "REMOVE n", None)),
    _update("ADD n :v", numbers(v=0), Key=key("none")),
    *(
        _update("SET n = :v, m = :v REMOVE t", numbers(v=7), ReturnValues=values)
        for values in ("NONE", "ALL_OLD", "ALL_NEW")
    ),
    *(
        _update("SET r = :r, s = :s", texts(r=r, s=s))
        for r, s in (("r" * 2048, "s" * 1025), ("r" * 2049, "s"), ("", "s"))
    ),
    *(_update("SET y = :y", texts(y=y), Key=key("full"), ReturnValues="NONE") for y in ("1234", "12345")),
    # placeholders of names
    *(
        _update(text, numbers(v=7), ExpressionAttributeNames=dict(zip(("#0a", "#b", "#c"), names, strict=False)))
        for text, names in (
            ("SET #0a=:v,#b=:v REMOVE #c", ("n", "status", "t")),
            ("SET #0a=:v REMOVE #b", ("n", "n")),
            ("SET #0a = :v", ("pk",)),
            ("SET #0a = :v", ("n", "m")),
            ("SET #0a = :v, #b = :v", ("n",)),
            ("SET n = :v", ()),
            ("SET " + ",".join(["#0a=:v", *(f"{'x' * 20}{number}=:v" for number in range(150))]), ("y" * 200,)),
        )
    ),
    _update("REMOVE n", numbers(v=1), ConditionExpression="#n = :v", ExpressionAttributeNames={"#n": "n"}),
    # puts and deletes
    *(_put(ReturnValues=values) for values in ("NONE", "ALL_OLD", "ALL_NEW")),
    _put(ExpressionAttributeValues=numbers(v=1)),
    _put(ConditionExpression="attribute_not_exists(pk)", **OLD),
    _put(ConditionExpression="attribute_not_exists(pk)"),
    *(
        _put(Item={**key("a"), "x": {"L": [{"B": b"x" * 200_000}, {"S": "x" * size}, {"N": "1"}]}})
        for size in (409_600 - 200_018, 409_600 - 200_017)
    ),
    *(
        _put(Item=item)
        for item in (
            *(key(""), key("a", ""), key("p" * 2048, "s" * 1024), key("p" * 2049), key("ü" * 1025)),
            *(key("p", "s" * 1025), {"pk": {"S": "a"}}, {"pk": {"S": "a"}, "sk": {"N": "1"}}),
            *({**key("a"), "x": {"S": "x" * (409_600 - less)}} for less in (7, 6)),
            *({**key("a"), "r": one} for one in ({"N": "1"}, {"S": ""})),
            *({**key("a"), "x": one} for one in ({"S": "1", "N": "1"}, {"NS": list[str]()}, {"NS": ["1", "01"]})),
            {**key("a"), "x": {"S": ""}, "y": {"B": b""}, "z": {"L": []}},
        )
    ),
    _keyed("delete_item", Key=key("none")),
    _keyed("delete_item", ConditionExpression="attribute_not_exists(n)"),
    _put(TableName="Nothing"),
    # reads
    _keyed("get_item"),
    _keyed("get_item", Key=key("none"), ConsistentRead=True),
    *(_keyed("get_item", Key=each) for each in ({"pk": {"S": "a"}}, {**key("a"), "n": {"N": "1"}}, key("a", ""))),
    _batch(key("a"), key("none"), key("full"), ConsistentRead=True),
    _batch(key("a"), key("a")),
    _batch(*MANY),
    ("batch_get_item", {"RequestItems": {"Nothing": {"Keys": [key("none")]}}}),
    _gets(key("a"), key("none")),
    _gets(key("a"), key("a")),
    _gets(*MANY[:100]),
    _gets(*MANY),
    # batches and transactions
    _writes({"DeleteRequest": {"Key": key("a")}}),
    _writes(*[{"DeleteRequest": {"Key": key("a")}}] * 2),
    _writes(*({"PutRequest": {"Item": item}} for item in MANY[:26])),
    _tx(put("a", n={"N": "9"}), put("b")),
    _tx(put("b", condition="attribute_not_exists(pk)"), put("a", condition="attribute_not_exists(pk)"), put("c")),
    _tx(put("b", condition="attribute_exists(pk)"), put("c")),
    _tx(put("b"), put("b")),
    _tx(put("b"), {"Delete": {"TableName": "Things", "Key": key("b")}}),
    _tx(*(put(f"p{i}") for i in range(100))),
    _tx(*(put(f"p{i}") for i in range(101))),
    _tx(put("b"), update("a", "ADD t :v", numbers(v=1))),
    _tx(put("b"), update("a", "SET n = gone")),
    _tx(put("b"), update("a", "SET n = :v", numbers(v=1, w=1))),
    _tx(put("b"), update("a", "SET n = :v", numbers(v=1), "n = :w")),
    _tx(put("b"), update("full", "SET y = :y", texts(y="12345"))),
    _tx(put("b", x={"S": "x" * 409_600})),
    _tx(*(put(f"p{i}", x={"S": "x" * 400_000}) for i in range(11))),
    _tx(put("b", r={"N": "1"})),
    _tx(put(""), put("b")),
    _tx(put("b"), update("a", "SET pk = :v", texts(v="x"))),
    _tx({**put("b"), **update("a", "REMOVE n")}),
    _tx({"Put": {"TableName": "Nothing", "Item": key("a")}}),
    *(_tx(put("b"), {"ConditionCheck": {"TableName": "Things", "Key": key(pk), **WITHOUT_N}}) for pk in ("a", "none")),
]


@pytest.fixture(scope="module")
def pair(shared_local_client: Any) -> Iterator[Pair]:
    """The engine and DynamoDB Local with Things, for all requests of the module."""
    delete_tables(shared_local_client)
    engine = Engine(shards=3)
    for client in (engine, shared_local_client):
        client.create_table(**THINGS)
    yield engine, shared_local_client
    delete_tables(shared_local_client)


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: f"{request[0]}-{str(request[1])[:80]}")
def test_one_request_has_the_same_answer_and_effect(pair: Pair, request_: Request) -> None:
    for client in pair:
        for item in client.scan(TableName="Things")["Items"]:
            client.delete_item(TableName="Things", Key={name: item[name] for name in ("pk", "sk")})
        for item in (A, FULL):
            client.put_item(TableName="Things", Item=item)
    engine, real = pair
    method, arguments = request_

    assert outcome(engine, method, **arguments) == outcome(real, method, **arguments)
    assert contents(engine) == contents(real)


def test_a_transaction_is_as_large_as_what_it_sends_whatever_its_items_are(pair: Pair) -> None:
    items = [{**key(str(number)), "x": {"S": "x" * 380_000}} for number in range(12)]
    patch: dict[str, Any] = {"UpdateExpression": "SET #00=:00", "ExpressionAttributeNames": {"#00": "x" * 99}}
    patch["ExpressionAttributeValues"] = {":00": {"N": "1"}}
    requests: list[list[dict[str, Any]]] = [
        [{"Put": {"Item": item}} for item in items],
        [{"Update": {"Key": key(str(number)), **patch}} for number in range(12)],
    ]
    outcomes = []
    for client in pair:
        for item in items:
            client.put_item(TableName="Things", Item=item)
        for actions in requests:
            sent = [{kind: {"TableName": "Things", **of} for kind, of in action.items()} for action in actions]
            outcomes.append(outcome(client, "transact_write_items", TransactItems=sent))
    assert outcomes == ["invalid", {}] * 2


AMOUNTS = st.one_of(st.integers(-3, 3).map(str), st.sampled_from(["100", "-2000", "12345678901234567890"]))
KEYS = st.sampled_from([("k1", "a"), ("k1", "b"), ("k2", "a"), ("k3", "é")])
R = st.sampled_from(["R", "Q"])
S = st.sampled_from(["1", "2", "é", "z", "Z"])
BOUNDS = ("{} BETWEEN :s AND :e", "begins_with({}, :s)")
IF = st.sampled_from(
    [
        *(None, "attribute_not_exists(pk)", "attribute_exists(pk)", "attribute_not_exists(pk) OR v < :c", "v = :c"),
        *("NOT v > :c", "NOT v = :c AND attribute_exists(r)"),
    ]
)
THEN = st.sampled_from(
    [
        *("ADD v :x", "SET v = :x", "SET v = if_not_exists(v, :z) + :x", "REMOVE v", "SET r = :r, s = :s"),
        *("SET r = :r, s = :s, t = :x ADD v :x", "SET s = :s", "REMOVE r", "SET t = v REMOVE s"),
        *("ADD v :x, t :x REMOVE w", "SET w = :s, n = :x", "SET v = :s"),
    ]
)


def _values(expressions: str, drawn: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in drawn.items() if name in expressions}


@st.composite
def actions(draw: st.DrawFn, pk_sk: tuple[str, str]) -> dict[str, Any]:
    pk, sk = pk_sk
    drawn = {
        **numbers(x=draw(AMOUNTS), c=draw(st.sampled_from(["0", "1", "2"])), z="0"),
        ":r": {"S": draw(R)},
        # Each entry of an index has its own sort key: DynamoDB does not define the order of equal ones.
        ":s": {"S": draw(S) + pk + sk},
    }
    condition = draw(IF)
    kind = draw(st.sampled_from(["Put", "Update", "Update", "Update", "Delete", "ConditionCheck"]))
    action: dict[str, Any] = {"TableName": "Things"}
    text = ""
    if kind == "Put":
        names = draw(st.sets(st.sampled_from(["v", "t", "w", "r", "s", "b"])))
        values = {"v": drawn[":x"], "t": drawn[":x"], "w": {"B": b"\x00w"}, "r": drawn[":r"], "s": drawn[":s"]}
        values["b"] = drawn[":s"]
        action["Item"] = {**key(pk, sk), **{name: values[name] for name in sorted(names)}}
    else:
        action["Key"] = key(pk, sk)
    if kind == "Update":
        text = action["UpdateExpression"] = draw(THEN)
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
    return "query", draw(queries())


@st.composite
def queries(draw: st.DrawFn) -> dict[str, Any]:
    """A query of the table or of an index, by any bounds, perhaps from an entry on that may not be there."""
    index = draw(st.sampled_from([None, "places", "places", "whole"]))
    hash_, range_ = {None: ("pk", "sk"), "places": ("r", "s"), "whole": ("r", "b")}[index]
    bound = draw(st.sampled_from(["", *(f"{{}} {sign} :s" for sign in ("=", "<", "<=", ">", ">=")), *BOUNDS]))
    condition = f"{hash_} = :r" + (f" AND {bound.format(range_)}" if bound else "")
    pk, sk = draw(KEYS)
    low, high = draw(S), draw(S)
    values = {":r": {"S": draw(R) if index else pk}, ":s": {"S": low}, ":e": {"S": high}}
    request: dict[str, Any] = {
        "TableName": "Things",
        "KeyConditionExpression": condition,
        "ExpressionAttributeValues": _values(condition, values),
        "ScanIndexForward": draw(st.booleans()),
        "Limit": draw(st.integers(1, 4)),
    }
    if index is not None:
        request["IndexName"] = index
    if draw(st.booleans()):
        start = {**key(pk, sk), **({hash_: values[":r"], range_: {"S": low + pk + sk}} if index else {})}
        request["ExclusiveStartKey"] = start
    if draw(st.integers(0, 3)) == 0:
        request["Select"] = "COUNT"
    return request


@pytest.mark.parametrize("there", ["", "b", "ac"])
def test_a_page_begins_within_a_range_or_is_refused(local_client: Any, there: str) -> None:
    engine = Engine()
    for client in (engine, local_client):
        client.create_table(**THINGS)
        for sk in there:
            client.put_item(TableName="Things", Item=key("p", sk))
    ranges = ["sk BETWEEN :s AND :e", "begins_with(sk, :s)", *(f"sk {sign} :s" for sign in ("=", "<", "<=", ">", ">="))]
    for bounds, forward, start in product(ranges, (True, False), "abc"):
        condition = f"pk = :r AND {bounds}"
        values = {":r": {"S": "p"}, ":s": {"S": "a" if "BETWEEN" in bounds else "b"}, ":e": {"S": "b"}}
        request: dict[str, Any] = {
            "TableName": "Things",
            "KeyConditionExpression": condition,
            "ExpressionAttributeValues": _values(condition, values),
            "ScanIndexForward": forward,
            "ExclusiveStartKey": key("p", start),
        }
        assert outcome(engine, "query", **request) == outcome(local_client, "query", **request), (
            bounds,
            forward,
            start,
        )


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sequence=st.lists(requests(), min_size=1, max_size=25))
def test_a_random_sequence_leaves_the_same_items_and_streams(local_client: Any, sequence: list[Request]) -> None:
    delete_tables(local_client)
    engine = Engine(shards=2)
    for client in (engine, local_client):
        client.create_table(**THINGS)

    for method, arguments in sequence:
        assert outcome(engine, method, **arguments) == outcome(local_client, method, **arguments)

    assert contents(engine) == contents(local_client)
    for index in ("places", "whole"):
        assert index_contents(engine, index) == index_contents(local_client, index)
    assert engine_changes(engine) == local_changes(local_client)
