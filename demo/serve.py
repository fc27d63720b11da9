"""`make serve`: runs the stack of the demo with simulated activity until Ctrl-C."""

import argparse
import fcntl
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from demo import api, feed, kept, people
from demo.activity import Activity, generate, identifier, message
from demo.definitions import WatchedBoards, mistakes
from demo.demo import BOARD, SEED, post, wait
from demo.embedded import emulator
from demo.embedded.interruption import Interrupted, raised_on_signals
from demo.embedded.processes import ProcessError
from demo.embedded.stack import LOCAL, PROJECT, Deployment, deployed
from demo.progress import Progress
from demo.reads import ReadError

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

BOARDS = PROJECT / "layers" / "standings" / "boards.toml"
ADDRESSES = LOCAL / "serve.json"
KEPT = LOCAL / "kept.json"
ENVIRONMENTS = LOCAL / "env.json"
"""A file for `sam local … --env-vars`."""
RUNNING = LOCAL / "serve.lock"
"""Locked while `make serve` runs. The system unlocks it, however the process ends."""
UP = "the live page is up and starts to fill: "
READY = "posting simulated activity; Ctrl-C stops it"
_MEMBERS = 300
_EVENTS_PER_S = 2.0
_KEEPING = "`make serve SERVE_ARGS=--keep` keeps it for the next run"
_PAUSE_S = 1.0
_QUIET_S = 3.0


class RunningError(Exception):
    """`make serve` runs in this clone already. The message says where, and what to do."""


def main(arguments: Sequence[str]) -> int:
    """Serve until a signal arrives."""
    parser = argparse.ArgumentParser(prog="python -m demo.serve", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="keep what is in the tables for the next run with --keep")
    keeps = parser.parse_args(arguments).keep
    progress = Progress()
    try:
        with raised_on_signals(), alone():
            items = kept.load(KEPT) if keeps else None
            progress.say("starting an embedded AWS")
            with deployed(progress.say, linked=True) as deployment:
                progress.say(f"{UP}{_page(deployment)}")
                if not keeps:
                    progress.say(f"Ctrl-C ends it, with all that was posted to it: {_KEEPING}")
                try:
                    _fill(deployment, progress, items)
                    _serve(deployment, progress, keeps=keeps)
                except Interrupted:
                    progress.say("stopping")
                    raise
    except Interrupted:
        gone = "" if keeps else f", and what was posted is gone: {_KEEPING}"
        progress.say(f"stopped, nothing is left running{gone}")
        return 0
    except RunningError as error:
        progress.say(f"not started: {error}")
        return 1
    except (ProcessError, ReadError, feed.StalledError, kept.KeptDataError, BotoCoreError, ClientError) as error:
        progress.say(f"failed: {error}")
        return 1
    return 0


@contextmanager
def alone() -> Iterator[None]:
    """Let no other `make serve` of this clone begin, for its commands with --local go to one stack; RunningError."""
    RUNNING.parent.mkdir(exist_ok=True)
    with RUNNING.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            served = json.loads(ADDRESSES.read_text(encoding="utf-8")) if ADDRESSES.exists() else None
            where = "and is not up yet" if served is None else f"its page is {served['page_url']}"
            raise RunningError(
                f"`make serve` runs in this clone already, {where}: use that one, or end it with Ctrl-C in its terminal"
            ) from None
        ADDRESSES.unlink(missing_ok=True)  # A run that was killed leaves its own
        yield


def _fill(deployment: Deployment, progress: Progress, items: kept.Items | None) -> None:
    """Put back what was kept, or else post activity, and wait until the rankings contain it."""
    if items is not None:
        count = kept.restore(deployment, items)
        feed.settle(deployment)
        progress.say(f"put back the {count:,} items that the last run has kept")
        return
    activity = _activity()
    post(deployment, activity, progress)
    try:
        people.name(deployment, activity.members)
    except (api.NoAnswerError, api.ProblemError) as error:
        progress.say(f"some members stay without a name: {error}")
    wait(deployment, activity, progress)


def _activity() -> Activity:
    return generate(SEED, BOARD, datetime.now(UTC), _MEMBERS)


def _serve(deployment: Deployment, progress: Progress, *, keeps: bool) -> None:
    with _published(deployment):
        progress.block(_addresses(deployment))
        watched = WatchedBoards(BOARDS, deployment.boards_file.read_text(encoding="utf-8"))
        sqs = deployment.sqs()
        try:
            for body in trickle(_activity()):
                send(sqs, deployment.queue_url, body, progress)
                if (text := watched.changed()) is not None:
                    take_up(deployment, text, progress)
        except Interrupted:
            if keeps:
                _quiet(sqs, deployment.queue_url)
                progress.say(f"kept {kept.save(deployment, KEPT):,} items for the next run with --keep")
            raise


def trickle(activity: Activity) -> Iterator[str]:
    """Yield two messages a second on average, for ever. Active members get more of them."""
    rng = Random()
    while True:
        event = replace(rng.choice(activity.events), id=identifier(rng), at=datetime.now(UTC))
        yield message(rng, BOARD, event)
        time.sleep(rng.expovariate(_EVENTS_PER_S))


def send(sqs: "SQSClient", queue_url: str, body: str, progress: Progress, patience_s: float = feed.STALL_S) -> None:
    """Post an event. While that fails or takes too long, say so once and try again; StalledError after 90 seconds."""
    began, problem = time.monotonic(), False
    while True:
        try:
            sqs.send_message(QueueUrl=queue_url, MessageBody=body)
        except (BotoCoreError, ClientError) as error:
            if time.monotonic() - began > patience_s:
                raise feed.StalledError(f"no event could be posted for {patience_s:.0f} s: {error}") from error
            if not problem:
                progress.say(f"an event is late, which is posted again until it arrives: {error}")
            problem = True
            time.sleep(_PAUSE_S)
        else:
            if problem:
                progress.say(f"the event arrived, after {time.monotonic() - began:.0f} s")
            return


def take_up(deployment: Deployment, text: str, progress: Progress) -> None:
    """Give the functions a changed `boards.toml`, or say what is wrong with it."""
    if wrong := mistakes(BOARDS.name, text):
        progress.say("boards.toml has changed, but cannot count: the definitions before it go on")
        progress.block("\n".join(f"          {line}" for line in wrong))
        return
    progress.say("boards.toml has changed: giving it to the functions; what was counted stays")
    began = time.monotonic()
    sqs = deployment.sqs()
    try:
        # A process that is ended has its messages in flight: they count when the queue shows them again, minutes later.
        _quiet(sqs, deployment.queue_url)
        deployment.define(text)
        api.call("GET", f"{deployment.api_url}/boards?limit=1")
    except (api.NoAnswerError, api.ProblemError, BotoCoreError, ClientError) as error:
        progress.say(f"not all functions have the new boards.toml: save it with a change to try again: {error}")
        return
    progress.say(
        f"the new boards.toml counts, after {time.monotonic() - began:.1f} s; new rankings of boards with events come"
        " with `standings rebuild BOARD --local`: it brings back `all` and the periods whose numbers were kept;"
        " where none were, a window begins with its next period: docs/reference/boards.md#changes-to-existing-boards"
    )


def _quiet(sqs: "SQSClient", queue_url: str) -> None:
    """Wait until the writer has taken all messages, but not long: others may post all the time."""
    began = time.monotonic()
    while feed.on_queue(sqs, queue_url) and time.monotonic() - began < _QUIET_S:
        time.sleep(_PAUSE_S / 10)


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
        f"\n    live page   {_page(deployment)}   (members by their names)\n"
        f"    admin       {_page(deployment)}admin   (looks after members, boards and refused events)\n"
        f"    API         {deployment.api_url}   (with a path, such as /boards)\n"
        f"    queue       {deployment.queue_url}\n"
        f"\n    try         curl '{example}'\n"
        f"\n    {READY}\n"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
