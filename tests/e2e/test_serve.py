"""`make serve` takes up another `boards.toml` with what was counted before, and leaves nothing behind."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

from demo.demo import BOARD
from tests.support.aws.embedded_tools import copied, serving, skip_without_tools

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.xdist_group("serve")]

PATIENCE_S: Final = 60.0
WRONG: Final = '\n[boards."run-*"]\ncolour = 1\n'
RIGHT: Final = '\n[boards."run-*"]\nmetrics.distance = { aggregate = "sum", precision = 1, windows = ["all"] }\n'


def until(true: Callable[[], Any]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end
        time.sleep(0.2)


def test_a_changed_boards_file_counts_without_a_new_stack(tmp_path: Path) -> None:
    skip_without_tools()
    folder, log = copied(tmp_path / "standings"), tmp_path / "log"
    boards = folder / "layers" / "standings" / "boards.toml"
    shipped = boards.read_text(encoding="utf-8")
    with serving(folder, log):
        addresses = json.loads((folder / ".local" / "serve.json").read_text(encoding="utf-8"))

        def call(path: str, body: Any = None) -> Any:
            content = None if body is None else json.dumps(body).encode()
            request = urllib.request.Request(addresses["api_url"] + path, content)  # noqa: S310 - loopback
            try:
                with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:  # noqa: S310 - the same
                    return json.load(response)
            except urllib.error.HTTPError as error:
                return error.code

        def said(text: str) -> bool:
            return text in log.read_text(encoding="utf-8")

        def metrics() -> list[str]:
            return [one["metric"] for one in call("/boards/run-berlin")["metrics"]]

        before = call(f"/boards/{BOARD}/points/all?limit=1")["total"]
        boards.write_text(shipped + WRONG, encoding="utf-8")
        until(lambda: said(f"boards.toml:{len((shipped + WRONG).splitlines())}: colour: unknown key"))
        assert said("boards.toml has changed, but cannot count: the definitions before it go on")
        assert metrics() == ["points"]

        boards.write_text(shipped + RIGHT, encoding="utf-8")
        until(lambda: said("the new boards.toml counts, after "))
        assert metrics() == ["distance"]
        event = {
            "board": "run-berlin",
            "member": "me",
            "metrics": {"distance": 11.2},
            "at": datetime.now(UTC).isoformat(),
        }
        assert call("/events", [{"id": "one", **event}])["results"][0]["status"] == "queued"
        until(lambda: call("/boards/run-berlin/distance/all/rank?member=me") != 404)
        assert call("/boards/run-berlin/distance/all/rank?member=me")["score"] == 11.2
        assert call(f"/boards/{BOARD}/points/all?limit=1")["total"] == before
    assert log.read_text(encoding="utf-8").endswith("stopped, nothing is left running\n")
    assert not list((folder / ".local").glob("run-*"))
