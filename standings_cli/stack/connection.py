"""Where a stack is, and the ways into it: AWS by a profile, a local endpoint, or what `make serve` has started."""

import argparse
import json
import os
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import boto3
from botocore.config import Config

from standings_cli.stack.api import Api, Signature, transport
from standings_cli.stack.maintenance_calls import Maintenance

SERVED: Final = Path(__file__).parents[2] / ".local" / "serve.json"
"""Where `make serve` writes its addresses."""

_CLIENT: Final = Config(retries={"mode": "standard"}, max_pool_connections=32)
# The maintenance function works for up to 15 minutes at each call.
_PATIENT: Final = _CLIENT.merge(Config(read_timeout=930))
_REGION: Final = "us-east-1"
_API_HOST: Final = re.compile(r"\.execute-api\.([a-z0-9-]+)\.amazonaws\.")


class StackError(Exception):
    """A stack that is not there, or is none of ours; the message says what was looked for."""


class Connection:
    """A stack, as the options of the command line name it. Nothing is asked before it is needed."""

    def __init__(self, given: argparse.Namespace) -> None:
        self._given = given

    @property
    def queue_url(self) -> str:
        """The queue of events."""
        return str(self._given.queue_url or self._served.get("queue_url") or self._output("ActivityQueueUrl"))

    @cached_property
    def api(self) -> Api:
        """The HTTP API. Requests are signed where there are credentials and no token."""
        credentials = None if self._given.token else self._session.get_credentials()
        signature = None if credentials is None else Signature(credentials, self._region)
        return Api(self._api_url, transport(self._api_url, local=self._given.local), signature, self._given.token)

    @cached_property
    def maintenance(self) -> Maintenance:
        """The function of upkeep."""
        return Maintenance(self.client("lambda"), self._output("MaintenanceFunctionName"))

    def client(self, service: Any) -> Any:
        """A client of an AWS service, for the stack's account and region, or of the local endpoint."""
        config = _PATIENT if service == "lambda" else _CLIENT
        if self._given.local:
            config = config.merge(Config(proxies={}))
        return self._session.client(service, endpoint_url=self._endpoint_url, config=config)

    @property
    def _region(self) -> str:
        """The region to sign for: that of the API's own address, or of the configuration."""
        in_address = _API_HOST.search(self._api_url)
        return in_address[1] if in_address else self._session.region_name or _REGION

    @cached_property
    def _api_url(self) -> str:
        known = self._given.api_url or self._served.get("api_url")
        if known is None and self._endpoint_url is not None:
            # A local AWS answers for its APIs at its own address; their names resolve for few clients.
            known = f"{self._endpoint_url}/_aws/execute-api/{self._output('ApiId')}"
        return str(known or self._output("ApiUrl"))

    @property
    def _endpoint_url(self) -> str | None:
        return self._given.endpoint_url or self._served.get("endpoint") or os.environ.get("AWS_ENDPOINT_URL")

    @cached_property
    def _served(self) -> Mapping[str, str]:
        if not self._given.local:
            return {}
        try:
            addresses: Mapping[str, str] = json.loads(SERVED.read_text(encoding="utf-8"))
        except OSError as error:
            raise StackError(f"--local: nothing is served here ({error}); `make serve` does") from error
        return addresses

    @cached_property
    def _session(self) -> boto3.Session:
        if self._given.local:
            # The embedded AWS takes any.
            return boto3.Session("embedded", "embedded", region_name=_REGION)
        return boto3.Session(profile_name=self._given.profile, region_name=self._given.region)

    def _output(self, name: str) -> str:
        value = self._outputs.get(name)
        if value is None:
            raise StackError(f"stack {self._given.stack!r} has no output {name}: is it a stack of Standings, and new?")
        return value

    @cached_property
    def _outputs(self) -> Mapping[str, str]:
        found = self.client("cloudformation").describe_stacks(StackName=self._given.stack)["Stacks"][0]
        return {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", [])}
