"""How a store says that it cannot do something."""

from enum import Enum, auto


class StoreUnavailableError(Exception):
    """The store cannot answer now: try again later. `wait` is the least number of seconds until then."""

    def __init__(self, message: str, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait


class StoreRefusedError(Exception):
    """The store will never do this; the message says why."""


class CancelReason(Enum):
    """Why one action kept its transaction from being done."""

    CONDITION = auto()  # its condition does not hold
    BUSY = auto()  # another request has the item just now, or takes all its throughput
    INVALID = auto()  # the store will never do it
