"""Where points come from: the events that say that there are new ones, and the question that reads them."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Protocol

from ..analysis.tail import Event
from ..connection import Connection
from ..errors import EspalierError
from .points import Point, Subject

PAGE = 50
PER_QUESTION = 40  # trees, of each a page of rollouts; a query is weighed before it runs
WAIT_MS = 30_000
VERSIONS = """query ($policy: String!, $first: Int!, $after: String) { policy(id: $policy) { versions(first: $first, after: $after) {
  pageInfo { hasNextPage endCursor }
  nodes { version weights samples metrics updatedAt batch { id ordinal tokens staleness { staleness samples } } } } } }"""
END = "{ position }"
FOLDED = "query ($position: String!, $ms: Int!) { waitFor(position: $position, timeoutMs: $ms) { waitedMs } }"


class Source(Protocol):
    """Points of one subject."""

    subject: Subject

    @property
    def types(self) -> Sequence[str]:
        """Types of the events that announce points."""

    @property
    def run(self) -> str | None:
        """The run whose events are read; None for those of all."""

    def points(self, events: Sequence[Event], known: Callable[[str], bool]) -> list[Point]:
        """Returns the points that events announce, those left out that are known."""

    def is_over(self, event: Event) -> bool:
        """Whether an event says that no further points follow."""

    def ended(self) -> bool:
        """Whether no further points follow those that are on record now."""

    def goal(self) -> int:
        """The greatest step that there is to post now, by all that the log holds; -1 where there is none."""


class PolicyVersions:
    """The versions of a policy, from one on. Raises EspalierError for a policy that is not trained."""

    types: Sequence[str] = ("PolicyUpdated",)
    run: str | None = None

    def __init__(self, connection: Connection, policy: str, since: int | None = None) -> None:
        self._connection, self._since = connection, since or 0
        if connection.graphql("query ($id: String!) { policy(id: $id) { id } }", {"id": policy})["policy"] is None:
            raise EspalierError(f"there is no policy {policy}", remedy="name one that is trained: GraphQL's policies lists them", field="policy")
        link = f"{connection.url}/view/training?{urllib.parse.urlencode({'policy': policy})}"
        self.subject = Subject("policy", policy, policy, link, "espalier/version")

    def points(self, events: Sequence[Event], known: Callable[[str], bool]) -> list[Point]:
        """Reads the announced versions and all that are newer."""
        new = [event.data["version"] for event in events if event.data["policyId"] == self.subject.id]
        new = [version for version in new if version >= self._since and not known(str(version))]
        if not new:
            return []
        _wait(self._connection, events[-1].position)
        return sorted((self._point(node) for node in self._nodes(min(new))), key=lambda point: point.step)

    def is_over(self, event: Event) -> bool:
        """Never: a policy may be trained on."""
        return False

    def ended(self) -> bool:
        """Never."""
        return False

    def goal(self) -> int:
        """The newest version."""
        _wait(self._connection, self._connection.graphql(END)["position"])
        asked = "query ($id: String!) { policy(id: $id) { versions(first: 1) { nodes { version } } } }"
        nodes = self._connection.graphql(asked, {"id": self.subject.id})["policy"]["versions"]["nodes"]
        return next((int(node["version"]) for node in nodes if node["version"] >= self._since), -1)

    def _nodes(self, least: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        after: str | None = None
        while True:
            page = self._connection.graphql(VERSIONS, {"policy": self.subject.id, "first": PAGE, "after": after})["policy"]["versions"]
            new = [node for node in page["nodes"] if node["version"] >= least]  # the newest first
            found += new
            if len(new) < len(page["nodes"]) or not page["pageInfo"]["hasNextPage"]:
                return found
            after = page["pageInfo"]["endCursor"]

    def _point(self, node: dict[str, Any]) -> Point:
        batch = node["batch"]
        own = {"espalier/samples": float(node["samples"])} if batch else {}
        if batch:
            count = sum(part["samples"] for part in batch["staleness"])
            own["espalier/tokens"] = float(batch["tokens"])
            if count:
                own["espalier/staleness"] = sum(part["staleness"] * part["samples"] for part in batch["staleness"]) / count
        measured = {name: float(value) for name, value in node["metrics"].items()}
        version = int(node["version"])
        return Point(str(version), version, {**measured, **own}, _seconds(node["updatedAt"]), f"{self.subject.link}&version={version}")


class RunRollouts:
    """The finished rollouts of a run, in the order of the log. Raises EspalierError for a run that is not known."""

    types: Sequence[str] = ("RolloutFinished", "RunFinished")

    def __init__(self, connection: Connection, run: str) -> None:
        self._connection = connection
        self.run: str | None = run
        found = connection.graphql("query ($id: ID!) { run(id: $id) { id name } }", {"id": run})["run"]
        if found is None:
            raise EspalierError(f"there is no run {run}", remedy="name one by its id: `espalier status` and the studio list them", field="run")
        self.subject = Subject("run", found["id"], found["name"], f"{connection.url}/view/run/{found['id']}", "espalier/rollout")

    def points(self, events: Sequence[Event], known: Callable[[str], bool]) -> list[Point]:
        """Reads the returns, outcomes and lengths of the rollouts that finished, and the run's published metrics with the last of them."""
        said = [(event.data["treeId"], event.data["rolloutId"]) for event in events if event.type == "RolloutFinished"]
        new = [place for place in dict.fromkeys(said) if not known(_key(*place))]  # an id is one of its tree
        if new:
            _wait(self._connection, events[-1].position)
        found = self._read(new)
        # one that a superseded collector finished has no effect: it is not on record
        points = [self._point(*place, found[place]) for place in new if place in found]
        if points:
            points[-1].metrics.update(self._published())
        return points

    def is_over(self, event: Event) -> bool:
        """Whether the run is finished."""
        return event.type == "RunFinished"

    def ended(self) -> bool:
        """Whether the run is finished."""
        said = self._connection.graphql("query ($id: ID!) { run(id: $id) { finishedAt } }", {"id": self.subject.id})
        return said["run"]["finishedAt"] is not None

    def goal(self) -> int:
        """How many rollouts have finished. Read models that lag behind the log would count fewer."""
        _wait(self._connection, self._connection.graphql(END)["position"])
        asked = "query ($run: ID!) { rollouts(filter: {run: $run, finished: true}, first: 1) { totalCount } }"
        return int(self._connection.graphql(asked, {"run": self.subject.id})["rollouts"]["totalCount"]) or -1

    def _published(self) -> dict[str, float]:
        """Reads what published systems report of the run as far as it is, under their names."""
        asked = "query ($id: ID!) { run(id: $id) { publishedMetrics { name value } } }"
        found = self._connection.graphql(asked, {"id": self.subject.id})["run"]
        return {each["name"]: float(each["value"]) for each in found["publishedMetrics"]}

    def _read(self, wanted: Sequence[tuple[str, str]]) -> dict[tuple[str, str], dict[str, Any]]:
        """Reads finished rollouts of trees, the last one first, until all are there that are wanted."""
        found: dict[tuple[str, str], dict[str, Any]] = {}
        after: dict[str, str | None] = {tree: None for tree, _ in wanted}
        while after:
            asked = list(after.items())[:PER_QUESTION]
            said = self._connection.graphql(f"{{ {' '.join(_page(at, *page) for at, page in enumerate(asked))} }}")
            for at, (tree, _) in enumerate(asked):
                page = said[f"t{at}"]
                found.update({(tree, rollout["id"]): rollout for rollout in page["nodes"]})
                del after[tree]
                if page["pageInfo"]["hasNextPage"] and any(place[0] == tree and place not in found for place in wanted):
                    after[tree] = page["pageInfo"]["endCursor"]
        return found

    def _point(self, tree: str, rollout_id: str, rollout: dict[str, Any]) -> Point:
        metrics = {"rollout/length": float(rollout["stepCount"])}
        if rollout["return"] is not None:  # nobody rewarded it
            metrics["rollout/return"] = float(rollout["return"])
        if rollout["success"] is not None:
            metrics["rollout/success"] = float(rollout["success"])
        for part in rollout["trajectory"]["returns"]:
            metrics[f"rollout/return/{part['component']}"] = float(part["value"])
        link = f"{self._connection.url}/view/trajectory/{rollout_id}?tree={tree}"
        return Point(_key(tree, rollout_id), -1, metrics, _seconds(rollout["finishedAt"]), link)


def _key(tree: str, rollout: str) -> str:
    return f"{tree} {rollout}"


def _page(at: int, tree: str, after: str | None) -> str:
    """A part of a question: a page of the finished rollouts of a tree."""
    chosen = f"filter: {{tree: {json.dumps(tree)}, finished: true}}, first: {PAGE}, after: {json.dumps(after)}"
    fields = "id finishedAt success stepCount return trajectory { returns { component value } }"
    return f"t{at}: rollouts({chosen}) {{ pageInfo {{ hasNextPage endCursor }} nodes {{ {fields} }} }}"


def _wait(connection: Connection, position: str) -> None:
    """Waits until the read models hold what the log says up to a position."""
    while True:
        try:
            connection.graphql(FOLDED, {"position": position, "ms": WAIT_MS})
            return
        except EspalierError as error:
            if error.code != "TIMED_OUT":
                raise


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
