"""`pip install .` gives the command line without the repository: here its wheel, in an environment of its own."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path
from typing import Final

import pytest

from standings_cli import VERSION
from tests.support.cli.signing import answering

PROJECT: Final = Path(__file__).parents[3]
LAYER: Final = PROJECT / "layers" / "standings"
BUILD: Final = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy, since the build leaves files behind."""
    copy, built = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("built")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(PROJECT / name, copy)
    for folder in ("standings_cli", "layers", "tests"):
        shutil.copytree(PROJECT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([sys.executable, "-c", BUILD, str(built)], cwd=copy, check=True, capture_output=True)
    [path] = built.iterdir()
    return path


@pytest.fixture(scope="module")
def command(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`standings`, installed from the wheel alone; what it depends on comes from this environment."""
    place = tmp_path_factory.mktemp("place") / "venv"
    venv.create(place)
    uv = PROJECT / ".local" / "tools" / "bootstrap" / "bin" / "uv"
    offline = ("--quiet", "--offline", "--no-deps")
    subprocess.run([uv, "pip", "install", *offline, "--python", place / "bin" / "python", wheel], check=True)
    [packages] = place.glob("lib/python*/site-packages")
    # Python reads no .pth of a folder that a .pth names, so the editable installation there is not found.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return place / "bin" / "standings"


def answer(command: Path, *arguments: str) -> str:
    """Return what a command line prints, run where nothing of the repository is in sight."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {
        "NO_PROXY": "127.0.0.1"
    }
    done = subprocess.run(
        [command, *arguments],
        cwd=command.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_holds_the_two_packages_and_no_more(wheel: Path) -> None:
    assert wheel.name == f"standings_dynamodb-{VERSION}-py3-none-any.whl"
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    modules = {path.relative_to(LAYER).as_posix() for path in (LAYER / "standings").rglob("*.py")}
    modules |= {path.relative_to(PROJECT).as_posix() for path in (PROJECT / "standings_cli").rglob("*.py")}
    assert names == modules


def test_it_runs_without_the_repository(command: Path) -> None:
    where = "import standings, standings_cli; print(standings.__file__, standings_cli.__file__)"
    python = command.parent / "python"

    assert answer(python, "-c", where).count(str(command.parents[1])) == 2
    assert answer(command, "--version") == f"standings {VERSION}\n"
    assert answer(command, "--help").startswith("usage: standings")


def test_it_checks_a_boards_toml(command: Path) -> None:
    assert answer(command, "boards", "check", str(LAYER / "boards.toml")) == "boards.toml: 2 families of boards\n"


def test_it_reads_at_an_address(command: Path) -> None:
    with answering((200, '{"boards": [{"board": "berlin-2026"}], "next": null}')) as server:
        output = answer(command, "boards", "list", "--api-url", server.address, "--token", "a.b.c")
    assert output == "berlin-2026\n"
