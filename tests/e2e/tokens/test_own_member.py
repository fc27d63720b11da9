"""On a deployed stack with `JwtMemberClaim`, a token that may only post writes for the member that it names."""

import time
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

import pytest

from demo.embedded.stack import Deployment
from tests.support.aws.tokens import MEMBER, Call, Issuer, ask

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.xdist_group("tokens")]

BOARD: Final = "demo-own"
OTHERS: Final = ("u2", "u3", "U1", "u1 ", "")
PATIENCE_S: Final = 60


def event(member: str, number: int) -> dict[str, Any]:
    return {"id": f"own-{number}", "board": BOARD, "member": member, "metrics": {"points": 1}}


def shared(number: int, *members: str) -> dict[str, Any]:
    updates = [{"board": BOARD, "member": member, "metrics": {"points": 1}} for member in members]
    return {"id": f"own-{number}", "updates": updates}


OWN: Final = [event(MEMBER, 1), [event(MEMBER, 2), event(MEMBER, 3)], shared(4, MEMBER)]
OF_OTHERS: Final = [
    *(event(other, 10 + number) for number, other in enumerate(OTHERS)),
    [event(MEMBER, 20), event("u2", 21)],
    [event("u2", 22), event(MEMBER, 23)],
    shared(24, "u2"),
    shared(25, MEMBER, "u2"),
    [event(MEMBER, 26), shared(27, MEMBER, "u2")],
]


def send(deployment: Deployment, issuer: Issuer, method: str, path: str, body: Any = None, **claims: Any) -> Any:
    """The status and the answer to a token that may read and post, and no more unless `claims` say so."""
    token = issuer.token(**{"scope": "standings/read standings/write", **claims})
    status, _, answer = ask(deployment, Call(method, path, body, "", 0), token)
    return status, answer


def test_a_token_posts_for_its_member_and_nothing_of_others_is_queued(deployment: Deployment, issuer: Issuer) -> None:
    for body in OF_OTHERS:
        status, answer = send(deployment, issuer, "POST", "/events", body)
        assert (status, answer["type"]) == (HTTPStatus.FORBIDDEN, "urn:standings:not-your-member"), body
    for body in OWN:
        status, answer = send(deployment, issuer, "POST", "/events", body)
        assert (status, {one["status"] for one in answer["results"]}) == (HTTPStatus.ACCEPTED, {"queued"}), body

    # What is queued in between is counted in between, or refused: four events count, and no letter is there.
    until = time.monotonic() + PATIENCE_S
    ranking = f"/boards/{BOARD}/points/all"
    while not (entries := send(deployment, issuer, "GET", ranking)[1].get("entries")) or entries[0]["score"] < 4:
        assert time.monotonic() < until, entries
        time.sleep(0.5)
    assert entries == [{"rank": 1, "member": MEMBER, "score": 4}]
    for queue in (deployment.queue_url, deployment.dead_letter_queue_url):
        attributes = deployment.sqs().get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])["Attributes"]
        assert attributes["ApproximateNumberOfMessages"] == "0"


def test_a_token_writes_the_profile_of_its_member_alone(deployment: Deployment, issuer: Issuer) -> None:
    status, profile = send(deployment, issuer, "PUT", f"/members?id={MEMBER}", {"name": "Ada"})
    assert (status, profile["name"]) == (HTTPStatus.OK, "Ada")
    for other in OTHERS:
        status, answer = send(deployment, issuer, "PUT", f"/members?id={quote(other)}", {"name": "Eve"})
        assert (status, answer["type"]) == (HTTPStatus.FORBIDDEN, "urn:standings:not-your-member"), other
        assert send(deployment, issuer, "GET", f"/members?id={quote(other or 'none')}")[0] == HTTPStatus.NOT_FOUND

    assert send(deployment, issuer, "DELETE", f"/members?id={MEMBER}") == (
        HTTPStatus.FORBIDDEN,
        {"message": "Forbidden"},
    )
    assert send(deployment, issuer, "GET", f"/members?id={MEMBER}") == (HTTPStatus.OK, profile)


def test_the_claim_names_the_member_and_nothing_else_does(deployment: Deployment, issuer: Issuer) -> None:
    body = event(MEMBER, 1)
    for claims in ({"sub": "u2"}, {"sub": None}, {"sub": ""}, {"sub": [MEMBER]}, {"sub": "u2", "member": MEMBER}):
        status, answer = send(deployment, issuer, "POST", "/events", body, **claims)
        assert (status, answer["type"]) == (HTTPStatus.FORBIDDEN, "urn:standings:not-your-member"), claims


def test_an_administrator_writes_for_all(deployment: Deployment, issuer: Issuer) -> None:
    scope = "standings/write standings/admin"
    for member in (MEMBER, "u9"):
        assert send(deployment, issuer, "PUT", f"/members?id={member}", {"country": "DE"}, scope=scope)[0] == 200
        assert send(deployment, issuer, "DELETE", f"/members?id={member}", scope=scope)[0] == HTTPStatus.NO_CONTENT
