"""`make serve`: runs the stack of the demo with simulated activity until Ctrl-C."""

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from random import Random
from typing import Any

from demo import feed, people
from demo.activity import Activity, generate, identifier, message
from demo.demo import BOARD, SEED, replay
from demo.embedded import emulator
from demo.embedded.interruption import Interrupted, raised_on_signals
from demo.embedded.processes import ProcessError
from demo.embedded.stack import LOCAL, Deployment, deployed
from demo.progress import Progress

ADDRESSES = LOCAL / "serve.json"
ENVIRONMENTS = LOCAL / "env.json"
"""A file for `sam local … --env-vars`."""
UP = "the live page is up and starts to fill: "
READY = "posting simulated activity; Ctrl-C stops it"
_MEMBERS = 300
_EVENTS_PER_S = 2.0


def main() -> int:
    """Serve until a signal arrives."""
    progress = Progress()
    try:
        with raised_on_signals():
            progress.say("starting an embedded AWS")
            with deployed(progress.say) as deployment:
                progress.say(f"{UP}{_page(deployment)}")
                try:
                    _serve(deployment, progress)
                except Interrupted:
                    progress.say("stopping, which takes up to two minutes")
                    raise
    except Interrupted:
        progress.say("stopped, nothing is left running")
        return 0
    except (ProcessError, feed.StalledError) as error:
        progress.say(f"failed: {error}")
        return 1
    return 0


def _serve(deployment: Deployment, progress: Progress) -> None:
    activity = generate(SEED, BOARD, datetime.now(UTC), _MEMBERS)
    people.name(deployment, activity.members)
    replay(deployment, activity, progress)
    if ADDRESSES.exists():
        progress.say("if another `make serve` is up, commands with --local go to this stack from now on")
    with _published(deployment):
        progress.block(_addresses(deployment))
        trickle(deployment, activity)


def trickle(deployment: Deployment, activity: Activity) -> None:
    """Post two events a second on average, for ever. Active members get more of them."""
    rng = Random()
    sqs = deployment.sqs()
    while True:
        event = replace(rng.choice(activity.events), id=identifier(rng), at=datetime.now(UTC))
        sqs.send_message(QueueUrl=deployment.queue_url, MessageBody=message(rng, BOARD, event))
        time.sleep(rng.expovariate(_EVENTS_PER_S))


@contextmanager
def _published(deployment: Deployment) -> Iterator[None]:
    """Write the addresses to files, each atomically, and delete the files at the end."""
    addresses = {
        "endpoint": deployment.endpoint,
        "queue_url": deployment.queue_url,
        "api_url": deployment.api_url,
        "page_url": _page(deployment),
    }
    published = {ENVIRONMENTS: for_containers(deployment.environments()), ADDRESSES: addresses}
    texts = {path: json.dumps(content, indent=2) + "\n" for path, content in published.items()}
    for path, text in texts.items():
        draft = path.with_name(f"{path.stem}-{os.getpid()}.json")
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    try:
        yield
    finally:
        for path, text in texts.items():
            # A later `make serve` may have replaced the file by its own.
            if path.exists() and path.read_text(encoding="utf-8") == text:
                path.unlink(missing_ok=True)


def for_containers(environments: Mapping[str, Mapping[str, str]], system: str = sys.platform) -> dict[str, Any]:
    """Return the functions' variables with addresses that a container of `sam local` can reach.

    Docker Desktop (macOS, Windows) has a host name for this machine. On Linux there is none, so STANDINGS_HOST must be
    an address that containers can reach, such as that of Docker's bridge.
    """
    host = emulator.HOST if system == "linux" else "host.docker.internal"
    return {
        function: {name: value.replace(f"//{emulator.HOST}:", f"//{host}:") for name, value in variables.items()}
        for function, variables in environments.items()
    }


def _page(deployment: Deployment) -> str:
    return f"{deployment.api_url}/"


def _addresses(deployment: Deployment) -> str:
    example = f"{deployment.api_url}/boards/{BOARD}/points/all?limit=10"
    return (
        f"\n    live page   {_page(deployment)}   (members by their names; the command line shows ids)\n"
        f"    API         {deployment.api_url}   (with a path, such as /boards)\n"
        f"    queue       {deployment.queue_url}\n"
        f"\n    try         curl '{example}'\n"
        f"\n    {READY}\n"
    )


if __name__ == "__main__":
    sys.exit(main())
