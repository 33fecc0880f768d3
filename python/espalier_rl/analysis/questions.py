"""What views ask of GraphQL."""

from __future__ import annotations

from typing import Any

from ..connection import Connection
from ..errors import EspalierError
from .views import Decode, DifferenceView, ImageView, StepView, TreeView

PART = 2_000  # steps that are read at once
_SHOWN = "id parentId depth thought response action observation rewards { component value } statistics { visits value }"
_END = "id leafId outcome success return policy { id version }"
TREE = "query ($id: ID!) { tree(id: $id) { id runId forgotten task { alias environment } } }"
ROLLOUTS = f"""query ($id: ID!, $after: String) {{ rollouts(filter: {{ tree: $id }}, first: 500, after: $after) {{
  nodes {{ ordinal {_END} }} pageInfo {{ hasNextPage endCursor }} }} }}"""
STEPS = f"""query ($id: ID!, $after: SafeInt) {{ tree(id: $id) {{ steps(first: {PART}, after: $after) {{ logOffset {_SHOWN} }} }} }}"""
STEP = f"""query ($id: ID!, $tree: ID) {{ step(id: $id, tree: $tree) {{ {_SHOWN} forgotten
  tokens {{ ids {{ dtype base64 }} logProbs {{ dtype base64 }} mask {{ dtype base64 }} }} }} }}"""
TRAJECTORY = f"""query ($id: ID!, $tree: ID, $after: Int) {{ trajectory(rollout: $id, tree: $tree) {{
  id return rollout {{ {_END} }} steps(first: {PART}, after: $after) {{ depth action observation }} }} }}"""
IMAGE = "query ($id: ID!, $tree: ID) { step(id: $id, tree: $tree) { depth action historyImage { id url } } }"


def tree(connection: Connection, tree_id: str) -> TreeView:
    """Reads a tree whole, in parts."""
    found = _known(connection.graphql(TREE, {"id": tree_id})["tree"], "tree", tree_id)
    steps: list[Any] = []
    part = None
    while part is None or len(part) == PART:
        part = connection.graphql(STEPS, {"id": tree_id, "after": steps[-1]["logOffset"] if steps else None})["tree"]["steps"]
        steps.extend(part)
    rollouts: list[Any] = []
    page = {"hasNextPage": True, "endCursor": None}
    while page["hasNextPage"]:
        answer = connection.graphql(ROLLOUTS, {"id": tree_id, "after": page["endCursor"]})["rollouts"]
        rollouts.extend(answer["nodes"])
        page = answer["pageInfo"]
    return TreeView({**found, "steps": steps, "rollouts": sorted(rollouts, key=lambda rollout: int(rollout["ordinal"]))})


def step(connection: Connection, step_id: str, tree_id: str | None, decode: Decode | None) -> StepView:
    return StepView(_known(connection.graphql(STEP, {"id": step_id, "tree": tree_id})["step"], "step", step_id), decode)


def image(connection: Connection, step_id: str, tree_id: str | None) -> ImageView:
    found = _known(connection.graphql(IMAGE, {"id": step_id, "tree": tree_id})["step"], "step", step_id)
    shown = found["historyImage"]
    if shown is None:
        raise EspalierError(f"the prompt of step {step_id} showed no image", remedy="choose a step of a run with pictures", field="step")
    return ImageView(connection.request("GET", f"/images/{shown['id']}.png").content, f"what step {found['depth']} was shown")


def difference(connection: Connection, *sides: tuple[str, str | None]) -> DifferenceView:
    """Compares two finished rollouts, each by its id and its tree."""
    a, b = (_trajectory(connection, *side) for side in sides)
    return DifferenceView(a, b)


def _trajectory(connection: Connection, rollout_id: str, tree_id: str | None) -> Any:
    """Reads a trajectory whole, in parts."""
    steps: list[Any] = []
    while True:
        asked = {"id": rollout_id, "tree": tree_id, "after": steps[-1]["depth"] if steps else None}
        found = _known(connection.graphql(TRAJECTORY, asked)["trajectory"], "finished rollout", rollout_id)
        steps.extend(found["steps"])
        if len(found["steps"]) < PART:
            return {**found, "steps": steps}


def _known(found: Any, what: str, named: str) -> Any:
    if found is None:
        raise EspalierError(f"no {what} {named} is on record", remedy="look for its id in a table (db.trajectories, db.steps)", code="not-found")
    return found
