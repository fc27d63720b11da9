"""A function says so if its layer was built for another runtime or processor, before an import fails without a word."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from standings.runtime.environment import running
from tests.support.aws.stack import FUNCTIONS

PACKAGE = FUNCTIONS.parent / "layers" / "standings" / "standings"


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    """A layer whose orjson was compiled for another runtime."""
    (tmp_path / "standings").symlink_to(PACKAGE)
    (tmp_path / "orjson.py").write_text("raise ImportError(\"No module named 'orjson.orjson'\")\n", encoding="utf-8")
    return tmp_path


def start(layer: Path, function: str) -> str:
    """Import a function over a layer, and return the last line of its error."""
    done = subprocess.run(
        [sys.executable, "-c", "import app"],
        cwd=FUNCTIONS / function,
        env=os.environ | {"PYTHONPATH": str(layer), "PYTHONDONTWRITEBYTECODE": "1"},
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize("function", ["writer", "projector", "query", "command", "maintenance"])
def test_a_layer_for_another_runtime_is_named_with_what_to_do(layer: Path, function: str) -> None:
    (layer / "built-for.txt").write_text("python3.10 riscv\n", encoding="utf-8")
    runtime, processor = running().split()

    assert start(layer, function) == (
        f"ImportError: the layer was built for python3.10 on riscv, but the function runs {runtime} on {processor}: "
        f"run `sam build --parameter-overrides PythonRuntime={runtime} Architecture={processor}`, then `sam deploy` "
        "with the same values"
    )


def test_a_layer_that_fits_and_a_run_from_source_go_on(layer: Path) -> None:
    assert start(layer, "writer") == "ImportError: No module named 'orjson.orjson'"
    (layer / "built-for.txt").write_text(f"{running()}\n", encoding="utf-8")
    assert start(layer, "writer") == "ImportError: No module named 'orjson.orjson'"


def test_the_runtime_and_processor_are_named_as_the_parameters_do() -> None:
    built = (PACKAGE.parent / "targets" / running().replace(" ", "-")).is_dir()
    assert built, f"no makefile for {running()}"
