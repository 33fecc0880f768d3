"""What people and programs say of the record: annotations are added and retracted by GraphQL."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from ..connection import Connection
from ..errors import EspalierError

ADD = "mutation Annotate($annotations: [NewAnnotation!]!) { annotate(annotations: $annotations) { ids } }"
RETRACT = """mutation Retract($ids: [ID!]!, $tree: ID, $reason: String!) {
  retractAnnotations(ids: $ids, tree: $tree, reason: $reason) { ids } }"""
FEEDBACK = "mutation Feedback($feedback: [NewFeedback!]!) { giveFeedback(feedback: $feedback) { ids } }"
AT_ONCE = 500


def annotate(connection: Connection, subjects: Mapping[str, Any], said: Mapping[str, Any]) -> list[str]:
    """Annotates all that one of the subjects names, and returns the ids of the annotations."""
    named = {kind: _listed(what) for kind, what in subjects.items() if what is not None}
    of_all = named.pop("tree") if "tree" in named and named.keys() & {"step", "rollout", "revision"} else []
    if len(of_all) > 1:
        raise EspalierError("name one tree, which all of them are of", code="argument")
    if len(named) != 1:
        raise EspalierError(f"name one of {', '.join(subjects)}, not {len(named) or 'none'}", code="argument")
    ((kind, things),) = named.items()
    # ids of our own: a request that is sent again, since no answer came, records nothing twice
    within = {"inTree": _id_of(tree) for tree in of_all}
    given = [{"id": str(uuid.uuid4()), kind: _row_of(each) if kind == "row" else _id_of(each), **within, **said} for each in things]
    for at in range(0, len(given), AT_ONCE):
        connection.graphql(ADD, {"annotations": given[at : at + AT_ONCE]})
    return [annotation["id"] for annotation in given]


def retract(connection: Connection, annotations: Any, tree: Any, reason: str) -> None:
    of = None if tree is None else _id_of(tree)
    ids = [_id_of(each) for each in _listed(annotations)]
    for at in range(0, len(ids), AT_ONCE):
        connection.graphql(RETRACT, {"ids": ids[at : at + AT_ONCE], "tree": of, "reason": reason})


def feedback(connection: Connection, things: Any, tree: Any, said: Mapping[str, Any]) -> list[str]:
    """Records a value of all that is named, and returns the ids of the rewards (of rows, those of the annotations)."""
    within = {} if tree is None else {"inTree": _id_of(tree)}
    given = [{**({"row": _row_of(each)} if _is_row(each) else {"of": _id_of(each)}), **within, **said} for each in _listed(things)]
    ids: list[str] = []
    for at in range(0, len(given), AT_ONCE):
        ids += connection.graphql(FEEDBACK, {"feedback": given[at : at + AT_ONCE]})["giveFeedback"]["ids"]
    return ids


def _is_row(what: Any) -> bool:
    return isinstance(what, tuple) or (isinstance(what, Mapping) and "dataset" in what)


def _listed(what: Any) -> list[Any]:
    """One thing (an id, something that was read, a row as a tuple) or several, in a list or a column of a table."""
    one = isinstance(what, (str, tuple, Mapping)) or not hasattr(what, "__iter__")
    return [what] if one else list(what)


def _id_of(what: Any) -> str:
    """An id, or of something that was read the id of it."""
    if isinstance(what, Mapping):
        return str(what["id"])
    return str(getattr(what, "id", what))


def _row_of(row: Any) -> dict[str, Any]:
    """A row is (dataset id, line), or {"dataset": …, "line": …}."""
    dataset, line = (row["dataset"], row["line"]) if isinstance(row, Mapping) else row
    return {"dataset": str(dataset), "line": int(line)}
