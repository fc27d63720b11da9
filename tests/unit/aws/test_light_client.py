"""The light client of DynamoDB does what botocore's client does: both are asked the same, and do the same."""

import gzip
import random
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event
from typing import Any, Final
from unittest import mock
from uuid import UUID
from zlib import crc32

import botocore
import orjson
import pytest
from botocore.configprovider import BOTOCORE_DEFAUT_SESSION_VARIABLES
from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError
from botocore.session import get_session

from standings.aws.dynamodb import light_client
from standings.aws.dynamodb.light_client import CERTIFICATES, TO_BOTOCORE, LightClient, connection_of
from standings.wiring import building_blocks
from tests.faults import aws, world
from tests.support.aws.servers import free_port, listening
from tests.support.aws.stack import ManualClock, running
from tests.support.builders import maintenance, querying
from tests.support.dynamodb.tables import engine_with_tables

NOW: Final = datetime(2026, 11, 28, 10, 15, tzinfo=UTC)
KEYS: Final = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "wJalr/XUtnFEMI", "HOME": "/nowhere"}
LAMBDA: Final = {**KEYS, "AWS_SESSION_TOKEN": "tok/en+==", "AWS_DEFAULT_REGION": "eu-central-1"}
GET: Final[dict[str, Any]] = {"TableName": "Scores", "Key": {"pk": {"S": "é 用户 😀"}}, "ConsistentRead": True}

PUT: Final[dict[str, Any]] = {"TableName": "Scores", "Item": {"pk": {"S": "x"}, "d": {"B": b"\x00\xff"}}}


class Answer:
    """What a server answers: a status, headers and a body; none drops the connection, `late` sends the body in time."""

    def __init__(self, status: int, body: bytes | dict[str, Any] = b"", late: bool = False, **headers: str) -> None:
        self.status, self.late = status, late
        self.body = body if isinstance(body, bytes) else orjson.dumps(body)
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class Server(ThreadingHTTPServer):
    """Gives each request the same answer, and keeps the requests."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer: Answer | None = Answer(200, b"{}")
        self.requests: list[tuple[dict[str, str], bytes]] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def do_POST(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append((headers, self.rfile.read(int(headers["content-length"]))))
        answer = self.server.answer
        if answer is None or answer.late:
            if answer is not None:
                Event().wait(0.3)
            self.close_connection = True
            return
        self.send_response(answer.status)
        for name, value in {"content-length": str(len(answer.body)), **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    with listening(server):
        yield server


@pytest.fixture(autouse=True)
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The environment of a function, and a fixed time and token. Sleeps take no time, and are noted."""
    for name in [*TO_BOTOCORE, *map(str.upper, TO_BOTOCORE), *CERTIFICATES, "AWS_ACCOUNT_ID"]:
        monkeypatch.delenv(name, raising=False)
    for name, value in LAMBDA.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: NOW)
    monkeypatch.setattr(building_blocks, "now", lambda: int(NOW.timestamp() * 1000))
    token = UUID("0b774808-3b04-40b3-b121-c3e7b5c19e20")
    monkeypatch.setattr(light_client, "uuid4", lambda: token)
    monkeypatch.setattr("botocore.handlers.uuid.uuid4", lambda: token)
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    return slept


def clients(monkeypatch: pytest.MonkeyPatch, url: str) -> tuple[Any, Any]:
    """The light client, and botocore's, of an address."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", url)
    light = building_blocks.client("dynamodb")
    monkeypatch.setenv("DYNAMODB_CLIENT", "botocore")
    return light, building_blocks.client("dynamodb")


SESSION: Final = get_session()
METHODS: Final = SESSION.create_client("dynamodb", region_name="eu-central-1").meta.method_to_api_mapping


@pytest.fixture(autouse=True)
def _descriptions_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each session of botocore have the descriptions of services that the first one has read."""

    def session() -> Any:
        made = get_session()
        made.register_component("data_loader", SESSION.get_component("data_loader"))
        return made

    monkeypatch.setattr("botocore.session.get_session", session)


Request = tuple[str, dict[str, Any]]


def shape(value: Any) -> Any:
    """What of a request is not data: two requests of one line of code have the same, but for their lengths."""
    if isinstance(value, dict):
        return tuple((name, shape(of)) for name, of in value.items())
    if isinstance(value, list):
        return tuple(dict.fromkeys(map(shape, value)))
    return type(value)


def requests_of_all_functions() -> list[Request]:
    """One request of each shape, of every function: of writes that meet faults, of reads, and of every task."""
    made: dict[Any, Request] = {}
    by_operation = {name: method for method, name in METHODS.items()}

    def note(operation: str, request: dict[str, Any]) -> None:
        operation = by_operation.get(operation, operation)
        made.setdefault((operation, shape(request)), (operation, request))

    real = aws.Store.do

    def do(store: aws.Store, operation: str, request: dict[str, Any], *rest: Any) -> Any:
        note(operation, request)
        return real(store, operation, request, *rest)

    with mock.patch.object(aws.Store, "do", do):
        for seed in range(3):
            world.run(seed, world.Options(notes=seed == 2))
    clock = ManualClock(round(NOW.timestamp() * 1000))
    with ExitStack() as stacks:
        for name in ("monotonic", "sleep"):
            stacks.enter_context(mock.patch.object(time, name, getattr(clock, name)))
        stack = stacks.enter_context(running(engine_with_tables(), clock, querying.BOARDS))
        stack.dynamodb.before.append(note)
        querying.post(stack, {f"m{number}": number for number in range(10)})
        stack.put("/members", {"name": "Ádám", "country": "HU"}, id="m7")
        stack.put(querying.MEMBER, {"hidden": True}, id="m9")
        reads = ("", "/rank", "/score", "/around", "/history", "/distribution")
        for path in ("/boards", "/boards/b", "/members", querying.MEMBER, *(f"{querying.DAY}{of}" for of in reads)):
            for arguments in ({}, {"member": "m7"}, {"id": "m7"}, {"name": "ad"}, {"rank": 99}, {"prefix": "b"}):
                stack.get(path, **arguments)
        stack.get("/events", id="e1")
        stack.delete("/members", id="m7")
        stack.delete(querying.MEMBER, id="m8")
        maintenance.finish(stack, "audit", board="b")
        maintenance.call(stack, "audits", "next", read_units=1000)
        maintenance.call(stack, "settlements", "next")
        maintenance.finish(stack, "rebuild", board="b")
        maintenance.finish(stack, "erase", member="m5")
        maintenance.finish(stack, "delete", board="b")
    return [request for request in made.values() if request[0] in METHODS]


def test_requests_are_botocores_byte_for_byte_and_signed_alike(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = requests_of_all_functions()
    light, own = clients(monkeypatch, server.url)
    wrong: list[Any] = []
    for operation, request in requests:
        getattr(light, operation)(**request)
        getattr(own, operation)(**request)
        (ours, body), (theirs, expected) = server.requests[-2:]
        signed = [{name: headers.get(name) for name in (*theirs, "authorization")} for headers in (ours, theirs)]
        for headers in signed:  # These are not signed, and DynamoDB ignores them
            for name in ("user-agent", "amz-sdk-invocation-id", "amz-sdk-request"):
                headers.pop(name, None)
        if body != expected or signed[0] != signed[1]:
            wrong.append((operation, body, expected, signed))

    assert wrong == []
    assert {operation for operation, _ in requests} == {name for name in vars(LightClient) if name[0] != "_"}
    assert len(requests) > 100


TRANSACTION: Final = {
    "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
    "Message": "Transaction cancelled, please refer cancellation reasons for specific reasons",
    "CancellationReasons": [
        {"Code": "None"},
        {"Code": "ConditionalCheckFailed", "Message": "failed", "Item": {"pk": {"S": "e"}, "d": {"B": "AAEC/w=="}}},
    ],
}


def problem(code: str, message: str = "no", status: int = 400, name: str = "message") -> Answer:
    body = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", name: message}
    return Answer(status, body, x_amzn_requestid="R1", x_amz_retry_after="9000")


ANSWERS: Final[dict[str, Answer | None]] = {
    "an item": Answer(200, {"Item": {"pk": {"S": "é"}, "d": {"B": "AAEC"}, "B": {"M": {"B": {"N": "1"}}}}}),
    "an item with a checksum": Answer(200, b'{"Item":{}}', x_amz_crc32=str(crc32(b'{"Item":{}}'))),
    "a throttle": problem("ProvisionedThroughputExceededException", "Slow down"),
    "a throttled account": problem("RequestLimitExceeded"),
    "a throttled control plane": problem("ThrottlingException", name="Message"),
    "a conflict": problem("TransactionConflictException"),
    "a conflict of replicas": problem("ReplicatedWriteConflictException"),
    "a transaction under way": problem("TransactionInProgressException", name="Message"),
    "a cancelled transaction": Answer(400, TRANSACTION),
    "a condition": Answer(
        400, {"__type": "x#ConditionalCheckFailedException", "message": "no", "Item": {"d": {"B": "AAEC"}}}
    ),
    "an invalid request": problem("ValidationException", "1 validation error"),
    "a request of another form": problem("SerializationException"),
    "no table": problem("ResourceNotFoundException"),
    "no permission": problem("AccessDeniedException", "User: … is not authorized", name="Message"),
    "another clock": problem("InvalidSignatureException", "Signature expired: 20261128T101500Z is now earlier than"),
    "a fault": problem("InternalServerError", status=500),
    "a fault without a body": Answer(500),
    "a fault of a proxy": Answer(502, b"<html><body>Bad Gateway</body></html>"),
    "no service": Answer(503, {"__type": "ServiceUnavailable", "message": "busy"}),
    "too many": Answer(429, b""),
    "a redirect": Answer(307, b"", location="/other"),
    "text": Answer(403, b"forbidden"),
    "a dropped connection": None,
    "a slow answer": Answer(200, late=True),
}


def outcome(call: Callable[[], Any], server: Server, slept: list[float]) -> dict[str, Any]:
    """What a call returned or raised, how often it was sent, and how long the client slept between the tries."""
    random.seed(7)
    before = len(server.requests)
    slept.clear()
    try:
        answer = call()
    except (ClientError, BotoCoreError) as error:
        response = dict(getattr(error, "response", None) or {})
        metadata = dict(response.pop("ResponseMetadata", {}))
        metadata.pop("HTTPHeaders", None)
        for name in ("message", "Message"):  # It stands in `Error` too
            response.pop(name, None)
        kind = ClientError if isinstance(error, ClientError) else type(error)
        found: dict[str, Any] = {"error": kind, "text": str(error), "response": response, "metadata": metadata}
    else:
        answer.pop("ResponseMetadata", None)
        found = {"answer": answer}
    return {**found, "tries": len(server.requests) - before, "slept": list(slept)}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_and_errors_are_botocores(
    name: str, server: Server, slept: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building_blocks, "SOCKET_READ_S", 0.1)
    monkeypatch.setattr(building_blocks, "LIMITS", building_blocks.LIMITS._replace(read_timeout_s=0.1))
    server.answer = ANSWERS[name]
    light, own = clients(monkeypatch, server.url)

    operation, request = ("put_item", PUT) if name == "a conflict of replicas" else ("get_item", GET)  # Reads have none
    found = [outcome(partial(getattr(client, operation), **request), server, slept) for client in (light, own)]

    assert found[0] == found[1]
    assert all(seconds < 1.0 for seconds in found[0]["slept"])


def test_nobody_who_listens_and_no_such_host_are_botocores_errors(
    slept: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    idle = Server()
    idle.server_close()
    nobody = clients(monkeypatch, f"http://127.0.0.1:{free_port()}")
    monkeypatch.delenv("DYNAMODB_CLIENT")
    unnamed = clients(monkeypatch, "https://dynamodb.eu-central-1.amazonaws.com")
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    for pair in (nobody, unnamed):
        texts = [outcome(partial(client.get_item, **GET), idle, slept) for client in pair]
        for found in texts:
            found["text"] = re.sub("0x[0-9a-f]+|AWS", "", found["text"])
        assert texts[0]["error"] == texts[1]["error"]
        assert texts[0]["slept"] == texts[1]["slept"] != []


def test_an_answer_that_arrives_damaged_twice_is_an_error_and_no_missing_item(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """botocore's client returns `{}` for each of them, as if there were no such item."""
    light, _ = clients(monkeypatch, server.url)
    whole = b'{"Item":{"pk":{"S":"x"}}}'
    for damaged in (
        Answer(200, whole[:9], x_amz_crc32=str(crc32(whole))),
        Answer(200, whole[:9]),
        Answer(200, whole[:9], content_length=str(len(whole)), connection="close"),
        Answer(200, gzip.compress(whole)[:9]),
        Answer(200, b"[]"),
    ):
        server.answer = damaged
        before = len(server.requests)
        with pytest.raises(BotoCoreError):
            light.get_item(**GET)
        assert len(server.requests) - before == building_blocks.ATTEMPTS


def test_the_retry_quota_is_botocores(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokens that are spent come back with successes, so that a store that is down gets one try of each call."""
    tries: list[list[int]] = []
    for client in clients(monkeypatch, server.url):
        tries.append([])
        for answer in [*[problem("ThrottlingException")] * 101, Answer(200, b"{}"), *[Answer(500)] * 2] * 2:
            server.answer = answer
            before = len(server.requests)
            with suppress(ClientError):
                client.get_item(**GET)
            tries[-1].append(len(server.requests) - before)

    assert tries[0] == tries[1]
    assert {1, 2} == set(tries[0])


def test_text_and_bytes_that_json_cannot_say_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    light, _ = clients(monkeypatch, "http://127.0.0.1:9")
    for value in ({"S": "half \ud800"}, {"B": object()}, {"S": {1, 2}}):
        with pytest.raises(ParamValidationError):
            light.put_item(TableName="Scores", Item={"pk": value})


# Variables that botocore reads and that change nothing about a function's requests to DynamoDB.
HARMLESS: Final = {
    "AWS_DEFAULT_REGION",  # read
    "AWS_CONFIG_FILE",  # read
    "AWS_SHARED_CREDENTIALS_FILE",  # the environment's credentials come first
    "AWS_RETRY_MODE",  # `building_blocks` sets it, and the next
    "AWS_MAX_ATTEMPTS",
    "AWS_METADATA_SERVICE_TIMEOUT",  # of machines, as are those up to IPV6
    "AWS_METADATA_SERVICE_NUM_ATTEMPTS",
    "AWS_EC2_METADATA_SERVICE_ENDPOINT",
    "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE",
    "AWS_EC2_METADATA_V1_DISABLED",
    "AWS_IMDS_USE_IPV6",
    "AWS_CSM_HOST",  # nothing without AWS_CSM_ENABLED, as are the next two
    "AWS_CSM_PORT",
    "AWS_CSM_CLIENT_ID",
    "AWS_ENDPOINT_DISCOVERY_ENABLED",  # DynamoDB needs none
    "AWS_STS_REGIONAL_ENDPOINTS",  # of other services, as are all that follow
    "AWS_SDK_UA_APP_ID",
    "AWS_REQUEST_MIN_COMPRESSION_SIZE_BYTES",
    "AWS_DISABLE_REQUEST_COMPRESSION",
    "AWS_SIGV4A_SIGNING_REGION_SET",
    "AWS_REQUEST_CHECKSUM_CALCULATION",
    "AWS_RESPONSE_CHECKSUM_VALIDATION",
    "AWS_DISABLE_HOST_PREFIX_INJECTION",
    "AWS_S3_DISABLE_EXPRESS_SESSION_AUTH",
}


def test_each_variable_that_botocore_reads_is_obeyed_harmless_or_left_to_botocore() -> None:
    """A botocore that reads another variable fails here: say which of the three it is."""
    read = {
        name
        for _, names, *_ in BOTOCORE_DEFAUT_SESSION_VARIABLES.values()
        for name in ([names] if isinstance(names, str) else names or [])
    }
    assert read - HARMLESS - TO_BOTOCORE - set(CERTIFICATES) == set()


@pytest.mark.parametrize("name", sorted([*TO_BOTOCORE, "HTTPS_PROXY", *CERTIFICATES]))
def test_what_only_botocore_obeys_sends_requests_through_botocore(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(building_blocks.client("dynamodb"), LightClient)
    assert connection_of({**LAMBDA, name: "x"}) is None
    monkeypatch.setenv("DYNAMODB_CLIENT", "botocore")
    assert not isinstance(building_blocks.client("dynamodb"), LightClient)


def test_a_file_of_settings_and_an_environment_without_credentials_are_left_to_botocore(tmp_path: Path) -> None:
    settings = tmp_path / "config"
    settings.write_text("[default]\nca_bundle = /x\n", encoding="utf-8")
    assert connection_of({**LAMBDA, "AWS_CONFIG_FILE": str(settings)}) is None
    assert connection_of({**LAMBDA, "AWS_CONFIG_FILE": "/dev/null"}) is not None
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        assert connection_of({**LAMBDA, name: ""}) is None
    for address in ("http://h/path", "https://user@h", "ftp://h", "http://h?x=1"):
        assert connection_of({**LAMBDA, "AWS_ENDPOINT_URL": address}) is None


def test_every_region_has_botocores_endpoint_or_is_left_to_botocore() -> None:
    session = get_session()
    left: set[str] = set()
    for partition in session.get_available_partitions():
        for region in session.get_available_regions("dynamodb", partition, allow_non_regional=True):
            for account in ({}, {"AWS_ACCOUNT_ID": "123456789012"}):
                connection = connection_of({**LAMBDA, **account, "AWS_DEFAULT_REGION": region})
                if connection is None:
                    left.add(partition if partition != "aws" else region)
                    continue
                assert partition == "aws"
                assert connection.url == f"{endpoint(session, region, account)}/"

    assert {"aws-cn", "aws-us-gov"} <= left
    assert {name for name in left if not name.startswith("aws-") and not name.endswith("-fips")} == {"local"}


def endpoint(session: Any, region: str, account: dict[str, str]) -> str:
    client = session.create_client(
        "dynamodb",
        region_name=region,
        aws_access_key_id="a",
        aws_secret_access_key="b",  # noqa: S106 - of nobody
        aws_account_id=account.get("AWS_ACCOUNT_ID"),
    )
    url: list[str] = []

    def seen(request: Any, **_: Any) -> Any:
        url.append(request.url.removesuffix("/"))
        raise BotoCoreError

    client.meta.events.register("before-send", seen)
    with pytest.raises(BotoCoreError):
        client.get_item(**GET)
    return url[0]


def test_certificates_are_those_of_botocore_and_are_loaded_once() -> None:
    light = building_blocks.client("dynamodb")
    assert light._made_pool is None
    pool: Any = light._pool
    assert light._pool is pool
    context = pool.conn_kw["ssl_context"]
    expected = (Path(botocore.__file__).with_name("cacert.pem")).read_text(encoding="utf-8").count("BEGIN CERT")
    assert context.cert_store_stats()["x509"] == expected
    assert context.check_hostname
    assert context.verify_mode.name == "CERT_REQUIRED"
