"""What views ask of GraphQL."""

from __future__ import annotations

from typing import Any

from ..connection import Connection
from ..errors import EspalierError
from .views import Decode, DifferenceView, ImageView, StepView, TreeView

_SHOWN = "id parentId depth thought response action observation rewards { component value } statistics { visits value }"
_END = "id leafId outcome success return policy { id version }"
TREE = f"""query ($id: ID!) {{ tree(id: $id) {{ id runId forgotten task {{ alias environment }} rollouts {{ {_END} }} }} }}"""
STEPS = f"""query ($id: ID!, $after: SafeInt) {{ tree(id: $id) {{ steps(first: 2000, after: $after) {{ logOffset {_SHOWN} }} }} }}"""
STEP = f"""query ($id: ID!, $tree: ID) {{ step(id: $id, tree: $tree) {{ {_SHOWN} forgotten
  tokens {{ ids {{ dtype base64 }} logProbs {{ dtype base64 }} mask {{ dtype base64 }} }} }} }}"""
TRAJECTORY = f"""query ($id: ID!, $tree: ID) {{ trajectory(rollout: $id, tree: $tree) {{
  id return rollout {{ {_END} }} steps {{ action observation }} }} }}"""
IMAGE = "query ($id: ID!, $tree: ID) { step(id: $id, tree: $tree) { depth action historyImage { id url } } }"


def tree(connection: Connection, tree_id: str) -> TreeView:
    """Reads a tree whole, in parts of 2,000 steps."""
    found = _known(connection.graphql(TREE, {"id": tree_id})["tree"], "tree", tree_id)
    steps: list[Any] = []
    while True:
        after = steps[-1]["logOffset"] if steps else None
        part = connection.graphql(STEPS, {"id": tree_id, "after": after})["tree"]["steps"]
        steps.extend(part)
        if len(part) < 2_000:
            return TreeView({**found, "steps": steps})


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
    both = [_known(connection.graphql(TRAJECTORY, {"id": id_, "tree": tree_id})["trajectory"], "finished rollout", id_) for id_, tree_id in sides]
    return DifferenceView(both[0], both[1])


def _known(found: Any, what: str, named: str) -> Any:
    if found is None:
        raise EspalierError(f"no {what} {named} is on record", remedy="look for its id in a table (db.trajectories, db.steps)", code="not-found")
    return found
