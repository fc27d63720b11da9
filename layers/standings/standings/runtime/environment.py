"""What a function is told by its environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

BOARDS_FILE: Final = Path(__file__).parents[2] / "boards.toml"


class ConfigurationError(Exception):
    """The environment lacks something that the function needs."""


@dataclass(frozen=True, slots=True)
class Config:
    """Names of the stack's resources; those that a function does not use are not in its environment."""

    environment: Mapping[str, str]

    @classmethod
    def from_environment(cls) -> "Config":
        """The configuration of this process."""
        return cls(os.environ)

    def _required(self, name: str) -> str:
        value = self.environment.get(name)
        if not value:
            raise ConfigurationError(f"environment variable {name} is not set")
        return value

    @property
    def scores_table(self) -> str:
        """The table of members' items and of the list of boards."""
        return self._required("SCORES_TABLE")

    @property
    def receipts_table(self) -> str:
        """The table of the receipts of events."""
        return self._required("RECEIPTS_TABLE")

    @property
    def rankings_table(self) -> str:
        """The table of entries and tiers."""
        return self._required("RANKINGS_TABLE")

    @property
    def activity_queue_url(self) -> str:
        """The queue of events."""
        return self._required("ACTIVITY_QUEUE_URL")

    @property
    def dead_letter_queue_url(self) -> str:
        """The queue for messages that are refused."""
        return self._required("DEAD_LETTER_QUEUE_URL")

    @property
    def failure_bucket(self) -> str:
        """The bucket for records that are parked."""
        return self._required("FAILURE_BUCKET")

    @property
    def open_reads(self) -> bool:
        """Whether anyone may read: only then is there a page to look at."""
        return self.environment.get("OPEN_READS") == "true"
