"""A deployed stack as the checks see it: its resources, its parameters and clients to look at them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final

from standings_cli.stack.connection import Connection

TABLES: Final = ("ScoresTable", "ReceiptsTable", "RankingsTable", "ProfilesTable")
FUNCTIONS: Final = ("WriterFunction", "ProjectorFunction", "QueryFunction", "CommandFunction", "MaintenanceFunction")
ANNOUNCER: Final = "AnnouncerFunction"


@dataclass(frozen=True)
class Deployed:
    """A stack that is deployed. `is_local` says that an emulator plays AWS, which lacks some of its services."""

    connection: Connection
    stack: str
    is_local: bool
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    @cached_property
    def parameters(self) -> Mapping[str, str]:
        """The stack's parameters."""
        described = self.client("cloudformation").describe_stacks(StackName=self.stack)["Stacks"][0]
        return {one["ParameterKey"]: one.get("ParameterValue", "") for one in described.get("Parameters", [])}

    @cached_property
    def resources(self) -> Mapping[str, str]:
        """The names of the stack's resources, by logical id."""
        pages = self.client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=self.stack)
        found = [one for page in pages for one in page["StackResourceSummaries"]]
        return {one["LogicalResourceId"]: one["PhysicalResourceId"] for one in found if "PhysicalResourceId" in one}

    @property
    def functions(self) -> Sequence[str]:
        """The logical ids of the stack's functions."""
        return (*FUNCTIONS, ANNOUNCER) if ANNOUNCER in self.resources else FUNCTIONS

    @cached_property
    def tables(self) -> Mapping[str, Mapping[str, Any]]:
        """The descriptions of the tables, by logical id."""
        client = self.client("dynamodb")
        return {name: client.describe_table(TableName=self.resources[name])["Table"] for name in TABLES}

    def client(self, service: str) -> Any:
        """Make a client of an AWS service."""
        return self.connection.client(service)

    def parameter(self, name: str) -> str:
        """A parameter's value; "" if an older template has none of this name."""
        return self.parameters.get(name, "")
