"""Finds a stack: its queue, its tables, its API and its definitions, each when a first call needs it."""

import os
import re
from collections.abc import Callable, Mapping
from os import PathLike, fspath
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast
from urllib.parse import urlsplit

from standings.client import values
from standings.client.errors import BadArgument, StackError
from standings.domain.boards import Boards
from standings.domain.boards_toml import parse_boards
from standings.runtime.clock import Clock
from standings.runtime.environment import BOARDS_FILE

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient

    from standings.aws.dynamodb.scores import Scores
    from standings.client.api import Api
    from standings.read.dispatch import Answers

T = TypeVar("T")
_TABLES: Final = ("scores", "rankings", "profiles", "receipts")
_URL: Final = re.compile(r"https?://[!-~]+", re.IGNORECASE)
_ADVICE: Final = {"FunctionUrlEndpoint": "deploy it with FunctionUrl=iam"}
"""What to do where the stack lacks an output that not every stack has."""


class Stack:
    """A stack: the arguments of `connect`, and its outputs. Threads may share it. It imports AWS's packages late."""

    def __init__(
        self,
        name: str | None,
        queue_url: str | None,
        tables: Mapping[str, str] | None,
        boards: str | Path | None,
        api_url: str | None,
        token: str | None,
        session: Any,
        clock: Clock,
        *,
        by_url: bool = False,
    ) -> None:
        self._name = _given("stack", name)
        self._queue_url = _given("queue_url", queue_url)
        self._tables = _tables(tables)
        named = fspath(boards) if isinstance(boards, PathLike) else boards
        self._boards = None if named is None else Path(values.text("boards", named))
        self.has_boards = boards is not None or BOARDS_FILE.exists()  # Those that are given, or those of its layer
        self._api_url = _address(_given("api_url", api_url))
        self._token = _token(token)
        self._by_url = by_url
        self._session = _session(session)
        self._clock = clock
        self._made: dict[str, Any] = {}
        self._lock = RLock()

    def boards_if_any(self) -> Boards | None:
        """The definitions; None if there are none."""
        return self.boards() if self.has_boards else None

    def boards(self) -> Boards:
        """The definitions of boards, read once. Raises BadArgument if no file was named, or it is wrong."""
        if not self.has_boards:
            expected = "boards: expected the path of the stack's boards.toml, since this is no function with its layer"
            raise BadArgument(400, "bad-argument", f'{expected}; or read with reads="api"')
        file = self._boards or BOARDS_FILE
        try:
            return self._once("boards", lambda: parse_boards(file.read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise BadArgument(400, "bad-argument", f"boards: {error}") from error

    def answers(self) -> "Answers":
        """What answers reads from the tables."""
        from standings.read.dispatch import Answers, Tables  # noqa: PLC0415 - with the first read

        def make() -> "Answers":
            names = {name: self._table(name) for name in ("scores", "rankings", "profiles")}
            tables = Tables(self.client("dynamodb"), self._clock, **names)
            return Answers(self.boards(), tables)

        return self._once("answers", make)

    def scores(self) -> "Scores":
        """The store that has the status of events."""
        from standings.aws.dynamodb.scores import Scores  # noqa: PLC0415 - with the first call

        return self._once(
            "scores",
            lambda: Scores(self.client("dynamodb"), self._table("scores"), self._table("receipts"), self._clock),
        )

    def queue_url(self) -> str:
        """The URL of the queue of events, given or the stack's. Raises BadArgument and StackError."""
        return self._queue_url or self._output("ActivityQueueUrl", "queue_url")

    def sqs(self) -> "SQSClient":
        """A client of SQS."""
        return cast("SQSClient", self.client("sqs"))

    def api(self) -> "Api":
        """The API. Requests carry the token or are signed, if need be to the function URL, which takes no token."""
        from standings.client import api  # noqa: PLC0415 - with the first read

        def make() -> "Api":
            url, function_url, local = self._api_url, None, os.environ.get("AWS_ENDPOINT_URL")
            if url is None and self._by_url:
                function_url = self._output("FunctionUrlEndpoint", "api_url")
                function_url = api.local_function_url(local, function_url) if local else function_url
            if url is None and local:
                url = api.local_address(local, self._output("ApiId", "api_url"))
            url = url or self._output("ApiUrl", "api_url")
            signs = None
            if api.needs_signature(self._token, function_url, url):
                signs = api.signature(self._aws().get_credentials(), function_url or url, self._region())
            transport, clock = api.Transport(local=bool(local)), self._clock
            return api.Api(
                url, transport, signs, self._token, sleep=clock.sleep, chance=clock.random, function_url=function_url
            )

        return self._once("api", make)

    def client(self, service: str) -> Any:
        """A client of an AWS service. Raises BadArgument if nothing names the region."""
        from botocore.exceptions import NoRegionError  # noqa: PLC0415 - with the first call

        from standings.wiring.building_blocks import client_of  # noqa: PLC0415 - with the first call

        try:
            return self._once(f"client of {service}", lambda: client_of(self._aws(), service))
        except NoRegionError:
            expected = "session: expected the region of the stack: set AWS_DEFAULT_REGION=eu-central-1, for example, or"
            advice = f'{expected} give connect a session=boto3.Session(region_name="eu-central-1")'
            raise BadArgument(400, "bad-argument", advice) from None

    def _aws(self) -> Any:
        from botocore.session import get_session  # noqa: PLC0415 - with the first call

        return self._once("session", lambda: get_session() if self._session is None else self._session)

    def _region(self) -> str | None:
        session = self._aws()
        is_botocore = hasattr(session, "get_config_variable")
        region: str | None = session.get_config_variable("region") if is_botocore else session.region_name
        return region

    def _table(self, name: str) -> str:
        return self._tables.get(name) or self._output(f"{name.title()}TableName", f"tables[{name!r}]")

    def _output(self, name: str, otherwise: str) -> str:
        """An output of the stack. `otherwise` says what the caller could have given instead."""
        if self._name is None:
            advice = "give it to connect, or the stack's name"
            if otherwise == "api_url" and not self.has_boards:
                advice += ", or the path of the stack's boards.toml as boards, by which reads go to the tables"
            raise BadArgument(400, "bad-argument", f"{otherwise}: is missing: {advice}")
        outputs = self._once("outputs", self._outputs)
        if name not in outputs:
            advice = _ADVICE.get(name, "deploy it again")
            raise StackError(f"stack {self._name!r} has no output {name}: check its name and region, or {advice}")
        return str(outputs[name])

    def _outputs(self) -> dict[str, str]:
        from botocore.exceptions import ClientError  # noqa: PLC0415 - with the first call

        try:
            found = self.client("cloudformation").describe_stacks(StackName=self._name)["Stacks"][0]
        except ClientError as error:
            raise StackError(f"stack {self._name!r} cannot be described, check its name and region: {error}") from error
        return {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", [])}

    def _once(self, name: str, make: Callable[[], T]) -> T:
        """Make something once, and keep it. botocore's sessions may not be shared between threads; its clients may."""
        made = self._made.get(name)
        if made is None:
            with self._lock:
                made = self._made.get(name) or self._made.setdefault(name, make())
        return cast("T", made)


def _given(field: str, value: Any) -> str | None:
    """A text; None for an empty one, as a variable of the environment may be."""
    return None if value is None else values.text(field, value) or None


def _tables(given: Any) -> Mapping[str, str]:
    tables = {} if given is None else dict(values.mapping("tables", given))
    if unknown := sorted(tables.keys() - {*_TABLES}):
        raise BadArgument(400, "bad-argument", f"tables: expected {', '.join(_TABLES)}, got {', '.join(unknown)}")
    return {name: values.text(f"tables[{name!r}]", table) for name, table in tables.items()}


def _address(url: str | None) -> str | None:
    try:
        # A port that is none raises an error.
        is_one = url is None or (_URL.fullmatch(url) and urlsplit(url).hostname and urlsplit(url).port != 0)
    except ValueError:
        is_one = False
    if not is_one:
        raise values.refused("api_url", "an address that begins with https:// or http://", url)
    return url


def _token(token: Any) -> str | None:
    """The token; None for an empty one. The error shows nothing of it."""
    if token is not None and not (isinstance(token, str) and token.isascii() and token.isprintable()):
        detail = f"token: expected a JSON Web Token, of printable ASCII, got {type(token).__name__}"
        raise BadArgument(400, "bad-argument", detail)
    return token or None


def _session(session: Any) -> Any:
    if session is not None and not any(callable(getattr(session, name, None)) for name in ("create_client", "client")):
        raise values.refused("session", "a session of boto3 or botocore", session)
    return session
