"""The rules that keep rankings exact, each with the functions that take it away, by the stage of the pipeline.

    make safeguards SAFEGUARDS_ARGS="NAME ..."

takes away each safeguard (or those named), runs schedules until some are noticed to be wrong, and writes
`benchmarks/results/safeguards.json` and the tables of `docs/safeguards.md`, as `make bench` does. What chance seldom
meets has a schedule written for it.
"""

from typing import Final

from .boards import BOARDS
from .project import PROJECTING
from .prune import PRUNING
from .rebuild import REBUILDING
from .replacing import Change, Safeguard
from .replay import REPLAYING
from .write import WRITING

__all__ = ["SAFEGUARDS", "Change", "Safeguard"]

SAFEGUARDS: Final = (*WRITING, *PROJECTING, *PRUNING, *REPLAYING, *REBUILDING, *BOARDS)
