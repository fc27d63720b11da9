"""Events from SNS, EventBridge and Step Functions: the examples beside the deployed stack. An envelope is refused by a
sentence that names the setting. The embedded AWS has no pipes to a queue.
"""

import json
from typing import Any

import pytest

from demo import feed
from demo.embedded.stack import Deployment
from tests.support.aws.deployed_api import count, event, scores_of, until
from tests.support.aws.examples import deploy, outputs_of

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.xdist_group("deployment")]


def put(deployment: Deployment, detail_type: str, detail: Any) -> None:
    entry = {"Source": "shop", "DetailType": detail_type, "Detail": json.dumps(detail)}
    assert deployment.client("events").put_events(Entries=[entry])["FailedEntryCount"] == 0


def listed(deployment: Deployment, board: str, expected: dict[str, int]) -> bool:
    """Whether the list of a board is as expected, once what is on the queue has been counted."""
    count(deployment)
    return dict(scores_of(deployment, board)) == expected


def test_a_topic_and_an_event_bus_post_to_the_queue(deployment: Deployment) -> None:
    topic = deploy(deployment, "from-sns")["TopicArn"]
    deploy(deployment, "from-eventbridge")
    publish = deployment.client("sns").publish
    for _ in range(2):  # the same id counts once
        publish(TopicArn=topic, Message=event("sent-1", "ada", 3, id="s1"))
    put(deployment, "Points", json.loads(event("sent-1", "bob", 4)))
    put(deployment, "Order Shipped", {"seller": "cem", "amount": 5})

    until(lambda: listed(deployment, "sent-1", {"ada": 3, "bob": 4}))
    until(lambda: listed(deployment, "sellers", {"cem": 5}))


def test_a_state_machine_posts_to_the_queue(deployment: Deployment) -> None:
    machine = deploy(deployment, "from-step-functions")["StateMachineArn"]
    said = json.dumps({"board": "sent-2", "member": "ada", "points": 7})
    deployment.client("stepfunctions").start_execution(stateMachineArn=machine, name="sent-2", input=said)

    until(lambda: listed(deployment, "sent-2", {"ada": 7}))


def test_an_envelope_is_refused_by_a_sentence_that_names_the_setting(deployment: Deployment) -> None:
    sns, events = deployment.client("sns"), deployment.client("events")
    queue = outputs_of(deployment, "standings")["ActivityQueueArn"]
    topic = sns.create_topic(Name="in-envelopes")["TopicArn"]
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue)
    events.put_rule(Name="in-envelopes", EventPattern=json.dumps({"source": ["shop"], "detail-type": ["Whole"]}))
    events.put_targets(Rule="in-envelopes", Targets=[{"Id": "queue", "Arn": queue}])
    sns.publish(TopicArn=topic, Message=event("sent-3", "ada"))
    put(deployment, "Whole", json.loads(event("sent-3", "ada")))

    settings = ("raw message delivery of the subscription", "the input path $.detail, or an input transformer")

    def are_named() -> bool:
        letters = feed.refused(deployment)
        return all(any(setting in letter for letter in letters) for setting in settings)

    until(are_named)
    assert not scores_of(deployment, "sent-3")
