"""What a function's process has: its environment, and the runtime that the layer was built for."""

import os
import sys
from pathlib import Path
from typing import Final

# A function's environment variables, and the path of its `boards.toml`.

BOARDS_FILE: Final = Path(__file__).parents[2] / "boards.toml"


def given(name: str) -> str | None:
    """Return an environment variable; None if it is missing or empty."""
    return os.environ.get(name) or None


def required(name: str) -> str:
    """Return an environment variable; LookupError if it is missing or empty."""
    value = os.environ.get(name)
    if not value:
        raise LookupError(f"environment variable {name} is not set; set it as template.yaml does")
    return value


# What the layer was built for, which its makefile writes next to the package, and what the function runs on.

MARKER: Final = Path(__file__).parents[2] / "built-for.txt"
_LAMBDA_NAMES: Final = {"aarch64": "arm64"}


def running() -> str:
    """Return the runtime and the processor of this process as the parameters name them: `python3.13 arm64`."""
    machine = os.uname().machine
    return f"python{sys.version_info.major}.{sys.version_info.minor} {_LAMBDA_NAMES.get(machine, machine)}"


def check_built_for(marker: Path = MARKER) -> None:
    """Raise ImportError if the layer was built for another runtime or processor. Run from source, there is no layer.

    `sam deploy --guided` asks for both after `sam build`. Without this check orjson fails to import, and does not say
    why.
    """
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
