"""Reads a standard ranklist: `python3 ranklist.py list.srk.json ranklist-spring` prints events as JSON lines.

`pip install algoux-standard-ranklist-utils`. The totals are those of the list, rounded as it ranks by them
(`rankingTimePrecision` of `sorter.config`). They are set, with the end of the contest as their time.
"""

import json
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from math import ceil, floor
from pathlib import Path
from typing import Any, Final

from standard_ranklist_utils import format_time_duration, resolve_text

PER_UNIT: Final = {"ms": Decimal("0.001"), "s": 1, "min": 60, "h": 3600, "d": 86400}


def events(ranklist: dict[str, Any], board: str) -> Iterator[dict[str, Any]]:
    """Yield an event for each row that is ranked."""
    contest, config = ranklist["contest"], (ranklist.get("sorter") or {}).get("config") or {}
    unit = config.get("rankingTimePrecision") or "ms"
    rounded = {"ceil": ceil, "round": round}.get(config.get("rankingTimeRounding"), floor)
    length = timedelta(milliseconds=format_time_duration(contest["duration"], "ms"))
    end = datetime.fromisoformat(contest["startAt"]) + length
    for row in ranklist["rows"]:
        user, score = row["user"], row["score"]
        if user.get("official") is False:
            continue
        penalty = Decimal(str(format_time_duration(score.get("time") or (0, "s"), unit, rounded))) * PER_UNIT[unit]
        member = user.get("id") or resolve_text(user["name"])
        numbers = {"solved": score["value"], "penalty": float(penalty)}
        yield {"board": board, "member": member, "at": end.isoformat(), "set": True, "metrics": numbers}


if __name__ == "__main__":
    for event in events(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), sys.argv[2]):
        print(json.dumps(event))
