"""The time of a call in this process."""

import time
from collections.abc import Callable
from statistics import median
from typing import Any


def median_seconds(call: Callable[[], Any], times: int) -> float:
    """Call so many times; return the median of the seconds of a call."""
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - began)
    return median(seconds)
