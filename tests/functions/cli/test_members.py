"""What the command line does to members: register, hide, remove, name, erase, and `profiles load`."""

import gzip
import io
import json
from pathlib import Path

import pytest

from standings.maintain import erase as erasing
from standings.maintain.rebuild.rewrite_members import RewriteMembers
from standings_cli.profiles import load_file
from standings_cli.stack.api import Api
from standings_cli.stack.errors import ApiError
from standings_cli.terminal.exit_status import DIFFERS, OK, UNREACHABLE, WRONG
from tests.support.aws.stack import Stack
from tests.support.builders.querying import post
from tests.support.builders.stages.streaming import project
from tests.support.cli.command_line import Run

HOSTILE = "a\x1b[2J"


def ranked(stack: Stack, path: str = "/boards/b/points/all") -> list[str]:
    project(stack)
    return [entry["member"] for entry in stack.entries(path)]


def is_there(stack: Stack, member: str) -> bool:
    project(stack)
    return stack.get("/boards/b/member", id=member)[0] == 200


def test_a_member_is_registered(stack: Stack, run: Run) -> None:
    assert run("member register club", "用户 1/a?b") == (OK, "club · 用户 1/a?b: registered\n", "")
    assert ranked(stack, "/boards/club/points/all") == ["用户 1/a?b"]
    again = run("--json member register club", "用户 1/a?b")
    assert json.loads(again.out) == {"board": "club", "member": "用户 1/a?b", "hidden": False}


def test_a_member_is_hidden_shown_again_and_removed(stack: Stack, run: Run) -> None:
    post(stack, {"a": 5, "b": 7})
    hidden = (OK, "b · a: hidden, in no ranking; scores are kept and events go on to count\n", "")

    assert run("member hide b a") == hidden
    assert ranked(stack) == ["b"]
    assert run("member show b a").out.startswith("b · a · hidden\n")
    assert run("member register b a") == hidden, "a hidden member stays hidden"
    assert run("member unhide b a") == (OK, "b · a: not hidden, ranked with its scores\n", "")
    assert ranked(stack) == ["b", "a"]
    assert run("member remove b a") == (OK, "b · a: removed, with its scores\n", "")
    assert ranked(stack) == ["b"]
    removed = json.loads(run("--json member remove b b").out)
    assert removed == {"board": "b", "member": "b", "removed": True}


def test_a_first_event_is_asked_for_where_there_is_no_board_yet(run: Run) -> None:
    nothing = "board 'b' has had no event: no board has: post one with `standings post BOARD MEMBER METRIC=AMOUNT`"
    assert run("member show b nobody") == (DIFFERS, "", f"standings: {nothing}\n")


def test_a_person_is_erased_from_every_board(stack: Stack, run: Run) -> None:
    for board in ("b", "b-2", "b-3"):
        post(stack, {HOSTILE: 5, "bob": 7}, board=board)

    removed = "removed from b\nremoved from b-2\nremoved from b-3\na\\u001b[2J: removed from 3 boards\n"
    assert run("member erase --yes", HOSTILE) == (OK, removed, "")
    assert (is_there(stack, HOSTILE), is_there(stack, "bob")) == (False, True)
    nothing = "none has this member, and it has no profile; check the id, unless it was erased before"
    assert run("member erase --yes", HOSTILE) == (OK, f"a\\u001b[2J: removed from 0 boards: {nothing}\n", "")

    assert run("member name bob Bob").status == OK
    out = run("member erase bob --yes").out
    assert out.endswith("bob: removed from 3 boards, and the profile\n")


def test_an_erasure_goes_on_until_it_is_done(stack: Stack, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for board in ("b", "b-2", "b-3"):
        post(stack, {"a": 5}, board=board)
    monkeypatch.setattr(erasing, "MAX_ACTIONS", 1)
    monkeypatch.setattr(erasing, "MAX_NAMED", 1)
    answers = [json.loads(line) for line in run("--json member erase a --yes").out.splitlines()]

    assert [answer["boards"] for answer in answers] == [["b"], ["b-2"], ["b-3"], []]
    assert [answer["done"] for answer in answers] == [False, False, False, True]
    assert not is_there(stack, "a")


def test_a_board_to_look_at_is_told(stack: Stack, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for board in ("b", "b-2", "b-3"):
        post(stack, {"bob": 5}, board=board)
    monkeypatch.setattr(RewriteMembers, "run", lambda self, chunks: setattr(self, "busy", chunks[0]))
    ran = run("member erase bob --yes")

    assert (ran.status, ran.out) == (DIFFERS, "bob: removed from 0 boards\n")
    assert ran.err.startswith("b: others kept writing the member: stop what posts for it")
    assert len(ran.err.splitlines()) == 3


@pytest.mark.parametrize(
    ("command", "nothing"), [("member erase bob", "nothing was removed"), ("delete b", "nothing was deleted")]
)
def test_what_is_gone_for_good_is_asked_for(
    stack: Stack, run: Run, monkeypatch: pytest.MonkeyPatch, command: str, nothing: str
) -> None:
    post(stack, {"bob": 5})
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


def test_a_member_is_named(stack: Stack, run: Run) -> None:
    assert run("member name u1 'Ada \x1b[2J'").status == WRONG
    assert run("member name u1 Ada") == (OK, "u1: is shown as Ada\n", "")
    assert profile(stack, "u1") == {"name": "Ada"}


def test_profiles_of_csv(stack: Stack, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text('member,name,country,data\nu1,Ada,DE,"{""team"": ""red""}"\nu2,"Bo, the second",,\n', "utf-8")

    assert run("profiles load", str(path)) == (OK, f"wrote 2 profiles of {path}\n", "")
    assert profile(stack, "u1") == {"name": "Ada", "country": "DE", "data": {"team": "red"}}
    assert profile(stack, "u2") == {"name": "Bo, the second"}


def test_profiles_of_json_lines_are_written_in_order_each_by_itself(stack: Stack, run: Run, tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"member": "u1", "name": "Ada", "country": "DE"}, {"member": "u2", "name": "Bo"}]
    rows += [{"member": "u1", "country": None}, {"member": "u1", "name": 7}, {"member": "u1", "data": {"n": 1}}]
    path = tmp_path / "people.jsonl.gz"
    path.write_bytes(gzip.compress("\n\n".join(map(json.dumps, rows)).encode()))
    ran = run("profiles load --json", str(path))

    assert ran.status == DIFFERS
    assert json.loads(ran.out) == {"source": str(path), "written": 4, "wrong": 1}
    assert f"{path}:7: name: expected text or null, got a number" in ran.err
    assert profile(stack, "u1") == {"name": "Ada", "data": {"n": 1}}


def test_profiles_that_are_refused_are_named_and_the_rest_is_written(stack: Stack, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    lines = ["member,name,country", "u1,Ada,Germany", ",Bo,", "u3,,", "u4", "u5,Eve,", "u6,\x01,"]
    path.write_text("\n".join(lines), encoding="utf-8")
    ran = run("profiles load", str(path))

    assert (ran.status, ran.out) == (DIFFERS, f"wrote 1 profiles of {path}; rows skipped: 5\n")
    told = [line.removeprefix(f"{path}:") for line in ran.err.splitlines() if line.startswith(str(path))]
    assert [line.partition(":")[0] for line in told] == ["2", "3", "4", "5", "7"]
    assert "3: member: is missing" in told
    assert profile(stack, "u5") == {"name": "Eve"}


def test_a_load_of_profiles_goes_on_where_it_ended(
    stack: Stack, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load_file, "_BATCH", 2)
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

    path.write_text(path.read_text(encoding="utf-8") + "u6,Name 6\n", encoding="utf-8")
    asked.clear()
    assert run("profiles load", str(path)).status == OK
    assert asked == ["u6"]
    path.write_text("member,name\nu0,Other\n", encoding="utf-8")
    assert "has changed: loading it from the start" in run("profiles load", str(path)).err
    assert profile(stack, "u0") == {"name": "Other"}


@pytest.mark.parametrize("header", ["", "id,name", "member,name,name", "member,colour"])
def test_a_wrong_header_is_told(run: Run, tmp_path: Path, header: str) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"{header}\nu1,Ada\n", encoding="utf-8")
    ran = run("profiles load", str(path))

    assert ran.status == WRONG
    assert "expected the columns member, name" in ran.err
