"""What EventBridge of a deployed stack tells: a queue behind a rule."""

import json
from collections.abc import Iterator
from typing import Any

from demo.embedded.stack import Deployment
from tests.support.aws.deployed_api import until


class HeardEvents:
    """A queue that gets the stack's own events of one type, from now on; or those that a `pattern` lets through."""

    def __init__(self, deployment: Deployment, name: str, detail_type: str, pattern: Any = None) -> None:
        self._sqs, events = deployment.client("sqs"), deployment.client("events")
        self._queue = self._sqs.create_queue(QueueName=name)["QueueUrl"]
        asked = {"QueueUrl": self._queue, "AttributeNames": ["QueueArn"]}
        arn = self._sqs.get_queue_attributes(**asked)["Attributes"]["QueueArn"]
        pattern = pattern or {"source": ["standings"], "detail-type": [detail_type]}
        events.put_rule(Name=name, EventPattern=json.dumps(pattern))
        events.put_targets(Rule=name, Targets=[{"Id": "queue", "Arn": arn}])

    def take(self, least: int) -> list[dict[str, Any]]:
        """The details of the next events, of so many at least."""
        heard: list[dict[str, Any]] = []

        def enough() -> bool:
            heard.extend(self.next())
            return len(heard) >= least

        until(enough)
        return heard

    def next(self) -> Iterator[dict[str, Any]]:
        """Yield the details of the events that wait, after a second at most; none if nothing came."""
        asked = {"QueueUrl": self._queue, "MaxNumberOfMessages": 10, "WaitTimeSeconds": 1}
        for message in self._sqs.receive_message(**asked).get("Messages", []):
            self._sqs.delete_message(QueueUrl=self._queue, ReceiptHandle=message["ReceiptHandle"])
            yield json.loads(message["Body"])["detail"]
