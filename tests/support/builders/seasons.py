"""Boards with seasons, and their events."""

from datetime import UTC, datetime
from typing import Final

from tests.support.aws.stack import Stack, apply

SPRING: Final = '{ name = "spring", starts = "2026-03-01", ends = "2026-06-01" }'
AUTUMN: Final = '{ name = "autumn", starts = "2026-09-01", ends = "2026-11-01" }'
WINTER: Final = '{ name = "winter", starts = "2026-11-01", ends = "2027-03-01" }'
SUMMER: Final = '{ name = "summer", starts = "2027-06-01", ends = "2027-09-01" }'
LIST: Final = "/boards/b/points/season"


def boards(*seasons: str) -> str:
    """A `boards.toml` whose boards have these seasons."""
    return (
        f'[boards."*"]\ntimezone = "Europe/Berlin"\nseasons = [{", ".join(seasons)}]\n'
        'metrics.points = { aggregate = "sum", windows = ["all", "season"] }\n'
    )


FOUR: Final = boards(SPRING, AUTUMN, WINTER, SUMMER)


def milliseconds(text: str) -> int:
    """An instant such as `2026-11-05T10:00` in UTC."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def at(stack: Stack, text: str) -> None:
    """Set the clock."""
    stack.clock.milliseconds = milliseconds(text)


def post(stack: Stack, when: str, **scores: int) -> None:
    """Apply an event for each member, with an instant as its `at`."""
    body = {"board": "b", "at": f"{when}:00Z"}
    ids = {name: f"{when}{name}{stack.clock()}" for name in scores}
    apply(stack, [{**body, "id": ids[name], "member": name, "metrics": {"points": scores[name]}} for name in scores])
