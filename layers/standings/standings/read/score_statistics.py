"""Answers about scores, from the tiers alone: the rank of a score, the score at a percentile, the distribution."""

import re
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any, Final

from standings.domain import tiers
from standings.domain.boards import Metric
from standings.domain.boards_toml import MAX_DECIMALS
from standings.domain.errors import bad_argument
from standings.domain.events import MAX_SHOWN_LENGTH
from standings.domain.scoring import MISSING, SortValues, UnitsError, sort_value, units_of
from standings.domain.tiers import ROOT, Path
from standings.read.member_ranks import check_ranked, counters_of, distinct_ahead, select
from standings.read.session import RankingReader, decimal_of, score_at, scored
from standings.stores import Node

_NUMBER: Final = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,2})?", re.ASCII)


def score_rank(reader: RankingReader, *, score: str, tie_breaks: str | None = None) -> dict[str, Any]:
    """The rank that a score would have, and how many members are ahead of it, at it and behind it.

    Without tie-breaks it is ahead of all with the score. Raises InvalidArgumentError, NotFoundError, TooFarError.
    """
    metric = reader.ranking.metric
    values = parse_values(score, tie_breaks, metric)
    check_ranked(metric, sort_value(values[0], descending=metric.descending), "score")
    paths = tiers.nodes_for(values)
    nodes = reader.nodes(paths)
    counters = counters_of({path: nodes.get(path, Node({}, None)) for path in paths})
    ahead, equals = tiers.ahead(values, counters), tiers.equals(values, counters)
    total = sum(counters[ROOT].values())
    before = ahead + equals if reader.method == "ordinal" else ahead
    if reader.method == "dense":
        before = distinct_ahead(reader, [values], counters)[values]
    return {
        **reader.head(total, nodes),
        **(scored(values, metric) if tie_breaks is not None else {"score": score_at(values[0], metric)}),
        "rank": before + 1,
        "above": ahead,
        "at": equals,
        "below": total - ahead - equals,
    }


def percentile(reader: RankingReader, *, p: str) -> dict[str, Any]:
    """The last score of the list whose percentile is at least `p`; at 0 of all. InvalidArgumentError if it is none."""
    share = Fraction(_parse_number("p", p))
    if not 0 <= share <= 100 or (share * 10**MAX_DECIMALS).denominator != 1:  # noqa: PLR2004 - percent
        detail = f"expected a number from 0 to 100, with at most {MAX_DECIMALS} decimals"
        raise bad_argument("p", f"{detail}, got {p[:MAX_SHOWN_LENGTH]!r}")
    nodes: dict[Path, Node] = {}
    ratio = share.as_integer_ratio()
    selected = select(reader, lambda total: min(total - 1, tiers.position_at(*ratio, total)), nodes)
    return {
        **reader.head(sum(counters_of(nodes)[ROOT].values()), nodes),
        "p": decimal_of(int(share * 10**MAX_DECIMALS), MAX_DECIMALS),
        **scored(None if selected is None else selected.values, reader.ranking.metric),
    }


def distribution(reader: RankingReader, *, buckets: int) -> dict[str, Any]:
    """The members in each of at most `buckets` equal ranges of scores: `[{"from": 0, "to": 9, "members": 31}, …]`."""
    metric = reader.ranking.metric
    nodes: dict[Path, Node] = {}
    counters: dict[Path, tiers.Counters] = {}
    while unread := tiers.unread(buckets, counters, descending=metric.descending):
        nodes.update(reader.nodes(unread))
        counters.update((path, nodes[path].counters if path in nodes else {}) for path in unread)
    histogram = tiers.histogram(buckets, counters, descending=metric.descending)
    shown = partial(decimal_of, precision=metric.precision)
    return {
        **reader.head(sum(bucket.members for bucket in histogram), nodes),
        "buckets": [{"from": shown(low), "to": shown(high), "members": members} for low, high, members in histogram],
    }


def parse_values(score: str, tie_breaks: str | None, metric: Metric) -> SortValues:
    """The sort values of a score, `12.5`, and of tie-breaks, `312,null`. InvalidArgumentError for what can be none."""
    number = _parse_units("score", score, metric)
    if tie_breaks is None:
        return (number,)
    texts, names = tie_breaks.split(","), [each.name for each in metric.tie_breaks]
    if len(texts) != len(names):
        expected = f"a number for each of {', '.join(names)}, with a comma between" if names else "none"
        raise bad_argument("tie_breaks", f"expected {expected}, got {tie_breaks[:MAX_SHOWN_LENGTH]!r}")
    return (number, *map(_parse_tie_break, texts, metric.tie_breaks))


def _parse_tie_break(text: str, metric: Metric) -> int:
    if text != "null":
        return _parse_units("tie_breaks", text, metric)
    if metric.aggregate == "sum":
        detail = f"expected a number of {metric.name}, got null: a member without one counts as 0"
        raise bad_argument("tie_breaks", detail)
    return MISSING


def _parse_units(argument: str, text: str, metric: Metric) -> int:
    try:
        return sort_value(units_of(_parse_number(argument, text), metric.precision), descending=metric.descending)
    except UnitsError as error:
        raise bad_argument(argument, f"expected {error}, got {text[:MAX_SHOWN_LENGTH]!r}") from None


def _parse_number(argument: str, text: str) -> Decimal:
    """A number as JSON writes it. The value is exact."""
    if not _NUMBER.fullmatch(text):
        raise bad_argument(argument, f"expected a number such as 12 or -0.5, got {text[:MAX_SHOWN_LENGTH]!r}")
    return Decimal(text)
