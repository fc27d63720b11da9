"""A tree of counts over a fixed range of scores: Google's ranklist of 2009."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, Final

from benchmarks.harness.population import member
from benchmarks.harness.shapes import Scores
from benchmarks.rivals.table import create
from tests.support.dynamodb.engine import Engine

NODES: Final = "Nodes"
RANKED: Final = "Ranked"
FANOUT: Final = 100
_Steps = Iterator[tuple[str, int]]


class CountTree:
    """Every node counts its hundred children; a change updates the nodes of two paths in one transaction."""

    name: Final = "a count tree, a transaction each"
    exact: Final = True

    def __init__(self, client: Any, highest: int) -> None:
        self._client = client
        self._levels = 1
        while FANOUT**self._levels <= highest:
            self._levels += 1

    @staticmethod
    def create(client: Any) -> None:
        """Create the tables of nodes and of scores."""
        create(client, NODES, ("node", "S"))
        create(client, RANKED, ("member", "S"))

    def place(self, client: Engine, scores: Scores) -> None:
        """Load members and nodes."""
        client.load(RANKED, (self._item(member(number), score) for number, score in enumerate(scores)))
        nodes: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        for score, count in Counter(scores).items():
            for node, child in self._path(score):
                nodes[node][f"c{child}"] = nodes[node].get(f"c{child}", 0) + count
        counted = (
            {"node": {"S": node}, **{name: {"N": str(count)} for name, count in counts.items()}}
            for node, counts in nodes.items()
        )
        client.load(NODES, counted)

    def refresh(self) -> None:
        """Do nothing: this method has no job."""

    def change(self, name: str, old: int, new: int) -> None:
        """Change a member's row and all counters in one transaction."""
        changes: defaultdict[str, Counter[int]] = defaultdict(Counter)
        for score, one in ((old, -1), (new, 1)):
            for node, child in self._path(score):
                changes[node][child] += one
        row = {
            "TableName": RANKED,
            "Item": self._item(name, new),
            "ConditionExpression": "score = :old",
            "ExpressionAttributeValues": {":old": {"N": str(old)}},
        }
        actions: list[dict[str, Any]] = [{"Put": row}]
        for node, counts in changes.items():
            adds = {f"c{child}": change for child, change in counts.items() if change}
            if adds:
                update = {
                    "TableName": NODES,
                    "Key": {"node": {"S": node}},
                    "UpdateExpression": f"ADD {', '.join(f'{one} :{one}' for one in adds)}",
                    "ExpressionAttributeValues": {f":{one}": {"N": str(change)} for one, change in adds.items()},
                }
                actions.append({"Update": update})
        self._client.transact_write_items(TransactItems=actions)

    def rank(self, name: str) -> int:
        """Return a member's rank: 1 plus the counters above its own, on every node of its path."""
        row = self._client.get_item(TableName=RANKED, Key={"member": {"S": name}})["Item"]
        children = dict(self._path(int(row["score"]["N"])))
        request = {NODES: {"Keys": [{"node": {"S": node}} for node in children]}}
        nodes = self._client.batch_get_item(RequestItems=request)["Responses"][NODES]
        return 1 + sum(
            int(value["N"])
            for node in nodes
            for child, value in node.items()
            if child != "node" and int(child[1:]) > children[node["node"]["S"]]
        )

    def _path(self, score: int) -> _Steps:
        """Yield the nodes from the root to a score, each with its child on that path."""
        for level in range(self._levels):
            above, child = divmod(score // FANOUT ** (self._levels - 1 - level), FANOUT)
            yield f"{level}/{above}", child

    @staticmethod
    def _item(name: str, score: int) -> dict[str, Any]:
        return {"member": {"S": name}, "score": {"N": str(score)}}
