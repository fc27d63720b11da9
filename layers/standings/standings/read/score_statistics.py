"""Answers about scores, from the tiers alone: the rank of a score, the score at a percentile, the distribution."""

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from standings.domain import tiers
from standings.domain.boards_toml import MAX_DECIMALS
from standings.domain.errors import bad_argument
from standings.domain.events import MAX_SHOWN_LENGTH
from standings.domain.scoring import UnitsError, sort_value, units_of
from standings.domain.tiers import ROOT, Path
from standings.read.member_ranks import counters_of, distinct_ahead, select
from standings.read.reader import Question, answer_head, decimal_of, score_at
from standings.stores import Node

_NUMBER: Final = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,2})?", re.ASCII)


def score_rank(question: Question, *, score: str) -> dict[str, Any]:
    """The rank that a score would have, and how many members are ahead of it, at it and behind it."""
    ranking = question.ranking
    units = _parse_units(score, ranking.metric.precision)
    number = sort_value(units, descending=ranking.metric.descending)
    paths = tiers.nodes_for(number)
    nodes = question.nodes(paths)
    counters = counters_of({path: nodes.get(path, Node({}, None)) for path in paths})
    ahead, equals = tiers.ahead(number, counters), tiers.equals(number, counters)
    total = tiers.total(counters[ROOT])
    rank = ahead + 1
    if question.method == "ordinal":
        rank += equals
    elif question.method == "dense":
        rank = distinct_ahead(question, [number], counters)[number] + 1
    return {
        **answer_head(question, nodes.values()),
        "total": total,
        "score": decimal_of(units, ranking.metric.precision),
        "rank": rank,
        "above": ahead,
        "at": equals,
        "below": total - ahead - equals,
    }


def percentile(question: Question, *, p: str) -> dict[str, Any]:
    """The score at a percentile: the last in the list whose percentile is at least `p`. At 0 it is the last of all."""
    ranking = question.ranking
    share = Fraction(_parse_number("p", p))
    if not 0 <= share <= 100 or (share * 10**MAX_DECIMALS).denominator != 1:  # noqa: PLR2004 - percent
        detail = f"expected a number from 0 to 100, with at most {MAX_DECIMALS} decimals"
        raise bad_argument("p", f"{detail}, got {p[:MAX_SHOWN_LENGTH]!r}")
    nodes: dict[Path, Node] = {}
    ratio = share.as_integer_ratio()
    selected = select(question, lambda total: min(total - 1, tiers.position_at(*ratio, total)), nodes)
    return {
        **answer_head(question, nodes.values()),
        "total": tiers.total(counters_of(nodes)[ROOT]),
        "p": decimal_of(int(share * 10**MAX_DECIMALS), MAX_DECIMALS),
        "score": None if selected is None else score_at(selected.sort_value, ranking.metric),
    }


def distribution(question: Question, *, buckets: int) -> dict[str, Any]:
    """The number of members in each of at most `buckets` ranges of scores of equal width."""
    metric = question.ranking.metric
    nodes: dict[Path, Node] = {}
    counters: dict[Path, tiers.Counters] = {}
    while unread := tiers.unread(buckets, counters, descending=metric.descending):
        nodes.update(question.nodes(unread))
        counters.update((path, nodes[path].counters if path in nodes else {}) for path in unread)
    histogram = tiers.histogram(buckets, counters, descending=metric.descending)
    return {
        **answer_head(question, nodes.values()),
        "total": sum(bucket.members for bucket in histogram),
        "buckets": [
            {
                "from": decimal_of(bucket.low, metric.precision),
                "to": decimal_of(bucket.high, metric.precision),
                "members": bucket.members,
            }
            for bucket in histogram
        ],
    }


def sort_value_of(question: Question, score: str) -> int:
    """The sort value of a score as a client writes it."""
    metric = question.ranking.metric
    return sort_value(_parse_units(score, metric.precision), descending=metric.descending)


def _parse_units(text: str, precision: int) -> int:
    """A score in units of a metric with that precision."""
    try:
        return units_of(_parse_number("score", text), precision)
    except UnitsError as error:
        raise bad_argument("score", f"expected {error}, got {text[:MAX_SHOWN_LENGTH]!r}") from None


def _parse_number(argument: str, text: str) -> Decimal:
    """A number as JSON writes it. The value is exact."""
    if not _NUMBER.fullmatch(text):
        raise bad_argument(argument, f"expected a number such as 12 or -0.5, got {text[:MAX_SHOWN_LENGTH]!r}")
    return Decimal(text)
