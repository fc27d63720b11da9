"""How the command line starts: what it imports and which AWS clients it makes before it has something to do with them,
as a process, and without the repository: from its wheel, in an environment of its own."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

from standings_cli import VERSION
from standings_cli.__main__ import parser
from standings_cli.stack.connection import Connection
from standings_cli.terminal import INTERRUPTED, OK, WRONG
from tests.support.cli.signing import answering
from tests.support.programs import ended, output

PROJECT = Path(__file__).parents[3]
LAYER = PROJECT / "layers" / "standings"
BOARDS = LAYER / "boards.toml"
SLOW = ("boto3", "botocore", "rich", "urllib3")
LAYER_ALONE = ("standings.aws.dynamodb", "standings.wiring", "aws_lambda_powertools", "boto3", "rich")
PROGRAM = """
import atexit, json, sys; sys.argv[0] = 'standings'
atexit.register(lambda: print(json.dumps(list(sys.modules)), file=sys.stderr))
from standings_cli.__main__ import run; run()
"""


def process(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command line as a process; its last line on standard error names the modules that it has imported."""
    path = os.pathsep.join([str(PROJECT), str(LAYER)])
    environment = {**os.environ, "PYTHONPATH": path, "NO_PROXY": "127.0.0.1", **options.pop("env", {})}
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    command = [sys.executable, "-c", PROGRAM, *arguments]
    return subprocess.run(command, env=environment, cwd=PROJECT, text=True, check=False, **streams)


def imported(done: subprocess.CompletedProcess[str], *packages: str) -> list[str]:
    modules = json.loads(done.stderr.splitlines()[-1])
    assert "standings_cli.__main__" in modules
    return [name for name in modules if f"{name}.".startswith(tuple(f"{package}." for package in packages))]


@pytest.mark.parametrize(
    ("command", "status", "absent"),
    [
        ("--help", OK, SLOW),
        ("boards check", OK, SLOW),
        ("boards check none.toml", WRONG, SLOW),
        # `pip install .` installs no aws_lambda_powertools, and the store's adapters would only slow the start.
        ("post b m p=1 --dry-run", OK, LAYER_ALONE),
        ("post --csv - --source x --dry-run", WRONG, LAYER_ALONE),
    ],
)
def test_what_speaks_to_no_stack_starts_at_once(command: str, status: int, absent: tuple[str, ...]) -> None:
    done = process(*command.split())
    assert (done.returncode, imported(done, *absent)) == (status, [])


def test_reads_with_a_token_import_no_boto3_and_a_pipe_may_be_closed() -> None:
    """Nor does a character that the locale lacks end it, and a reader such as `head` may have gone."""
    with answering((200, json.dumps({"boards": [{"board": "用户"}], "next": None}))) as server:
        command = ("boards", "list", "--api-url", server.address, "--token", "a.b.c")
        done = process(*command, env={"PYTHONIOENCODING": "ascii"})
        reader, writer = os.pipe()
        os.close(reader)
        closed = process(*command, stdout=writer)
        os.close(writer)

    assert (done.returncode, done.stdout, imported(done, "boto3", "botocore", "rich")) == (OK, "\\u7528\\u6237\n", [])
    assert closed.returncode == INTERRUPTED
    assert "Traceback" not in closed.stderr


def test_a_queue_and_an_api_at_known_addresses_ask_for_no_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Connection, "client", lambda *_: pytest.fail("a client was made"))
    options = ["--queue-url", "https://queue.invalid/activity", "--api-url", "http://127.0.0.1:1", "boards", "list"]
    known = Connection(parser().parse_args(options))
    assert known.queue_url == "https://queue.invalid/activity"
    assert known.api.url == "http://127.0.0.1:1"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy, since the build leaves files behind."""
    copy, built = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("built")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(PROJECT / name, copy)
    for folder in ("standings_cli", "layers", "tests/support"):
        shutil.copytree(PROJECT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    build = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
    output([sys.executable, "-c", build, built], cwd=copy)
    (path,) = built.iterdir()
    return path


@pytest.mark.xdist_group("wheel")
def test_the_wheel_holds_the_two_packages_and_no_more(wheel: Path) -> None:
    assert wheel.name == f"standings_dynamodb-{VERSION}-py3-none-any.whl"
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    modules = {path.relative_to(LAYER).as_posix() for path in (LAYER / "standings").rglob("*.py")}
    modules |= {path.relative_to(PROJECT).as_posix() for path in (PROJECT / "standings_cli").rglob("*.py")}
    assert names == modules | {"standings/py.typed"}


RANKED = """from standings.client import connect

board = connect("standings").board("b")
print(board.rank("m")["rank"] + 1, board.rank("m")["place"])
board.page(score=[1])
"""


@pytest.mark.xdist_group("wheel")
def test_the_wheel_is_installed_and_runs_without_the_repository(wheel: Path, tmp_path: Path) -> None:
    place = tmp_path / "venv"
    venv.create(place)
    uv = PROJECT / ".local" / "tools" / "bootstrap" / "bin" / "uv"
    offline = ("--quiet", "--offline", "--no-deps")
    subprocess.run([uv, "pip", "install", *offline, "--python", place / "bin" / "python", wheel], check=True)
    (packages,) = place.glob("lib/python*/site-packages")
    # Python reads no .pth of a folder that a .pth names, so the editable installation there is not found.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def answer(program: str, *arguments: str) -> str:
        command = [f"{place}/bin/{program}", *arguments]
        return output(command, cwd=place, env=environment | {"NO_PROXY": "127.0.0.1"})

    where = "import standings, standings_cli; print(standings.__file__, standings_cli.__file__)"
    assert answer("python", "-c", where).count(str(place)) == 2
    assert answer("standings", "--version") == f"standings {VERSION}\n"
    assert answer("standings", "boards", "check", str(BOARDS)) == "boards.toml: 2 families of boards\n"
    with answering((200, '{"boards": [{"board": "berlin-2026"}], "next": null}')) as server:
        read = ("boards", "list", "--api-url", server.address, "--token", "a.b.c")
        assert answer("standings", *read) == "berlin-2026\n"

    (place / "program.py").write_text(RANKED, encoding="utf-8")
    check = [sys.executable, "-m", "mypy", "--strict", "--python-executable", f"{place}/bin/python", "program.py"]
    checked = ended(check, cwd=place, env=environment)
    found = [line.partition(": error: ")[::2] for line in checked.stdout.splitlines()[:-1]]
    assert [where for where, _ in found] == ["program.py:4", "program.py:5"]
    assert found[0][1].startswith('TypedDict "MemberRank" has no key "place"')
    assert found[1][1].startswith('Argument "score" to "page" of "Board" has incompatible type')
