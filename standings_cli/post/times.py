"""When the rows of a file happened that have no time of their own: in the order of the file, a millisecond apart.

`last`, and `ties = "first"`, go by the time. With one instant for all rows, the hash in a row's id would decide which
of two counts as the later one.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import sleep
from typing import Final

from standings.domain.windows import DAY, MINUTE

_QUARTER: Final = 15 * MINUTE  # An hour or a day begins at a multiple of this, in every time zone
_MOST_AHEAD: Final = 100  # As far as the last event of a list that is posted over HTTP
_OLD: Final = 3 * 365 * DAY  # What is older counts in `all` alone


@dataclass
class Times:
    """Gives such rows their instants, in milliseconds since 1970: `Times(now, 946684800000).of_row(2)` is …802.

    - `now`: the clock.
    - `at`: when all rows happened, by `--at`. The first row counts then, each one after it a millisecond later. None
      leaves the hour and the day of `at`. Without `at`, rows happen now.
    - `run`: when the run began, which is in the ids of totals; None for a run that version 0.3 began.
    """

    now: Callable[[], int]
    at: int | None = None
    run: int | None = None
    is_full: bool = False  # Rows share the last instant that there is
    _latest: int = 0
    _ahead: int = field(init=False)  # `at` may be ahead of the clock

    def __post_init__(self) -> None:
        self._ahead = 0 if self.at is None else max(0, self.at - self.now())

    def of_row(self, number: int) -> int:
        """The instant of the row with this number in the file, from 0 on. Later rows have later ones."""
        if self.at is None:
            self._latest = max(self.now(), self._latest + 1)
        else:
            room = DAY if self.at < self.now() - _OLD else _QUARTER - self.at % _QUARTER
            self.is_full = number >= room
            self._latest = self.at + min(number, room - 1)
        return self._latest

    def wait(self) -> None:
        """Wait if the last row is ahead of the clock: an event that somebody posts meanwhile would count as earlier."""
        ahead = self._latest - self._ahead - self.now()
        if ahead > _MOST_AHEAD:
            sleep(ahead / 1000)

    def begin(self, run: int | None) -> None:
        """Begin to post, in a run that began then. The rows that were read before are not posted."""
        self.run = run
        self._latest = 0
