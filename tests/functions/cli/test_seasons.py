"""Seasons by the command line, over the real handlers behind HTTP."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from standings_cli.__main__ import main
from standings_cli.stack.api import Api
from standings_cli.stack.transport import Transport
from standings_cli.terminal.exit_status import OK
from tests.support.aws.gateway import serving
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import running
from tests.support.builders.stages.streaming import apply

BOARDS = """
[boards."league"]
metrics.points = { aggregate = "sum", windows = ["season"] }
[[boards."league".seasons]]
name = "autumn-2026"
starts = "2026-09-01"
ends = "2026-11-01"
[[boards."league".seasons]]
name = "winter-2026"
starts = "2026-11-01"
ends = "2027-03-01"
"""


@pytest.fixture
def api(engine: Any, clock: ManualClock) -> Iterator[Api]:
    event = {"id": "1", "board": "league", "member": "m1", "at": "2026-11-21T09:05:00Z", "metrics": {"points": 5}}
    with running(engine, clock, BOARDS) as stack, serving(stack) as gateway:
        apply(stack, [event])
        yield Api(gateway.address, Transport(local=True))


def printed(api: Api, capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(list(arguments), lambda _: SimpleNamespace(api=api)) == OK
    return capsys.readouterr().out.splitlines()


def test_seasons_by_name(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    now, *_ = printed(api, capsys, "top", "league")
    before, *_ = printed(api, capsys, "top", "league", "--period", "autumn-2026")

    assert now.startswith("league · points · season · winter-2026, 2026-11-01 to 2027-02-28 · 1 member")
    assert (
        before == "league · points · season · autumn-2026, 2026-09-01 to 2026-10-31 · 0 members · no change yet · final"
    )
