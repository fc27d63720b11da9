"""`make serve`: the deployment of the demo with a trickle of activity, until Ctrl-C."""

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from random import Random

from demo import feed
from demo.activity import Activity, generate, identifier, message
from demo.demo import BOARD, SEED, replay
from demo.interruption import Interrupted, raised_on_signals
from demo.processes import ProcessError
from demo.progress import Progress
from demo.stack import LOCAL, Deployment, deployed

ADDRESSES = LOCAL / "serve.json"
_MEMBERS = 300
_EVENTS_PER_S = 2.0


def main() -> int:
    """Serve until a signal ends it."""
    progress = Progress()
    try:
        with raised_on_signals():
            progress.say("starting an embedded AWS")
            with deployed(progress.say) as deployment:
                activity = generate(SEED, BOARD, datetime.now(UTC), _MEMBERS)
                replay(deployment, activity, progress)
                with _published(deployment):
                    progress.block(_addresses(deployment))
                    trickle(deployment, activity)
    except Interrupted:
        progress.say("stopped, nothing is left running")
        return 0
    except (ProcessError, feed.StalledError) as error:
        progress.say(f"failed: {error}")
        return 1
    return 0


def trickle(deployment: Deployment, activity: Activity) -> None:
    """Post an event of someone now and then, for ever; the active ones are active still."""
    rng = Random()
    sqs = deployment.sqs()
    while True:
        event = replace(rng.choice(activity.events), id=identifier(rng), at=datetime.now(UTC))
        sqs.send_message(QueueUrl=deployment.queue_url, MessageBody=message(rng, BOARD, event))
        time.sleep(rng.expovariate(_EVENTS_PER_S))


@contextmanager
def _published(deployment: Deployment) -> Iterator[None]:
    """Keep the addresses in a file, whole or not at all, for as long as they are good."""
    addresses = {
        "endpoint": deployment.endpoint,
        "queue_url": deployment.queue_url,
        "api_url": deployment.api_url,
        "page_url": f"{deployment.api_url}/",
    }
    draft = ADDRESSES.with_name(f"serve-{os.getpid()}.json")
    draft.write_text(json.dumps(addresses, indent=2) + "\n", encoding="utf-8")
    draft.replace(ADDRESSES)
    try:
        yield
    finally:
        ADDRESSES.unlink(missing_ok=True)


def _addresses(deployment: Deployment) -> str:
    example = f"{deployment.api_url}/boards/{BOARD}/points/all?limit=10"
    return (
        f"\n    live page   {deployment.api_url}/\n"
        f"    API         {deployment.api_url}\n"
        f"    queue       {deployment.queue_url}\n"
        f"\n    try         curl '{example}'\n"
        f"\n    activity trickles in; Ctrl-C ends it\n"
    )


if __name__ == "__main__":
    sys.exit(main())
