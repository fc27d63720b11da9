"""What a function's process has: its environment, and the runtime that the layer was built for."""

import os
import sys
from pathlib import Path
from typing import Final

BOARDS_FILE: Final = Path(__file__).parents[2] / "boards.toml"


def given(name: str) -> str | None:
    """An environment variable, such as `RESULTS_BUCKET`; None if it is missing or empty."""
    return os.environ.get(name) or None


def required(name: str) -> str:
    """An environment variable, such as `SCORES_TABLE`; LookupError if it is missing or empty."""
    value = given(name)
    if value is None:
        raise LookupError(f"environment variable {name} is not set; set it as template.yaml does")
    return value


MARKER: Final = Path(__file__).parents[2] / "built-for.txt"
"""What the layer was built for, such as `python3.13 arm64`: its makefile writes it next to the package."""


def check_built_for(marker: Path = MARKER) -> None:
    """Raise ImportError if the layer was built for another runtime or processor: orjson's would not say why."""
    try:
        built = marker.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return
    if built != running():
        runtime, _, processor = running().partition(" ")
        raise ImportError(
            f"the layer was built for {built.replace(' ', ' on ')}, but the function runs {runtime} on {processor}: "
            f"run `sam build --parameter-overrides PythonRuntime={runtime} Architecture={processor}`, then `sam "
            "deploy` with the same values"
        )


def running() -> str:
    """Return the runtime and the processor of this process as the parameters name them: `python3.13 arm64`."""
    machine = os.uname().machine
    return f"python{sys.version_info.major}.{sys.version_info.minor} {'arm64' if machine == 'aarch64' else machine}"
