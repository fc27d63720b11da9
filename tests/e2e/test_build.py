"""`sam build` makes a layer with the pinned packages and nothing else, and fails for a bad boards.toml."""

import os
import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Final

import pytest

from demo.embedded import stack
from demo.embedded.stack import LOCAL, PROJECT
from tests.support.aws.embedded_tools import copy_project
from tests.support.programs import ended

pytestmark = [pytest.mark.e2e, pytest.mark.thorough]

SAM = LOCAL / "tools" / "sam" / "bin" / "sam"

PACKAGES: Final = {"aws_lambda_powertools", "jmespath", "orjson", "typing_extensions.py", "tzdata"}
OURS: Final = {"standings", "boards.toml", "built-for.txt"}
PAGE: Final = PROJECT / "functions" / "query" / "page" / "page.html"
PAGE_FILES: Final = {"page.html", *re.findall(r'(?:href|src)="([a-z]+\.(?:css|js))"', PAGE.read_text(encoding="utf-8"))}
FUNCTIONS: Final = {
    **{f"{name}Function": {"app.py"} for name in ("Announcer", "Command", "Maintenance", "Projector", "Writer")},
    "QueryFunction": {"app.py", "openapi.json", *(f"page/{name}" for name in PAGE_FILES)},
}
MAX_BYTES: Final = {"StandingsLayer": 12_000_000, "QueryFunction": 200_000}
"""Unpacked. Each function adds a handler of at most 20 kB; Lambda accepts 250 MB with layers."""
MACHINES: Final = {"x86_64": 62, "arm64": 183}
"""https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html: e_machine, at byte 18"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return copy_project(tmp_path)


def build(project: Path, *parameters: str) -> tuple[int, str]:
    """Build, and return the exit status and what is printed."""
    environment = os.environ | {
        "PATH": f"{LOCAL / 'tools' / 'bootstrap' / 'bin'}:{os.environ['PATH']}",
        "SAM_CLI_TELEMETRY": "0",
    }
    command: list[str | Path] = [SAM, "build", *(["--parameter-overrides", *parameters] if parameters else [])]
    built = ended(command, cwd=project, env=environment)
    return built.returncode, built.stdout + built.stderr


@pytest.mark.parametrize(
    ("parameters", "binary", "built_for"),
    [
        ((), "313-aarch64", "python3.13 arm64"),
        (("PythonRuntime=python3.12", "Architecture=x86_64"), "312-x86_64", "python3.12 x86_64"),
    ],
)
def test_the_layer_fits_the_runtime(project: Path, parameters: tuple[str, ...], binary: str, built_for: str) -> None:
    status, printed = build(project, *parameters)
    assert status == 0, printed
    layer = project / ".aws-sam" / "build" / "StandingsLayer" / "python"
    assert [found.name for found in (layer / "orjson").glob("*.so")] == [f"orjson.cpython-{binary}-linux-gnu.so"]
    assert (layer / "standings" / "__init__.py").exists()
    assert (layer / "boards.toml").exists()
    assert (layer / "built-for.txt").read_text(encoding="utf-8") == f"{built_for}\n"
    assert_no_more_than_is_needed(project / ".aws-sam" / "build", "x86_64" if "x86_64" in binary else "arm64")


def assert_no_more_than_is_needed(build: Path, processor: str) -> None:
    """The layer holds code, the pinned packages with their licences, and compiled files for one processor."""
    assert {path.name for path in build.iterdir()} == {"StandingsLayer", "template.yaml", *FUNCTIONS}
    for function, expected in FUNCTIONS.items():
        assert set(files(build / function)) == expected
    layer = build / "StandingsLayer"
    assert [path.name for path in layer.iterdir()] == ["python"]
    found = {path.name for path in (layer / "python").iterdir()} - {"__pycache__"}
    versions = {name for name in found if name.endswith(".dist-info")}
    assert found - versions == PACKAGES | OURS
    assert {name.split("-")[0] for name in versions} == {name.removesuffix(".py") for name in PACKAGES}

    names = files(layer)
    assert not [name for name in names if {"test", "tests", "boto3", "botocore", "bin"}.intersection(name.split("/"))]
    for name in names:
        if name.endswith(".so"):
            assert int.from_bytes((layer / name).read_bytes()[18:20], "little") == MACHINES[processor], name
        elif "__pycache__" in name:
            # Bytecode is there only if the building Python is the functions' own, and only of sources that are there.
            assert f".cpython-{stack.target()[0].rpartition('=python')[2].replace('.', '')}." in name, name
            source = Path(name).parent.parent / f"{Path(name).name.partition('.')[0]}.py"
            assert (layer / source).exists(), name
    for name in ("StandingsLayer", *FUNCTIONS):
        total = sum((build / name / file).stat().st_size for file in files(build / name))
        print(f"{name}: {total} bytes in {len(files(build / name))} files")
        assert total <= MAX_BYTES.get(name, 20_000), name


def files(directory: Path) -> dict[str, str]:
    """Return the digest of each file by its path within a directory."""
    return {
        path.relative_to(directory).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def test_two_builds_of_the_same_tree_are_the_same(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """They are equal byte for byte, in another folder and at another time: one is the demo's, which may be old.

    Both are for the building Python, so they include bytecode.
    """
    target = stack.target()
    status, printed = build(project, *target)
    assert status == 0, printed
    first = project / ".aws-sam" / "build"
    second = stack._build(tmp_path_factory.mktemp("demo")).parent

    names = files(first)
    assert any(name.endswith(".pyc") for name in names)
    assert {name for name, digest in files(second).items() if names.get(name) != digest} == set()
    assert names.keys() == files(second).keys()
    assert_no_more_than_is_needed(first, target[1].rpartition("=")[2])


def _another_digest(text: str) -> str:
    return re.sub("sha256:[0-9a-f]{64}", f"sha256:{'0' * 64}", text)


@pytest.mark.parametrize(
    ("file", "change", "said"),
    [
        ("requirements.txt", _another_digest, "DO NOT MATCH THE HASHES"),
        ("boards.toml", lambda text: text + '[boards."x-*"]\ncolour = 1\n', "boards.toml:{lines}: "),
    ],
)
def test_a_mistake_fails_the_build(project: Path, file: str, change: Callable[[str], str], said: str) -> None:
    path = project / "layers" / "standings" / file
    path.write_text(text := change(path.read_text(encoding="utf-8")), encoding="utf-8")
    status, printed = build(project)
    assert status != 0
    assert said.format(lines=len(text.splitlines())) in printed
