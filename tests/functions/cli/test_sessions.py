"""What people type and see, in `sessions/*.txt`: members, posted files, tasks and mistakes, over the real functions.

Beside them, what needs more than a session: `member erase` and `profiles load` where something goes wrong, two runs at
once, and `post` where the API says which events are known, says it late, or does not say it.
"""

import gzip
import io
import json
import re
from dataclasses import replace
from itertools import chain, count, repeat
from pathlib import Path
from threading import Barrier
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from standings.client.api import Api
from standings.client.errors import ApiError, NoAnswerError
from standings.maintain import member_boards
from standings.maintain.rebuild import RewriteMembers
from standings_cli.commands import profiles
from standings_cli.files import Record
from standings_cli.terminal import DIFFERS, OK, UNREACHABLE, WRONG
from tests.support.aws.stack import Stack
from tests.support.builders import querying
from tests.support.cli.command_line import Run, Step, replay, sessions
from tests.support.documents.pages import PROJECT

BOARDS = f"""{querying.BOARDS}
[boards."club"]
members = "registered"
metrics.points = {{ aggregate = "sum", windows = ["all"] }}
[boards."berlin-*"]
metrics.km = {{ aggregate = "sum", precision = 1 }}
metrics.kg = {{ aggregate = "sum", precision = 1 }}
metrics.metres = {{ aggregate = "sum", precision = 1 }}
metrics.seconds = {{ aggregate = "sum" }}
metrics.points = {{ aggregate = "sum", precision = 1 }}
[boards."chess"]
metrics.rating = {{ aggregate = "last", ties = "first", windows = ["all", "day"] }}
[boards."cup-*"]
late = "1 day"
keep = "1 day"
metrics.points = {{ aggregate = "sum", windows = ["all", "week", "season"] }}
seasons = [
  {{ name = "autumn", starts = "2026-09-01", ends = "2026-11-15" }},
  {{ name = "winter", starts = "2026-11-15", ends = "2027-03-01" }},
]
"""
NAMES = ("members.txt", "post.txt", "corrections.txt", "rows.txt", "tasks.txt", "mistakes.txt")


@pytest.fixture
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("session", [one for name in NAMES for one in sessions(name)])
@pytest.mark.usefixtures("_in_a_folder")
def test_session(run: Run, session: list[Step]) -> None:
    replay(run, session)


def test_a_session_that_prints_something_else_fails(run: Run) -> None:
    for line in ("b", "! …", "[0]"):
        with pytest.raises(AssertionError, match=r"any\.txt:1: standings boards list"):
            replay(run, [Step("any.txt:1", "standings boards list", [line])])


def is_there(stack: Stack, member: str) -> bool:
    return stack.get("/boards/b/member", id=member)[0] == 200


def test_an_erasure_goes_on_to_an_end(stack: Stack, run: Run, connection: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for board in ("b", "b-2", "b-3"):
        querying.post(stack, {"a": 5}, board=board)
    monkeypatch.setattr(member_boards, "MAX_ACTIONS", 1)
    monkeypatch.setattr(member_boards, "MAX_NAMED", 1)
    answers = [json.loads(line) for line in run("--json member erase a --yes").out.splitlines()]

    assert [answer["boards"] for answer in answers] == [["b"], ["b-2"], ["b-3"], []]
    assert [answer["done"] for answer in answers] == [False, False, False, True]
    cursors = [payload["erase"].get("cursor") for payload in connection.function.payloads]
    assert cursors == [None, *(answer["cursor"] for answer in answers[:-1])]
    assert len(set(cursors)) == 4
    assert not is_there(stack, "a")


def test_a_board_to_look_at_is_told(stack: Stack, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for board in ("b", "b-2", "b-3"):
        querying.post(stack, {"bob": 5}, board=board)
    monkeypatch.setattr(RewriteMembers, "run", lambda self, chunks: setattr(self, "busy", chunks[0]))
    ran = run("member erase bob --yes")

    assert (ran.status, ran.out) == (DIFFERS, "bob: removed from 0 boards\n")
    assert ran.err.startswith("b: others kept writing the member: stop what posts for it")
    assert len(ran.err.splitlines()) == 3


@pytest.mark.parametrize(
    ("command", "nothing"),
    [
        ("member erase bob", "nothing was removed"),
        ("member remove b bob", "nothing was removed"),
        ("delete b", "nothing was deleted"),
    ],
)
def test_what_is_gone_for_good_is_asked_for(
    stack: Stack, run: Run, monkeypatch: pytest.MonkeyPatch, command: str, nothing: str
) -> None:
    querying.post(stack, {"bob": 5})
    monkeypatch.setattr("sys.stdin", io.StringIO("bo\n"))
    assert run(command).err == f"{nothing}\n"
    monkeypatch.setattr("sys.stdin", io.StringIO())
    ran = run(command)
    assert (ran.status, ran.err) == (DIFFERS, f"\n{nothing}: nobody answers here; use --yes\n")
    assert is_there(stack, "bob")
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{command.rpartition(' ')[2]}\n"))
    assert run(command).status == OK
    assert not is_there(stack, "bob")


def profile(stack: Stack, member: str) -> dict[str, object] | None:
    status, answer = stack.get("/members", id=member)
    return {name: value for name, value in answer.items() if value is not None} if status == 200 else None


def test_profiles_of_json_lines_are_written_in_order_each_by_itself(stack: Stack, run: Run, tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"member": "u1", "name": "Ada", "country": "DE"}, {"member": "u2", "name": "Bo"}]
    rows += [{"member": "u1", "country": None}, {"member": "u1", "name": 7}, {"member": "u1", "data": {"n": 1}}]
    path = tmp_path / "people.jsonl.gz"
    path.write_bytes(gzip.compress("\n\n".join([*map(json.dumps, rows), "[" * 100_000]).encode()))
    ran = run("profiles load --json", str(path))

    assert ran.status == DIFFERS
    assert json.loads(ran.out) == {"source": str(path), "written": 4, "wrong": 2}
    assert f"{path}:7: name: expected text or null, got a number" in ran.err
    assert f"{path}:11: expected JSON: " in ran.err
    assert profile(stack, "u1") == {"name": "Ada", "data": {"n": 1}}


def test_a_load_goes_on_where_it_ended(stack: Stack, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiles, "_BATCH", 2)
    path = tmp_path / "people.csv"
    path.write_text("member,name\n" + "".join(f"u{n},Name {n}\n" for n in range(6)), encoding="utf-8")
    put, asked = Api.put, list[str]()

    def failing(self: Api, *names: str, body: dict[str, str], **arguments: str) -> dict[str, object]:
        asked.append(arguments["id"])
        if arguments["id"] == "u3" and asked.count("u3") == 1:
            raise ApiError(503, "unavailable", "try again")
        return put(self, *names, body=body, **arguments)

    monkeypatch.setattr(Api, "put", failing)
    assert run("profiles load", str(path)).status == UNREACHABLE
    ran = run("profiles load", str(path))
    assert (ran.status, "the first 3 lines were loaded before" in ran.err) == (OK, True)
    assert [asked.count(f"u{n}") for n in range(2)] == [1, 1]
    assert [profile(stack, f"u{n}") for n in range(6)] == [{"name": f"Name {n}"} for n in range(6)]

    asked.clear()
    # A line that may be half-written waits.
    for more, status in (("u6,Name 6\nu7,Na", DIFFERS), ("me 7\n", OK)):
        with path.open("a", encoding="utf-8") as file:
            file.write(more)
        assert run("profiles load", str(path)).status == status
    assert asked == ["u6", "u7"]
    assert profile(stack, "u7") == {"name": "Name 7"}


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("profiles load p.csv", "loaded"),
        ("post --csv p.csv --board b points=1", "posted"),
        ("export b --metric points --window all --output p.csv", "exporting"),
    ],
)
@pytest.mark.usefixtures("_in_a_folder")
def test_one_run_at_a_time(run: Run, command: str, name: str) -> None:
    Path("p.csv").write_text("member\nu1\n")
    with Record(Path(f"p.csv.{name}"), "rows", "").locked():
        busy = f"standings: p.csv.{name}: another run is at work on it: wait until it ends\n"
        assert run(command) == (WRONG, "", busy)
    with Record(Path(f"p.csv.{name}"), "rows", "").locked():
        pass


NO_ANSWER = NoAnswerError("no answer from http://a: refused")
THROTTLED = SimpleNamespace(status=429, data=b'{"message": "Too Many Requests"}')
FORBIDDEN = SimpleNamespace(status=403, data=b'{"message": "Forbidden"}')
NO_SUCH = b'{"type": "urn:standings:bad-argument", "detail": "dry_run: no such argument"}'
OF_0_3 = SimpleNamespace(status=400, data=NO_SUCH)
FOREIGN = SimpleNamespace(status=200, data=b"{}")


def written(rows: int, space: str = "") -> str:
    """Write a file of rows; the command that posts it again."""
    lines = (f'{{"member":"m{n}",{space}"metrics":{{"points":1}}}}\n' for n in range(rows))
    Path("rows.jsonl").write_text("".join(lines))
    return "post --jsonl rows.jsonl --board b --again --json"


@pytest.mark.parametrize(
    ("answers", "known", "said"),
    [
        ([], 101, ""),
        ([mock.DEFAULT, THROTTLED, NO_ANSWER], 101, ""),
        ([NO_ANSWER], None, "no answer from http://a: refused"),
        ([THROTTLED], None, "Too Many Requests"),
        ([FORBIDDEN], None, "Forbidden"),
        ([OF_0_3], None, "dry_run: no such argument"),
        ([mock.DEFAULT, FOREIGN], None, "the answer is not that of a stack's API"),
    ],
)
@pytest.mark.usefixtures("_in_a_folder")
def test_who_is_not_told_what_is_known_posts_all_the_same(
    run: Run, connection: Any, answers: list[Any], known: int | None, said: str
) -> None:
    rows = written(101, " " * 9_999)  # of 100 rows a request would be too large
    assert run(rows).status == OK
    transport = mock.Mock(wraps=connection.api.transport)
    transport.send.side_effect = chain(answers, repeat(mock.DEFAULT))
    connection.api = replace(connection.api, transport=transport)
    ran = run(rows)
    summary = json.loads(ran.out)
    assert (ran.status, summary["known"], summary["finished"]) == (OK, known, True), ran
    assert said in ran.err
    assert ("known rows are counted as posted" in ran.err) == bool(said)


@pytest.mark.usefixtures("_in_a_folder")
def test_an_api_that_has_answered_is_asked_of_several_parts_at_a_time(run: Run, connection: Any) -> None:
    others, requests, new = Barrier(2, timeout=60), count(), [{"status": "new", "detail": None}] * 100

    def send(method: str, *_: Any) -> Any:
        if method == "GET":  # The board, for it may have ended
            return SimpleNamespace(status=200, data=b"{}")
        if next(requests):  # Each of the other two is answered once both are there
            others.wait()
        return SimpleNamespace(status=202, data=json.dumps({"results": new}).encode())

    connection.api = replace(connection.api, transport=SimpleNamespace(send=send))
    ran = run(written(300))
    assert (ran.status, json.loads(ran.out)["known"]) == (OK, 0)


@pytest.mark.usefixtures("_in_a_folder")
def test_what_the_page_on_files_shows_is_printed(run: Run) -> None:
    page = PROJECT / "docs" / "reference" / "files.md"
    blocks = re.findall(r"^```console\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    steps = [part.splitlines() for block in blocks for part in re.split(r"^\$ ", block, flags=re.MULTILINE) if part]
    for typed, *lines in steps:
        if typed.startswith("cat "):
            Path(typed.removeprefix("cat ")).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        else:
            shown = re.sub(r"^(! |\[\d\]\n)", "", run(typed.removeprefix("standings ")).text, flags=re.MULTILINE)
            expected = "".join(re.escape(line).replace("…", "[0-9a-f]+") + "\n" for line in lines)
            assert re.fullmatch(expected, shown), shown
    assert len(steps) > 12
