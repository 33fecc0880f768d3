"""What the server has of a run that a program joins by its key."""

from __future__ import annotations

from typing import Any

from ..catch_up import catch_up
from ..connection import Connection
from ..errors import EspalierError
from .ids import episode_id_of
from .journal import Draft, rollout_finished
from .values import Json, now

RUN = """query ($run: ID!) { run(id: $run) { name seed outcome codeVersion config experiment { id } policy { id version }
  environments { environment fingerprint } recorders { id name leftAt outcome } } }"""
TOTALS = "query ($run: ID!) { run(id: $run) { totals { trees rollouts steps failed } } }"
TREE = "query ($tree: ID!) { tree(id: $tree) { closedAt rollouts { id ordinal outcome fromStepId } } }"
STEPS = "query ($tree: ID!, $after: SafeInt) { tree(id: $tree) { steps(first: 5000, after: $after) { id rolloutId depth logOffset } } }"
ROLLOUT = "query ($rollout: ID!) { rollout(id: $rollout) { id } }"


class RecordedTree:
    """A tree that is on record: the next ordinal, and how many of its rollouts count (all that were not cancelled)."""

    def __init__(self, said: Json) -> None:
        rollouts = said["rollouts"]
        self.closed = said["closedAt"] is not None
        self.next = max((each["ordinal"] + 1 for each in rollouts), default=0)
        self.counted = sum(each["outcome"] not in ("cancelled", None) for each in rollouts)
        self.open = {each["id"]: {"leaf": each["fromStepId"], "steps": 0} for each in rollouts if each["outcome"] is None}
        self.ordinals = {each["ordinal"] for each in rollouts}

    def interrupted(self, tree_id: str) -> list[Draft]:
        """Returns the ends of the rollouts that were open when the program that recorded them ended: others take their place."""
        why, at = "the program ended, and the run was gone on with", now()
        return [rollout_finished(tree_id, each, walk["leaf"], walk["steps"], "cancelled", None, why, at) for each, walk in self.open.items()]


class Recorded:
    """What is on record of a run, as it was when a program joined it."""

    def __init__(self, connection: Connection, run_id: str, said: Json) -> None:
        self._connection, self._run_id = connection, run_id
        self.finished: bool = said["outcome"] is not None
        self.recorders: list[Json] = said["recorders"]
        policy, experiment = said["policy"], said["experiment"]
        self.said: Json = {name: said[name] for name in ("name", "seed", "codeVersion", "config", "environments")}
        self.said["policy"] = policy and {"policyId": policy["id"], "version": policy["version"]}
        self.said["experimentId"] = experiment and experiment["id"]

    def of_name(self, name: str) -> list[Json]:
        """Returns the recorders that joined under a name."""
        return [each for each in self.recorders if each["name"] == name]

    def tree(self, tree_id: str) -> RecordedTree | None:
        """Reads a tree that an earlier recorder of the name may have begun."""
        said: Any = self._connection.graphql(TREE, {"tree": tree_id})["tree"]
        if said is None:
            return None
        tree = RecordedTree(said)
        if tree.open:
            _walk(self._connection, tree_id, tree)
        return tree

    def has_episode(self, episode: str) -> bool:
        """Whether an episode that a program named is on record."""
        return self._connection.graphql(ROLLOUT, {"rollout": episode_id_of(self._run_id, episode)})["rollout"] is not None


def read_recorded(connection: Connection, run_id: str) -> Recorded | None:
    """Reads what the server has of a run, when its read models hold all that the log holds; None for a new one."""
    catch_up(connection)
    said = connection.graphql(RUN, {"run": run_id})["run"]
    return None if said is None else Recorded(connection, run_id, said)


def read_totals(connection: Connection, run_id: str) -> dict[str, int]:
    """Reads what all programs recorded of a run: trees, rollouts, steps, and rollouts that failed."""
    catch_up(connection)
    totals: dict[str, int] = connection.graphql(TOTALS, {"run": run_id})["run"]["totals"]
    return totals


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
