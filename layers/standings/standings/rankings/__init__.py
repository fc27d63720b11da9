"""Rankings, as they are stored: one house for each kind of window, and one name for what others do with rankings.

| others know                  | to                                                    |
|------------------------------|-------------------------------------------------------|
| `storing.Rankings`           | commit changes of members, purge a generation         |
| `reading.RankingReads`       | read entries, tier nodes, parts of the sorted index   |
| `checking.RankingChecks`     | compare a ranking with members' items                 |

Each chooses by the window. `calendar` has `all`, calendar periods and seasons: an entry for each member and ranking,
and tier nodes that are counted in the transaction that moves entries. `rolling` has rolling windows: one row for all
periods of a member, an item in the list of each block of periods, and a log of counts that is folded into tier nodes.
"""

from typing import Final

from standings.domain.windows import DAY

EXPIRY_MARGIN: Final = 3 * DAY  # How long items stay after the last read: longer than a stream record can be late
ROW_LIFETIME: Final = 60 * DAY  # Of a row without a place: longer than a change can be replayed
