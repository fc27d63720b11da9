"""`make demo`: deploys the stack, posts activity, shows the rankings and checks every rank."""

import argparse
import statistics
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from demo import check, feed, recording
from demo.activity import Activity, generate
from demo.embedded.interruption import Interrupted, raised_on_signals
from demo.embedded.processes import ProcessError
from demo.embedded.stack import Deployment, deployed
from demo.progress import Progress
from demo.reads import Reader, ReadError

BOARD = "demo-otters"
MEMBERS = 1539
SEED = 20
_FIRST = 10
_SAMPLES = 5
_TOP = 10
_DIFFERENCES_SHOWN = 20


class WrongRanksError(Exception):
    """A rank differs from the brute-force sort."""


def main(arguments: Sequence[str]) -> int:
    """Run the demo. Return 0 if every rank was right."""
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    parser.add_argument(
        "--stream", type=Path, help="a file with your own activity: CSV with the columns id, epoch_seconds, member"
    )
    parser.add_argument("--last", type=int, default=1000, help="how many rows to post, from the end of the file")
    options = parser.parse_args(arguments)
    progress = Progress()
    try:
        with raised_on_signals():
            rows = None if options.stream is None else recording.read(options.stream, options.last)
            progress.say("starting an embedded AWS")
            with deployed(progress.say) as deployment:
                applied = datetime.now(UTC)
                if rows is None:
                    activity = generate(SEED, BOARD, applied, MEMBERS)
                else:
                    activity = recording.recorded(rows, BOARD, applied, SEED)
                report = run(deployment, progress, activity, applied)
                if report.differences:
                    raise WrongRanksError("the differences are above")
    except Interrupted:
        progress.say("stopped, nothing is left running")
        return 130
    except (ProcessError, ReadError, feed.StalledError, recording.RecordingError, WrongRanksError) as error:
        progress.say(f"failed: {error}")
        return 1
    return 0


def run(deployment: Deployment, progress: Progress, activity: Activity, applied: datetime) -> check.Report:
    """Post activity, show the rankings and check them."""
    replay(deployment, activity, progress)

    reader = Reader(deployment.api_url, BOARD)
    progress.block(_tables(reader))
    progress.block(_one_member(reader, activity))
    progress.block(_lags(deployment))

    now = datetime.now(UTC)
    progress.say("checking every rank against a brute-force sort")
    report = check.check_rankings(reader, activity.events, applied, now)
    members_report = check.check_members(
        reader,
        activity.events,
        applied,
        now,
        lambda done, all_: progress.move(f"asked for the ranks of {done:,} of {all_:,} members"),
    )
    report.merge(members_report)
    for refusal in feed.refused(deployment):
        report.differences.append(f"refused: {refusal}")
    for difference in report.differences[:_DIFFERENCES_SHOWN]:
        progress.block(f"  wrong: {difference}")
    wrong = len(report.differences)
    progress.say(f"checked {report.ranks:,} ranks in {report.rankings} rankings: {wrong:,} wrong")
    return report


def replay(deployment: Deployment, activity: Activity, progress: Progress) -> None:
    """Post activity and wait until the rankings contain it."""
    post(deployment, activity, progress)
    wait(deployment, activity, progress)


def post(deployment: Deployment, activity: Activity, progress: Progress) -> None:
    """Post activity."""
    messages = activity.messages
    progress.say(
        f"posting {len(activity.events):,} events with {sum(len(event.shares) for event in activity.events):,} "
        f"activities of {len(activity.members):,} members; {activity.duplicates:,} events twice"
    )
    # First post a few messages, which start one process of each function. With all messages at once, many processes
    # would start at the same time and delay the first rankings.
    feed.post(deployment, messages[:_FIRST], lambda *_: None)
    feed.drain(deployment, lambda _: None)
    feed.post(
        deployment,
        messages[_FIRST:],
        lambda sent, _: progress.move(f"posted {sent + _FIRST:,} of {len(messages):,} messages"),
    )


def wait(deployment: Deployment, activity: Activity, progress: Progress) -> None:
    """Wait until the rankings contain the activity, which is all that was posted."""
    messages = activity.messages
    progress.say("waiting until queue and stream are empty")
    feed.drain(
        deployment,
        lambda left: progress.move(f"counted {len(messages) - left:,} of {len(messages):,}"),
    )
    feed.settle(deployment)
    progress.say("every event is in the rankings")


def _tables(reader: Reader) -> str:
    columns = []
    for window, title in (("all", "all time"), ("last-7-days", "last 7 days")):
        page = next(reader.pages(window, None, limit=_TOP))
        lines = [f"{title}, {page['total']:,} members", f"{'rank':>4}  {'member':<24}{'points':>7}"]
        lines += [_row(entry) for entry in islice(page["entries"], _TOP)]
        columns.append(lines)
    rows = zip(*columns, strict=False)
    return "\n" + "\n".join(f"    {left:<43}{right}".rstrip() for left, right in rows)


def _row(entry: dict[str, Any]) -> str:
    return f"{entry['rank']:>4}  {entry['member']:<24}{entry['score']:>7,}"


def _one_member(reader: Reader, activity: Activity) -> str:
    """Show the member a seventh of the way down the list."""
    place = max(1, len(activity.members) * 211 // 1539)
    entries = (entry for page in reader.pages("all", None) for entry in page["entries"])
    member = next(entry["member"] for entry in entries if entry["rank"] >= place)
    answer = reader.rank("all", member)
    if answer is None:
        raise ReadError(f"{member} is in the list but has no rank")
    return (
        f"\n    {member} is {_ordinal(answer['rank'])} of {answer['total']:,}, "
        f"at percentile {answer['percentile']}, with {answer['score']:,} points"
    )


def _ordinal(number: int) -> str:
    teens = range(11, 14)
    suffix = "th" if number % 100 in teens else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{suffix}"


def _lags(deployment: Deployment) -> str:
    samples = sorted(feed.lag(deployment) for _ in range(_SAMPLES))
    return (
        f"    from an event to its rank: {statistics.median(samples):.2f} s "
        f"({samples[0]:.2f} to {samples[-1]:.2f} s, {_SAMPLES} events)\n"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
