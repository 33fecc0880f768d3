"""What the server has of a run that a program goes on with by its key."""

from __future__ import annotations

from typing import Any

from ..catch_up import catch_up
from ..connection import Connection
from ..errors import EspalierError
from .ids import episode_id_of
from .journal import Draft, rollout_finished
from .values import Json, now

PAGE = 100  # trees

RUN = "query ($run: ID!) { position run(id: $run) { name seed outcome policy { id version } totals { trees rollouts steps failed } } }"
TREES = """query ($run: ID!, $after: String) { run(id: $run) { trees(first: 100, after: $after) { pageInfo { hasNextPage endCursor }
  nodes { id rootId closedAt rollouts { id ordinal outcome fromStepId } } } } }"""
STEPS = "query ($tree: ID!, $after: SafeInt) { tree(id: $tree) { steps(first: 5000, after: $after) { id rolloutId depth logOffset } } }"


class RecordedTree:
    """A tree that is on record: the next ordinal, and how many of its rollouts count (all that were not cancelled)."""

    def __init__(self, said: Json) -> None:
        rollouts = said["rollouts"]
        self.closed = said["closedAt"] is not None
        self.next = max((each["ordinal"] + 1 for each in rollouts), default=0)
        self.counted = sum(each["outcome"] not in ("cancelled", None) for each in rollouts)
        self.open = {each["id"]: {"leaf": each["fromStepId"], "steps": 0} for each in rollouts if each["outcome"] is None}
        self.rollouts = [each["id"] for each in rollouts]


class Recorded:
    """What is on record of a run; nothing for a new one."""

    def __init__(self) -> None:
        self.found, self.finished = False, False
        self.said: Json = {}
        self.trees: dict[str, RecordedTree] = {}
        self.totals: dict[str, int] = {}
        self.run_id = ""

    def has_episode(self, run_id: str, episode: str) -> bool:
        """Whether an episode that a program named is on record."""
        wanted = episode_id_of(run_id, episode)
        return any(wanted in tree.rollouts for tree in self.trees.values())

    def state(self) -> Json:
        """Returns what a journal goes on from."""
        if not self.found:
            return {}
        trees = {tree_id: {"rollouts": tree.next, "open": dict(tree.open)} for tree_id, tree in self.trees.items() if not tree.closed}
        totals = {"trees": 0, "rollouts": 0, "steps": 0, "ended": 0, "failed": 0} | self.totals
        return {"run": {"runId": self.run_id, "name": self.said["name"]}, "trees": trees, "totals": totals, "finished": self.finished}

    def interrupted(self) -> list[Draft]:
        """Returns the ends of the rollouts that were open when the program that recorded them ended: others take their place."""
        why, at = "the program ended, and the run was gone on with", now()
        return [
            rollout_finished(tree_id, rollout_id, walk["leaf"], walk["steps"], "cancelled", None, why, at)
            for tree_id, tree in self.trees.items()
            for rollout_id, walk in tree.open.items()
        ]


def read_recorded(connection: Connection, run_id: str) -> Recorded:
    """Reads what the server has of a run, when its read models hold all that the log holds."""
    recorded = Recorded()
    recorded.run_id = run_id
    catch_up(connection)
    said = connection.graphql(RUN, {"run": run_id})["run"]
    if said is None:
        return recorded
    recorded.found, recorded.finished = True, said["outcome"] is not None
    policy = said["policy"]
    recorded.said = {"name": said["name"], "seed": said["seed"]}
    recorded.said["policy"] = policy and {"policyId": policy["id"], "version": policy["version"]}
    totals = said["totals"]
    recorded.totals = {name: totals[name] for name in ("trees", "rollouts", "steps", "failed")}
    after: str | None = None
    while True:
        page = connection.graphql(TREES, {"run": run_id, "after": after})["run"]["trees"]
        for node in page["nodes"]:
            tree = recorded.trees[node["id"]] = RecordedTree(node)
            if tree.open:
                _walk(connection, node["id"], tree)
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            return recorded


def _walk(connection: Connection, tree_id: str, tree: RecordedTree) -> None:
    """Finds the last step of each rollout that is open."""
    depths: dict[str, int] = {}
    after: int | None = None
    while True:
        said: Any = connection.graphql(STEPS, {"tree": tree_id, "after": after})["tree"]
        if said is None:
            raise EspalierError(f"tree {tree_id} is no longer on record", remedy="give another key", field="key", code="not-found")
        for step in said["steps"]:
            walk = tree.open.get(step["rolloutId"])
            if walk is None:
                continue
            walk["steps"] += 1
            if step["depth"] > depths.get(step["rolloutId"], -1):
                depths[step["rolloutId"]], walk["leaf"] = step["depth"], step["id"]
        if len(said["steps"]) < 5_000:
            return
        after = said["steps"][-1]["logOffset"]
