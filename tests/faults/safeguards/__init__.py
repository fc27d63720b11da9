"""The rules that keep rankings exact, by stage of the pipeline, each with the replacements that disable it.

    make safeguards SAFEGUARDS_ARGS="NAME ..."

disables each safeguard, or each one named, and runs schedules until some come out wrong. It writes
`benchmarks/results/safeguards.json` and the tables of `docs/safeguards.md`. Random schedules rarely need some of the
safeguards. Those have schedules written by hand, which take each step on a rig.
"""

from typing import Final

from .boards import BOARDS, REBUILDING
from .outages import OUTAGES
from .project import PROJECTING, REPLAYING
from .prune import PRUNING
from .replacing import Change, Safeguard
from .rolling import LOGS, ROLLING
from .write import WRITING

__all__ = ["SAFEGUARDS", "WRITTEN", "Change", "Safeguard"]

SAFEGUARDS: Final = (*WRITING, *PROJECTING, *ROLLING, *LOGS, *PRUNING, *REPLAYING, *REBUILDING, *BOARDS, *OUTAGES)
WRITTEN: Final = {each.written.__name__: each.written for each in SAFEGUARDS if each.written is not None}
"""The schedules that were written for safeguards, by name."""
