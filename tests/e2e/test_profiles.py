"""Profiles on the deployed stack: the template's table, index, routes and permissions serve every call."""

import time
from typing import Final
from urllib.parse import quote

import pytest

from demo.embedded.stack import Deployment
from tests.support.aws.deployed_api import answer_of

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.xdist_group("deployment")]

BOARD: Final = "e2e-profiles"
PATIENCE_S: Final = 60
ADAM: Final = {"name": "Ádám", "picture": "https://pictures.example/adam.png", "country": "HU", "data": {"team": "red"}}


def test_a_profile_is_written_shown_found_and_removed(deployment: Deployment) -> None:
    events = [
        {"id": f"{BOARD}-{member}", "board": BOARD, "member": member, "metrics": {"points": points}}
        for member, points in (("u1", 5), ("u2", 3))
    ]
    assert answer_of(deployment, "POST", "/events", events)[0] == 202
    assert answer_of(deployment, "PUT", "/members?id=u1", ADAM) == (200, ADAM)
    assert answer_of(deployment, "PUT", "/members?id=u3", {"name": "Adele"})[0] == 200
    assert answer_of(deployment, "GET", "/members?id=u1") == (200, ADAM)
    until = time.monotonic() + PATIENCE_S
    while (page := answer_of(deployment, "GET", f"/boards/{BOARD}/points/all?profiles=true")[1])["total"] < len(events):
        assert time.monotonic() < until, page
        time.sleep(0.5)

    assert [entry["profile"] for entry in page["entries"]] == [ADAM, None]
    found = answer_of(deployment, "GET", "/members?name=AD")[1]
    assert {"u1", "u3"} <= {one["member"] for one in found["members"]}
    found = answer_of(deployment, "GET", f"/members?name={quote('ÁD')}&board={BOARD}")
    assert found == (200, {"members": [{"member": "u1", "profile": ADAM}], "complete": True})
    for member in ("u1", "u3"):
        assert answer_of(deployment, "DELETE", f"/members?id={member}") == (204, None)
    assert answer_of(deployment, "GET", "/members?id=u1")[0] == 404
    assert answer_of(deployment, "GET", f"/members?name=ad&board={BOARD}") == (200, {"members": [], "complete": True})
