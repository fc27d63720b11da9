"""A schedule: the real functions, several of each at once, in a world where everything goes wrong that can."""

from .running import Options, Outcome, run, uncollected

__all__ = ["Options", "Outcome", "run", "uncollected"]
