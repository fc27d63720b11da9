"""The real template in the embedded AWS: every rank is right, and stacks do not disturb each other."""

import socket
from datetime import UTC, datetime
from random import Random
from urllib.parse import urlsplit

import pytest

from demo import check, feed
from demo.activity import generate
from demo.embedded.stack import Deployment, deployed
from demo.reads import Reader
from tests.support.aws.deployed_api import count, event, scores_of

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("deployment")]

MEMBERS = 200


def test_every_rank_is_right_whatever_the_order_and_the_duplicates(deployment: Deployment) -> None:
    rng = Random(9)
    applied = datetime.now(UTC)
    activity = generate(9, "demo-shuffled", applied, MEMBERS)
    messages = [*activity.messages, *rng.choices(activity.messages, k=30)]
    rng.shuffle(messages)
    count(deployment, messages)

    reader, now = Reader(deployment.api_url, "demo-shuffled"), datetime.now(UTC)
    report = check.check_rankings(reader, activity.events, applied, now)
    report.merge(check.check_members(reader, activity.events, applied, now, lambda *_: None))
    assert report.differences == []
    assert report.rankings == len(check.periods(now))
    assert report.ranks > 3 * MEMBERS
    assert [one for one in feed.refused(deployment) if "demo-shuffled" in one] == []


@pytest.mark.thorough
def test_a_second_stack_has_a_life_of_its_own(deployment: Deployment) -> None:
    with deployed(print) as other:
        count(other, [event("demo-beside", "only-there")])
        assert (scores_of(other, "demo-beside"), scores_of(deployment, "demo-beside")) == ({"only-there": 1}, {})
    with socket.socket() as probe:
        address = urlsplit(other.endpoint)
        assert probe.connect_ex((str(address.hostname), int(address.port or 0))) != 0
    assert not other.log.parent.exists()
    assert feed.lag(deployment) > 0
