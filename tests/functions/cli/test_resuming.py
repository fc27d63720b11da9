"""What an interrupted command goes on from: the record's stack, one run at a time, rows that are still wrong."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from standings.client.errors import ApiError
from standings_cli.files import HalfLineError, Lines, Record
from standings_cli.terminal import DIFFERS, OK, WRONG
from tests.support.cli.command_line import Run


class Api:
    """The API at an address: keeps profiles, and refuses those of the country XX."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.profiles: dict[str, Any] = {}

    def put(self, *_: str, body: dict[str, Any], id: str) -> None:  # noqa: A002 - the API's name
        if body.get("country") == "XX":
            raise ApiError(400, "bad-argument", "country: no such country")
        self.profiles[id] = body


@pytest.fixture
def apis() -> dict[str, Api]:
    return {name: Api(f"https://{name}.example") for name in ("one", "two")}


@pytest.fixture
def connection(apis: dict[str, Api]) -> Any:
    return SimpleNamespace(api=apis["one"])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_profiles_of_a_file_reach_a_second_stack_too(run: Run, connection: Any, apis: dict[str, Api]) -> None:
    Path("p.csv").write_text("member,name\nu1,Ada\n")
    assert run("profiles load p.csv").status == OK
    connection.api = apis["two"]
    ran = run("profiles load p.csv")
    assert ran.status == WRONG
    expected = "expected a record of loaded rows for https://two.example, got one for https://one.example: use --state"
    assert expected in ran.err
    assert run("profiles load p.csv --state two.loaded").status == OK
    assert apis["two"].profiles == apis["one"].profiles == {"u1": {"name": "Ada"}}


def test_a_half_written_profile_waits(run: Run, apis: dict[str, Api]) -> None:
    file = Path("p.csv")
    file.write_text("member,name\nu1,Ada\nu2,Be")
    assert run("profiles load p.csv").status == DIFFERS
    assert apis["one"].profiles.keys() == {"u1"}
    file.write_text("member,name\nu1,Ada\nu2,Ben\n")
    assert run("profiles load p.csv").status == OK
    assert apis["one"].profiles["u2"] == {"name": "Ben"}


def test_json_that_is_nested_without_end_is_a_wrong_row(run: Run, apis: dict[str, Api]) -> None:
    Path("p.jsonl").write_text("[" * 100_000 + '\n{"member": "u1", "name": "Ada"}\n')
    ran = run("profiles load p.jsonl")
    assert ran.status == DIFFERS
    assert ran.err.startswith("p.jsonl:1: expected JSON: ")
    assert apis["one"].profiles.keys() == {"u1"}


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("profiles load p.csv", "loaded"),
        ("post --csv p.csv --board b points=1", "posted"),
        ("export b --metric points --window all --output p.csv", "exporting"),
    ],
)
def test_one_run_at_a_time(run: Run, connection: Any, command: str, name: str) -> None:
    Path("p.csv").write_text("member\nu1\n")
    connection.queue_url = "https://sqs.example/q"
    with Record(Path(f"p.csv.{name}"), "rows", "").locked():
        ran = run(command)
    assert ran.status == WRONG
    assert ran.err == f"standings: p.csv.{name}: another run is at work on it: wait until it ends\n"
    with Record(Path(f"p.csv.{name}"), "rows", "").locked():
        pass


def records(text: str, *, may_grow: bool = True) -> list[Any]:
    lines = Lines(iter(text.encode().splitlines(keepends=True)), "", may_grow=may_grow)
    return [
        (number, cells if isinstance(cells, list) else "half" if isinstance(cells, HalfLineError) else "wrong")
        for number, cells in lines.records()
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('a,b\n1,"2\n3"\n4,5\n', [(1, ["a", "b"]), (2, ["1", "2\n3"]), (4, ["4", "5"])]),
        # A quote that is never closed, or closed by a later one, costs its own line alone.
        ('a,b\n1,"2\n3,4\n5,6\n', [(1, ["a", "b"]), (2, "wrong"), (3, ["3", "4"]), (4, ["5", "6"])]),
        ('a,b\n1,"2\n3,4\n5,"6"\n', [(1, ["a", "b"]), (2, "wrong"), (3, ["3", "4"]), (4, ["5", "6"])]),
        ('a,b\n1,"2\n3,4\n5', [(1, ["a", "b"]), (2, "wrong"), (3, ["3", "4"]), (4, "half")]),
        ('a,b\n1,"2\n3"', [(1, ["a", "b"]), (2, "half")]),
        ('a,b\n1,"2', [(1, ["a", "b"]), (2, "half")]),
        ("a,b\n1\n2,3,4\n5,6\n", [(1, ["a", "b"]), (2, ["1"]), (3, ["2", "3", "4"]), (4, ["5", "6"])]),
        ("a,b", [(1, "half")]),
    ],
)
def test_a_wrong_quote_swallows_no_other_row(text: str, expected: list[Any]) -> None:
    assert records(text) == expected


def test_what_cannot_grow_ends_without_a_line_end() -> None:
    assert records("a,b\n1,2", may_grow=False) == [(1, ["a", "b"]), (2, ["1", "2"])]
