"""The command line in its shell: colours on a terminal alone, completion, and the page in a browser."""

import shutil
import subprocess
from types import SimpleNamespace
from typing import Any

import pytest
from rich.text import Text

from standings_cli.commands import COMMANDS
from standings_cli.terminal import DIFFERS, OK, console
from tests.support.cli.command_line import Run


@pytest.fixture
def connection() -> Any:
    return SimpleNamespace(api_url="https://example.org/stage")


def test_colours_are_for_terminals_alone_and_not_for_all(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
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
    script = (
        'source <(cat)\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _shtab_standings; printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    command = ["bash", "-c", script, "bash", *line.split(" ")]
    done = subprocess.run(command, input=run("completion bash").out, capture_output=True, text=True, check=True)
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


def test_open_prints_the_address_and_opens_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)  # type: ignore[func-returns-value]
    page = "https://example.org/stage/"
    assert run("open") == (OK, f"{page}\n", "")
    assert run("open b:1 --window day --metric points").out == f"{page}?board=b%3A1&metric=points&window=day\n"
    assert opened == [page, f"{page}?board=b%3A1&metric=points&window=day"]

    monkeypatch.setattr("webbrowser.open", lambda _: False)
    nowhere = "standings: there is no browser here: open the address in one of yours\n"
    assert run("open") == (DIFFERS, f"{page}\n", nowhere)
