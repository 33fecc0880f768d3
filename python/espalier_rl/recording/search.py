"""A Monte-Carlo tree search of a task, recorded as it happens: nodes, expansions and back-ups."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from ..coroutines import for_coroutines
from ..errors import EspalierError
from .episode import _rewards, _spans, _tokens, reward_draft
from .ids import derived_id
from .journal import Draft, rollout_finished
from .pictures import read_pictures
from .tool_calls import tool_drafts
from .tree import Place, Tree
from .values import Json, amount_of, now, shown, text_of

ENDS = ("none", "terminated", "truncated", "disaster", "depth")


@dataclass
class Candidate:
    """A reply at a node, and what the environment answered. `score` is the score of the episode up to it (default: that of its parent and
    its reward); `end` what ends the search there: `terminated`, `truncated`, `disaster` (a score below 0), `depth`, or `none`. `ids`, `logprobs`, `mask`, `token_texts` and `entropies` are
    those of `episode.step`."""

    response: str
    observation: str = ""
    reward: float | Mapping[str, float] | None = None
    score: float | None = None
    end: str = "none"
    success: bool | None = None
    action: str | None = None
    thought: str = ""
    ids: Any = None
    logprobs: Any = None
    mask: Any = None
    token_texts: Sequence[str] | None = None
    entropies: Any = None
    images: Sequence[Any] = ()
    tools: Sequence[Any] = ()
    executable: bool = True
    well_formatted: bool = True


@dataclass(eq=False, repr=False)
class Node:
    """A node of a search: a step, with its visits and the sum of the values that were backed up through it."""

    id: str
    depth: int
    parent: Node | None
    score: float
    end: str
    response: str
    action: str
    observation: str
    children: list[Node] = field(default_factory=list)
    visits: int = 0
    value_sum: float = 0.0
    expanded: bool = False
    _place: Any = None

    @property
    def value(self) -> float:
        """The mean of the values that were backed up through it; 0 before the first."""
        return self.value_sum / self.visits if self.visits else 0.0

    def uct(self, exploration: float = math.sqrt(2)) -> float:
        """The upper confidence bound by which a parent chooses among its children; infinite before the first visit."""
        if not self.visits or self.parent is None:
            return math.inf
        return self.value + exploration * math.sqrt(math.log(max(1, self.parent.visits)) / self.visits)

    def path(self) -> list[Node]:
        """Returns the nodes from the root to this one."""
        nodes = [self]
        while nodes[-1].parent is not None:
            nodes.append(nodes[-1].parent)
        return nodes[::-1]

    def __repr__(self) -> str:
        return f"Node({shown(self.action)}, depth={self.depth}, visits={self.visits}, value={self.value:.3g}, children={len(self.children)}, end={self.end!r})"


class SearchTree:
    """A search that is being recorded: `expand` adds the replies at a node, `backup` a value along the path to a node."""

    def __init__(self, tree: Tree) -> None:
        self._tree, self._run = tree, tree.run
        self.simulation = 0
        task = tree.task
        self.root = Node(tree.root.id, 0, None, 0.0, "none", "", "", task.observation, _place=tree.root)
        tree.run.journal.emit(tree.begin())

    @property
    def id(self) -> str:
        return self._tree.id

    @property
    def closed(self) -> bool:
        return self._tree.closed

    def expand(self, candidates: Sequence[Candidate | Mapping[str, Any] | str], node: Node | None = None) -> list[Node]:
        """Records the replies at a node (default: the root), each with what followed, and returns the children in their order. A reply that
        an earlier one of the list repeats is dropped; a child whose action an earlier one has names that one. A node is expanded
        once. A child that ends is the end of a rollout, with its success."""
        node, run, tree = node or self.root, self._run, self._tree
        read = [_candidate(given, f"candidates[{i}]") for i, given in enumerate(candidates)]
        with run.journal.lock:
            tree.check_open()
            if node.expanded or node.end != "none":
                said = f"node {node.id} is an end" if node.end != "none" else f"node {node.id} is expanded already"
                raise EspalierError(said, remedy="expand a leaf that goes on, with all its candidates at once", field="node")
            drafts: list[Draft] = []
            dropped: list[Json] = []
            responses: dict[str, int] = {}
            actions: dict[str, Node] = {}
            children: list[Node] = []
            rollouts = 0
            for ordinal, each in enumerate(read):
                if each.response in responses:
                    dropped.append({"ordinal": ordinal, "sameAs": responses[each.response]})
                    continue
                responses[each.response] = ordinal
                made, child = self._child(node, each, ordinal, f"candidates[{ordinal}]", tree.next + rollouts, actions)
                rollouts += child.end != "none"
                actions.setdefault(child.action, child)
                drafts += made
                children.append(child)
            data = {"treeId": tree.id, "stepId": node.id, "simulation": self.simulation, "asked": len(read), "dropped": dropped, "reason": ""}
            drafts.append(Draft("NodeExpanded", tree.id, f"{tree.id}/{node.id}", data, now()))
            run.journal.emit(drafts)
            tree.next += rollouts
            node.children, node.expanded = children, True
        return children

    def backup(self, node: Node, value: float) -> None:
        """Adds a value to every node from the root to this one, each of which gets a visit; the simulation is over."""
        path = node.path()
        amount = amount_of(value, "value")
        with self._run.journal.lock:
            self._tree.check_open()
            data = {"treeId": self._tree.id, "simulation": self.simulation, "leafStepId": node.id, "value": amount, "path": [each.id for each in path]}
            key = f"{self._tree.id}/{node.id}/{self.simulation}"
            self._run.journal.emit([Draft("ValueBackedUp", self._tree.id, key, data, now())])
            for each in path:
                each.visits, each.value_sum = each.visits + 1, each.value_sum + amount
            self.simulation += 1

    def select(self, exploration: float = math.sqrt(2)) -> Node:
        """Returns the leaf that the next simulation expands: from the root down by `Node.uct`, ends left out where others go on."""
        node = self.root
        while node.children:
            going_on = [child for child in node.children if child.end == "none"]
            node = max(going_on or node.children, key=lambda child: child.uct(exploration))
        return node

    def close(self, reason: str = "completed") -> None:
        """Ends the search: `completed`, `exhausted` (no node is left to expand), `failed` or `cancelled`."""
        if reason not in ("completed", "exhausted", "failed", "cancelled"):
            raise EspalierError(f"reason is {reason!r}", remedy="give completed, exhausted, failed or cancelled", field="reason")
        self._tree.check_own()
        with self._run.journal.lock:
            if self._tree.closed:
                return
            self._run.journal.emit(self._tree.closing(reason))
            self._tree.closed = True
            self._run.tree_ended(self)

    aexpand, abackup, aclose = for_coroutines(expand), for_coroutines(backup), for_coroutines(close)

    def __repr__(self) -> str:
        state = "closed" if self.closed else "open"
        return f"SearchTree({self._tree.task.alias!r}, id={self.id!r}, nodes={len(self._nodes()):,}, simulations={self.simulation:,}, {state})"

    def _repr_html_(self) -> str:
        from ..analysis.views import TreeView

        nodes = self._nodes()
        steps = [
            {
                **{"id": node.id, "parentId": node.parent and node.parent.id, "depth": node.depth, "thought": "", "response": node.response},
                **{"action": node.action, "observation": node.observation, "rewards": [], "statistics": {"visits": node.visits, "value": node.value}},
            }
            for node in nodes
        ]
        ends = [{"leafId": node.id, "outcome": node.end, "success": None, "return": node.score} for node in nodes if node.end != "none"]
        task = {"alias": self._tree.task.alias, "environment": self._run.environment}
        return TreeView({"task": task, "forgotten": False, "steps": steps, "rollouts": ends})._repr_html_()

    def _nodes(self) -> list[Node]:
        nodes = [self.root]
        for node in nodes:  # which grows meanwhile
            nodes.extend(node.children)
        return nodes

    async def __aenter__(self) -> SearchTree:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await asyncio.to_thread(self.__exit__, kind, error, trace)

    def __enter__(self) -> SearchTree:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.close("completed" if kind is None else "failed")

    def _child(
        self, node: Node, given: Candidate, ordinal: int, where: str, rollout: int, actions: Mapping[str, Node]
    ) -> tuple[list[Draft], Node]:
        run, tree, at = self._run, self._tree, now()
        rewards = _rewards(given.reward)
        score = node.score + sum(value for _, value in rewards) if given.score is None else amount_of(given.score, f"{where}.score")
        action = given.response if given.action is None else given.action
        step_id = derived_id("candidate", node.id, ordinal)
        place = Place(step_id, node._place, given.response, text_of(given.observation, f"{where}.observation"))
        child = Node(step_id, node.depth + 1, node, score, given.end, given.response, action, given.observation, _place=place)
        ended = given.end != "none"
        rollout_id = derived_id("rollout", tree.id, rollout) if ended else None
        tokens, sampled = _tokens(given.ids, given.logprobs, given.mask, given.entropies, given.token_texts, given.response, f"{where}.")
        data: Json = {
            "stepId": step_id,
            "treeId": tree.id,
            "parentStepId": node.id,
            "rolloutId": rollout_id,
            "depth": child.depth,
            "response": given.response,
            "thought": text_of(given.thought, f"{where}.thought"),
            "action": action,
            "observation": given.observation,
            "wellFormatted": bool(given.well_formatted),
            "executable": bool(given.executable),
            "termination": {"none": "none", "terminated": "terminated"}.get(given.end, "truncated"),
            "policySpans": _spans(None, run.policy, 0 if sampled is None else len(sampled)),
            "tokens": tokens,
            "usage": None,
            "finishReason": None,
            "call": None,
            "timings": {"policyMs": 0, "environmentMs": 0},
            "stateHash": None,
            "admissibleActions": None,
        }
        place.pictures, place.images = read_pictures(given.images, f"{where}.images")
        if place.pictures:
            data["pictures"] = place.pictures
        drafts = []
        if rollout_id is not None:
            begun = {"rolloutId": rollout_id, "treeId": tree.id, "fromStepId": node.id, "ordinal": rollout, "seed": run.seed, "policy": run.policy}
            drafts.append(Draft("RolloutStarted", tree.id, rollout_id, begun, at))
        drafts.append(Draft("StepTaken", tree.id, step_id, data, at))
        drafts += tool_drafts(given.tools, tree.id, step_id, at)
        drafts += place.prompt_drafts(tree.id, node._place.composed(tree.root), at)
        drafts += [reward_draft(run, tree.id, step_id, rollout_id, component, value, at) for component, value in rewards]
        earlier = actions.get(action)
        added = {"treeId": tree.id, "stepId": step_id, "parentStepId": node.id, "simulation": self.simulation, "ordinal": ordinal}
        added |= {"score": score, "end": given.end, "equivalentTo": earlier.id if earlier else None}
        drafts.append(Draft("NodeAdded", tree.id, step_id, added, at))
        if rollout_id is not None:
            outcome = "terminated" if given.end == "terminated" else "truncated"
            reason = "" if given.end in ("terminated", "truncated") else given.end
            drafts.append(rollout_finished(tree.id, rollout_id, step_id, 1, outcome, given.success, reason, at))
        return drafts, child


def _candidate(given: Candidate | Mapping[str, Any] | str, where: str) -> Candidate:
    if isinstance(given, str):
        given = Candidate(given)
    if isinstance(given, Mapping):
        try:
            given = Candidate(**given)
        except TypeError as error:
            said = str(error).replace("Candidate.__init__() ", "")
            raise EspalierError(f"{where} {said}", remedy="give the fields of er.Candidate", field=where) from None
    if not isinstance(given, Candidate):
        raise EspalierError(f"{where} is a {type(given).__name__}", remedy="give a text, a dict or er.Candidate", field=where)
    if given.end not in ENDS:
        raise EspalierError(f"{where}.end is {given.end!r}", remedy=f"give one of {', '.join(ENDS)}", field=f"{where}.end")
    text_of(given.response, f"{where}.response")
    if given.action is not None:
        text_of(given.action, f"{where}.action")
    if given.success is not None and not isinstance(given.success, bool):
        raise EspalierError(f"{where}.success is {given.success!r}", remedy="give True, False or None", field=f"{where}.success")
    return given
