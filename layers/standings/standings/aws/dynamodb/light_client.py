"""A client of DynamoDB that starts in a third of the time of botocore's, and does a tenth of its work on a request.

docs/decisions/0032-a-light-client-of-dynamodb.md says why, and what it leaves to botocore's client.
"""

import json
import re
import time
from base64 import b64decode, b64encode
from collections.abc import Mapping
from functools import partialmethod
from hashlib import sha256
from hmac import digest
from http.client import responses
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit
from uuid import uuid4
from zlib import crc32

import botocore
import orjson
import urllib3
from botocore import exceptions as errors
from botocore.exceptions import BotoCoreError, ClientError
from botocore.retries.quota import RetryQuota
from urllib3.util.ssl_ import create_urllib3_context

from standings.runtime.clock import Clock


class LightClient:
    """The requests of the functions, by the names of botocore's client: `client.get_item(TableName="Scores", Key=…)`.

    Sends the bytes that botocore's client sends, and signs them alike. Raises the same errors: a ClientError with the
    same `response`, or a BotoCoreError if there was no answer. Tries as often, and waits as long between tries
    (`limits`); what an answer says of waiting longer does not count. An answer that arrives damaged twice is an error,
    where botocore takes it for an empty one.

    Answers have no `ResponseMetadata`. Of binary values it knows `B`, not `BS`. Threads may share a client.
    """

    def __init__(self, connection: "Connection", limits: "Limits", clock: Clock) -> None:
        self._url = connection.url
        self._signer = _Signer(connection)
        self._lock = Lock()
        self._made_pool: urllib3.HTTPConnectionPool | None = None
        self._limits = limits
        self._clock = clock
        self._quota = RetryQuota()

    @property
    def _pool(self) -> urllib3.HTTPConnectionPool:
        """The connections. They are made with the first request: the certificates take a tenth of a start."""
        with self._lock:
            if self._made_pool is None:
                self._made_pool = _pool(self._url, self._limits)
            return self._made_pool

    def _call(self, operation: str, /, **request: Any) -> dict[str, Any]:
        if operation == "TransactWriteItems":  # With the token, a second try of what was done does nothing
            request.setdefault("ClientRequestToken", str(uuid4()))
        body = _body(request)
        paid = 0
        for attempt in range(1, self._limits.attempts + 1):
            try:
                answer = self._try(operation, body, attempt)
            except (ClientError, BotoCoreError) as error:
                retry = _retry(error)
                if attempt == self._limits.attempts or retry is None or not self._quota.acquire(retry.cost):
                    raise
                paid = retry.cost
                self._clock.sleep(self._clock.random() * retry.wait_s * 2 ** (attempt - 1))
            else:
                self._quota.release(paid or 1)
                return answer
        raise AssertionError("the last try returns or raises")

    batch_get_item = partialmethod(_call, "BatchGetItem")
    batch_write_item = partialmethod(_call, "BatchWriteItem")
    delete_item = partialmethod(_call, "DeleteItem")
    get_item = partialmethod(_call, "GetItem")
    put_item = partialmethod(_call, "PutItem")
    query = partialmethod(_call, "Query")
    transact_get_items = partialmethod(_call, "TransactGetItems")
    transact_write_items = partialmethod(_call, "TransactWriteItems")
    update_item = partialmethod(_call, "UpdateItem")

    def _try(self, operation: str, body: bytes, attempt: int) -> dict[str, Any]:
        headers = self._signer.headers(f"DynamoDB_20120810.{operation}", body, self._clock.now())
        try:
            answer = self._pool.urlopen("POST", "/", body=body, headers=headers, redirect=False)
        except Exception as error:
            raise _unanswered(error, self._url) from error
        if answer.status >= 301:  # noqa: PLR2004 - as botocore has it
            is_last = {"MaxAttemptsReached": True} if attempt == self._limits.attempts else {}
            raise ClientError(_problem(answer, {"RetryAttempts": attempt - 1, **is_last}), operation)
        return _parsed(answer, self._url)


class Credentials(NamedTuple):
    """A role's credentials; `token` is None for those of a user."""

    access_key: str
    secret_key: str
    token: str | None


class Connection(NamedTuple):
    """Where DynamoDB is, such as `https://dynamodb.eu-central-1.amazonaws.com/`, and who asks."""

    url: str
    region: str
    credentials: Credentials


class Limits(NamedTuple):
    """What one call may take: tries, connections at a time, and seconds for a connection and for each read of it."""

    attempts: int
    connections: int
    connect_timeout_s: float
    read_timeout_s: float


_COMMERCIAL: Final = re.compile(r"(us|eu|ap|sa|ca|me|af|il|mx)-\w+-\d+")  # The regions of the partition `aws`
TO_BOTOCORE: Final = frozenset(
    {
        *("http_proxy", "https_proxy", "all_proxy"),
        *("AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT", "AWS_ACCOUNT_ID_ENDPOINT_MODE"),
        *("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "AWS_AUTH_SCHEME_PREFERENCE", "AWS_DEFAULTS_MODE"),
        *("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_DATA_PATH", "AWS_CREDENTIAL_EXPIRATION", "AWS_CSM_ENABLED"),
        "BOTOCORE_TCP_KEEPALIVE",
    }
)
"""Environment variables that only botocore's client obeys. Proxies are also named in capitals."""
CERTIFICATES: Final = ("AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE")  # The same, where the connection is encrypted


def connection_of(environment: Mapping[str, str]) -> Connection | None:
    """The connection that botocore would make, from environment variables alone; None where only botocore can say.

    That is so if one of `TO_BOTOCORE` or a file of settings says more, outside of AWS's commercial regions, and without
    credentials in the environment. `DYNAMODB_CLIENT=botocore` (the parameter `DynamoDBClient`) asks for botocore's.
    """
    given = {name: value for name, value in environment.items() if value}
    region, account = given.get("AWS_DEFAULT_REGION", ""), given.get("AWS_ACCOUNT_ID")
    host = f"{account}.ddb.{region}.amazonaws.com" if account else f"dynamodb.{region}.amazonaws.com"
    address = given.get("AWS_ENDPOINT_URL_DYNAMODB") or given.get("AWS_ENDPOINT_URL") or f"https://{host}"
    scheme, netloc, path, query, _ = urlsplit(address)
    access_key, secret_key = given.get("AWS_ACCESS_KEY_ID"), given.get("AWS_SECRET_ACCESS_KEY")
    if (
        given.get("DYNAMODB_CLIENT") == "botocore"
        or any(name in TO_BOTOCORE or name.lower() in TO_BOTOCORE for name in given)
        or (scheme == "https" and not given.keys().isdisjoint(CERTIFICATES))
        or Path(given.get("AWS_CONFIG_FILE", "~/.aws/config")).expanduser().is_file()
        or not _COMMERCIAL.fullmatch(region)
        or access_key is None
        or secret_key is None
        or (scheme not in {"http", "https"} or "@" in netloc or path.strip("/") or query)
    ):
        return None
    token = given.get("AWS_SECURITY_TOKEN") or given.get("AWS_SESSION_TOKEN")
    return Connection(f"{scheme}://{netloc}/", region, Credentials(access_key, secret_key, token))


def _pool(url: str, limits: Limits) -> urllib3.HTTPConnectionPool:
    """A pool of connections. Over TLS they share one context, for it takes longer to load than all else to connect."""
    timeout = urllib3.Timeout(connect=limits.connect_timeout_s, read=limits.read_timeout_s)
    settings: dict[str, Any] = {"timeout": timeout, "maxsize": limits.connections, "retries": False}
    if url.startswith("https"):
        context = create_urllib3_context()
        context.load_verify_locations(Path(botocore.__file__).with_name("cacert.pem"))
        settings["ssl_context"] = context
    return urllib3.connection_from_url(url, **settings)


class _Signer:
    """Signature Version 4, for the one form that requests to DynamoDB have.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
    """

    def __init__(self, connection: Connection) -> None:
        scheme, netloc, *_ = urlsplit(connection.url.lower())
        self._host = netloc.removesuffix(":443" if scheme == "https" else ":80")
        self._region = connection.region
        self._id, self._secret, self._token = connection.credentials
        self._key = "", b""  # A day, such as `20261128`, and its key

    def headers(self, target: str, body: bytes, now_ms: int) -> dict[str, str]:
        """The headers of a request, such as `{"x-amz-date": "20261128T101500Z", "authorization": "AWS4-…", …}`."""
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now_ms // 1000))
        headers = {"content-type": "application/x-amz-json-1.0", "host": self._host, "x-amz-date": stamp}
        if self._token is not None:
            headers["x-amz-security-token"] = self._token
        headers["x-amz-target"] = target
        names = ";".join(headers)
        lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
        canonical = f"POST\n/\n\n{lines}\n{names}\n{sha256(body).hexdigest()}"
        scope = f"{stamp[:8]}/{self._region}/dynamodb/aws4_request"
        text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{sha256(canonical.encode()).hexdigest()}"
        signature = digest(self._key_of(stamp[:8]), text.encode(), "sha256").hex()
        signed = f"AWS4-HMAC-SHA256 Credential={self._id}/{scope}, SignedHeaders={names}, Signature={signature}"
        return {**headers, "authorization": signed, "user-agent": _AGENT}

    def _key_of(self, day: str) -> bytes:
        of, key = self._key
        if of != day:
            key = f"AWS4{self._secret}".encode()
            for part in (day, self._region, "dynamodb", "aws4_request"):
                key = digest(key, part.encode(), "sha256")
            self._key = day, key
        return key


_AGENT: Final = f"Botocore/{botocore.__version__} standings"


def _body(request: Mapping[str, Any]) -> bytes:
    """The request as JSON, as botocore writes it. Raises ParamValidationError for what JSON cannot say."""
    try:
        body = json.dumps(request, default=_base64, check_circular=False).encode()
        if b"\\ud" in body:
            orjson.dumps(request, default=_base64)  # It refuses half a surrogate pair
    except (TypeError, ValueError) as error:
        raise errors.ParamValidationError(report=str(error)) from error
    return body


def _base64(value: Any) -> str:
    if not isinstance(value, bytes):
        raise TypeError(f"expected bytes, got {type(value).__name__}")
    return b64encode(value).decode()


def _unanswered(error: Exception, url: str) -> BotoCoreError:
    """The error of botocore for one of urllib3."""
    known = urllib3.exceptions
    match error:
        case known.SSLError():
            return errors.SSLError(endpoint_url=url, error=error)
        case known.NewConnectionError():
            return errors.EndpointConnectionError(endpoint_url=url, error=error)
        case known.ConnectTimeoutError():
            return errors.ConnectTimeoutError(endpoint_url=url, error=error)
        case known.ReadTimeoutError():
            return errors.ReadTimeoutError(endpoint_url=url, error=error)
        case known.ProtocolError():
            return errors.ConnectionClosedError(endpoint_url=url, error=error)
    return errors.HTTPClientError(error=error)


def _problem(answer: urllib3.BaseHTTPResponse, tries: Mapping[str, Any]) -> Any:
    """What botocore makes of an answer that is no success: `{"Error": {"Code": "ThrottlingException", …}, …}`."""
    text = answer.data.strip()
    if answer.status >= 500 and (not text or text.startswith(b"<html>")):  # noqa: PLR2004 - 500: not of DynamoDB's form
        error, fields = {"Code": str(answer.status), "Message": responses.get(answer.status, "")}, {}
    else:
        try:
            fields = _decoded(answer.data) if text else {}
        except ValueError:
            fields = {"message": answer.data.decode(errors="replace")}
        code = fields.pop("__type", str(answer.status)).partition(":")[0].rpartition("#")[2]
        other = fields.pop("Message", "")
        error = {"Message": fields.pop("message", other), "Code": code}
    metadata: dict[str, Any] = {"HTTPStatusCode": answer.status, **tries}
    if request_id := answer.headers.get("x-amzn-requestid"):
        metadata["RequestId"] = request_id
    return {**fields, "Error": error, "ResponseMetadata": metadata}


def _parsed(answer: urllib3.BaseHTTPResponse, url: str) -> dict[str, Any]:
    """The answer. Raises ChecksumError or HTTPClientError for one that arrived damaged."""
    data, expected = answer.data, answer.headers.get("x-amz-crc32")
    if expected is not None and expected != (actual := str(crc32(data))):
        raise errors.ChecksumError(checksum_type="crc32", expected_checksum=expected, actual_checksum=actual)
    try:
        return _decoded(data)
    except ValueError as error:
        raise errors.HTTPClientError(error=f"{url} did not answer with JSON: {error}") from error


def _decoded(data: bytes) -> dict[str, Any]:
    """The object that JSON holds. Raises ValueError for any other text."""
    has_bytes = b'"B":' in data.replace(b" ", b"")
    found = json.loads(data, object_hook=_bytes) if has_bytes else orjson.loads(data)
    if not isinstance(found, dict):
        raise ValueError(f"expected an object, got {type(found).__name__}")  # noqa: TRY004 - as for text that is no JSON
    return found


def _bytes(fields: dict[str, Any]) -> dict[str, Any]:
    """A JSON object; `{"B": b"…"}` for a binary value."""
    binary = fields.get("B")
    return {"B": b64decode(binary)} if isinstance(binary, str) else fields


class _Retry(NamedTuple):
    cost: int  # Tokens of the client's 500
    wait_s: float  # Longest wait before the second try; it doubles each time


_THROTTLED: Final = _Retry(5, 1.0)
_FAILED: Final = _Retry(14, 0.025)
_RETRIED: Final = {
    **dict.fromkeys(
        (
            *("Throttling", "ThrottlingException", "ThrottledException", "RequestThrottledException"),
            *("TooManyRequestsException", "ProvisionedThroughputExceededException", "TransactionInProgressException"),
            *("RequestLimitExceeded", "BandwidthLimitExceeded", "LimitExceededException", "RequestThrottled"),
            *("SlowDown", "PriorRequestNotComplete", "EC2ThrottledException", "429"),
        ),
        _THROTTLED,
    ),
    **dict.fromkeys(("RequestTimeout", "RequestTimeoutException", "ReplicatedWriteConflictException"), _FAILED),
}
"""How botocore's mode `standard` retries errors of DynamoDB. Others of status 500, 502, 503 or 504 are failures."""


def _retry(error: ClientError | BotoCoreError) -> _Retry | None:
    """What the next try costs, and how long it waits; None if it would end as the last one did."""
    if isinstance(error, ClientError):
        response: Any = error.response
        failed = _FAILED if response["ResponseMetadata"]["HTTPStatusCode"] in {500, 502, 503, 504} else None
        return _RETRIED.get(response["Error"]["Code"], failed)
    damaged_or_none = isinstance(error, errors.HTTPClientError | errors.ConnectionError | errors.ChecksumError)
    return _FAILED if damaged_or_none else None
