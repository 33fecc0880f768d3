"""Views of trees, steps, images and differences: their data, and how a notebook shows them (`_repr_html_`)."""

from __future__ import annotations

import base64
import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from .page import block, number, page, text

Json = Mapping[str, Any]
Decode = Callable[[int], str]


@dataclass(frozen=True, repr=False)
class TreeView:
    """A tree as GraphQL answers `TREE`: a notebook shows its steps as an outline that opens."""

    data: Json

    @property
    def steps(self) -> Sequence[Json]:
        """The steps in the order in which the tree grew, the root first."""
        steps: Sequence[Json] = self.data["steps"]
        return steps

    def __repr__(self) -> str:
        return f"TreeView({self._title()})"

    def _title(self) -> str:
        task = self.data["task"]
        return f"{task['alias']} · {task['environment']} · {len(self.steps):,} steps, {len(self.data['rollouts']):,} rollouts"

    def _repr_html_(self) -> str:
        children: dict[str | None, list[Json]] = {}
        for step in self.steps:
            children.setdefault(step["parentId"], []).append(step)
        ends = {rollout["leafId"]: rollout for rollout in self.data["rollouts"] if rollout["leafId"] is not None}
        gone = "<p><i>Something of the payload of this tree is forgotten.</i></p>" if self.data["forgotten"] else ""
        return page(self._title(), [gone, *_outline(children, ends)])


def _outline(children: Mapping[str | None, Sequence[Json]], ends: Mapping[str, Json]) -> list[str]:
    """Writes steps depth first without recursion: a path may have thousands of steps."""
    written: list[str] = []
    open_: list[tuple[Json, bool]] = [(step, False) for step in reversed(children.get(None, []))]
    while open_:
        step, over = open_.pop()
        if over:
            written.append("</details>")
            continue
        below = children.get(step["id"], [])
        shown = " open" if len(below) > 1 or step["depth"] < 2 else ""
        written.append(f"<details{shown}><summary>{_headline(step, ends.get(step['id']))}</summary>{_texts(step)}")
        open_.append((step, True))
        open_.extend((child, False) for child in reversed(below))
    return written


def _headline(step: Json, end: Json | None) -> str:
    said = "the first observation" if step["depth"] == 0 else _first_line(step["action"] or step["response"])
    rewards = "".join(
        f' <span class="num {"good" if reward["value"] > 0 else "bad" if reward["value"] < 0 else ""}">'
        f"{text(reward['component'])} {number(reward['value'])}</span>"
        for reward in step["rewards"]
    )
    statistics = step.get("statistics")
    searched = f' <span class="num">{statistics["visits"]} visits, value {number(statistics["value"])}</span>' if statistics else ""
    return f'<span class="num">{step["depth"]}</span> {text(said)}{rewards}{searched}{_ending(end)}'


def _ending(end: Json | None) -> str:
    if end is None:
        return ""
    kind = {True: "good", False: "bad"}.get(end["success"], "")
    success = {True: "success", False: "no success"}.get(end["success"], "")
    said = ", ".join(part for part in (end["outcome"], success, f"return {number(end['return'])}") if part)
    return f' <b class="{kind}">{text(said)}</b>'


def _texts(step: Json) -> str:
    thought = f"<i>thought</i>{block(step['thought'])}" if step["thought"] else ""
    answer = block(step["response"]) if step["response"] not in ("", step["action"], step["thought"]) else ""
    return f"{thought}{answer}{block(step['observation'])}"


def _first_line(said: str) -> str:
    line = said.strip().split("\n", 1)[0]
    return line if len(line) <= 120 else f"{line[:119]}…"


@dataclass(frozen=True, repr=False)
class StepView:
    """A step as GraphQL answers `STEP`: a notebook shows its texts, its rewards, and its tokens, each the redder the less likely it
    was. `decode` makes the text of a token id (`tokenizer.decode`); without it ids are shown."""

    data: Json
    decode: Decode | None = None

    @property
    def token_ids(self) -> list[int]:
        """The sampled token ids; empty where none are recorded."""
        return [int(value) for value in self._packed("ids")]

    @property
    def log_probs(self) -> list[float]:
        """The log-probability of each token; empty where none are recorded."""
        return [float(value) for value in self._packed("logProbs")]

    def __repr__(self) -> str:
        return f"StepView(step {self.data['depth']}, {len(self.token_ids):,} tokens)"

    def _repr_html_(self) -> str:
        step = self.data
        ids, log_probs, mask = self.token_ids, self.log_probs, [int(value) for value in self._packed("mask")]
        tokens = [self._token(each, _at(log_probs, i), _at(mask, i)) for i, each in enumerate(ids)]
        heat = f"<p>{''.join(tokens)}</p><p class='num'>{_perplexity(log_probs, mask)}</p>" if tokens else ""
        gone = "<p><i>The payload of this step is forgotten.</i></p>" if step["forgotten"] else ""
        said = "" if gone else f"{_texts(step)}{heat}"
        return page(f"step {step['depth']}: {_first_line(step['action'])}", [gone, f"<p>{_headline(step, None)}</p>", said])

    def _token(self, token: int, log_prob: float | None, written: int | None) -> str:
        said = f"{token} " if self.decode is None else self.decode(token)
        given = " kept" if written == 0 else ""
        title = f"{token}" if log_prob is None else f"{token}: log-prob {log_prob:.3f}, probability {math.exp(log_prob):.3f}"
        # e^-5 and less is the reddest: below it a token is one of hundreds
        heat = "" if log_prob is None or not math.isfinite(log_prob) else f"background:rgba(207,34,46,{min(0.85, -log_prob / 5 * 0.85):.2f})"
        return f'<span class="token{given}" style="{heat}" title="{text(title)}">{text(said)}</span>'

    def _packed(self, field: str) -> Sequence[Any]:
        packed = (self.data.get("tokens") or {}).get(field)
        if packed is None:
            return []
        values = array({"int32": "i", "float32": "f", "uint8": "B"}[packed["dtype"]])
        values.frombytes(base64.b64decode(packed["base64"]))
        return values.tolist()


def _at(values: Sequence[Any], place: int) -> Any:
    return values[place] if place < len(values) else None


def _perplexity(log_probs: Sequence[float], mask: Sequence[int]) -> str:
    own = [value for i, value in enumerate(log_probs) if _at(mask, i) != 0 and math.isfinite(value)]
    if not own:
        return "no log-probs are recorded"
    mean = sum(own) / len(own)
    return f"{len(own):,} sampled tokens, mean log-prob {mean:.3f}, perplexity {math.exp(-mean):.2f}"


@dataclass(frozen=True, repr=False)
class ImageView:
    """The history that a step was shown as an image, drawn again from the record: PNG bytes."""

    png: bytes
    title: str = ""

    def __repr__(self) -> str:
        return f"ImageView({self.title or 'an image'}, {len(self.png):,} bytes)"

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.png).decode()
        return page(self.title, [f'<br><img alt="{text(self.title)}" style="max-width:100%" src="data:image/png;base64,{data}">'])


@dataclass(frozen=True, repr=False)
class DifferenceView:
    """Two trajectories as GraphQL answers `TRAJECTORY`, side by side: what differs is marked, step by step and within the texts."""

    a: Json
    b: Json

    @property
    def first(self) -> int | None:
        """The depth at which they part first; None where they are the same."""
        for depth in range(max(len(self.a["steps"]), len(self.b["steps"]))):
            left, right = _at(self.a["steps"], depth), _at(self.b["steps"], depth)
            if left is None or right is None or (left["action"], left["observation"]) != (right["action"], right["observation"]):
                return depth
        return None

    def __repr__(self) -> str:
        return f"DifferenceView({self._title()})"

    def _title(self) -> str:
        first = self.first
        return "two trajectories that are the same" if first is None else f"two trajectories that part at depth {first}"

    def _repr_html_(self) -> str:
        rows = [f"<tr><th>{_summary(self.a)}</th><th>{_summary(self.b)}</th></tr>"]
        for depth in range(max(len(self.a["steps"]), len(self.b["steps"]))):
            left, right = _at(self.a["steps"], depth), _at(self.b["steps"], depth)
            pairs = [_marked(_field(left, name), _field(right, name)) for name in ("action", "observation")]
            differs = ' class="differs"' if any(changed for _, _, changed in pairs) else ""
            cells = ["".join(f"<pre>{pair[side]}</pre>" for pair in pairs if pair[side]) for side in (0, 1)]
            rows.append(f"<tr{differs}><td><span class='num'>{depth}</span> {cells[0]}</td><td>{cells[1]}</td></tr>")
        return page(self._title(), [f"<table>{''.join(rows)}</table>"])


def _summary(trajectory: Json) -> str:
    rollout = trajectory["rollout"]
    policy = rollout["policy"]
    return f"{text(policy['id'])}@{policy['version']}, {text(rollout['outcome'])}, return {number(trajectory['return'])}"


def _field(step: Json | None, name: str) -> str:
    return "" if step is None else str(step[name])


def _marked(left: str, right: str) -> tuple[str, str, bool]:
    """Returns both texts as HTML, what differs marked. Long ones are compared by lines: characters would take quadratic time."""
    if left == right:
        return text(left), text(right), False
    by_line = len(left) + len(right) > 2_000
    a, b = (left.splitlines(keepends=True), right.splitlines(keepends=True)) if by_line else (list(left), list(right))
    marked: tuple[list[str], list[str]] = ([], [])
    for kind, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        for side, part in ((0, "".join(a[i:j])), (1, "".join(b[k:m]))):
            if part:
                marked[side].append(text(part) if kind == "equal" else f"<mark>{text(part)}</mark>")
    return "".join(marked[0]), "".join(marked[1]), True
