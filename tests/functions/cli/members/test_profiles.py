"""`standings member name` and `standings profiles load`, over the real handlers."""

import gzip
import json
from pathlib import Path

import pytest

from standings_cli.profiles import load_file
from standings_cli.stack.api import Api
from standings_cli.stack.errors import ApiError
from standings_cli.terminal.exit_status import DIFFERS, OK, UNREACHABLE, WRONG
from tests.functions.cli.members.conftest import Run
from tests.support.aws.stack import Stack

CSV = 'member,name,country,data\nu1,Ada,DE,"{""team"": ""red""}"\nu2,"Bo,\nthe second",,\n'


def profile(stack: Stack, member: str) -> dict[str, object] | None:
    status, answer = stack.get("/members", id=member)
    return {name: value for name, value in answer.items() if value is not None} if status == 200 else None


def test_a_member_is_named(stack: Stack, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("member", "name", "u1", "Ada \x1b[2J") == WRONG
    assert run("member", "name", "u1", "Ada") == OK

    assert capsys.readouterr().out == "u1: is shown as Ada\n"
    assert profile(stack, "u1") == {"name": "Ada"}


def test_csv(stack: Stack, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "people.csv"
    path.write_text(CSV.replace("\nthe", " the"), encoding="utf-8")
    assert run("profiles", "load", str(path)) == OK

    assert capsys.readouterr().out == f"wrote 2 profiles of {path}\n"
    assert profile(stack, "u1") == {"name": "Ada", "country": "DE", "data": {"team": "red"}}
    assert profile(stack, "u2") == {"name": "Bo, the second"}


def test_rows_of_one_member_are_written_in_order_each_by_itself(
    stack: Stack, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows: list[dict[str, object]] = [{"member": "u1", "name": "Ada", "country": "DE"}, {"member": "u2", "name": "Bo"}]
    rows += [{"member": "u1", "country": None}, {"member": "u1", "name": 7}, {"member": "u1", "data": {"n": 1}}]
    path = tmp_path / "people.jsonl.gz"
    path.write_bytes(gzip.compress("\n\n".join(map(json.dumps, rows)).encode()))
    assert run("profiles", "load", str(path), "--json") == DIFFERS

    out, err = capsys.readouterr()
    assert json.loads(out) == {"source": str(path), "written": 4, "wrong": 1}
    assert f"{path}:7: name: expected text or null, got a number" in err
    assert profile(stack, "u1") == {"name": "Ada", "data": {"n": 1}}


def test_rows_that_are_refused_are_named_and_the_rest_is_written(
    stack: Stack, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "people.csv"
    lines = ["member,name,country", "u1,Ada,Germany", ",Bo,", "u3,,", "u4", "u5,Eve,", "u6,\x01,"]
    path.write_text("\n".join(lines), encoding="utf-8")
    assert run("profiles", "load", str(path)) == DIFFERS

    out, err = capsys.readouterr()
    assert out == f"wrote 1 profiles of {path}; rows skipped: 5\n"
    assert [line.split(":")[1] for line in err.splitlines() if line.startswith(str(path))] == ["2", "3", "4", "5", "7"]
    assert "member: is missing" in err
    assert profile(stack, "u5") == {"name": "Eve"}


def test_an_interruption_goes_on_where_it_ended(
    stack: Stack,
    run: Run,
    api: Api,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(load_file, "_BATCH", 2)
    path = tmp_path / "people.csv"
    path.write_text("member,name\n" + "".join(f"u{n},Name {n}\n" for n in range(6)), encoding="utf-8")
    put, asked = type(api).put, list[str]()

    def failing(self: Api, *names: str, body: dict[str, str], **arguments: str) -> dict[str, object]:
        asked.append(arguments["id"])
        if arguments["id"] == "u3" and asked.count("u3") == 1:
            raise ApiError(503, "unavailable", "try again")
        return put(self, *names, body=body, **arguments)

    monkeypatch.setattr(type(api), "put", failing)
    assert run("profiles", "load", str(path)) == UNREACHABLE
    assert run("profiles", "load", str(path)) == OK

    assert [asked.count(f"u{n}") for n in range(2)] == [1, 1]
    assert "the first 3 lines were loaded before" in capsys.readouterr().err
    assert [profile(stack, f"u{n}") for n in range(6)] == [{"name": f"Name {n}"} for n in range(6)]
    path.write_text(path.read_text(encoding="utf-8") + "u6,Name 6\n", encoding="utf-8")
    assert run("profiles", "load", str(path)) == OK
    assert asked[-1] == "u6"
    assert len(asked) <= 9


@pytest.mark.parametrize("header", ["", "id,name", "member,name,name", "member,colour"])
def test_a_wrong_header_is_told(run: Run, tmp_path: Path, header: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"{header}\nu1,Ada\n", encoding="utf-8")

    assert run("profiles", "load", str(path)) == WRONG
    assert "expected the columns member, name" in capsys.readouterr().err
