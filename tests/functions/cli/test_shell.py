"""The command line in its shell: help, colours on a terminal alone, completion, the page in a browser, and errors; how
it starts: what it imports, and which AWS clients it makes before it needs them, as a process and from its wheel.

What a command says that cannot do its work names what to do next. What mistakes say is in `sessions/mistakes.txt`.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from botocore import exceptions as aws
from rich.text import Text

from standings.client.errors import ApiError
from standings_cli import VERSION
from standings_cli.__main__ import parser
from standings_cli.commands import COMMANDS
from standings_cli.stack import connection as stack_connection
from standings_cli.stack.connection import Connection
from standings_cli.stack.errors import advice
from standings_cli.terminal import DIFFERS, INTERRUPTED, OK, UNREACHABLE, WRONG, console
from tests.support.cli.command_line import Run, runner
from tests.support.cli.signing import answering
from tests.support.programs import ended, output

PROJECT = Path(__file__).parents[3]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(None, capsys)


def of_aws(code: str) -> aws.ClientError:
    return aws.ClientError({"Error": {"Code": code, "Message": "x"}}, "DescribeStacks")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (aws.NoRegionError(), "name one with --region, or a profile that has one with --profile; --local speaks to"),
        (aws.NoCredentialsError(), "log in to AWS, or name a profile with --profile; --local speaks to the stack"),
        (aws.CredentialRetrievalError(provider="x", error_msg="y"), "log in to AWS"),
        (aws.ProfileNotFound(profile="x"), "name a profile of your AWS configuration"),
        (aws.EndpointConnectionError(endpoint_url="https://x"), "check the network, --region and --endpoint-url"),
        (of_aws("ExpiredToken"), "log in to AWS"),
        (of_aws("ValidationError"), "check --stack and --region; --local speaks to the stack"),
        (of_aws("ResourceNotFoundException"), "check --stack and --region, or deploy the stack again"),
        (of_aws("AWS.SimpleQueueService.NonExistentQueue"), "check --queue-url and --region"),
        (of_aws("AccessDeniedException"), "these credentials may not do that"),
        (of_aws("Throttling"), "run the same command again"),
    ],
)
def test_an_error_of_aws_says_what_to_do(error: Exception, words: str) -> None:
    assert advice(error).startswith(words) or words in advice(error)


def test_without_a_region_it_says_what_to_name(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    monkeypatch.setenv("AWS_CONFIG_FILE", "none")
    for command in ("top b", "post b m points=1", "audit", "delete b --yes", "open"):
        ran = run(command)
        assert (ran.status, ran.out, ran.err.count("\n")) == (UNREACHABLE, "", 1)
        assert ran.err.startswith("standings: You must specify a region: name one with --region")


def test_without_a_stack_local_says_how_to_start_one(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A command line of a wheel is in no clone: it looks in the folder from which it is called, and above it."""
    monkeypatch.setattr(stack_connection, "_CLONE", tmp_path / "site-packages")
    monkeypatch.setattr("standings.client.api.backoff", lambda *_: 0.0)
    called_from = tmp_path / "clone" / "docs"
    called_from.mkdir(parents=True)
    monkeypatch.chdir(called_from)
    ran = run("--local top b")
    assert ran.status == UNREACHABLE
    assert ran.err.startswith("standings: --local: no stack is running here (")
    assert ran.err.endswith(": start one with `make serve`, and call from its clone\n")

    served = tmp_path / "clone" / ".local" / "serve.json"
    served.parent.mkdir()
    served.write_text('{"api_url": "http://127.0.0.1:1", "endpoint": "http://127.0.0.1:1"}')
    assert "no answer from http://127.0.0.1:1/boards/b: " in run("--local top b").err


def test_a_full_disk_is_an_error_of_one_line(tmp_path: Path) -> None:
    file = tmp_path / "\x1b[31mrows.csv"
    file.write_text("member\nu1\n")
    typed = ["post", "--dry-run", "--board", "b", "points=1", "--csv", str(file)]
    command = [sys.executable, "-m", "standings_cli", *typed]
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, cwd=PROJECT)
    assert ran.returncode == WRONG
    assert ran.stderr.splitlines()[-1].startswith("standings: a file or the output cannot be used: [Errno 28]")
    assert "Traceback" not in ran.stderr
    assert "\x1b" not in ran.stderr


AGAIN = "standings: throttled: run the same command again in a moment\n"


def test_a_command_is_ended(capsys: pytest.CaptureFixture[str]) -> None:
    throttled = ApiError(503, "unavailable", "throttled")
    for error, status, said in ((throttled, UNREACHABLE, AGAIN), (KeyboardInterrupt(), INTERRUPTED, "stopped\n")):
        run = runner(SimpleNamespace(api=SimpleNamespace(read=mock.Mock(side_effect=error))), capsys)
        assert run("boards list") == (status, "", said)


def test_every_command_is_one_of_its_module_and_has_help(run: Run) -> None:
    """Help prints the table of commands; each must be what its module adds, and nothing else may be."""
    for command in ("", *COMMANDS, "boards check", "member erase", "dlq list"):
        ran = run(f"{command} --help")
        assert (ran.status, ran.out.startswith(f"usage: standings {command}".rstrip())) == (OK, True), command
    whole, names = parser(), parser(())
    assert set(names._subparsers._group_actions[0].choices) == set(COMMANDS)  # type: ignore[union-attr, arg-type]
    for each in (names, *(parser((name,)) for name in COMMANDS)):
        assert each.format_help() == whole.format_help()


def test_colours_are_for_terminals_alone(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for is_terminal, variable, coloured in ((1, "ANY", True), (1, "NO_COLOR", False), (0, "FORCE_COLOR", False)):
        for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "COLORTERM"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv(variable, "1")
        monkeypatch.setattr("sys.stdout.isatty", lambda: is_terminal)  # noqa: B023 - asked at once
        console().print(Text("up", style="green"))
        assert ("\x1b[32m" in capsys.readouterr().out) is coloured, variable


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("standings e", ["export"]),
        ("standings --stack mine exp", ["export"]),
        ("standings dlq re", ["replay"]),
        ("standings dlq list --re", ["--reason", "--region"]),
        ("standings export b --format ", ["csv", "jsonl"]),
        ("standings export b --format j", ["jsonl"]),
        ("standings export b --metric ", []),
        ("standings completion f", ["fish"]),
        ("standings top b --wi", ["--window"]),
        ("standings boards check README", ["README.md"]),
    ],
)
def test_bash_completes_as_the_tabulator_key_does(run: Run, line: str, offered: list[str]) -> None:
    complete = 'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _shtab_standings; printf "%s\\n" "${COMPREPLY[@]}"\n'
    command = ["bash", "-c", f"source <(cat)\n{complete}", "bash", *line.split(" ")]
    done = ended(command, input=run("completion bash").out)
    assert (sorted(done.stdout.split()), done.stderr) == (offered, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_and_option_is_in_the_script(run: Run, shell: str) -> None:
    script = run(f"completion {shell}").out
    for word in (*COMMANDS, "replay", "window", "jsonl", "api-url"):
        assert word in script
    assert "%(default)s" not in script
    if shell == "fish":
        of_export = "complete -c standings -n '_shtab_standings_using export'"
        assert f"{of_export} -l format -xka \"csv jsonl\" -d 'the form of the lines (csv)'\n" in script
        assert f'{of_export} -l output -xka "(__fish_complete_path (commandline -ct))" -d \'write to this' in script
        assert f"{of_export} -l again -d 'write the file again, even if it exists'\n" in script
    program = shutil.which(shell)
    if program:
        assert subprocess.run([program, "-n"], input=script, text=True, check=False).returncode == 0


def test_open_prints_and_opens_the_address(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    url = "https://a1b2.lambda-url.eu-central-1.on.aws/"
    run = runner(SimpleNamespace(api_url="https://example.org/stage", function_url=url), capsys)
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)  # type: ignore[func-returns-value]
    page = "https://example.org/stage/"
    assert run("open") == (OK, f"{page}\n", "")
    assert run("open b:1 --window day --metric points").out == f"{page}?board=b%3A1&metric=points&window=day\n"
    assert run("open b --function-url").out == f"{url}?board=b\n"
    assert opened == [page, f"{page}?board=b%3A1&metric=points&window=day", f"{url}?board=b"]

    monkeypatch.setattr("webbrowser.open", lambda _: False)
    nowhere = "standings: there is no browser here: open the address in one of yours\n"
    assert run("open") == (DIFFERS, f"{page}\n", nowhere)


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
