"""`sam build` makes a layer with the pinned packages and nothing else, all of it compiled for the runtime.

It fails where it cannot compile the layer, and for a bad boards.toml.
"""

import os
import platform
import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Final

import pytest

from demo.embedded import stack
from demo.embedded.built import made_of, mark
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
    "QueryFunction": {
        *("app.py", "openapi.json", *(f"page/{name}" for name in PAGE_FILES)),
        *(f"admin/{name}" for name in ("page.html", "admin.css", "admin.js")),
    },
}
MAX_BYTES: Final = {"StandingsLayer": 12_000_000, "QueryFunction": 200_000, "the admin's page": 40_000}
"""Unpacked, the admin's page apart. A function adds a handler of at most 20 kB; Lambda accepts 250 MB with layers."""
MACHINES: Final = {"x86_64": 62, "arm64": 183}
"""https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html: e_machine, at byte 18"""
MAGIC: Final = {"311": 3495, "312": 3531, "313": 3571, "314": 3627}
"""https://github.com/python/cpython/blob/main/Include/internal/pycore_magic_number.h: of each release's bytecode"""
NATIVE: Final = "arm64" if platform.machine().lower() in {"arm64", "aarch64"} else "x86_64"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return copy_project(tmp_path)


def build(project: Path, *parameters: str, **variables: str) -> tuple[int, str]:
    """Build, and return the exit status and what is printed."""
    environment = {
        **os.environ,
        "PATH": f"{LOCAL / 'tools' / 'bootstrap' / 'bin'}:{os.environ['PATH']}",
        "SAM_CLI_TELEMETRY": "0",
        **variables,
    }
    command: list[str | Path] = [SAM, "build", *(["--parameter-overrides", *parameters] if parameters else [])]
    built = ended(command, cwd=project, env=environment)
    return built.returncode, built.stdout + built.stderr


@pytest.mark.parametrize(
    "target",
    [
        (),
        (stack.target()[0], f"Architecture={'x86_64' if NATIVE == 'arm64' else 'arm64'}"),
    ],
    ids=["default", "another processor"],
)
def test_the_layer_fits_the_runtime(project: Path, target: tuple[str, ...]) -> None:
    """Whichever Python builds it."""
    status, printed = build(project, *target)
    assert status == 0, printed
    runtime, processor = (one.partition("=")[2] for one in target or ("=python3.13", "=arm64"))
    version = runtime.removeprefix("python")
    assert f"the layer is compiled for Python {version}, by " in printed
    layer = project / ".aws-sam" / "build" / "StandingsLayer" / "python"
    binary = f"{version.replace('.', '')}-{processor.replace('arm64', 'aarch64')}"
    assert [found.name for found in (layer / "orjson").glob("*.so")] == [f"orjson.cpython-{binary}-linux-gnu.so"]
    assert (layer / "standings" / "__init__.py").exists()
    assert (layer / "boards.toml").exists()
    assert (layer / "built-for.txt").read_text(encoding="utf-8") == f"{runtime} {processor}\n"
    assert_no_more_than_is_needed(project / ".aws-sam" / "build", processor)
    assert_all_is_compiled(layer, version.replace(".", ""))


def assert_all_is_compiled(layer: Path, release: str) -> None:
    """Beside each module is bytecode that this release of Python loads on Lambda, and no other."""
    names = files(layer)
    modules = {name for name in names if name.endswith(".py")}
    bytecode = {name for name in names if "__pycache__" in name}
    compiled = {f"{Path(name).parent}/__pycache__/{Path(name).stem}.cpython-{release}.pyc" for name in modules}
    assert bytecode == {name.removeprefix("./") for name in compiled}
    for name in bytecode:
        content = (layer / name).read_bytes()
        # The magic number with CR and LF, then the flags: a hash of the source is here, and is not to be checked.
        assert content[:8] == MAGIC[release].to_bytes(2, "little") + b"\r\n" + (1).to_bytes(4, "little"), name
        source = f"/opt/python/{Path(name).parent.parent / Path(name).name.partition('.')[0]}.py"
        assert source.encode() in content, name


def test_a_build_that_cannot_compile_fails(project: Path) -> None:
    status, printed = build(project, RUNTIME_PYTHON="/no/python")
    assert status != 0
    assert "RUNTIME_PYTHON: expected a Python 3.13, which runs the functions, got /no/python" in printed


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
    for name in ("StandingsLayer", *FUNCTIONS):
        sizes = {file: (build / name / file).stat().st_size for file in files(build / name)}
        admin = sum(size for file, size in sizes.items() if file.startswith("admin/"))
        print(f"{name}: {sum(sizes.values())} bytes in {len(sizes)} files")
        assert sum(sizes.values()) - admin <= MAX_BYTES.get(name, 20_000), name
        assert admin <= MAX_BYTES["the admin's page"]


def files(directory: Path) -> dict[str, str]:
    """Return the digest of each file by its path within a directory."""
    return {
        path.relative_to(directory).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def test_two_builds_of_the_same_tree_are_the_same(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """They are equal byte for byte, in another folder and at another time: one is the demo's, which may be old."""
    target = stack.target()
    status, printed = build(project, *target)
    assert status == 0, printed
    first = project / ".aws-sam" / "build"
    second = stack._build(tmp_path_factory.mktemp("demo"), print).parent

    names = files(first)
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


def test_a_build_takes_the_mark_of_the_last_one_away(project: Path) -> None:
    """`make serve` builds nothing if the build is marked: the mark must not outlive what it was made for."""
    assert build(project)[0] == 0
    mark(project / ".aws-sam" / "build", "a digest")
    assert build(project)[0] == 0
    assert made_of(project / ".aws-sam" / "build") is None
