"""A person is erased while boards are rebuilt or deleted, while others write, and while the store fails."""

from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from standings.aws.dynamodb.scores.board_records import DynamoBoards
from standings.aws.dynamodb.scores.scores import DynamoScores
from standings.catalog.board_catalog import BoardCatalog
from standings.domain.boards.boards_toml import parse_boards
from standings.maintain.erase import Erase
from standings.ports.errors import StoreUnavailableError
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.checks import assert_tiers_count_the_entries, entries
from tests.support.builders.failures.maintenance import clock_of, soon
from tests.support.builders.querying import BOARDS, post
from tests.support.builders.stages.streaming import project
from tests.support.faults.faulty_client import Faulty, conflict, error, lost_answer

ADA: Final = "ada"


@pytest.fixture
def stack(engine: Any, clock: ManualClock) -> Iterator[Stack]:
    with running(engine, clock, BOARDS) as deployed:
        for board in "bcd":
            post(deployed, {ADA: 5, "bob": 7}, board=board)
        yield deployed


def erasure(stack: Stack, client: Any, forget: Callable[[str], bool] = lambda _: False) -> Erase:
    clock = clock_of(stack.clock)
    catalog = BoardCatalog(parse_boards(BOARDS), DynamoBoards(client, "Scores", clock), clock)
    return Erase(catalog, DynamoScores(client, "Scores", "Receipts", clock), forget, clock)


def phases(stack: Stack, task: str) -> Iterator[str]:
    """Run a job of the board b to its end, and yield its phase after each call."""
    begin = True
    for _ in range(100):
        answer = stack.maintenance({task: {"board": "b", "begin": begin}}, Context())
        begin = False
        if answer["done"]:
            return
        yield answer["phase"]
        stack.clock.milliseconds += round(answer["wait"] * 1000)
    raise AssertionError(answer)


WAITED_IN: Final = {
    "rebuild": ("announced", "switched", "retired"),
    "delete": ("leaving", "announced", "switched", "retired"),
}


@pytest.mark.parametrize(("task", "at"), [(task, at) for task, found in WAITED_IN.items() for at in found])
@pytest.mark.parametrize("is_projected_late", [False, True])
def test_a_board_that_is_being_rebuilt_or_deleted(stack: Stack, task: str, at: str, is_projected_late: bool) -> None:
    met = []
    for phase in phases(stack, task):
        if phase == at and phase not in met:
            answer = stack.maintenance({"erase": {"member": ADA}}, Context(seconds=900))
            # A deletion may have removed her already, and at its end the board is listed no more.
            assert {"c", "d"} <= set(answer["boards"]) <= {"b", "c", "d"}
            assert task == "delete" or "b" in answer["boards"]
            if not is_projected_late:
                project(stack)
        met.append(phase)
    project(stack)

    assert at in met
    assert not [ranking for ranking, placed in entries(stack.dynamodb).items() if ADA in placed]
    assert_tiers_count_the_entries(stack.dynamodb)
    audit = stack.maintenance({"audit": {"grace_seconds": 0}}, Context(seconds=900))
    assert (audit["done"], audit["drift"]) == (True, 0)
    assert stack.get("/boards/b/member", id=ADA)[1]["type"] == "urn:standings:no-such-member"


def test_a_board_that_others_keep_writing_is_named_and_holds_up_no_other(stack: Stack) -> None:
    written = 0

    class Busy(Faulty):
        """Somebody else writes Ada on the board c just before each transaction that has her."""

        def transact_write_items(self, **request: Any) -> Any:
            nonlocal written
            if any(action["Put"]["Item"]["pk"]["S"].startswith("c#") for action in request["TransactItems"]):
                written += 1
                stack.put("/boards/c/member", {"hidden": written % 2 == 1}, id=ADA)
            return super().transact_write_items(**request)

    answer = erasure(stack, Busy(stack.dynamodb)).erase(soon(stack.clock, 600), member=ADA)

    assert (answer["done"], answer["boards"]) == (True, ["b", "d"])
    assert [problem["board"] for problem in answer["problems"]] == ["c"]
    assert written <= 10
    again = erasure(stack, stack.dynamodb).erase(soon(stack.clock, 600), member=ADA)
    assert (again["boards"], again["problems"]) == (["c"], [])


def test_conflicts_and_lost_answers_are_tried_again(stack: Stack) -> None:
    client = Faulty(stack.dynamodb)
    client.steps.extend([conflict, error("ThrottlingException"), lost_answer])
    answer = erasure(stack, client).erase(soon(stack.clock), member=ADA)
    project(stack)

    assert (answer["done"], answer["boards"], answer["problems"]) == (True, ["b", "c", "d"], [])
    assert not [ranking for ranking, placed in entries(stack.dynamodb).items() if ADA in placed]


def test_a_store_that_fails_halfway_ends_the_call_with_what_was_done(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("standings.maintain.erase.MAX_ACTIONS", 1)
    client = Faulty(stack.dynamodb)
    client.steps.extend([lambda faulty, request: faulty.client.transact_write_items(**request)])
    client.steps.extend([error("ThrottlingException")] * 1_000)
    service = erasure(stack, client)
    answer = service.erase(soon(stack.clock), member=ADA)

    assert (answer["done"], answer["boards"], answer["cursor"]) == (False, ["b"], "b")
    with pytest.raises(StoreUnavailableError):
        service.erase(soon(stack.clock), member=ADA, cursor="b")
    client.steps.clear()
    rest = service.erase(soon(stack.clock), member=ADA, cursor="b")
    assert (rest["done"], rest["boards"]) == (True, ["c", "d"])


def test_what_is_known_beside_the_boards_goes_first_and_once(stack: Stack) -> None:
    forgotten: list[str] = []

    def forget(member: str) -> bool:
        assert stack.get("/boards/b/member", id=ADA)[0] == 200  # no board has been touched
        forgotten.append(member)
        return True

    service = erasure(stack, stack.dynamodb, forget)
    rest = service.erase(soon(stack.clock), member=ADA, cursor="c")
    assert (rest["boards"], rest["profile"], forgotten) == (["d"], False, [])
    first = service.erase(soon(stack.clock), member=ADA)
    assert (first["boards"], first["profile"], forgotten) == (["b", "c"], True, [ADA])


def test_what_was_removed_beside_the_boards_is_told_though_no_board_could_be_reached(stack: Stack) -> None:
    known = [ADA]

    def forget(member: str) -> bool:
        return member in known and known.pop() == member

    client = Faulty(stack.dynamodb)
    client.steps.extend([error("ThrottlingException")] * 1_000)
    answer = erasure(stack, client, forget).erase(soon(stack.clock), member=ADA)

    assert (answer["done"], answer["cursor"], answer["boards"], answer["profile"]) == (False, None, [], True)


def test_a_profile_that_cannot_be_removed_now_is_no_success(stack: Stack) -> None:
    def forget(_member: str) -> bool:
        raise StoreUnavailableError("Profiles is throttled")

    with pytest.raises(StoreUnavailableError, match="Profiles is throttled"):
        erasure(stack, stack.dynamodb, forget).erase(soon(stack.clock), member=ADA)
