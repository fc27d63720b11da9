"""Says which families of boards announce their tops, and whether this stack can."""

from dataclasses import dataclass
from typing import Any

from standings.domain.boards import Boards


@dataclass(frozen=True, slots=True)
class AnnouncedFamilies:
    """The families of `boards.toml`, on a stack that announces or not."""

    boards: Boards
    announces: bool

    def show(self, _: float) -> dict[str, Any]:
        """The patterns of the families that announce, and whether this stack does."""
        families = [family.pattern for family in self.boards.families if family.announce]
        return {"done": True, "families": families, "announces": self.announces}
