"""Finds a stack and makes its clients: a stack on AWS, on a local endpoint, or the one of `make serve`.

AWS's packages are imported at first use: they take longer than all the rest of a command.
"""

import argparse
import json
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from standings.client.errors import StackError
from standings_cli.stack.errors import InputError

if TYPE_CHECKING:
    import boto3

    from standings.client.api import Api
    from standings_cli.stack.maintenance import Maintenance

SERVED: Final = Path(".local", "serve.json")
"""The file in which `make serve` writes its addresses, below the folder of a clone."""
_CLONE: Final = Path(__file__).parents[2]

_READ_TIMEOUT_S: Final = 60
_LAMBDA_READ_TIMEOUT_S: Final = 930  # a call of the maintenance function takes up to 15 minutes
_REGION: Final = "us-east-1"


class Connection:
    """A stack, as the options of the command line name it. Clients and addresses are made at first use."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options

    @property
    def queue_url(self) -> str:
        """The URL of the queue of events."""
        return str(self._options.queue_url or self._served.get("queue_url") or self._output("ActivityQueueUrl"))

    @cached_property
    def api(self) -> "Api":
        """The HTTP API, whose reads go to the function URL with `--function-url`.

        Requests are signed if there are credentials and no token; those to a function URL carry no token.
        """
        from standings.client import api  # noqa: PLC0415 - at first use
        from standings_cli.stack.watched_api import WatchedApi  # noqa: PLC0415 - as above

        function_url = self.function_url if self._options.function_url else None
        signs, token = None, self._options.token
        if api.needs_signature(token, function_url, self.api_url):  # else AWS's packages are not imported
            signs = api.signature(
                self._session.get_credentials(), function_url or self.api_url, self._session.region_name
            )
        transport = api.Transport(local=self._options.local)
        return WatchedApi(self.api_url, transport, signs, token, function_url=function_url)

    @property
    def function_url(self) -> str:
        """The address of the query function, by the stack's outputs. StackError if it has none."""
        from standings.client.api import local_function_url  # noqa: PLC0415 - at first use

        url = self._output("FunctionUrlEndpoint", "deploy it with FunctionUrl=iam")
        return url if self._endpoint_url is None else local_function_url(self._endpoint_url, url)

    @property
    def knows_api(self) -> bool:
        """Whether the API's address is given, or that of the queue is not either. Else only the queue may be there."""
        return bool(self._options.api_url or self._served or not self._options.queue_url)

    @cached_property
    def maintenance(self) -> "Maintenance":
        """The maintenance function."""
        from standings_cli.stack.maintenance import Maintenance  # noqa: PLC0415 - at first use

        return Maintenance(self.client("lambda"), self._output("MaintenanceFunctionName"))

    @property
    def stack(self) -> str:
        """The stack's name."""
        return str(self._options.stack)

    @property
    def is_local(self) -> bool:
        """Whether the stack runs on an emulator."""
        return self._endpoint_url is not None

    def unsigned(self, method: str, path: str, url: str | None = None) -> int:
        """Send a request to the API, or to another address, without a body, a signature or a token.

        Return the status of the answer.
        """
        return self.api.transport.send(method, f"{(url or self.api_url).rstrip('/')}/{path}").status

    def signed_read(self, path: str) -> int:
        """Send a read to the function URL, signed if there are credentials. Return the status of the answer."""
        from standings.client import api  # noqa: PLC0415 - at first use

        signs = api.signature(self._session.get_credentials(), self.function_url, self._session.region_name)
        url = f"{self.function_url.rstrip('/')}/{path}"
        headers = {} if signs is None else signs.headers("GET", url, {}, b"")
        return self.api.transport.send("GET", url, headers).status

    def client(self, service: Any) -> Any:
        """Make a client of an AWS service for the stack's account and region, or for the local endpoint."""
        from botocore.config import Config  # noqa: PLC0415 - at first use
        from botocore.exceptions import BotoCoreError  # noqa: PLC0415 - as above

        timeout = _LAMBDA_READ_TIMEOUT_S if service == "lambda" else _READ_TIMEOUT_S
        config = Config(retries={"mode": "standard"}, max_pool_connections=32, read_timeout=timeout)
        if self._options.local:
            config = config.merge(Config(proxies={}))
        try:
            return self._session.client(service, endpoint_url=self._endpoint_url, config=config)
        except ValueError as error:
            if isinstance(error, BotoCoreError):
                raise
            raise InputError(f"--endpoint-url (or AWS_ENDPOINT_URL): {error}") from error

    @cached_property
    def api_url(self) -> str:
        """The address of the stack's API: as given, of a local AWS, or by the stack's outputs.

        Raises StackError if the stack has none, or if the address holds a password.
        """
        url = self._options.api_url or self._served.get("api_url")
        if url is None and self._endpoint_url is not None:
            from standings.client.api import local_address  # noqa: PLC0415 - at first use

            url = local_address(self._endpoint_url, self._output("ApiId"))
        url = str(url or self._output("ApiUrl"))
        if "@" in url.partition("://")[2].partition("/")[0]:
            # Errors name the address, and the password would be in them.
            raise StackError("the API's address: expected no user and password in it: name a --profile or a --token")
        return url

    @property
    def _endpoint_url(self) -> str | None:
        return self._options.endpoint_url or self._served.get("endpoint") or os.environ.get("AWS_ENDPOINT_URL")

    @cached_property
    def _served(self) -> Mapping[str, str]:
        if not self._options.local:
            return {}
        # A command line that was installed from a wheel is in no clone: whoever calls it is.
        folders = (Path.cwd(), *Path.cwd().parents, _CLONE)
        file = next((folder / SERVED for folder in folders if (folder / SERVED).exists()), _CLONE / SERVED)
        try:
            addresses: Mapping[str, str] = json.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            told = f"--local: no stack is running here ({file} is missing): start one"
            raise StackError(f"{told} with `make serve`, and call from its clone") from error
        return addresses

    @cached_property
    def _session(self) -> "boto3.Session":
        import boto3  # noqa: PLC0415 - at first use

        if self._options.local:
            # The embedded AWS accepts any credentials.
            return boto3.Session("embedded", "embedded", region_name=_REGION)
        return boto3.Session(profile_name=self._options.profile, region_name=self._options.region)

    def _output(self, name: str, advice: str = "deploy it again") -> str:
        value = self._outputs.get(name)
        if value is None:
            raise StackError(
                f"stack {self._options.stack!r} has no output {name}: check --stack and --region, or {advice}"
            )
        return value

    @cached_property
    def _outputs(self) -> Mapping[str, str]:
        stack = self.client("cloudformation").describe_stacks(StackName=self._options.stack)["Stacks"][0]
        return {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", [])}
