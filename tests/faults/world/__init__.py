"""Run a schedule: several instances of each real function at once, in a world full of faults."""

from .running import Options, Outcome, run, uncollected

__all__ = ["Options", "Outcome", "run", "uncollected"]
