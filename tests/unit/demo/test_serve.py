"""One `make serve` at a time in a clone, and each takes away only the addresses that it wrote."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from demo import serve
from demo.embedded.processes import ProcessError

PAGE = "http://127.0.0.1:4566/"


@contextmanager
def held(lock: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock, as a `make serve` in another terminal does, until it is killed."""
    program = (
        "import fcntl, sys; file = open(sys.argv[1], 'w'); fcntl.flock(file, fcntl.LOCK_EX); print(flush=True); input()"
    )
    command = [sys.executable, "-c", program, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def test_a_second_run_of_a_clone_does_not_begin_until_the_first_has_ended_however(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    addresses, began = tmp_path / "serve.json", list[bool]()

    def deployed(*_: Any, linked: bool) -> Any:
        began.append(linked)
        raise ProcessError("no tools")

    monkeypatch.setattr(serve, "ADDRESSES", addresses)
    monkeypatch.setattr(serve, "RUNNING", tmp_path / "serve.lock")
    monkeypatch.setattr(serve, "deployed", deployed)
    with held(tmp_path / "serve.lock") as first:
        assert serve.main([]) == 1
        assert "runs in this clone already, and is not up yet" in capsys.readouterr().out
        addresses.write_text(json.dumps({"page_url": PAGE}), encoding="utf-8")
        assert serve.main(["--keep"]) == 1
        assert f"runs in this clone already, its page is {PAGE}: use that one" in capsys.readouterr().out
        assert not began
        assert addresses.exists()

        first.kill()
        first.wait()
        assert serve.main([]) == 1
        assert "failed: no tools" in capsys.readouterr().out
    assert began == [True]
    assert not addresses.exists()


def test_the_end_takes_away_only_its_own_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    addresses, environments = tmp_path / "serve.json", tmp_path / "env.json"
    monkeypatch.setattr(serve, "ADDRESSES", addresses)
    monkeypatch.setattr(serve, "ENVIRONMENTS", environments)
    stack: Any = SimpleNamespace(endpoint="http://e", api_url="http://e/api", queue_url="http://e/q", environments=dict)
    with serve._published(stack):
        assert json.loads(addresses.read_text(encoding="utf-8"))["page_url"] == "http://e/api/"
        addresses.write_text("another's", encoding="utf-8")
    assert addresses.read_text(encoding="utf-8") == "another's"
    assert not environments.exists()
