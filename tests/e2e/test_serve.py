"""`make serve` takes up another `boards.toml` with what was counted before, keeps data, and leaves nothing running."""

import json
import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import pytest

from demo.demo import BOARD
from tests.support.aws.embedded_tools import copied, serving, skip_without_tools
from tests.support.programs import output

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.xdist_group("serve")]

PATIENCE_S: Final = 60.0
WRONG: Final = '\n[boards."run-*"]\ncolour = 1\n'
RIGHT: Final = '\n[boards."run-*"]\nmetrics.distance = { aggregate = "sum", precision = 1, windows = ["all"] }\n'


KEEP: Final = "SERVE_ARGS=--keep"
PLACE: Final = "/boards/run-berlin/distance/all"


def until(true: Callable[[], Any]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end
        time.sleep(0.2)


class Api:
    """The API of the stack that `make serve` has started in a folder."""

    def __init__(self, folder: Path) -> None:
        self._url = json.loads((folder / ".local" / "serve.json").read_text(encoding="utf-8"))["api_url"]

    def call(self, path: str, body: Any = None) -> Any:
        """Return an answer, or the status of an error."""
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, content)  # noqa: S310 - loopback
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:  # noqa: S310 - the same
                return json.load(response)
        except urllib.error.HTTPError as error:
            return error.code

    def metrics(self) -> list[str]:
        return [one["metric"] for one in self.call("/boards/run-berlin")["metrics"]]

    def members(self) -> int:
        total: int = self.call(f"/boards/{BOARD}/points/all?limit=1")["total"]
        return total

    def run(self, member: str, distance: float) -> None:
        """Post an event, and wait until it counts."""
        event = {"board": "run-berlin", "member": member, "metrics": {"distance": distance}}
        sent = self.call("/events", [{"id": f"of-{member}", "at": datetime.now(UTC).isoformat(), **event}])
        assert sent["results"][0]["status"] == "queued"
        until(lambda: self.call(f"{PLACE}/rank?member={member}") != HTTPStatus.NOT_FOUND)


def test_a_changed_boards_file_counts_without_a_new_stack_and_the_next_run_has_its_data(tmp_path: Path) -> None:
    skip_without_tools()
    folder, log = copied(tmp_path / "standings"), tmp_path / "log"
    boards = folder / "layers" / "standings" / "boards.toml"
    shipped = boards.read_text(encoding="utf-8")

    def said(text: str) -> bool:
        return text in log.read_text(encoding="utf-8")

    with serving(folder, log, KEEP):
        api = Api(folder)
        before = api.members()
        boards.write_text(shipped + WRONG, encoding="utf-8")
        until(lambda: said(f"boards.toml:{len((shipped + WRONG).splitlines())}: colour: unknown key"))
        assert said("boards.toml has changed, but cannot count: the definitions before it go on")
        assert api.metrics() == ["points"]

        boards.write_text(shipped + RIGHT, encoding="utf-8")
        until(lambda: said("the new boards.toml counts, after "))
        assert api.metrics() == ["distance"]
        api.run("ann", 11.2)
        api.run("bob", 8)
        assert api.members() == before
    assert log.read_text(encoding="utf-8").endswith("stopped, nothing is left running\n")
    assert not list((folder / ".local").glob("run-*"))

    with serving(folder, log, KEEP):
        api = Api(folder)
        assert said("items that the last run has kept")
        api.run("cem", 9)
        listed = [(one["member"], one["score"]) for one in api.call(f"{PLACE}?limit=10")["entries"]]
        assert listed == [("ann", 11.2), ("cem", 9), ("bob", 8)]
        assert api.members() == before
        audit = [sys.executable, "-m", "standings_cli", "audit", "--local"]
        output(audit, cwd=folder, env={**os.environ, "PYTHONPATH": str(folder / "layers" / "standings")})
        # Receipts are there too: an event that has counted does not count again.
        assert api.call("/events?id=of-ann")["status"] == "counted"
