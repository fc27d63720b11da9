"""Reads the top of a ranking, and says whether that is proven.

The sorted index may be seconds behind, and two reads of it may be of different moments. So what it shows is compared
with what is strongly consistent: the rows of its members, and the counters of the tiers. If each row is where the index
shows it, and the tiers count as many members as the index lists, then nobody is missing and nobody is too many.
"""

from collections.abc import Sequence
from enum import Enum
from itertools import chain
from typing import Final, NamedTuple

from standings.domain.boards.definitions import Ranking
from standings.domain.scoring.sort_order import decode_sort_key, encode_sortable
from standings.domain.tiers import tier_tree
from standings.domain.tiers.tier_path import ROOT
from standings.ports.announcements import Standing, TopReads

MAX_EQUALS: Final = 200  # Members of the last score whose rows are compared
_BEFORE_ALL: Final = " "  # No sort key is empty, and none begins with a space


class Proof(Enum):
    """Whether a list is the top."""

    PROVEN = "proven"
    CONTRADICTED = "contradicted"  # The index is behind, or members move at this moment
    OPEN = "open"  # Too many members share the last score to compare them all


class Top(NamedTuple):
    """The first members of a ranking, as the index shows them."""

    standings: Sequence[Standing]
    proof: Proof


def read_top(reads: TopReads, ranking: Ranking, length: int) -> Top:
    """Read the first members of a ranking. May raise StoreUnavailableError."""
    return _Reading(reads, ranking, reads.shards(ranking)).top(length)


class _Reading(NamedTuple):
    reads: TopReads
    ranking: Ranking
    shards: int

    def top(self, length: int) -> Top:
        keys = self._indexed(_BEFORE_ALL, None, length)
        # A member that moves may be shown twice for a moment. Then it is listed once, and nothing is proven.
        first: dict[str, Standing] = {}
        for standing in map(self._standing, keys):
            first.setdefault(standing.member, standing)
        standings = list(first.values())
        if not self._are_rows(keys):
            proof = Proof.CONTRADICTED
        elif len(keys) < length:
            counters = self.reads.counters(self.ranking, [ROOT])
            proof = _proof(is_right=tier_tree.total(counters.get(ROOT, {})) == len(keys))
        else:
            proof = self._proof_of_last(keys, standings)
        return Top(standings, proof)

    def _proof_of_last(self, keys: Sequence[str], standings: Sequence[Standing]) -> Proof:
        """Compare a whole top with the members ahead of its last score, and with those who share it."""
        last = standings[-1].sort_value
        counters = self.reads.counters(self.ranking, tier_tree.nodes_for(last))
        ahead = sum(standing.sort_value != last for standing in standings)
        equals, listed = tier_tree.equals(last, counters), keys[ahead:]
        if tier_tree.ahead(last, counters) != ahead:
            return Proof.CONTRADICTED
        if equals > max(MAX_EQUALS, len(listed)):
            return Proof.OPEN
        if equals == len(listed):
            return Proof.PROVEN
        # Of those who share the last score, one may be missing who belongs on the list, and another shown who left.
        sharing = self._indexed(encode_sortable(last), encode_sortable(last + 1), equals + 1)
        is_whole = len(sharing) == equals and sharing[: len(listed)] == list(listed)
        return _proof(is_right=is_whole and self._are_rows(sharing[len(listed) :]))

    def _are_rows(self, keys: Sequence[str]) -> bool:
        """Whether each member's row has the key that the index shows, and no member is shown twice."""
        shown = {self._standing(key).member: key for key in keys}
        return len(shown) == len(keys) and self.reads.keys(self.ranking, list(shown)) == shown

    def _indexed(self, beyond: str, before: str | None, limit: int) -> list[str]:
        parts = (self.reads.indexed(self.ranking, shard, beyond, before, limit) for shard in range(self.shards))
        return sorted(chain.from_iterable(parts))[:limit]

    def _standing(self, key: str) -> Standing:
        place, member = decode_sort_key(key, ties_by_instant=self.ranking.metric.ties_by_instant)
        return Standing(member, place.sort_value)


def _proof(*, is_right: bool) -> Proof:
    return Proof.PROVEN if is_right else Proof.CONTRADICTED
