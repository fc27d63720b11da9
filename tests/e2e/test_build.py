"""`sam build` on its own: a layer that fits what was asked for, and no layer of a bad file."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from demo.stack import LOCAL, PROJECT

pytestmark = pytest.mark.e2e

SAM = LOCAL / "tools" / "sam" / "bin" / "sam"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    if not SAM.exists():
        pytest.skip("sam is missing, `make setup` installs it")
    for name in ("template.yaml", "samconfig.toml"):
        shutil.copy(PROJECT / name, tmp_path)
    for name in ("functions", "layers"):
        shutil.copytree(PROJECT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def build(project: Path, *parameters: str) -> subprocess.CompletedProcess[str]:
    tools = LOCAL / "tools" / "bootstrap" / "bin"
    overrides = ["--parameter-overrides", *parameters] if parameters else []
    return subprocess.run(
        [SAM, "build", *overrides],
        cwd=project,
        env=os.environ | {"PATH": f"{tools}:{os.environ['PATH']}", "SAM_CLI_TELEMETRY": "0"},
        text=True,
        capture_output=True,
        check=False,
        timeout=240,
    )


@pytest.mark.parametrize(
    ("parameters", "binary"),
    [
        ((), "orjson.cpython-313-aarch64-linux-gnu.so"),
        (
            ("PythonRuntime=python3.12", "Architecture=x86_64"),
            "orjson.cpython-312-x86_64-linux-gnu.so",
        ),
    ],
)
def test_the_layer_fits_runtime_and_processor(project: Path, parameters: tuple[str, ...], binary: str) -> None:
    built = build(project, *parameters)

    assert built.returncode == 0, built.stderr
    layer = project / ".aws-sam" / "build" / "StandingsLayer" / "python"
    assert [found.name for found in (layer / "orjson").glob("*.so")] == [binary]
    assert (layer / "standings" / "__init__.py").exists()
    assert (layer / "boards.toml").exists()
    assert not (layer / "boto3").exists()


def test_a_mistake_in_boards_fails_the_build_with_its_line(project: Path) -> None:
    boards = project / "layers" / "standings" / "boards.toml"
    lines = boards.read_text(encoding="utf-8").splitlines()
    boards.write_text("\n".join([*lines, '[boards."x-*"]', "colour = 1"]), encoding="utf-8")

    built = build(project)

    assert built.returncode != 0
    assert f"boards.toml:{len(lines) + 2}: " in built.stdout + built.stderr
