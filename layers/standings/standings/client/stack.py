"""Finds a stack: its queue, its tables, its API and its definitions, each when a first call needs it."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

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


class Stack:
    """A stack: the arguments of `connect`, and the stack's outputs. Threads may share it.

    AWS's packages are imported with the first call that needs them: they take longer than all the rest.
    """

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
    ) -> None:
        unknown = sorted({*(tables or ())} - {*_TABLES})
        if unknown:
            raise BadArgument(400, "bad-argument", f"tables: expected {', '.join(_TABLES)}, got {', '.join(unknown)}")
        self._name = name
        self._queue_url = queue_url
        self._tables = tables or {}
        self._boards = boards
        self.has_boards = boards is not None or BOARDS_FILE.exists()
        """Whether there are definitions: those that were given, or those of the stack's layer."""
        self._api_url = api_url
        self._token = token
        self._session = session
        self._clock = clock
        self._made: dict[str, Any] = {}
        self._lock = RLock()

    def boards_if_any(self) -> Boards | None:
        """The definitions; None if there are none."""
        return self.boards() if self.has_boards else None

    def boards(self) -> Boards:
        """The definitions."""
        if not self.has_boards:
            expected = "boards: expected the path of the stack's boards.toml, since this is no function with its layer"
            raise BadArgument(400, "bad-argument", f'{expected}; or read with reads="api"')
        file = BOARDS_FILE if self._boards is None else Path(self._boards)
        return self._once("boards", lambda: parse_boards(file.read_text(encoding="utf-8")))

    def answers(self) -> "Answers":
        """What answers reads from the tables."""
        from standings.read.reader import PRIVATE_LIMITS  # noqa: PLC0415 - with the first read
        from standings.wiring.query import Tables, answers_from  # noqa: PLC0415 - the same

        def make() -> "Answers":
            tables = Tables(self._table("scores"), self._table("rankings"), self._table("profiles"))
            return answers_from(
                self.client("dynamodb"), tables, self.boards(), self._clock, PRIVATE_LIMITS, needs_board=False
            )

        return self._once("answers", make)

    def scores(self) -> "Scores":
        """The store that has the status of events."""
        from standings.aws.dynamodb.scores import Scores  # noqa: PLC0415 - with the first call

        return self._once(
            "scores",
            lambda: Scores(self.client("dynamodb"), self._table("scores"), self._table("receipts"), self._clock),
        )

    def queue_url(self) -> str:
        """The URL of the queue of events."""
        return self._queue_url or self._output("ActivityQueueUrl", "queue_url")

    def sqs(self) -> "SQSClient":
        """A client of SQS."""
        return cast("SQSClient", self.client("sqs"))

    def api(self) -> "Api":
        """The API. Requests carry the token, or are signed if there are credentials."""
        from standings.client.api import Api, Transport, local_address, signature  # noqa: PLC0415 - with the first read

        def make() -> "Api":
            local = os.environ.get("AWS_ENDPOINT_URL")
            url = self._api_url
            if url is None and local:
                url = local_address(local, self._output("ApiId", "api_url"))
            url = url or self._output("ApiUrl", "api_url")
            signs = None if self._token else signature(self._aws().get_credentials(), url, self._region())
            return Api(url, Transport(local=bool(local)), signs, self._token, self._clock.sleep, self._clock.random)

        return self._once("api", make)

    def client(self, service: str) -> Any:
        """A client of an AWS service."""
        from standings.wiring.building_blocks import client_of  # noqa: PLC0415 - with the first call

        return self._once(f"client of {service}", lambda: client_of(self._aws(), service))

    def _aws(self) -> Any:
        from botocore.session import get_session  # noqa: PLC0415 - with the first call

        return self._once("session", lambda: self._session or get_session())

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
            raise BadArgument(400, "bad-argument", f"{otherwise}: is missing: give it to connect, or the stack's name")
        outputs = self._once("outputs", self._outputs)
        if name not in outputs:
            raise StackError(
                f"stack {self._name!r} has no output {name}: check its name and region, or deploy it again"
            )
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
