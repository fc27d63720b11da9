"""Clients of a stack whose functions run in this process."""

from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final
from zlib import crc32

from standings.client import Standings, connect
from standings.runtime.clock import Clock
from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.stack import Stack

TABLES: Final = {name: name.title() for name in ("scores", "rankings", "profiles", "receipts")}


def connected(stack: Stack, folder: Path, /, boards: str | None, **given: Any) -> Standings:
    """A client of a stack, made of what is given, and else of all that `connect` needs.

    `boards` is a text, which is written to the folder. `sqs` and `dynamodb` are clients that the client shall have;
    `outputs` are those of a CloudFormation stack, `credentials` those of its session.
    """
    file = None
    if boards is not None:
        file = folder / f"{crc32(boards.encode())}.toml"
        file.write_text(boards, encoding="utf-8")
    clients = {"dynamodb": given.pop("dynamodb", stack.dynamodb), "sqs": given.pop("sqs", stack.activity)}
    outputs = [{"OutputKey": name, "OutputValue": value} for name, value in given.pop("outputs", {}).items()]
    clients["cloudformation"] = SimpleNamespace(describe_stacks=lambda **_: {"Stacks": [{"Outputs": outputs}]})
    credentials = given.pop("credentials", None)
    session = SimpleNamespace(
        create_client=lambda service, config: clients[service],  # noqa: ARG005 - the SDK's names
        get_credentials=lambda: credentials,
        get_config_variable=lambda _: "eu-central-1",
    )
    clock = Clock(stack.clock, stack.clock.monotonic, stack.clock.sleep, lambda: 0.5)
    ids = count(1)
    made = {"tables": TABLES, "boards": file, "queue_url": ENVIRONMENT["ACTIVITY_QUEUE_URL"], **given}
    return connect(session=session, clock=clock, new_id=lambda: f"made-{next(ids)}", **made)
